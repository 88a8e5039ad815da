/* Convolution kernels as users write them. */
#ifndef CLIMG_FILTERS_KERNEL_H
#define CLIMG_FILTERS_KERNEL_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A matrix of weights, or two lists that stand for the matrix along_y[j] * along_x[i]. Correlation order. */
struct kernel {
    int width, height;
    bool separable;
    float *along_x, *along_y; /* separable */
    float *matrix;            /* otherwise: height rows of width */
};

enum { KERNEL_MAX_SIZE = 1023 };

/* "1 4 6 4 1": the same taps along x and y; "-1 0 1 / 1 2 1": along x / along y. Numbers are separated by
 * spaces or commas. Divided by the sum of the matrix if `normalize` and that is not 0 (to 1e-9 of the sum of
 * absolute values). STATUS_USAGE on a bad list. */
enum status kernel_parse(const char *text, bool normalize, struct kernel *kernel, struct error *error);

/* A file of numbers, one row a line, all rows of one length; '#' begins a comment. A matrix of rank 1 becomes
 * separable. STATUS_FAILED if it cannot be read or is not a matrix; the message names the file. */
enum status kernel_read(const char *path, bool normalize, struct kernel *kernel, struct error *error);

/* True if the weights add up to 0: such a kernel measures differences. */
bool kernel_is_differential(const struct kernel *kernel);

/* Of its size and weights. */
uint64_t kernel_hash(const struct kernel *kernel);

void kernel_free(struct kernel *kernel);

#endif
