#include "batch/clash.h"

#include "base/side.h"
#include "base/text.h"
#include "image/format.h"
#include "image/output/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is sorted; the list keeps its order. */
struct entry {
    const struct job *job;
    dev_t device; /* of the input or of the output, with its inode */
    ino_t inode;
    char *path; /* of an output that is one file with another: with no link in it; else NULL */
};

static int by_output(const void *a, const void *b)
{
    const struct job *first = ((const struct entry *)a)->job, *second = ((const struct entry *)b)->job;
    int order = strcmp(first->output, second->output);
    return order != 0 ? order : strcmp(first->input, second->input);
}

static int by_file(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    return first->inode < second->inode ? -1 : first->inode > second->inode;
}

static int by_path(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    int order = strcmp(first->path, second->path);
    return order != 0 ? order : strcmp(first->job->input, second->job->input);
}

static enum status reject_pair(const struct entry *pair, const char *output, struct error *error)
{
    return fail(error, STATUS_USAGE, "%s and %s would both become %s; rename one, or use two output folders",
                pair[0].job->input, pair[1].job->input, output);
}

static enum status check_outputs(struct entry *entries, size_t count, struct error *error)
{
    qsort(entries, count, sizeof *entries, by_output);
    for (size_t i = 1; i < count; i++)
        if (strcmp(entries[i - 1].job->output, entries[i].job->output) == 0)
            return reject_pair(&entries[i - 1], entries[i].job->output, error);
    return STATUS_OK;
}

/* Outputs that are one file now. Hard links are two names, each of which gets a file of its own; but where a
 * link leads, or two ways to write a path, one output would take the other's place. */
static enum status check_one_file(struct entry *outputs, size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        outputs[i].path = realpath(outputs[i].job->output, NULL);
        if (!outputs[i].path)
            return fail(error, STATUS_FAILED, "%s: %s", outputs[i].job->output, strerror(errno));
    }
    qsort(outputs, count, sizeof *outputs, by_path);
    for (size_t i = 1; i < count; i++)
        if (strcmp(outputs[i - 1].path, outputs[i].path) == 0)
            return reject_pair(&outputs[i - 1], outputs[i].path, error);
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
    for (size_t i = 0; i < count; i++)
        free(outputs[i].path);
    return status;
}

/* Files are compared by what they are, not by name: there are links, and many ways to write a path. */
static enum status check_input(const struct entry *output, const struct entry *inputs, size_t count,
                               bool in_place, struct error *error)
{
    const struct job *job = output->job;
    const struct entry *input = bsearch(output, inputs, count, sizeof *inputs, by_file);
    if (!input)
        return STATUS_OK;
    if (strcmp(job->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is also where standard output goes", job_input_name(job));
    if (input->device != job->device || input->inode != job->inode)
        return fail(error, STATUS_USAGE, "%s would become %s, which is an input, too", job->input,
                    job->output);
    if (!in_place)
        return fail(error, STATUS_USAGE, "%s: is the input, too; --in-place replaces it", job->output);
    return STATUS_OK;
}

/* Of outputs that are there already. `entries` has room for twice the jobs. */
static enum status check_files(const struct job *jobs, size_t count, bool in_place, struct entry *entries,
                               struct error *error)
{
    struct entry *inputs = entries, *outputs = entries + count;
    size_t there = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count; i++)
        inputs[i] = (struct entry){&jobs[i], jobs[i].device, jobs[i].inode, NULL};
    qsort(inputs, count, sizeof *inputs, by_file);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct stat output;
        if (!job_stat_output(&jobs[i], &output) || !S_ISREG(output.st_mode))
            continue;
        outputs[there] = (struct entry){&jobs[i], output.st_dev, output.st_ino, NULL};
        status = check_input(&outputs[there++], inputs, count, in_place, error);
    }
    return status == STATUS_OK ? check_links(outputs, there, error) : status;
}

enum status clash_check(const struct job *jobs, size_t count, bool in_place, struct error *error)
{
    struct entry *entries = allocate_zeroed(count, 2 * sizeof *entries, "file names", error);
    if (!entries)
        return STATUS_FAILED;
    for (size_t i = 0; i < count; i++)
        entries[i].job = &jobs[i];
    enum status status = check_outputs(entries, count, error);
    if (status == STATUS_OK)
        status = check_files(jobs, count, in_place, entries, error);
    free(entries);
    return status;
}

/* What --report, --timing or --trace writes, beside the outputs. */
struct side {
    const char *option, *noun, *example;
    const char *path; /* NULL: not asked for */
    char *target;     /* behind links */
    bool standard;    /* standard output */
    bool exists;
    struct stat there;
};

enum { SIDES = 3 };

static void name_sides(const struct settings *settings, struct side sides[SIDES])
{
    bool json = settings->timing.form == TIMING_JSON;
    sides[0] = (struct side){"--report ", "report", "done.jsonl", .path = settings->report};
    sides[1] = (struct side){"--trace ", "trace", "trace.json", .path = settings->trace};
    sides[2] = (struct side){json ? "--timing=json:" : "--timing=table:", "timing", "times.json",
                             .path = settings->timing.file};
}

enum status clash_check_names(const struct settings *settings, struct error *error)
{
    struct side sides[SIDES];
    name_sides(settings, sides);
    for (int i = 0; i < SIDES; i++)
        if (sides[i].path && format_by_path(sides[i].path))
            return fail(error, STATUS_USAGE, "%s%s: that is an image's name; name the %s first, as in %s%s",
                        sides[i].option, sides[i].path, sides[i].noun, sides[i].option, sides[i].example);
    return STATUS_OK;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && !S_ISCHR(a->st_mode);
}

/* Leaves the folder of a path; false where the path names none but itself. */
static bool cut_name(char *path)
{
    size_t length = (size_t)folder_length(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (path[length] == '\0' || strcmp(path, ".") == 0)
        return false;
    path[length] = '\0';
    if (length == 0)
        memcpy(path, ".", sizeof "."); /* the name had at least one byte */
    return true;
}

/* Whether two files that do not exist would be one: their names are the same below a folder that does.
 * Changes the paths. */
static bool would_be_same(char *a, char *b)
{
    struct stat first, second;
    while (strcmp(name_base(a), name_base(b)) == 0 && cut_name(a) && cut_name(b)) {
        bool a_exists = stat(a, &first) == 0, b_exists = stat(b, &second) == 0;
        if (a_exists || b_exists)
            return a_exists && b_exists && same_file(&first, &second);
    }
    return false;
}

static enum status compare(const struct side *side, const char *path, bool *same, struct error *error)
{
    struct stat there;
    bool exists = stat(path, &there) == 0;
    *same = exists && side->exists && same_file(&there, &side->there);
    if (exists || side->exists)
        return STATUS_OK;
    char *target = resolve_links(path, error), *copy = copy_text(side->target, error);
    *same = target && copy && would_be_same(target, copy);
    enum status status = target && copy ? STATUS_OK : STATUS_FAILED;
    free(target);
    free(copy);
    return status;
}

static bool is_input(const struct side *side, const struct job *job)
{
    struct stat there = {.st_dev = job->device, .st_ino = job->inode};
    return side->exists && same_file(&side->there, &there);
}

static enum status check_side(const struct job *jobs, size_t count, const struct side *side,
                              struct error *error)
{
    bool same;
    for (size_t i = 0; i < count; i++) {
        const struct job *job = &jobs[i];
        bool standard = strcmp(job->output, "-") == 0;
        if (is_input(side, job))
            return fail(error, STATUS_USAGE, "%s%s: that is an input, too", side->option, side->path);
        if (compare(side, standard ? "/dev/stdout" : job->output, &same, error) != STATUS_OK)
            return STATUS_FAILED;
        if (same || (standard && side->standard))
            return fail(error, STATUS_USAGE, "%s%s: %s would be written there, too", side->option, side->path,
                        standard ? "the output" : job->input);
    }
    return STATUS_OK;
}

static enum status open_side(struct side *side, struct error *error)
{
    if (!side->path)
        return STATUS_OK;
    side->standard = strcmp(side->path, "-") == 0;
    const char *path = side->standard ? "/dev/stdout" : side->path;
    side->exists = stat(path, &side->there) == 0;
    side->target = resolve_links(path, error);
    return side->target ? STATUS_OK : STATUS_FAILED;
}

static enum status check_pair(const struct side *a, const struct side *b, struct error *error)
{
    bool same;
    if (!a->path || !b->path)
        return STATUS_OK;
    if (compare(a, b->standard ? "/dev/stdout" : b->path, &same, error) != STATUS_OK)
        return STATUS_FAILED;
    if (same || (a->standard && b->standard))
        return fail(error, STATUS_USAGE, "--%s and --%s would both write %s", a->noun, b->noun,
                    side_name(b->path));
    return STATUS_OK;
}

/* What a stage or --files-from reads is an input, although no job's. */
static enum status check_read(const struct job *jobs, size_t count, const struct side sides[SIDES],
                              const char *path, const char *reader, struct error *error)
{
    struct stat there, output;
    if (!path || stat(path, &there) != 0)
        return STATUS_OK;
    for (int i = 0; i < SIDES; i++)
        if (sides[i].path && sides[i].exists && same_file(&sides[i].there, &there))
            return fail(error, STATUS_USAGE, "%s%s: --%s reads that file", sides[i].option, sides[i].path,
                        reader);
    for (size_t i = 0; i < count; i++)
        if (job_stat_output(&jobs[i], &output) && same_file(&output, &there))
            return fail(error, STATUS_USAGE, "%s would become %s, which --%s reads", jobs[i].input,
                        jobs[i].output, reader);
    return STATUS_OK;
}

static enum status check_stage(const struct job *jobs, size_t count, const struct side sides[SIDES],
                               const struct step *step, struct error *error)
{
    const struct stage *stage = step->stage;
    return check_read(jobs, count, sides, stage->file ? stage->file(step->params) : NULL, stage->name, error);
}

enum status clash_check_sides(const struct job *jobs, size_t count, const struct command *command,
                              struct error *error)
{
    struct side sides[SIDES];
    enum status status = STATUS_OK;
    name_sides(&command->settings, sides);
    for (int i = 0; status == STATUS_OK && i < SIDES; i++)
        status = open_side(&sides[i], error);
    for (int i = 0; status == STATUS_OK && i < SIDES; i++)
        status = sides[i].path ? check_side(jobs, count, &sides[i], error) : STATUS_OK;
    for (int i = 0; status == STATUS_OK && i < SIDES; i++)
        status = check_pair(&sides[i], &sides[(i + 1) % SIDES], error);
    if (status == STATUS_OK)
        status = check_read(jobs, count, sides, command->settings.files_from, "files-from", error);
    for (size_t i = 0; status == STATUS_OK && i < command->chain.count; i++)
        status = check_stage(jobs, count, sides, &command->chain.steps[i], error);
    for (int i = 0; i < SIDES; i++)
        free(sides[i].target);
    return status;
}
