/* Cache files, temporary files and reports.
 *
 * A cache file is written under a temporary name next to its path and then renamed, so that a reader sees a
 * complete file or none, also if the process is killed or the directory is shared by machines. A spool (a
 * temporary file for data that must be seekable) is unlinked right after it was created, so it vanishes
 * however the process ends. */
#include "base/files.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool write_whole(int descriptor, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        const ssize_t written = write(descriptor, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

/* ---------------------------------------------------------------- cache */

char *cache_path(const char *base, const char *home, const char *name, struct error *error)
{
    const char *folder = "";
    /* The XDG Base Directory Specification says that relative paths are ignored. */
    if (!base || base[0] != '/') {
        base = home;
        folder = "/.cache";
    }
    if (!base || base[0] != '/') {
        fail(error, STATUS_FAILED, "no cache: neither XDG_CACHE_HOME nor HOME is an absolute path");
        return NULL;
    }
    return text_print(error, "%s%s/climg/%s", base, folder, name);
}

bool is_folder(const char *path)
{
    struct stat info;
    return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

enum status create_folders(char *path, size_t from, size_t *created_length, struct error *error)
{
    enum status status = STATUS_OK;
    /* A slash at the start is the root, which exists. */
    char *slash = strchr(path + (from > 0 ? from : 1), '/');
    for (; slash && status == STATUS_OK; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool is_made = mkdir(path, 0777) == 0;
        const int cause = errno;
        if (is_made && *created_length == 0)
            *created_length = (size_t)(slash - path);
        /* For an existing folder, some network file systems return another error than EEXIST. */
        if (!is_made && cause != EEXIST && !is_folder(path)) {
            status = fail(error, STATUS_FAILED, "cannot make the folder: %s", strerror(cause));
            error_prefix(error, path);
        }
        *slash = '/';
    }
    return status;
}

void try_folders_above(char *path)
{
    size_t ignored = 0;
    struct error error;
    create_folders(path, 0, &ignored, &error);
}

enum { TRIES = 100 }; /* temporary names before cache_write fails */

enum status cache_write(const char *path, const void *data, size_t size, struct error *error)
{
    size_t length = strlen(path) + 48;
    char *temporary = allocate(length, "a path", error);
    if (!temporary)
        return STATUS_FAILED;
    snprintf(temporary, length, "%s", path);
    try_folders_above(temporary);

    /* Try several names: another machine that shares the directory may have a process of the same number. */
    FILE *file = NULL;
    errno = EEXIST;
    for (int i = 0; !file && errno == EEXIST && i < TRIES; i++) {
        snprintf(temporary, length, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        file = fopen(temporary, "wxe");
    }
    bool is_written = file && fwrite(data, 1, size, file) == size;
    if (file && fclose(file) != 0)
        is_written = false;
    const bool is_done = is_written && rename(temporary, path) == 0;
    const int cause = errno;
    if (file && !is_done)
        unlink(temporary);
    free(temporary);
    return is_done ? STATUS_OK : fail(error, STATUS_FAILED, "%s: %s", path, strerror(cause));
}

void *file_read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat info;
    char *data = NULL;
    if (file && fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode) &&
        (data = malloc((size_t)info.st_size + 1))) {
        *size = fread(data, 1, (size_t)info.st_size, file);
        data[*size] = '\0';
        if (*size != (size_t)info.st_size) {
            free(data);
            data = NULL;
        }
    }
    if (file)
        fclose(file);
    return data;
}

/* ---------------------------------------------------------------- temporary files */

enum { COPY_SIZE = 1 << 16 }; /* bytes per read and write: the capacity of a pipe on Linux */

/* Fails with "cannot WHAT a temporary file". The scope is SCOPE_ALL, as all jobs use the same folder. */
static enum status spool_failed(const char *folder, const char *what, int code, struct error *error)
{
    fail(error, STATUS_FAILED, "cannot %s a temporary file in %s: %s; set TMPDIR to a folder with room", what,
         folder, strerror(code));
    error->scope = SCOPE_ALL;
    return STATUS_FAILED;
}

FILE *spool_open(const char *folder, struct error *error)
{
    char *name = text_print(error, "%s/climg-XXXXXX", folder);
    if (name == NULL)
        return NULL;
    FILE *file = NULL;
    int descriptor = mkostemp(name, O_CLOEXEC);
    if (descriptor >= 0) {
        unlink(name);
        file = fdopen(descriptor, "w+b");
    }
    if (file == NULL)
        spool_failed(folder, "create", errno, error);
    if (file == NULL && descriptor >= 0)
        close(descriptor);
    free(name);
    return file;
}

/* Rewinds a spool that was copied from a source and returns it. If writing it or reading the source failed,
 * which errno describes, closes it and returns NULL. */
static FILE *finish_copy(const char *folder, FILE *spool, bool is_written, bool has_read_error,
                         struct error *error)
{
    if (is_written && has_read_error) {
        fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    } else if (!is_written || fflush(spool) != 0) {
        spool_failed(folder, "write", errno, error);
    } else {
        rewind(spool);
        return spool;
    }
    fclose(spool);
    return NULL;
}

FILE *spool_fill(const char *folder, FILE *source, const void *head, size_t head_size, struct error *error)
{
    char buffer[COPY_SIZE];
    FILE *spool = spool_open(folder, error);
    if (spool == NULL)
        return NULL;
    bool is_written = fwrite(head, 1, head_size, spool) == head_size;
    for (size_t size; is_written && (size = fread(buffer, 1, sizeof buffer, source)) > 0;)
        is_written = fwrite(buffer, 1, size, spool) == size;
    return finish_copy(folder, spool, is_written, ferror(source) != 0, error);
}

FILE *spool_copy(const char *folder, int descriptor, struct error *error)
{
    char buffer[COPY_SIZE];
    off_t position = 0;
    bool is_written = true;
    ssize_t size = 0;
    FILE *spool = spool_open(folder, error);
    if (spool == NULL)
        return NULL;
    while (is_written && (size = pread(descriptor, buffer, sizeof buffer, position)) > 0) {
        is_written = fwrite(buffer, 1, (size_t)size, spool) == (size_t)size;
        position += size;
    }
    return finish_copy(folder, spool, is_written, size < 0, error);
}

enum status spool_drain(const char *folder, FILE *spool, int descriptor, struct error *error)
{
    char buffer[COPY_SIZE];
    size_t size;
    if (fflush(spool) != 0)
        return spool_failed(folder, "write", errno, error);
    rewind(spool);
    while ((size = fread(buffer, 1, sizeof buffer, spool)) > 0)
        if (!write_whole(descriptor, buffer, size))
            return fail_writing(error, errno);
    if (ferror(spool))
        return spool_failed(folder, "read", errno, error);
    return STATUS_OK;
}

/* ---------------------------------------------------------------- reports and traces */

int named_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    long long number;
    for (int i = 0; i < 2; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 &&
            text_to_integer(path + strlen(folders[i]), &number) && number >= 0 && number <= INT_MAX)
            return (int)number;
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0 ? STDOUT_FILENO
           : strcmp(path, "/dev/stderr") == 0                         ? STDERR_FILENO
                                                                      : -1;
}

const char *aux_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

/* Fails with the path, the file's purpose `what` and the text of errno. */
static enum status cannot_write(const char *path, const char *what, struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: cannot write %s: %s", aux_name(path), what, strerror(errno));
}

enum status aux_check(const char *path, const char *what, struct error *error)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") == 0)
        return STATUS_OK;

    /* A file that does not exist yet needs a writable directory: "folder/." or ".". */
    bool is_writable = access(path, W_OK) == 0;
    if (is_writable && is_folder(path)) {
        is_writable = false;
        errno = EISDIR;
    } else if (!is_writable && errno == ENOENT) {
        char *folder = text_print(error, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);
        if (folder == NULL)
            return STATUS_FAILED;
        is_writable = access(folder, W_OK | X_OK) == 0;
        free(folder);
    }
    return is_writable ? STATUS_OK : cannot_write(path, what, error);
}

FILE *aux_open(const char *path, const char *what, struct error *error)
{
    const int standard = named_descriptor(path);
    FILE *file = standard == STDOUT_FILENO   ? stdout
                 : standard == STDERR_FILENO ? stderr
                 : standard >= 0             ? fdopen(fcntl(standard, F_DUPFD_CLOEXEC, 0), "w")
                                             : fopen(path, "w");
    if (file == NULL)
        cannot_write(path, what, error);
    return file;
}

enum status aux_close(FILE *file, const char *path, const char *what, struct error *error)
{
    bool failed = ferror(file) != 0;
    if ((file == stdout || file == stderr ? fflush(file) : fclose(file)) != 0 || failed)
        return cannot_write(path, what, error);
    return STATUS_OK;
}

enum status text_flush(FILE *out, struct error *error)
{
    static int reason = EIO; /* of an earlier failure, whose reason ferror does not know */
    errno = reason;
    if (fflush(out) == 0 && !ferror(out))
        return STATUS_OK;
    reason = errno;
    return fail(error, STATUS_FAILED, "standard output: cannot write: %s", strerror(errno));
}
