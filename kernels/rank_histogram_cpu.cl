/* Rank filter of 8-bit values on CPU devices, in squares and discs of any size: samples of a file, or planes whose values
 * are all multiples of 1/255. Blocks of planes that have other values are left to rank_tiles_cpu.cl.
 *
 * Squares: S. Perreault, P. Hebert, "Median filtering in constant time", IEEE TIP 16 (2007). Each column of the window has
 * a histogram, which moves down by adding a value and removing one. The window's histogram moves to the right by adding
 * the histogram of a column and subtracting one:
 *
 *     histograms of columns   | h0 | h1 | h2 | h3 | h4 | h5 | ...     each of 2 radius + 1 values above each other
 *     window at x             h[x] + h[x + 1] + ... + h[x + 2 radius]
 *
 * A histogram has two tiers: an upper tier of 16 bins of 16 values, and below each of its bins 16 bins of one value. The
 * lower bins of the window are updated only when the result falls into them. Bins are cumulative: a bin counts its own values
 * and the values of lower bins of its tier. So the number of bins that do not exceed the rank is the bin of the result. There is
 * no search, and the time depends neither on the radius nor on the rank.
 *
 * Discs: T. Huang, G. Yang, G. Tang, "A fast two-dimensional median filtering algorithm", IEEE TASSP 27 (1979). One
 * histogram moves with the window: 2 radius + 1 values enter on one side and leave on the other. A cursor stays near the
 * result.
 *
 * Work-items share the blocks of all planes, each with scratch memory of its own. No arithmetic but counting. */
#ifndef LANES
#define LANES 1
#endif
#include "raster.h"
#include "edge.h"

#define MAX_VALUE 255
#define STEP      (1.0f / MAX_VALUE) /* the factor of unpacking (samples.cl), so 8-bit samples are exact multiples */
#define TIER      16                 /* bins of each tier: a vector */

/* The bins of a tier. A window has at most 255 x 255 values, so 16 bits suffice. */
typedef ushort16 bins;

/* For access to bins at an address that is not aligned. */
struct __attribute__((packed)) unaligned {
    bins all;
};

/* The filter. The output is the value at index `rank` of the window's sorted values. An array `reach` has the shape of a
 * disc: row k, counted from its middle, covers reach[k] columns on either side. Column k covers as many rows. */
struct ranking {
    int radius, rank, is_disc;
    int width, height; /* outputs of a block */
    int across, down;  /* blocks of a plane */
};

enum { MAX_RADIUS = 127 }; /* RANK_MAX_RADIUS of src/filters/rank.h */

/* Source and destination: planes (src, dst), or, if these are NULL, interleaved samples of `channels` channels (samples,
 * raster). */
#define INPUT      RASTER_IN(uchar, samples), PLANES_IN(src)
#define INPUT_ARG  RASTER_IN_ARG(samples), PLANES_ARG(src)
#define OUTPUT     RASTER_OUT(uchar, raster), PLANES_OUT(dst)
#define OUTPUT_ARG RASTER_OUT_ARG(raster), PLANES_ARG(dst)

/* A block of outputs, and a copy of the values of all their windows. */
struct block {
    int x, y, width, height, z; /* its outputs; z is the plane */
    int radius, rank;
    int pitch;              /* width + 2 * radius: from row to row of `values` */
    __global uchar *values; /* height + 2 * radius rows; the first value is at (x - radius, y - radius) */
};

/* Returns the nearest 8-bit value; 0 outside [0, 1]. */
static inline int to_8bit(float v)
{
    return v >= 0.0f && v <= 1.0f ? (int)(v * MAX_VALUE + 0.5f) : 0;
}

/* Copies `count` values from column x of a row of the image. Returns false if one is not a multiple of STEP. */
static inline bool copy_values(const struct block *block, INPUT, int channels, __global uchar *values, int x, int row, int count)
{
    bool is_8bit = true;
    if (src) {
        __global const float *p = src + offset(src_at, x, row, block->z);
        for (int i = 0; i < count; i++) {
            const int number = to_8bit(p[i]);
            is_8bit &= number * STEP == p[i];
            values[i] = number;
        }
    } else {
        __global const uchar *p = samples + PIXEL_NUMBER(samples, x, row, block->z / channels) * channels + block->z % channels;
        for (int i = 0; i < count; i++)
            values[i] = p[i * channels];
    }
    return is_8bit;
}

/* Fills row j of the block's values, by the border rule. Returns false if one is not a multiple of STEP. */
static inline bool fill_row(const struct block *block, INPUT, int channels, int j)
{
    const int n = src_at.width, x = block->x - block->radius, y = block->y - block->radius + j;
    const int begin = clamp(-x, 0, block->pitch), end = clamp(n - x, begin, block->pitch); /* inside the image */
    __global uchar *values = block->values + (size_t)j * block->pitch;
    if (beyond_border(y, src_at.height)) {
        for (int i = 0; i < block->pitch; i++)
            values[i] = 0;
        return true;
    }
    const int row = clamp_row(src_at, edge(y, src_at.height));
    bool is_8bit = copy_values(block, INPUT_ARG, channels, values + begin, x + begin, row, end - begin);
    /* Values to the left of the image, then values to the right of it. */
    for (int i = begin > 0 ? 0 : end; i < block->pitch; i = i + 1 == begin ? end : i + 1)
        if (beyond_border(x + i, n))
            values[i] = 0;
        else
            is_8bit &= copy_values(block, INPUT_ARG, channels, values + i, edge(x + i, n), row, 1);
    return is_8bit;
}

/* Stores the output at column i and row j of the block. */
static inline void store_value(const struct block *block, OUTPUT, int channels, int i, int j, int value)
{
    const int x = block->x + i, y = block->y + j;
    if (raster)
        raster[PIXEL_NUMBER(raster, x, y, block->z / channels) * channels + block->z % channels] = value;
    else
        dst[offset(dst_at, x, y, block->z)] = value * STEP;
}

/* Sums of bins begin with BIAS instead of 0. Compared as signed numbers, which is one instruction on CPUs, they then have the
 * order of the counts. */
#define BIAS 0x8000

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

/* Filters a block of squares. `columns` is memory for the tiers of all columns:
 *
 *     | upper tier of column 0, 1, ... | lower tier below upper bin 0 of column 0, 1, ... | below upper bin 1 | ... | bin 15 |
 *
 * The rows above the first output only fill the histograms. */
static inline void rank_squares(const struct block *block, OUTPUT, int channels, __global bins *columns)
{
    const int pitch = block->pitch, reach = 2 * block->radius; /* columns or rows of a window after its first one */
    bins one_value[TIER];    /* tiers with a single value, in bin b */
    bins lower[TIER];        /* lower tiers of the window */
    int last[TIER];          /* the output for which each lower tier was last updated */
    ushort before[1 + TIER]; /* BIAS + number of the window's values in lower upper bins: BIAS, then the upper tier */
    for (int b = 0; b < TIER; b++)
        one_value[b] = as_ushort16((short16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) >= (short16)((short)b)) & (ushort)1;
    for (int i = 0; i < (1 + TIER) * pitch; i++)
        columns[i] = 0;
    before[0] = BIAS;
    for (int j = 0; j < reach + block->height; j++) {
        __global const uchar *row = block->values + (size_t)j * pitch;
        move_columns(columns, one_value, row, j > reach ? row - (size_t)(reach + 1) * pitch : 0, pitch);
        if (j < reach)
            continue;
        bins upper = BIAS;
        for (int i = 0; i < reach; i++)
            upper += columns[i];
        for (int b = 0; b < TIER; b++)
            last[b] = -1 - reach;
        for (int x = 0; x < block->width; x++) {
            upper += columns[x + reach];
            const int b = count_bins(upper, block->rank);
            __global const bins *column = columns + (1 + b) * pitch;
            bins sum = lower[b];
            /* Updates the lower tier: from scratch, or column by column from the last update, whichever is less work. */
            if (2 * (x - last[b]) > reach) {
                sum = BIAS;
                for (int i = x; i <= x + reach; i++)
                    sum += column[i];
            } else {
                for (int i = last[b] + 1; i <= x; i++)
                    sum += column[i + reach] - column[i - 1];
            }
            lower[b] = sum;
            last[b] = x;
            ((struct unaligned *)(before + 1))->all = upper;
            store_value(block, OUTPUT_ARG, channels, x, j - reach,
                        b * TIER + count_bins(sum, block->rank - (before[b] - BIAS)));
            upper -= columns[x];
        }
    }
}

/* The histogram of a disc, added[v] - removed[v], with a cursor. In flat areas additions and removals change the same bin; in
 * two arrays they need not wait for each other. */
struct window {
    ushort added[MAX_VALUE + 1], removed[MAX_VALUE + 1];
    int cursor; /* the value found last */
    int below;  /* number of values of the window that are less than it */
};

/* Returns the value at index `rank` of the window's sorted values, and moves the cursor to it. */
static inline int find_value(struct window *window, int rank)
{
    int v = window->cursor, below = window->below;
    while (below > rank) {
        v--;
        below -= (ushort)(window->added[v] - window->removed[v]);
    }
    for (int count; below + (count = (ushort)(window->added[v] - window->removed[v])) <= rank; v++)
        below += count;
    window->cursor = v;
    window->below = below;
    return v;
}

/* Moves the disc around `at` by one value. `step` is the distance to the next value along the move, `line` across it. Tried and
 * lost: skipping pairs of equal values. The branch made this take 1.2 times as long. reach[j]: columns on either side in row j
 * of the disc, -radius <= j <= radius. */
static inline void move_disc(struct window *window, __global const uchar *at, const int *reach, int radius, int step, int line)
{
    const int cursor = window->cursor;
    int below = window->below;
    at -= radius * line;
    for (int j = -radius; j <= radius; j++, at += line) {
        const int r = at[-reach[j] * step], a = at[(reach[j] + 1) * step];
        window->removed[r]++;
        window->added[a]++;
        below += (a < cursor) - (r < cursor);
    }
    window->below = below;
}

/* Filters a block of discs in a serpentine: one row from left to right, the next one back. */
static inline void rank_discs(const struct block *block, OUTPUT, int channels, __global const float *reach)
{
    const int radius = block->radius, pitch = block->pitch;
    struct window window = {.cursor = 0, .below = 0};
    int row_reach[2 * MAX_RADIUS + 1], step = 1, i = 0;
    for (int j = -radius; j <= radius; j++)
        row_reach[radius + j] = (int)reach[abs(j)];
    for (int b = 0; b <= MAX_VALUE; b++)
        window.added[b] = window.removed[b] = 0;
    __global const uchar *at = block->values + (size_t)radius * pitch + radius;
    for (int j = -radius; j <= radius; j++)
        for (int k = -row_reach[radius + j]; k <= row_reach[radius + j]; k++)
            window.added[at[j * pitch + k]]++;
    for (int j = 0; j < block->height; j++, step = -step)
        for (int k = 0; k < block->width; k++) {
            store_value(block, OUTPUT_ARG, channels, i, j, find_value(&window, block->rank));
            if (k + 1 < block->width) {
                move_disc(&window, at, row_reach + radius, radius, step, pitch);
                at += step;
                i += step;
            } else if (j + 1 < block->height) {
                move_disc(&window, at, row_reach + radius, radius, pitch, 1);
                at += pitch;
            }
        }
}

/* Filters blocks `item`, item + items, ... of all planes. Each work-item has `scratch_bytes` of `scratch`. skipped[n] becomes 1
 * if block n is left to rank_tiles_cpu.cl, and otherwise 0: skipped are values that are not multiples of STEP, and alpha (channel
 * `alpha_channel`, -1: none). `skipped` may be NULL for samples of a file. */
NOINLINE void rank_histogram_run(INPUT, OUTPUT, int channels, __global const float *reach, const struct ranking ranking,
                                 int alpha_channel, __global uchar *scratch, ulong scratch_bytes, __global uint *skipped, int item,
                                 int items)
{
    const int blocks = ranking.across * ranking.down;
    for (int n = item; n < blocks * dst_at.layers * dst_at.channels; n += items) {
        struct block block = {.z = n / blocks, .radius = ranking.radius, .rank = ranking.rank};
        block.x = n % ranking.across * ranking.width;
        block.y = dst_at.first_row + n / ranking.across % ranking.down * ranking.height;
        block.width = min(ranking.width, dst_at.width - block.x);
        block.height = min(ranking.height, dst_at.first_row + dst_at.rows - block.y);
        block.pitch = block.width + 2 * ranking.radius;
        __global bins *columns = (__global bins *)(scratch + item * scratch_bytes);
        block.values = (__global uchar *)(columns + (ranking.is_disc ? 0 : (1 + TIER) * block.pitch));
        bool is_8bit = alpha_channel < 0 || block.z % dst_at.channels != alpha_channel;
        for (int j = 0; is_8bit && j < block.height + 2 * ranking.radius; j++)
            is_8bit = fill_row(&block, INPUT_ARG, channels, j);
        if (skipped)
            skipped[n] = !is_8bit;
        if (!is_8bit)
            continue;
        if (ranking.is_disc)
            rank_discs(&block, OUTPUT_ARG, channels, reach);
        else
            rank_squares(&block, OUTPUT_ARG, channels, columns);
    }
}

__kernel void rank_histogram(INPUT, OUTPUT, int channels, __global const float *reach, const struct ranking ranking,
                             int alpha_channel, __global uchar *scratch, ulong scratch_bytes, __global uint *skipped)
{
    rank_histogram_run(INPUT_ARG, OUTPUT_ARG, channels, reach, ranking, alpha_channel, scratch, scratch_bytes, skipped,
                       get_global_id(0), get_global_size(0));
}
