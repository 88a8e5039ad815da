/* Affine warps: output (x, y) is taken from (xx x + xy y + x, yx x + yy y + y) of the source, pixels' centres at whole
 * numbers. Positions are integers, in units of 2^-40 pixels: float would be off by 0.001 pixels in the middle of a large
 * picture, and so every form and slice finds the same ones.
 *
 *   -DTAPS=n  samples along each axis: 2 bilinear, 4 cubic */
#ifndef LANES
#define LANES 1
#endif
#include "edge.h"

#ifndef TAPS
#define TAPS 4
#endif

#define UNIT_BITS 40

struct warp {
    long xx, xy, x, yx, yy, y;
    float cubic[4][4];       /* the weights of a cubic's four samples: polynomials of how far the position is beyond the
                              * second one, constant terms first */
    float near[4], far[4];   /* the same as polynomials of the distance, up to 1 and up to 2 */
    float stretch_x, stretch_y;
    int copies;              /* not 0: samples are copied, whatever the filter */
};

/* Sample x, y of the source and how far beyond it the position is. */
struct position {
    int x, y;
    float beyond_x, beyond_y;
};

/* 24 bits, which a float holds. */
static inline float fraction(long position)
{
    return convert_float((int)(position >> (UNIT_BITS - 24)) & 0xffffff) * 0x1p-24f;
}

static inline struct position find_position(const struct warp *by, int x, int y)
{
    const long source_x = by->xx * x + by->xy * y + by->x, source_y = by->yx * x + by->yy * y + by->y;
    return (struct position){(int)(source_x >> UNIT_BITS), (int)(source_y >> UNIT_BITS), fraction(source_x),
                             fraction(source_y)};
}

/* Of the TAPS samples around a position that is so far beyond the one before it. */
INLINE void find_weights(float *weights, const struct warp *by, float beyond)
{
#if TAPS == 4
#pragma unroll
    for (int k = 0; k < 4; k++)
        weights[k] = ((by->cubic[3][k] * beyond + by->cubic[2][k]) * beyond + by->cubic[1][k]) * beyond + by->cubic[0][k];
#else
    weights[0] = 1 - beyond;
    weights[1] = beyond;
#endif
}

#if TAPS == 4
typedef float8 line;
#define PLACES     (line)(0, 1, 2, 3, 4, 5, 6, 7)
#define STORE_LINE vstore8
#else
typedef float4 line;
#define PLACES     (line)(0, 1, 2, 3)
#define STORE_LINE vstore4
#endif

/* The samples of a line. */
#define WIDTH (2 * TAPS)

/* The weights of a line's samples, of which the first lies so far beyond the position, for a filter that is stretched. */
INLINE line weigh_line(const struct warp *by, float first, float stretch)
{
    const line distance = fabs(PLACES + first) / stretch;
#if TAPS == 4
    const float *n = by->near, *f = by->far;
    const line near = ((n[3] * distance + n[2]) * distance + n[1]) * distance + n[0],
               far = ((f[3] * distance + f[2]) * distance + f[1]) * distance + f[0];
    return distance < 1 ? near : distance < 2 ? far : (line)(0.0f);
#else
    return max(1 - distance, 0.0f);
#endif
}

INLINE sample_at_x sample_beside(SOURCE(src), int x, int y, int z)
{
    if (outside(y, src_at.height))
        return 0.0f;
    return load_column(GIVE(src), x, held_row(src_at, edge(y, src_at.height)), z);
}

/* Whether so many samples from x on, in so many rows from y on, are all held. */
static inline bool holds(const struct geometry at, int x, int y, int columns, int rows)
{
    return x >= 0 && x + columns <= at.width && y >= at.first_row && y + rows <= at.first_row + at.rows;
}

#define HELD(x, y)   LOAD_ONE(src, x, y, z)
#define BESIDE(x, y) sample_beside(GIVE(src), x, y, z)

/* The sum over TAPS x TAPS samples from x0, y0 on: first those above each other. */
#define SUM_OF(SAMPLE)                                                                                                 \
    _Pragma("unroll") for (int j = 0; j < TAPS; j++)                                                                   \
        _Pragma("unroll") for (int i = 0; i < TAPS; i++) column[i] = mad(SAMPLE(x0 + i, y0 + j), wy[j], column[i]);

__kernel void warp(SOURCE(src), TARGET(dst), const struct warp by)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct position at = find_position(&by, x, y);
    if (by.copies) {
        store(GIVE(dst), x, y, z, sample_beside(GIVE(src), at.x, at.y, z));
        return;
    }
    const int x0 = at.x - TAPS / 2 + 1, y0 = at.y - TAPS / 2 + 1;
    float wx[TAPS], wy[TAPS];
    sample_at_x column[TAPS], sum = 0.0f;
    find_weights(wx, &by, at.beyond_x);
    find_weights(wy, &by, at.beyond_y);
#pragma unroll
    for (int i = 0; i < TAPS; i++)
        column[i] = 0.0f;
    if (holds(src_at, x0, y0, TAPS, TAPS)) {
        SUM_OF(HELD)
    } else {
        SUM_OF(BESIDE)
    }
#pragma unroll
    for (int i = 0; i < TAPS; i++)
        sum = mad(column[i], wx[i], sum);
    store(GIVE(dst), x, y, z, sum);
}

/* WIDTH samples from x0, y0 on, times the weight of their row. */
#define ADD_ROW(SAMPLE)                                                                                                \
    _Pragma("unroll") for (int i = 0; i < WIDTH; i++) column[i] = mad(SAMPLE(x0 + i, y0), wy[j], column[i]);

/* The same where the source shrinks: the filter is stretched, and its weights normalised. */
__kernel void warp_shrinking(SOURCE(src), TARGET(dst), const struct warp by)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const struct position at = find_position(&by, x, y);
    const int reach_x = (int)ceil(TAPS / 2 * by.stretch_x), reach_y = (int)ceil(TAPS / 2 * by.stretch_y);
    sample_at_x sum = 0.0f;
    float across = 0.0f, down = 0.0f;
    for (int left = 1 - reach_x; left <= reach_x; left += WIDTH) {
        const int x0 = at.x + left;
        const bool held = holds(src_at, x0, at.y - reach_y + 1, WIDTH, 2 * reach_y);
        sample_at_x column[WIDTH];
        float wx[WIDTH], wy[WIDTH];
        down = 0.0f;
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            column[i] = 0.0f;
        for (int top = 1 - reach_y; top <= reach_y; top += WIDTH) {
            STORE_LINE(weigh_line(&by, top - at.beyond_y, by.stretch_y), 0, wy);
            const int rows = min(WIDTH, reach_y - top + 1);
            for (int j = 0; j < rows; j++) {
                const int y0 = at.y + top + j;
                down += wy[j];
                if (wy[j] == 0.0f) /* what is not a number there does not count, as along x */
                    continue;
                if (held) {
                    ADD_ROW(HELD)
                } else {
                    ADD_ROW(BESIDE)
                }
            }
        }
        STORE_LINE(weigh_line(&by, left - at.beyond_x, by.stretch_x), 0, wx);
#pragma unroll
        for (int i = 0; i < WIDTH; i++) { /* beyond the filter may lie what is not a number */
            across += wx[i];
            sum += wx[i] == 0.0f ? 0.0f : column[i] * wx[i];
        }
    }
    store(GIVE(dst), x, y, z, sum / (across * down));
}
