#include "base/thread.h"

#include <signal.h>
#include <string.h>

enum status thread_start(pthread_t *thread, void *(*work)(void *), void *context, struct error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* a thread inherits the mask */
    int code = pthread_create(thread, NULL, work, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ? STATUS_OK : fail(error, STATUS_FAILED, "cannot start a thread: %s", strerror(code));
}
