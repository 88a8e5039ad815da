/* Merges pictures of different focus into one that is sharp everywhere, by the dual-tree transform.
 *
 *     sum of w z / sum of w,   w = exp(E / (3 s^2))
 *
 * z are the coefficients of all pictures at one place, level and orientation. E is the energy |z|^2 of the
 * brightness plus the mean energy of all orientations, averaged over 3x3 with the weights 1 5 1. s is the
 * standard deviation of the level's noise (wavelet/noise.h). An estimated s is reduced: s^2 by the square
 * of half an 8-bit count. So without noise only the sharpest picture counts, and areas of noise alone are
 * averaged. All channels have the weights of the brightness. On levels 2 and 3, E also has the energies of
 * the finer level, of the 2x2 children of the same orientation. Levels above 4 and the lowpass have the mean
 * energy of level 4. So coarse levels follow the finer detail.
 *
 * A. Forster et al., "Complex wavelets for extended depth-of-field", Microscopy Research and Technique 65
 * (2004), took the coefficient with the largest energy. docs/stacking.md compares methods. */
#ifndef CLIMG_WAVELET_FOCUS_H
#define CLIMG_WAVELET_FOCUS_H

#include "engine/run.h"

/* The pictures of a stack. */
struct focus_pictures {
    struct shape shape; /* an image */
    int count;          /* number of pictures, at least 1 */
    double noise;       /* standard deviation, full scale is 1; NAN: estimate it */
    int smoothest;      /* index of the picture from which the noise is estimated */
    double detail;      /* about the mean difference of neighbouring pixels of the sharpest picture */
    void *context;      /* first argument of the functions */
    /* Copies rows of a picture to host memory, plane by plane: sample x of row y and channel c is
     * to[(c * spacing + y - rows.begin) * pitch + x]. Called several times for the same rows. */
    enum status (*load)(void *context, int picture, struct interval rows, float *to, size_t pitch,
                        size_t spacing, struct error *error);
    /* Stores the next rows of the result, from the top to the bottom, in the same layout. */
    enum status (*store)(void *context, struct interval rows, const float *from, size_t pitch, size_t spacing,
                         struct error *error);
    /* Stores the index of the picture with the most detail for each block of 2x2 pixels: of block x of row y
     * of blocks it is from[(y - rows.begin) * pitch + x]. `rows` are rows of blocks. May be NULL. */
    enum status (*store_sharpest)(void *context, struct interval rows, const float *from, size_t pitch,
                                  struct error *error);
};

/* Merges the pictures, in buffers, and waits for the device. The first pass merges the coarse levels of whole
 * pictures, the second one the fine levels, some rows of all pictures at a time. Memory does not depend on
 * the number of pictures, and bits do not depend on the device or on the rows at a time. */
enum status focus_merge(struct run *run, const struct focus_pictures *pictures, struct error *error);

/* Merges a picture with itself at half the contrast, for --selftest: enqueues all kernels of focus_merge.
 * `noise` has the unit of focus_pictures.noise, and is not NAN. Allocates the planes of `out`. */
enum status focus_self_test(struct run *run, double noise, const struct value *in, struct value *out,
                            struct error *error);

/* The merge of --stack focus (merge_focus.c). `params` begins with struct merge_options. */
extern const struct merge merge_focus;

#endif
