/* The smallest or the largest of a run of samples along an axis. A launch takes it of few: first of 8 neighbours, then of 8 of those
 * runs, and so on, and last of as many as the window has, which overlap (src/filters/extrema.c). */
#include "planes.h"

/* Sample i becomes that of samples i + first, i + first + step, ... i + first + last, `count` of them. */
struct window {
    int down; /* not 0: along y */
    int first, step, count, last;
    int largest, wraps; /* not 0: the largest one; beyond the border is the other end */
    int reach;          /* next to samples so near to the border 0 counts, too; 0: nowhere */
    int alpha_channel;           /* a channel that is copied, as alpha is; -1: none */
};

/* Beyond the border nothing counts that is not in the window anyway. */
static inline int place(int i, int n, int wraps)
{
    if (!wraps)
        return clamp(i, 0, n - 1);
    i %= n;
    return i < 0 ? i + n : i;
}

/* NaN is larger than all numbers, as in a rank filter. */
static inline vec extreme(vec a, vec b, int largest)
{
    return largest ? (b > a || b != b ? b : a) : (b < a || a != a ? b : a);
}

static inline vec load_at(PLANES_IN(s), int x, int y, int z, int wraps)
{
#if LANES == 16
    float line[LANES];
    if (x >= 0 && x + LANES <= s_at.width)
        return VLOAD(s + offset(s_at, x, y, z));
    for (int i = 0; i < LANES; i++)
        line[i] = s[offset(s_at, place(x + i, s_at.width, wraps), y, z)];
    return VLOAD(line);
#else
    return load(PLANES_ARG(s), place(x, s_at.width, wraps), y, z);
#endif
}

/* True if the window of sample i of n reaches zeros beyond the border. */
static inline bool meets_zero(int i, int n, int reach)
{
    return reach > 0 && (i < reach || i + reach >= n);
}

static inline vec with_zero(vec v, const struct window by, int x, int y, const struct geometry at)
{
    const vec zeros = extreme(v, (vec)(0.0f), by.largest);
    if (by.down)
        return meets_zero(y, at.height, by.reach) ? zeros : v;
#if LANES == 16
    float line[LANES], others[LANES];
    store_line(v, line);
    store_line(zeros, others);
    for (int i = 0; i < LANES; i++)
        line[i] = meets_zero(x + i, at.width, by.reach) ? others[i] : line[i];
    return VLOAD(line);
#else
    return meets_zero(x, at.width, by.reach) ? zeros : v;
#endif
}

NOINLINE void extremum_run(PLANES_IN(src), PLANES_OUT(dst), const struct window by, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        vec v = 0.0f;
        for (int k = 0; k < by.count; k++) {
            const int from = by.first + min(k * by.step, by.last);
            const int row = by.down ? place(y + from, src_at.height, by.wraps) : y;
            const vec next = load_at(PLANES_ARG(src), by.down ? x : x + from, clamp_row(src_at, row), z, by.wraps);
            v = k == 0 ? next : extreme(v, next, by.largest);
        }
        if (by.reach > 0)
            v = with_zero(v, by, x, y, src_at);
        if (by.alpha_channel >= 0)
            v = select_alpha(v, load(PLANES_ARG(src), x, y, z), z, dst_at.channels, by.alpha_channel);
        store(PLANES_ARG(dst), x, y, z, v);
    }
}

__kernel void extremum(PLANES_IN(src), PLANES_OUT(dst), const struct window by)
{
    extremum_run(PLANES_ARG(src), PLANES_ARG(dst), by, WORK_ITEM_ARGS);
}
