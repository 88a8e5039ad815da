#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t HUGE_PAGE = (size_t)2 << 20;

/* 4096 bytes, on arm64 also 16 or 64 KiB. */
static size_t page_size(void)
{
    long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (size_t)size : 4096;
}

static size_t whole_pages(size_t size)
{
    size_t page = page_size();
    return (size + page - 1) / page * page;
}

/* The part of a larger mapping that begins with a huge page; its end is in small ones, as far as it is used.
 */
static void *map_aligned(size_t size)
{
    size_t room = size + HUGE_PAGE;
    // cppcheck-suppress invalidFunctionArg ; without a file there is no descriptor
    unsigned char *mapped = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(mapped, before);
    munmap(mapped + before + size, room - before - size);
#ifdef MADV_HUGEPAGE
    madvise(mapped + before, size, MADV_HUGEPAGE); /* advice: small pages work as well */
#endif
    // cppcheck-suppress deallocret ; what lies before and behind it went back
    return mapped + before;
}

/* First writes to fresh memory fault once a page: with small pages that is half of the kernels' time where an
 * image goes through the device whole (2048x2048 wavelet and back: 230 ms, in huge pages 110). What is large
 * comes from the system and goes back there: on the heap, such blocks that come and go leave holes. */
void *allocate_pages(size_t size)
{
    return size < HUGE_PAGE ? aligned_alloc(page_size(), whole_pages(size)) : map_aligned(whole_pages(size));
}

void free_pages(void *memory, size_t size)
{
    if (size < HUGE_PAGE)
        free(memory);
    else if (memory)
        munmap(memory, whole_pages(size));
}
