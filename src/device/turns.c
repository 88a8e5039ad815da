#include "device/turns.h"

#include <stdlib.h>
#include <string.h>

struct turns_queue {
    struct turns_queue *next;
    cl_command_queue queue;
};

/* The largest grid that a kernel was launched over in groups of one size. */
struct turns_largest {
    struct turns_largest *next;
    cl_program program;
    const char *kernel; /* a literal */
    size_t group[2], grid;
};

void turns_init(struct turns *turns)
{
    *turns = (struct turns){.queues = NULL};
    pthread_rwlock_init(&turns->lock, NULL);
}

void turns_free(struct turns *turns)
{
    while (turns->queues) {
        struct turns_queue *next = turns->queues->next;
        free(turns->queues);
        turns->queues = next;
    }
    while (turns->largest) {
        struct turns_largest *next = turns->largest->next;
        free(turns->largest);
        turns->largest = next;
    }
    pthread_rwlock_destroy(&turns->lock);
}

enum status turns_join(struct turns *turns, cl_command_queue queue, struct error *error)
{
    struct turns_queue *one = allocate(sizeof *one, "the list of queues", error);
    if (!one)
        return STATUS_FAILED;
    pthread_rwlock_wrlock(&turns->lock);
    *one = (struct turns_queue){.next = turns->queues, .queue = queue};
    turns->queues = one;
    pthread_rwlock_unlock(&turns->lock);
    return STATUS_OK;
}

void turns_leave(struct turns *turns, cl_command_queue queue)
{
    pthread_rwlock_wrlock(&turns->lock);
    struct turns_queue **place = &turns->queues;
    while (*place && (*place)->queue != queue)
        place = &(*place)->next;
    struct turns_queue *found = *place;
    if (found)
        *place = found->next;
    pthread_rwlock_unlock(&turns->lock);
    free(found);
}

/* Locked. NULL: the kernel was never launched so. */
static struct turns_largest *turns_find(const struct turns *turns, const struct turn *turn)
{
    struct turns_largest *one = turns->largest;
    while (one && (one->program != turn->program || one->group[0] != turn->group[0] ||
                   one->group[1] != turn->group[1] || strcmp(one->kernel, turn->kernel) != 0))
        one = one->next;
    return one;
}

/* Locked. */
static bool is_known(const struct turns *turns, const struct turn *turn)
{
    const struct turns_largest *largest = turns_find(turns, turn);
    return largest && turn->grid <= largest->grid;
}

/* Locked for writing. Without memory the next launch goes alone, too. */
static void turns_note(struct turns *turns, const struct turn *turn)
{
    struct turns_largest *one = turns_find(turns, turn);
    if (one) {
        one->grid = turn->grid;
        return;
    }
    one = malloc(sizeof *one);
    if (!one)
        return;
    *one = (struct turns_largest){.next = turns->largest,
                                  .program = turn->program,
                                  .kernel = turn->kernel,
                                  .group = {turn->group[0], turn->group[1]},
                                  .grid = turn->grid};
    turns->largest = one;
}

/* Locked for writing. */
static void wait_for(struct turns *turns, cl_command_queue queue)
{
    if (turns->failure == CL_SUCCESS)
        turns->failure = clFinish(queue);
}

cl_int turns_begin(struct turns *turns, struct turn *turn)
{
    pthread_rwlock_rdlock(&turns->lock);
    turn->alone = !is_known(turns, turn);
    if (!turn->alone)
        return turns->failure;
    pthread_rwlock_unlock(&turns->lock);
    pthread_rwlock_wrlock(&turns->lock);
    turn->alone = !is_known(turns, turn); /* another thread may have been faster */
    for (const struct turns_queue *one = turns->queues; turn->alone && one; one = one->next)
        wait_for(turns, one->queue);
    return turns->failure;
}

cl_int turns_end(struct turns *turns, const struct turn *turn, cl_command_queue queue, cl_int code)
{
    if (turn->alone)
        wait_for(turns, queue);
    if (code == CL_SUCCESS)
        code = turns->failure;
    if (turn->alone && code == CL_SUCCESS)
        turns_note(turns, turn);
    pthread_rwlock_unlock(&turns->lock);
    return code;
}
