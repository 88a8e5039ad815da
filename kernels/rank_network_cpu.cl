/* Medians of 3x3 and 5x5 windows (radius 1 and 2, rank_network.h) on CPU devices: from planes to planes, or from a file's
 * samples of 8 or 16 bit to samples of the same type. Floats are compared by their keys (rank.h); an unsigned sample is its
 * own key.
 *
 * A work-item computes a block of SEGMENT pixels in OUTPUTS rows. It copies the source rows to lines of keys in private
 * memory. The network computes sixteen even pixels and their right neighbours at a time, from vectors of every second pixel. So
 * even and odd pixels have separate lines:
 *
 *     even pixels    | PAD | ... p-2 | p0 | p2 | p4 ... | PAD |
 *     odd pixels     | PAD | ... p-1 | p1 | p3 | p5 ... | PAD |
 *
 * In lines of samples a pixel has all channels, interleaved as in the file. So one program serves any number of channels.
 *
 * Grid: x counts blocks of SEGMENT pixels, y blocks of OUTPUTS rows, z planes (1 for samples).
 *
 *   -DSAMPLE=n   0: samples of 8 bit, 1: of 16 bit; without it planes
 *   -DOUTPUTS=n  rows of a block, even: 8 (src/filters/rank.c). In larger blocks fewer source rows are copied twice, but the
 *                lines take more memory */
#include "rank.h"
#include "raster.h"

#ifndef OUTPUTS
#define OUTPUTS 8
#endif
#define SEGMENT 128 /* pixels of a row of a block: the lines take at most 16 KB, half of a first-level cache */

#ifndef SAMPLE
typedef uint key;
typedef uint16 keys; /* of sixteen pixels */
#define MAX_CHANNELS 1
#elif SAMPLE == 0
typedef uchar key;
typedef uchar16 keys;
typedef uint pixel_word; /* one access copies a pixel of up to four channels; the next pixel overwrites the excess */
#define MAX_CHANNELS 4
#else
typedef ushort key;
typedef ushort16 keys;
typedef ulong pixel_word;
#define MAX_CHANNELS 4
#endif
#include "rank_network.h"

#define PAD   16 /* keys before and after a line, for pixels beyond the border and for vectors that run past the end */
#define LINE  (SEGMENT / 2 * MAX_CHANNELS + 2 * PAD)
#define LINES (OUTPUTS + MAX_SIDE - 1)

/* Unaligned access: the vload16() and vstore16() of PoCL 3.1 access bytes in pieces. */
struct __attribute__((packed)) unaligned {
    keys k;
};

static inline keys load_keys(const key *p)
{
    return ((const struct unaligned *)p)->k;
}

static inline void store_keys(keys k, key *p)
{
    ((struct unaligned *)p)->k = k;
}

/* Returns the keys of pixel i of a line, -2 <= i < SEGMENT + 2. */
static inline key *pixel_at(key line[2][LINE], int i, int channels)
{
    return &line[i & 1][PAD + (i >> 1) * channels];
}

#ifdef SAMPLE
struct __attribute__((packed)) unaligned_pixel {
    pixel_word p;
};

#define SRC_PARAMS RASTER_IN(key, src), const struct geometry src_at
#define SRC_ARGS   RASTER_IN_ARG(src), src_at
#define DST_PARAMS RASTER_OUT(key, dst), const struct geometry dst_at
#define DST_ARGS   RASTER_OUT_ARG(dst), dst_at
#define ZERO_KEY   0

static inline keys load_sixteen_keys(SRC_PARAMS, int x, int y, int z)
{
    return ((__global const struct unaligned *)(src + PIXEL_INDEX(src, x, y, 0)))->k;
}

static inline void store_sixteen_keys(DST_PARAMS, int x, int y, int z, keys k)
{
    ((__global struct unaligned *)(dst + PIXEL_INDEX(dst, x, y, 0)))->k = k;
}

static inline key load_key(SRC_PARAMS, int x, int y, int channels, int c)
{
    return src[PIXEL_INDEX(src, x, y, 0) * channels + c];
}

/* Copies `count` pixels of row y, from x on, to a line. The last one or two are copied key by key: the excess of a word may
 * be beyond the buffer. */
INLINE void load_pixels(key line[2][LINE], SRC_PARAMS, int x, int y, int channels, int count)
{
    __global const key *p = src + PIXEL_INDEX(src, x, y, 0) * channels;
    key *even = pixel_at(line, 0, channels), *odd = pixel_at(line, 1, channels);
    int i = 0;
    for (; i < count - 2; i += 2, p += 2 * channels, even += channels, odd += channels) {
        ((struct unaligned_pixel *)even)->p = ((__global const struct unaligned_pixel *)p)->p;
        ((struct unaligned_pixel *)odd)->p = ((__global const struct unaligned_pixel *)(p + channels))->p;
    }
    for (int c = 0; c < channels; c++) {
        even[c] = p[c];
        if (i + 1 < count)
            odd[c] = p[channels + c];
    }
}

/* Copies `count` pixels of a line to row y, from x on. The last one or two are copied key by key: the excess of a word would
 * overwrite pixels of another work-item. */
INLINE void store_pixels(key line[2][LINE], DST_PARAMS, int x, int y, int channels, int count)
{
    __global key *p = dst + PIXEL_INDEX(dst, x, y, 0) * channels;
    const key *even = pixel_at(line, 0, channels), *odd = pixel_at(line, 1, channels);
    int i = 0;
    for (; i < count - 2; i += 2, p += 2 * channels, even += channels, odd += channels) {
        ((__global struct unaligned_pixel *)p)->p = ((const struct unaligned_pixel *)even)->p;
        ((__global struct unaligned_pixel *)(p + channels))->p = ((const struct unaligned_pixel *)odd)->p;
    }
    for (int c = 0; c < channels; c++) {
        p[c] = even[c];
        if (i + 1 < count)
            p[channels + c] = odd[c];
    }
}
#else
#define SRC_PARAMS PLANES_IN(src)
#define SRC_ARGS   PLANES_ARG(src)
#define DST_PARAMS PLANES_OUT(dst)
#define DST_ARGS   PLANES_ARG(dst)
#define ZERO_KEY   to_key(0.0f)

static inline keys load_sixteen_keys(SRC_PARAMS, int x, int y, int z)
{
    return to_keys(load(PLANES_ARG(src), x, y, z));
}

static inline void store_sixteen_keys(DST_PARAMS, int x, int y, int z, keys k)
{
    store(PLANES_ARG(dst), x, y, z, from_keys(k));
}

static inline key load_key(SRC_PARAMS, int x, int y, int channels, int z)
{
    return to_key(src[offset(src_at, x, y, z)]);
}
#endif

/* Fills a line with the pixels of row y that outputs [x, x + count) need, with the border rule along both axes. */
INLINE void fill_line_of_keys(key line[2][LINE], SRC_PARAMS, int x, int y, int z, int channels, int radius, int count)
{
    if (beyond_border(y, src_at.height)) {
        for (int i = 0; i < LINE; i++)
            line[0][i] = line[1][i] = ZERO_KEY;
        return;
    }
    const int row = clamp_row(src_at, edge(y, src_at.height)), n = src_at.width;
    if (channels == 1)
        for (int i = 0; i < count; i += 2 * LANES) {
            const keys a = load_sixteen_keys(SRC_ARGS, x + i, row, z);
            const keys b = x + i + LANES < n ? load_sixteen_keys(SRC_ARGS, x + i + LANES, row, z) : a;
            store_keys((keys)(a.even, b.even), pixel_at(line, i, 1));
            store_keys((keys)(a.odd, b.odd), pixel_at(line, i + 1, 1));
        }
#ifdef SAMPLE
    else
        load_pixels(line, SRC_ARGS, x, row, channels, count);
#endif
    for (int i = 1; i <= radius; i++)
        for (int c = 0; c < channels; c++) {
            const int left = x - i, right = x + count - 1 + i;
            pixel_at(line, -i, channels)[c] =
                beyond_border(left, n) ? ZERO_KEY : load_key(SRC_ARGS, edge(left, n), row, channels, z + c);
            pixel_at(line, count - 1 + i, channels)[c] =
                beyond_border(right, n) ? ZERO_KEY : load_key(SRC_ARGS, edge(right, n), row, channels, z + c);
        }
}

/* Computes the medians of one row for keys [at, at + 16) of the even and of the odd pixels. `shared` has the sorted columns of
 * the 2 * radius source rows that its windows share with the windows of the other row; `own` is the remaining source row. */
INLINE void filter_row(key own[2][LINE], keys shared[MAX_COLUMNS][MAX_SIDE - 1], int at, int channels, keys *even, keys *odd,
                       const int radius)
{
    keys column[MAX_COLUMNS][MAX_SIDE];
#pragma unroll
    for (int j = 0; j < 2 * radius + 2; j++)
        insert_key(column[j], shared[j], load_keys(pixel_at(own, j - radius, channels) + at), radius);
    two_medians(column, even, odd, radius);
}

/* Computes the medians of rows r and r + 1 of a block, for keys [at, at + 16) of the even and of the odd pixels. */
INLINE void filter_rows(key lines[LINES][2][LINE], int r, int at, int channels, keys even[2], keys odd[2], const int radius)
{
    keys shared[MAX_COLUMNS][MAX_SIDE - 1];
#pragma unroll
    for (int j = 0; j < 2 * radius + 2; j++) {
#pragma unroll
        for (int k = 0; k < 2 * radius; k++)
            shared[j][k] = load_keys(pixel_at(lines[r + 1 + k], j - radius, channels) + at);
        sort_shared(shared[j], radius);
    }
    filter_row(lines[r], shared, at, channels, &even[0], &odd[0], radius);
    filter_row(lines[r + 2 * radius + 1], shared, at, channels, &even[1], &odd[1], radius);
}

/* Interleaves sixteen even pixels a and odd pixels b of one channel, and stores them from pixel 2 * at of the block on. */
INLINE void store_pairs(DST_PARAMS, int x, int y, int z, int at, int count, keys a, keys b)
{
    store_sixteen_keys(DST_ARGS, x + 2 * at, y, z,
                       (keys)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7));
    if (2 * at + LANES < count)
        store_sixteen_keys(DST_ARGS, x + 2 * at + LANES, y, z,
                           (keys)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf));
}

/* Filters a block. Pixels of several channels are collected in a line before they are stored. */
INLINE void filter_block(SRC_PARAMS, DST_PARAMS, int x, int y, int z, int channels, const int radius)
{
    key lines[LINES][2][LINE], out[2][2][LINE];
    const int count = min(SEGMENT, dst_at.width - x), end = min(y + OUTPUTS, dst_at.first_row + dst_at.rows);
    for (int r = 0; r < OUTPUTS + 2 * radius; r++)
        fill_line_of_keys(lines[r], SRC_ARGS, x, y - radius + r, z, channels, radius, count);
    for (int r = 0; y + r < end; r += 2) {
        for (int at = 0; at < (count + 1) / 2 * channels; at += LANES) {
            keys even[2], odd[2];
            filter_rows(lines, r, at, channels, even, odd, radius);
#pragma unroll
            for (int k = 0; k < 2; k++)
                if (channels > 1) {
                    store_keys(even[k], pixel_at(out[k], 0, channels) + at);
                    store_keys(odd[k], pixel_at(out[k], 1, channels) + at);
                } else if (y + r + k < end) {
                    store_pairs(DST_ARGS, x, y + r + k, z, at, count, even[k], odd[k]);
                }
        }
#ifdef SAMPLE
        for (int k = 0; channels > 1 && k < 2 && y + r + k < end; k++)
            store_pixels(out[k], DST_ARGS, x, y + r + k, channels, count);
#endif
    }
}

/* Filters the blocks of a call (planes.h). `channels` is the number of channels of an interleaved pixel; 1 for planes. The code
 * is compiled twice, with each radius as a constant. */
NOINLINE void rank_network_run(SRC_PARAMS, DST_PARAMS, int channels, int radius, int alpha_channel, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * SEGMENT, y = item_y * OUTPUTS + dst_at.first_row;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
#ifndef SAMPLE
        if (alpha_channel >= 0 && item_z % dst_at.channels == alpha_channel) {
            for (int r = y; r < min(y + OUTPUTS, dst_at.first_row + dst_at.rows); r++)
                for (int i = x; i < min(x + SEGMENT, dst_at.width); i += LANES)
                    store(PLANES_ARG(dst), i, r, item_z, load(PLANES_ARG(src), i, r, item_z));
            continue;
        }
#endif
        if (radius == 1)
            filter_block(SRC_ARGS, DST_ARGS, x, y, item_z, channels, 1);
        else
            filter_block(SRC_ARGS, DST_ARGS, x, y, item_z, channels, 2);
    }
}

__kernel void rank_network(SRC_PARAMS, DST_PARAMS, int channels, int radius, int alpha_channel)
{
    rank_network_run(SRC_ARGS, DST_ARGS, channels, radius, alpha_channel, WORK_ITEM_ARGS);
}
