/* Periods in which any thread compiles. */
#include "device/compiling.h"

#include "base/timing.h"

#include <pthread.h>

/* Seconds. A shorter period does not count as compilation: calls only launched kernels or loaded programs
 * from a cache. */
static const double MIN_COMPILATION = 0.05;

static struct {
    pthread_mutex_t lock; /* guards everything below */
    int calls;            /* number of calls in progress */
    double since;         /* start of the current period, as clock_seconds() */
    double spent;         /* seconds of all finished periods of at least MIN_COMPILATION */
    void (*watch)(bool begins, double spent); /* may be NULL */
} compiling = {.lock = PTHREAD_MUTEX_INITIALIZER};

void compiling_watch(void (*watch)(bool begins, double spent))
{
    pthread_mutex_lock(&compiling.lock);
    compiling.watch = watch;
    pthread_mutex_unlock(&compiling.lock);
}

void compiling_begin(void)
{
    pthread_mutex_lock(&compiling.lock);
    if (compiling.calls++ == 0) {
        compiling.since = clock_seconds();
        if (compiling.watch)
            compiling.watch(true, compiling.spent);
    }
    pthread_mutex_unlock(&compiling.lock);
}

void compiling_end(void)
{
    pthread_mutex_lock(&compiling.lock);
    const double seconds = clock_seconds() - compiling.since;
    if (--compiling.calls == 0) {
        compiling.spent += seconds >= MIN_COMPILATION ? seconds : 0;
        if (compiling.watch)
            compiling.watch(false, compiling.spent);
    }
    pthread_mutex_unlock(&compiling.lock);
}
