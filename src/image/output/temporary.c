/* Names and locks.
 *
 *     .photo.png.climg-1f2e3d4c-4711-0.tmp    in the folder of photo.png; machine, process, number
 *
 * A process that is killed leaves such a file behind, and a later run into the folder removes it. The
 * process's number does not tell whether it still runs: it may run on another machine that shares the folder,
 * or its number may belong to another process by now. So climg locks a temporary file (flock) until it is
 * renamed, and the kernel drops the lock when the process dies. A locked file is in use.
 *
 * A file that is not locked may still be in use on another machine: NFS passes locks to its server, but
 * Lustre and BeeGFS keep them local unless mounted otherwise, and some file systems have none. So an unlocked
 * file is removed at once only if this machine made it. Its name says so, by a hash of the number that Linux
 * draws at every start; containers on one kernel share that number and the locks. Other unlocked files are
 * removed if nothing was written to them for an hour. If such a file is in use all the same, because its
 * process slept for so long, its rename fails, and the file is reported as failed. */
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

enum { SLOT_COUNT = 256, TRIES = 100, FOREIGN_AGE = 3600 /* seconds */, OPENING_MS = 500 };

enum slot_state { SLOT_FREE, SLOT_CLAIMED, SLOT_OPENING, SLOT_LIVE };

/* The names are stored in the array, as a signal handler may run while another thread frees memory. */
struct slot {
    atomic_int state; /* enum slot_state; the name is valid while it is OPENING or LIVE */
    char name[PATH_MAX];
    int lock; /* a second descriptor that keeps the file locked until it has its final name; -1: none */
};

static struct slot slots[SLOT_COUNT];
static atomic_bool abandoned; /* the program is ending: no more files are made */

int folder_length(const char *path)
{
    return (int)(name_base(path) - path);
}

static struct slot *claim_slot(void)
{
    for (int i = 0; i < SLOT_COUNT; i++) {
        int expected = SLOT_FREE;
        if (atomic_compare_exchange_strong(&slots[i].state, &expected, SLOT_CLAIMED))
            return &slots[i];
    }
    return NULL;
}

/* Identifies this kernel since its boot; without /proc, the host. */
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

static bool write_name(struct slot *slot, const char *target, int number)
{
    int folder = folder_length(target);
    /* The target's name may be as long as the file system allows; the temporary name must still fit. */
    int length = snprintf(slot->name, sizeof slot->name, "%.*s.%.200s.climg-%08" PRIx32 "-%ld-%d.tmp", folder,
                          target, target + folder, machine_number(), (long)getpid(), number);
    return length > 0 && (size_t)length < sizeof slot->name;
}

/* False: the file is being removed. Another process that cleans up may come between creation and locking;
 * then it holds the lock or has removed the file. If the file system has no locks, there is nothing to wait
 * for. */
static bool lock(int descriptor)
{
    struct stat there;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(descriptor, &there) != 0 || there.st_nlink > 0;
}

/* The name is stored before the file exists: outputs_abandon, in another thread, either sees it and waits, or
 * is seen here. */
static int open_known(struct slot *slot, mode_t mode)
{
    int descriptor = -1;
    atomic_store(&slot->state, SLOT_OPENING);
    if (atomic_load(&abandoned))
        errno = EINTR;
    else
        descriptor = open(slot->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    atomic_store(&slot->state, descriptor >= 0 ? SLOT_LIVE : SLOT_CLAIMED);
    return descriptor;
}

static int output_create(struct slot *slot, const char *target, int number, mode_t mode)
{
    if (!write_name(slot, target, number)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int descriptor = open_known(slot, mode);
    if (descriptor >= 0 && !lock(descriptor)) {
        atomic_store(&slot->state, SLOT_CLAIMED);
        close(descriptor);
        descriptor = -1;
        errno = EEXIST; /* try another number */
    }
    if (descriptor >= 0)
        slot->lock = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return descriptor;
}

/* A library may call exit. Handlers run in reverse order, and by now drivers are loaded, so this one runs
 * while their threads still exist. */
static void abandon_at_exit(void)
{
    atexit(outputs_abandon);
}

int temporary_create(const char *target, mode_t mode, char **name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, abandon_at_exit);
    struct slot *slot = claim_slot();
    if (slot == NULL) {
        errno = EMFILE;
        return -1;
    }

    /* The slot's number distinguishes the files of one process. A file of that name can only be left from an
     * earlier process, or belong to another machine. */
    int descriptor = -1;
    for (int i = 0; descriptor < 0 && i < TRIES; i++) {
        descriptor = output_create(slot, target, (int)(slot - slots) + i * SLOT_COUNT, mode);
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
        if (slots[i].lock >= 0)
            close(slots[i].lock);
        atomic_store(&slots[i].state, SLOT_FREE);
    }
}

void temporary_remove(const char *name)
{
    unlink(name);
    temporary_forget(name);
}

/* Waits for a limited time: the thread may be stopped for good, by the signal whose handler this is or on a
 * hanging file system. */
static int state_when_opened(struct slot *slot)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < OPENING_MS && atomic_load(&slot->state) == SLOT_OPENING; i++)
        nanosleep(&moment, NULL);
    return atomic_load(&slot->state);
}

void outputs_abandon(void)
{
    int interrupted = errno;
    atomic_store(&abandoned, true);
    for (int i = 0; i < SLOT_COUNT; i++)
        if (state_when_opened(&slots[i]) >= SLOT_OPENING)
            unlink(slots[i].name);
    errno = interrupted;
}

/* True if write_name made the name; *machine receives the machine's number. */
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

static bool is_left(int descriptor, bool ours)
{
    struct stat there;
    bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK)
        return false;
    return (locked && ours) ||
           (fstat(descriptor, &there) == 0 && time(NULL) - there.st_mtim.tv_sec > FOREIGN_AGE);
}

/* Another file may have taken the name since it was opened. */
static void remove_left(int folder, const char *name, bool ours)
{
    struct stat opened, named;
    int descriptor = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return;
    if (is_left(descriptor, ours) && fstat(descriptor, &opened) == 0 &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && opened.st_dev == named.st_dev &&
        opened.st_ino == named.st_ino)
        unlinkat(folder, name, 0);
    close(descriptor);
}

void outputs_clean(const char *folder)
{
    DIR *entries = opendir(folder[0] == '\0' ? "." : folder);
    uint32_t own = machine_number(), machine;
    const struct dirent *entry;
    if (entries == NULL)
        return;
    // cppcheck-suppress readdirCalled ; no two threads read one stream, and readdir_r is deprecated
    while ((entry = readdir(entries)) != NULL)
        if (is_temporary(entry->d_name, &machine))
            remove_left(dirfd(entries), entry->d_name, machine == own);
    closedir(entries);
}
