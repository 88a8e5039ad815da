#include "batch/work.h"

#include "batch/convert.h"
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

void entry_take(struct entry *entry, struct session *session, const struct list *list, size_t index)
{
    const struct item *item = &list->items[index];
    *entry = (struct entry){.session = session,
                            .list = list,
                            .index = index,
                            .item = item,
                            .outcome = {.bytes_in = item->bytes, .group = 1}};
}

struct measured measure(const struct session *session)
{
    struct measured now = {.total = timing_total(&session->timing)};
    session_busy(session, now.seconds);
    return now;
}

void entry_charge(struct entry *entry, const struct measured *since, int share)
{
    struct measured now = measure(entry->session);
    entry->outcome.total += (now.total - since->total) / share;
    for (int i = 0; i < PART_COUNT; i++)
        entry->outcome.seconds[i] += (now.seconds[i] - since->seconds[i]) / share;
}

static void settle(struct entry *entry, enum status status)
{
    struct outcome *outcome = &entry->outcome;
    outcome->made = entry->converting.made;
    outcome->status = status;
    outcome->kind = status == STATUS_OK ? OUTCOME_DONE : OUTCOME_FAILED;
    outcome->device = entry->session->open ? entry->session->device.name : NULL;
    converting_close(&entry->converting);
    if (status == STATUS_OK)
        outcome->bytes_out = file_size(entry->item->output);
    entry->settled = true;
}

static enum status open_input(struct entry *entry)
{
    const struct item *item = entry->item;
    struct error *error = &entry->outcome.error;
    enum status status = STATUS_OK;
    if (item->problem)
        return fail(error, STATUS_FAILED, "%s", item->problem);
    if (entry->list->output_is_directory)
        status = make_folders(entry->list, item->output, error);
    if (status == STATUS_OK)
        status = converting_open(&entry->converting, entry->session, item->input, item->output, error);
    return status;
}

void entry_begin(struct entry *entry)
{
    entry->begun = true;
    if (resume_finds_done(entry->session, entry->item)) {
        entry->outcome.kind = OUTCOME_SKIPPED;
        entry->settled = true;
        return;
    }
    struct measured since = measure(entry->session);
    enum status status = open_input(entry);
    entry_charge(entry, &since, 1);
    if (status != STATUS_OK)
        settle(entry, status);
}

void entry_finish(struct entry *entry)
{
    if (!entry->begun)
        entry_begin(entry);
    if (entry->settled)
        return;
    struct measured since = measure(entry->session);
    enum status status = convert(&entry->converting, &entry->outcome.error);
    entry_charge(entry, &since, 1);
    settle(entry, status);
}

void entry_done(struct entry *entry)
{
    settle(entry, STATUS_OK);
}

void entry_drop(struct entry *entry)
{
    converting_close(&entry->converting);
    entry->begun = false;
}
