/* --compare: prints how much pictures differ from a reference, as text, as a table, or as lines of JSON.
 *
 *     list of files ─▶ compare each with the reference (comparison.c) ─▶ print (comparison_print.c)
 *
 * If the reference is a folder, each file is compared with the file of the same name in it. */
#include "cli/cli.h"

#include "base/text.h"
#include "batch/report.h"
#include "cli/comparison.h"
#include "image/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Outcome of the pairs so far. */
struct compare_run {
    const struct command *command;
    FILE *out;
    void (*report_error)(const struct error *);
    bool several;            /* there may be several inputs: print a table */
    size_t count, differing; /* number of compared pairs, and of different ones among them */
    struct error difference; /* of a single input, as a message */
};

/* Prints a pair and counts it. */
static void add_pair(struct compare_run *run, const struct comparison *pair)
{
    const struct compare_option *option = &run->command->compare;
    const struct figures figures = comparison_figures(pair, option);
    if (option->form == COMPARE_JSON)
        comparison_print_json(run->out, pair, &figures);
    else if (!run->command->settings.quiet && run->several)
        comparison_print_row(run->out, pair, &figures, run->count == 0);
    else if (!run->command->settings.quiet)
        comparison_print(run->out, pair, &figures);
    run->count++;
    run->differing += !figures.passes;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* For each picture of the reference folder without an input, adds a pair that counts as different. */
static enum status add_unpaired(struct compare_run *run, const struct job_list *list, struct error *error)
{
    struct command command = *run->command;
    struct job_list others;
    command.inputs = (const char **)&command.compare.reference;
    command.input_count = 1;
    command.settings.files_from = NULL;
    const char **names = allocate((list->count + 1) * sizeof *names, "names", error);
    enum status status = names ? job_list_make(&others, &command, error) : STATUS_FAILED;
    if (status == STATUS_OK)
        job_list_keep_shard(&others, &command.settings.part);
    for (size_t i = 0; names && i < list->count; i++)
        names[i] = list->jobs[i].name;
    if (names)
        qsort(names, list->count, sizeof *names, by_text);
    for (size_t i = 0; status == STATUS_OK && i < others.count; i++) {
        const char *name = others.jobs[i].name;
        struct comparison pair = {.sides = {{.name = name}, {.name = others.jobs[i].input}}};
        if (bsearch(&name, names, list->count, sizeof *names, by_text) != NULL)
            continue;
        snprintf(pair.why, sizeof pair.why, "is only in the reference folder");
        add_pair(run, &pair);
    }
    if (names)
        job_list_free(&others);
    free(names);
    return status;
}

/* Fails if diff=FILE would overwrite one of the pictures, or has an unknown format. */
static enum status check_diff(const char *diff, const char *path, const char *reference, struct error *error)
{
    struct stat there, other;
    const char *const paths[] = {path, reference};
    if (format_by_path(diff) == NULL)
        return fail(error, STATUS_USAGE, "--compare: diff=%s: climg writes %s", diff,
                    format_names(NULL, "and").text);
    for (int i = 0; i < 2; i++)
        if (stat(diff, &there) == 0 && stat(paths[i], &other) == 0 && there.st_dev == other.st_dev &&
            there.st_ino == other.st_ino)
            return fail(error, STATUS_USAGE, "--compare: diff=%s would overwrite %s", diff, paths[i]);
    return STATUS_OK;
}

/* Compares an input with the reference, or with the file of its name if that is a folder, and adds the pair.
 */
static enum status compare_job(struct compare_run *run, const struct job *job, bool is_folder,
                               struct error *error)
{
    const struct compare_option *option = &run->command->compare;
    struct comparison pair = {.sides = {{.name = job_input_name(job)}}};
    const bool has_slash = option->reference[strlen(option->reference) - 1] == '/';
    char *path = is_folder ? text_print(error, "%s%s%s", option->reference, has_slash ? "" : "/", job->name)
                           : copy_text(option->reference, error);
    if (path == NULL)
        return STATUS_FAILED;
    pair.sides[1].name = strcmp(path, "-") == 0 ? "standard input" : path;
    enum status status = job_check(job, error);
    if (status == STATUS_OK && option->diff)
        status = check_diff(option->diff, job->input, path, error);
    if (status == STATUS_OK && is_folder && access(path, F_OK) != 0)
        snprintf(pair.why, sizeof pair.why, "is not in the reference folder");
    else if (status == STATUS_OK)
        status = comparison_make(&pair, run->command, job->input, path, error);
    for (int i = 0; i < 2 && !run->command->settings.quiet; i++) {
        struct error line;
        error_set(&line,
                  "%s: warning: has samples with more digits than 32-bit floats hold; they were rounded",
                  pair.sides[i].name);
        if (pair.sides[i].reader && reader_rounded(pair.sides[i].reader))
            run->report_error(&line);
    }
    if (status == STATUS_OK)
        add_pair(run, &pair);
    if (pair.sides[0].info.width == 0)
        error_set(&run->difference, "%s: %s", pair.sides[0].name, pair.why);
    else
        error_set(&run->difference, "%s and %s differ%s%s", pair.sides[0].name, pair.sides[1].name,
                  pair.why[0] != '\0'    ? ": "
                  : option->min_psnr > 0 ? " by more than min-psnr allows"
                                         : "",
                  pair.why);
    comparison_free(&pair);
    free(path);
    return status;
}

/* Fails if an option does not fit the inputs or the reference. */
static enum status check_reference(const struct command *command, const struct job_list *list, int stat_errno,
                                   struct error *error)
{
    const char *const reference = command->compare.reference, *const names = command->settings.files_from;
    const bool is_stdin = strcmp(reference, "-") == 0;
    if (is_stdin && (list->count > 1 || (names && strcmp(names, "-") == 0) ||
                     (list->count > 0 && strcmp(list->jobs[0].input, "-") == 0)))
        return fail(error, STATUS_USAGE, "--compare -: stdin can be read only once; name a file");
    if (stat_errno != 0 && !is_stdin)
        return fail(error, STATUS_FAILED, "%s: cannot open: %s", reference, strerror(stat_errno));
    if (list->several && command->compare.diff)
        return fail(error, STATUS_USAGE, "--compare: diff= takes one picture");
    return STATUS_OK;
}

enum status compare_write(const struct command *command, FILE *out,
                          void (*report_error)(const struct error *), struct error *error)
{
    struct job_list list;
    struct results results;
    struct stat there;
    const int stat_errno = stat(command->compare.reference, &there) != 0 ? errno : 0;
    const bool is_folder = stat_errno == 0 && S_ISDIR(there.st_mode);
    bool has_folder = false; /* among the inputs */
    for (size_t i = 0; i < command->input_count; i++)
        has_folder = has_folder || (stat(command->inputs[i], &there) == 0 && S_ISDIR(there.st_mode));
    enum status status = results_begin_reading(&results, &list, command, report_error, error);
    struct compare_run run = {
        .command = command, .out = out, .report_error = report_error, .several = list.several};
    if (status == STATUS_OK) {
        status = check_reference(command, &list, stat_errno, error);
        for (size_t i = 0; status == STATUS_OK && i < list.count; i++) {
            struct result result = {.group = 1};
            result.status = compare_job(&run, &list.jobs[i], is_folder, &result.error);
            results_add(&results, &list.jobs[i], &result);
        }
        /* Only folders are expected to have all pictures of the reference folder; single files are a
         * selection. */
        if (status == STATUS_OK && is_folder && has_folder)
            status = add_unpaired(&run, &list, error);
        status = results_end(&results, &list, status, error);
    }
    if (status == STATUS_OK && run.differing > 0 && run.several)
        fail(error, STATUS_DIFFERENT, "%zu of %zu pictures differ", run.differing, run.count);
    else if (status == STATUS_OK && run.differing > 0)
        *error = run.difference;
    job_list_free(&list);
    return status == STATUS_OK && run.differing > 0 ? STATUS_DIFFERENT : status;
}
