/* Temporary files: their names and locks, and their removal.
 *
 *     .photo.png.climg-1f2e3d4c-4711-0.tmp    in the folder of photo.png: machine, process, file number
 *
 * Files that were not renamed are removed
 * - by output_abandon after an error;
 * - by temporary_remove_all at the end of the process. A signal handler may call it, so names are in a static
 *   table of slots;
 * - by temporary_clean, in a later run that writes to the same folder, if the process was killed.
 *
 * temporary_clean must not remove a file that is in use. The process ID in the name is no evidence: the
 * process may run on another machine that shares the folder, or the ID may have been reused. So climg locks a
 * temporary file (flock) until it is renamed. The kernel drops the lock when the process dies.
 *
 * A file that is not locked may still be in use on another machine: NFS passes locks to its server, but
 * Lustre and BeeGFS keep them local unless mounted otherwise, and some file systems have none. So an unlocked
 * file is removed at once only if this machine created it. Its name says so, by a hash of the random number
 * of the boot (boot_id); containers on one kernel share that number and the locks. Other unlocked files are
 * removed if nothing was written to them for an hour. If the process of such a file was merely suspended, its
 * rename fails, and it reports the file as failed. */
#include "base/sums.h"
#include "base/text.h"
#include "image/output/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    SLOT_COUNT = 256,   /* maximum number of temporary files of a process at a time */
    TRIES = 100,        /* names that are tried for one file */
    FOREIGN_AGE = 3600, /* seconds without a write, after which another machine's unlocked file is removed */
    OPENING_MS = 500    /* milliseconds to wait for a file that another thread is creating */
};

/* FREE ─▶ CLAIMED by a thread ─▶ OPENING: it calls open() ─▶ LIVE: the file exists ─▶ FREE. */
enum slot_state { SLOT_FREE, SLOT_CLAIMED, SLOT_OPENING, SLOT_LIVE };

/* A temporary file. The name is an array: a signal handler could not rely on memory that another thread may
 * free. */
struct slot {
    atomic_int state; /* enum slot_state; the name is valid while it is OPENING or LIVE */
    char name[PATH_MAX];
    int lock_fd; /* duplicate that keeps the file locked after output_commit closed it; -1: none */
};

static struct slot slots[SLOT_COUNT];
static atomic_bool no_new_files; /* set by temporary_remove_all */

int folder_length(const char *path)
{
    return (int)(name_base(path) - path);
}

/* Returns a hash of the boot ID, or of the host's name if /proc is missing. */
static uint32_t machine_number(void)
{
    char text[256] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL || fgets(text, sizeof text, file) == NULL)
        gethostname(text, sizeof text - 1);
    if (file != NULL)
        fclose(file);
    return (uint32_t)hash_bytes(HASH_START, text, strlen(text));
}

int temporary_stem_length(const char *name, size_t length)
{
    return (int)utf8_fit(name, length, 200);
}

/* Locks a new file. False if temporary_clean of another process has already locked or removed it. True also
 * on file systems without locks. */
static bool lock_new(int descriptor)
{
    struct stat info;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(descriptor, &info) != 0 || info.st_nlink > 0;
}

/* Creates and locks the file of a claimed slot. Returns a descriptor, or -1 with errno set: EEXIST if another
 * number should be tried. */
static int slot_create_file(struct slot *slot, const char *target, int number, int access, mode_t mode)
{
    const int folder = folder_length(target);
    const int kept = temporary_stem_length(target + folder, strlen(target + folder));
    const int length =
        snprintf(slot->name, sizeof slot->name, "%.*s.%.*s.climg-%08" PRIx32 "-%ld-%d.tmp", folder, target,
                 kept, target + folder, machine_number(), (long)getpid(), number);
    if (length <= 0 || (size_t)length >= sizeof slot->name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    /* Set the state before testing no_new_files: temporary_remove_all, in another thread, then sees OPENING
       and waits, or has set no_new_files before the test. */
    atomic_store(&slot->state, SLOT_OPENING);
    int descriptor = -1;
    if (atomic_load(&no_new_files))
        errno = EINTR;
    else
        descriptor = open(slot->name, access | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    atomic_store(&slot->state, descriptor >= 0 ? SLOT_LIVE : SLOT_CLAIMED);
    if (descriptor < 0)
        return -1;

    if (!lock_new(descriptor)) {
        atomic_store(&slot->state, SLOT_CLAIMED);
        close(descriptor);
        errno = EEXIST;
        return -1;
    }
    slot->lock_fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return descriptor;
}

/* Registers temporary_remove_all for exit(), which a library may call. Handlers run in reverse order:
 * handlers of drivers, which are loaded before the first output is opened, run later. */
static void abandon_at_exit(void)
{
    atexit(temporary_remove_all);
}

int temporary_create(const char *target, int access, mode_t mode, char **name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct slot *slot = NULL;
    pthread_once(&once, abandon_at_exit);
    for (int i = 0; slot == NULL && i < SLOT_COUNT; i++) {
        int expected = SLOT_FREE;
        if (atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_CLAIMED))
            slot = &slots[i];
    }
    if (slot == NULL) {
        errno = EMFILE;
        return -1;
    }

    /* Slots have different numbers, so no thread of this process has a file of the same name. It was left by
     * an earlier process, or belongs to another container on this machine. */
    int descriptor = -1;
    for (int i = 0; descriptor < 0 && i < TRIES; i++) {
        descriptor = slot_create_file(slot, target, (int)(slot - slots) + i * SLOT_COUNT, access, mode);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor < 0)
        atomic_store(&slot->state, SLOT_FREE);
    else
        *name = slot->name;
    return descriptor;
}

void temporary_forget(const char *name)
{
    for (int i = 0; i < SLOT_COUNT; i++) {
        if (slots[i].name != name)
            continue;
        if (slots[i].lock_fd >= 0)
            close(slots[i].lock_fd);
        atomic_store(&slots[i].state, SLOT_FREE);
    }
}

void temporary_remove(const char *name)
{
    unlink(name);
    temporary_forget(name);
}

void temporary_remove_all(void)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    int saved_errno = errno;
    atomic_store(&no_new_files, true);
    for (int i = 0; i < SLOT_COUNT; i++) {
        /* Wait for a file that is being created, but not forever: its thread may be stopped by the signal
           whose handler this is, or hang on its file system. */
        for (int wait = 0; wait < OPENING_MS && atomic_load(&slots[i].state) == SLOT_OPENING; wait++)
            nanosleep(&millisecond, NULL);
        if (atomic_load(&slots[i].state) >= SLOT_OPENING)
            unlink(slots[i].name);
    }
    errno = saved_errno;
}

bool temporary_is_disabled(void)
{
    return atomic_load(&no_new_files);
}

/* True for names as slot_create_file sets; *machine is the number in the name. */
static bool is_temporary(const char *name, uint32_t *machine)
{
    static const char mark[] = ".climg-";
    const char *found = NULL;
    for (const char *next = name; (next = strstr(next, mark)) != NULL; next++)
        found = next + strlen(mark);
    int end = 0;
    if (name[0] != '.' || found == NULL || strspn(found, "0123456789abcdef") != 8 ||
        sscanf(found, "%8" SCNx32 "-%*[0-9]-%*[0-9].tmp%n", machine, &end) != 1)
        return false;
    return end > 0 && found[end] == '\0';
}

/* Removes a temporary file unless it may be in use. `is_ours`: this machine created it. */
static void remove_unused(int folder, const char *name, bool is_ours)
{
    struct stat opened, named;
    int descriptor = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return;
    /* The file is in use if another process has locked it, and unused if this process could lock it and this
       machine created it. Otherwise its age decides. */
    const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0, in_use = !locked && errno == EWOULDBLOCK;
    if (!in_use && fstat(descriptor, &opened) == 0 &&
        ((locked && is_ours) || time(NULL) - opened.st_mtim.tv_sec > FOREIGN_AGE) &&
        /* Another file may have got the name after openat(). */
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && opened.st_dev == named.st_dev &&
        opened.st_ino == named.st_ino)
        unlinkat(folder, name, 0);
    close(descriptor);
}

void temporary_clean(const char *folder)
{
    DIR *entries = opendir(folder[0] == '\0' ? "." : folder);
    uint32_t own = machine_number(), machine;
    const struct dirent *entry;
    if (entries == NULL)
        return;
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    while ((entry = readdir(entries)) != NULL)
        if (is_temporary(entry->d_name, &machine))
            remove_unused(dirfd(entries), entry->d_name, machine == own);
    closedir(entries);
}
