#include "batch/provenance.h"

#include "image/format.h"
#include "image/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char NAME[] = "climg ";
static const char KEY[] = "Software", BETWEEN[] = "; ";

static void print_stage(FILE *file, const struct step *step)
{
    char separator = '=';
    fprintf(file, " --%s", step->stage->name);
    for (const struct option *option = step->stage->options; option->type != OPTION_END; option++) {
        fputc(separator, file);
        if (option->name)
            fprintf(file, "%s=", option->name);
        option_print(file, option, step->params);
        separator = ',';
    }
}

char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file) {
        fprintf(file, "%s%s", NAME, CLIMG_VERSION);
        for (size_t i = 0; i < chain->count; i++)
            print_stage(file, &chain->steps[i]);
        bool complete = settings_print_effects(file, settings, chain->count > 0);
        if (fclose(file) == 0 && complete)
            return text;
    }
    free(text);
    fail_memory(error, "out of memory for the description of the chain");
    return NULL;
}

/* The part of a Software text that climg wrote: all of it, or what stands behind the maker's; NULL: none. */
static const char *own_part(const char *software)
{
    for (const char *part = software; part; part = strstr(part, BETWEEN)) {
        part += part == software ? 0 : strlen(BETWEEN);
        if (strncmp(part, NAME, strlen(NAME)) == 0)
            return part;
    }
    return NULL;
}

enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error)
{
    const char *before = metadata_text(metadata, KEY);
    const char *own = before ? own_part(before) : NULL;
    size_t maker = own ? (size_t)(own - before) : before ? strlen(before) : 0;
    size_t size = maker + strlen(BETWEEN) + strlen(provenance);
    char *text = allocate(size + 1, "the description of the chain", error);
    if (!text)
        return STATUS_FAILED;
    snprintf(text, size + 1, "%.*s%s%s", (int)maker, before ? before : "", maker > 0 && !own ? BETWEEN : "",
             provenance);
    enum status status = metadata_set_text(metadata, KEY, text, strlen(text), error);
    free(text);
    return status;
}

/* Behind "climg 0.2.0"; NULL where something else made the file. */
static const char *work_of(const char *software)
{
    const char *own = own_part(software);
    return own ? own + strlen(NAME) + strcspn(own + strlen(NAME), " ") : NULL;
}

/* Whether both say the same work. The version is not compared: it does not say whether pixels changed, and
 * half a job is not to be done again because climg was updated. */
static bool matches(const char *software, const char *provenance)
{
    const char *made = work_of(software), *wanted = work_of(provenance);
    return made && wanted && strcmp(made, wanted) == 0;
}

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
    bool made =
        !provenance || !reader_format(reader)->holds.texts || (software && matches(software, provenance));
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
        format = format_by_content(output);
    return !settings->strip && (!format || format->holds.texts);
}

enum status resume_check(const struct settings *settings, const struct list *list, struct error *error)
{
    for (size_t i = 0; settings->resume && i < list->count; i++) {
        const struct job *job = &list->jobs[i];
        struct stat output;
        if (job_stat_output(job, &output) && S_ISREG(output.st_mode) && output.st_dev == job->device &&
            output.st_ino == job->inode && !says_what_made_it(settings, job->output))
            return fail(
                error, STATUS_USAGE,
                "%s: --resume cannot tell whether a file that replaces itself is done where %s what made "
                "it; leave it out",
                job->input, settings->strip ? "--strip leaves out" : "its format cannot say");
    }
    return STATUS_OK;
}
