/* Shared by the fuzzers' targets. */
#ifndef CLIMG_FUZZ_FUZZ_H
#define CLIMG_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_PATH_SIZE = 32 };

static inline void insist(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* A file of these bytes: its descriptor, for close(), and its path. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[FUZZ_PATH_SIZE])
{
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    insist(file >= 0 && write(file, data, size) == (ssize_t)size, "no file for the input");
    snprintf(path, FUZZ_PATH_SIZE, "/proc/self/fd/%d", file);
    return file;
}

#endif
