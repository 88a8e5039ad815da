/* Implements resume.h.
 *
 *     done lists of all folders ─▶ records sorted by path ─▶ is there a record of the output?
 *         yes: compare provenance, input and output: size, inode and times, or else the checksum
 *         no:  compare the provenance in the output's metadata, and read the output to its end
 *
 * A record is appended in one write; later records of an output replace earlier ones. A line that another
 * process cut off is skipped. Reading an output without a record is slow, but happens once, as the output
 * then gets a record. */
#include "batch/resume.h"

#include "base/sums.h"
#include "base/text.h"
#include "batch/output_format.h"
#include "image/format.h"
#include "image/output/output.h"
#include "image/reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char PROGRAM[] = "climg ";        /* start of a provenance */
static const char SOFTWARE_KEY[] = "Software"; /* key of the text in the metadata */
static const char SEPARATOR[] = "; ";          /* between the programs in that text */

/* Prints " --STAGE=VALUE,KEY=VALUE..." with all options that apply and have a value. Returns false if out of
 * memory. */
static bool provenance_print_stage(FILE *file, const struct step *step)
{
    char separator = '=';
    fprintf(file, " --%s", step->stage->name);
    for (const struct option *option = step->stage->options; option->type != OPTION_END; option++) {
        if (option->unused && option->unused(step->params))
            continue; /* the option does not apply to the other values */
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
        fprintf(file, "%s%s", PROGRAM, CLIMG_VERSION);
        bool is_complete = true;
        for (size_t i = 0; is_complete && i < chain->count; i++)
            is_complete = provenance_print_stage(file, &chain->steps[i]);
        settings_print_effects(file, settings, chain->count > 0);
        if (fclose(file) == 0 && is_complete)
            return text;
    }
    free(text);
    fail_memory(error, "out of memory for the description of the chain");
    return NULL;
}

/* Returns the part of a Software text that climg wrote: all of it, or its end, after names of other programs.
 * NULL if climg wrote nothing. */
static const char *provenance_own_part(const char *software)
{
    const char *part = software;
    while (strncmp(part, PROGRAM, strlen(PROGRAM)) != 0) {
        part = strstr(part, SEPARATOR);
        if (!part)
            return NULL;
        part += strlen(SEPARATOR);
    }
    return part;
}

enum status provenance_put(const char *provenance, struct metadata *metadata, struct error *error)
{
    /* Keep the names of other programs: the text before climg's part, with the separator at its end; or the
     * whole text if climg has no part in it. */
    const char *old = metadata_text(metadata, SOFTWARE_KEY);
    const char *own = old ? provenance_own_part(old) : NULL;
    const size_t kept_length = own ? (size_t)(own - old) : old ? strlen(old) : 0;
    char *text = text_print(error, "%.*s%s%s", (int)kept_length, old ? old : "",
                            kept_length > 0 && !own ? SEPARATOR : "", provenance);
    if (!text)
        return STATUS_FAILED;
    enum status status = metadata_set_text(metadata, SOFTWARE_KEY, text, strlen(text), error);
    free(text);
    return status;
}

/* Returns the stages and options after "climg 0.2.0" in a Software text, or NULL if climg did not write one.
 * The version is left out, so that --resume does not repeat everything after an update of climg. */
static const char *provenance_stages(const char *software)
{
    const char *own = provenance_own_part(software);
    return own ? own + strlen(PROGRAM) + strcspn(own + strlen(PROGRAM), " ") : NULL;
}

static const char DONE_LIST[] = ".climg-done";

/* A file as it was when its record was written. Times are nanoseconds since 1970. */
struct file_state {
    uint64_t size, inode;
    int64_t time;    /* st_mtim */
    int64_t changed; /* st_ctim: programs cannot set it, so it shows damage and copies */
    uint32_t sum;    /* CRC-32; of an input, crc_of_ends */
};

/* A line of a done list. */
struct done_record {
    char *path;   /* of the output, folder included; owned */
    size_t index; /* in the order of reading, as later records replace earlier ones */
    uint64_t provenance_hash;
    struct file_state input, output;
};

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static int record_compare(const void *a, const void *b)
{
    const struct done_record *first = a, *second = b;
    int order = strcmp(first->path, second->path);
    return order != 0 ? order : first->index < second->index ? -1 : first->index > second->index;
}

static struct file_state state_of(const struct stat *info, uint32_t sum)
{
    return (struct file_state){.size = (uint64_t)info->st_size,
                               .inode = (uint64_t)info->st_ino,
                               .time = nanoseconds(&info->st_mtim),
                               .changed = nanoseconds(&info->st_ctim),
                               .sum = sum};
}

static void state_print(FILE *file, const struct file_state *state)
{
    fprintf(file, " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %08" PRIx32, state->size, state->inode,
            state->time, state->changed, state->sum);
}

/* Parses what state_print prints. Returns the text after it, or NULL. */
static const char *state_parse(const char *text, struct file_state *state)
{
    int length = 0;
    const int count =
        sscanf(text, " %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64 " %8" SCNx32 "%n", &state->size,
               &state->inode, &state->time, &state->changed, &state->sum, &length);
    return count == 5 ? text + length : NULL;
}

/* Opens a done list, and returns its descriptor; -1 on failure, or if it is no regular file. The flags guard
 * against links and pipes in a folder that others may write to. */
static int done_list_open(const char *path, int flags)
{
    struct stat info;
    const int file = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (file < 0 || (fstat(file, &info) == 0 && S_ISREG(info.st_mode)))
        return file;
    close(file);
    return -1;
}

/* Callback of job_list_each_folder: reads the folder's done list if there is one. `folder` ends in "/", or is
 * empty. */
static enum status done_list_load(void *context, const char *folder, struct error *error)
{
    struct resume *resume = context;
    char *path = text_print(error, "%s%s", folder, DONE_LIST), *line = NULL;
    size_t size = 0;
    if (!path)
        return STATUS_FAILED;
    const int descriptor = done_list_open(path, O_RDONLY);
    free(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    enum status status = STATUS_OK;
    while (file && status == STATUS_OK && getline(&line, &size, file) > 0) {
        struct done_record record = {.index = resume->count}, *records;
        int length = 0;
        const int count = sscanf(line, "climg2 %16" SCNx64 "%n", &record.provenance_hash, &length);
        const char *name = count == 1 ? state_parse(line + length, &record.input) : NULL;
        name = name ? state_parse(name, &record.output) : NULL;
        if (!name || name[0] != ' ' || name[strlen(name) - 1] != '\n')
            continue; /* the line was cut off or overwritten by another process */
        name++;
        records =
            array_grow(resume->records, resume->count, sizeof record, "the list of what is done", error);
        resume->records = records ? records : resume->records;
        record.path = records ? text_print(error, "%s%.*s", folder, (int)strlen(name) - 1, name)
                              : NULL; /* without "\n" */
        if (record.path)
            records[resume->count++] = record;
        else
            status = STATUS_FAILED;
    }
    free(line);
    if (file)
        fclose(file);
    else if (descriptor >= 0)
        close(descriptor);
    return status;
}

enum status resume_load(struct resume *resume, const struct command *command, const char *provenance,
                        const struct job_list *list, struct error *error)
{
    const struct settings *settings = &command->settings;
    const char *own_stages = provenance_stages(provenance);
    *resume = (struct resume){.settings = settings, .chain = &command->chain, .provenance = provenance};
    resume->provenance_hash = hash_bytes(HASH_START, own_stages, strlen(own_stages));
    if (settings->strip)
        resume->provenance_hash = hash_bytes(resume->provenance_hash, "strip", strlen("strip"));
    enum status status = job_list_each_folder(list, done_list_load, resume, error);
    if (resume->count > 0)
        qsort(resume->records, resume->count, sizeof *resume->records, record_compare);
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
    while (low < high) { /* find the first record of a later path */
        size_t middle = low + (high - low) / 2;
        if (strcmp(resume->records[middle].path, path) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && strcmp(resume->records[low - 1].path, path) == 0 ? &resume->records[low - 1] : NULL;
}

/* Appends a record to the done list of the output's folder, in one write, as other processes append, too.
 * Failures are ignored. */
static void done_list_append(const char *path, const struct done_record *record)
{
    struct error ignored = {.text = ""};
    char *done_list = text_print(&ignored, "%.*s%s", folder_length(path), path, DONE_LIST), *line = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&line, &size);
    if (out) {
        fprintf(out, "climg2 %016" PRIx64, record->provenance_hash);
        state_print(out, &record->input);
        state_print(out, &record->output);
        fprintf(out, " %s\n", name_base(path));
    }
    const bool is_whole = out && fclose(out) == 0;
    const int file = done_list && is_whole ? done_list_open(done_list, O_WRONLY | O_APPEND | O_CREAT) : -1;
    if (file >= 0) {
        (void)!write(file, line, size);
        close(file);
    }
    free(line);
    free(done_list);
}

/* True if input and output are one file, also after the output has replaced the input. */
static bool job_replaces_input(const struct job *job)
{
    struct stat input, output;
    return stat(job->input, &input) == 0 && stat(job->output, &output) == 0 &&
           input.st_dev == output.st_dev && input.st_ino == output.st_ino;
}

/* Computes the CRC-32 of the first and the last MiB of an input, which may be much larger than what is read
 * of it. */
static bool crc_of_ends(const char *path, uint32_t *sum)
{
    enum { END_SIZE = 1 << 20 };
    struct error ignored;
    struct stat info;
    unsigned char *bytes = allocate(END_SIZE, "a checksum", &ignored);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = bytes && file >= 0 && fstat(file, &info) == 0;
    *sum = 0;
    for (int i = 0; is_read && i < 2; i++) {
        const off_t begin = i == 0 || info.st_size < END_SIZE ? 0 : info.st_size - END_SIZE;
        const ssize_t size = pread(file, bytes, END_SIZE, begin);
        is_read = size >= 0;
        *sum = isal_crc32(*sum, bytes, is_read ? (size_t)size : 0);
    }
    if (file >= 0)
        close(file);
    free(bytes);
    return is_read;
}

void resume_note(const struct resume *resume, const struct job *job)
{
    struct done_record record = {.provenance_hash = resume->provenance_hash};
    struct stat output;
    uint32_t input_sum, output_sum;
    /* Reading a pipe would block. */
    if (!S_ISREG(job->input_stat.st_mode) || strchr(name_base(job->output), '\n') ||
        job_replaces_input(job) || stat(job->output, &output) != 0 || !S_ISREG(output.st_mode) ||
        !crc_of_ends(job->input, &input_sum) || !crc_of_file(job->output, &output_sum))
        return;
    record.input = state_of(&job->input_stat, input_sum);
    record.output = state_of(&output, output_sum);
    done_list_append(job->output, &record);
}

/* Limit in pixels for reading outputs, so that the number of bytes cannot overflow. --max-pixels is for
 * inputs. */
static const uint64_t LARGEST_OUTPUT = UINT64_C(1) << 40;

static bool format_stores_provenance(const struct format *format)
{
    const struct text_entry text = {.key = (char *)(uintptr_t)SOFTWARE_KEY, .value = (char *)(uintptr_t) ""};
    return format->holds.texts && (format->holds_text == NULL || format->holds_text(&text));
}

/* True if the output's metadata has the provenance and the output can be read to its end. With --strip, and
 * in formats without texts, an output has no provenance; then it is enough that it can be read. */
static bool output_is_done(const struct resume *resume, const char *path)
{
    const struct reader_options options = {.page = 0,
                                           .max_pixels = LARGEST_OUTPUT,
                                           .jobs = 1,
                                           .spool_folder = resume->settings->environment.spool_folder};
    struct reader *reader;
    struct error ignored = {.text = ""};
    if (reader_open(path, &options, &reader, &ignored) != STATUS_OK)
        return false;
    const char *software = metadata_text(&reader_info(reader)->metadata, SOFTWARE_KEY);
    const char *own_stages = software ? provenance_stages(software) : NULL;
    const bool is_ours = resume->settings->strip ? software == NULL
                         : own_stages ? strcmp(own_stages, provenance_stages(resume->provenance)) == 0
                                      : !format_stores_provenance(reader_format(reader));
    const bool is_done = is_ours && reader_decode_all(reader, NULL, NULL, &ignored) == STATUS_OK;
    reader_close(reader);
    return is_done;
}

/* True if the file is the recorded one: by size, inode and times, or else by size and checksum. Then
 * updates the state and sets *is_read. */
static bool state_matches(struct file_state *state, const char *path, const struct stat *info,
                          bool (*crc)(const char *path, uint32_t *sum), bool *is_read)
{
    const struct file_state now = state_of(info, state->sum);
    uint32_t sum;
    if (now.size == state->size && now.inode == state->inode && now.time == state->time &&
        now.changed == state->changed)
        return true;
    if (now.size != state->size || !crc(path, &sum) || sum != state->sum)
        return false;
    *state = now;
    *is_read = true;
    return true;
}

/* True if the record has this command's provenance, and input and output are unchanged. An input of another
 * time counts as changed: its checksum does not show a change in the middle. */
static bool record_matches(const struct resume *resume, const struct done_record *record,
                           const struct job *job, const struct stat *output)
{
    struct done_record current = *record;
    bool is_read = false;
    if (record->provenance_hash != resume->provenance_hash ||
        record->input.time != nanoseconds(&job->input_stat.st_mtim) ||
        !state_matches(&current.input, job->input, &job->input_stat, crc_of_ends, &is_read) ||
        !state_matches(&current.output, job->output, output, crc_of_file, &is_read))
        return false;
    if (is_read && !resume->settings->dry_run)
        done_list_append(job->output, &current); /* so that the next run does not read them again */
    return true;
}

bool resume_finds_done(const struct resume *resume, struct job *job)
{
    struct stat output;
    if (job->stat_errno || stat(job->input, &job->input_stat) != 0 || stat(job->output, &output) != 0 ||
        !S_ISREG(output.st_mode))
        return false;
    /* Its name, or else its content, must have the format of --format. PBM and PNM are recognised only as
     * some netpbm format. */
    const struct format *requested = resume->settings->format;
    const struct format *found =
        !requested || requested == format_by_path(job->output) ? requested : format_by_content(job->output);
    if (found != requested && (!found || requested->recognise || found->reader != requested->reader))
        return false;
    for (size_t i = 0; i < resume->chain->count; i++) {
        const struct stage_caps caps = step_caps(&resume->chain->steps[i]);
        if (caps.output_file && strcmp(caps.output_file, "-") != 0 && access(caps.output_file, F_OK) != 0)
            return false;
    }
    const struct done_record *record = job_replaces_input(job) ? NULL : record_find(resume, job->output);
    if (record)
        return record_matches(resume, record, job, &output);
    /* An output is written after its input, so it is not older. Both times come from the same clock, on a
     * network file system the server's. */
    const bool is_newer = nanoseconds(&output.st_mtim) >= nanoseconds(&job->input_stat.st_mtim);
    const bool done = is_newer && output_is_done(resume, job->output);
    if (done && !resume->settings->dry_run)
        resume_note(resume, job);
    return done;
}

bool resume_expects_done(const struct resume *resume, const struct job *job)
{
    struct stat input;
    const struct done_record *record = record_find(resume, job->output);
    return record && record->provenance_hash == resume->provenance_hash && stat(job->input, &input) == 0 &&
           record->input.size == (uint64_t)input.st_size &&
           record->input.time == nanoseconds(&input.st_mtim) && access(job->output, F_OK) == 0;
}

enum status resume_check(const struct settings *settings, const struct job_list *list, struct error *error)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct job *job = &list->jobs[i];
        if (strcmp(job->input, "-") == 0 || strcmp(job->output, "-") == 0)
            return fail(error, STATUS_USAGE, "--resume has no effect with standard %s; leave it out",
                        strcmp(job->output, "-") == 0 ? "output" : "input");
        const struct format *format = output_format(settings, job->output);
        if (!format)
            format = format_by_content(job->output);
        const bool is_stored = !settings->strip && (!format || format_stores_provenance(format));
        if (!is_stored && job_replaces_input(job))
            return fail(error, STATUS_USAGE,
                        "%s: --resume cannot tell whether a file that replaces itself is done, as %s how it "
                        "was made; leave out --resume",
                        job->input,
                        settings->strip ? "--strip removes the record of" : "its format cannot store");
    }
    return STATUS_OK;
}

/* ---------------------------------------------------------------- existing outputs that may be inputs */

/* Maps the first `size` bytes of a file. Returns MAP_FAILED if it is shorter: another program may have cut
 * it. */
static char *map_file(const char *path, size_t size)
{
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const bool is_long = file >= 0 && fstat(file, &info) == 0 && (uint64_t)info.st_size >= size;
    char *bytes = is_long ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (file >= 0)
        close(file);
    return bytes;
}

/* True if the job's output of `size` bytes may be replaced: it is empty, its text Software says that climg
 * made it, its format has no texts, or it is a copy of the input, as commands without stages write. Only the
 * first and the last MiB are searched, not all pixels: a text after a larger ICC profile is not found. */
static bool is_replaceable(const struct job *job, size_t size)
{
    const size_t part = size < 1 << 20 ? size : 1 << 20, length = strlen(PROGRAM);
    const struct format *format = format_by_content(job->output);
    if (size == 0 || (format && !format->holds.texts))
        return true;
    char *bytes = map_file(job->output, size);
    char *input = size == job->bytes ? map_file(job->input, size) : MAP_FAILED;
    const bool is_ours = bytes != MAP_FAILED && (memmem(bytes, part, PROGRAM, length) ||
                                                 memmem(bytes + size - part, part, PROGRAM, length) ||
                                                 (input != MAP_FAILED && memcmp(bytes, input, size) == 0));
    if (bytes != MAP_FAILED)
        munmap(bytes, size);
    if (input != MAP_FAILED)
        munmap(input, size);
    return is_ours;
}

enum status resume_check_existing(const struct command *command, const struct job_list *list,
                                  const struct resume *resume, struct error *error)
{
    const bool is_named_like_input = command->output_may_be_input && !list->output_is_directory,
               is_checked =
                   (command->output_may_be_input || command->output_after_input) && !command->settings.yes,
               keeps_any = is_named_like_input || list->is_stack;
    for (size_t i = 0; is_checked && i < (list->is_stack ? 1 : list->count); i++) {
        const struct job *job = &list->jobs[i];
        struct stat info;
        if (stat(job->output, &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        const struct done_record *record = resume ? record_find(resume, job->output) : NULL;
        const bool is_recorded = record && record->output.size == (uint64_t)info.st_size &&
                                 record->output.time == nanoseconds(&info.st_mtim);
        if (keeps_any || (!is_recorded && !is_replaceable(job, (size_t)info.st_size)))
            return fail(
                error, STATUS_USAGE,
                "%s: exists%s, and may be meant as an input; add an output%s, such as %s, or --yes to "
                "overwrite it",
                job->output, keeps_any ? "" : ", does not say that climg made it",
                command->output_may_be_input && command->chain.count > 0 ? " after the stages" : "",
                list->is_stack ? "out.png" : "out/");
    }
    return STATUS_OK;
}
