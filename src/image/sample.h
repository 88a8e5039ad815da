/* The types of samples in files. A sample is the value of one channel of a pixel. Thread safety: all
 * functions are pure. */
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

/* Colour model of a file's samples. The reader converts the others to RGB. */
enum colour_model {
    COLOUR_MODEL_RGB,           /* or gray */
    COLOUR_MODEL_CMYK,          /* full scale is all ink */
    COLOUR_MODEL_CMYK_INVERTED, /* full scale is no ink: Adobe's JPEG */
    COLOUR_MODEL_CIELAB,        /* L*a*b*, a* and b* signed */
    COLOUR_MODEL_ICCLAB,        /* L*a*b* as in ICC profiles of version 2 */
};

/* Returns "CMYK" or "L*a*b*"; NULL: RGB or gray. */
const char *colour_model_name(enum colour_model model);

/* Returns the bytes of a sample. */
size_t sample_size(enum sample_type type);

/* Returns sample number `index`; integers are divided by their full scale. SAMPLE_COMPLEX counts as two
 * floats. */
double sample_value(enum sample_type type, const void *samples, size_t index);

/* Converts `count` samples from `first` on like sample_value, but faster. */
void sample_values(enum sample_type type, const void *samples, size_t first, size_t count, double *values);

/* Sets sample number `index`, inverse to sample_value: rounds half to even. Integers are clamped to the range
 * of the type, and NaN becomes 0; SAMPLE_HALF beyond the range is infinite. Not for SAMPLE_COMPLEX. */
void sample_set(enum sample_type type, void *samples, size_t index, double value);

/* Copies `size` bytes of 16-bit samples and swaps the bytes of each. */
void sample_swap(const void *restrict samples, size_t size, void *restrict to);

bool sample_is_float(enum sample_type type);  /* half and float; false for SAMPLE_COMPLEX */
bool sample_is_signed(enum sample_type type); /* signed integers */

/* Returns the largest value of an integer type, which is 1.0 in a stage; 1 for floats. */
double sample_full_scale(enum sample_type type);

/* Returns a name for messages: "8 bit", "float". */
const char *sample_name(enum sample_type type);

#endif
