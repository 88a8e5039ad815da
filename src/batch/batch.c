/* A command: its list of items, each done, what became of them. */
#include "batch/batch.h"

#include "batch/clash.h"
#include "batch/crew.h"
#include "batch/list.h"
#include "batch/provenance.h"
#include "batch/results.h"
#include "batch/resume.h"
#include "batch/shard.h"
#include "batch/tidy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status make_directory(const char *path, struct error *error)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return STATUS_OK;
    if (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "%s: %s; the output of several files or of a directory must be a directory", path,
                errno == EEXIST ? "is not a directory" : strerror(errno));
}

static enum status convert_all(struct session *session, const struct list *list, struct results *results,
                               struct error *error)
{
    enum status status = crew_work(session, list, results, error);
    if (status == STATUS_OK)
        return results_end(results, error);
    struct error ignored;
    results_end(results, &ignored);
    return status;
}

static void print_name(const char *name)
{
    for (; *name; name++)
        putchar((unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
}

/* What would be done, a line each. */
static enum status tell_all(const struct session *session, const struct list *list, struct results *results,
                            struct error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct item *item = &list->items[i];
        struct outcome outcome = {.kind = OUTCOME_DONE};
        if (item->problem) {
            outcome = (struct outcome){.kind = OUTCOME_FAILED, .status = STATUS_FAILED};
            fail(&outcome.error, STATUS_FAILED, "%s", item->problem);
        } else {
            print_name(item->input);
            fputs(" -> ", stdout);
            print_name(item->output);
            puts(resume_finds_done(session, item) ? ": skip (done)" : "");
        }
        results_take(results, item, &outcome);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        return fail(error, STATUS_FAILED, "standard output: cannot write: %s", strerror(errno));
    return results_end(results, error);
}

static enum status run_list(struct session *session, const struct list *list,
                            void (*complain)(const struct error *), struct error *error)
{
    struct results results;
    const struct settings *settings = session->settings;
    if (!settings->dry_run && list->output_is_directory &&
        (make_directory(list->output, error) != STATUS_OK || tidy_folders(list, error) != STATUS_OK))
        return STATUS_FAILED;
    if (settings->verbose && !settings->quiet && list->passed_over > 0)
        fprintf(stderr, "climg: %zu files in folders are no images that climg reads: left alone\n",
                list->passed_over);
    enum status status = results_begin(&results, settings, list, complain, error);
    if (status != STATUS_OK)
        return status;
    if (settings->dry_run)
        return tell_all(session, list, &results, error);
    return convert_all(session, list, &results, error);
}

static enum status check_terminal(const struct command *command, struct error *error)
{
    if (command->settings.dry_run)
        return STATUS_OK;
    if (strcmp(command->output, "-") == 0 && isatty(STDOUT_FILENO))
        return fail(error, STATUS_USAGE,
                    "standard output is a terminal and pixels would go there; name an output file "
                    "or redirect it");
    if (strcmp(command->inputs[0], "-") == 0 && isatty(STDIN_FILENO))
        return fail(error, STATUS_USAGE,
                    "standard input is a terminal; name an input file or pipe one in "
                    "(climg --help tells how)");
    return STATUS_OK;
}

/* With --strip a file does not say what made it. */
static enum status describe(struct session *session, char **provenance, struct error *error)
{
    *provenance = NULL;
    if (session->settings->strip)
        return STATUS_OK;
    *provenance = provenance_describe(session->chain, session->settings, error);
    session->provenance = *provenance;
    return *provenance ? STATUS_OK : STATUS_FAILED;
}

enum status batch_run(struct session *session, const struct command *command,
                      void (*complain)(const struct error *), struct error *error)
{
    struct list list = {0};
    char *provenance = NULL;
    enum status status = clash_check_names(&command->settings, error);
    if (status == STATUS_OK)
        status = check_terminal(command, error);
    if (status == STATUS_OK)
        status = describe(session, &provenance, error);
    if (status == STATUS_OK)
        status = list_make(&list, command, error);
    if (status == STATUS_OK)
        shard_keep(&command->settings.part, &list);
    if (status == STATUS_OK)
        status = resume_check(session, &list, error);
    if (status == STATUS_OK)
        status = run_list(session, &list, complain, error);
    list_free(&list);
    session->provenance = NULL;
    free(provenance);
    return status;
}
