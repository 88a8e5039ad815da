/* Compares two planes of samples: PSNR, SSIM and the largest difference. Planes are added row by row, so
 * memory for a few rows is enough.
 *
 *     difference_begin ─▶ difference_add for each row ─▶ difference_end     (again for the next page)
 *
 * Values are fractions of full scale (image/sample.h). Everything is computed in double, in the order of the
 * rows and columns, so the results are the same on every machine. Thread safety: one thread at a time. */
#ifndef CLIMG_IMAGE_DIFFERENCE_H
#define CLIMG_IMAGE_DIFFERENCE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct difference_position {
    uint32_t x, y, page; /* from 0 */
};

/* Sums over the planes of one channel on all pages. Zero it and set `peak` before the first plane. */
struct difference {
    double peak; /* the largest value for PSNR and SSIM: 1 is full scale */

    /* Results. */
    uint64_t samples;   /* compared pairs */
    uint64_t unmatched; /* pairs with a NaN or an infinity that the other plane does not have. They are not
                         * in `samples`, and count as equal in SSIM */
    double squares;     /* sum of the squared differences */
    double largest;     /* largest absolute difference */
    struct difference_position at; /* where it occurs first */
    double ssim;                   /* sum over all windows */
    uint64_t windows;              /* number of windows inside the planes; 0: no SSIM */

    /* State of the current plane, from difference_begin to difference_end. */
    size_t width;
    uint32_t y, page;
    double *memory;     /* owned: ROWS rows (difference.c) */
    double *magnitudes; /* in `memory`: absolute differences of the last row that was added; 0 if unmatched */
};

/* Begins a plane of a page. */
enum status difference_begin(struct difference *difference, size_t width, uint32_t page, struct error *error);

/* Adds the next row of both planes, of `width` values. If a value is not finite, it and its counterpart in
 * the other plane are overwritten by 0. */
void difference_add(struct difference *difference, double *a, double *b);

/* Frees the state of the plane. Safe after a failure of difference_begin, and twice. */
void difference_end(struct difference *difference);

/* True if all samples were equal; two NaN are equal. */
bool difference_is_none(const struct difference *difference);

/* Returns the peak signal-to-noise ratio in dB; infinite if no sample differs, NaN if none was compared. */
double difference_psnr(const struct difference *difference);

/* Returns the mean structural similarity, at most 1; NaN if all planes are smaller than 11 x 11. */
double difference_ssim(const struct difference *difference);

#endif
