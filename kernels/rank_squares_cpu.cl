/* Rank filter of 8-bit values on CPU devices, in squares of any size: S. Perreault, P. Hebert, "Median filtering in constant
 * time", IEEE TIP 16 (2007). Each column of the window has a histogram, which moves down by adding a value and removing one. The
 * window's histogram moves to the right by adding the histogram of a column and subtracting one:
 *
 *     histograms of columns   | h0 | h1 | h2 | h3 | h4 | h5 | ...     each of 2 radius + 1 values above each other
 *     window at x             h[x] + h[x + 1] + ... + h[x + 2 radius]
 *
 * A histogram has two tiers: an upper tier of 16 bins of 16 values, and below each of its bins 16 bins of one value. The
 * lower bins of the window are updated only when the result falls into them. Bins are cumulative: a bin counts its own values
 * and the values of lower bins of its tier. So the number of bins that do not exceed the rank is the bin of the result. There is
 * no search, and the time depends neither on the radius nor on the rank. */
#include "rank_blocks.h"

#define TIER 16 /* bins of each tier: a vector */

/* Counts of 16 bits begin with BIAS instead of 0: a window has at most 255 x 255 values. Compared as signed numbers, which is
 * one instruction on CPUs, they then have the order of the counts. */
#define BIAS 0x8000

typedef ushort16 bins;

/* For access to bins at an address that is not aligned. */
struct __attribute__((packed)) unaligned {
    bins all;
};

/* Returns the number of bins whose count does not exceed `rank`. Bins are cumulative, so it is the bin of that rank. */
static inline int count_bins(bins sum, int rank)
{
    const short16 below = as_short16(sum) <= (short16)((short)(rank - BIAS));
    const short8 a = below.lo + below.hi;
    const short4 b = a.lo + a.hi;
    return -(b.x + b.y + b.z + b.w);
}

/* Moves the histograms of all columns down by a row: adds a row of values, and removes one unless it is NULL. one_value[b] is
 * a tier that has a single value, in bin b. */
static inline void move_columns(__global bins *columns, const bins *one_value, __global const uchar *added,
                                __global const uchar *removed, int pitch)
{
    for (int i = 0; i < pitch; i++) {
        const int a = added[i], r = removed ? removed[i] : -1;
        if (a == r)
            continue;
        columns[i] += one_value[a / TIER];
        columns[(1 + a / TIER) * pitch + i] += one_value[a % TIER];
        if (r >= 0) {
            columns[i] -= one_value[r / TIER];
            columns[(1 + r / TIER) * pitch + i] -= one_value[r % TIER];
        }
    }
}

static inline int block_pitch(int columns)
{
    return columns;
}

/* Filters a block of squares. Its scratch has the tiers of all columns:
 *
 *     | upper tier of column 0, 1, ... | lower tier below upper bin 0 of column 0, 1, ... | below upper bin 1 | ... | bin 15 |
 *
 * The rows above the first output only fill the histograms. */
static inline void rank_block(const struct block *block, DST_PARAMS, int channels, __global const float *reach)
{
    (void)reach;
    __global bins *columns = (__global bins *)block->scratch;
    const int pitch = block->pitch, span = 2 * block->radius; /* columns or rows of a window after its first one */
    bins one_value[TIER];    /* tiers with a single value, in bin b */
    bins lower[TIER];        /* lower tiers of the window */
    int last[TIER];          /* the output for which each lower tier was last updated */
    ushort before[1 + TIER]; /* [b]: BIAS + number of the window's values below upper bin b. BIAS, then the upper tier */
    for (int b = 0; b < TIER; b++)
        one_value[b] = as_ushort16((short16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) >= (short16)((short)b)) & (ushort)1;
    for (int i = 0; i < (1 + TIER) * pitch; i++)
        columns[i] = 0;
    before[0] = BIAS;
    for (int j = 0; j < span + block->height; j++) {
        __global const uchar *row = block->values + (size_t)j * pitch;
        move_columns(columns, one_value, row, j > span ? row - (size_t)(span + 1) * pitch : 0, pitch);
        if (j < span)
            continue;
        bins upper = BIAS;
        for (int i = 0; i < span; i++)
            upper += columns[i];
        for (int b = 0; b < TIER; b++)
            last[b] = -1 - span;
        for (int x = 0; x < block->width; x++) {
            upper += columns[x + span];
            const int b = count_bins(upper, block->rank);
            __global const bins *column = columns + (1 + b) * pitch;
            bins sum = lower[b];
            /* Updates the lower tier: from scratch, or column by column from the last update, whichever is less work. */
            if (2 * (x - last[b]) > span) {
                sum = BIAS;
                for (int i = x; i <= x + span; i++)
                    sum += column[i];
            } else {
                for (int i = last[b] + 1; i <= x; i++)
                    sum += column[i + span] - column[i - 1];
            }
            lower[b] = sum;
            last[b] = x;
            ((struct unaligned *)(before + 1))->all = upper;
            store_value(block, DST_ARGS, channels, x, j - span,
                        b * TIER + count_bins(sum, block->rank - (before[b] - BIAS)));
            upper -= columns[x];
        }
    }
}
