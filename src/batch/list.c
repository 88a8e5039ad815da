#include "batch/list.h"

#include "base/text.h"
#include "image/format.h"
#include "image/output/output.h"

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
    struct stat output; /* skipped inside an input folder; all zero: it does not exist */
    bool reads_stdin;
};

/* FOLDER/NAME, for free(); NULL on failure. */
static char *name_join(const char *folder, const char *name, struct error *error)
{
    const size_t length = strlen(folder);
    return text_print(error, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
}

/* FOLDER/NAME with the extension of `asked` (NULL without --format). An image whose name says another format
 * (photo.dat) gets the extension of its own; a name without extension is kept. NULL on failure. */
static char *name_output(const char *folder, const char *name, const struct format *asked,
                         const struct format *foreign, struct error *error)
{
    const char *base = name_base(name), *dot = strrchr(base, '.');
    bool dotted = dot && dot > base;
    const struct format *format = asked ? asked : dotted ? foreign : NULL;
    const int stem = (int)(format && dotted ? (size_t)(dot - name) : strlen(name));
    char *changed =
        format ? text_print(error, "%.*s.%s", stem, name, format->extensions[0]) : copy_text(name, error);
    char *path = changed ? name_join(folder, changed, error) : NULL;
    free(changed);
    return path;
}

/* Adds a job. `name`: what its output is named after. */
static enum status add(struct builder *builder, const char *name, const char *input, const struct stat *there,
                       const struct format *foreign, struct error *error)
{
    const struct list *list = builder->list;
    struct job job = {
        .name = copy_text(name, error), .input = copy_text(input, error), .is_single = !list->several};
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

/* An input that stat fails for becomes a job that fails, so that it is reported and counted like others. */
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
                    list->unread == 1 ? "file is" : "files are", list->unread_one,
                    foreign_reading(foreign_name_by_path(list->unread_one), list->unread_one).text);
    return note;
}

static enum status visit_folder(struct builder *builder, const char *path, size_t root, struct error *error);

/* `root`: where the name begins in the path. */
static enum status visit(struct builder *builder, const char *path, size_t root, struct error *error)
{
    struct stat there;
    if (lstat(path, &there) != 0)
        return errno == ENOENT ? STATUS_OK /* gone since it was listed */
                               : add_problem(builder, path, errno, error);
    bool skipped = there.st_dev == builder->output.st_dev && there.st_ino == builder->output.st_ino;
    if (S_ISDIR(there.st_mode) && builder->command->settings.recursive)
        return skipped ? STATUS_OK : visit_folder(builder, path, root, error);
    builder->list->folders_left_out += S_ISDIR(there.st_mode) && !skipped;
    if (S_ISDIR(there.st_mode))
        return STATUS_OK;
    if (S_ISLNK(there.st_mode) && stat(path, &there) != 0)
        return format_by_path(path) ? add_problem(builder, path, errno, error)
                                    : STATUS_OK; /* a dangling link */
    if (!S_ISREG(there.st_mode))
        return STATUS_OK;
    bool named = format_by_path(path) != NULL, unread = foreign_name_by_path(path) != NULL;
    /* A camera's raw file begins like a TIFF. */
    const struct format *foreign = named || unread ? NULL : format_by_content(path);
    if (named || foreign)
        return add(builder, path + root, path, &there, foreign, error);
    builder->list->passed_over++;
    return unread ? note_unread(builder->list, path, error) : STATUS_OK;
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

static int by_name(const void *a, const void *b)
{
    const struct job *first = a, *second = b;
    int order = strcmp(first->name, second->name);
    return order != 0 ? order : strcmp(first->input, second->input);
}

/* Links to folders are not followed: they may form circles or leave the folder. */
static enum status add_folder(struct builder *builder, const char *path, struct error *error)
{
    struct list *list = builder->list;
    const size_t length = strlen(path), before = list->count;
    enum status status =
        visit_folder(builder, path, length > 0 && path[length - 1] == '/' ? length : length + 1, error);
    if (list->count > before)
        qsort(list->jobs + before, list->count - before, sizeof *list->jobs, by_name);
    return status;
}

/* Stdin can be one input or the list of names, once. */
static enum status take_stdin(struct builder *builder, struct error *error)
{
    if (builder->reads_stdin)
        return fail(error, STATUS_USAGE, "- (stdin) can be read only once; name it once");
    builder->reads_stdin = true;
    return STATUS_OK;
}

/* Without its size: it can be read only once. */
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

static bool ends_in_slash(const char *path)
{
    const size_t length = strlen(path);
    return length > 0 && path[length - 1] == '/';
}

/* With --in-place a name that is no input was meant as an output: the other inputs must not be replaced by
 * what was to go there. `why` says what is wrong with it. */
static enum status reject_input(const struct builder *builder, const char *path, const char *why,
                                struct error *error)
{
    const bool is_alone = builder->command->input_count < 2 && !builder->command->settings.files_from;
    return is_alone
               ? fail(error, STATUS_USAGE, "%s: %s", path, why)
               : fail(error, STATUS_USAGE,
                      "%s: %s, and with --in-place every name is an input; no file was changed. If it is "
                      "the output, leave --in-place out",
                      path, why);
}

static enum status add_argument(struct builder *builder, const char *path, struct error *error)
{
    const bool in_place = builder->command->settings.in_place;
    struct stat there;
    if (strcmp(path, "-") == 0)
        return add_stdin(builder, error);
    if (stat(path, &there) != 0 && in_place)
        return reject_input(builder, path,
                            errno != ENOENT       ? strerror(errno)
                            : ends_in_slash(path) ? "there is no such folder"
                                                  : "there is no such file",
                            error);
    if (stat(path, &there) != 0)
        return add_problem(builder, path, errno, error);
    if (S_ISDIR(there.st_mode) && builder->list->output && !builder->list->output_is_directory)
        return fail(error, STATUS_FAILED, "%s: is a directory, which could not be read at first", path);
    if (S_ISDIR(there.st_mode)) {
        const size_t before = builder->list->count;
        enum status status = add_folder(builder, path, error);
        return status == STATUS_OK && in_place && builder->list->count == before
                   ? reject_input(builder, path, "there is no image in this folder", error)
                   : status;
    }
    bool told = !S_ISREG(there.st_mode) || format_by_path(path);
    const struct format *foreign = told ? NULL : format_by_content(path);
    return add(builder, name_base(path), path, &there, foreign, error);
}

static bool is_directory(const char *path)
{
    struct stat there;
    return strcmp(path, "-") != 0 && stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

/* A shell pattern that matches two files puts both before the stage; neither may be overwritten. */
static enum status check_output(const struct command *command, struct error *error)
{
    struct stat there;
    if (!command->output_may_be_input || command->settings.yes || stat(command->output, &there) != 0 ||
        !S_ISREG(there.st_mode))
        return STATUS_OK;
    return fail(
        error, STATUS_USAGE,
        "%s: exists and stands before the first stage, like an input; to overwrite it, name it last or by "
        "--output, or add --yes",
        command->output);
}

/* `climg -r tree/ web/ --resize 800x --in-place`: web/ was meant as the output. */
static enum status check_in_place(const struct command *command, struct error *error)
{
    const char *last = command->input_count > 1 ? command->inputs[command->input_count - 1] : "";
    if (!command->settings.in_place || command->settings.yes || !ends_in_slash(last))
        return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "%s: stands last and ends in a slash, like an output, but with --in-place its files would be "
                "replaced; leave --in-place out, or leave the slash out",
                last);
}

/* The output is a folder if it exists as one or an input is a folder. */
static enum status settle_output(struct list *list, const struct command *command, struct error *error)
{
    const char *input = command->inputs[0]; /* NULL with --files-from alone */
    list->output = command->output;
    list->several = command->input_count > 1 || command->settings.files_from || is_directory(input);
    if (list->output == NULL)
        return STATUS_OK;
    list->output_is_directory = command->output_is_directory || is_directory(list->output);
    list->several |= list->output_is_directory;
    if (list->output_is_directory || !list->several)
        return check_output(command, error);
    if (strcmp(list->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is a directory; add an output directory", input);
    if (format_by_path(list->output))
        return fail(error, STATUS_USAGE, "%s: the images of %s need an output directory, not a file",
                    list->output, input);
    list->output_is_directory = true;
    return STATUS_OK;
}

enum { NAMES_MOST = 4000000 }; /* protects against endless lists */

/* Reads the list of --files-from. */
struct names {
    FILE *file;
    int separator;
    size_t count; /* lines read so far */
    char name[PATH_MAX];
};

static bool is_utf16(const char *name, size_t length)
{
    return length >= 2 && (memcmp(name, "\xff\xfe", 2) == 0 || memcmp(name, "\xfe\xff", 2) == 0);
}

/* Editors of Windows end lines in CR LF and begin files with a byte order mark. A file that is called so
 * stays.
 */
static void drop_windows_marks(struct names *names, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (access(names->name, F_OK) == 0)
        return;
    if (length > 0 && names->name[length - 1] == '\r')
        names->name[length - 1] = '\0';
    if (names->count == 1 && strncmp(names->name, mark, strlen(mark)) == 0)
        memmove(names->name, names->name + strlen(mark), strlen(names->name + strlen(mark)) + 1);
}

/* Reads the next line into `name`; *more is false at the end. */
static enum status next_name(struct names *names, bool *more, struct error *error)
{
    size_t length = 0;
    int c = getc_unlocked(names->file);
    *more = c != EOF;
    names->count += *more;
    for (; c != EOF && c != names->separator; c = getc_unlocked(names->file)) {
        if (c == '\0')
            return fail(error, STATUS_FAILED, "line %zu contains a NUL; %s", names->count,
                        is_utf16(names->name, length) ? "the list is UTF-16: save it as UTF-8"
                                                      : "--null reads such lists");
        if (length == sizeof names->name - 1)
            return fail(error, STATUS_FAILED, "line %zu is longer than any file name%s", names->count,
                        names->separator == '\0' ? "" : "; --null reads lists separated by NUL");
        names->name[length++] = (char)c;
    }
    names->name[length] = '\0';
    if (ferror(names->file))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    if (names->separator != '\0')
        drop_windows_marks(names, length);
    return names->count <= NAMES_MOST
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "more than %d names; split the list", NAMES_MOST);
}

/* Skips empty lines. */
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
        return fail(error, STATUS_FAILED, "--files-from %s: the list is empty", settings->files_from);
    if (list->unread > 0)
        return fail(error, STATUS_FAILED, "%s: no image that climg reads; %s", command->inputs[0],
                    list_left_out(list).text);
    return fail(error, STATUS_FAILED, "%s: no image in this folder%s", command->inputs[0],
                settings->recursive ? " or below it" : "; --recursive looks into the folders in it");
}

/* Removes the jobs that `is_wanted` is false for. */
static void list_filter(struct list *list, bool (*is_wanted)(const struct job *job, const void *context),
                        const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (is_wanted(&list->jobs[i], context))
            list->jobs[kept++] = list->jobs[i];
        else
            job_free(&list->jobs[i]);
    }
    list->count = kept;
}

static bool is_in_shard(const struct job *job, const void *shard)
{
    return shard_has(shard, job->name);
}

void list_keep_shard(struct list *list, const struct shard *shard)
{
    list_filter(list, is_in_shard, shard);
}

static bool is_first(const struct job *job, const void *context)
{
    (void)context;
    return !job->is_duplicate;
}

enum status list_make(struct list *list, const struct command *command, struct error *error)
{
    struct builder builder = {.list = list, .command = command};
    *list = (struct list){0};
    enum status status = settle_output(list, command, error);
    if (status == STATUS_OK)
        status = check_in_place(command, error);
    if (status == STATUS_OK && (!list->output || stat(list->output, &builder.output) != 0))
        builder.output = (struct stat){.st_ino = 0};
    for (size_t i = 0; status == STATUS_OK && i < command->input_count; i++)
        status = add_argument(&builder, command->inputs[i], error);
    if (status == STATUS_OK && command->settings.files_from)
        status = read_names(&builder, error);
    if (status == STATUS_OK && list->count == 0)
        status = reject_nothing(list, command, error);
    if (status != STATUS_OK || command->settings.info != INFO_ABSENT)
        return status;
    qsort(list->jobs, list->count, sizeof *list->jobs, by_name);
    status = conflicts_check(list, command, error);
    list_filter(list, is_first, NULL);
    return status;
}

struct folder {
    const char *path; /* of a file in it */
    int length;
};

static int by_folder(const void *a, const void *b)
{
    const struct folder *first = a, *second = b;
    if (first->length != second->length)
        return first->length < second->length ? -1 : 1;
    return memcmp(first->path, second->path, (size_t)first->length);
}

enum status list_each_folder(const struct list *list,
                             enum status (*take)(void *context, const char *folder, struct error *error),
                             void *context, struct error *error)
{
    struct folder *folders = allocate(list->count * sizeof *folders, "folder names", error);
    enum status status = folders ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; folders && i < list->count; i++)
        folders[i] = (struct folder){list->jobs[i].output, folder_length(list->jobs[i].output)};
    if (folders)
        qsort(folders, list->count, sizeof *folders, by_folder);
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++) {
        if (i > 0 && by_folder(&folders[i - 1], &folders[i]) == 0)
            continue;
        char *path = copy_text(folders[i].path, error);
        if (path)
            path[folders[i].length] = '\0';
        status = path ? take(context, path, error) : STATUS_FAILED;
        free(path);
    }
    free(folders);
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
