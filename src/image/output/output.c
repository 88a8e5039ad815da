/* Opens outputs: streams, devices and pipes directly, files as a temporary file in the target's folder.
 *
 *     open:    resolve links ─▶ create the temporary file ─▶ access rights of the file that it will replace
 *     commit:  flush ─▶ sync if asked to ─▶ close ─▶ rename
 *     abandon: close ─▶ remove
 *
 * The temporary file is in the target's folder, as a rename works within one file system only. Other programs
 * see the old target or the complete new one. */
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

enum { LINKS_MAX = 40 }; /* symbolic links in a row, as in Linux */

/* Opens output->file on a descriptor; closes the descriptor on failure. */
static enum status open_descriptor(struct output *output, int descriptor, const char *mode,
                                   struct error *error)
{
    output->file = fdopen(descriptor, mode);
    if (output->file != NULL) {
        setvbuf(output->file, output->buffer, _IOFBF, sizeof output->buffer);
        return STATUS_OK;
    }
    fail_writing(error, errno);
    close(descriptor);
    return STATUS_FAILED;
}

/* Opens stdout, a device or a pipe, or a spool for it if the format seeks. Owns the descriptor; if that is
 * negative, fails with errno. */
static enum status open_stream(struct output *output, int descriptor, struct error *error)
{
    if (descriptor < 0)
        return fail_writing(error, errno);
    if ((fcntl(descriptor, F_GETFL) & O_ACCMODE) ==
        O_RDONLY) { /* main opens /dev/null so if stdout is closed */
        close(descriptor);
        return fail(error, STATUS_FAILED, "cannot write: it is closed, or open for reading only");
    }
    if (output->spool_folder != NULL) {
        output->copy_to = descriptor;
        output->file = spool_open(output->spool_folder, error);
        char *name = output->file == NULL ? NULL
                                          : text_print(error, "%s, collected in a temporary file in %s",
                                                       output->name, output->spool_folder);
        if (name == NULL)
            return STATUS_FAILED;
        output->name_end = strlen(output->name);
        free(output->name);
        output->name = name;
        return STATUS_OK;
    }
    return open_descriptor(output, descriptor, "wb", error);
}

/* realpath() would refuse a link to a file that does not exist yet. After LINKS_MAX links the result is still
 * a link: opening it fails with ELOOP. */
char *resolve_links(const char *path, struct error *error)
{
    char *target = copy_text(path, error);
    for (int i = 0; target != NULL && i < LINKS_MAX; i++) {
        char link[PATH_MAX];
        const ssize_t length = readlink(target, link, sizeof link - 1);
        if (length < 0) /* no link */
            break;
        link[length] = '\0';
        const int folder = link[0] == '/' ? 0 : folder_length(target); /* the link is relative to it */
        char *next = text_print(error, "%.*s%s", folder, target, link);
        free(target);
        target = next;
    }
    return target;
}

/* Fails because the temporary file could not be created; `code` is errno. */
static enum status folder_failed(const char *target, int code, struct error *error)
{
    int length = folder_length(target);
    fail(error, STATUS_FAILED, "cannot write in folder %.*s: %s%s", length > 0 ? length : 1,
         length > 0 ? target : ".", strerror(code), code == ENOENT ? "; make the folder first" : "");
    error->scope = code == ENOSPC || code == EDQUOT || code == EROFS ? SCOPE_DISK : SCOPE_FOLDER;
    return STATUS_FAILED;
}

/* Copies owner, group, permissions and extended attributes from the file at `path`, whose stat is `replaced`,
 * to the open file. Attributes are user.* and system.*, which has access control lists.
 *
 * Nobody gets more rights than on the old file. Only root can change the owner, and users can only choose
 * groups that they are in. If the group cannot be kept, the new group gets no more rights than everybody, and
 * system.* is not copied. Attributes that the file system refuses are skipped; only missing memory is an
 * error. */
static enum status inherit_access(int file, const char *path, const struct stat *replaced,
                                  struct error *error)
{
    static const char ACL[] = "system.posix_acl_access", USER[] = "user.", SYSTEM[] = "system.";
    const bool has_acl = getxattr(path, ACL, NULL, 0) > 0;
    const mode_t mode = replaced->st_mode & 0777;
    const mode_t group_as_others = mode & (~(mode_t)S_IRWXG | (mode & S_IRWXO) << 3);

    /* Linux's maxima: the names of all attributes, then one value. */
    char *names = allocate(XATTR_LIST_MAX + XATTR_SIZE_MAX, "extended attributes", error);
    if (!names)
        return STATUS_FAILED;
    char *value = names + XATTR_LIST_MAX;

    const bool has_group = fchown(file, replaced->st_uid, replaced->st_gid) == 0 ||
                           fchown(file, (uid_t)-1, replaced->st_gid) == 0;
    (void)!fremovexattr(file, ACL); /* inherited from the folder's default list */
    /* With an access control list the mode's group bits are the list's mask, not the group's rights. */
    (void)!fchmod(file, has_group && !has_acl ? mode : group_as_others);

    const ssize_t size = listxattr(path, names, XATTR_LIST_MAX);
    for (const char *name = names; size > 0 && name < names + size; name += strlen(name) + 1) {
        const bool is_copied = strncmp(name, USER, strlen(USER)) == 0 ||
                               (has_group && strncmp(name, SYSTEM, strlen(SYSTEM)) == 0);
        const ssize_t length = is_copied ? getxattr(path, name, value, XATTR_SIZE_MAX) : -1;
        if (length >= 0)
            (void)!fsetxattr(file, name, value, (size_t)length, 0);
    }
    free(names);
    return STATUS_OK;
}

/* Opens a file, device or pipe. */
static enum status open_path(struct output *output, const char *path, struct error *error)
{
    struct stat existing;
    size_t length = strlen(path);
    bool exists = stat(path, &existing) == 0;
    if (!exists && (errno != ENOENT || length == 0))
        return fail_writing(error, errno);
    if ((exists && S_ISDIR(existing.st_mode)) || path[length - 1] == '/')
        return fail(error, STATUS_FAILED, "is a directory; name the file to write");
    if (exists && !S_ISREG(existing.st_mode))
        return open_stream(output, open(path, O_WRONLY | O_CLOEXEC), error);

    /* A temporary file in the folder of the target. */
    output->target = resolve_links(path, error); /* so that a link stays a link */
    if (output->target == NULL)
        return STATUS_FAILED;
    /* A rename would ignore write protection. */
    if (exists && faccessat(AT_FDCWD, output->target, W_OK, AT_EACCESS) != 0)
        return fail_writing(error, errno);

    /* Only a format that seeks reads the file. Without the need, O_RDWR might fail: a confined process may
       have no right to read in the folder. */
    const bool reads = output->spool_folder != NULL;
    int descriptor =
        temporary_create(output->target, reads ? O_RDWR : O_WRONLY, exists ? 0600 : 0666, &output->temporary);
    if (descriptor < 0)
        return folder_failed(output->target, errno, error);
    if (exists && inherit_access(descriptor, output->target, &existing, error) != STATUS_OK) {
        close(descriptor);
        return STATUS_FAILED;
    }
    return open_descriptor(output, descriptor, reads ? "w+b" : "wb", error);
}

enum status output_open(struct output *output, const char *path, const char *spool_folder,
                        struct error *error)
{
    const int standard = named_descriptor(path);
    *output = (struct output){.copy_to = -1, .spool_folder = spool_folder};
    output->name = copy_text(standard == STDOUT_FILENO ? "standard output" : path, error);
    if (output->name == NULL)
        return STATUS_FAILED;

    /* Duplicate stdout and stderr: descriptors 1 and 2 must stay open. */
    enum status status = standard >= 0 ? open_stream(output, fcntl(standard, F_DUPFD_CLOEXEC, 0), error)
                                       : open_path(output, path, error);
    if (status != STATUS_OK) {
        error_prefix(error, output->name);
        output_abandon(output);
    }
    return status;
}

enum status output_check(const char *path, struct error *error)
{
    struct stat existing;
    const bool exists = stat(path, &existing) == 0;
    const int cause = errno;
    if (named_descriptor(path) >= 0 || (exists && !S_ISREG(existing.st_mode)))
        return STATUS_OK;
    char *target = resolve_links(path, error);
    char *folder = target ? text_print(error, "%.*s.", folder_length(target), target) : NULL;
    enum status status = folder ? STATUS_OK : STATUS_FAILED;
    if (folder && !exists && cause != ENOENT)
        status = fail_writing(error, cause);
    else if (folder && exists && faccessat(AT_FDCWD, target, W_OK, AT_EACCESS) != 0)
        status = fail_writing(error, errno); /* as open_path */
    else if (folder && faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        status = folder_failed(target, errno, error);
    free(folder);
    free(target);
    if (status != STATUS_OK)
        error_prefix(error, path);
    return status;
}

enum status output_commit(struct output *output, struct error *error)
{
    FILE *file = output->file;
    const int copy_to = output->copy_to;
    enum status status = STATUS_OK;
    errno = EIO; /* in case ferror reports an earlier failure */
    /* Some file systems cannot sync: EINVAL. */
    if (fflush(file) != 0 || ferror(file) ||
        (output->durable && output->temporary != NULL && fsync(fileno(file)) != 0 && errno != EINVAL))
        status = fail_writing(error, errno);
    if (status == STATUS_OK && copy_to >= 0) {
        output->name[output->name_end] = '\0';
        status = spool_drain(output->spool_folder, file, copy_to, error);
    }

    /* Close also after an error, and report the first error. Network file systems report many errors on
     * close. */
    output->file = NULL;
    output->copy_to = -1;
    if (fclose(file) != 0 && status == STATUS_OK)
        status = fail_writing(error, errno);
    if (copy_to >= 0 && close(copy_to) != 0 && status == STATUS_OK)
        status = fail_writing(error, errno);

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
