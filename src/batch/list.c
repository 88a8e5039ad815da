#include "batch/list.h"

#include "batch/clash.h"
#include "batch/folder.h"
#include "batch/naming.h"
#include "image/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Takes ownership of the job's strings, on failure too. */
static enum status append(struct list *list, size_t *room, struct job *job, struct error *error)
{
    if (list->count == *room) {
        size_t more = *room > 0 ? 2 * *room : 64;
        struct job *jobs = realloc(list->jobs, more * sizeof *jobs);
        if (!jobs) {
            job_free(job);
            return fail(error, STATUS_FAILED, "out of memory for the list of files");
        }
        list->jobs = jobs;
        *room = more;
    }
    list->jobs[list->count++] = *job;
    return STATUS_OK;
}

struct builder {
    struct list *list;
    size_t room;
    const struct command *command;
};

/* An input as it will be found again: `name` is what its output is called after. */
static enum status add(struct builder *builder, const char *name, const char *input, const struct stat *there,
                       const struct format *foreign, struct error *error)
{
    const struct list *list = builder->list;
    struct job job = {.name = copy_text(name, error), .input = copy_text(input, error)};
    if (list->output_is_directory)
        job.output = name_output(list->output, name, builder->command->settings.format, foreign, error);
    else
        job.output = copy_text(list->output, error);
    if (there) {
        job.bytes = (uint64_t)there->st_size;
        job.device = there->st_dev;
        job.inode = there->st_ino;
    }
    if (job.name && job.input && job.output)
        return append(builder->list, &builder->room, &job, error);
    job_free(&job);
    return STATUS_FAILED;
}

/* What cannot be looked at is a job too, one that fails: so it is reported and counted like the others. */
static enum status add_problem(struct builder *builder, const char *path, int code, struct error *error)
{
    enum status status = add(builder, name_base(path), path, NULL, NULL, error);
    if (status != STATUS_OK)
        return status;
    builder->list->jobs[builder->list->count - 1].problem = code;
    return STATUS_OK;
}

static enum status found(void *context, const struct found *file, struct error *error)
{
    struct builder *builder = context;
    if (file->problem)
        return add_problem(builder, file->path, file->problem, error);
    if (file->image)
        return add(builder, file->name, file->path, file->there, file->foreign, error);
    builder->list->passed_over++;
    return STATUS_OK;
}

static enum status add_folder(struct builder *builder, const char *path, struct error *error)
{
    struct walk walk = {
        .recursive = builder->command->settings.recursive, .found = found, .context = builder};
    struct stat output;
    if (stat(builder->list->output, &output) == 0) {
        walk.skip_device = output.st_dev;
        walk.skip_inode = output.st_ino;
    }
    return folder_walk(&walk, path, error);
}

static enum status add_argument(struct builder *builder, const char *path, struct error *error)
{
    struct stat there;
    if (strcmp(path, "-") == 0) {
        if (builder->list->output_is_directory)
            return fail(error, STATUS_USAGE, "- (stdin) has no name for its output; use it alone");
        return add(builder, path, path, NULL, NULL, error);
    }
    if (stat(path, &there) != 0)
        return add_problem(builder, path, errno, error);
    if (S_ISDIR(there.st_mode))
        return add_folder(builder, path, error);
    const struct format *foreign = NULL;
    if (S_ISREG(there.st_mode))
        name_is_image(path, &foreign);
    return add(builder, name_base(path), path, &there, foreign, error);
}

/* One folder as the input makes the output a folder, too. */
static enum status settle_output(struct list *list, const struct command *command, struct error *error)
{
    struct stat there;
    const char *input = command->inputs[0];
    list->output = command->output;
    list->output_is_directory = command->output_is_directory;
    if (list->output_is_directory || strcmp(input, "-") == 0 || stat(input, &there) != 0 ||
        !S_ISDIR(there.st_mode))
        return STATUS_OK;
    if (strcmp(list->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is a directory; name one for the output after it", input);
    if (format_by_path(list->output) && (stat(list->output, &there) != 0 || !S_ISDIR(there.st_mode)))
        return fail(error, STATUS_USAGE, "%s: the images of %s go to a directory, not into one file",
                    list->output, input);
    list->output_is_directory = true;
    return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct job *first = a, *second = b;
    int order = strcmp(first->name, second->name);
    return order != 0 ? order : strcmp(first->input, second->input);
}

enum status list_make(struct list *list, const struct command *command, struct error *error)
{
    struct builder builder = {.list = list, .command = command};
    *list = (struct list){0};
    enum status status = settle_output(list, command, error);
    for (size_t i = 0; status == STATUS_OK && i < command->input_count; i++)
        status = add_argument(&builder, command->inputs[i], error);
    if (status == STATUS_OK && list->count == 0)
        status =
            fail(error, STATUS_FAILED, "%s: no image in this folder%s", command->inputs[0],
                 command->settings.recursive ? " or below it" : "; --recursive looks into the folders in it");
    if (status == STATUS_OK)
        qsort(list->jobs, list->count, sizeof *list->jobs, by_name);
    if (status == STATUS_OK && list->output_is_directory)
        status = clash_check(list, error);
    return status == STATUS_OK ? clash_check_sides(list, &command->settings, error) : status;
}

void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        job_free(&list->jobs[i]);
    free(list->jobs);
    *list = (struct list){0};
}
