#include "image/output/output.h"
#include "base/spool.h"
#include "image/output/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel */

/* Takes ownership of the descriptor. A stream cannot be sought in, so what needs that goes to a spool first.
 */
static enum status open_stream(struct output *output, int descriptor, struct error *error)
{
    if (descriptor < 0)
        return fail_writing(error, errno);
    if ((fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY) { /* as main leaves it where it was closed */
        close(descriptor);
        return fail(error, STATUS_FAILED, "cannot write: it is closed, or open for reading only");
    }
    if (output->spool != NULL) {
        output->copy_to = descriptor;
        output->file = spool_open(output->spool, error);
        return output->file == NULL ? STATUS_FAILED : STATUS_OK;
    }
    output->file = fdopen(descriptor, "wb");
    if (output->file != NULL)
        return STATUS_OK;
    fail_writing(error, errno);
    close(descriptor);
    return STATUS_FAILED;
}

/* *target receives what a link says, seen from where the link is; NULL where `path` is no link. */
static enum status read_link(const char *path, char **target, struct error *error)
{
    char text[PATH_MAX];
    *target = NULL;
    ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0)
        return STATUS_OK;
    text[length] = '\0';

    int folder = text[0] == '/' ? 0 : folder_length(path);
    size_t size = (size_t)folder + (size_t)length + 1;
    *target = allocate(size, "a file name", error);
    if (*target == NULL)
        return STATUS_FAILED;
    snprintf(*target, size, "%.*s%s", folder, path, text);
    return STATUS_OK;
}

/* realpath does not do: it refuses a link to a file that is yet to be made. */
char *resolve_links(const char *path, struct error *error)
{
    char *target = copy_text(path, error);
    for (int i = 0; target != NULL && i < LINKS_MAX; i++) {
        char *next;
        enum status status = read_link(target, &next, error);
        if (status == STATUS_OK && next == NULL)
            break;
        free(target);
        target = next;
    }
    return target;
}

static enum status folder_failed(const char *target, int code, struct error *error)
{
    int length = folder_length(target);
    fail(error, STATUS_FAILED, "cannot write in folder %.*s: %s%s", length > 0 ? length : 1,
         length > 0 ? target : ".", strerror(code), code == ENOENT ? "; make the folder first" : "");
    error->reach = code == ENOSPC || code == EDQUOT || code == EROFS ? REACH_DISK : REACH_FOLDER;
    return STATUS_FAILED;
}

/* What replaces a file is as accessible as it was. Only root may give files away; for others this fails, and
 * the file is theirs. */
static void inherit_access(int descriptor, const struct stat *replaced)
{
    (void)!fchown(descriptor, replaced->st_uid, replaced->st_gid);
    fchmod(descriptor, replaced->st_mode & 0777);
}

/* `replaced` is NULL where there is no such file yet. */
static enum status open_beside(struct output *output, const struct stat *replaced, const char *path,
                               struct error *error)
{
    output->target = resolve_links(path, error); /* so that a link stays a link */
    if (output->target == NULL)
        return STATUS_FAILED;
    /* A rename would get around the write protection. */
    if (replaced != NULL && faccessat(AT_FDCWD, output->target, W_OK, AT_EACCESS) != 0)
        return fail_writing(error, errno);

    int descriptor = temporary_create(output->target, replaced == NULL ? 0666 : 0600, &output->temporary);
    if (descriptor < 0)
        return folder_failed(output->target, errno, error);
    if (replaced != NULL)
        inherit_access(descriptor, replaced);
    output->file = fdopen(descriptor, "w+b");
    if (output->file != NULL)
        return STATUS_OK;
    fail_writing(error, errno);
    close(descriptor);
    return STATUS_FAILED;
}

static enum status open_path(struct output *output, const char *path, struct error *error)
{
    struct stat there;
    size_t length = strlen(path);
    bool exists = stat(path, &there) == 0;
    if (!exists && (errno != ENOENT || length == 0))
        return fail_writing(error, errno);
    if ((exists && S_ISDIR(there.st_mode)) || path[length - 1] == '/')
        return fail(error, STATUS_FAILED, "is a directory; name the file to write");
    if (exists && !S_ISREG(there.st_mode))
        return open_stream(output, open(path, O_WRONLY | O_CLOEXEC), error);
    return open_beside(output, exists ? &there : NULL, path, error);
}

enum status output_open(struct output *output, const char *path, const char *spool, struct error *error)
{
    bool standard = strcmp(path, "-") == 0;
    *output = (struct output){.copy_to = -1, .spool = spool};
    output->name = copy_text(standard ? "standard output" : path, error);
    if (output->name == NULL)
        return STATUS_FAILED;

    /* A duplicate, so that the descriptor 1 stays taken when the file is closed. */
    enum status status = standard ? open_stream(output, fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), error)
                                  : open_path(output, path, error);
    if (status != STATUS_OK) {
        error_prefix(error, output->name);
        output_abandon(output);
    }
    return status;
}

/* Closing reports the last errors, on network file systems most of them; the first one is what is told. */
static enum status close_all(struct output *output, enum status status, struct error *error)
{
    FILE *file = output->file;
    int copy_to = output->copy_to;
    output->file = NULL;
    output->copy_to = -1;
    if (fclose(file) != 0 && status == STATUS_OK)
        status = fail_writing(error, errno);
    if (copy_to >= 0 && close(copy_to) != 0 && status == STATUS_OK)
        status = fail_writing(error, errno);
    return status;
}

static enum status flush(const struct output *output, struct error *error)
{
    errno = EIO; /* for a failure earlier on, whose reason is not known any more */
    if (fflush(output->file) != 0 || ferror(output->file))
        return fail_writing(error, errno);
    bool sync = output->durable && output->temporary != NULL;
    if (sync && fsync(fileno(output->file)) != 0 && errno != EINVAL) /* some file systems cannot */
        return fail_writing(error, errno);
    return STATUS_OK;
}

enum status output_commit(struct output *output, struct error *error)
{
    enum status status = flush(output, error);
    if (status == STATUS_OK && output->copy_to >= 0)
        status = spool_drain(output->spool, output->file, output->copy_to, error);
    status = close_all(output, status, error);
    if (status == STATUS_OK && output->temporary != NULL) {
        if (rename(output->temporary, output->target) != 0)
            status = fail_writing(error, errno);
        else {
            temporary_forget(output->temporary);
            output->temporary = NULL;
        }
    }
    if (status != STATUS_OK)
        error_prefix(error, output->name);
    return status;
}

void output_abandon(struct output *output)
{
    if (output->file != NULL) {
        __fpurge(output->file); /* of a stream, at least what is still here is held back */
        fclose(output->file);
    }
    if (output->copy_to >= 0)
        close(output->copy_to);
    if (output->temporary != NULL)
        temporary_remove(output->temporary);
    free(output->target);
    free(output->name);
    *output = (struct output){.copy_to = -1};
}
