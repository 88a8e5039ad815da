/* Convolution kernels: parsing the text or file that a user gives.
 *
 * kernel_parse() and kernel_read() allocate the weights, kernel_free() frees them. On failure nothing
 * is allocated. Afterwards a kernel is read-only and may be shared by threads. */
#ifndef CLIMG_FILTERS_KERNEL_H
#define CLIMG_FILTERS_KERNEL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A matrix of weights in correlation order (not flipped); if separable, weight (i, j) is
 * along_x[i] * along_y[j]. */
struct kernel {
    int width, height;
    bool separable;
    bool is_differential;     /* the sum is 0: the kernel measures differences */
    float *along_x, *along_y; /* if separable; width and height weights */
    float *matrix;            /* if not: height rows of width weights */
};

enum { KERNEL_MAX_SIZE = 1023 };

/* Parses "1 4 6 4 1" (the same taps along x and y) or "-1 0 1 / 1 2 1" (along x / along y), with spaces or
 * commas between numbers. With `normalize`, the weights are divided by their sum, unless that is at most 1e-9
 * of the sum of absolute values. Returns STATUS_USAGE for an invalid list. */
enum status kernel_parse(const char *text, bool normalize, struct kernel *kernel, struct error *error);

/* Reads a matrix from a file: one row per line, all of one length; '#' begins a comment. A matrix of rank 1
 * becomes separable. Returns STATUS_FAILED if the file cannot be read or has no matrix; messages name it. */
enum status kernel_read(const char *path, bool normalize, struct kernel *kernel, struct error *error);

/* Returns a hash of size and weights. */
uint64_t kernel_hash(const struct kernel *kernel);

void kernel_free(struct kernel *kernel);

#endif
