/* Rank filter of square windows on GPUs, in buffers. Columns of keys are sorted once and kept in local memory while the
 * group moves down, row by row. The key of a rank is found by bisection: each step counts the window's keys up to a
 * guess, by a binary search in each column.
 *
 *     columns      |  radius  |  GROUP outputs  |  radius  |     at most 2 GROUP columns; radius < GROUP / 2
 *     work-item i             a window of 2 radius + 1 columns, from column i on
 *                  keeps columns i and i + GROUP sorted: removes one key and inserts one per row
 *
 * Local memory: 2 GROUP columns of 2 step + 1 keys, 33 KB for radius 16 to 31. Larger windows, discs and devices with
 * less local memory use rank_digits_gpu.cl. A group processes many rows, as its first row costs the sorting of whole columns.
 *
 * Grid: x counts pixels, y groups of rows, z planes.
 *
 *   -DGROUP=n  work-items of a group, along x: 64 (src/filters/rank.c) */
#define LANES 1
#include "rank.h"

#ifndef GROUP
#define GROUP 64
#endif
/* Distance of neighbouring keys of a column: columns are interleaved, so the work-items of a group read different banks.
 * Sentinels enclose a column: 0 before its first key, UINT_MAX after its last one. */
#define PITCH (2 * GROUP)

/* The filter. The output is the key at index `rank` of the window's sorted keys. */
struct ranking {
    int radius, rank;
    int step; /* largest power of two <= 2 * radius + 1, at most GROUP / 2: the first step of a binary search in a column */
    int rows; /* output rows of a group */
};

/* Returns the first key of a column that is larger than `key`. */
static inline __local const uint *upper_bound(__local const uint *column, const struct ranking ranking, uint key)
{
#pragma unroll
    for (int n = GROUP / 2; n > 0; n /= 2)
        if (ranking.step >= n)
            column += column[(n - 1) * PITCH] <= key ? n * PITCH : 0;
    return column;
}

/* Fills a column with the keys of the window around row y, by insertion sort. */
static inline void sort_column(__local uint *column, PLANES_IN(src), const struct ranking ranking, int x, int y, int z)
{
    const int side = 2 * ranking.radius + 1;
    column[-PITCH] = 0;
    for (int n = 0; n < side; n++) {
        const uint key = key_at(PLANES_ARG(src), x, y - ranking.radius + n, z);
        int i = n;
        for (; i > 0 && column[(i - 1) * PITCH] > key; i--)
            column[i * PITCH] = column[(i - 1) * PITCH];
        column[i * PITCH] = key;
    }
    for (int i = side; i < 2 * ranking.step; i++)
        column[i * PITCH] = UINT_MAX;
}

/* Moves a column down to row y: removes the key above the window, inserts the new one, and shifts the keys between the
 * two. */
static inline void slide_column(__local uint *column, PLANES_IN(src), const struct ranking ranking, int x, int y, int z)
{
    const uint old = key_at(PLANES_ARG(src), x, y - ranking.radius - 1, z),
               key = key_at(PLANES_ARG(src), x, y + ranking.radius, z);
    if (old == key)
        return;
    __local uint *last = column + 2 * ranking.radius * PITCH;
    __local uint *at = (__local uint *)upper_bound(column, ranking, old) - PITCH;
    at = at > last ? last : at; /* the key of a NaN may equal the sentinel */
    for (; at < last && at[PITCH] < key; at += PITCH)
        *at = at[PITCH];
    for (; at > column && at[-PITCH] > key; at -= PITCH)
        *at = at[-PITCH];
    *at = key;
}

/* Returns the key at index ranking.rank of a window's sorted keys. `key` is the first guess: the result of the row above.
 *
 * The result is always in [low, high]. Initially these are the minimum and the maximum, over the columns, of the key at index
 * q = rank / side: at most side * q <= rank keys are below `low`, and at least side * (q + 1) > rank keys are not above `high`.
 * Steps alternate between interpolation and bisection, which bounds the number of steps. */
static inline uint find_key(__local const uint *columns, const struct ranking ranking, uint key)
{
    const int side = 2 * ranking.radius + 1, at_q = ranking.rank / side * PITCH;
    /* Numbers of keys below `low`, and not above `high`. Initially guesses: a quarter and three quarters of all keys. */
    float below_low = 0.25f * side * side, up_to_high = 3 * below_low;
    uint low = columns[at_q], high = low;
    for (int c = 1; c < side; c++) {
        low = min(low, columns[at_q + c]);
        high = max(high, columns[at_q + c]);
    }
    for (bool halve = false; low < high; halve = !halve) {
        uint below = low, above = high; /* the largest key <= `key` and the smallest key > `key` of the window */
        int sum = 0;
        key = clamp(key, low, high - 1);
#pragma unroll 4
        for (int c = 0; c < side; c++) {
            __local const uint *next = upper_bound(columns + c, ranking, key);
            sum += next - (columns + c);
            below = max(below, next[-PITCH]);
            above = min(above, next[0]);
        }
        sum /= PITCH;
        if (sum > ranking.rank)
            high = below, up_to_high = sum;
        else
            low = above, below_low = sum;
        const float part = (ranking.rank + 0.5f - below_low) / (up_to_high - below_low);
        key = low + (halve ? (high - low) / 2 : (uint)((high - low) * clamp(part, 0.0f, 1.0f)));
    }
    return low;
}

/* `columns` has room for 2 GROUP columns of 2 * step + 1 keys. Alpha is copied. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rank_columns(PLANES_IN(src), PLANES_OUT(dst), const struct ranking ranking, int alpha_channel, __local uint *columns)
{
    const int id = get_local_id(0), begin = get_group_id(0) * GROUP, x = begin + id, z = get_global_id(2);
    const int first = get_group_id(1) * ranking.rows + dst_at.first_row;
    const int end = min(first + ranking.rows, dst_at.first_row + dst_at.rows);
    const bool is_alpha = alpha_channel >= 0 && z % dst_at.channels == alpha_channel;
    uint key = 0;
    columns += PITCH;
    for (int y = first; y < end; y++) {
        for (int c = id; c < GROUP + 2 * ranking.radius && !is_alpha; c += GROUP)
            if (y == first)
                sort_column(columns + c, PLANES_ARG(src), ranking, begin + c - ranking.radius, y, z);
            else
                slide_column(columns + c, PLANES_ARG(src), ranking, begin + c - ranking.radius, y, z);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x < dst_at.width) {
            key = is_alpha ? to_key(load(PLANES_ARG(src), x, y, z)) : find_key(columns + id, ranking, key);
            store(PLANES_ARG(dst), x, y, z, from_key(key));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
