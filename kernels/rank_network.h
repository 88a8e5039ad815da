/* Medians of 3x3 and 5x5 windows by sorting networks, after A. Adams, "Fast median filters using separable sorting
 * networks", ACM TOG 40 (2021). Columns are sorted first, once for all windows that contain them. Neighbouring windows share
 * columns (along x) or rows (along y):
 *
 *     two 5x5 windows side by side       c0 [c1 c2 c3 c4] c5     c1 to c4 are merged once; c0 completes the first window,
 *                                                                c5 the second one
 *     two 5x5 windows above each other   r0 [r1 r2 r3 r4] r5     each column of r1 to r4 is sorted once; the upper window
 *                                                                inserts r0 into it, the lower one r5
 *
 *   keys    type of a register: one key, or a vector with the keys of neighbouring pixels. min() and max() are defined for
 *           it. The file that includes this one defines it
 *   radius  1 or 2: a constant in all calls, so that loops over it are unrolled */
#pragma once

enum { MAX_SIDE = 5, MAX_COLUMNS = MAX_SIDE + 1 }; /* rows of a window; columns of two windows side by side */

/* Exchanges k[i] and k[j] if k[i] > k[j]. */
INLINE void compare_exchange(keys *k, int i, int j)
{
    const keys smaller = min(k[i], k[j]);
    k[j] = max(k[i], k[j]);
    k[i] = smaller;
}

/* Sets `column` to the 2 * radius sorted keys of `sorted` with v inserted. */
INLINE void insert_key(keys *column, const keys *sorted, keys v, const int radius)
{
#pragma unroll
    for (int i = 2 * radius; i > 0; i--) {
        column[i] = max(sorted[i - 1], v);
        v = min(sorted[i - 1], v);
    }
    column[0] = v;
}

/* Sorts 2 * radius keys in place: the rows of a column that two windows share. */
INLINE void sort_shared(keys *k, const int radius)
{
    compare_exchange(k, 0, 1);
    if (radius == 1)
        return;
    compare_exchange(k, 2, 3);
    compare_exchange(k, 0, 2);
    compare_exchange(k, 1, 3);
    compare_exchange(k, 1, 2);
}

static inline keys median_of_three(keys a, keys b, keys c)
{
    return max(min(a, b), min(max(a, b), c));
}

/* Merges two sorted columns of five in 13 comparisons: odd-even merge (K. Batcher, AFIPS SJCC 1968). */
INLINE void merge_columns(keys *merged, const keys *a, const keys *b)
{
    keys k[10];
#pragma unroll
    for (int i = 0; i < 5; i++)
        k[i] = a[i], k[5 + i] = b[i];
    compare_exchange(k, 0, 5);
    compare_exchange(k, 4, 9);
    compare_exchange(k, 4, 5);
    compare_exchange(k, 2, 7);
    compare_exchange(k, 2, 4);
    compare_exchange(k, 7, 5);
    compare_exchange(k, 1, 6);
    compare_exchange(k, 3, 8);
    compare_exchange(k, 3, 6);
    compare_exchange(k, 1, 2);
    compare_exchange(k, 3, 4);
    compare_exchange(k, 6, 7);
    compare_exchange(k, 8, 5);
    /* k[5] is now the second largest key. */
    merged[0] = k[0], merged[1] = k[1], merged[2] = k[2], merged[3] = k[3], merged[4] = k[4];
    merged[5] = k[6], merged[6] = k[7], merged[7] = k[8], merged[8] = k[5], merged[9] = k[9];
}

static inline keys extreme_of(keys a, keys b, bool largest)
{
    return largest ? max(a, b) : min(a, b);
}

/* Sorts the three largest (or smallest) of five keys into k[2], k[3], k[4], the most extreme one last. The keys are bitonic:
 * rotated, they rise and then fall. */
INLINE void sort_three_extremes(keys *k, bool largest)
{
    keys a = extreme_of(k[0], k[1], !largest), b = extreme_of(k[0], k[1], largest);
    keys t = extreme_of(a, k[2], !largest), c = extreme_of(a, k[2], largest), d = extreme_of(t, k[3], largest);
    t = extreme_of(b, d, !largest), d = extreme_of(b, d, largest);
    b = t, t = extreme_of(c, k[4], !largest), k[4] = extreme_of(c, k[4], largest);
    k[2] = extreme_of(b, t, largest);
    k[3] = extreme_of(d, k[4], !largest), k[4] = extreme_of(d, k[4], largest);
}

/* Computes the middle six of twenty keys, two sorted tens. Only these can be the median of 25 once five more are added. */
INLINE void middle_six(keys *middle, const keys *a, const keys *b)
{
    keys low[5], high[5];
#pragma unroll
    for (int i = 0; i < 5; i++) { /* the upper half of the lower ten, the lower half of the upper ten */
        low[i] = max(min(a[i], b[9 - i]), min(a[i + 5], b[4 - i]));
        high[i] = min(max(a[i], b[9 - i]), max(a[i + 5], b[4 - i]));
    }
    sort_three_extremes(low, true);
    sort_three_extremes(high, false);
    middle[0] = low[2], middle[1] = low[3], middle[2] = low[4];
    middle[3] = high[4], middle[4] = high[3], middle[5] = high[2];
}

/* Returns the sixth smallest key of a sorted six and a sorted five: the median of the eleven, and of the 25. */
INLINE keys sixth_key(const keys *six, const keys *five)
{
    keys k = six[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
        k = min(k, max(six[i], five[4 - i]));
    return k;
}

/* Computes the medians of two windows side by side: of columns 0 to 2 * radius, and 1 to 2 * radius + 1. Columns are sorted. */
INLINE void two_medians(keys column[MAX_COLUMNS][MAX_SIDE], keys *first, keys *second, const int radius)
{
    if (radius == 1) {
        /* The median of nine is the median of three keys: the largest of the smallest, the median of the middle, and the smallest
         * of the largest keys of the columns. */
        const keys low = max(column[1][0], column[2][0]), high = min(column[1][2], column[2][2]);
        const keys less = min(column[1][1], column[2][1]), more = max(column[1][1], column[2][1]);
        *first = median_of_three(max(low, column[0][0]), max(less, min(more, column[0][1])), min(high, column[0][2]));
        *second = median_of_three(max(low, column[3][0]), max(less, min(more, column[3][1])), min(high, column[3][2]));
        return;
    }
    keys left[10], right[10], middle[6];
    merge_columns(left, column[1], column[2]);
    merge_columns(right, column[3], column[4]);
    middle_six(middle, left, right);
    *first = sixth_key(middle, column[0]);
    *second = sixth_key(middle, column[5]);
}
