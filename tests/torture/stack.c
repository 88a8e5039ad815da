/* The stacks of calls, for fail.c. Of 1,000 calls of malloc most come from one place by one way, a row each:
 * to fail one of them is to fail them all. */
#include "stack.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

/* Frames that tell two stacks apart, from the call on. */
enum { DEPTH = 12 };

/* Read by tests/torture/torture.py, which knows this layout. The file's size limits their number. */
struct records {
    atomic_uint_fast64_t used;
    struct {
        uint64_t call, stack;
    } at[];
};

struct walk {
    const struct range *modules;
    int count, depth;
    uint64_t hash;
};

static struct records *records;
static uint64_t capacity;

/* FNV-1a, 64 bits at a time. */
static void mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * 0x100000001b3;
    *hash ^= *hash >> 32;
}

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *frame, void *context)
{
    struct walk *walk = context;
    uintptr_t at = _Unwind_GetIP(frame);
    for (int i = 0; i < walk->count; i++)
        if (at >= walk->modules[i].begin && at < walk->modules[i].end) {
            mix(&walk->hash, (uint64_t)i);
            mix(&walk->hash, at - walk->modules[i].begin);
            walk->depth++;
        }
    return walk->depth < DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

uint64_t stack_hash(const struct range *modules, int count)
{
    struct walk walk = {.modules = modules, .count = count, .hash = 0xcbf29ce484222325};
    _Unwind_Backtrace(take_frame, &walk);
    return walk.hash;
}

struct search {
    const struct range *modules;
    int count, found;
};

static _Unwind_Reason_Code find_module(struct _Unwind_Context *frame, void *context)
{
    struct search *search = context;
    uintptr_t at = _Unwind_GetIP(frame);
    for (int i = 0; i < search->count && search->found < 0; i++)
        if (at >= search->modules[i].begin && at < search->modules[i].end)
            search->found = i;
    return search->found < 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

int stack_innermost(const struct range *modules, int count)
{
    struct search search = {modules, count, -1};
    _Unwind_Backtrace(find_module, &search);
    return search.found;
}

void stack_open_record(void)
{
    const char *path = getenv("FAIL_STACKS");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    struct stat there;
    if (fstat(file, &there) == 0) {
        void *shared =
            (void *)syscall(SYS_mmap, NULL, there.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        records = shared == MAP_FAILED ? NULL : shared;
        capacity = ((uint64_t)there.st_size - sizeof *records) / sizeof records->at[0];
    }
    syscall(SYS_close, file);
}

bool stack_is_recorded(void)
{
    return records;
}

void stack_record(uint64_t call, uint64_t stack)
{
    uint64_t at = atomic_fetch_add(&records->used, 1);
    if (at < capacity) {
        records->at[at].call = call;
        records->at[at].stack = stack;
    }
}
