/* Figures of one page for --info --measure that need every sample but no device: values, clipping, contrast
 * of fine detail, and the bits of 16-bit samples that are used. Thread safety: as the reader's. */
#ifndef CLIMG_IMAGE_MEASURE_H
#define CLIMG_IMAGE_MEASURE_H

#include "image/reader.h"

struct page_measures {
    /* Sample values of each channel, as in the file, without NaN and infinities. NaN: there are no others. */
    double smallest[4], largest[4], mean[4];

    /* Shares of the samples of each channel that are black (the smallest value of integers, at most 0 of
     * floats), and that are at full scale or above. */
    double black[4], white[4];

    /* Variance of the Laplacian (4 times a pixel less its 4 neighbours) of the brightness, which is the sum
     * of the n colours by sqrt(n): white noise that is independent in the colours has the same variance in
     * it. Full scale is 1. NaN: no pixel has finite neighbours. White noise of variance v has 20 v. */
    double laplacian;

    /* Bits of uint16 samples that are used: 8 if all are multiples of 257, as of a converted 8-bit picture;
     * else 16 less the lowest bits that never change. 0: another type, or a picture of one value. */
    int real_bits;
    bool is_replicated; /* all samples are multiples of 257: 8 bits hold the same values */
};

/* Reads all rows of the reader's page, which must not be complex. */
enum status measure_page(struct reader *reader, struct page_measures *measurement, struct error *error);

#endif
