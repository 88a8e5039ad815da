#include "batch/folder.h"

#include "image/format.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum status visit_folder(const struct walk *walk, const char *path, size_t root, struct error *error);

static enum status report_problem(const struct walk *walk, const char *path, size_t root, struct error *error)
{
    struct found file = {.name = path + root, .path = path, .problem = errno};
    return walk->found(walk->context, &file, error);
}

/* `root` is the length of what stands before the name in the path. */
static enum status visit(const struct walk *walk, const char *path, size_t root, struct error *error)
{
    struct stat there;
    if (lstat(path, &there) != 0)
        return errno == ENOENT ? STATUS_OK /* gone since it was listed */
                               : report_problem(walk, path, root, error);
    bool skipped = there.st_dev == walk->skip_device && there.st_ino == walk->skip_inode;
    if (S_ISDIR(there.st_mode))
        return walk->recursive && !skipped ? visit_folder(walk, path, root, error) : STATUS_OK;
    if (S_ISLNK(there.st_mode) && stat(path, &there) != 0)
        return format_by_path(path) ? report_problem(walk, path, root, error) : STATUS_OK; /* leads nowhere */
    if (!S_ISREG(there.st_mode))
        return STATUS_OK;
    struct found file = {.name = path + root, .path = path, .there = &there};
    file.image = name_is_image(path, &file.foreign);
    return walk->found(walk->context, &file, error);
}

static enum status visit_folder(const struct walk *walk, const char *path, size_t root, struct error *error)
{
    DIR *folder = opendir(path);
    if (!folder)
        return report_problem(walk, path, root, error);
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
        status = below ? visit(walk, below, root, error) : STATUS_FAILED;
        free(below);
    }
    if (status == STATUS_OK && errno != 0)
        status = report_problem(walk, path, root, error);
    closedir(folder);
    return status;
}

enum status folder_walk(const struct walk *walk, const char *path, struct error *error)
{
    size_t length = strlen(path);
    return visit_folder(walk, path, length > 0 && path[length - 1] == '/' ? length : length + 1, error);
}
