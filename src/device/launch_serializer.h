/* Serializes those launches on CPU devices that would otherwise crash PoCL.
 *
 * PoCL has a cache entry for each kernel and work-group size, and adds another one when a grid is larger than
 * all before. Up to version 5.0 a launch that finishes releases the newest entry instead of its own, and the
 * process aborts if that entry is not in use (pocl_release_dlhandle_cache: ref_count > 0). Therefore a launch
 * that creates an entry, such as each kernel's first one, runs alone: it begins after all others have
 * finished, and no other begins before it has finished.
 *
 * One serializer serves all queues of a context. The process has one clock of compilations. Thread safety:
 * any thread may call, except init and free. */
#ifndef CLIMG_DEVICE_LAUNCH_SERIALIZER_H
#define CLIMG_DEVICE_LAUNCH_SERIALIZER_H

#include "base/error.h"

#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>

enum { MAX_QUEUES = 1024 };

/* Launches and queues of one context. */
struct launch_serializer {
    pthread_rwlock_t lock;               /* guards everything below */
    cl_command_queue queues[MAX_QUEUES]; /* registered queues */
    int count;                           /* number of them */
    struct largest_grid *largest;        /* largest grid so far by program, kernel and group size */
    cl_int failure; /* error of a wait. Then all launches fail, as it is unknown which ones still run */
};

void serializer_init(struct launch_serializer *serializer);
void serializer_free(struct launch_serializer *serializer);

/* Register a queue before its first launch, and unregister it before its release. Unregistering an unknown
 * queue is safe. */
enum status serializer_add_queue(struct launch_serializer *serializer, cl_command_queue queue,
                                 struct error *error);
void serializer_remove_queue(struct launch_serializer *serializer, cl_command_queue queue);

/* A launch. */
struct launch_request {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_program program;
    const char *name;         /* of the kernel; a string literal */
    size_t grid[3], group[3]; /* sizes in work-items */
};

/* Enqueues a kernel when it may be launched. Sets *is_exclusive if it ran alone: then it has finished.
 * *since receives the time (clock_seconds) of the enqueue, after the wait for other launches. Returns the
 * error of the launch or of a wait. Without a `serializer`, NULL, it only enqueues. */
cl_int serializer_enqueue(struct launch_serializer *serializer, const struct launch_request *request,
                          cl_event *event, bool *is_exclusive, double *since);

/* Call these before and after a call that may compile: clBuildProgram, or the first launch of a kernel. Calls
 * of several threads may overlap; they form one period. */
void compiling_begin(void);
void compiling_end(void);

/* Returns the seconds of all periods so far while a compiler is running, and 0 at other times. Periods of
 * less than 0.05 s do not count: these calls compiled nothing. */
double compiling_seconds(void);

#endif
