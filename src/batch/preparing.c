#include "batch/preparing.h"

#include "base/threads.h"
#include "device/compiling.h"

#include <stdio.h>
#include <time.h>

static const long PAUSE = 100000000; /* nanoseconds between two looks */

/* Waits for the pause or the end, with the lock held. */
static void wait_a_while(struct preparing *preparing)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PAUSE;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&preparing->changed, &preparing->lock, &until);
}

/* The line comes after half a second and changes once a second. */
static void *look(void *context)
{
    struct preparing *preparing = context;
    char line[80];
    int shown = 0;
    pthread_mutex_lock(&preparing->lock);
    while (!preparing->ended) {
        const int whole = (int)(compiling_seconds() + 0.5);
        snprintf(line, sizeof line, "climg: preparing kernels for this device, once: %d s", whole);
        if (whole > 0 && whole != shown)
            preparing->show(line);
        else if (whole == 0 && shown > 0)
            preparing->erase();
        shown = whole;
        wait_a_while(preparing);
    }
    pthread_mutex_unlock(&preparing->lock);
    return NULL;
}

void preparing_begin(struct preparing *preparing, void (*show)(const char *line), void (*erase)(void))
{
    struct error ignored;
    pthread_condattr_t monotonic;
    *preparing = (struct preparing){.show = show, .erase = erase};
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&preparing->lock, NULL);
    pthread_cond_init(&preparing->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    preparing->started = thread_start(&preparing->thread, look, preparing, &ignored) == STATUS_OK;
}

void preparing_end(struct preparing *preparing)
{
    if (!preparing->started)
        return;
    pthread_mutex_lock(&preparing->lock);
    preparing->ended = true;
    pthread_cond_signal(&preparing->changed);
    pthread_mutex_unlock(&preparing->lock);
    pthread_join(preparing->thread, NULL);
    pthread_cond_destroy(&preparing->changed);
    pthread_mutex_destroy(&preparing->lock);
}
