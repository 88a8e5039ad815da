#include "batch/resume.h"

#include "batch/naming.h"
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

/* Pixels: --max-pixels is about inputs, and outputs may be larger, but none is so large that the bytes of its
 * rows could not be counted. */
static const uint64_t LARGEST_OUTPUT = UINT64_C(1) << 40;

/* A file that cannot be read is not done; the run will say what is wrong with writing it, if anything. */
static bool was_made_by(const char *path, const char *provenance)
{
    const struct reader_options options = {.page = 0, .max_pixels = LARGEST_OUTPUT};
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

bool resume_finds_done(const struct settings *settings, const char *provenance, const struct job *job)
{
    struct stat input, output;
    if (!settings->resume || job->problem || strcmp(job->input, "-") == 0 || strcmp(job->output, "-") == 0 ||
        stat(job->input, &input) != 0 || stat(job->output, &output) != 0)
        return false;
    return S_ISREG(output.st_mode) && is_newer(&output, &input) && was_made_by(job->output, provenance);
}

static bool says_what_made_it(const struct settings *settings, const char *output)
{
    const struct format *format = settings->format ? settings->format : format_by_path(output);
    if (!format)
        name_is_image(output, &format);
    return !settings->strip && (!format || format->holds.texts);
}

enum status resume_check(const struct settings *settings, const struct list *list, struct error *error)
{
    for (size_t i = 0; settings->resume && i < list->count; i++) {
        const struct job *job = &list->jobs[i];
        struct stat output;
        if (stat(job->output, &output) == 0 && S_ISREG(output.st_mode) && output.st_dev == job->device &&
            output.st_ino == job->inode && !says_what_made_it(settings, job->output))
            return fail(
                error, STATUS_USAGE,
                "%s: --resume cannot tell whether a file that replaces itself is done where %s what made "
                "it; leave it out",
                job->input, settings->strip ? "--strip leaves out" : "its format cannot say");
    }
    return STATUS_OK;
}
