/* PSNR and SSIM of two planes.
 *
 *     PSNR = 10 log10(peak^2 / mean (a - b)^2)
 *
 *              (2 ma mb + C1) (2 cov + C2)               C1 = (0.01 peak)^2
 *     SSIM = -----------------------------------------
 *            (ma^2 + mb^2 + C1) (va + vb + C2)           C2 = (0.03 peak)^2
 *
 * (Z. Wang et al., IEEE TIP 13, 2004). Means m, variances v and the covariance are weighted by a Gaussian of
 * standard deviation 1.5 in a window of 11 x 11. The result is the mean over all windows inside the picture,
 * as scikit-image's structural_similarity(gaussian_weights=True, sigma=1.5, use_sample_covariance=False).
 *
 *     a, b ─▶ a, b, a^2 + b^2, ab ─▶ filter along x ─▶ ring of 11 rows ─▶ along y ─▶ SSIM
 *
 * The variances occur only as a sum, so four moments are filtered and not five. 12 megapixels of RGB take
 * half a second of processor time, not counting the decoding. */
#include "image/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RADIUS = 5, /* floor(3.5 sigma + 0.5), as in scikit-image */
    WINDOW = 2 * RADIUS + 1,
    MOMENTS = 4,                      /* a, b, a^2 + b^2, ab */
    ROWS = MOMENTS * (WINDOW + 2) + 1 /* rows of `memory`: the ring, products, sums along y, magnitudes */
};

/* exp(-i^2 / (2 1.5^2)) / sum, for i from 0 on. */
static const double weights[RADIUS + 1] = {0.26601172486179436,  0.2130055377112537,   0.10936068950970002,
                                           0.036000772128430815, 0.007598758135239186, 0.00102838008447911};

enum status difference_begin(struct difference *difference, size_t width, uint32_t page, struct error *error)
{
    difference->width = width;
    difference->y = 0;
    difference->page = page;
    difference->memory = allocate_zeroed(ROWS * width, sizeof(double), "a comparison", error);
    if (difference->memory == NULL)
        return STATUS_FAILED;
    difference->magnitudes = difference->memory + (ROWS - 1) * width;
    return STATUS_OK;
}

void difference_end(struct difference *difference)
{
    free(difference->memory);
    difference->memory = NULL;
}

/* Replaces pairs with a NaN or an infinity by 0 and 0. Counts them as unmatched unless both values are NaN or
 * the same infinity. */
static void replace_nonfinite(struct difference *difference, double *a, double *b)
{
    for (size_t x = 0; x < difference->width; x++) {
        if (isfinite(a[x]) && isfinite(b[x]))
            continue;
        const bool is_unmatched = !(a[x] == b[x] || (isnan(a[x]) && isnan(b[x])));
        difference->unmatched += is_unmatched;
        difference->samples -= is_unmatched;
        a[x] = b[x] = 0;
    }
}

/* Sets magnitudes to the absolute differences of a row; returns the sum of their squares. */
static double subtract(const struct difference *difference, const double *a, const double *b)
{
    double sum = 0, *magnitudes = difference->magnitudes;
    for (size_t x = 0; x < difference->width; x++)
        magnitudes[x] = fabs(a[x] - b[x]);
    for (size_t x = 0; x < difference->width; x++)
        sum += magnitudes[x] * magnitudes[x];
    return sum;
}

/* sums[x] = sum of weights[|i - 5|] rows[i][x]. To filter along x, pass one row eleven times, each time
 * shifted by one more sample. */
static void smooth(const double *const restrict rows[WINDOW], size_t count, double *restrict sums)
{
    for (size_t x = 0; x < count; x++)
        sums[x] = weights[0] * rows[5][x] + weights[1] * (rows[4][x] + rows[6][x]) +
                  weights[2] * (rows[3][x] + rows[7][x]) + weights[3] * (rows[2][x] + rows[8][x]) +
                  weights[4] * (rows[1][x] + rows[9][x]) + weights[5] * (rows[0][x] + rows[10][x]);
}

/* Adds a row to the ring, and the SSIM of the windows that end with it. */
static void add_windows(struct difference *difference, const double *restrict a, const double *restrict b)
{
    const size_t width = difference->width, count = width - WINDOW + 1;
    double *ring = difference->memory, *products = ring + MOMENTS * WINDOW * width,
           *sums = products + MOMENTS * width;
    const double *rows[WINDOW];
    double *const squares = products + 2 * width, *const mixed = products + 3 * width;
    memcpy(products, a, width * sizeof *a);
    memcpy(products + width, b, width * sizeof *b);
    for (size_t x = 0; x < width; x++) {
        squares[x] = a[x] * a[x] + b[x] * b[x];
        mixed[x] = a[x] * b[x];
    }
    for (size_t moment = 0; moment < MOMENTS; moment++) {
        for (size_t i = 0; i < WINDOW; i++)
            rows[i] = products + moment * width + i;
        smooth(rows, count, ring + (moment * WINDOW + difference->y % WINDOW) * width);
    }
    if (difference->y + 1 < WINDOW)
        return;
    for (size_t moment = 0; moment < MOMENTS; moment++) {
        for (size_t i = 0; i < WINDOW; i++)
            rows[i] = ring + (moment * WINDOW + (difference->y + 1 + i) % WINDOW) * width;
        smooth(rows, count, sums + moment * width);
    }
    /* The products are no longer needed: their memory gets the SSIM of each window. */
    const double c1 = pow(0.01 * difference->peak, 2), c2 = pow(0.03 * difference->peak, 2);
    const double *const ma = sums, *const mb = sums + width, *const mss = sums + 2 * width,
                        *const mab = sums + 3 * width;
    for (size_t x = 0; x < count; x++) {
        const double both = ma[x] * mb[x], each = ma[x] * ma[x] + mb[x] * mb[x];
        products[x] = (2 * both + c1) * (2 * (mab[x] - both) + c2) / ((each + c1) * (mss[x] - each + c2));
    }
    for (size_t x = 0; x < count; x++)
        difference->ssim += products[x];
    difference->windows += count;
}

void difference_add(struct difference *difference, double *a, double *b)
{
    double squares = subtract(difference, a, b);
    difference->samples += difference->width;
    /* A sum of squared floats does not overflow a double: it is finite unless a sample is NaN or infinite. */
    if (!isfinite(squares)) {
        replace_nonfinite(difference, a, b);
        squares = subtract(difference, a, b);
    }
    for (size_t x = 0; x < difference->width && squares > 0; x++) {
        if (difference->magnitudes[x] > difference->largest) {
            difference->largest = difference->magnitudes[x];
            difference->at = (struct difference_position){(uint32_t)x, difference->y, difference->page};
        }
    }
    difference->squares += squares;
    if (difference->width >= WINDOW)
        add_windows(difference, a, b);
    difference->y++;
}

bool difference_is_none(const struct difference *difference)
{
    return difference->largest == 0 && difference->unmatched == 0;
}

double difference_psnr(const struct difference *difference)
{
    /* The square of a large peak would overflow. */
    return 20 * log10(difference->peak) + 10 * log10((double)difference->samples / difference->squares);
}

double difference_ssim(const struct difference *difference)
{
    return difference->windows > 0 ? difference->ssim / (double)difference->windows : (double)NAN;
}
