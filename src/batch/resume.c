/* Names the work of a command, and finds out if an output has been made by the same work.
 *
 *     records of all folders ─▶ sorted by path ─▶ found? ─┬─ yes: compare work, input, size and times,
 *                                                         │       or else the checksum
 *                                                         └─ no: compare the output's own metadata,
 *                                                                and read it to its end
 *
 * A record is a line of text, appended in one write; later lines of an output replace earlier ones. A line
 * that another process cut off is skipped. Reading an output without a record is slow, but happens once, as
 * the output gets a record then. */
#include "batch/resume.h"

#include "base/sums.h"
#include "base/text.h"
#include "image/format.h"
#include "image/output/output.h"
#include "image/reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char NAME[] = "climg ";  /* start of a work */
static const char KEY[] = "Software"; /* key of the text in the metadata */
static const char BETWEEN[] = "; ";   /* between the programs in it */

/* Prints " --STAGE=VALUE,KEY=VALUE..." with all keys that have a meaning and a value. Returns false if memory
 * is out. */
static bool print_stage(FILE *file, const struct step *step)
{
    char separator = '=';
    fprintf(file, " --%s", step->stage->name);
    for (const struct option *option = step->stage->options; option->type != OPTION_END; option++) {
        if (option->unused && option->unused(step->params))
            continue; /* a command line with it is an error */
        char *value = option_value_text(option, step->params);
        if (!value)
            return false;
        if (value[0] != '\0') {
            fprintf(file, "%c%s%s%s", separator, option->name ? option->name : "", option->name ? "=" : "",
                    value);
            separator = ',';
        }
        free(value);
    }
    return true;
}

char *provenance_describe(const struct chain *chain, const struct settings *settings, struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file) {
        fprintf(file, "%s%s", NAME, CLIMG_VERSION);
        bool complete = true;
        for (size_t i = 0; complete && i < chain->count; i++)
            complete = print_stage(file, &chain->steps[i]);
        complete = complete && settings_print_effects(file, settings, chain->count > 0);
        if (fclose(file) == 0 && complete)
            return text;
    }
    free(text);
    fail_memory(error, "out of memory for the description of the chain");
    return NULL;
}

/* Returns the part of a Software text that climg wrote: all of it, or the part after another program's name;
 * NULL if climg wrote none. */
static const char *own_part(const char *software)
{
    const char *part = software;
    while (strncmp(part, NAME, strlen(NAME)) != 0) {
        part = strstr(part, BETWEEN);
        if (!part)
            return NULL;
        part += strlen(BETWEEN);
    }
    return part;
}

enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error)
{
    const char *before = metadata_text(metadata, KEY);
    const char *own = before ? own_part(before) : NULL;
    size_t maker = own ? (size_t)(own - before) : before ? strlen(before) : 0;
    char *text = text_print(error, "%.*s%s%s", (int)maker, before ? before : "",
                            maker > 0 && !own ? BETWEEN : "", provenance);
    if (!text)
        return STATUS_FAILED;
    enum status status = metadata_set_text(metadata, KEY, text, strlen(text), error);
    free(text);
    return status;
}

/* Returns the work in a Software text, after "climg 0.2.0"; NULL if another program made the file. The
 * version does not count: after an update of climg, --resume would do a whole batch again. */
static const char *find_work(const char *software)
{
    const char *own = own_part(software);
    return own ? own + strlen(NAME) + strcspn(own + strlen(NAME), " ") : NULL;
}

static const char RECORD[] = ".climg-done";

/* A line of a record. Times are nanoseconds since 1970. */
struct done_record {
    char *path;          /* of the output, folder included; owned */
    size_t line;         /* number of the line, as later lines replace earlier ones */
    uint64_t work;       /* hash of the work */
    uint64_t input_size; /* bytes */
    int64_t input_time;  /* st_mtim of the input */
    uint64_t size;       /* bytes of the output */
    int64_t time;        /* st_mtim of the output */
    int64_t changed;     /* st_ctim of the output: programs cannot set it, so it shows damage and copies */
    uint32_t sum;        /* CRC-32 of the output */
};

/* Formats of a line, without and with the conversion that stores the start of the name. */
#define LINE                                                                                                 \
    "climg1 %016" PRIx64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRId64 " %" PRId64 " %08" PRIx32 " "
#define SCAN                                                                                                 \
    "climg1 %16" SCNx64 " %" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNd64 " %" SCNd64 " %8" SCNx32 " %n"

/* Converts a time to nanoseconds. */
static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int by_path(const void *a, const void *b)
{
    const struct done_record *first = a, *second = b;
    int order = strcmp(first->path, second->path);
    return order != 0 ? order : first->line < second->line ? -1 : first->line > second->line;
}

/* Parses a line; *name is set to the start of the name in it. Returns false if it was cut off or overwritten
 * by another process. */
static bool resume_read_line(const char *line, struct done_record *record, int *name)
{
    *name = 0;
    return sscanf(line, SCAN, &record->work, &record->input_size, &record->input_time, &record->size,
                  &record->time, &record->changed, &record->sum, name) == 7 &&
           *name > 0 && line[*name] != '\0' && line[strlen(line) - 1] == '\n';
}

/* Appends a record, whose path the struct then owns. *room is the number of records that fit. */
static enum status record_append(struct resume *resume, size_t *room, const struct done_record *record,
                                 struct error *error)
{
    if (resume->count == *room) {
        size_t more = *room > 0 ? 2 * *room : 64;
        struct done_record *larger = realloc(resume->records, more * sizeof *larger);
        if (!larger)
            return fail_memory(error, "out of memory for the record of what is done");
        resume->records = larger;
        *room = more;
    }
    resume->records[resume->count] = *record;
    resume->records[resume->count].line = resume->count;
    resume->count++;
    return STATUS_OK;
}

struct loading {
    struct resume *resume;
    size_t room;
};

/* Reads the record of a folder, if it has one: a callback of list_each_folder. */
static enum status load_record(void *context, const char *folder, struct error *error)
{
    struct loading *loading = context;
    char *path = text_print(error, "%s%s", folder, RECORD), *line = NULL;
    size_t size = 0;
    if (!path)
        return STATUS_FAILED;
    FILE *file = fopen(path, "re");
    free(path);
    enum status status = STATUS_OK;
    while (file && status == STATUS_OK && getline(&line, &size, file) > 0) {
        struct done_record record;
        int name;
        if (!resume_read_line(line, &record, &name))
            continue;
        line[strlen(line) - 1] = '\0';
        record.path = text_print(error, "%s%s", folder, line + name);
        status = record.path ? record_append(loading->resume, &loading->room, &record, error) : STATUS_FAILED;
        if (record.path && status != STATUS_OK)
            free(record.path);
    }
    free(line);
    if (file)
        fclose(file);
    return status;
}

enum status resume_load(struct resume *resume, const struct settings *settings, const char *provenance,
                        const struct list *list, struct error *error)
{
    struct loading loading = {.resume = resume};
    const char *work = find_work(provenance);
    *resume = (struct resume){.settings = settings, .provenance = provenance};
    resume->work = hash_bytes(HASH_START, work, strlen(work));
    if (settings->strip)
        resume->work = hash_bytes(resume->work, "strip", strlen("strip"));
    enum status status = list_each_folder(list, load_record, &loading, error);
    if (resume->count > 0)
        qsort(resume->records, resume->count, sizeof *resume->records, by_path);
    return status;
}

void resume_free(struct resume *resume)
{
    for (size_t i = 0; i < resume->count; i++)
        free(resume->records[i].path);
    free(resume->records);
    *resume = (struct resume){0};
}

/* Returns the last record of this output, or NULL. */
static const struct done_record *record_find(const struct resume *resume, const char *path)
{
    size_t low = 0, high = resume->count;
    while (low < high) { /* finds the first entry after the path */
        size_t middle = low + (high - low) / 2;
        if (strcmp(resume->records[middle].path, path) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && strcmp(resume->records[low - 1].path, path) == 0 ? &resume->records[low - 1] : NULL;
}

/* Fills in the record of the job's output as it is now. Returns false if the output cannot be read. */
static bool record_describe(const struct resume *resume, const struct job *job, struct done_record *record)
{
    struct stat output;
    if (stat(job->output, &output) != 0 || !crc_of_file(job->output, &record->sum))
        return false;
    record->work = resume->work;
    record->input_size = (uint64_t)job->before.st_size;
    record->input_time = nanoseconds(&job->before.st_mtim);
    record->size = (uint64_t)output.st_size;
    record->time = nanoseconds(&output.st_mtim);
    record->changed = nanoseconds(&output.st_ctim);
    return true;
}

/* Appends a line to the record of the output's folder, in one write, as other processes may append, too.
 * Failures are ignored. The flags guard against links and pipes in a folder that others may write to. */
static void add_line(const char *path, const struct done_record *record, const char *name)
{
    struct error ignored = {.text = ""};
    int folder = folder_length(path);
    char *records = text_print(&ignored, "%.*s%s", folder, path, RECORD);
    char *line = text_print(&ignored, LINE "%s\n", record->work, record->input_size, record->input_time,
                            record->size, record->time, record->changed, record->sum, name);
    int file = records && line
                   ? open(records, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666)
                   : -1;
    if (file >= 0) {
        (void)!write(file, line, strlen(line));
        close(file);
    }
    free(line);
    free(records);
}

/* True if the output is the input, or has replaced it: then the input that it was made from does not exist
 * any more. */
static bool replaces_itself(const struct job *job)
{
    struct stat input, output;
    return stat(job->input, &input) == 0 && stat(job->output, &output) == 0 &&
           input.st_dev == output.st_dev && input.st_ino == output.st_ino;
}

void resume_note(const struct resume *resume, const struct job *job)
{
    struct done_record record;
    const char *name = name_base(job->output);
    if (!S_ISREG(job->before.st_mode) || strcmp(job->input, "-") == 0 || strchr(name, '\n') ||
        replaces_itself(job) || !record_describe(resume, job, &record))
        return;
    add_line(job->output, &record, name);
}

/* Pixels. --max-pixels limits inputs; outputs may have more pixels, but not so many that bytes overflow. */
static const uint64_t LARGEST_OUTPUT = UINT64_C(1) << 40;

/* True if files of the format can name their work. */
static bool holds_work(const struct format *format)
{
    const struct text_entry text = {.key = (char *)(uintptr_t)KEY, .value = (char *)(uintptr_t) ""};
    return format->holds.texts && (format->holds_text == NULL || format->holds_text(&text));
}

/* True if the output's own metadata has this work and it can be read to its end. Formats without texts, and
 * files made with --strip, do not name their work; then the caller's comparison of times decides. */
static bool output_is_done(const struct resume *resume, const char *path)
{
    const struct reader_options options = {
        .page = 0, .max_pixels = LARGEST_OUTPUT, .jobs = 1, .spool = resume->settings->environment.spool};
    struct reader *reader;
    struct error ignored = {.text = ""};
    if (reader_open(path, &options, &reader, &ignored) != STATUS_OK)
        return false;
    const char *software = metadata_text(&reader_info(reader)->metadata, KEY);
    const char *work = software ? find_work(software) : NULL;
    bool made = resume->settings->strip || !holds_work(reader_format(reader)) ||
                (work && strcmp(work, find_work(resume->provenance)) == 0);
    bool whole = made && reader_pass(reader, &ignored) == STATUS_OK;
    reader_close(reader);
    return whole;
}

/* True if the record has this work and this input, and the output is still as it was written. */
static bool record_matches(const struct resume *resume, const struct done_record *record,
                           const struct job *job, const struct stat *output)
{
    uint32_t sum;
    if (record->work != resume->work || record->input_size != (uint64_t)job->before.st_size ||
        record->input_time != nanoseconds(&job->before.st_mtim) || record->size != (uint64_t)output->st_size)
        return false;
    if (record->time == nanoseconds(&output->st_mtim) && record->changed == nanoseconds(&output->st_ctim))
        return true;
    if (!crc_of_file(job->output, &sum) || sum != record->sum)
        return false;
    if (!resume->settings->dry_run)
        resume_note(resume, job); /* so that the next run does not read it again */
    return true;
}

bool resume_finds_done(const struct resume *resume, struct job *job)
{
    struct stat output;
    if (job->problem || strcmp(job->input, "-") == 0 || strcmp(job->output, "-") == 0 ||
        stat(job->input, &job->before) != 0 || stat(job->output, &output) != 0 || !S_ISREG(output.st_mode))
        return false;
    const struct done_record *record = replaces_itself(job) ? NULL : record_find(resume, job->output);
    if (record)
        return record_matches(resume, record, job, &output);
    /* An output's time is the time of its last write, after its input was read. On a network file system both
     * times are the server's. */
    const bool is_newer = nanoseconds(&output.st_mtim) >= nanoseconds(&job->before.st_mtim);
    const bool done = is_newer && output_is_done(resume, job->output);
    if (done && !resume->settings->dry_run)
        resume_note(resume, job);
    return done;
}

bool resume_expects_done(const struct resume *resume, const struct job *job)
{
    struct stat input;
    const struct done_record *record = record_find(resume, job->output);
    return record && record->work == resume->work && stat(job->input, &input) == 0 &&
           record->input_size == (uint64_t)input.st_size &&
           record->input_time == nanoseconds(&input.st_mtim) && access(job->output, F_OK) == 0;
}

/* True if outputs in this file's format have texts, and --strip does not remove them. */
static bool can_name_its_work(const struct settings *settings, const char *output)
{
    const struct format *format = settings->format ? settings->format : format_by_path(output);
    if (!format)
        format = format_by_content(output);
    return !settings->strip && (!format || holds_work(format));
}

enum status resume_check(const struct settings *settings, const struct list *list, struct error *error)
{
    for (size_t i = 0; settings->resume && i < list->count; i++) {
        const struct job *job = &list->jobs[i];
        struct stat output;
        if (job_stat_output(job, &output) && S_ISREG(output.st_mode) && output.st_dev == job->device &&
            output.st_ino == job->inode && !can_name_its_work(settings, job->output))
            return fail(error, STATUS_USAGE,
                        "%s: --resume cannot tell whether a file that replaces itself is done, as %s what "
                        "made it; leave out "
                        "--resume",
                        job->input, settings->strip ? "--strip removes" : "its format cannot say");
    }
    return STATUS_OK;
}
