#include "base/error.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* Replaces libc's functions by a system of larger pages: mappings begin at a page, and only whole pages are
 * unmapped.
 */
enum { LARGE = 2 << 20 };
static size_t page;
static size_t mapped; /* bytes */

long sysconf(int name)
{
    long (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_PAGESIZE && page > 0 ? (long)page : real(name);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    if (page == 0 || size < LARGE)
        return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
    uintptr_t room = (uintptr_t)syscall(SYS_mmap, NULL, size + page, protection, flags, file, offset);
    mapped += (size + page - 1) / page * page;
    return (void *)((room + page - 1) / page * page);
}

int munmap(void *address, size_t size)
{
    if (page == 0)
        return (int)syscall(SYS_munmap, address, size);
    if ((uintptr_t)address % page != 0)
        return -1;
    size = (size + page - 1) / page * page;
    mapped -= size;
    return (int)syscall(SYS_munmap, address, size);
}

static void gives_back_pages_of_any_size(void **state)
{
    const size_t pages[] = {4096, 16384, 65536},
                 sizes[] = {1, 5000, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 20000};
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            page = pages[i];
            unsigned char *memory = allocate_pages(sizes[k]);
            size_t held = mapped;
            bool begins = (uintptr_t)memory % page == 0;
            if (memory)
                memset(memory, 1, sizes[k]);
            free_pages(memory, sizes[k]);
            page = 0;
            assert_non_null(memory);
            assert_true(begins);
            assert_true(held == 0 || (held >= sizes[k] && held < sizes[k] + pages[i]));
            assert_int_equal(mapped, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gives_back_pages_of_any_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
