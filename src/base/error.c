/* Messages, allocation with messages, and page-aligned memory for pixels.
 *
 * A message is formatted once, where the failure happens, into the caller's struct error. It needs no memory,
 * so that "out of memory" can always be reported. Text that does not fit into the struct is cut off. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NAME_SHOWN = 512 }; /* last bytes of a long path that a message shows, to leave room for the rest */

static void set_message(struct error *error, bool is_out_of_memory, const char *format, va_list arguments)
{
    // cppcheck-suppress ctuuninitvar ; the text is written, not read
    vsnprintf(error->text, sizeof error->text, format, arguments);
    error->has_name = false;
    error->is_out_of_memory = is_out_of_memory;
    error->is_device_error = false;
    error->scope = SCOPE_FILE;
    error->stage = NULL;
}

enum status fail(struct error *error, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_message(error, false, format, arguments);
    va_end(arguments);
    return status;
}

void error_set(struct error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_message(error, false, format, arguments);
    va_end(arguments);
}

enum status fail_memory(struct error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set_message(error, true, format, arguments);
    va_end(arguments);
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
    const bool is_cut = length > NAME_SHOWN;
    error_set(error, "%s%s: %s", is_cut ? "..." : "", is_cut ? name + length - NAME_SHOWN : name,
              before.text);
    error->has_name = true;
    error->is_out_of_memory = before.is_out_of_memory;
    error->is_device_error = before.is_device_error;
    error->scope = before.scope;
    error->stage = before.stage;
}

void error_prefix_once(struct error *error, const char *name)
{
    if (!error->has_name)
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
    void *memory = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    if (memory == NULL)
        fail_memory(error, "out of memory for %s", what);
    return memory;
}

void *array_grow(void *array, size_t count, size_t size, const char *what, struct error *error)
{
    if ((count & (count - 1)) != 0)
        return array;
    void *larger = realloc(array, (count > 0 ? 2 * count : 1) * size);
    if (larger == NULL)
        fail_memory(error, "out of memory for %s", what);
    return larger;
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

static const size_t HUGE_PAGE = (size_t)2 << 20; /* bytes; x86-64, and arm64 with 4 KiB pages */

/* Rounds up to whole pages of 4096 bytes, on arm64 also of 16 or 64 KiB. */
static size_t round_up_to_pages(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page;
}

/* Uses huge pages: with 4 KiB pages, page faults took half of the time of an unsliced image (2048x2048
 * wavelet and back: 230 ms, with huge pages 110). Large blocks are mapped and unmapped, as on the heap they
 * would leave holes. */
void *allocate_pages(size_t size)
{
    if (size < HUGE_PAGE)
        return aligned_alloc(round_up_to_pages(1), round_up_to_pages(size));

    /* Map one huge page too many: mmap aligns to small pages only. */
    size = round_up_to_pages(size);
    const size_t room = size + HUGE_PAGE;
    // cppcheck-suppress invalidFunctionArg ; without a file there is no descriptor
    unsigned char *mapped = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;

    /* Unmap the excess on both sides. The end of the block, less than 2 MiB, is in small pages. */
    const size_t before = (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0)
        munmap(mapped, before);
    munmap(mapped + before + size, room - before - size);
    madvise(mapped + before, size, MADV_HUGEPAGE); /* a failure is ignored: small pages work as well */
    // cppcheck-suppress deallocret ; only the parts before and after it were unmapped
    return mapped + before;
}

void discard_pages(void *memory, size_t size)
{
    if (size >= HUGE_PAGE)
        madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_DONTNEED);
}

void free_pages(void *memory, size_t size)
{
    if (size < HUGE_PAGE)
        free(memory);
    else if (memory)
        munmap(memory, round_up_to_pages(size));
}
