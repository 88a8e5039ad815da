/* Opens outputs: streams, devices and pipes directly, files as a temporary file in the target's folder.
 *
 * A commit syncs if asked to, gives the file the rights of the one that it replaces, and renames it. A failed
 * run leaves nothing. */
#include "image/output/output.h"
#include "base/files.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as in Linux */

/* Takes ownership of the descriptor. A format that seeks goes to a spool first, as streams cannot seek. */
static enum status open_stream(struct output *output, int descriptor, struct error *error)
{
    if (descriptor < 0)
        return fail_writing(error, errno);
    if ((fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_RDONLY) { /* so main left it if it was closed */
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

/* *target receives the link's target, relative to the link's folder; NULL if `path` is not a link. */
static enum status read_link(const char *path, char **target, struct error *error)
{
    char text[PATH_MAX];
    *target = NULL;
    ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0)
        return STATUS_OK;
    text[length] = '\0';

    int folder = text[0] == '/' ? 0 : folder_length(path);
    *target = text_print(error, "%.*s%s", folder, path, text);
    return *target != NULL ? STATUS_OK : STATUS_FAILED;
}

/* Not realpath: it refuses a link to a file that does not exist yet. */
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
    error->scope = code == ENOSPC || code == EDQUOT || code == EROFS ? SCOPE_DISK : SCOPE_FOLDER;
    return STATUS_FAILED;
}

static const char ACL[] = "system.posix_acl_access", USER[] = "user.", SYSTEM[] = "system.";

static bool output_begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Access control lists (system.*) only with `lists`. `names` and `value` have room for the most that Linux
 * allows. Attributes that the file system refuses are left out. */
static void copy_attributes(int file, const char *path, bool lists, char *names, char *value)
{
    ssize_t size = listxattr(path, names, XATTR_LIST_MAX);
    for (const char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
        bool wanted = output_begins(name, USER) || (lists && output_begins(name, SYSTEM));
        ssize_t length = wanted ? getxattr(path, name, value, XATTR_SIZE_MAX) : -1;
        if (length >= 0)
            (void)!fsetxattr(file, name, value, (size_t)length, 0);
    }
}

/* Reduces the group's rights to everybody's. */
static mode_t without_group(mode_t mode)
{
    return mode & (~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3);
}

/* Gives the open file the owner, group, permissions, access control list and extended attributes (user.*) of
 * the file at `path`, whose stat is `replaced`. Only root can change the owner, and users can only choose
 * groups that they are in. Otherwise the file belongs to whoever runs climg, and its new group gets no more
 * rights than everybody. */
static enum status inherit_access(int file, const char *path, const struct stat *replaced,
                                  struct error *error)
{
    const bool listed = getxattr(path, ACL, NULL, 0) > 0; /* then the mode's group bits are the list's mask */
    const mode_t mode = replaced->st_mode & 0777;
    char *memory = allocate(XATTR_LIST_MAX + XATTR_SIZE_MAX, "extended attributes", error);
    if (!memory)
        return STATUS_FAILED;
    bool grouped = fchown(file, replaced->st_uid, replaced->st_gid) == 0 ||
                   fchown(file, (uid_t)-1, replaced->st_gid) == 0;
    (void)!fremovexattr(file, ACL); /* inherited from the folder */
    (void)!fchmod(file, grouped && !listed ? mode : without_group(mode));
    copy_attributes(file, path, grouped, memory, memory + XATTR_LIST_MAX);
    free(memory);
    return STATUS_OK;
}

/* `replaced`: NULL if there is no such file yet. */
static enum status open_beside(struct output *output, const struct stat *replaced, const char *path,
                               struct error *error)
{
    output->target = resolve_links(path, error); /* so that a link stays a link */
    if (output->target == NULL)
        return STATUS_FAILED;
    /* A rename would ignore the write protection. */
    if (replaced != NULL && faccessat(AT_FDCWD, output->target, W_OK, AT_EACCESS) != 0)
        return fail_writing(error, errno);

    int descriptor = temporary_create(output->target, replaced == NULL ? 0666 : 0600, &output->temporary);
    if (descriptor < 0)
        return folder_failed(output->target, errno, error);
    if (replaced != NULL && inherit_access(descriptor, output->target, replaced, error) != STATUS_OK) {
        close(descriptor);
        return STATUS_FAILED;
    }
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

    /* A duplicate, so that closing it leaves descriptor 1 open. */
    enum status status = standard ? open_stream(output, fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), error)
                                  : open_path(output, path, error);
    if (status != STATUS_OK) {
        error_prefix(error, output->name);
        output_abandon(output);
    }
    return status;
}

/* Network file systems report many errors when a file is closed. The first error is reported. */
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
    errno = EIO; /* for an earlier failure whose errno is lost */
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
        __fpurge(output->file); /* drops what is still in the buffer */
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
