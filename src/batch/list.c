#include "batch/list.h"

#include "base/text.h"
#include "batch/clash.h"
#include "image/foreign.h"
#include "image/format.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Takes ownership of the job's strings, on failure too. */
static enum status append(struct list *list, size_t *room, struct job *job, struct error *error)
{
    if (list->count == *room) {
        size_t more = *room > 0 ? 2 * *room : 64;
        struct job *jobs = realloc(list->jobs, more * sizeof *jobs);
        if (!jobs) {
            job_free(job);
            return fail_memory(error, "out of memory for the list of files");
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
    struct stat output; /* passed over inside another folder; zeroed: it is not there */
    bool reads_stdin;
};

/* FOLDER/NAME, for free(); NULL on failure. */
static char *name_join(const char *folder, const char *name, struct error *error)
{
    size_t length = strlen(folder), size = length + strlen(name) + 2;
    char *path = allocate(size, "a file name", error);
    if (path)
        snprintf(path, size, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    return path;
}

/* FOLDER/NAME, with the extension of `asked`, which is NULL without --format. An image under a name that says
 * something else (photo.dat) is given its own format's extension; a name without one is kept. NULL on
 * failure. */
static char *name_output(const char *folder, const char *name, const struct format *asked,
                         const struct format *foreign, struct error *error)
{
    const char *base = name_base(name), *dot = strrchr(base, '.');
    bool dotted = dot && dot > base;
    const struct format *format = asked ? asked : dotted ? foreign : NULL;
    const char *ending = format ? format->extensions[0] : "";
    size_t stem = format && dotted ? (size_t)(dot - name) : strlen(name), size = stem + strlen(ending) + 2;
    char *changed = allocate(size, "a file name", error);
    if (!changed)
        return NULL;
    snprintf(changed, size, "%.*s%s%s", (int)stem, name, format ? "." : "", ending);
    char *path = name_join(folder, changed, error);
    free(changed);
    return path;
}

/* An input as it will be found again: `name` is what its output is called after. */
static enum status add(struct builder *builder, const char *name, const char *input, const struct stat *there,
                       const struct format *foreign, struct error *error)
{
    const struct list *list = builder->list;
    struct job job = {.name = copy_text(name, error), .input = copy_text(input, error)};
    if (list->output == NULL)
        job.output = copy_text(input, error);
    else if (list->output_is_directory)
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

static enum status note_unread(struct list *list, const char *path, struct error *error)
{
    list->unread++;
    if (list->unread_one && strcmp(list->unread_one, path) <= 0)
        return STATUS_OK;
    free(list->unread_one);
    list->unread_one = copy_text(path, error);
    return list->unread_one ? STATUS_OK : STATUS_FAILED;
}

struct list_note list_left_out(const struct list *list)
{
    struct list_note note = {""};
    if (list->unread_one)
        text_append(note.text, sizeof note.text, "%zu %s left out, such as %s: %s", list->unread,
                    list->unread == 1 ? "image is" : "images are", list->unread_one,
                    foreign_reading(foreign_name_by_path(list->unread_one), list->unread_one).text);
    return note;
}

static enum status visit_folder(struct builder *builder, const char *path, size_t root, struct error *error);

/* `root` is the length of what stands before the name in the path. */
static enum status visit(struct builder *builder, const char *path, size_t root, struct error *error)
{
    struct stat there;
    if (lstat(path, &there) != 0)
        return errno == ENOENT ? STATUS_OK /* gone since it was listed */
                               : add_problem(builder, path, errno, error);
    bool skipped = there.st_dev == builder->output.st_dev && there.st_ino == builder->output.st_ino;
    if (S_ISDIR(there.st_mode))
        return builder->command->settings.recursive && !skipped ? visit_folder(builder, path, root, error)
                                                                : STATUS_OK;
    if (S_ISLNK(there.st_mode) && stat(path, &there) != 0)
        return format_by_path(path) ? add_problem(builder, path, errno, error)
                                    : STATUS_OK; /* leads nowhere */
    if (!S_ISREG(there.st_mode))
        return STATUS_OK;
    bool named = format_by_path(path) != NULL;
    const struct format *foreign = named ? NULL : format_by_content(path);
    if (named || foreign)
        return add(builder, path + root, path, &there, foreign, error);
    builder->list->passed_over++;
    return foreign_name_by_path(path) ? note_unread(builder->list, path, error) : STATUS_OK;
}

static enum status visit_folder(struct builder *builder, const char *path, size_t root, struct error *error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return add_problem(builder, path, errno, error);
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        errno = 0;
        // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
        const struct dirent *entry = readdir(folder);
        if (!entry)
            break;
        if (entry->d_name[0] == '.')
            continue;
        char *below = name_join(path, entry->d_name, error);
        status = below ? visit(builder, below, root, error) : STATUS_FAILED;
        free(below);
    }
    if (status == STATUS_OK && errno != 0)
        status = add_problem(builder, path, errno, error);
    closedir(folder);
    return status;
}

/* Every regular file, links to such included, that is not hidden. Links to folders are passed over: they may
 * lead round in circles, and out of the folder. */
static enum status add_folder(struct builder *builder, const char *path, struct error *error)
{
    size_t length = strlen(path);
    return visit_folder(builder, path, length > 0 && path[length - 1] == '/' ? length : length + 1, error);
}

/* As a list of names, or as a file of one. */
static enum status take_stdin(struct builder *builder, struct error *error)
{
    if (builder->reads_stdin)
        return fail(error, STATUS_USAGE, "- (stdin) can be read once only; name it once");
    builder->reads_stdin = true;
    return STATUS_OK;
}

/* Its size is left out, as it can be read once only. */
static enum status add_stdin(struct builder *builder, struct error *error)
{
    struct list *list = builder->list;
    struct stat there;
    bool told = builder->command->settings.info != INFO_ABSENT;
    if (!told && (list->output_is_directory || list->output == NULL))
        return fail(error, STATUS_USAGE, "- (stdin) has no name for its output; use it alone");
    enum status status = take_stdin(builder, error);
    if (status == STATUS_OK)
        status = add(builder, "-", "-", NULL, NULL, error);
    if (status == STATUS_OK && fstat(STDIN_FILENO, &there) == 0) {
        list->jobs[list->count - 1].device = there.st_dev;
        list->jobs[list->count - 1].inode = there.st_ino;
    }
    return status;
}

static enum status add_argument(struct builder *builder, const char *path, struct error *error)
{
    struct stat there;
    if (strcmp(path, "-") == 0)
        return add_stdin(builder, error);
    if (stat(path, &there) != 0)
        return add_problem(builder, path, errno, error);
    if (S_ISDIR(there.st_mode) && builder->list->output && !builder->list->output_is_directory)
        return fail(error, STATUS_FAILED, "%s: could not be looked at at first, and is a directory", path);
    if (S_ISDIR(there.st_mode))
        return add_folder(builder, path, error);
    bool told = !S_ISREG(there.st_mode) || format_by_path(path);
    const struct format *foreign = told ? NULL : format_by_content(path);
    return add(builder, name_base(path), path, &there, foreign, error);
}

static bool is_directory(const char *path)
{
    struct stat there;
    return strcmp(path, "-") != 0 && stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

/* A shell's pattern that matches two files names them before the stage: none of them is meant to be lost. */
static enum status check_output(const struct command *command, struct error *error)
{
    struct stat there;
    if (!command->output_may_be_input || command->settings.yes || stat(command->output, &there) != 0 ||
        !S_ISREG(there.st_mode))
        return STATUS_OK;
    return fail(
        error, STATUS_USAGE,
        "%s: exists and stands before the first stage, as inputs do; to overwrite it name it last, by "
        "--output, or say --yes",
        command->output);
}

/* A folder as the input, or where the output is to be, makes the output a folder. */
static enum status settle_output(struct list *list, const struct command *command, struct error *error)
{
    const char *input = command->inputs[0]; /* NULL where all are listed, and so several */
    list->output = command->output;
    list->several = command->input_count > 1 || command->settings.files_from || is_directory(input);
    if (list->output == NULL)
        return STATUS_OK;
    list->output_is_directory = command->output_is_directory || is_directory(list->output);
    list->several |= list->output_is_directory;
    if (list->output_is_directory || !list->several)
        return check_output(command, error);
    if (strcmp(list->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is a directory; name one for the output after it", input);
    if (format_by_path(list->output))
        return fail(error, STATUS_USAGE, "%s: the images of %s go to a directory, not into one file",
                    list->output, input);
    list->output_is_directory = true;
    return STATUS_OK;
}

enum { NAMES_MOST = 4000000 }; /* a list may be endless */

/* The list of --files-from, as it is read. */
struct names {
    FILE *file;
    int separator;
    size_t count; /* of lines so far */
    char name[PATH_MAX];
};

/* The next line as `name`; *more is false behind the last one. */
static enum status next_name(struct names *names, bool *more, struct error *error)
{
    size_t length = 0;
    int c = getc_unlocked(names->file);
    *more = c != EOF;
    names->count += *more;
    for (; c != EOF && c != names->separator; c = getc_unlocked(names->file)) {
        if (c == '\0')
            return fail(error, STATUS_FAILED, "line %zu has a NUL in it; --null reads such lists",
                        names->count);
        if (length == sizeof names->name - 1)
            return fail(error, STATUS_FAILED, "line %zu is longer than a file's name can be%s", names->count,
                        names->separator == '\0' ? "" : "; --null reads lists divided by NUL");
        names->name[length++] = (char)c;
    }
    names->name[length] = '\0';
    if (ferror(names->file))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    return names->count <= NAMES_MOST
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "more than %d names; divide the list", NAMES_MOST);
}

/* Empty lines are no names. */
static enum status read_names(struct builder *builder, struct error *error)
{
    const struct settings *settings = &builder->command->settings;
    bool standard = strcmp(settings->files_from, "-") == 0, more = true;
    struct names names = {.file = standard ? stdin : fopen(settings->files_from, "r"),
                          .separator = settings->null ? '\0' : '\n'};
    const char *name = standard ? "standard input" : settings->files_from;
    if (standard && take_stdin(builder, error) != STATUS_OK)
        return STATUS_USAGE;
    if (!names.file)
        return fail(error, STATUS_FAILED, "--files-from %s: cannot open: %s", name, strerror(errno));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && more) {
        status = next_name(&names, &more, error);
        if (status != STATUS_OK)
            error_prefix(error, name);
        else if (more && names.name[0] != '\0')
            status = add_argument(builder, names.name, error);
    }
    if (!standard)
        fclose(names.file);
    return status;
}

static enum status reject_nothing(const struct list *list, const struct command *command, struct error *error)
{
    const struct settings *settings = &command->settings;
    if (settings->files_from)
        return fail(error, STATUS_FAILED, "--files-from %s: there is no file in this list",
                    settings->files_from);
    if (list->unread > 0)
        return fail(error, STATUS_FAILED, "%s: no image that climg reads; %s", command->inputs[0],
                    list_left_out(list).text);
    return fail(error, STATUS_FAILED, "%s: no image in this folder%s", command->inputs[0],
                settings->recursive ? " or below it" : "; --recursive looks into the folders in it");
}

static int by_name(const void *a, const void *b)
{
    const struct job *first = a, *second = b;
    int order = strcmp(first->name, second->name);
    return order != 0 ? order : strcmp(first->input, second->input);
}

/* Drops the jobs of other shards. */
static void keep_shard(struct list *list, const struct shard *shard)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (shard_has(shard, list->jobs[i].name))
            list->jobs[kept++] = list->jobs[i];
        else
            job_free(&list->jobs[i]);
    }
    list->count = kept;
}

enum status list_make(struct list *list, const struct command *command, struct error *error)
{
    struct builder builder = {.list = list, .command = command};
    *list = (struct list){0};
    enum status status = settle_output(list, command, error);
    if (status == STATUS_OK && (!list->output || stat(list->output, &builder.output) != 0))
        builder.output = (struct stat){.st_ino = 0};
    for (size_t i = 0; status == STATUS_OK && i < command->input_count; i++)
        status = add_argument(&builder, command->inputs[i], error);
    if (status == STATUS_OK && command->settings.files_from)
        status = read_names(&builder, error);
    if (status == STATUS_OK && list->count == 0)
        status = reject_nothing(list, command, error);
    if (status == STATUS_OK)
        qsort(list->jobs, list->count, sizeof *list->jobs, by_name);
    if (status != STATUS_OK || command->settings.info != INFO_ABSENT)
        return status;
    status = clash_check(list->jobs, list->count, command->settings.in_place, error);
    if (status == STATUS_OK)
        status = clash_check_sides(list->jobs, list->count, command, error);
    keep_shard(list, &command->settings.part);
    return status;
}

void list_free(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        job_free(&list->jobs[i]);
    free(list->jobs);
    free(list->unread_one);
    *list = (struct list){0};
}
