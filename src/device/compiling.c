#include "device/compiling.h"

#include "base/timing.h"

#include <pthread.h>

static const double LEAST = 0.05; /* seconds: what takes less is a launch, or a program that is kept */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int at_work;       /* calls */
static double since;      /* when the first of them began */
static double before = 0; /* seconds of those that ended */

void compiling_begin(void)
{
    pthread_mutex_lock(&lock);
    if (at_work++ == 0)
        since = clock_seconds();
    pthread_mutex_unlock(&lock);
}

void compiling_end(void)
{
    pthread_mutex_lock(&lock);
    double seconds = clock_seconds() - since;
    if (--at_work == 0 && seconds >= LEAST)
        before += seconds;
    pthread_mutex_unlock(&lock);
}

double compiling_seconds(void)
{
    pthread_mutex_lock(&lock);
    double seconds = at_work > 0 ? clock_seconds() - since : 0;
    double all = seconds >= LEAST ? before + seconds : 0;
    pthread_mutex_unlock(&lock);
    return all;
}
