#include "batch/resume.h"

#include "batch/provenance.h"
#include "image/format.h"
#include "image/reader.h"

#include <string.h>
#include <sys/stat.h>

/* The time of an output is that of its last byte, later than anything that was read for it. On a file system
 * for many machines both are the server's. */
static bool is_newer(const struct stat *output, const struct stat *input)
{
    const struct timespec *made = &output->st_mtim, *changed = &input->st_mtim;
    return made->tv_sec != changed->tv_sec ? made->tv_sec > changed->tv_sec
                                           : made->tv_nsec >= changed->tv_nsec;
}

/* A file that cannot be read is not done; the run will say what is wrong with writing it, if anything. */
static bool was_made_by(const char *path, const char *provenance)
{
    const struct reader_options options = {.page = 0, .max_pixels = UINT64_MAX};
    struct reader *reader;
    struct error ignored;
    if (reader_open(path, &options, &reader, &ignored) != STATUS_OK)
        return false;
    const char *software = metadata_text(&reader_info(reader)->metadata, "Software");
    bool made = !provenance || !reader_format(reader)->holds.texts ||
                (software && provenance_matches(software, provenance));
    reader_close(reader);
    return made;
}

bool resume_finds_done(const struct session *session, const struct item *item)
{
    struct stat input, output;
    if (!session->settings->resume || item->problem || strcmp(item->input, "-") == 0 ||
        strcmp(item->output, "-") == 0 || stat(item->input, &input) != 0 || stat(item->output, &output) != 0)
        return false;
    return S_ISREG(output.st_mode) && is_newer(&output, &input) &&
           was_made_by(item->output, session->provenance);
}

enum status resume_check(const struct session *session, const struct list *list, struct error *error)
{
    for (size_t i = 0; session->settings->resume && session->settings->strip && i < list->count; i++) {
        const struct item *item = &list->items[i];
        struct stat output;
        if (stat(item->output, &output) == 0 && S_ISREG(output.st_mode) && output.st_dev == item->device &&
            output.st_ino == item->inode)
            return fail(error, STATUS_USAGE,
                        "%s: --resume cannot tell whether a file that replaces itself is done when --strip "
                        "leaves out what made it; leave one of them out",
                        item->input);
    }
    return STATUS_OK;
}
