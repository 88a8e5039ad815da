/* Ranks in square windows on GPUs, in buffers, for windows whose columns a group can hold: each item keeps columns sorted
 * in local memory while the group goes down, row by row, so that counting the keys up to a value is a binary search a
 * column.
 *
 *   -DGROUP=n  work-items of a group, side by side along x */
#ifndef LANES
#define LANES 1
#endif
#include "rank.h"

#ifndef GROUP
#define GROUP 64
#endif
/* Keys of a rank stand side by side, so that work-items use a bank each wherever they are in their columns. A column begins
 * behind a key that all are larger than, and ends with keys that none is larger than. */
#define PITCH (2 * GROUP)

/* `rank` of the keys of a window stand before the one that is wanted. A group has that many rows of outputs; a column of
 * 2 * radius + 1 keys is shorter than 2 * step. */
struct ranking {
    int radius, rank, step, rows;
};

/* The first of the column's keys that is larger. */
static inline __local const uint *find_larger(__local const uint *column, const struct ranking by, uint key)
{
#pragma unroll
    for (int n = GROUP / 2; n > 0; n /= 2)
        if (by.step >= n)
            column += column[(n - 1) * PITCH] <= key ? n * PITCH : 0;
    return column;
}

static inline void begin_column(__local uint *column, PLANES_IN(src), const struct ranking by, int x, int y, int z)
{
    const int side = 2 * by.radius + 1;
    column[-PITCH] = 0;
    for (int n = 0; n < side; n++) {
        const uint key = key_at(PLANES_ARG(src), x, y - by.radius + n, z);
        int i = n;
        for (; i > 0 && column[(i - 1) * PITCH] > key; i--)
            column[i * PITCH] = column[(i - 1) * PITCH];
        column[i * PITCH] = key;
    }
    for (int i = side; i < 2 * by.step; i++)
        column[i * PITCH] = UINT_MAX;
}

/* From the window around row y - 1 to the one around row y. */
static inline void move_column(__local uint *column, PLANES_IN(src), const struct ranking by, int x, int y, int z)
{
    const uint old = key_at(PLANES_ARG(src), x, y - by.radius - 1, z), key = key_at(PLANES_ARG(src), x, y + by.radius, z);
    if (old == key)
        return;
    __local uint *last = column + 2 * by.radius * PITCH, *at = (__local uint *)find_larger(column, by, old) - PITCH;
    at = at > last ? last : at; /* of a NaN that no key is larger than */
    for (; at < last && at[PITCH] < key; at += PITCH)
        *at = at[PITCH];
    for (; at > column && at[-PITCH] > key; at -= PITCH)
        *at = at[-PITCH];
    *at = key;
}

/* Narrows a range of keys whose ends are keys of the window. It begins between those that stand in the columns where the
 * one wanted would in the whole, were all columns alike, and with the key that was wanted a row above. After that one
 * step goes by how many keys are beside the range's ends, if as yet by guess, the next one halves the range. */
static inline uint find_key(__local const uint *columns, const struct ranking by, uint key)
{
    const int side = 2 * by.radius + 1, middle = by.rank / side * PITCH;
    float before = 0.25f * side * side, all = 3 * before;
    uint low = columns[middle], high = low;
    for (int c = 1; c < side; c++) {
        low = min(low, columns[middle + c]);
        high = max(high, columns[middle + c]);
    }
    for (bool halve = false; low < high; halve = !halve) {
        uint below = low, above = high; /* the keys next to it, it included */
        int sum = 0;
        key = clamp(key, low, high - 1);
#pragma unroll 4
        for (int c = 0; c < side; c++) {
            __local const uint *next = find_larger(columns + c, by, key);
            sum += next - (columns + c);
            below = max(below, next[-PITCH]);
            above = min(above, next[0]);
        }
        sum /= PITCH;
        if (sum > by.rank)
            high = below, all = sum;
        else
            low = above, before = sum;
        const float part = (by.rank + 0.5f - before) / (all - before);
        key = low + (halve ? (high - low) / 2 : (uint)((high - low) * clamp(part, 0.0f, 1.0f)));
    }
    return low;
}

/* `columns` has room for 2 * step + 1 keys a column. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rank_columns(PLANES_IN(src), PLANES_OUT(dst), const struct ranking by, int alpha_channel, __local uint *columns)
{
    const int id = get_local_id(0), begin = get_group_id(0) * GROUP, x = begin + id, z = get_global_id(2);
    const int first = get_group_id(1) * by.rows + dst_at.first_row, end = min(first + by.rows, dst_at.first_row + dst_at.rows);
    const bool copies = alpha_channel >= 0 && z % dst_at.channels == alpha_channel;
    uint key = 0;
    columns += PITCH;
    for (int y = first; y < end; y++) {
        for (int c = id; c < GROUP + 2 * by.radius && !copies; c += GROUP)
            if (y == first)
                begin_column(columns + c, PLANES_ARG(src), by, begin + c - by.radius, y, z);
            else
                move_column(columns + c, PLANES_ARG(src), by, begin + c - by.radius, y, z);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x < dst_at.width) {
            key = copies ? to_key(load(PLANES_ARG(src), x, y, z)) : find_key(columns + id, by, key);
            store(PLANES_ARG(dst), x, y, z, from_key(key));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
