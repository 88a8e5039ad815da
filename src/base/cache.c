#include "base/cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *cache_path(const char *base, const char *home, const char *name, struct error *error)
{
    const char *folder = "";
    /* The XDG specification has relative paths ignored. */
    if (!base || base[0] != '/') {
        base = home;
        folder = "/.cache";
    }
    if (!base || base[0] != '/') {
        fail(error, STATUS_FAILED, "no cache: neither XDG_CACHE_HOME nor HOME is set");
        return NULL;
    }
    size_t size = strlen(base) + strlen(folder) + strlen(name) + sizeof "/climg/";
    char *path = allocate(size, "a path", error);
    if (path)
        snprintf(path, size, "%s%s/climg/%s", base, folder, name);
    return path;
}

enum { TRIES = 100 };

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777); /* what fails here shows when the file is opened */
        *slash = '/';
    }
}

/* A new file beside `path`; *name receives its own. Another machine that shares the folder may have a process
 * of the same number. */
static FILE *create_beside(const char *path, char *name, size_t size)
{
    FILE *file = NULL;
    errno = EEXIST;
    for (int i = 0; !file && errno == EEXIST && i < TRIES; i++) {
        snprintf(name, size, "%s.%ld-%d.tmp", path, (long)getpid(), i);
        file = fopen(name, "wxe");
    }
    return file;
}

enum status cache_write(const char *path, const void *data, size_t size, struct error *error)
{
    size_t length = strlen(path) + 48;
    char *temporary = allocate(length, "a path", error);
    if (!temporary)
        return STATUS_FAILED;
    snprintf(temporary, length, "%s", path);
    make_folders(temporary);
    FILE *file = create_beside(path, temporary, length);
    bool written = file && fwrite(data, 1, size, file) == size;
    if (file && fclose(file) != 0)
        written = false;
    bool done = written && rename(temporary, path) == 0;
    int cause = errno;
    if (file && !done)
        unlink(temporary);
    free(temporary);
    return done ? STATUS_OK : fail(error, STATUS_FAILED, "%s: %s", path, strerror(cause));
}

void *cache_read(const char *path, size_t *size)
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
