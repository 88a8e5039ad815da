/* Measures a page for --info --measure on the host: range, mean and histogram of the values, clipping,
 * sharpness, and the bits of 16-bit samples that are used. One thread at a time uses a reader. */
#ifndef CLIMG_IMAGE_MEASURE_H
#define CLIMG_IMAGE_MEASURE_H

#include "image/reader.h"

enum { HISTOGRAM_BINS = 256 };

struct page_measures {
    /* Finite sample values of each channel, in the file's units; NaN if there are none. All fields but
     * real_bits and is_replicated leave out the colours of fully transparent pixels. */
    double smallest[4], largest[4], mean[4];

    /* Number of finite samples of each channel in equal parts of the scale: of integers the range of the
     * type, of floats 0 to 1, where the first and last bin include smaller and larger values. */
    uint64_t histogram[4][HISTOGRAM_BINS];

    /* Shares of the samples of each channel that are black (integers: the smallest value, floats: at most 0),
     * and that are white (full scale or above). */
    double black[4], white[4];

    /* Variance of the Laplacian: 4 times a pixel less its 4 neighbours; white noise of variance v gives 20 v.
     * Pixels are the sums of the n colours divided by sqrt(n): so noise that is independent and equal in the
     * colours keeps its variance. Full scale is 1. NaN: no pixel has finite neighbours. */
    double laplacian;

    /* Used bits of uint16 samples: 8 if is_replicated, else 16 less the lowest bits that are the same in all
     * samples of a channel. 0: not uint16, or all pixels are equal. */
    int real_bits;
    bool is_replicated; /* samples differ, and all are multiples of 257, as converted 8-bit samples are */
};

/* Reads all rows of the reader's page, which must not be complex. */
enum status measure_page(struct reader *reader, struct page_measures *measures, struct error *error);

#endif
