/* Running minimum or maximum along an axis (gray-scale erosion or dilation by a line):
 *
 *     dst[i] = min over k of src[i + first + min(k step, reach)],  k = 0 ... count - 1
 *
 * Several passes compute the minimum of a window. After passes with step 1, 8, 64, ... each sample is the minimum of a run of 8,
 * 64, 512, ... samples of the image. The last pass covers the window with runs, which may overlap (src/filters/rank.c):
 *
 *     window of 11        |. . . . . . . . . . .|
 *     runs of 8           |---------------|             first run, at `first`
 *                               |---------------|       last run, at first + reach
 *
 * Grid: x counts vecs, y rows, z planes. A minimum does not depend on the order of its operands, but for the sign of 0;
 * all devices use the same order. NaN is larger than all numbers, as in a rank filter. */
#include "planes.h"

struct window {
    int along_y;                   /* not 0: along y, else along x */
    int first, step, count, reach; /* as in the formula above, in samples */
    int largest;                   /* not 0: maximum, else minimum */
    int wraps;                     /* not 0: border rule wrap */
    int zero_margin;               /* with border rule zero: radius of the window; else 0 */
    int alpha_channel;             /* copied, not filtered; -1: no alpha */
};

/* Returns the index of the sample for position i of an axis of n samples. Without wrapping, clamps it: instead of a run that
 * begins beyond the border, the run at the border is used, which is in the window, too (extrema_along() in
 * src/filters/rank.c). Border rules clamp and mirror only repeat samples of the window, so they need no code;
 * include_zero() adds the zeros of border rule zero. */
static inline int map_index(int i, int n, int wraps)
{
    if (!wraps)
        return clamp(i, 0, n - 1);
    i %= n;
    return i < 0 ? i + n : i;
}

/* Returns the smaller or the larger operand, lane by lane. */
static inline vec extreme(vec a, vec b, int largest)
{
    return largest ? (b > a || b != b ? b : a) : (b < a || a != a ? b : a);
}

/* Loads the vec at x, any part of which may be beyond the border. */
static inline vec load_mapped(PLANES_IN(s), int x, int y, int z, int wraps)
{
#if LANES == 16 /* CPU devices, buffers */
    float line[LANES];
    if (x >= 0 && x + LANES <= s_at.width)
        return VLOAD(s + offset(s_at, x, y, z));
    for (int i = 0; i < LANES; i++)
        line[i] = s[offset(s_at, map_index(x + i, s_at.width, wraps), y, z)];
    return VLOAD(line);
#else
    return load(PLANES_ARG(s), map_index(x, s_at.width, wraps), y, z);
#endif
}

/* Returns true if the window of sample i of n contains zeros from beyond the border. */
static inline bool has_zero(int i, int n, int zero_margin)
{
    return zero_margin > 0 && (i < zero_margin || i + zero_margin >= n);
}

/* Returns v, combined with 0 in lanes whose window contains zeros. */
static inline vec include_zero(vec v, const struct window window, int x, int y, const struct geometry at)
{
    const vec zeros = extreme(v, (vec)(0.0f), window.largest);
    if (window.along_y)
        return has_zero(y, at.height, window.zero_margin) ? zeros : v;
#if LANES == 16 /* CPU devices, buffers */
    float line[LANES], others[LANES];
    store_sixteen(v, line);
    store_sixteen(zeros, others);
    for (int i = 0; i < LANES; i++)
        line[i] = has_zero(x + i, at.width, window.zero_margin) ? others[i] : line[i];
    return VLOAD(line);
#else
    return has_zero(x, at.width, window.zero_margin) ? zeros : v;
#endif
}

NOINLINE void extremum_run(PLANES_IN(src), PLANES_OUT(dst), const struct window window, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        vec v = 0.0f;
        for (int k = 0; k < window.count; k++) {
            const int from = window.first + min(k * window.step, window.reach);
            const int row = window.along_y ? map_index(y + from, src_at.height, window.wraps) : y;
            const vec next = load_mapped(PLANES_ARG(src), window.along_y ? x : x + from, clamp_row(src_at, row), z, window.wraps);
            v = k == 0 ? next : extreme(v, next, window.largest);
        }
        if (window.zero_margin > 0)
            v = include_zero(v, window, x, y, src_at);
        if (window.alpha_channel >= 0)
            v = select_alpha(v, load(PLANES_ARG(src), x, y, z), z, dst_at.channels, window.alpha_channel);
        store(PLANES_ARG(dst), x, y, z, v);
    }
}

__kernel void extremum(PLANES_IN(src), PLANES_OUT(dst), const struct window window)
{
    extremum_run(PLANES_ARG(src), PLANES_ARG(dst), window, WORK_ITEM_ARGS);
}
