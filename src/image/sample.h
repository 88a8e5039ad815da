/* What files hold for a channel of a pixel. */
#ifndef CLIMG_IMAGE_SAMPLE_H
#define CLIMG_IMAGE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

enum sample_type {
    SAMPLE_UINT8,
    SAMPLE_UINT16,
    SAMPLE_UINT32,
    SAMPLE_HALF,    /* IEEE 754 binary16 */
    SAMPLE_FLOAT,   /* IEEE 754 binary32 */
    SAMPLE_COMPLEX, /* two binary32: real, imaginary */
    SAMPLE_INT8,    /* signed; full scale is the largest value */
    SAMPLE_INT16,
    SAMPLE_INT32,
};

size_t sample_size(enum sample_type type); /* bytes */

/* Sample number `index` as the chain takes it. Of SAMPLE_COMPLEX each is two floats, which are samples. */
double sample_value(enum sample_type type, const void *samples, size_t index);

/* The same of `count` samples from `first` on, which is quicker. */
void sample_values(enum sample_type type, const void *samples, size_t first, size_t count, double *values);

bool sample_is_float(enum sample_type type);
bool sample_is_signed(enum sample_type type); /* integers */

/* The largest value of integers, which is 1 to the chain; of floats 1. */
double sample_full_scale(enum sample_type type);

/* "8 bit", "float". */
const char *sample_name(enum sample_type type);

#endif
