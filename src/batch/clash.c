#include "batch/list.h"

#include "base/files.h"
#include "base/text.h"
#include "image/format.h"
#include "image/output/output.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

/* The one place of a file that exists or will be made, whatever path or link names it. */
struct place {
    dev_t device; /* of the file, or if it does not exist, of the nearest existing folder */
    ino_t inode;
    char *rest;  /* the path from that folder, for free(); NULL: the file exists */
    mode_t mode; /* of the file or folder */
};

/* "a//./b" is "a/b". */
static void copy_simple(char *to, const char *path)
{
    bool begins = true; /* at the start of a name */
    for (; *path != '\0'; path++) {
        if (begins && path[0] == '.' && path[1] == '/')
            path++;
        else if (!begins || *path != '/')
            *to++ = *path;
        begins = *path == '/';
    }
    *to = '\0';
}

/* Whether the first `length` bytes of the path, which end in a slash, are an existing folder. */
static bool stat_folder(char *path, size_t length, struct stat *there)
{
    char next = path[length];
    path[length] = '\0';
    bool found = stat(length > 0 ? path : ".", there) == 0;
    path[length] = next;
    return found;
}

/* "-" is stdout. */
static enum status find_place(const char *path, struct place *place, struct error *error)
{
    struct stat there = {.st_ino = 0};
    char *target = NULL;
    if ((strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &there) : stat(path, &there)) != 0) {
        target = resolve_links(path, error);
        if (!target)
            return STATUS_FAILED;
        size_t length = (size_t)folder_length(target);
        while (!stat_folder(target, length, &there) && length > 0) {
            while (length > 0 && target[length - 1] == '/')
                length--;
            while (length > 0 && target[length - 1] != '/')
                length--;
        }
        copy_simple(target, target + length);
    }
    *place = (struct place){there.st_dev, there.st_ino, target, there.st_mode};
    return STATUS_OK;
}

static bool same_place(const struct place *a, const struct place *b)
{
    return a->device == b->device && a->inode == b->inode && !S_ISCHR(a->mode) &&
           (a->rest && b->rest ? strcmp(a->rest, b->rest) == 0 : a->rest == b->rest);
}

/* Entries are sorted, so that the list keeps its order. */
struct entry {
    struct job *job;
    struct place place; /* of the input or of the output */
};

static int by_file(const void *a, const void *b)
{
    const struct place *first = &((const struct entry *)a)->place,
                       *second = &((const struct entry *)b)->place;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    return first->inode < second->inode ? -1 : first->inode > second->inode;
}

/* Compares entries that all have a path. */
static int by_path(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    int order = strcmp(first->place.rest, second->place.rest);
    return order != 0 ? order : strcmp(first->job->input, second->job->input);
}

static enum status reject_pair(const struct entry *pair, const char *output, struct error *error)
{
    return fail(error, STATUS_USAGE, "%s and %s would both become %s; rename one, or use two output folders",
                pair[0].job->input, pair[1].job->input, output);
}

static bool is_same_input(const struct job *a, const struct job *b)
{
    return strcmp(a->input, b->input) == 0 ||
           (a->inode != 0 && a->device == b->device && a->inode == b->inode);
}

/* For outputs that are the same file, or go into the same folder. A file that was named twice is done once,
 * under the name that comes first. Hard links are allowed: each name gets a
 * file of its own. But two paths that lead to one place would overwrite each other. */
static enum status check_one_file(struct entry *outputs, size_t count, struct error *error)
{
    const bool made = outputs[0].place.rest == NULL;
    for (size_t i = 0; made && i < count; i++) {
        outputs[i].place.rest = realpath(outputs[i].job->output, NULL);
        if (!outputs[i].place.rest)
            return fail(error, STATUS_FAILED, "%s: %s", outputs[i].job->output, strerror(errno));
    }
    qsort(outputs, count, sizeof *outputs, by_path);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(outputs[i - 1].place.rest, outputs[i].place.rest) != 0)
            continue;
        if (!is_same_input(outputs[i - 1].job, outputs[i].job))
            return reject_pair(&outputs[i - 1], made ? outputs[i].place.rest : outputs[i].job->output, error);
        outputs[i].job->is_duplicate = true;
    }
    return STATUS_OK;
}

static enum status check_links(struct entry *outputs, size_t count, struct error *error)
{
    enum status status = STATUS_OK;
    qsort(outputs, count, sizeof *outputs, by_file);
    for (size_t begin = 0, end; status == STATUS_OK && begin < count; begin = end) {
        for (end = begin + 1; end < count && by_file(&outputs[begin], &outputs[end]) == 0; end++)
            ;
        if (end - begin > 1)
            status = check_one_file(outputs + begin, end - begin, error);
    }
    return status;
}

/* Compares inodes, not names: there are links, and many ways to write a path. */
static enum status check_input(const struct entry *output, const struct entry *inputs, size_t count,
                               bool in_place, struct error *error)
{
    const struct job *job = output->job;
    const struct entry *input = bsearch(output, inputs, count, sizeof *inputs, by_file);
    if (!input)
        return STATUS_OK;
    if (strcmp(job->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is also where standard output goes", job_input_name(job));
    if (input->place.device != job->device || input->place.inode != job->inode)
        return fail(error, STATUS_USAGE, "%s would become %s, which is also an input", job->input,
                    job->output);
    if (!in_place)
        return fail(error, STATUS_USAGE, "%s: is also the input; --in-place replaces it", job->output);
    return STATUS_OK;
}

/* `entries` has room for 2 * count; the places of the second half are to be freed. */
static enum status check_files(struct job *jobs, size_t count, bool in_place, struct entry *entries,
                               struct error *error)
{
    struct entry *inputs = entries, *outputs = entries + count;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count; i++)
        inputs[i] = (struct entry){&jobs[i], {.device = jobs[i].device, .inode = jobs[i].inode}};
    qsort(inputs, count, sizeof *inputs, by_file);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        outputs[i].job = &jobs[i];
        status = find_place(jobs[i].output, &outputs[i].place, error);
    }
    if (status == STATUS_OK)
        status = check_links(outputs, count, error);
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        if (S_ISREG(outputs[i].place.mode))
            status = check_input(&outputs[i], inputs, count, in_place, error);
    return status;
}

enum status clash_check(struct job *jobs, size_t count, bool in_place, struct error *error)
{
    struct entry *entries = allocate_zeroed(count, 2 * sizeof *entries, "file names", error);
    if (!entries)
        return STATUS_FAILED;
    enum status status = check_files(jobs, count, in_place, entries, error);
    for (size_t i = count; i < 2 * count; i++)
        free(entries[i].place.rest);
    free(entries);
    return status;
}

/* The path in lower case, for free(); NULL on failure. Bytes that are not UTF-8 stay as they are. */
static wchar_t *fold(const char *path, locale_t utf8, struct error *error)
{
    size_t size = strlen(path);
    wchar_t *folded = allocate_zeroed(size + 1, sizeof *folded, "file names", error), *end = folded;
    for (size_t i = 0, length; folded && i < size; i += length) {
        unsigned long character = (unsigned char)path[i];
        length = utf8_decode(path + i, size - i, &character);
        length = length > 0 ? length : 1;
        *end++ = (wchar_t)towlower_l((wint_t)character, utf8);
    }
    return folded;
}

struct folded {
    const struct job *job;
    wchar_t *path;
};

static int by_folded(const void *a, const void *b)
{
    const struct folded *first = a, *second = b;
    int order = wcscmp(first->path, second->path);
    return order != 0 ? order : strcmp(first->job->input, second->job->input);
}

/* Whether the names in which two paths first differ are one name for their folder. Tries with a file in the
 * nearest existing folder; if none can be made, the batch itself will fail and say why. */
static bool is_one_name(const char *first, const char *second)
{
    enum { LONGEST = 200 }; /* bytes of a name that temporary_create keeps */
    char target[PATH_MAX], other[2 * PATH_MAX], *made = NULL;
    int folder = 0, file = -1;
    for (int at = 0; first[at] != '\0' && first[at] == second[at]; at++)
        folder = first[at] == '/' ? at + 1 : folder;
    const int one = (int)strcspn(first + folder, "/"), two = (int)strcspn(second + folder, "/");
    const char *name = first + folder, *other_name = second + folder;
    for (;;) {
        snprintf(target, sizeof target, "%.*s%.*s", folder, first, one, name);
        file = temporary_create(target, 0600, &made);
        if (file >= 0 || errno != ENOENT || folder == 0)
            break;
        for (folder--; folder > 0 && first[folder - 1] != '/';)
            folder--;
    }
    if (file < 0)
        return false;
    struct stat there;
    snprintf(other, sizeof other, "%.*s.%.*s%s", folder, first, two < LONGEST ? two : LONGEST, other_name,
             made + folder + 1 + (one < LONGEST ? one : LONGEST));
    bool same = stat(other, &there) == 0;
    temporary_remove(made);
    close(file);
    return same;
}

static enum status check_folded(const struct folded *names, size_t count, struct error *error)
{
    for (size_t i = 1; i < count; i++) {
        const struct job *first = names[i - 1].job, *second = names[i].job;
        if (wcscmp(names[i - 1].path, names[i].path) == 0 && is_one_name(first->output, second->output))
            return fail(
                error, STATUS_USAGE,
                "%s and %s would both become %s, as this folder does not distinguish upper and lower case; "
                "rename one, or use two output folders",
                first->input, second->input, second->output);
    }
    return STATUS_OK;
}

enum status clash_check_case(const struct job *jobs, size_t count, struct error *error)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    struct folded *names = allocate_zeroed(count, sizeof *names, "file names", error);
    enum status status = names ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; status == STATUS_OK && utf8 && i < count; i++) {
        names[i] = (struct folded){&jobs[i], fold(jobs[i].output, utf8, error)};
        status = names[i].path ? STATUS_OK : STATUS_FAILED;
    }
    if (status == STATUS_OK && utf8) {
        qsort(names, count, sizeof *names, by_folded);
        status = check_folded(names, count, error);
    }
    for (size_t i = 0; names && i < count; i++)
        free(names[i].path);
    free(names);
    if (utf8)
        freelocale(utf8);
    return status;
}

/* The files that --report, --timing, --trace and a stage write beside the outputs. */
struct side {
    const char *option, *noun, *example;
    const char *path; /* "-" is stdout; NULL: not given */
    struct place place;
};

enum { SIDES = 4 };

static void name_sides(const struct command *command, struct side sides[SIDES])
{
    const struct settings *settings = &command->settings;
    bool json = settings->timing.form == TIMING_JSON;
    sides[0] = (struct side){"--report ", "report", "done.jsonl", .path = settings->report};
    sides[1] = (struct side){"--trace ", "trace", "trace.json", .path = settings->trace};
    sides[2] = (struct side){json ? "--timing=json:" : "--timing=table:", "timing", "times.json",
                             .path = settings->timing.file};
    sides[3] = (struct side){"--align matrix=", "matrix", "matrix.txt", .path = NULL};
    for (size_t i = 0; i < command->chain.count && !sides[3].path; i++)
        sides[3].path = step_traits(&command->chain.steps[i]).writes;
}

enum status clash_check_names(const struct command *command, struct error *error)
{
    const struct settings *settings = &command->settings;
    struct side sides[SIDES];
    name_sides(command, sides);
    const char *ending = settings->trace ? strrchr(settings->trace, '.') : NULL;
    if (ending && strcmp(ending, ".svg") == 0)
        return fail(error, STATUS_USAGE,
                    "--trace %s: a trace is JSON for https://ui.perfetto.dev; name it %.*s.json",
                    settings->trace, (int)(ending - settings->trace), settings->trace);
    for (int i = 0; i < SIDES; i++)
        if (sides[i].path && format_by_path(sides[i].path))
            return fail(error, STATUS_USAGE, "%s%s: that is an image's name; name the %s first, as in %s%s",
                        sides[i].option, sides[i].path, sides[i].noun, sides[i].option, sides[i].example);
    return STATUS_OK;
}

static enum status check_input_side(const struct job *job, const struct side *side, struct error *error)
{
    const struct place input = {.device = job->device, .inode = job->inode};
    if (side->path && same_place(&side->place, &input))
        return fail(error, STATUS_USAGE, "%s%s: that is also an input", side->option, side->path);
    return STATUS_OK;
}

/* Whether both write to the same place. Standard output can be used once, whatever it is. */
static bool clashes(const struct side *side, const char *path, const struct place *place)
{
    return side->path &&
           (same_place(&side->place, place) || (strcmp(side->path, "-") == 0 && strcmp(path, "-") == 0));
}

static enum status check_job(const struct job *job, const struct side sides[SIDES], struct error *error)
{
    struct place place;
    enum status status = find_place(job->output, &place, error);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; status == STATUS_OK && i < SIDES; i++) {
        status = check_input_side(job, &sides[i], error);
        if (status == STATUS_OK && clashes(&sides[i], job->output, &place))
            status = fail(error, STATUS_USAGE, "%s%s: %s would also be written there", sides[i].option,
                          sides[i].path, strcmp(job->output, "-") == 0 ? "the output" : job->input);
    }
    free(place.rest);
    return status;
}

static enum status check_pair(const struct side *a, const struct side *b, struct error *error)
{
    if (b->path && clashes(a, b->path, &b->place))
        return fail(error, STATUS_USAGE, "the %s and the %s would both go to %s", a->noun, b->noun,
                    side_name(b->path));
    return STATUS_OK;
}

/* A file that a stage or --files-from reads must not be written. */
static enum status check_read(const struct job *jobs, size_t count, const struct side sides[SIDES],
                              const char *path, const char *reader, struct error *error)
{
    struct stat there, output;
    if (!path || stat(path, &there) != 0 || S_ISCHR(there.st_mode))
        return STATUS_OK;
    const struct place place = {.device = there.st_dev, .inode = there.st_ino};
    for (int i = 0; i < SIDES; i++)
        if (sides[i].path && same_place(&sides[i].place, &place))
            return fail(error, STATUS_USAGE, "%s%s: --%s reads that file", sides[i].option, sides[i].path,
                        reader);
    for (size_t i = 0; i < count; i++)
        if (job_stat_output(&jobs[i], &output) && output.st_dev == there.st_dev &&
            output.st_ino == there.st_ino)
            return fail(error, STATUS_USAGE, "%s would become %s, which --%s reads", jobs[i].input,
                        jobs[i].output, reader);
    return STATUS_OK;
}

static enum status check_stage(const struct job *jobs, size_t count, const struct side sides[SIDES],
                               const struct step *step, struct error *error)
{
    const struct traits traits = step_traits(step);
    if (traits.writes && traits.writes != sides[3].path)
        return fail(error, STATUS_USAGE, "--%s writes a file twice; leave one out", step->stage->name);
    return check_read(jobs, count, sides, traits.file, step->stage->name, error);
}

enum status clash_check_sides(const struct job *jobs, size_t count, const struct command *command,
                              struct error *error)
{
    struct side sides[SIDES];
    enum status status = STATUS_OK;
    bool asked = false;
    name_sides(command, sides);
    if (sides[3].path && count > 1)
        return fail(error, STATUS_USAGE,
                    "%s%s: is for one picture; --report FILE gives the matrices of several", sides[3].option,
                    sides[3].path);
    for (int i = 0; status == STATUS_OK && i < SIDES; i++)
        if (sides[i].path) {
            asked = true;
            status = find_place(sides[i].path, &sides[i].place, error);
        }
    for (size_t i = 0; status == STATUS_OK && asked && i < count; i++)
        status = check_job(&jobs[i], sides, error);
    for (int i = 0; status == STATUS_OK && i < SIDES; i++)
        for (int j = i + 1; status == STATUS_OK && j < SIDES; j++)
            status = check_pair(&sides[i], &sides[j], error);
    if (status == STATUS_OK)
        status = check_read(jobs, count, sides, command->settings.files_from, "files-from", error);
    for (size_t i = 0; status == STATUS_OK && i < command->chain.count; i++)
        status = check_stage(jobs, count, sides, &command->chain.steps[i], error);
    for (int i = 0; i < SIDES; i++)
        free(sides[i].place.rest);
    return status;
}
