/* Makes the list of a command's jobs.
 *
 *     arguments, names of --files-from ─▶ list folders, name outputs ─▶ sort ─▶ find conflicts
 *
 * The list is complete and checked before anything is written. An input that does not exist becomes a job
 * that fails, so that it is reported and counted like others. With --in-place it is an error at once: the
 * user may have intended the name as the output, and the inputs would be replaced. */
#include "batch/files.h"

#include "base/files.h"
#include "base/text.h"
#include "batch/conflicts.h"
#include "image/format.h"
#include "image/output/output.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct builder {
    struct job_list *list;
    size_t arguments; /* number of names of the command line and of --files-from so far */
    const struct command *command;
    struct stat output; /* the output folder, which is skipped in input folders; zero if it does not exist */
    bool reads_stdin;   /* stdin is an input, or the list of --files-from */
};

/* Returns FOLDER/NAME with the extension of the output's format, to be freed; NULL on failure. `option` is
 * --format, or NULL. `content_format` is the format by the first bytes if the extension belongs to no format,
 * as in photo.dat; else NULL. A name without an extension gets one only with --format. */
static char *name_output(const char *folder, const char *name, const struct format *option,
                         const struct format *content_format, struct error *error)
{
    const char *base = name_base(name), *dot = strrchr(base, '.');
    const bool has_extension = dot && dot > base;
    const struct format *format = option ? option : has_extension ? content_format : NULL;
    if (!format)
        return path_join(folder, name, error);
    const int stem = (int)(has_extension ? (size_t)(dot - name) : strlen(name));
    char *changed = text_print(error, "%.*s.%s", stem, name, format->extensions[0]);
    char *path = changed ? path_join(folder, changed, error) : NULL;
    free(changed);
    return path;
}

/* Adds a job. `name` is the output's path below the output folder, before its extension changes. `info` is
 * the stat of the input; NULL if stat failed or the input is stdin. */
static enum status add_job(struct builder *builder, const char *name, const char *input,
                           const struct stat *info, const struct format *content_format, struct error *error)
{
    struct job_list *list = builder->list;
    struct job *jobs = array_grow(list->jobs, list->count, sizeof *jobs, "the list of files", error);
    if (!jobs)
        return STATUS_FAILED;
    list->jobs = jobs;
    struct job job = {
        .name = copy_text(name, error), .input = copy_text(input, error), .is_single = !list->several};
    if (list->output == NULL)
        job.output = copy_text(input, error);
    else if (list->output_is_directory)
        job.output =
            name_output(list->output, name, builder->command->settings.format, content_format, error);
    else
        job.output = copy_text(list->output, error);
    if (info) {
        job.bytes = (uint64_t)info->st_size;
        job.input_device = info->st_dev;
        job.input_inode = info->st_ino;
    }
    if (!job.name || !job.input || !job.output) {
        job_free(&job);
        return STATUS_FAILED;
    }
    jobs[list->count++] = job;
    return STATUS_OK;
}

/* Adds a job that fails, for an input that cannot be found or read. The job's name is the path from offset
 * `root`, as in visit. For an argument, whose path ends there, it is the last part of the path. */
static enum status add_failed_job(struct builder *builder, const char *path, size_t root, int code,
                                  struct error *error)
{
    const size_t length = strlen(path), from = root < length ? root : path_above(path, length);
    if (add_job(builder, path + from, path, NULL, NULL, error) != STATUS_OK)
        return STATUS_FAILED;
    builder->list->jobs[builder->list->count - 1].stat_errno = code;
    return STATUS_OK;
}

/* A message about files that were left out although their names belong to images. */
struct foreign_note {
    char text[1024];
    size_t formats; /* number of formats in it */
};

/* Returns "2 files are left out, such as a.jp2: climg does not read ..."; for several formats "2 files are
 * left out, as climg does not read BMP (1), GIF (1)"; or "" if there is no such file. */
static struct foreign_note describe_foreign(const struct job_list *list)
{
    enum { KINDS = 32 }; /* more than foreign_name_by_path has */
    struct {
        const char *name; /* of a format that climg does not read */
        size_t count;     /* number of its files */
    } kinds[KINDS] = {{NULL, 0}};
    struct foreign_note note = {.text = ""};
    const char *example = NULL;
    size_t kind_count = 0, files = 0;
    for (size_t i = 0; i < list->files_left_out; i++) {
        const char *name = foreign_name_by_path(list->left_out_paths[i]);
        size_t k = 0;
        if (!name)
            continue;
        while (k < kind_count && strcmp(kinds[k].name, name) != 0)
            k++;
        if (k == KINDS)
            continue;
        if (k == kind_count)
            kinds[kind_count++].name = name;
        kinds[k].count++;
        example = example ? example : list->left_out_paths[i];
        files++;
    }
    if (files == 0)
        return note;
    note.formats = kind_count;
    text_append(note.text, sizeof note.text, "%zu %s left out", files, files == 1 ? "file is" : "files are");
    if (kind_count == 1)
        text_append(note.text, sizeof note.text, "%s %s: %s", files == 1 ? ":" : ", such as", example,
                    foreign_hint(kinds[0].name, example, false).text);
    for (size_t k = 0; k < kind_count && kind_count > 1; k++)
        text_append(note.text, sizeof note.text, "%s %s (%zu)", k == 0 ? ", as climg does not read" : ",",
                    kinds[k].name, kinds[k].count);
    return note;
}

void job_list_print_left_out(const struct job_list *list, const struct settings *settings)
{
    for (size_t i = 0; i < list->files_left_out && settings->verbose; i++) {
        const char *name = foreign_name_by_path(list->left_out_paths[i]);
        fputs("climg: ", stderr);
        print_visible(stderr, list->left_out_paths[i]);
        fprintf(stderr, ": left out: %s%s\n", name ? "climg does not read " : "not an image",
                name ? name : "");
    }
    if (settings->quiet)
        return;
    struct foreign_note note = describe_foreign(list);
    text_make_visible(note.text);
    if (note.formats > 0)
        fprintf(stderr, "climg: %s%s\n", note.text,
                note.formats > 1 && !settings->verbose ? "; -v names them" : "");
    if (list->folders_left_out > 0)
        fprintf(stderr, "climg: %zu sub-folder%s left out; --recursive (-r) includes %s\n",
                list->folders_left_out, list->folders_left_out == 1 ? " is" : "s are",
                list->folders_left_out == 1 ? "it" : "them");
}

static enum status visit_folder(struct builder *builder, const char *path, size_t root, struct error *error);

/* Adds a file, or with --recursive the files of a folder. The path from offset `root` is the job's name. */
static enum status visit(struct builder *builder, const char *path, size_t root, struct error *error)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? STATUS_OK /* deleted since the folder was listed */
                               : add_failed_job(builder, path, root, errno, error);
    const bool is_output_folder =
        info.st_dev == builder->output.st_dev && info.st_ino == builder->output.st_ino;
    if (S_ISDIR(info.st_mode) && builder->command->settings.recursive)
        return is_output_folder ? STATUS_OK : visit_folder(builder, path, root, error);
    builder->list->folders_left_out += S_ISDIR(info.st_mode) && !is_output_folder;
    if (S_ISDIR(info.st_mode))
        return STATUS_OK;
    if (S_ISLNK(info.st_mode) && stat(path, &info) != 0)
        return format_by_path(path) ? add_failed_job(builder, path, root, errno, error)
                                    : STATUS_OK; /* a dangling link */
    if (!S_ISREG(info.st_mode))
        return STATUS_OK;
    /* The extension decides if it belongs to a format, also one that climg does not read: a camera's raw file
     * begins like a TIFF. */
    const bool is_known_name = format_by_path(path) != NULL;
    const struct format *content_format =
        is_known_name || foreign_name_by_path(path) ? NULL : format_by_content(path);
    if (is_known_name || content_format)
        return add_job(builder, path + root, path, &info, content_format, error);

    /* Leave it out. */
    struct job_list *list = builder->list;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
    char **paths =
        array_grow(list->left_out_paths, list->files_left_out, sizeof *paths, "the list of files", error);
    char *copy = paths ? copy_text(path, error) : NULL;
    list->left_out_paths = paths ? paths : list->left_out_paths;
    if (copy)
        paths[list->files_left_out++] = copy;
    return copy ? STATUS_OK : STATUS_FAILED;
}

/* Visits all entries of a folder that are not hidden. Links to folders are not followed, as they may form
 * circles or leave the folder. A folder that cannot be read becomes a job that fails. */
static enum status visit_folder(struct builder *builder, const char *path, size_t root, struct error *error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return add_failed_job(builder, path, root, errno, error);
    enum status status = STATUS_OK;
    while (status == STATUS_OK) {
        errno = 0;
        // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
        const struct dirent *entry = readdir(folder);
        if (!entry)
            break;
        if (entry->d_name[0] == '.')
            continue;
        char *below = path_join(path, entry->d_name, error);
        status = below ? visit(builder, below, root, error) : STATUS_FAILED;
        free(below);
    }
    if (status == STATUS_OK && errno != 0)
        status = add_failed_job(builder, path, root, errno, error);
    closedir(folder);
    return status;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_name(const void *a, const void *b)
{
    const struct job *first = a, *second = b;
    int order = strcmp(first->name, second->name);
    return order != 0 ? order : strcmp(first->input, second->input);
}

/* Records that stdin is used, as an input or as the list of names. Fails if it is used already. */
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
    struct job_list *list = builder->list;
    struct stat info;
    const bool only_reads = (builder->command->settings.mode & MODES_READING) != 0;
    if (!only_reads && !list->is_stack && (list->output_is_directory || list->output == NULL))
        return fail(error, STATUS_USAGE, "- (stdin) has no name for its output; use it alone");
    enum status status = reserve_stdin(builder, error);
    if (status == STATUS_OK)
        status = add_job(builder, "-", "-", NULL, NULL, error);
    if (status == STATUS_OK && fstat(STDIN_FILENO, &info) == 0) {
        list->jobs[list->count - 1].input_device = info.st_dev;
        list->jobs[list->count - 1].input_inode = info.st_ino;
    }
    return status;
}

/* For --in-place: fails because a name is no input, for the reason `why`. */
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
    struct job_list *list = builder->list;
    const bool in_place = builder->command->settings.in_place;
    struct stat info;
    builder->arguments++;
    if (strcmp(path, "-") == 0)
        return add_stdin(builder, error);
    const int code = stat(path, &info) != 0 ? errno : 0;
    if (in_place && (code == ENOENT || code == ENOTDIR))
        return reject_input(builder, path,
                            path_ends_in_slash(path) ? "there is no such folder" : "there is no such file",
                            error);
    if (in_place && code != 0)
        return fail(error, STATUS_FAILED, "%s: cannot open: %s; no file was changed", path, strerror(code));
    if (code != 0)
        return add_failed_job(builder, path, strlen(path), code, error);
    /* decide_output makes the output a folder if an input is one, so this input was no folder then. */
    if (S_ISDIR(info.st_mode) && list->output && !list->output_is_directory && !list->is_stack)
        return fail(error, STATUS_FAILED, "%s: became a folder while climg started; run climg again", path);
    if (S_ISDIR(info.st_mode)) {
        const size_t before = list->count; /* visit_folder adds jobs */
        list->has_folder = true;
        enum status status = visit_folder(builder, path, strlen(path) + !path_ends_in_slash(path), error);
        // cppcheck-suppress knownConditionTrueFalse
        if (status == STATUS_OK && in_place && list->count == before)
            return reject_input(builder, path, "there is no image in this folder", error);
        if (list->jobs)
            qsort(list->jobs + before, list->count - before, sizeof *list->jobs, by_name);
        return status;
    }
    /* Read the first bytes of files without a known extension. Pipes can be read only once, by their job. */
    const bool is_named = !S_ISREG(info.st_mode) || format_by_path(path);
    const struct format *content_format = is_named ? NULL : format_by_content(path);
    return add_job(builder, name_base(path), path, &info, content_format, error);
}

/* ---------------------------------------------------------------- --files-from
 *
 * Each name ends in a newline, or with --null in a NUL. Without --null, the CRs and the byte order mark of
 * Windows editors are removed; UTF-16 and NULs are errors. */

enum { MAX_NAMES = 4000000 }; /* a limit for endless lists, such as a device */

struct names {
    FILE *file;
    int separator;       /* newline, or NUL with --null */
    size_t count;        /* number of names read so far, with empty ones */
    char name[PATH_MAX]; /* the current name */
};

/* Reads the next line into names->name. Sets *more to false at the end of the list. Fails if the list cannot
 * be read or is too long, and for lines that are no names. */
static enum status next_name(struct names *names, bool *more, struct error *error)
{
    size_t length = 0;
    int c = getc_unlocked(names->file);
    *more = c != EOF;
    names->count += *more;
    for (; c != EOF && c != names->separator; c = getc_unlocked(names->file)) {
        if (c == '\0') {
            const bool is_utf16 = length >= 2 && (memcmp(names->name, "\xff\xfe", 2) == 0 ||
                                                  memcmp(names->name, "\xfe\xff", 2) == 0);
            return fail(error, STATUS_FAILED, "line %zu contains a NUL; %s", names->count,
                        is_utf16 ? "the list is UTF-16: save it as UTF-8" : "--null reads such lists");
        }
        if (length == sizeof names->name - 1)
            return fail(error, STATUS_FAILED, "line %zu is longer than any file name%s", names->count,
                        names->separator == '\0' ? "" : "; --null reads lists separated by NUL");
        names->name[length++] = (char)c;
    }
    names->name[length] = '\0';
    if (ferror(names->file))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));

    /* Unless a file of this name exists, remove the CR at the end of a line, and the byte order mark of UTF-8
     * at the start of the list, which Windows editors write. */
    if (names->separator != '\0' && access(names->name, F_OK) != 0) {
        static const char mark[] = "\xef\xbb\xbf";
        if (length > 0 && names->name[length - 1] == '\r')
            names->name[length - 1] = '\0';
        if (names->count == 1 && strncmp(names->name, mark, strlen(mark)) == 0)
            memmove(names->name, names->name + strlen(mark), strlen(names->name + strlen(mark)) + 1);
    }
    return names->count <= MAX_NAMES
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "more than %d names; split the list", MAX_NAMES);
}

/* Adds each name of the list, except empty lines. Fails like next_name. */
static enum status add_names(struct builder *builder, struct error *error)
{
    const struct settings *settings = &builder->command->settings;
    const bool is_stdin = strcmp(settings->files_from, "-") == 0;
    char label[PATH_MAX]; /* before messages */
    snprintf(label, sizeof label, "--files-from %s", settings->files_from);
    if (is_stdin && reserve_stdin(builder, error) != STATUS_OK)
        return STATUS_USAGE;
    struct names names = {.file = is_stdin ? stdin : fopen(settings->files_from, "r"),
                          .separator = settings->ends_in_nul ? '\0' : '\n'};
    if (!names.file)
        return fail(error, STATUS_FAILED, "%s: cannot open: %s", label, strerror(errno));
    enum status status = STATUS_OK;
    for (bool more = true; status == STATUS_OK && more;) {
        status = next_name(&names, &more, error);
        if (status != STATUS_OK) {
            error_prefix(error, label);
        } else if (more && names.name[0] != '\0') {
            status = add_argument(builder, names.name, error);
        }
    }
    if (!is_stdin)
        fclose(names.file);
    return status;
}

/* ---------------------------------------------------------------- the list */

/* Sets output, output_is_directory, several and is_stack of the list. The output is a folder if it exists as
 * one, or if there may be several outputs and its name is not an image's. */
static enum status decide_output(struct job_list *list, const struct command *command, struct error *error)
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
        list->is_stack = true;
        list->output_is_directory = path_ends_in_slash(list->output) || is_folder(list->output);
        return list->output_is_directory
                   ? fail(error, STATUS_USAGE,
                          "%s: is a folder, and --%s makes one file of all inputs; name that", list->output,
                          command->chain.steps[merge].stage->name)
                   : STATUS_OK;
    }
    if (list->output_is_directory || !list->several)
        return STATUS_OK;
    /* There is one input, a folder: the parser rejects several for stdout or a file. */
    if (strcmp(list->output, "-") == 0)
        return fail(error, STATUS_USAGE, "%s: is a folder; name an output folder, too", input);
    if (format_by_path(list->output) || foreign_name_by_path(list->output))
        return fail(error, STATUS_USAGE, "%s: the images of %s need an output folder, not a file",
                    list->output, input);
    list->output_is_directory = true;
    return STATUS_OK;
}

static enum status reject_empty_list(const struct builder *builder, struct error *error)
{
    const struct command *command = builder->command;
    const struct settings *settings = &command->settings;
    const bool is_list = command->input_count == 0;
    const char *option = is_list ? "--files-from " : "",
               *where = is_list ? settings->files_from : command->inputs[0];
    if (builder->arguments == 0)
        return fail(error, STATUS_FAILED, "%s%s: the list is empty", option, where);
    const struct foreign_note note = describe_foreign(builder->list);
    if (note.text[0] != '\0')
        return fail(error, STATUS_FAILED, "%s%s: no image that climg reads; %s", option, where, note.text);
    if (builder->arguments > 1)
        return fail(error, STATUS_FAILED, "%s%s: no image in these %zu folders%s", option, where,
                    builder->arguments,
                    settings->recursive ? " or below them" : "; --recursive looks into theirs");
    return fail(error, STATUS_FAILED, "%s%s: no image in this folder%s", option, where,
                settings->recursive ? " or below it" : "; --recursive looks into the folders in it");
}

void job_list_keep_shard(struct job_list *list, const struct shard *shard)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (!list->jobs[i].is_duplicate && shard_has(shard, list->jobs[i].name))
            list->jobs[kept++] = list->jobs[i];
        else
            job_free(&list->jobs[i]);
    }
    list->count = kept;
}

enum status job_list_make(struct job_list *list, const struct command *command, struct error *error)
{
    struct builder builder = {.list = list, .command = command};
    *list = (struct job_list){0};
    enum status status = decide_output(list, command, error);
    /* In `climg -r tree/ web/ --resize 800x --in-place`, web/ probably is the output. */
    const char *last = command->input_count > 1 ? command->inputs[command->input_count - 1] : "";
    if (status == STATUS_OK && command->settings.in_place && !command->settings.yes &&
        path_ends_in_slash(last))
        status =
            fail(error, STATUS_USAGE,
                 "%s: comes last and ends in a slash, like an output, but with --in-place its files would "
                 "be replaced; leave --in-place out, or leave the slash out",
                 last);
    if (status == STATUS_OK && (!list->output || stat(list->output, &builder.output) != 0))
        builder.output = (struct stat){.st_ino = 0};
    for (size_t i = 0; status == STATUS_OK && i < command->input_count; i++)
        status = add_argument(&builder, command->inputs[i], error);
    if (status == STATUS_OK && command->settings.files_from)
        status = add_names(&builder, error);
    if (list->files_left_out > 0)
        qsort(list->left_out_paths, list->files_left_out, sizeof *list->left_out_paths, by_path);
    if (status == STATUS_OK && list->count == 0)
        status = reject_empty_list(&builder, error);
    const bool only_reads = (command->settings.mode & MODES_READING) != 0;
    if (status != STATUS_OK || (only_reads && !command->settings.report))
        return status;
    for (size_t i = 0; i < list->count; i++)
        list->jobs[i].index = i;
    if (!list->is_stack && !only_reads)
        qsort(list->jobs, list->count, sizeof *list->jobs, by_name);
    status = conflicts_check(list->jobs, list->count, list->is_stack, command, error);
    job_list_keep_shard(list, &(struct shard){.count = 0});
    return status;
}

static int by_length_and_text(const void *a, const void *b)
{
    const struct word *first = a, *second = b;
    if (first->length != second->length)
        return first->length < second->length ? -1 : 1;
    return memcmp(first->start, second->start, first->length);
}

enum status job_list_each_folder(const struct job_list *list,
                                 enum status (*visit_one)(void *context, const char *folder,
                                                          struct error *error),
                                 void *context, struct error *error)
{
    struct word *folders = allocate(list->count * sizeof *folders, "folder names", error);
    if (!folders)
        return STATUS_FAILED;
    for (size_t i = 0; i < list->count; i++)
        folders[i] = (struct word){list->jobs[i].output, (size_t)folder_length(list->jobs[i].output)};
    qsort(folders, list->count, sizeof *folders, by_length_and_text);
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++) {
        if (i > 0 && by_length_and_text(&folders[i - 1], &folders[i]) == 0)
            continue;
        char *path = text_print(error, "%.*s", (int)folders[i].length, folders[i].start);
        status = path ? visit_one(context, path, error) : STATUS_FAILED;
        free(path);
    }
    free(folders);
    return status;
}

void job_list_free(struct job_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        job_free(&list->jobs[i]);
    free(list->jobs);
    for (size_t i = 0; i < list->files_left_out; i++)
        free(list->left_out_paths[i]);
    free(list->left_out_paths);
    *list = (struct job_list){0};
}
