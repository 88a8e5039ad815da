/* A reader-writer lock around clEnqueueNDRangeKernel, and a list of the largest grid of each kernel.
 *
 * A launch over a grid no larger than the kernel's largest enqueues under the read lock, so such launches run
 * concurrently. A larger one makes PoCL create a cache entry, which can crash other launches (see the
 * header). So it takes the write lock, waits until all registered queues are empty, enqueues, and waits for
 * its own end. The list has one element per program, kernel and group size, some tens in a long batch, so it
 * is searched linearly. */
#include "device/launch_serializer.h"

#include "base/timing.h"

#include <stdlib.h>
#include <string.h>

/* Largest grid that a kernel was launched over, per group size. */
struct largest_grid {
    struct largest_grid *next;
    cl_program program;
    const char *name; /* of the kernel; a string literal */
    size_t group[2];  /* group size */
    size_t side;      /* the larger side of the grid */
};

/* ---------------------------------------------------------------- compilations
 *
 * OpenCL does not say if a build compiles or loads from the driver's cache, and PoCL compiles a kernel when
 * it is launched with a new group size. So a period counts if it is long: at least MIN_COMPILATION. */

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

/* ---------------------------------------------------------------- launches */

void serializer_init(struct launch_serializer *serializer)
{
    serializer->count = 0;
    serializer->largest = NULL;
    serializer->failure = CL_SUCCESS;
    pthread_rwlock_init(&serializer->lock, NULL);
}

void serializer_free(struct launch_serializer *serializer)
{
    while (serializer->largest) {
        struct largest_grid *next = serializer->largest->next;
        free(serializer->largest);
        serializer->largest = next;
    }
    pthread_rwlock_destroy(&serializer->lock);
}

enum status serializer_add_queue(struct launch_serializer *serializer, cl_command_queue queue,
                                 struct error *error)
{
    pthread_rwlock_wrlock(&serializer->lock);
    const bool has_room = serializer->count < MAX_QUEUES;
    if (has_room)
        serializer->queues[serializer->count++] = queue;
    pthread_rwlock_unlock(&serializer->lock);
    return has_room ? STATUS_OK
                    : fail(error, STATUS_FAILED, "more than %d queues for one device", MAX_QUEUES);
}

void serializer_remove_queue(struct launch_serializer *serializer, cl_command_queue queue)
{
    pthread_rwlock_wrlock(&serializer->lock);
    for (int i = 0; i < serializer->count; i++)
        if (serializer->queues[i] == queue) {
            serializer->queues[i] = serializer->queues[--serializer->count];
            break;
        }
    pthread_rwlock_unlock(&serializer->lock);
}

/* Returns the larger of the grid's width and height. PoCL selects a cache entry by it
 * (pocl_cmd_max_grid_dim_width); the depth does not count. */
static size_t larger_side(const struct launch_request *request)
{
    return request->grid[0] > request->grid[1] ? request->grid[0] : request->grid[1];
}

/* Returns the entry of the kernel and group size, or NULL. Call with the lock held. */
static struct largest_grid *find_largest(const struct launch_serializer *serializer,
                                         const struct launch_request *request)
{
    struct largest_grid *one = serializer->largest;
    while (one && (one->program != request->program || one->group[0] != request->group[0] ||
                   one->group[1] != request->group[1] || strcmp(one->name, request->name) != 0))
        one = one->next;
    return one;
}

/* True if the grid is no larger than earlier ones. Call with the lock held. */
static bool is_known(const struct launch_serializer *serializer, const struct launch_request *request)
{
    const struct largest_grid *largest = find_largest(serializer, request);
    return largest && larger_side(request) <= largest->side;
}

/* Waits for a queue, unless a wait has failed. Call with the lock held for writing. */
static void wait_for(struct launch_serializer *serializer, cl_command_queue queue)
{
    if (serializer->failure == CL_SUCCESS)
        serializer->failure = clFinish(queue);
}

/* Enqueues the kernel. The call may compile. */
static cl_int enqueue_now(const struct launch_request *request, cl_event *event)
{
    compiling_begin();
    cl_int code = clEnqueueNDRangeKernel(request->queue, request->kernel, 3, NULL, request->grid,
                                         request->group, 0, NULL, event);
    compiling_end();
    return code;
}

cl_int serializer_enqueue(struct launch_serializer *serializer, const struct launch_request *request,
                          cl_event *event, bool *is_exclusive, double *since)
{
    *is_exclusive = false;
    *since = clock_seconds();
    if (!serializer)
        return enqueue_now(request, event);

    /* A known grid: enqueue under the read lock. Else, unless another thread has launched it meanwhile, wait
     * under the write lock until all queues are empty. */
    pthread_rwlock_rdlock(&serializer->lock);
    if (!is_known(serializer, request)) {
        pthread_rwlock_unlock(&serializer->lock);
        pthread_rwlock_wrlock(&serializer->lock);
        *is_exclusive = !is_known(serializer, request);
        for (int i = 0; *is_exclusive && i < serializer->count; i++)
            wait_for(serializer, serializer->queues[i]);
    }
    *since = clock_seconds(); /* after the wait */
    cl_int code = serializer->failure;
    if (code == CL_SUCCESS)
        code = enqueue_now(request, event);
    if (*is_exclusive && code == CL_SUCCESS) {
        wait_for(serializer, request->queue);
        code = serializer->failure;
        /* Record the grid. If out of memory, the next launch over it will be exclusive again. */
        struct largest_grid *one = code == CL_SUCCESS ? find_largest(serializer, request) : NULL;
        if (code == CL_SUCCESS && !one && (one = malloc(sizeof *one))) {
            *one = (struct largest_grid){.next = serializer->largest,
                                         .program = request->program,
                                         .name = request->name,
                                         .group = {request->group[0], request->group[1]}};
            serializer->largest = one;
        }
        if (one)
            one->side = larger_side(request);
    }
    pthread_rwlock_unlock(&serializer->lock);
    return code;
}
