/* Runs a command, in four steps.
 *
 *     check ─▶ begin: output folder, confinement, drivers, report ─▶ worker pool ─▶ end: report, times
 *
 * All checks, except of files such as --report, precede the first write: a batch of hours must not fail at
 * its end for a reason that was known at its start. A worker opens the device in the background while it
 * reads its first file. A dry run ends after the checks, with a line for each job. */
#include "batch/command.h"

#include "base/files.h"
#include "base/text.h"
#include "base/timing.h"
#include "batch/conflicts.h"
#include "batch/files.h"
#include "batch/output_format.h"
#include "batch/report.h"
#include "batch/resume.h"
#include "batch/stack.h"
#include "batch/worker_pool.h"
#include "device/choose.h"
#include "image/format.h"
#include "image/output/output.h"
#include "image/reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Fails if pixels would be read from or written to a terminal. If the command names an input that exists but
 * no output, the message shows the command with an output. */
static enum status check_terminal(const struct command *command, struct error *error)
{
    struct stat info = {.st_mode = 0};
    const char *input = command->input_count > 0 ? command->inputs[0] : NULL;
    const bool is_stdin = input && strcmp(input, "-") == 0, reads = is_stdin && isatty(STDIN_FILENO);
    const bool writes = command->output && strcmp(command->output, "-") == 0 && isatty(STDOUT_FILENO);
    const bool is_merged = chain_find_merge(&command->chain, 0) < command->chain.count;
    if (command->settings.dry_run || (!reads && !writes))
        return STATUS_OK;
    if (!writes)
        return fail(error, STATUS_USAGE,
                    "standard input is a terminal; name an input file or pipe one in "
                    "(see climg --help)");
    if (reads)
        return fail(error, STATUS_USAGE,
                    "no input is named; climg in.png --blur 2 out.png is an example, climg --help says more");
    if (input && !is_stdin && stat(input, &info) != 0)
        return fail(error, STATUS_FAILED, "%s: %s", input, strerror(errno));
    return fail(error, STATUS_USAGE,
                "no output is named, and pixels do not go to a terminal; name one at the end: climg %s%s %s",
                input ? input : "...", command->chain.count > 0 ? " ..." : "",
                S_ISDIR(info.st_mode) && !is_merged ? "out/" : "out.png");
}

/* Fails if outputs cannot be written in the format that --format or their names select. An output's format
 * may also depend on its input; then it is checked later. */
static enum status check_formats(const struct job_list *list, const struct settings *settings,
                                 struct error *error)
{
    const struct format *format;
    const struct job *first = list->jobs;
    /* A single file fails here, before its report overwrites an older one. In a batch, it is a line of the
     * report. */
    if (!list->several || list->is_stack) {
        if (output_format_choose(settings, first->output, NULL, &format, error) != STATUS_OK)
            return STATUS_USAGE;
        if (format && output_format_check(format, settings, first->is_single, error) != STATUS_OK) {
            error_prefix(error, job_input_name(first));
            return STATUS_USAGE;
        }
    }

    /* --in-place keeps the names, so a.png must not become a JPEG. */
    for (size_t i = 0; settings->in_place && settings->format && i < list->count; i++) {
        format = format_by_path(list->jobs[i].output);
        if (format && format != settings->format)
            return fail(
                error, STATUS_USAGE,
                "%s: --in-place keeps this name, which is not %s's; name an output file or folder instead",
                list->jobs[i].output, settings->format->name);
    }

    /* A coding option fails if it fails for every output. */
    enum status status = STATUS_FAILED;
    for (size_t i = 0; status != STATUS_OK && i < list->count; i++) {
        format = output_format(settings, list->jobs[i].output);
        status = format ? output_format_check_coding(format, settings, error) : STATUS_OK;
    }
    return status;
}

/* Checks the command and makes the list of jobs. */
static enum status check_command(const struct command *command, struct job_list *list, struct stack *stack,
                                 struct error *error)
{
    enum status status = conflicts_check_names(command, error);
    if (status == STATUS_OK)
        status = check_terminal(command, error);
    if (status == STATUS_OK)
        status = job_list_make(list, command, error);
    if (status == STATUS_OK)
        status = stack_make(stack, command, list, error);
    if (status == STATUS_OK)
        status = check_formats(list, &command->settings, error);
    return status == STATUS_OK && command->settings.resume ? resume_check(&command->settings, list, error)
                                                           : status;
}

/* Prints a line for each job instead of running it. `resume` is NULL without --resume. */
static enum status dry_run(const struct resume *resume, const struct job_list *list, struct results *results,
                           struct error *error)
{
    size_t files = 0, done = 0;
    const bool is_json = results->settings->dry_run == LIST_JSON;
    for (size_t i = 0; i < list->count; i++) {
        struct job *job = &list->jobs[i];
        struct result result = {.group = 1};
        result.status = job_check(job, &result.error);
        if (result.status == STATUS_OK) {
            const bool is_done = resume && resume_finds_done(resume, job);
            if (is_json) {
                results_print_undone(stdout, job, is_done ? "skipped" : "planned", NULL);
            } else {
                print_visible(stdout, job->input);
                fputs(" -> ", stdout);
                print_visible(stdout, job->output);
                puts(is_done ? ": skip (done)" : "");
            }
            done += is_done;
            files += !is_done;
        } else if (is_json) {
            results_print_undone(stdout, job, "failed", &result.error);
        }
        results_add(results, job, &result);
    }
    if (is_json && results->merged)
        results_print_undone(stdout, results->merged, "planned", NULL);
    if (text_flush(stdout, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!list->several || results->settings->quiet)
        return STATUS_OK;
    /* "climg: 7 files", or "climg: 5 of 7 files to do; 2 done before; 1 left out: not pictures ..." */
    char line[128];
    snprintf(line, sizeof line, "climg: %zu file%s", files, files == 1 ? "" : "s");
    if (done > 0)
        snprintf(line, sizeof line, "climg: %zu of %zu files to do; %zu done before", files, files + done,
                 done);
    if (list->files_left_out > 0)
        text_append(line, sizeof line, "; %zu left out: not pictures that climg reads", list->files_left_out);
    fprintf(stderr, "%s\n", line);
    return STATUS_OK;
}

/* Removes temporary files of killed runs from a folder: a callback of job_list_each_folder. */
static enum status remove_leftovers(void *context, const char *folder, struct error *error)
{
    (void)context;
    (void)error;
    temporary_clean(folder);
    return STATUS_OK;
}

/* Removes the folders that this run created and that are empty, the deepest first. */
static void remove_empty_folders(struct job_list *list)
{
    bool removed_any = true;
    while (removed_any) { /* a folder above another job's folder may be empty only in the next pass */
        removed_any = false;
        for (size_t i = 0; i < list->count; i++) {
            const struct job *job = &list->jobs[i];
            char *slash = job->created_length > 0 ? strrchr(job->output, '/') : NULL;
            while (slash && (size_t)(slash - job->output) >= job->created_length) {
                *slash = '\0';
                removed_any = rmdir(job->output) == 0 || removed_any;
                char *above = strrchr(job->output, '/');
                *slash = '/';
                slash = above;
            }
        }
    }
}

/* Fails if an auxiliary output cannot be opened, except the report, which is opened at once. These files are
 * written only at the end, so check them now. */
static enum status check_aux_outputs(const struct command *command, struct error *error)
{
    static const char *const contents[] = {[TRACE_OUTPUT] = "the trace",
                                           [TIMING_OUTPUT] = "the times",
                                           [MATRIX_OUTPUT] = "the matrix",
                                           [MAP_OUTPUT] = "the map"};
    struct aux_output aux[AUX_OUTPUTS];
    enum status status = STATUS_OK;
    list_aux_outputs(command, aux);
    for (int i = REPORT_OUTPUT + 1; status == STATUS_OK && i < AUX_OUTPUTS; i++) {
        if (!aux[i].path)
            continue;
        char *target = resolve_links(aux[i].path, error); /* opening a dangling link creates its target */
        status = target ? aux_check(target, contents[i], error) : STATUS_FAILED;
        /* The map, an image, is renamed from a temporary file in its folder. */
        if (status == STATUS_OK && i == MAP_OUTPUT)
            status = output_check(target, error);
        free(target);
    }
    return status;
}

/* Assumed number of pages of video from a pipe, each of 12 megapixels; together as much as 24 seconds of
 * 1080p at 24 frames a second. */
enum { PIPED_VIDEO_PAGES = 100 };

/* Estimates the work of a command for the choice of its device, before any device is known.
 *
 * The first file's header gives the shape of a page and the number of pages. The other files are assumed to
 * have the same shape and the same number of pages for each byte: opening each would take longer than a wrong
 * choice costs. An input that cannot be opened twice, such as a pipe, counts as a photograph of 12
 * megapixels, or as PIPED_VIDEO_PAGES of them if the output is video. Files that --resume will skip are
 * counted. */
static struct workload estimate_workload(const struct command *command, const struct job_list *list)
{
    const struct settings *settings = &command->settings;
    struct reader_options options = settings_reader_options(settings);
    options.jobs = 1;
    struct shape shape = {.kind = KIND_IMAGE, .width = 4000, .height = 3000, .channels = 3, .images = 1};
    struct error ignored = {.text = ""};
    struct reader *reader = NULL;
    if (list->count == 0)
        return (struct workload){0};
    const struct job *first = &list->jobs[0];
    const struct format *to = output_format(settings, first->output);

    /* Set `pages` to the size of all files in units of the first one. */
    double bytes = 0, pages = (double)list->count;
    for (size_t i = 0; i < list->count; i++)
        bytes += (double)list->jobs[i].bytes;
    if (first->bytes > 0)
        pages = fmax(bytes / (double)first->bytes, 1);
    else if (to && to->holds.video)
        pages = PIPED_VIDEO_PAGES;
    if (first->bytes == 0 || reader_open(first->input, &options, &reader, &ignored) != STATUS_OK)
        return chain_workload(&command->chain, &shape, 1, pages);

    /* Multiply by the pages of the first file. Only formats without compression have no number of pages in
     * their header; their number follows from the file's size. */
    const struct image_info *info = reader_info(reader);
    const int known_pages = reader_pages_to_read(reader), size = (int)sample_size(info->type);
    shape = image_shape(info);
    pages *= known_pages > 0 ? known_pages
                             : fmax((double)first->bytes / (double)(row_size(info) * info->height), 1);
    reader_close(reader);
    return chain_workload(&command->chain, &shape, size, pages);
}

/* Creates the output folder, confines the process, and prepares the stages, some of which decode a picture
 * (--align FILE). The caller frees *provenance. */
static enum status prepare_command(struct command *command, struct job_list *list, struct stack *stack,
                                   char **provenance, struct error *error)
{
    enum status status = STATUS_OK;
    if (!command->settings.dry_run && list->output_is_directory) {
        char *folder = text_print(error, "%s/", list->output);
        status = folder ? create_folders(folder, 0, &list->jobs[0].created_length, error) : STATUS_FAILED;
        free(folder);
        if (status == STATUS_OK && !is_folder(list->output))
            status =
                fail(error, STATUS_FAILED,
                     "%s: is not a folder; several files, or a folder, need an output folder", list->output);
    }
    if (status == STATUS_OK && command->prepare_process)
        status = command->prepare_process(command, list, error);
    if (status == STATUS_OK)
        status = chain_prepare(&command->chain, &command->settings, error);
    if (status == STATUS_OK)
        status = stack_prepare(stack, command, list, error);
    if (status != STATUS_OK)
        return status;
    *provenance = provenance_describe(&command->chain, &command->settings, error);
    return *provenance ? STATUS_OK : STATUS_FAILED;
}

/* Removes temporary files of killed runs, checks the auxiliary outputs, drops the jobs of other shards, fails
 * if an output would replace a file that may be meant as an input, prints which files are left out, selects
 * the drivers to load, and opens the report. */
static enum status begin_batch(const struct command *command, const struct resume *resume,
                               struct job_list *list, struct results *results,
                               void (*report_error)(const struct error *), struct error *error)
{
    const struct settings *settings = &command->settings;
    if (!settings->dry_run &&
        ((list->several && job_list_each_folder(list, remove_leftovers, NULL, error) != STATUS_OK) ||
         check_aux_outputs(command, error) != STATUS_OK))
        return STATUS_FAILED;
    job_list_keep_shard(list, &settings->part);
    if (resume_check_existing(command, list, resume, error) != STATUS_OK)
        return STATUS_USAGE;
    job_list_print_left_out(list, settings);
    if (!settings->dry_run) {
        const bool chooses = device_needs_workload(settings);
        const struct workload work = chooses ? estimate_workload(command, list) : (struct workload){0};
        device_select_drivers(settings, chooses ? &work : NULL);
    }
    return results_begin(results, settings, resume, list, report_error, error);
}

enum status batch_run(struct command *command, void (*report_error)(const struct error *),
                      struct error *error)
{
    const struct settings *settings = &command->settings;
    struct job_list list = {0};
    struct stack stack = {.step = NULL};
    struct results results;
    struct worker_pool pool;
    struct resume resume = {0};
    const struct resume *done = settings->resume ? &resume : NULL;
    char *provenance = NULL;
    double began = clock_seconds();
    if (settings->verbose)
        settings_print(stderr, settings);
    enum status status = check_command(command, &list, &stack, error);
    if (status == STATUS_OK)
        status = prepare_command(command, &list, &stack, &provenance, error);
    if (status == STATUS_OK && settings->resume)
        status = resume_load(&resume, command, provenance, &list, error);
    if (status == STATUS_OK)
        status = begin_batch(command, done, &list, &results, report_error, error);
    if (status == STATUS_OK && stack.step)
        results.merged = &stack.result;
    if (status == STATUS_OK && settings->dry_run) {
        status = dry_run(done, &list, &results, error);
        status = results_end(&results, &list, status, error);
    } else if (status == STATUS_OK) {
        if (stack.step)
            results.several = false; /* all inputs are one output */
        status =
            worker_pool_open(&pool, command, settings->strip ? NULL : provenance, &list, &results, error);
        const bool opened = status == STATUS_OK;
        if (opened && stack.step)
            pool.context.chain = &stack.before;
        if (opened)
            worker_pool_run(&pool, done);
        if (opened && stack.step)
            worker_pool_merge(&pool, &stack);
        /* Also after a failure to open the pool: the report has a line for each job that was not tried. */
        status = results_end(&results, &list, status, error);
        if (opened)
            status = report_times(worker_pool_add_measurements(&pool), pool.device_count, settings, began,
                                  status, report_error, error);
        if (environment_closes(&settings->environment))
            worker_pool_close(&pool);
    }
    /* Not with --shard: a folder that is empty now may be where another shard's process is about to write. */
    if (settings->part.count == 0)
        remove_empty_folders(&list);
    stack_free(&stack);
    job_list_free(&list);
    resume_free(&resume);
    free(provenance);
    return status;
}
