#include "image/temporary.h"
#include "image/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLOT_COUNT = 256, TRIES = 100 };

enum slot_state { SLOT_FREE, SLOT_CLAIMED, SLOT_LIVE };

/* The names are kept in place, not behind pointers: a signal handler may run while another thread frees. */
struct slot {
    atomic_int state; /* enum slot_state; the name is only looked at while it is LIVE */
    char name[PATH_MAX];
};

static struct slot slots[SLOT_COUNT];

int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (int)(slash - path) + 1;
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

static bool write_name(struct slot *slot, const char *target, int number)
{
    int folder = folder_length(target);
    /* A target may have the longest name a file system allows; its temporary file must still fit. */
    int length = snprintf(slot->name, sizeof slot->name, "%.*s.%.200s.climg-%ld-%d.tmp", folder, target,
                          target + folder, (long)getpid(), number);
    return length > 0 && (size_t)length < sizeof slot->name;
}

/* The name is made known before the file exists, so that no signal can fall in between. */
static int create(struct slot *slot, const char *target, int number, mode_t mode)
{
    if (!write_name(slot, target, number)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    atomic_store(&slot->state, SLOT_LIVE);
    int descriptor = open(slot->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0)
        atomic_store(&slot->state, SLOT_CLAIMED);
    return descriptor;
}

int temporary_create(const char *target, mode_t mode, char **name)
{
    struct slot *slot = claim_slot();
    if (slot == NULL) {
        errno = EMFILE;
        return -1;
    }

    /* The slot's number tells the files of one process apart; a file of that name can only be a leftover of
     * an earlier process, or belong to one on another machine. */
    int descriptor = -1;
    for (int i = 0; descriptor < 0 && i < TRIES; i++) {
        descriptor = create(slot, target, (int)(slot - slots) + i * SLOT_COUNT, mode);
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
    for (int i = 0; i < SLOT_COUNT; i++)
        if (slots[i].name == name)
            atomic_store(&slots[i].state, SLOT_FREE);
}

void temporary_remove(const char *name)
{
    unlink(name);
    temporary_forget(name);
}

void writers_abandon(void)
{
    int interrupted = errno;
    for (int i = 0; i < SLOT_COUNT; i++)
        if (atomic_load(&slots[i].state) == SLOT_LIVE)
            unlink(slots[i].name);
    errno = interrupted;
}
