/* A command: its list of jobs, each done, what became of them. */
#include "batch/batch.h"

#include "base/clock.h"
#include "base/text.h"
#include "batch/clash.h"
#include "batch/crew.h"
#include "batch/list.h"
#include "batch/provenance.h"
#include "batch/results.h"
#include "batch/times.h"
#include "image/output/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status check_terminal(const struct command *command, struct error *error)
{
    bool reads = command->input_count > 0 && strcmp(command->inputs[0], "-") == 0 && isatty(STDIN_FILENO);
    bool writes = command->output && strcmp(command->output, "-") == 0 && isatty(STDOUT_FILENO);
    if (command->settings.dry_run)
        return STATUS_OK;
    if (reads && writes)
        return fail(
            error, STATUS_USAGE,
            "no input is named; climg in.png --blur 2 out.png is an example, climg --help tells more");
    if (writes)
        return fail(error, STATUS_USAGE,
                    "standard output is a terminal and pixels would go there; name an output file "
                    "or redirect it");
    if (reads)
        return fail(error, STATUS_USAGE,
                    "standard input is a terminal; name an input file or pipe one in "
                    "(climg --help tells how)");
    return STATUS_OK;
}

/* What is to be done, and whether it can be. With --strip a file does not say what made it. */
static enum status prepare(struct command *command, struct list *list, char **provenance, struct error *error)
{
    enum status status = chain_prepare(&command->chain, &command->settings, error);
    if (status == STATUS_OK)
        status = clash_check_names(&command->settings, error);
    if (status == STATUS_OK)
        status = check_terminal(command, error);
    if (status == STATUS_OK && !command->settings.strip) {
        *provenance = provenance_describe(&command->chain, &command->settings, error);
        status = *provenance ? STATUS_OK : STATUS_FAILED;
    }
    if (status == STATUS_OK)
        status = list_make(list, command, error);
    /* Before a report is begun in place of an older one. Of several files one that fails is a line in it. */
    if (status == STATUS_OK && !list->several && list->count > 0)
        status = job_check_format(&list->jobs[0], &command->settings, error);
    return status == STATUS_OK ? resume_check(&command->settings, list, error) : status;
}

/* What would be done, a line each. */
static enum status tell_all(const struct settings *settings, const char *provenance, const struct list *list,
                            struct results *results, struct error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        struct job *job = &list->jobs[i];
        struct result result = {.group = 1};
        result.status = job_check(job, &result.error);
        if (result.status == STATUS_OK) {
            print_visible(stdout, job->input);
            fputs(" -> ", stdout);
            print_visible(stdout, job->output);
            puts(resume_finds_done(settings, provenance, job) ? ": skip (done)" : "");
        }
        results_take(results, job, &result);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        return fail(error, STATUS_FAILED, "standard output: cannot write: %s", strerror(errno));
    return STATUS_OK;
}

struct folder {
    const char *path; /* of a file in it */
    int length;
};

static int by_folder(const void *a, const void *b)
{
    const struct folder *first = a, *second = b;
    if (first->length != second->length)
        return first->length < second->length ? -1 : 1;
    return memcmp(first->path, second->path, (size_t)first->length);
}

static enum status tidy(const struct folder *folder, struct error *error)
{
    char *path = copy_text(folder->path, error);
    if (!path)
        return STATUS_FAILED;
    path[folder->length] = '\0';
    outputs_clean(path);
    free(path);
    return STATUS_OK;
}

/* Removes what killed runs left in the folders that outputs go to. */
static enum status tidy_folders(const struct list *list, struct error *error)
{
    struct folder *folders = allocate(list->count * sizeof *folders, "folder names", error);
    enum status status = folders ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; folders && i < list->count; i++)
        folders[i] = (struct folder){list->jobs[i].output, folder_length(list->jobs[i].output)};
    if (folders)
        qsort(folders, list->count, sizeof *folders, by_folder);
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++)
        if (i == 0 || by_folder(&folders[i - 1], &folders[i]) != 0)
            status = tidy(&folders[i], error);
    free(folders);
    return status;
}

static enum status make_directory(const char *path, struct error *error)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return STATUS_OK;
    if (errno != EEXIST)
        return fail(error, STATUS_FAILED, "%s: cannot make the directory: %s", path, strerror(errno));
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "%s: is not a directory; the output of several files or of a directory must be one", path);
}

static void tell_unread(const struct list *list)
{
    struct list_note note = list_left_out(list);
    text_make_visible(note.text);
    fprintf(stderr, "climg: %s\n", note.text);
}

static enum status begin(const struct command *command, const struct list *list, struct results *results,
                         void (*complain)(const struct error *), struct error *error)
{
    const struct settings *settings = &command->settings;
    if (!settings->dry_run && list->output_is_directory && make_directory(list->output, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!settings->dry_run && list->several && tidy_folders(list, error) != STATUS_OK)
        return STATUS_FAILED;
    if (settings->verbose && !settings->quiet && list->passed_over > 0)
        fprintf(stderr, "climg: %zu files in folders are no images that climg reads: left alone\n",
                list->passed_over);
    if (!settings->quiet && list->unread > 0)
        tell_unread(list);
    return results_begin(results, settings, list, complain, error);
}

enum status batch_run(struct command *command, void (*complain)(const struct error *), struct error *error)
{
    const struct settings *settings = &command->settings;
    struct list list = {0};
    struct results results;
    struct crew crew;
    char *provenance = NULL;
    double began = clock_seconds();
    if (settings->verbose && !settings->quiet)
        settings_print(stderr, settings);
    enum status status = prepare(command, &list, &provenance, error);
    if (status == STATUS_OK)
        status = begin(command, &list, &results, complain, error);
    if (status == STATUS_OK && settings->dry_run) {
        status = tell_all(settings, provenance, &list, &results, error);
        status = results_end(&results, status, error);
    } else if (status == STATUS_OK) {
        status = crew_open(&crew, command, provenance, &list, &results, error);
        bool opened = status == STATUS_OK;
        if (opened)
            crew_work(&crew);
        status = results_end(&results, status, error);
        if (opened)
            status = times_tell(&crew, settings, began, status, complain, error);
        if (settings->environment.close)
            crew_close(&crew);
    }
    list_free(&list);
    free(provenance);
    return status;
}
