/* Periods in which any thread compiles. OpenCL does not say if a build compiles or loads from the driver's
 * cache, and PoCL compiles a kernel when it is launched with a new group size. So a period counts if it is
 * long: at least MIN_COMPILATION. */
#include "device/compiling.h"

#include "base/timing.h"

#include <pthread.h>

static const double MIN_COMPILATION = 0.05; /* seconds */

static struct {
    pthread_mutex_t lock; /* guards everything below */
    int calls;            /* number of calls in progress */
    double since;         /* start of the current period, as clock_seconds() */
    double spent;         /* seconds of all finished periods of at least MIN_COMPILATION */
} compiling = {.lock = PTHREAD_MUTEX_INITIALIZER};

void compiling_begin(void)
{
    pthread_mutex_lock(&compiling.lock);
    if (compiling.calls++ == 0)
        compiling.since = clock_seconds();
    pthread_mutex_unlock(&compiling.lock);
}

void compiling_end(void)
{
    pthread_mutex_lock(&compiling.lock);
    const double seconds = clock_seconds() - compiling.since;
    if (--compiling.calls == 0 && seconds >= MIN_COMPILATION)
        compiling.spent += seconds;
    pthread_mutex_unlock(&compiling.lock);
}

double compiling_seconds(void)
{
    pthread_mutex_lock(&compiling.lock);
    const double seconds = compiling.calls > 0 ? clock_seconds() - compiling.since : 0;
    const double all = seconds >= MIN_COMPILATION ? compiling.spent + seconds : 0;
    pthread_mutex_unlock(&compiling.lock);
    return all;
}
