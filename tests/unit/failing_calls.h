/* Stands between climg and libc and an OpenCL that is linked in: it notes from where calls that can fail are
 * made, fails one of them, and counts the memory that was not freed. The Makefile has the linker put
 * __wrap_NAME in the place of each NAME here and in tests/torture/calls.h, which whole commands have before
 * them, too. To be included once. */
#ifndef CLIMG_TESTS_FAILING_CALLS_H
#define CLIMG_TESTS_FAILING_CALLS_H

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct site {
    const char *call;
    int number; /* which of its calls; 0: none */
};

enum { MAX_SITES = 1 << 14, MAX_CALLS = 128, MAX_DEPTH = 48, MAX_LIVE = 1 << 15 };

static struct {
    pthread_mutex_t lock;
    enum { IDLE, RECORDING, FAILING } mode;
    struct site fault;
    bool always;
    atomic_int met; /* calls of the function that is to fail */
    struct site counts[MAX_CALLS];
    struct site fresh[MAX_SITES]; /* calls of this line whose stack is new */
    int fresh_count;
    uint64_t known[2 * MAX_SITES]; /* stacks of all lines, by hash; 0: free */
    void *live[MAX_LIVE];          /* memory that was not freed, by address */
    int live_count;
} faults = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* FNV-1a. */
static uint64_t hash_stack(const char *call)
{
    void *frames[MAX_DEPTH];
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int depth = backtrace(frames, MAX_DEPTH);
    for (int i = 2; i < depth; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
    return (hash ^ (uintptr_t)call) | 1;
}

/* Locked. Whether it was not there before. */
static bool add_known(uint64_t stack)
{
    size_t at = stack % (2 * MAX_SITES);
    while (faults.known[at] != 0 && faults.known[at] != stack)
        at = (at + 1) % (2 * MAX_SITES);
    bool fresh = faults.known[at] == 0;
    faults.known[at] = stack;
    return fresh;
}

static void record(const char *call)
{
    uint64_t stack = hash_stack(call);
    struct site *count = faults.counts;
    pthread_mutex_lock(&faults.lock);
    while (count->call && strcmp(count->call, call) != 0)
        count++;
    count->call = call;
    count->number++;
    if (faults.fresh_count < MAX_SITES && add_known(stack))
        faults.fresh[faults.fresh_count++] = *count;
    pthread_mutex_unlock(&faults.lock);
}

static bool is_fault(const char *call)
{
    if (faults.mode == RECORDING)
        record(call);
    if (faults.mode != FAILING || strcmp(call, faults.fault.call) != 0)
        return false;
    int number = atomic_fetch_add(&faults.met, 1) + 1;
    return faults.always ? number >= faults.fault.number : number == faults.fault.number;
}

static size_t place_of(const void *memory)
{
    size_t at = (size_t)((uintptr_t)memory / 16 * UINT64_C(0x9e3779b97f4a7c15) % MAX_LIVE);
    while (faults.live[at] && faults.live[at] != memory)
        at = (at + 1) % MAX_LIVE;
    return at;
}

static void *note_memory(void *memory)
{
    pthread_mutex_lock(&faults.lock);
    if (memory) {
        faults.live[place_of(memory)] = memory;
        faults.live_count++;
    }
    pthread_mutex_unlock(&faults.lock);
    return memory;
}

/* Memory that libraries allocated is not in the table. */
static void forget_memory(void *memory)
{
    pthread_mutex_lock(&faults.lock);
    size_t at = place_of(memory);
    if (memory && faults.live[at]) {
        faults.live[at] = NULL;
        faults.live_count--;
        for (size_t next = (at + 1) % MAX_LIVE; faults.live[next]; next = (next + 1) % MAX_LIVE) {
            void *moved = faults.live[next];
            faults.live[next] = NULL;
            faults.live[place_of(moved)] = moved;
        }
    }
    pthread_mutex_unlock(&faults.lock);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *__wrap_malloc(size_t size)
{
    return is_fault("malloc") ? no_memory() : note_memory(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_fault("calloc") ? no_memory() : note_memory(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    if (is_fault("realloc"))
        return no_memory();
    forget_memory(memory);
    return note_memory(__real_realloc(memory, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_fault("aligned_alloc") ? no_memory() : note_memory(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    forget_memory(memory);
    __real_free(memory);
}

static bool fails(const char *call, int usual)
{
    if (!is_fault(call))
        return false;
    errno = usual;
    return true;
}

#define FAILS(name, usual) fails(#name, usual)
#define REAL(name)         __real_##name
#define STANDS_BEFORE(type, name, parameters)                                                                \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters
#define COUNTS(file)        true
#define COUNTS_STREAM(file) ((file) != stdout)
#define CUTS_SHORT          false
#include "../torture/calls.h"

CL_FAILS(clEnqueueNDRangeKernel,
         (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
          const size_t *global, const size_t *local, cl_uint n, const cl_event *wait, cl_event *event),
         (queue, kernel, dimensions, offset, global, local, n, wait, event), CL_OUT_OF_RESOURCES)
CL_FAILS(clWaitForEvents, (cl_uint n, const cl_event *events), (n, events), CL_OUT_OF_RESOURCES)
CL_FAILS(clGetEventInfo, (cl_event event, cl_event_info what, size_t size, void *value, size_t *length),
         (event, what, size, value, length), CL_OUT_OF_HOST_MEMORY)

#endif
