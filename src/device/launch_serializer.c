/* A reader-writer lock around clEnqueueNDRangeKernel, and a list of the largest grid of each kernel.
 *
 * A launch over a grid that is not larger enqueues under the read lock, so such launches run concurrently. A
 * launch that makes PoCL create a cache entry takes the write lock: it waits until all registered queues are
 * empty, enqueues, and waits for its own end. The list has one element per program, kernel and group size,
 * some tens in a long batch, so it is searched linearly. */
#include "device/launch_serializer.h"

#include <stdlib.h>
#include <string.h>

/* A registered queue. */
struct serializer_queue {
    struct serializer_queue *next;
    cl_command_queue queue;
};

/* Largest grid that a kernel was launched over, per group size. */
struct largest_grid {
    struct largest_grid *next;
    cl_program program;
    const char *kernel; /* a string literal */
    size_t group[2], grid;
};

void serializer_init(struct launch_serializer *serializer)
{
    *serializer = (struct launch_serializer){.queues = NULL};
    pthread_rwlock_init(&serializer->lock, NULL);
}

void serializer_free(struct launch_serializer *serializer)
{
    while (serializer->queues) {
        struct serializer_queue *next = serializer->queues->next;
        free(serializer->queues);
        serializer->queues = next;
    }
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
    struct serializer_queue *one = allocate(sizeof *one, "the list of queues", error);
    if (!one)
        return STATUS_FAILED;
    pthread_rwlock_wrlock(&serializer->lock);
    *one = (struct serializer_queue){.next = serializer->queues, .queue = queue};
    serializer->queues = one;
    pthread_rwlock_unlock(&serializer->lock);
    return STATUS_OK;
}

void serializer_remove_queue(struct launch_serializer *serializer, cl_command_queue queue)
{
    pthread_rwlock_wrlock(&serializer->lock);
    struct serializer_queue **link = &serializer->queues;
    while (*link && (*link)->queue != queue)
        link = &(*link)->next;
    struct serializer_queue *found = *link;
    if (found)
        *link = found->next;
    pthread_rwlock_unlock(&serializer->lock);
    free(found);
}

/* Returns the entry of the kernel and group size, or NULL. Call with the lock held. */
static struct largest_grid *find_largest(const struct launch_serializer *serializer,
                                         const struct launch_request *request)
{
    struct largest_grid *one = serializer->largest;
    while (one && (one->program != request->program || one->group[0] != request->group[0] ||
                   one->group[1] != request->group[1] || strcmp(one->kernel, request->kernel) != 0))
        one = one->next;
    return one;
}

/* True if the grid is no larger than earlier ones. Call with the lock held. */
static bool is_known(const struct launch_serializer *serializer, const struct launch_request *request)
{
    const struct largest_grid *largest = find_largest(serializer, request);
    return largest && request->grid <= largest->grid;
}

/* Waits for a queue, unless a wait has failed. Call with the lock held for writing. */
static void wait_for(struct launch_serializer *serializer, cl_command_queue queue)
{
    if (serializer->failure == CL_SUCCESS)
        serializer->failure = clFinish(queue);
}

cl_int serializer_begin(struct launch_serializer *serializer, struct launch_request *request)
{
    /* A known grid: hold the read lock until serializer_end. */
    pthread_rwlock_rdlock(&serializer->lock);
    request->is_exclusive = !is_known(serializer, request);
    if (!request->is_exclusive)
        return serializer->failure;

    /* Otherwise hold the write lock, and wait until all queues are empty. */
    pthread_rwlock_unlock(&serializer->lock);
    pthread_rwlock_wrlock(&serializer->lock);
    request->is_exclusive =
        !is_known(serializer, request); /* another thread may have launched it meanwhile */
    for (const struct serializer_queue *one = serializer->queues; request->is_exclusive && one;
         one = one->next)
        wait_for(serializer, one->queue);
    return serializer->failure;
}

cl_int serializer_end(struct launch_serializer *serializer, const struct launch_request *request,
                      cl_command_queue queue, cl_int code)
{
    if (request->is_exclusive)
        wait_for(serializer, queue);
    if (code == CL_SUCCESS)
        code = serializer->failure;

    /* Record the grid. Without memory for it, the next launch over it is exclusive, too. */
    if (request->is_exclusive && code == CL_SUCCESS) {
        struct largest_grid *one = find_largest(serializer, request);
        if (!one && (one = malloc(sizeof *one))) {
            *one = (struct largest_grid){.next = serializer->largest,
                                         .program = request->program,
                                         .kernel = request->kernel,
                                         .group = {request->group[0], request->group[1]}};
            serializer->largest = one;
        }
        if (one)
            one->grid = request->grid;
    }
    pthread_rwlock_unlock(&serializer->lock);
    return code;
}
