/* Threads that leave signals to the main one. */
#ifndef CLIMG_BASE_THREAD_H
#define CLIMG_BASE_THREAD_H

#include "base/error.h"

#include <pthread.h>

/* Runs work(context) in a thread of its own, to be joined with pthread_join. Signals keep going to the
 * threads that were there before. */
enum status thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct error *error);

#endif
