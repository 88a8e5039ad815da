/* The directory in which PoCL caches compiled kernels (POCL_CACHE_DIR), and recovery from damaged files in
 * it.
 *
 * A file that a disk error or a full disk has damaged would make PoCL or a kernel crash in every run.
 * Therefore each process creates a marker, an empty file, in the directory, and removes it when it ends
 * normally. A process that finds a marker while no other process uses the directory empties the directory, so
 * at worst every second run crashes. SIGKILL leaves the marker, too; then kernels are compiled again
 * needlessly.
 *
 * Each process has a shared lock (flock) on the directory, which the system releases however the process
 * ends. The directory is emptied only under an exclusive lock, so kernels that other processes are compiling
 * are never removed.
 *
 * When a program is loaded from a binary, PoCL links its kernels, 0.03 s each, and stores them in a
 * subdirectory of the program. To save this time, that subdirectory is copied from the cache for all users
 * when the program is first loaded. After a crash nothing is copied any more, as the copies may have caused
 * it: the file climg-no-copy records that.
 *
 * Tried and removed: checksums of PoCL's files, compared before each load. They took 450 lines and 2 ms of
 * each run. They also found damage that changes pixels without a crash, but disks have checksums against
 * that. */
#include "device/pocl.h"

#include "base/files.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Bytes that must be free on the directory's disk, enough for some programs. */
static const unsigned long long MIN_FREE = 4 << 20;

static const char MARKER[] = "climg-running-"; /* start of a marker's name */

/* Set by pocl_cache_open, before there are threads. Later only pocl_cache_invalidate clears `marker`. */
static char directory[PATH_MAX]; /* cache directory that climg chose; "" if climg chose none */
static char marker[PATH_MAX];    /* path of the marker of this process, or "" */
static bool may_copy;            /* no climg-no-copy: copy programs that were compiled for all users */
static bool is_missing;          /* neither the user's directory nor one that climg chooses is usable */

/* ---------------------------------------------------------------- choice of the directory */

/* Creates the directory if it is missing. True if it can be written and its disk is not full. */
static bool make_usable(const char *path)
{
    struct statvfs disk;
    char copy[PATH_MAX];
    if (snprintf(copy, sizeof copy, "%s", path) >= PATH_MAX)
        return false;
    try_folders_above(copy);
    mkdir(path, 0700); /* private, as its files are executed */
    return is_folder(path) && faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) == 0 &&
           statvfs(path, &disk) == 0 && (unsigned long long)disk.f_bavail * disk.f_frsize >= MIN_FREE;
}

/* True if only this user can write to the directory or replace it; its files are executed. The directory
 * `above` must belong to this user or root, and others must not be able to write to it, unless it is
 * sticky, as /tmp is. */
static bool is_private(const char *path, const char *above)
{
    struct stat own, outer;
    if (lstat(path, &own) != 0 || stat(above, &outer) != 0)
        return false;
    bool is_protected = (outer.st_uid == 0 || outer.st_uid == geteuid()) &&
                        (!(outer.st_mode & (S_IWGRP | S_IWOTH)) || (outer.st_mode & S_ISVTX));
    return is_protected && S_ISDIR(own.st_mode) && own.st_uid == geteuid() &&
           !(own.st_mode & (S_IRWXG | S_IRWXO));
}

/* Finds or creates a private directory in `spool` (TMPDIR), the same one in all runs of a user. Tries several
 * names, as other users may have created directories of these names. */
static bool find_temporary_folder(const char *spool, char path[PATH_MAX])
{
    enum { NAMES = 16 };
    for (int i = 0; i < NAMES; i++) {
        const int length = snprintf(path, PATH_MAX, "%s/climg-pocl-%ld.%d", spool, (long)geteuid(), i);
        if (length >= PATH_MAX)
            return false;
        mkdir(path, 0700); /* if it fails, is_private is false */
        if (is_private(path, spool))
            return make_usable(path);
    }
    return false;
}

/* ---------------------------------------------------------------- after a crash */

/* Removes an entry of the directory, for nftw. */
static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    if (place->level > 0)
        remove(path);
    return 0;
}

/* Prints a message with a path, whose control characters are replaced. */
static void print_path(const char *format, const char *path)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", path);
    text_make_visible(name);
    fprintf(stderr, format, name);
}

/* ---------------------------------------------------------------- a run */

/* Locks the directory until the process ends, empties it after a crash, and creates the marker. */
static void begin_use(bool verbose)
{
    enum { MAX_DESCRIPTORS = 8 };
    char no_copy[PATH_MAX + 16];
    const int lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
        return;
    snprintf(no_copy, sizeof no_copy, "%s/%s", directory, "climg-no-copy");
    may_copy = access(no_copy, F_OK) != 0;

    /* If no other process uses the directory, remove PoCL's temporary files, of which each run leaves one,
     * and look for the marker of an earlier run. */
    bool is_marked = false;
    DIR *listing = flock(lock, LOCK_EX | LOCK_NB) == 0 ? opendir(directory) : NULL;
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        is_marked = is_marked || strncmp(entry->d_name, MARKER, strlen(MARKER)) == 0;
        if (strncmp(entry->d_name, "tempfile", 8) == 0)
            unlinkat(dirfd(listing), entry->d_name, 0);
    }
    if (listing)
        closedir(listing);

    /* After a crash empty it. */
    if (is_marked) {
        char contents[PATH_MAX + 16];
        snprintf(contents, sizeof contents, "%s/.", directory); /* the directory may be a link */
        nftw(contents, remove_entry, MAX_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
        close(open(no_copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        may_copy = false;
        if (verbose)
            print_path("climg: %s: emptied, as a run crashed or was killed; kernels are compiled again\n",
                       directory);
    }

    /* Create the marker under the shared lock. The lock's descriptor stays open until the process ends. */
    flock(lock, LOCK_SH);
    if (snprintf(marker, sizeof marker, "%s/%sXXXXXX", directory, MARKER) >= PATH_MAX)
        marker[0] = '\0';
    const int file = marker[0] ? mkostemp(marker, O_CLOEXEC) : -1;
    if (file >= 0)
        close(file);
    else
        marker[0] = '\0';
}

void pocl_cache_open(const struct environment *environment, bool verbose, bool quiet)
{
    struct error ignored = {.text = ""};
    if (environment->pocl_cache && make_usable(environment->pocl_cache))
        return;

    /* Choose the directory in climg's cache, or else one below TMPDIR. Without either, PoCL gets an
     * impossible path and offers no device. Its own default, /tmp, would be unsafe, as other users can create
     * files there. */
    char *own = cache_path(environment->cache, environment->home, "pocl", &ignored);
    const bool is_own = own && strlen(own) < PATH_MAX && make_usable(own);
    if (is_own)
        strcpy(directory, own);
    free(own);
    if (!is_own && !find_temporary_folder(environment->spool_folder, directory)) {
        directory[0] = '\0';
        is_missing = true;
        setenv("POCL_CACHE_DIR", "/dev/null/none", 1);
        return;
    }
    setenv("POCL_CACHE_DIR", directory, 1);
    begin_use(verbose);
    if (environment->pocl_cache && !quiet)
        print_path(
            "climg: POCL_CACHE_DIR=%s cannot be written, or its disk is full; climg's own folder is used\n",
            environment->pocl_cache);
    else if (!is_own && verbose)
        print_path("climg: PoCL keeps what it compiles in %s, as it cannot below XDG_CACHE_HOME or HOME\n",
                   directory);
}

bool pocl_cache_is_missing(void)
{
    return is_missing;
}

void pocl_cache_close(void)
{
    if (marker[0])
        unlink(marker);
}

void pocl_cache_invalidate(void)
{
    marker[0] = '\0';
}

/* Copies a directory tree. Failures are ignored: the kernels are linked again. */
static void copy_tree(const char *from, const char *to)
{
    char source[PATH_MAX], target[PATH_MAX];
    DIR *listing = opendir(from);
    // cppcheck-suppress readdirCalled
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        struct error ignored;
        size_t size;
        if (entry->d_name[0] == '.' ||
            snprintf(source, sizeof source, "%s/%s", from, entry->d_name) >= PATH_MAX ||
            snprintf(target, sizeof target, "%s/%s", to, entry->d_name) >= PATH_MAX)
            continue;
        char *data = file_read_whole(source, &size);
        if (data)
            cache_write(target, data, size, &ignored);
        else
            copy_tree(source, target);
        free(data);
    }
    if (listing)
        closedir(listing);
}

void pocl_copy_program(const struct environment *environment, const unsigned char *binary, size_t size)
{
    /* The binary's header contains the path of the subdirectory, relative to the cache: two capital letters,
     * a slash and the rest, as in "AB/CDEF...". */
    enum { HEADER_SIZE = 128, NAME_SIZE = 64 };
    char name[NAME_SIZE] = "", to[PATH_MAX];
    struct error ignored;
    for (size_t i = 2; may_copy && i < HEADER_SIZE && i + NAME_SIZE < size; i++)
        if (binary[i] == '/' && isupper(binary[i - 1]) && isupper(binary[i - 2])) {
            snprintf(name, sizeof name, "%.*s", NAME_SIZE - 1, (const char *)binary + i - 2);
            break;
        }
    char *system = name[0] ? cache_path(environment->system_cache, NULL, "pocl/", &ignored) : NULL;
    char *from = system ? text_print(&ignored, "%s%s", system, name) : NULL;
    if (from && snprintf(to, sizeof to, "%s/%s", directory, name) < PATH_MAX && access(to, F_OK) != 0)
        copy_tree(from, to);
    free(from);
    free(system);
}
