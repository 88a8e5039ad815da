/* Merges pictures of different focus into one that is sharp everywhere, by the dual-tree transform.
 *
 *     sum of w z / sum of w,   w = exp(E / s^2)
 *
 * z are the coefficients of all pictures at one place, level and orientation. E is their energy, |z|^2 of the
 * brightness, averaged over 3x3 with the weights 1 3 1; s is the standard deviation of white noise that is as
 * strong on the level (wavelet/noise.h). So without noise the sharpest picture alone counts, and where there
 * is nothing but noise it is averaged away. All channels have the brightness' weights. To E of levels 2 and 3
 * half of the energies of the next finer level is added, 2x2 of the same orientation. Levels above 4 and the
 * lowpass have the mean energy of level 4. So they follow the finer detail.
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
    double noise;       /* standard deviation, full scale is 1; NAN: estimate it from the first picture */
    void *context;      /* first argument of the functions */
    /* Copies rows of a picture to planes in host memory: sample x of row y and channel c is
     * to[(c * spacing + y - rows.begin) * pitch + x]. Each picture is loaded more than once. */
    enum status (*load)(void *context, int picture, struct rows rows, float *to, size_t pitch, size_t spacing,
                        struct error *error);
    /* Takes the next rows of the result, from the top to the bottom, in the same layout. */
    enum status (*store)(void *context, struct rows rows, const float *from, size_t pitch, size_t spacing,
                         struct error *error);
    /* Takes the number of the picture with the most detail in rows and columns 2y and 2y + 1, 2x and 2x + 1
     * of the picture, for some y from rows.begin on: from[(y - rows.begin) * pitch + x]. May be NULL. */
    enum status (*store_winners)(void *context, struct rows rows, const float *from, size_t pitch,
                                 struct error *error);
};

/* Merges the pictures. Two passes: the coarse levels of whole pictures, then the fine levels of some rows of
 * all pictures at a time; memory does not depend on the number of pictures. Works in buffers; waits for the
 * device. The result has the same bits on every device and for any number of rows at a time. */
enum status focus_merge(struct run *run, const struct focus_pictures *pictures, struct error *error);

/* Merges a picture with itself at half the contrast, for --selftest: launches the kernels of focus_merge, and
 * does not wait. `noise` as in struct focus_pictures, but not NAN. Allocates the planes of `out`. */
enum status focus_self_test(struct run *run, double noise, const struct value *in, struct value *out,
                            struct error *error);

/* The merge of --stack focus (merge_focus.c). `params` begins with struct merge_options. */
extern const struct merge merge_focus;

#endif
