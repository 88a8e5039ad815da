/* Ranks of values of 8 bit in any window on CPU devices: samples of a file, or planes whose values are all whole 255ths. Blocks
 * of planes that have other values are left to rank_tiles_cpu.cl.
 *
 * Squares (S. Perreault, P. Hebert, "Median filtering in constant time", IEEE TIP 16, 2007): each column of the window has a
 * histogram, which moves down by adding a value and taking one away. The window's histogram moves to the right by adding a
 * column's and taking one away. It has two tiers: 16 bins of 16 values, and for each of these 16 bins of a value, which follow
 * only when the wanted value lies there. Bins are cumulative, so that the number of those that are not above the wanted rank is
 * the bin to take: no search, and the same time for every radius and rank.
 *
 * Discs (T. Huang, 1979): one histogram, which moves along with the window: 2 * radius + 1 values are added on one side
 * and taken away on the other. A cursor stays near the value wanted.
 *
 * A work-item does one block after the other, in memory of its own. */
#ifndef LANES
#define LANES 1
#endif
#include "raster.h"
#include "edge.h"

#define WHOLE 255
#define UNIT  (1.0f / WHOLE) /* as unpacking has it */
#define TIER  16             /* bins of each tier */

typedef ushort16 bins; /* a window has at most 255 x 255 values */

struct __attribute__((packed)) unaligned {
    bins all;
};

/* `rank` of the values of a window stand before the one that is wanted. A disc's row k rows from its middle reaches over
 * reach[k] columns on either side. Blocks have width x height outputs; `across` x `down` of them are a plane. */
struct ranking {
    int radius, rank, is_disc, width, height, across, down;
};

enum { MAX_RADIUS = 127 };

/* Planes, or where these are NULL samples of `channels` channels. */
#define INPUT      RASTER_IN(uchar, samples), PLANES_IN(src)
#define INPUT_ARG  RASTER_IN_ARG(samples), PLANES_ARG(src)
#define OUTPUT     RASTER_OUT(uchar, raster), PLANES_OUT(dst)
#define OUTPUT_ARG RASTER_OUT_ARG(raster), PLANES_ARG(dst)

struct block {
    int x, y, width, height, z; /* of its outputs */
    int radius, rank;
    int pitch;                  /* of its values, with all that is around the outputs */
    __global uchar *values;
};

static inline int number_of(float v)
{
    return v >= 0.0f && v <= 1.0f ? (int)(v * WHOLE + 0.5f) : 0;
}

/* Copies columns [begin, end) of a row of the image, counted from the block's first one. Returns false if a value is not a whole
 * 255th. */
static inline bool copy_values(const struct block *block, INPUT, int channels, __global uchar *values, int x, int row, int count)
{
    bool whole = true;
    if (src) {
        __global const float *p = src + offset(src_at, x, row, block->z);
        for (int i = 0; i < count; i++) {
            const int number = number_of(p[i]);
            whole &= number * UNIT == p[i];
            values[i] = number;
        }
    } else {
        __global const uchar *p = samples + PIXEL_NUMBER(samples, x, row, block->z / channels) * channels + block->z % channels;
        for (int i = 0; i < count; i++)
            values[i] = p[i * channels];
    }
    return whole;
}

/* Fills row j of the block's values. Returns false if one is not a whole 255th. */
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
    bool whole = copy_values(block, INPUT_ARG, channels, values + begin, x + begin, row, end - begin);
    for (int i = begin > 0 ? 0 : end; i < block->pitch; i = i + 1 == begin ? end : i + 1)
        if (beyond_border(x + i, n))
            values[i] = 0;
        else
            whole &= copy_values(block, INPUT_ARG, channels, values + i, edge(x + i, n), row, 1);
    return whole;
}

/* Stores an output at column i and row j of the block. */
static inline void store_value(const struct block *block, OUTPUT, int channels, int i, int j, int value)
{
    const int x = block->x + i, y = block->y + j;
    if (raster)
        raster[PIXEL_NUMBER(raster, x, y, block->z / channels) * channels + block->z % channels] = value;
    else
        dst[offset(dst_at, x, y, block->z)] = value * UNIT;
}

/* Bins of a sum begin with this, so that they are compared as signed numbers, which takes CPUs one instruction. */
#define BIAS 0x8000

/* The number of bins that are not above a rank. */
static inline int count_bins(bins sum, int rank)
{
    const short16 below = as_short16(sum) <= (short16)((short)(rank - BIAS));
    const short8 a = below.lo + below.hi;
    const short4 b = a.lo + a.hi;
    return -(b.x + b.y + b.z + b.w);
}

/* Moves the histograms of all columns down: adds a row of values, and removes one unless it is NULL. */
static inline void move_columns(__global bins *columns, const bins *step, __global const uchar *added,
                                __global const uchar *removed, int pitch)
{
    for (int i = 0; i < pitch; i++) {
        const int a = added[i], r = removed ? removed[i] : -1;
        if (a == r)
            continue;
        columns[i] += step[a / TIER];
        columns[(1 + a / TIER) * pitch + i] += step[a % TIER];
        if (r >= 0) {
            columns[i] -= step[r / TIER];
            columns[(1 + r / TIER) * pitch + i] -= step[r % TIER];
        }
    }
}

/* `columns` has room for 1 + TIER histograms of each column: the upper tier of all columns, then bin after bin the lower one. */
static inline void rank_squares(const struct block *block, OUTPUT, int channels, __global bins *columns)
{
    const int pitch = block->pitch, reach = 2 * block->radius; /* of a window, beyond its first column or row */
    bins step[TIER], lower[TIER];                              /* cumulative bins of one value; those of the window */
    int last[TIER];                                            /* the output that `lower` is of */
    ushort before[1 + TIER];
    for (int b = 0; b < TIER; b++)
        step[b] = as_ushort16((short16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) >= (short16)((short)b)) & (ushort)1;
    for (int i = 0; i < (1 + TIER) * pitch; i++)
        columns[i] = 0;
    before[0] = BIAS;
    for (int j = 0; j < reach + block->height; j++) {
        __global const uchar *row = block->values + (size_t)j * pitch;
        move_columns(columns, step, row, j > reach ? row - (size_t)(reach + 1) * pitch : 0, pitch);
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

/* The histogram of a disc, added[v] - removed[v], with a cursor: a value, and how many are below it. Two arrays, as in flat places
 * each change of a bin would wait for the one before. */
struct window {
    ushort added[WHOLE + 1], removed[WHOLE + 1];
    int cursor, below;
};

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

/* Moves the disc around value `at` by `step`; `line` leads from a value to the next one across. Without a look at whether both
 * values are the same it takes 0.82 of the time. */
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

/* From left to right and back, row by row. */
static inline void rank_discs(const struct block *block, OUTPUT, int channels, __global const float *reaches)
{
    const int radius = block->radius, pitch = block->pitch;
    struct window window = {.cursor = 0, .below = 0};
    int reach[2 * MAX_RADIUS + 1], step = 1, i = 0;
    for (int j = -radius; j <= radius; j++)
        reach[radius + j] = (int)reaches[abs(j)];
    for (int b = 0; b <= WHOLE; b++)
        window.added[b] = window.removed[b] = 0;
    __global const uchar *at = block->values + (size_t)radius * pitch + radius;
    for (int j = -radius; j <= radius; j++)
        for (int k = -reach[radius + j]; k <= reach[radius + j]; k++)
            window.added[at[j * pitch + k]]++;
    for (int j = 0; j < block->height; j++, step = -step)
        for (int k = 0; k < block->width; k++) {
            store_value(block, OUTPUT_ARG, channels, i, j, find_value(&window, block->rank));
            if (k + 1 < block->width) {
                move_disc(&window, at, reach + radius, radius, step, pitch);
                at += step;
                i += step;
            } else if (j + 1 < block->height) {
                move_disc(&window, at, reach + radius, radius, pitch, 1);
                at += pitch;
            }
        }
}

/* Work-items share the blocks of all planes; each has `room` bytes of `scratch`. mixed[n] becomes 1 if block n has values that
 * are not whole 255ths, else 0. Alpha (channel `keep`, -1: none) is such a block. */
NOINLINE void rank_histogram_run(INPUT, OUTPUT, int channels, __global const float *reaches, const struct ranking by, int alpha_channel,
                              __global uchar *scratch, ulong room, __global uint *mixed, int item, int items)
{
    const int blocks = by.across * by.down;
    for (int n = item; n < blocks * dst_at.layers * dst_at.channels; n += items) {
        struct block block = {.z = n / blocks, .radius = by.radius, .rank = by.rank};
        block.x = n % by.across * by.width;
        block.y = dst_at.first_row + n / by.across % by.down * by.height;
        block.width = min(by.width, dst_at.width - block.x);
        block.height = min(by.height, dst_at.first_row + dst_at.rows - block.y);
        block.pitch = block.width + 2 * by.radius;
        __global bins *columns = (__global bins *)(scratch + item * room);
        block.values = (__global uchar *)(columns + (by.is_disc ? 0 : (1 + TIER) * block.pitch));
        bool whole = alpha_channel < 0 || block.z % dst_at.channels != alpha_channel;
        for (int j = 0; whole && j < block.height + 2 * by.radius; j++)
            whole = fill_row(&block, INPUT_ARG, channels, j);
        if (mixed)
            mixed[n] = !whole;
        if (!whole)
            continue;
        if (by.is_disc)
            rank_discs(&block, OUTPUT_ARG, channels, reaches);
        else
            rank_squares(&block, OUTPUT_ARG, channels, columns);
    }
}

__kernel void rank_histogram(INPUT, OUTPUT, int channels, __global const float *reaches, const struct ranking by, int alpha_channel,
                             __global uchar *scratch, ulong room, __global uint *mixed)
{
    rank_histogram_run(INPUT_ARG, OUTPUT_ARG, channels, reaches, by, alpha_channel, scratch, room, mixed, get_global_id(0),
                       get_global_size(0));
}
