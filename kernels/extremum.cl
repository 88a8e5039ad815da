/* The smallest or the largest of a run of samples along an axis. A launch takes it of few: first of 8 neighbours, then of 8 of those
 * runs, and so on, and last of as many as the window has, which overlap (src/filters/extrema.c). */
#include "planes.h"

/* Sample i becomes that of samples i + first, i + first + step, ... i + first + last, `count` of them. */
struct window {
    int down; /* not 0: along y */
    int first, step, count, last;
    int largest, wraps; /* not 0: the largest one; beyond the border is the other end */
    int reach;          /* next to samples so near to the border 0 counts, too; 0: nowhere */
    int keep;           /* a channel that is copied, as alpha is; -1: none */
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
static inline pixel extreme(pixel a, pixel b, int largest)
{
    return largest ? (b > a || b != b ? b : a) : (b < a || a != a ? b : a);
}

static inline pixel load_at(SOURCE(s), int x, int y, int z, int wraps)
{
#if LANES == 16
    float line[LANES];
    if (x >= 0 && x + LANES <= s_at.width)
        return VLOAD(s + offset(s_at, x, y, z));
    for (int i = 0; i < LANES; i++)
        line[i] = s[offset(s_at, place(x + i, s_at.width, wraps), y, z)];
    return VLOAD(line);
#else
    return load(GIVE(s), place(x, s_at.width, wraps), y, z);
#endif
}

/* Whether sample i of n is so near to the border that zeros beyond it count. */
static inline bool meets_zero(int i, int n, int reach)
{
    return reach > 0 && (i < reach || i + reach >= n);
}

static inline pixel with_zero(pixel v, const struct window by, int x, int y, const struct geometry at)
{
    const pixel zeros = extreme(v, (pixel)(0.0f), by.largest);
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

APART void extremum_run(SOURCE(src), TARGET(dst), const struct window by, ITEM)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + RUN; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        pixel v = 0.0f;
        for (int k = 0; k < by.count; k++) {
            const int from = by.first + min(k * by.step, by.last);
            const int row = by.down ? place(y + from, src_at.height, by.wraps) : y;
            const pixel next = load_at(GIVE(src), by.down ? x : x + from, held_row(src_at, row), z, by.wraps);
            v = k == 0 ? next : extreme(v, next, by.largest);
        }
        if (by.reach > 0)
            v = with_zero(v, by, x, y, src_at);
        if (by.keep >= 0)
            v = keep_channel(v, load(GIVE(src), x, y, z), z, dst_at.channels, by.keep);
        store(GIVE(dst), x, y, z, v);
    }
}

__kernel void extremum(SOURCE(src), TARGET(dst), const struct window by)
{
    extremum_run(GIVE(src), GIVE(dst), by, THIS_ITEM);
}
