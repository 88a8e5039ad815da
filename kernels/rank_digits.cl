/* Ranks in any window, on GPUs and in images: digit by digit of the key, the highest first. Each digit is found by counting
 * those of the keys that begin as the one wanted does.
 *
 *   -DGROUP=n  work-items of a group, side by side along x */
#ifndef LANES
#define LANES 1
#endif
#include "rank.h"

#ifndef GROUP
#define GROUP 32
#endif

/* `rank` of the keys of a window are smaller than the one that is wanted. A window's row k rows from its middle reaches over
 * reach[k] columns on either side. Digits have `bits`: 4 or 8. */
struct ranking {
    int radius, rank, bits;
};

#ifdef IMAGES
#define CHANNEL(v, c) ((c) == 0 ? (v).x : (c) == 1 ? (v).y : (c) == 2 ? (v).z : (v).w)
#else
#define CHANNEL(v, c) (v)
#endif

static inline uint key_at(SOURCE(src), int x, int row, int z, int c)
{
    if (outside(x, src_at.width))
        return to_key(0.0f);
    return to_key(CHANNEL(load(GIVE(src), edge(x, src_at.width), row, z), c));
}

#define COUNT(key, times)                                                                                              \
    {                                                                                                                  \
        const uint k = key;                                                                                            \
        if ((k & known) == found)                                                                                      \
            bins[(k >> shift & last) * GROUP] += times;                                                                \
    }

/* The key that is wanted in channel c of the window around (x, y). Bins of the items of a group stand side by side. */
static inline uint find_key(__local ushort *bins, SOURCE(src), __global const float *reach, const struct ranking by, int x,
                            int y, int z, int c)
{
    const uint last = (1u << by.bits) - 1;
    uint found = 0, known = 0;
    int rank = by.rank;
    for (int shift = 32 - by.bits; shift >= 0; shift -= by.bits) {
        for (uint i = 0; i <= last; i++)
            bins[i * GROUP] = 0;
        for (int j = -by.radius; j <= by.radius; j++) {
            const int side = (int)reach[abs(j)];
            if (outside(y + j, src_at.height)) {
                COUNT(to_key(0.0f), (ushort)(2 * side + 1))
                continue;
            }
            const int row = held_row(src_at, edge(y + j, src_at.height));
            if (x >= side && x + side < src_at.width) {
                for (int i = x - side; i <= x + side; i++)
                    COUNT(to_key(CHANNEL(load(GIVE(src), i, row, z), c)), 1)
            } else {
                for (int i = x - side; i <= x + side; i++)
                    COUNT(key_at(GIVE(src), i, row, z, c), 1)
            }
        }
        uint digit = 0;
        for (; rank >= bins[digit * GROUP]; digit++)
            rank -= bins[digit * GROUP];
        found |= digit << shift;
        known |= last << shift;
    }
    return found;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rank_digits(SOURCE(src), TARGET(dst), __global const float *reach, const struct ranking by, int keep, __local ushort *bins)
{
    const int x = get_global_id(0), y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width)
        return;
    bins += get_local_id(0);
#ifdef IMAGES
    float v[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int c = 0; c < dst_at.channels; c++)
        if (c != keep)
            v[c] = from_key(find_key(bins, GIVE(src), reach, by, x, y, z, c));
    pixel value = (pixel)(v[0], v[1], v[2], v[3]);
    if (keep >= 0)
        value = keep_channel(value, load(GIVE(src), x, y, z), z, dst_at.channels, keep);
#else
    pixel value;
    if (keep >= 0 && z % dst_at.channels == keep)
        value = load(GIVE(src), x, y, z);
    else
        value = from_key(find_key(bins, GIVE(src), reach, by, x, y, z, 0));
#endif
    store(GIVE(dst), x, y, z, value);
}
