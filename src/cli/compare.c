/* --compare: prints how much pictures differ from a reference, as text, as a table, or as lines of JSON.
 *
 *     list of files ─▶ compare each with the reference (comparison.c) ─▶ print
 *
 * If the reference is a folder, each file is compared with the file of the same name in it. Differences
 * are printed in the units of the input's samples. */
#include "cli/cli.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "batch/output_format.h"
#include "batch/report.h"
#include "cli/comparison.h"
#include "image/format.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIGITS = 9 }; /* significant digits of numbers in JSON */

/* Converts a difference, a fraction of full scale, to the units of the input's samples. */
static double in_samples(const struct comparison *pair, double value)
{
    return value * sample_full_scale(pair->sides[0].info.type);
}

/* Prints name, size, channels and sample type, as --info does: "photo.png: 640 x 480, RGB, 8 bit". */
static void print_side(FILE *out, const struct side *side)
{
    print_visible(out, side->name);
    fprintf(out, ": %u x %u, %s, %s\n", side->info.width, side->info.height, channel_layout_name(&side->info),
            sample_name(side->info.type));
}

/* Prints a PSNR or SSIM with at least `width` characters: "none" for NaN, "equal" for an infinite PSNR. */
static void print_number(FILE *out, int width, int decimals, double value)
{
    if (isnan(value))
        fprintf(out, "%*s", width, "none");
    else if (isinf(value))
        fprintf(out, "%*s", width, "equal");
    else
        fprintf(out, "%*.*f", width, decimals, value);
}

/* Prints a line with one number for each channel: "  PSNR in dB: red 38.12, green 38.95". */
static void print_channels(FILE *out, const struct comparison *pair, const char *title, int decimals,
                           double (*measure)(const struct difference *))
{
    fprintf(out, "  %s:", title);
    for (int i = 0; i < pair->channel_count; i++) {
        fprintf(out, "%s %s ", i > 0 ? "," : "", channel_name(&pair->widest, i));
        print_number(out, 0, decimals, measure(&pair->channels[i]));
        if (isinf(measure(&pair->channels[i])) && pair->channels[i].unmatched > 0)
            fputs(" elsewhere", out);
    }
    fputc('\n', out);
}

/* Prints the lines of one pair. */
static void print_pair(FILE *out, const struct comparison *pair, const struct figures *figures)
{
    const struct difference *worst = &pair->channels[figures->worst_channel];
    if (pair->sides[0].info.width == 0) { /* there is nothing to compare it with, so it was not read */
        print_visible(out, pair->sides[0].name);
        fprintf(out, ": %s\n", pair->why);
        return;
    }
    print_side(out, &pair->sides[0]);
    print_side(out, &pair->sides[1]);
    if (pair->why[0] != '\0' || figures->is_equal) {
        fprintf(out, "  %s\n", figures->is_equal ? "all samples are equal" : pair->why);
        return;
    }
    print_channels(out, pair, "PSNR in dB", 2, difference_psnr);
    print_channels(out, pair, "SSIM", 5, difference_ssim);
    if (worst->largest > 0) {
        fprintf(out, "  largest difference: %.6g of %.6g, %s at %u,%u", in_samples(pair, worst->largest),
                sample_full_scale(pair->sides[0].info.type),
                channel_name(&pair->widest, figures->worst_channel), worst->at.x, worst->at.y);
        if (worst->at.page > 0)
            fprintf(out, " on page %u", worst->at.page + 1);
        fputc('\n', out);
    }
    for (int i = 0; i < pair->channel_count; i++)
        if (pair->channels[i].unmatched > 0)
            fprintf(out, "  NaN or infinite in one only: %llu in %s\n",
                    (unsigned long long)pair->channels[i].unmatched, channel_name(&pair->widest, i));
}

/* Prints a row of a table, and before the first one its heading. */
static void print_pair_row(FILE *out, const struct comparison *pair, const struct figures *figures,
                           bool is_first)
{
    if (is_first)
        fputs(" PSNR dB     SSIM    largest  picture\n", out);
    const double largest = pair->channels[figures->worst_channel].largest;
    if (pair->why[0] != '\0' || largest == 0) { /* 0 without being equal: only NaN and infinity differ */
        fprintf(out, "%-28.28s  ", figures->is_equal ? "   equal" : "differs");
    } else {
        print_number(out, 8, 2, figures->psnr);
        fputc(' ', out);
        print_number(out, 8, 5, figures->ssim);
        fprintf(out, " %10.6g  ", in_samples(pair, largest));
    }
    print_visible(out, pair->sides[0].name);
    fprintf(out, "%s%s\n", pair->why[0] != '\0' ? ": " : "", pair->why);
}

/* Writes one side; its size and samples are null if it was not read. */
static void put_side(struct json_writer *out, const char *key, const struct side *side)
{
    json_begin(out, key, '{');
    json_put_string(out, "file", side->name);
    json_put_positive(out, "width", side->info.width);
    json_put_positive(out, "height", side->info.height);
    json_put_positive(out, "channels", side->info.video.parts > 1 ? 3 : side->info.channels);
    json_put_string(out, "samples", side->info.width > 0 ? sample_name(side->info.type) : NULL);
    json_end(out, '}');
}

/* Writes a list of one number for each channel. */
static void put_channels(struct json_writer *out, const char *key, const struct comparison *pair,
                         double (*measure)(const struct difference *))
{
    json_begin(out, key, '[');
    for (int i = 0; i < pair->channel_count; i++)
        json_put_number(out, NULL, measure(&pair->channels[i]), DIGITS);
    json_end(out, ']');
}

/* Prints a line with one object of JSON. All keys are present; a figure that does not exist is null. `why` is
 * the reason why the pair could not be compared; else empty. */
static void print_pair_json(FILE *file, const struct comparison *pair, const struct figures *figures,
                            const char *why)
{
    const struct difference *worst = &pair->channels[figures->worst_channel];
    struct json_writer out = {.out = file};
    json_begin(&out, NULL, '{');
    put_side(&out, "picture", &pair->sides[0]);
    put_side(&out, "reference", &pair->sides[1]);
    json_put_boolean(&out, "equal", figures->is_equal);
    json_put_boolean(&out, "passes", figures->passes);
    json_put_string(&out, "why", why[0] != '\0' ? why : NULL);
    json_put_number(&out, "psnr", figures->psnr, DIGITS);
    put_channels(&out, "psnr_channels", pair, difference_psnr);
    json_put_number(&out, "ssim", pair->channel_count > 0 ? figures->ssim : (double)NAN, DIGITS);
    put_channels(&out, "ssim_channels", pair, difference_ssim);
    if (json_begin_optional(&out, "largest", '{', worst->largest > 0)) {
        json_put_number(&out, "difference", in_samples(pair, worst->largest), DIGITS);
        json_put_string(&out, "channel", channel_name(&pair->widest, figures->worst_channel));
        json_put_integer(&out, "x", worst->at.x);
        json_put_integer(&out, "y", worst->at.y);
        json_put_integer(&out, "page", worst->at.page + 1);
        json_end(&out, '}');
    }
    json_begin(&out, "unmatched", '[');
    for (int i = 0; i < pair->channel_count; i++)
        json_put_integer(&out, NULL, (long long)pair->channels[i].unmatched);
    json_end(&out, ']');
    json_end(&out, '}');
    putc('\n', file);
}

/* ---------------------------------------------------------------- all files */

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
        print_pair_json(run->out, pair, &figures, pair->why);
    else if (!run->command->settings.quiet && run->several)
        print_pair_row(run->out, pair, &figures, run->count == 0);
    else if (!run->command->settings.quiet)
        print_pair(run->out, pair, &figures);
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
    if (names && status != STATUS_OK && others.count == 0 && !error->is_out_of_memory)
        status = STATUS_OK; /* the folder has no picture */
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
        /* The names in a folder that cannot be read are unknown. */
        if (others.jobs[i].stat_errno != ENOENT && job_check(&others.jobs[i], error) != STATUS_OK) {
            status = STATUS_FAILED;
            break;
        }
        snprintf(pair.why, sizeof pair.why, "is only in the reference folder");
        add_pair(run, &pair);
    }
    if (names)
        job_list_free(&others);
    free(names);
    return status;
}

/* Fails if diff=FILE would overwrite one of the pictures. */
static enum status check_diff(const char *diff, const char *path, const char *reference, struct error *error)
{
    struct stat there, other;
    const char *const paths[] = {path, reference};
    for (int i = 0; i < 2; i++) {
        const bool is_stdin = strcmp(paths[i], "-") == 0;
        if (stat(diff, &there) == 0 &&
            (is_stdin ? fstat(STDIN_FILENO, &other) : stat(paths[i], &other)) == 0 &&
            there.st_dev == other.st_dev && there.st_ino == other.st_ino)
            return fail(error, STATUS_USAGE, "--compare: diff=%s would overwrite %s", diff,
                        is_stdin ? "standard input" : paths[i]);
    }
    return STATUS_OK;
}

/* Compares an input with the reference, or if that is a folder with its file there, and adds the pair. */
static enum status compare_job(struct compare_run *run, const struct job *job, bool has_folder,
                               struct error *error)
{
    const struct compare_option *option = &run->command->compare;
    struct comparison pair = {.sides = {{.name = job_input_name(job)}}};
    char *path =
        has_folder ? path_join(option->reference, job->name, error) : copy_text(option->reference, error);
    if (path == NULL)
        return STATUS_FAILED;
    pair.sides[1].name = strcmp(path, "-") == 0 ? "standard input" : path;
    enum status status = job_check(job, error);
    if (status == STATUS_OK && option->diff)
        status = check_diff(option->diff, job->input, path, error);
    if (status == STATUS_OK && has_folder && access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        snprintf(pair.why, sizeof pair.why, "is not in the reference folder");
    else if (status == STATUS_OK)
        status = comparison_run(&pair, run->command, job->input, path, error);
    for (int i = 0; i < 2 && !run->command->settings.quiet; i++) {
        struct error line;
        error_set(&line,
                  "%s: warning: has samples with more digits than 32-bit floats hold; they were rounded",
                  pair.sides[i].name);
        if (pair.sides[i].reader && reader_rounded(pair.sides[i].reader))
            run->report_error(&line);
    }
    if (status == STATUS_OK) {
        add_pair(run, &pair);
    } else if (option->form == COMPARE_JSON) { /* a picture that cannot be read has a line, too */
        const struct comparison unread = {
            .sides = {{.name = pair.sides[0].name}, {.name = pair.sides[1].name}}};
        print_pair_json(run->out, &unread, &(struct figures){.psnr = (double)NAN}, error->text);
    }
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
    const char *const reference = command->compare.reference, *const diff = command->compare.diff;
    const char *const names = command->settings.files_from;
    const bool is_stdin = strcmp(reference, "-") == 0;
    if (is_stdin && (list->count > 1 || (names && strcmp(names, "-") == 0) ||
                     (list->count > 0 && strcmp(list->jobs[0].input, "-") == 0)))
        return fail(error, STATUS_USAGE, "--compare -: stdin can be read only once; name a file");
    if (stat_errno != 0 && !is_stdin)
        return fail(error, STATUS_FAILED, "%s: cannot open: %s", reference, strerror(stat_errno));
    if (!diff && command->settings.compression != COMPRESSION_PRESET_DEFAULT)
        return fail(error, STATUS_USAGE,
                    "--compression has no effect with --compare without diff=; leave it out");
    if (!diff)
        return STATUS_OK;
    const struct format *format = format_by_path(diff);
    if (!format)
        return fail(error, STATUS_USAGE, "--compare: diff=%s: climg writes %s", diff,
                    format_names(NULL, "and").text);
    if (list->several)
        return fail(error, STATUS_USAGE, "--compare: diff= takes one picture");
    return output_format_check_coding(format, &command->settings, error);
}

enum status compare_write(const struct command *command, FILE *out,
                          void (*report_error)(const struct error *), struct error *error)
{
    struct job_list list;
    struct results results;
    struct stat there;
    const int stat_errno = stat(command->compare.reference, &there) != 0 ? errno : 0;
    const bool has_folder = stat_errno == 0 && S_ISDIR(there.st_mode);
    enum status status = results_begin_reading(&results, &list, command, report_error, error);
    struct compare_run run = {
        .command = command, .out = out, .report_error = report_error, .several = list.several};
    if (status == STATUS_OK) {
        status = check_reference(command, &list, stat_errno, error);
        for (size_t i = 0; status == STATUS_OK && i < list.count; i++) {
            struct result result = {.group = 1};
            result.status = compare_job(&run, &list.jobs[i], has_folder, &result.error);
            results_add(&results, &list.jobs[i], &result);
            status = text_flush(out, error); /* if nobody reads the lines, stop */
        }
        /* Only folders are expected to have all pictures of the reference folder; single files are a
         * selection. */
        if (status == STATUS_OK && has_folder && list.has_folder)
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
