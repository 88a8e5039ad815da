/* The jobs of a command, and the files that they must not overwrite.
 *
 *     arguments, --files-from ─▶ list folders, name outputs ─▶ sort ─▶ find conflicts ─▶ jobs
 *
 * Everything is known, and checked, before anything is written. An input that does not exist becomes a job
 * that fails, so that it is reported and counted like others. With --in-place it is an error at once, as its
 * name may be that of the output.
 *
 * Conflicts are found by one set with the identity of every file of the command. It is filled in this order:
 * files that stages and --files-from read, inputs, auxiliary outputs (--report, --trace, --timing, a stage's
 * matrix), outputs. A file that is in the set already may be a conflict; the roles of both decide, and give
 * the message.
 *
 * A file has two identities. Its inode identifies an input by any path or link. Its name in its folder, after
 * symbolic links were followed, identifies the file that a rename replaces: two hard links may each be an
 * output, two symbolic links to one file may not. For a file that does not exist yet, the folder is the
 * nearest one that exists. */
#include "batch/files.h"

#include "base/files.h"
#include "base/text.h"
#include "image/format.h"
#include "image/output/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wctype.h>

/* ---------------------------------------------------------------- the list */

/* Appends the job and owns its strings; frees them on failure. */
static enum status append_job(struct list *list, size_t *room, struct job *job, struct error *error)
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

/* A list that is being made. */
struct builder {
    struct list *list;
    size_t room; /* jobs that list->jobs has memory for */
    const struct command *command;
    struct stat output; /* the output folder, which is skipped in input folders; zero if it does not exist */
    bool reads_stdin;   /* stdin is an input, or the list of --files-from */
};

/* Returns FOLDER/NAME, to be freed; NULL on failure. */
static char *name_join(const char *folder, const char *name, struct error *error)
{
    const size_t length = strlen(folder);
    return text_print(error, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
}

/* Returns FOLDER/NAME with the extension of the output's format, to be freed; NULL on failure. `asked` is
 * --format, which may be NULL. `foreign` is the format of an image with another extension, as photo.dat; NULL
 * for others. A name without an extension gets one only with --format. */
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

/* Adds a job. `name` is the name of its output in the output folder. `there` is the stat of the input, or
 * NULL. */
static enum status add_job(struct builder *builder, const char *name, const char *input,
                           const struct stat *there, const struct format *foreign, struct error *error)
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
        job.input_device = there->st_dev;
        job.input_inode = there->st_ino;
    }
    if (job.name && job.input && job.output)
        return append_job(builder->list, &builder->room, &job, error);
    job_free(&job);
    return STATUS_FAILED;
}

/* Adds a job that fails, for an input that cannot be found. */
static enum status add_problem(struct builder *builder, const char *path, int code, struct error *error)
{
    enum status status = add_job(builder, name_base(path), path, NULL, NULL, error);
    if (status != STATUS_OK)
        return status;
    builder->list->jobs[builder->list->count - 1].problem = code;
    return STATUS_OK;
}

/* Counts an image in a format that climg does not read. The example is the first one by name, so that the
 * message does not depend on the order in a folder. */
static enum status count_foreign(struct list *list, const char *path, struct error *error)
{
    list->foreign++;
    if (list->foreign_example && strcmp(list->foreign_example, path) <= 0)
        return STATUS_OK;
    free(list->foreign_example);
    list->foreign_example = copy_text(path, error);
    return list->foreign_example ? STATUS_OK : STATUS_FAILED;
}

struct list_note list_describe_foreign(const struct list *list)
{
    struct list_note note = {""};
    if (list->foreign_example)
        text_append(note.text, sizeof note.text, "%zu %s left out, such as %s: %s", list->foreign,
                    list->foreign == 1 ? "file is" : "files are", list->foreign_example,
                    foreign_reading(foreign_name_by_path(list->foreign_example), list->foreign_example).text);
    return note;
}

static enum status visit_folder(struct builder *builder, const char *path, size_t root, struct error *error);

/* Adds a file, or with --recursive the files of a folder. `root` is the start of the job's name in the path.
 */
static enum status visit(struct builder *builder, const char *path, size_t root, struct error *error)
{
    struct stat there;
    if (lstat(path, &there) != 0)
        return errno == ENOENT ? STATUS_OK /* deleted since the folder was listed */
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
    /* The name of a format that climg does not read decides: a camera's raw file begins like a TIFF. */
    const struct format *foreign = named || unread ? NULL : format_by_content(path);
    if (named || foreign)
        return add_job(builder, path + root, path, &there, foreign, error);
    builder->list->skipped++;
    return unread ? count_foreign(builder->list, path, error) : STATUS_OK;
}

/* Visits all entries of a folder that are not hidden. A folder that cannot be read becomes a job that fails.
 */
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

/* Adds the images of a folder argument, sorted by name. Links to folders are not followed, as they may form
 * circles or leave the folder. */
static enum status add_folder(struct builder *builder, const char *path, struct error *error)
{
    struct list *list = builder->list;
    const size_t length = strlen(path), before = list->count;
    enum status status =
        visit_folder(builder, path, length > 0 && path[length - 1] == '/' ? length : length + 1, error);
    if (list->jobs)
        qsort(list->jobs + before, list->count - before, sizeof *list->jobs, by_name);
    return status;
}

/* Fails the second time: stdin is either one input or the list of names. */
static enum status reserve_stdin(struct builder *builder, struct error *error)
{
    if (builder->reads_stdin)
        return fail(error, STATUS_USAGE, "- (stdin) can be read only once; name it once");
    builder->reads_stdin = true;
    return STATUS_OK;
}

/* Adds stdin, without a size, as it can be read only once. */
static enum status add_stdin(struct builder *builder, struct error *error)
{
    struct list *list = builder->list;
    struct stat there;
    const bool is_info = settings_only_read(&builder->command->settings);
    if (!is_info && !list->is_merged && (list->output_is_directory || list->output == NULL))
        return fail(error, STATUS_USAGE, "- (stdin) has no name for its output; use it alone");
    enum status status = reserve_stdin(builder, error);
    if (status == STATUS_OK)
        status = add_job(builder, "-", "-", NULL, NULL, error);
    if (status == STATUS_OK && fstat(STDIN_FILENO, &there) == 0) {
        list->jobs[list->count - 1].input_device = there.st_dev;
        list->jobs[list->count - 1].input_inode = there.st_ino;
    }
    return status;
}

static bool ends_in_slash(const char *path)
{
    const size_t length = strlen(path);
    return length > 0 && path[length - 1] == '/';
}

/* Fails for a name that is no input, with the reason `why`. With --in-place it fails before anything is
 * written: the user may have intended the name as the output, and then inputs must not be replaced. */
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

/* Adds an argument of the command line, or a name of --files-from: a file, a folder, or stdin. */
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
    if (S_ISDIR(there.st_mode) && builder->list->output && !builder->list->output_is_directory &&
        !builder->list->is_merged)
        return fail(error, STATUS_FAILED, "%s: is a folder, which could not be read at first", path);
    if (S_ISDIR(there.st_mode)) {
        const size_t before = builder->list->count;
        enum status status = add_folder(builder, path, error);
        return status == STATUS_OK && in_place && builder->list->count == before
                   ? reject_input(builder, path, "there is no image in this folder", error)
                   : status;
    }
    /* Pipes are not read before their job. */
    const bool is_named = !S_ISREG(there.st_mode) || format_by_path(path);
    const struct format *foreign = is_named ? NULL : format_by_content(path);
    return add_job(builder, name_base(path), path, &there, foreign, error);
}

static bool is_folder(const char *path)
{
    struct stat there;
    return strcmp(path, "-") != 0 && stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

/* Fails if the output exists and is named before the first stage: a shell pattern may have matched two files,
 * and neither may be overwritten. */
static enum status check_output(const struct command *command, struct error *error)
{
    struct stat there;
    if (!command->output_may_be_input || command->settings.yes || stat(command->output, &there) != 0 ||
        !S_ISREG(there.st_mode))
        return STATUS_OK;
    return fail(
        error, STATUS_USAGE,
        "%s: exists and comes before the first stage, like an input; to overwrite it, name it after the "
        "stages or by --output, or add --yes",
        command->output);
}

/* Fails for `climg -r tree/ web/ --resize 800x --in-place`, where web/ is the output. */
static enum status check_in_place(const struct command *command, struct error *error)
{
    const char *last = command->input_count > 1 ? command->inputs[command->input_count - 1] : "";
    if (!command->settings.in_place || command->settings.yes || !ends_in_slash(last))
        return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "%s: comes last and ends in a slash, like an output, but with --in-place its files would be "
                "replaced; leave --in-place out, or leave the slash out",
                last);
}

/* Decides whether the output is a folder: if it exists as one, or an input is a folder. */
static enum status decide_output(struct list *list, const struct command *command, struct error *error)
{
    const char *input = command->inputs[0]; /* NULL with --files-from alone */
    list->output = command->output;
    list->several = command->input_count > 1 || command->settings.files_from || is_folder(input);
    if (list->output == NULL)
        return STATUS_OK;
    list->output_is_directory = command->output_is_directory || is_folder(list->output);
    list->several |= list->output_is_directory;
    const size_t merge = chain_find_merge(&command->chain, 0);
    if (merge < command->chain.count) { /* all inputs are one output */
        list->is_merged = true;
        list->output_is_directory = ends_in_slash(list->output) || is_folder(list->output);
        if (!list->output_is_directory)
            return check_output(command, error);
        return fail(error, STATUS_USAGE, "%s: is a folder, and --%s makes one file of all inputs; name that",
                    list->output, command->chain.steps[merge].stage->name);
    }
    if (list->output_is_directory || !list->several)
        return check_output(command, error);
    if (strcmp(list->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is a folder; name an output folder, too", input);
    if (format_by_path(list->output))
        return fail(error, STATUS_USAGE, "%s: the images of %s need an output folder, not a file",
                    list->output, input);
    list->output_is_directory = true;
    return STATUS_OK;
}

enum { NAMES_MOST = 4000000 }; /* protects against endless lists */

/* The list of --files-from. */
struct names {
    FILE *file;
    int separator;       /* newline, or NUL with --null */
    size_t count;        /* number of lines read so far */
    char name[PATH_MAX]; /* the last line */
};

/* True if the text begins with a byte order mark of UTF-16. */
static bool is_utf16(const char *name, size_t length)
{
    return length >= 2 && (memcmp(name, "\xff\xfe", 2) == 0 || memcmp(name, "\xfe\xff", 2) == 0);
}

/* Removes the CR at the end of a line, and the byte order mark of UTF-8 at the beginning of the list, which
 * editors of Windows write. A name of an existing file is not changed. */
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

/* Reads the next line into names->name. *more is false at the end of the list. Fails for lines that are no
 * names. */
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

/* Adds the files of a list; empty lines are skipped. */
static enum status read_names(struct builder *builder, struct error *error)
{
    const struct settings *settings = &builder->command->settings;
    bool standard = strcmp(settings->files_from, "-") == 0, more = true;
    struct names names = {.file = standard ? stdin : fopen(settings->files_from, "r"),
                          .separator = settings->null ? '\0' : '\n'};
    const char *name = standard ? "standard input" : settings->files_from;
    if (standard && reserve_stdin(builder, error) != STATUS_OK)
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

/* Fails: there is no input. */
static enum status reject_empty_list(const struct list *list, const struct command *command,
                                     struct error *error)
{
    const struct settings *settings = &command->settings;
    if (settings->files_from)
        return fail(error, STATUS_FAILED, "--files-from %s: the list is empty", settings->files_from);
    if (list->foreign > 0)
        return fail(error, STATUS_FAILED, "%s: no image that climg reads; %s", command->inputs[0],
                    list_describe_foreign(list).text);
    return fail(error, STATUS_FAILED, "%s: no image in this folder%s", command->inputs[0],
                settings->recursive ? " or below it" : "; --recursive looks into the folders in it");
}

/* Removes all jobs for which `is_wanted` is false. */
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
    enum status status = decide_output(list, command, error);
    if (status == STATUS_OK)
        status = check_in_place(command, error);
    if (status == STATUS_OK && (!list->output || stat(list->output, &builder.output) != 0))
        builder.output = (struct stat){.st_ino = 0};
    for (size_t i = 0; status == STATUS_OK && i < command->input_count; i++)
        status = add_argument(&builder, command->inputs[i], error);
    if (status == STATUS_OK && command->settings.files_from)
        status = read_names(&builder, error);
    if (status == STATUS_OK && list->count == 0)
        status = reject_empty_list(list, command, error);
    if (status != STATUS_OK || settings_only_read(&command->settings))
        return status;
    if (!list->is_merged)
        qsort(list->jobs, list->count, sizeof *list->jobs, by_name);
    status = conflicts_check(list, command, error);
    list_filter(list, is_first, NULL);
    return status;
}

/* A folder: the first `length` bytes of the path of a file in it. */
struct folder {
    const char *path;
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
                             enum status (*visit_one)(void *context, const char *folder, struct error *error),
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
        status = path ? visit_one(context, path, error) : STATUS_FAILED;
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
    free(list->foreign_example);
    *list = (struct list){0};
}

/* ---------------------------------------------------------------- conflicts */

/* One of a file's two identities: its inode, or its name in a folder. */
struct file_identity {
    dev_t device; /* of the file, or of the folder; as is `inode` */
    ino_t inode;
    const char *name; /* path from the folder; NULL for the file itself */
    const char *path; /* path that ends in `name`; belongs to the set */
};

/* An auxiliary output: --report, --trace, --timing, or a file that a stage writes. */
struct aux_output {
    const char *option;  /* as typed before the path */
    const char *noun;    /* for messages */
    const char *example; /* a file name; of an image if the output is one */
    const char *path;    /* "-" is stdout; NULL: not given */
};

/* Of stages: one file of numbers and one image. */
enum { MATRIX_OUTPUT = 3, MAP_OUTPUT, AUX_OUTPUTS };

/* A file of the command and its role. One of the last four fields is set. */
struct claim {
    struct file_identity identity; /* must be first, as compare_identities gets claims */
    const char *reader;            /* name of the stage or option that reads the file */
    const struct job *input;       /* the job that reads it */
    const struct job *output;      /* the job that writes it */
    const struct aux_output *aux;
};

/* The set of all files of the command. */
struct conflicts {
    bool in_place;
    void *files;          /* tree of tsearch, ordered by compare_identities */
    void *folded;         /* tree of outputs, ordered by compare_folded */
    struct claim *claims; /* memory of the claims in both trees */
    size_t claim_count;
    char **paths; /* memory of the paths of all identities */
    size_t path_count;
};

static int compare_identities(const void *a, const void *b)
{
    const struct file_identity *first = a, *second = b;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    if (first->inode != second->inode)
        return first->inode < second->inode ? -1 : 1;
    if (!first->name || !second->name)
        return (first->name != NULL) - (second->name != NULL);
    return strcmp(first->name, second->name);
}

/* Adds a claim to a tree unless a claim has its identity; *earlier is set to that, or to NULL. */
static enum status claim_add(struct conflicts *set, void **tree, int (*order)(const void *, const void *),
                             const struct claim *claim, const struct claim **earlier, struct error *error)
{
    struct claim *added = &set->claims[set->claim_count];
    *earlier = NULL;
    *added = *claim;
    void *const *found = tsearch(added, tree, order);
    if (!found)
        return fail_memory(error, "out of memory for file names");
    *earlier = *found == added ? NULL : *found;
    set->claim_count += *earlier == NULL;
    return STATUS_OK;
}

/* Removes empty and "." components: "a//./b" becomes "a/b". */
static void simplify(char *path)
{
    bool begins = true; /* at the start of a name */
    char *to = path;
    for (const char *from = path; *from != '\0'; from++) {
        if (begins && from[0] == '.' && from[1] == '/')
            from++;
        else if (!begins || *from != '/')
            *to++ = *from;
        begins = *from == '/';
    }
    *to = '\0';
}

/* True if the first `length` bytes of the path, which end in a slash, are an existing folder; "" is ".". */
static bool stat_folder(char *path, size_t length, struct stat *there)
{
    const char next = path[length];
    path[length] = '\0';
    const bool found = stat(length > 0 ? path : ".", there) == 0;
    path[length] = next;
    return found;
}

/* Sets *identity to the file's name in the nearest folder that exists. The set owns the path. "-" is stdout.
 */
static enum status identify_name(struct conflicts *set, const char *path, struct file_identity *identity,
                                 struct error *error)
{
    struct stat there = {.st_ino = 0};
    *identity = (struct file_identity){.name = "-"};
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    char *target = resolve_links(path, error);
    if (!target)
        return STATUS_FAILED;
    set->paths[set->path_count++] = target;
    size_t length = (size_t)folder_length(target);
    while (!stat_folder(target, length, &there) && length > 0) {
        while (length > 0 && target[length - 1] == '/')
            length--;
        while (length > 0 && target[length - 1] != '/')
            length--;
    }
    simplify(target + length);
    *identity = (struct file_identity){there.st_dev, there.st_ino, target + length, target};
    return STATUS_OK;
}

/* Fail: an auxiliary output, or the output of a job, is in the set already, by an earlier claim. An output
 * may be its own input with --in-place. */
static enum status reject_aux_claim(const struct aux_output *aux, const struct claim *earlier,
                                    struct error *error)
{
    if (earlier->aux)
        return fail(error, STATUS_USAGE, "the %s and the %s would both go to %s", earlier->aux->noun,
                    aux->noun, aux_name(aux->path));
    if (earlier->reader)
        return fail(error, STATUS_USAGE, "%s%s: --%s reads that file", aux->option, aux->path,
                    earlier->reader);
    return fail(error, STATUS_USAGE, "%s%s: that is also an input", aux->option, aux->path);
}

static enum status reject_output_claim(const struct conflicts *set, const struct job *job,
                                       const struct claim *earlier, struct error *error)
{
    const bool is_stdout = strcmp(job->output, "-") == 0;
    if (earlier->output)
        return fail(error, STATUS_USAGE,
                    "%s and %s would both become %s; rename one, or use two output folders",
                    earlier->output->input, job->input, job->output);
    if (earlier->aux)
        return fail(error, STATUS_USAGE, "%s%s: %s would also be written there", earlier->aux->option,
                    earlier->aux->path, is_stdout ? "the output" : job->input);
    if (earlier->reader)
        return fail(error, STATUS_USAGE, "%s would become %s: --%s reads that file", job->input, job->output,
                    earlier->reader);
    if (earlier->identity.device != job->input_device || earlier->identity.inode != job->input_inode)
        return fail(error, STATUS_USAGE, "%s would become %s: that is also an input", job->input,
                    job->output);
    if (is_stdout)
        return fail(error, STATUS_USAGE, "%s: is also where standard output goes", job_input_name(job));
    return set->in_place
               ? STATUS_OK
               : fail(error, STATUS_USAGE, "%s: is also the input; --in-place replaces it", job->output);
}

static enum status claim_reject(const struct conflicts *set, const struct claim *later,
                                const struct claim *earlier, struct error *error)
{
    return later->output ? reject_output_claim(set, later->output, earlier, error)
                         : reject_aux_claim(later->aux, earlier, error);
}

/* ---------------------------------------------------------------- auxiliary outputs */

/* Lists the auxiliary outputs of the command. Of the stages, the first one of each kind counts. */
static void list_aux_outputs(const struct command *command, struct aux_output aux[AUX_OUTPUTS])
{
    const struct settings *settings = &command->settings;
    const bool json = settings->timing.form == TIMING_JSON;
    aux[0] = (struct aux_output){"--report ", "report", "done.jsonl", settings->report};
    aux[1] = (struct aux_output){"--trace ", "trace", "trace.json", settings->trace};
    aux[2] = (struct aux_output){json ? "--timing=json:" : "--timing=table:", "timing", "times.json",
                                 settings->timing.file};
    aux[MATRIX_OUTPUT] = (struct aux_output){"--align matrix=", "matrix", "matrix.txt", NULL};
    aux[MAP_OUTPUT] = (struct aux_output){"--stack focus,depth=", "map", "map.png", NULL};
    for (size_t i = 0; i < command->chain.count; i++) {
        const struct stage_caps caps = step_caps(&command->chain.steps[i]);
        struct aux_output *output = &aux[caps.output_is_image ? MAP_OUTPUT : MATRIX_OUTPUT];
        if (!output->path)
            output->path = caps.output_file;
    }
}

enum status conflicts_check_names(const struct command *command, struct error *error)
{
    const char *trace = command->settings.trace, *ending = trace ? strrchr(trace, '.') : NULL;
    struct aux_output aux[AUX_OUTPUTS];
    list_aux_outputs(command, aux);
    if (ending && strcmp(ending, ".svg") == 0)
        return fail(error, STATUS_USAGE,
                    "--trace %s: a trace is JSON for https://ui.perfetto.dev; name it %.*s.json", trace,
                    (int)(ending - trace), trace);
    for (int i = 0; i < AUX_OUTPUTS; i++)
        if (aux[i].path && format_by_path(aux[i].path) && !format_by_path(aux[i].example))
            return fail(error, STATUS_USAGE, "%s%s: that is an image's name; name the %s first, as in %s%s",
                        aux[i].option, aux[i].path, aux[i].noun, aux[i].option, aux[i].example);
    return STATUS_OK;
}

/* ---------------------------------------------------------------- folders that do not distinguish case */

/* Locale of the comparison, which gets no context from tsearch; 0 if case is not folded. */
static locale_t utf8;

/* Moves past a character and returns it in lower case. A byte that is not UTF-8 stays as it is. */
static wint_t next_folded(const char **text)
{
    unsigned long character = (unsigned char)**text;
    const size_t length = utf8_decode(*text, strlen(*text), &character);
    *text += length > 0 ? length : 1;
    return towlower_l((wint_t)character, utf8);
}

/* Compares the folders of two names, and then the names without case. */
static int compare_folded(const void *a, const void *b)
{
    struct file_identity first = *(const struct file_identity *)a, second = *(const struct file_identity *)b;
    const char *left = first.name, *right = second.name;
    first.name = second.name = NULL;
    const int order = compare_identities(&first, &second);
    while (order == 0 && *left != '\0' && *right != '\0') {
        const wint_t one = next_folded(&left), other = next_folded(&right);
        if (one != other)
            return one < other ? -1 : 1;
    }
    return order != 0 ? order : (*left != '\0') - (*right != '\0');
}

/* True if the first components that differ are one name for their folder. Creates a temporary file that
 * begins with one of them in the existing folder, and looks for it by the other. If it cannot be created
 * there, the job itself will fail. */
static bool is_one_name(const struct file_identity *first, const struct file_identity *second)
{
    enum { LONGEST = 200 }; /* bytes of a name that temporary_create keeps */
    char target[PATH_MAX], other[2 * PATH_MAX], *created = NULL;
    const int length = (int)(first->name - first->path);
    size_t at = 0;
    for (size_t i = 0; first->name[i] != '\0' && first->name[i] == second->name[i]; i++)
        at = first->name[i] == '/' ? i + 1 : at;
    const int one = (int)strcspn(first->name + at, "/"), two = (int)strcspn(second->name + at, "/");
    snprintf(target, sizeof target, "%.*s%.*s", length, first->path, one, first->name + at);
    const int file = temporary_create(target, O_WRONLY, 0600, &created);
    if (file < 0)
        return false;
    struct stat there;
    snprintf(other, sizeof other, "%.*s.%.*s%s", length, first->path, two < LONGEST ? two : LONGEST,
             second->name + at, created + length + 1 + (one < LONGEST ? one : LONGEST));
    const bool same = stat(other, &there) == 0;
    temporary_remove(created);
    close(file);
    return same;
}

/* Adds an output to the names without case. Fails if another output differs only in case and the folder does
 * not distinguish that. */
static enum status add_folded(struct conflicts *set, const struct claim *claim, struct error *error)
{
    const struct claim *earlier;
    if (claim_add(set, &set->folded, compare_folded, claim, &earlier, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!earlier || !is_one_name(&earlier->identity, &claim->identity))
        return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "%s and %s would both become %s, as this folder does not distinguish upper and lower case; "
                "rename one, or use two output folders",
                earlier->output->input, claim->output->input, claim->output->output);
}

/* ---------------------------------------------------------------- filling the set */

/* Adds a file that is read. Several readers are no conflict. */
static enum status add_read(struct conflicts *set, dev_t device, ino_t inode, const char *reader,
                            const struct job *input, struct error *error)
{
    const struct claim *earlier;
    return claim_add(set, &set->files, compare_identities,
                     &(struct claim){{.device = device, .inode = inode}, .reader = reader, .input = input},
                     &earlier, error);
}

static enum status add_reader(struct conflicts *set, const char *path, const char *reader,
                              struct error *error)
{
    struct stat there;
    if (!path || stat(path, &there) != 0 || S_ISCHR(there.st_mode))
        return STATUS_OK;
    return add_read(set, there.st_dev, there.st_ino, reader, NULL, error);
}

static bool is_same_input(const struct job *a, const struct job *b)
{
    return strcmp(a->input, b->input) == 0 ||
           (a->input_inode != 0 && a->input_device == b->input_device && a->input_inode == b->input_inode);
}

/* Adds a file that is written, by its name, and if it exists by its inode. Several outputs may go to one
 * device, such as /dev/null, but only one to stdout. *is_duplicate is set if it is written already, from the
 * same input. */
static enum status add_written(struct conflicts *set, const char *path, struct claim claim,
                               bool *is_duplicate, struct error *error)
{
    const struct claim *earlier;
    struct stat there;
    const bool is_stdout = strcmp(path, "-") == 0;
    const bool exists = (is_stdout ? fstat(STDOUT_FILENO, &there) : stat(path, &there)) == 0;
    if (exists && S_ISCHR(there.st_mode) && !is_stdout)
        return STATUS_OK;
    enum status status = identify_name(set, path, &claim.identity, error);
    if (status == STATUS_OK)
        status = claim_add(set, &set->files, compare_identities, &claim, &earlier, error);
    *is_duplicate = status == STATUS_OK && earlier && earlier->output && claim.output &&
                    is_same_input(earlier->output, claim.output);
    if (status == STATUS_OK && earlier && !*is_duplicate)
        status = claim_reject(set, &claim, earlier, error);
    if (status == STATUS_OK && claim.output && utf8 && !*is_duplicate)
        status = add_folded(set, &claim, error);
    if (status != STATUS_OK || *is_duplicate || !exists || S_ISCHR(there.st_mode))
        return status;
    claim.identity = (struct file_identity){.device = there.st_dev, .inode = there.st_ino};
    status = claim_add(set, &set->files, compare_identities, &claim, &earlier, error);
    /* A rename makes two outputs of two hard links, and pipes and devices are not replaced. */
    const bool is_free = !earlier || (earlier->output && claim.output) ||
                         (earlier->input && claim.output && !S_ISREG(there.st_mode));
    return status != STATUS_OK || is_free ? status : claim_reject(set, &claim, earlier, error);
}

/* Adds all files, readers first. */
static enum status fill_set(struct conflicts *set, struct list *list, const struct command *command,
                            const struct aux_output aux[AUX_OUTPUTS], struct error *error)
{
    bool is_duplicate = false;
    enum status status = add_reader(set, command->settings.files_from, "files-from", error);
    for (size_t i = 0; status == STATUS_OK && i < command->chain.count; i++) {
        const struct step *step = &command->chain.steps[i];
        const struct stage_caps caps = step_caps(step);
        if (caps.output_file &&
            caps.output_file != aux[caps.output_is_image ? MAP_OUTPUT : MATRIX_OUTPUT].path)
            return fail(error, STATUS_USAGE, "--%s writes a file twice; leave one out", step->stage->name);
        status = add_reader(set, caps.file, step->stage->name, error);
    }
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++) {
        const struct job *job = &list->jobs[i];
        if (job->input_inode != 0)
            status = add_read(set, job->input_device, job->input_inode, NULL, job, error);
    }
    for (int i = 0; status == STATUS_OK && i < AUX_OUTPUTS; i++)
        if (aux[i].path)
            status = add_written(set, aux[i].path, (struct claim){.aux = &aux[i]}, &is_duplicate, error);
    const size_t outputs = list->is_merged ? 1 : list->count;
    for (size_t i = 0; status == STATUS_OK && i < outputs; i++) {
        struct job *job = &list->jobs[i];
        status = add_written(set, job->output, (struct claim){.output = job}, &job->is_duplicate, error);
    }
    return status;
}

/* Frees nothing, for tdestroy: claims are freed together. */
static void keep_claim(void *claim)
{
    (void)claim;
}

enum status conflicts_check(struct list *list, const struct command *command, struct error *error)
{
    struct conflicts set = {.in_place = command->settings.in_place};
    const size_t written = list->count + AUX_OUTPUTS, most = command->chain.count + 2 + 4 * written;
    struct aux_output aux[AUX_OUTPUTS];
    list_aux_outputs(command, aux);
    if (aux[MATRIX_OUTPUT].path && list->count > 1 && !list->is_merged)
        return fail(error, STATUS_USAGE,
                    "%s%s: is for one picture; --report FILE gives the matrices of several",
                    aux[MATRIX_OUTPUT].option, aux[MATRIX_OUTPUT].path);
    set.claims = allocate(most * sizeof *set.claims, "file names", error);
    set.paths = set.claims ? allocate(written * sizeof *set.paths, "file names", error) : NULL;
    if (!command->settings.dry_run) /* is_one_name writes a temporary file */
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    enum status status = set.paths ? fill_set(&set, list, command, aux, error) : STATUS_FAILED;
    tdestroy(set.files, keep_claim);
    tdestroy(set.folded, keep_claim);
    for (size_t i = 0; i < set.path_count; i++)
        free(set.paths[i]);
    free(set.paths);
    free(set.claims);
    if (utf8)
        freelocale(utf8);
    utf8 = (locale_t)0;
    return status;
}
