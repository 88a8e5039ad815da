/* Serializes those launches on CPU devices that would otherwise crash PoCL.
 *
 * PoCL has a cache entry for each kernel and work-group size, and adds another one when a grid is larger than
 * all before. Up to version 5.0 a launch that finishes releases the newest entry instead of its own, and the
 * process aborts if that entry is not in use (pocl_release_dlhandle_cache: ref_count > 0). Therefore a launch
 * that creates an entry, such as each kernel's first one, runs alone: it begins after all others have
 * finished, and no other begins before it has finished.
 *
 * One serializer serves all queues of a context. Thread safety: any thread may call, except init and
 * free. */
#ifndef CLIMG_DEVICE_LAUNCH_SERIALIZER_H
#define CLIMG_DEVICE_LAUNCH_SERIALIZER_H

#include "base/error.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>

/* Launches and queues of one context. */
struct launch_serializer {
    pthread_rwlock_t lock;           /* guards everything below */
    struct serializer_queue *queues; /* registered queues */
    struct largest_grid *largest;    /* largest grid so far by program, kernel and group size */
    cl_int failure; /* error of a wait. Then all launches fail, as it is unknown which ones still run */
};

void serializer_init(struct launch_serializer *serializer);
void serializer_free(struct launch_serializer *serializer);

/* Register a queue before its first launch, and unregister it before its release. Unregistering an unknown
 * queue is safe. */
enum status serializer_add_queue(struct launch_serializer *serializer, cl_command_queue queue,
                                 struct error *error);
void serializer_remove_queue(struct launch_serializer *serializer, cl_command_queue queue);

/* A launch that is about to be enqueued. */
struct launch_request {
    cl_program program;
    const char *kernel; /* a string literal */
    size_t group[2];    /* work-group size along x and y */
    size_t grid;        /* larger side of the grid, in work-items */
    bool is_exclusive;  /* the launch runs alone; set by serializer_begin */
};

/* Waits until the kernel may be enqueued. Call serializer_end afterwards, and enqueue only if the result is
 * CL_SUCCESS. */
cl_int serializer_begin(struct launch_serializer *serializer, struct launch_request *request);

/* Ends the launch, also after a failure of serializer_begin. `code` is the result of the enqueue, or of
 * serializer_begin. Waits for an exclusive launch and records its grid. Returns the error of the launch or of
 * the wait. */
cl_int serializer_end(struct launch_serializer *serializer, const struct launch_request *request,
                      cl_command_queue queue, cl_int code);

#endif
