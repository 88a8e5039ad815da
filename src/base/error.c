/* Messages, allocation with messages, and page-aligned memory for pixels. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NAME_SHOWN = 512 }; /* bytes of a path in a message: its end, so that the problem fits after it */

enum status fail(struct error *error, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    // cppcheck-suppress ctuuninitvar ; the text is written, not read
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->named = error->memory = false;
    error->scope = SCOPE_FILE;
    return status;
}

enum status fail_memory(struct error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    // cppcheck-suppress ctuuninitvar ; as in fail
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->named = false;
    error->memory = true;
    error->scope = SCOPE_FILE;
    return STATUS_FAILED;
}

enum status fail_writing(struct error *error, int code)
{
    fail(error, STATUS_FAILED, "cannot write: %s", strerror(code));
    if (code == ENOSPC || code == EDQUOT || code == EROFS)
        error->scope = SCOPE_DISK;
    return STATUS_FAILED;
}

void error_prefix(struct error *error, const char *name)
{
    const struct error before = *error;
    const size_t length = strlen(name);
    const bool cut = length > NAME_SHOWN;
    fail(error, STATUS_FAILED, "%s%s: %s", cut ? "..." : "", cut ? name + length - NAME_SHOWN : name,
         before.text);
    error->named = true;
    error->memory = before.memory;
    error->scope = before.scope;
}

void error_name(struct error *error, const char *name)
{
    if (!error->named)
        error_prefix(error, name);
}

void *allocate(size_t size, const char *what, struct error *error)
{
    /* malloc(0) may return NULL, which callers could not tell from failure. */
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        fail_memory(error, "out of memory for %s", what);
    return memory;
}

void *allocate_zeroed(size_t count, size_t size, const char *what, struct error *error)
{
    bool fits = size == 0 || count <= SIZE_MAX / size;
    void *memory = fits ? calloc(count > 0 ? count : 1, size > 0 ? size : 1) : NULL;
    if (memory == NULL)
        fail_memory(error, "out of memory for %s", what);
    return memory;
}

char *copy_text(const char *text, struct error *error)
{
    size_t size = strlen(text) + 1;
    char *copy = allocate(size, "text", error);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

/* ---------------------------------------------------------------- pages */

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

/* Maps `size` bytes that begin at a huge page. The end is in small pages, as far as it is used. */
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
    // cppcheck-suppress deallocret ; only the parts before and after it were unmapped
    return mapped + before;
}

/* The first write to each page of fresh memory faults. With small pages that is half of the kernels' time if
 * an image goes through the device whole (2048x2048 wavelet and back: 230 ms, in huge pages 110). Large
 * blocks are mapped and unmapped: on the heap they would leave holes. */
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
