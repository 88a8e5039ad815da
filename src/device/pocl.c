#include "device/pocl.h"

#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const unsigned long long ROOM =
    4 << 20; /* bytes: for some programs, and for others' files beside them */

/* Whether a folder can be made there and filled: asked of the nearest one above it that exists. */
static bool can_be_filled(const char *path)
{
    struct stat there;
    struct statvfs disk;
    char above[PATH_MAX];
    if (path[0] != '/' || strlen(path) >= sizeof above)
        return false;
    strcpy(above, path);
    while (stat(above, &there) != 0) {
        char *slash = strrchr(above, '/');
        if (slash == above && !slash[1])
            return false; /* nothing can be asked, not even the root */
        slash[slash == above] = '\0';
    }
    return S_ISDIR(there.st_mode) && faccessat(AT_FDCWD, above, W_OK | X_OK, AT_EACCESS) == 0 &&
           statvfs(above, &disk) == 0 && (unsigned long long)disk.f_bavail * disk.f_frsize >= ROOM;
}

/* As PoCL chooses it; without HOME it would take one in /tmp that is everybody's. */
static bool own_folder_does(const struct environment *environment)
{
    char path[PATH_MAX] = "";
    if (environment->cache)
        snprintf(path, sizeof path, "%s/pocl", environment->cache);
    else if (environment->home && environment->home[0])
        snprintf(path, sizeof path, "%s/.cache/pocl", environment->home);
    return can_be_filled(path);
}

/* What lies there is run. So the folder must be ours and nobody else's, and nobody may put another in its
 * place: the one above belongs to us or root, and others cannot write there, or it is sticky as /tmp is. */
static bool is_ours(const char *path, const char *above)
{
    struct stat own, outer;
    if (lstat(path, &own) != 0 || stat(above, &outer) != 0)
        return false;
    bool kept = (outer.st_uid == 0 || outer.st_uid == geteuid()) &&
                (!(outer.st_mode & (S_IWGRP | S_IWOTH)) || (outer.st_mode & S_ISVTX));
    return kept && S_ISDIR(own.st_mode) && own.st_uid == geteuid() && !(own.st_mode & (S_IRWXG | S_IRWXO));
}

/* One for all runs of a user, as compiling takes seconds each time. Who made one of that name before us can
 * keep us from it, but not from all of them. */
static bool find_folder(const char *spool, char path[PATH_MAX])
{
    enum { NAMES = 16 };
    for (int i = 0; i < NAMES && can_be_filled(spool); i++) {
        const int length = snprintf(path, PATH_MAX, "%s/climg-pocl-%ld.%d", spool, (long)geteuid(), i);
        if (length >= PATH_MAX)
            return false;
        mkdir(path, 0700); /* what fails here shows below */
        if (is_ours(path, spool) && can_be_filled(path))
            return true;
    }
    return false;
}

void pocl_prepare(const struct environment *environment, bool verbose)
{
    char path[PATH_MAX];
    if (environment->pocl || own_folder_does(environment))
        return;
    if (!find_folder(environment->spool, path)) {
        setenv("POCL_CACHE_DIR", "/dev/null/none", 1); /* no device is better than what others left in /tmp */
        return;
    }
    setenv("POCL_CACHE_DIR", path, 1);
    if (!verbose)
        return;
    text_make_visible(path);
    fprintf(stderr, "climg: PoCL keeps what it compiles in %s, as it cannot below XDG_CACHE_HOME or HOME\n",
            path);
}
