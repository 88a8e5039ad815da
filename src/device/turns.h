/* In which order kernels go into the queues of a CPU device.
 *
 * PoCL has an entry for a kernel in groups of one size, and makes another one when a grid is larger than all
 * before. Up to 5.0 a launch that ends gives back the newest entry, whichever it took when it began, and the
 * process aborts where that one is not in use. So a launch that makes an entry goes alone: it begins when all
 * others are done, and they go on when it is done. That is so for the first launch, which compiles, too. */
#ifndef CLIMG_DEVICE_TURNS_H
#define CLIMG_DEVICE_TURNS_H

#include "base/error.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>

/* The turns of all queues of one context. */
struct turns {
    pthread_rwlock_t lock;
    struct turns_queue *queues;
    struct turns_largest *largest;
    cl_int failure; /* of a wait: nothing is launched any more, as nobody knows what is under way */
};

void turns_init(struct turns *turns);
void turns_free(struct turns *turns);

/* A queue joins before its first launch, and leaves before it is released. One that did not join may leave.
 */
enum status turns_join(struct turns *turns, cl_command_queue queue, struct error *error);
void turns_leave(struct turns *turns, cl_command_queue queue);

/* A launch: `grid` is the larger side of its grid. */
struct turn {
    cl_program program;
    const char *kernel; /* a literal */
    size_t group[2], grid;
    bool alone; /* set by turns_begin */
};

/* Before the kernel is put into the queue, which must not be done unless this gives CL_SUCCESS. */
cl_int turns_begin(struct turns *turns, struct turn *turn);

/* After that, whatever turns_begin gave; `code` is what became of the launch. Waits for a launch that goes
 * alone, and notes its grid where it was launched. Gives the launch's failure or that of the wait. */
cl_int turns_end(struct turns *turns, const struct turn *turn, cl_command_queue queue, cl_int code);

#endif
