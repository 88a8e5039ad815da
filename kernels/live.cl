/* Liveness of an image's cells. Noise is estimated from the coefficients of live cells only (noise.cl).
 *
 * A cell of level l is the 2^l x 2^l pixels of one coefficient. Its liveness is 0 (dead) to LIVE. A cell of level 1 is
 *
 *   1. dead in a colour that is clipped in both pixels of a row, at 0 or full scale (premultiplied colour is 0 if alpha is 0);
 *   2. dead in all colours if these are constant along EQUAL_PIXELS pixels of the row;
 *   3. otherwise live.
 *
 *     pixels of a row    x-2 x-1 [x x+1] x+2 x+3      a cell of level 1 and its neighbours
 *
 * Only every fourth row of pixels is tested: cells 2j and 2j + 1 of a column share the result. A cell of a coarser level is the
 * rounded mean of its four children.
 *
 * A packed cell is four bytes, from the lowest on:
 *
 *     colour pictures    red, green, blue, all        `all` is dead if all colours are
 *     gray pictures      gray, all, all, all
 *
 * Work-items have CELLS cells along x. All arithmetic after the comparisons is in integers. */
#ifndef LANES
#define LANES 1
#endif
#include "planes.h"

#define LIVE         252   /* also in kernels/noise.cl */
#define EQUAL_PIXELS 6     /* pixels that rule 2 compares: the cell's own two and two on either side */
#define CLIPPED      1e-6f /* largest distance of clipped values from 0 or full scale */

/* CHANNEL is one colour of the pixels of CELLS cells. In buffers on CPU devices these are sixteen neighbours, whose even lanes
 * (FIRST_PIXELS) are the first pixels of cells; otherwise it is the first pixel of a cell. MASK converts the result of a
 * comparison to -1 for true: in vectors true is -1 already. */
#if LANES == 16 && !defined(IMAGES)
#define CELLS        8 /* of a work-item */
#define CHANNEL      float16
#define MASK(t)      (t)
typedef int16 mask;
typedef int8 cells;
typedef uint8 packed_cells;
#define FIRST_PIXELS(t) (t).even
#define PACKED(v)       as_uint8(v)
#define STORE(v, p)     vstore8(v, 0, p)
#else
#define CELLS        1
#define CHANNEL      float
#define MASK(t)      (-(t))
typedef int mask;
typedef int cells;
typedef uint packed_cells;
#define FIRST_PIXELS(t) (t)
#define PACKED(v)       as_uint(v)
#define STORE(v, p)     (*(p) = (v))
#endif
#include "opponent.h"

/* Loads the pixels that the rules need: shifted[k] has pixel x - 2 + k of row y, a vector also the fifteen pixels after it. */
static inline void load_shifted(CHANNEL shifted[EQUAL_PIXELS], PLANES_IN(src), int x, int y, int image, int channel,
                                int channels)
{
#ifdef IMAGES
    for (int k = 0; k < EQUAL_PIXELS; k++) {
        const float4 v = load(PLANES_ARG(src), clamp(x - 2 + k, 0, src_at.width - 1), y, 0);
        shifted[k] = component(v, channel);
    }
#else
    __global const float *row = src + offset(src_at, 0, y, image * channels + channel);
#if LANES == 16
    if (x >= 2 && x + LANES + 3 <= src_at.width) {
        for (int k = 0; k < EQUAL_PIXELS; k++)
            shifted[k] = VLOAD(row + x - 2 + k);
        return;
    }
    float line[LANES + EQUAL_PIXELS - 1];
    for (int i = 0; i < LANES + EQUAL_PIXELS - 1; i++)
        line[i] = row[clamp(x - 2 + i, 0, src_at.width - 1)];
    for (int k = 0; k < EQUAL_PIXELS; k++)
        shifted[k] = VLOAD(line + k);
#else
    for (int k = 0; k < EQUAL_PIXELS; k++)
        shifted[k] = row[clamp(x - 2 + k, 0, src_at.width - 1)];
#endif
#endif
}

/* Returns true where v is 0 or full scale. */
static inline mask is_clipped(CHANNEL v)
{
    return MASK((fabs(v) <= CLIPPED) | (fabs(v - 1.0f) <= CLIPPED));
}

/* Computes rows [range.x, range.y) of the cells of level 1. `opponent` is not 0 if src has opponent colours. Grid: x counts
 * groups of CELLS cells, y pairs of rows of cells, z images. */
NOINLINE void live_cells_run(PLANES_IN(src), __global uint *live, const struct geometry live_at, int2 range, int channels,
                             int colours, int opponent, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = 2 * CELLS * item, j = 2 * (range.x / 2 + item_y), image = item_z;
        if (x >= src_at.width || j >= range.y)
            return;
        const int y = clamp(2 * j, src_at.first_row, src_at.first_row + src_at.rows - 1);
        /* Rule 2: tests if all colours are constant along the row. */
        mask same = MASK((CHANNEL)(0.0f) == (CHANNEL)(0.0f)), clipped[4];
        CHANNEL left[4], right[4];
        for (int c = 0; c < colours; c++) {
            CHANNEL shifted[EQUAL_PIXELS];
            load_shifted(shifted, PLANES_ARG(src), x, y, image, c, channels);
            for (int k = 1; k < EQUAL_PIXELS; k++)
                same &= MASK(shifted[k] == shifted[k - 1]);
            left[c] = shifted[2], right[c] = shifted[3];
        }
        /* Rule 1: tests clipping, in red, green and blue. */
        if (opponent)
            from_opponent(left), from_opponent(right);
        mask all = same;
        for (int c = 0; c < colours; c++) {
            clipped[c] = same | (is_clipped(left[c]) & is_clipped(right[c]));
            all = c == 0 ? clipped[0] : all & clipped[c];
        }
        /* Packs a byte per channel, for both rows of cells. */
        cells v = 0;
        for (int c = 0; c < 4; c++) {
            const cells dead = FIRST_PIXELS(c < colours ? clipped[c] : all);
            v |= (~dead & LIVE) << (8 * c);
        }
        for (int row = max(j, range.x); row < min(j + 2, range.y); row++)
            STORE(PACKED(v), live + offset(live_at, x / 2, row, image));
    }
}

__kernel void live_cells(PLANES_IN(src), __global uint *live, const struct geometry live_at, int2 range, int channels,
                         int colours, int opponent)
{
    live_cells_run(PLANES_ARG(src), live, live_at, range, channels, colours, opponent, WORK_ITEM_ARGS);
}

/* Loads the left children, then the right children of a work-item's cells along x. Repeats the last one at the border. */
static inline void load_children(packed_cells children[2], __global const uint *row, int x, int width)
{
#if CELLS == 8
    if (2 * x + 16 <= width) {
        const uint16 v = vload16(0, row + 2 * x);
        children[0] = v.even, children[1] = v.odd;
        return;
    }
    uint line[2][8];
    for (int i = 0; i < 16; i++)
        line[i % 2][i / 2] = row[min(2 * x + i, width - 1)];
    for (int k = 0; k < 2; k++)
        children[k] = (uint8)(line[k][0], line[k][1], line[k][2], line[k][3], line[k][4], line[k][5], line[k][6], line[k][7]);
#else
    for (int k = 0; k < 2; k++)
        children[k] = row[min(2 * x + k, width - 1)];
#endif
}

/* Computes rows [range.x, range.y) of the cells of the next coarser level. Grid: x counts groups of CELLS cells, y rows of
 * cells, z images. */
NOINLINE void live_halve_run(__global const uint *fine, const struct geometry fine_at, __global uint *live,
                             const struct geometry live_at, int2 range, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = CELLS * item, j = item_y + range.x, image = item_z;
        if (x >= live_at.width || j >= range.y)
            return;
        /* Sums of bytes 0 and 2 and of bytes 1 and 3, beginning with 2: rounds the division by 4. */
        packed_cells v[4], even = 0x00020002, odd = 0x00020002;
        for (int k = 0; k < 2; k++) {
            const int row = clamp(2 * j + k, fine_at.first_row, fine_at.first_row + fine_at.rows - 1);
            load_children(v + 2 * k, fine + offset(fine_at, 0, row, image), x, fine_at.width);
        }
        for (int k = 0; k < 4; k++)
            even += v[k] & 0x00ff00ff, odd += v[k] >> 8 & 0x00ff00ff;
        STORE((even >> 2 & 0x00ff00ff) | (odd >> 2 & 0x00ff00ff) << 8, live + offset(live_at, x, j, image));
    }
}

__kernel void live_halve(__global const uint *fine, const struct geometry fine_at, __global uint *live,
                         const struct geometry live_at, int2 range)
{
    live_halve_run(fine, fine_at, live, live_at, range, WORK_ITEM_ARGS);
}
