/* In which order kernels go into the queues of a CPU device.
 *
 * PoCL has an entry for a kernel in groups of one size, and makes another one when a grid is larger than all
 * before. Up to 5.0 a launch that ends gives back the newest entry, whichever it took when it began, and the
 * process aborts where that one is not in use. So a launch that makes an entry goes alone: it begins when all
 * others are done, and they go on when it is done. That is so for the first launch, which compiles, too. */
#ifndef CLIMG_DEVICE_LAUNCH_SERIALIZER_H
#define CLIMG_DEVICE_LAUNCH_SERIALIZER_H

#include "base/error.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>

/* The serializer of all queues of one context. */
struct launch_serializer {
    pthread_rwlock_t lock;
    struct serializer_queue *queues;
    struct largest_grid *largest;
    cl_int failure; /* of a wait: nothing is launched any more, as nobody knows what is under way */
};

void serializer_init(struct launch_serializer *serializer);
void serializer_free(struct launch_serializer *serializer);

/* A queue joins before its first launch, and leaves before it is released. One that did not join may leave.
 */
enum status serializer_join(struct launch_serializer *serializer, cl_command_queue queue,
                            struct error *error);
void serializer_leave(struct launch_serializer *serializer, cl_command_queue queue);

/* A launch: `grid` is the larger side of its grid. */
struct launch_request {
    cl_program program;
    const char *kernel; /* a literal */
    size_t group[2], grid;
    bool exclusive; /* set by serializer_begin */
};

/* Before the kernel is put into the queue, which must not be done unless this gives CL_SUCCESS. */
cl_int serializer_begin(struct launch_serializer *serializer, struct launch_request *request);

/* After that, whatever serializer_begin gave; `code` is what became of the launch. Waits for a launch that
 * goes alone, and notes its grid where it was launched. Gives the launch's failure or that of the wait. */
cl_int serializer_end(struct launch_serializer *serializer, const struct launch_request *request,
                      cl_command_queue queue, cl_int code);

#endif
