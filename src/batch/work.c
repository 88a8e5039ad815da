#include "batch/work.h"

#include "batch/resume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folders between the output directory and the file. Others may be making the same at the same time. */
static enum status make_folders(const struct list *list, const char *path, struct error *error)
{
    char *folder = copy_text(path, error);
    if (!folder)
        return STATUS_FAILED;
    enum status status = STATUS_OK;
    char *end = folder + strlen(list->output) + 1;
    for (end = strchr(end, '/'); end && status == STATUS_OK; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            status = fail(error, STATUS_FAILED, "%s: cannot make the folder: %s", folder, strerror(errno));
        *end = '/';
    }
    free(folder);
    return status;
}

static uint64_t file_size(const char *path)
{
    struct stat there;
    return stat(path, &there) == 0 && S_ISREG(there.st_mode) ? (uint64_t)there.st_size : 0;
}

static enum status convert(struct session *session, const struct list *list, const struct item *item,
                           struct outcome *outcome)
{
    enum status status = STATUS_OK;
    if (item->problem)
        return fail(&outcome->error, STATUS_FAILED, "%s", item->problem);
    if (list->output_is_directory)
        status = make_folders(list, item->output, &outcome->error);
    if (status == STATUS_OK)
        status = session_convert(session, item->input, item->output, &outcome->made, &outcome->error);
    return status;
}

void item_work(struct session *session, const struct list *list, const struct item *item,
               struct outcome *outcome)
{
    struct timing *timing = &session->timing;
    double began = timing_total(timing), before[PART_COUNT];
    *outcome = (struct outcome){.bytes_in = item->bytes};
    if (resume_finds_done(session, item)) {
        outcome->kind = OUTCOME_SKIPPED;
        return;
    }
    session_busy(session, before);
    outcome->status = convert(session, list, item, outcome);
    outcome->kind = outcome->status == STATUS_OK ? OUTCOME_DONE : OUTCOME_FAILED;
    outcome->total = timing_total(timing) - began;
    session_busy(session, outcome->seconds);
    for (int i = 0; i < PART_COUNT; i++)
        outcome->seconds[i] -= before[i];
    outcome->device = session->open ? session->device.name : NULL;
    if (outcome->status == STATUS_OK)
        outcome->bytes_out = file_size(item->output);
}
