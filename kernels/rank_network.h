/* Medians of windows of 3x3 and 5x5 samples by networks of comparators. The file that includes this defines
 * `keys`, the type of a register: samples side by side, for which min() and max() are defined. `radius` is 1
 * or 2, a constant wherever these functions are used.
 *
 * Columns are sorted first, once for all the windows that they are in (after A. Adams, "Fast median filters
 * using separable sorting networks", ACM TOG 40, 2021). Two outputs next to each other share the columns
 * between their outermost ones, two above each other the rows. */
#pragma once

enum { MOST_SIDE = 5, MOST_COLUMNS = MOST_SIDE + 1 }; /* rows and columns of two windows next to each other */

/* A comparator: afterwards k[i] <= k[j]. */
INLINE void order(keys *k, int i, int j)
{
    const keys smaller = min(k[i], k[j]);
    k[j] = max(k[i], k[j]);
    k[i] = smaller;
}

/* Adds v to a column of 2 * radius sorted keys. */
INLINE void insert_key(keys *column, const keys *sorted, keys v, const int radius)
{
#pragma unroll
    for (int i = 2 * radius; i > 0; i--) {
        column[i] = max(sorted[i - 1], v);
        v = min(sorted[i - 1], v);
    }
    column[0] = v;
}

/* Sorts 2 * radius keys in place. */
INLINE void sort_shared(keys *k, const int radius)
{
    order(k, 0, 1);
    if (radius == 1)
        return;
    order(k, 2, 3);
    order(k, 0, 2);
    order(k, 1, 3);
    order(k, 1, 2);
}

static inline keys middle_of_three(keys a, keys b, keys c)
{
    return max(min(a, b), min(max(a, b), c));
}

/* The medians of columns [0, 3) and [1, 4): of the largest of the smallest, the middle of the middle, and the
 * smallest of the largest keys of their columns. */
INLINE void medians_of_nine(keys column[MOST_COLUMNS][MOST_SIDE], keys *first, keys *second)
{
    const keys low = max(column[1][0], column[2][0]), high = min(column[1][2], column[2][2]);
    const keys less = min(column[1][1], column[2][1]), more = max(column[1][1], column[2][1]);
    *first =
        middle_of_three(max(low, column[0][0]), max(less, min(more, column[0][1])), min(high, column[0][2]));
    *second =
        middle_of_three(max(low, column[3][0]), max(less, min(more, column[3][1])), min(high, column[3][2]));
}

/* Two sorted columns to one of ten: Batcher's odd-even merge. */
INLINE void merge_columns(keys *merged, const keys *a, const keys *b)
{
    keys k[10];
#pragma unroll
    for (int i = 0; i < 5; i++)
        k[i] = a[i], k[5 + i] = b[i];
    order(k, 0, 5);
    order(k, 4, 9);
    order(k, 4, 5);
    order(k, 2, 7);
    order(k, 2, 4);
    order(k, 7, 5);
    order(k, 1, 6);
    order(k, 3, 8);
    order(k, 3, 6);
    order(k, 1, 2);
    order(k, 3, 4);
    order(k, 6, 7);
    order(k, 8, 5);
    merged[0] = k[0], merged[1] = k[1], merged[2] = k[2], merged[3] = k[3], merged[4] = k[4];
    merged[5] = k[6], merged[6] = k[7], merged[7] = k[8], merged[8] = k[5], merged[9] = k[9];
}

static inline keys outer(keys a, keys b, bool largest)
{
    return largest ? max(a, b) : min(a, b);
}

/* Brings the three outermost of five keys of which a turn is rising and falling to k[2], k[3], k[4], the
 * outermost one last: the largest ones, or the smallest. */
INLINE void three_outermost(keys *k, bool largest)
{
    keys a = outer(k[0], k[1], !largest), b = outer(k[0], k[1], largest);
    keys t = outer(a, k[2], !largest), c = outer(a, k[2], largest), d = outer(t, k[3], largest);
    t = outer(b, d, !largest), d = outer(b, d, largest);
    b = t, t = outer(c, k[4], !largest), k[4] = outer(c, k[4], largest);
    k[2] = outer(b, t, largest);
    k[3] = outer(d, k[4], !largest), k[4] = outer(d, k[4], largest);
}

/* Returns the middle six of the twenty keys in two sorted tens: only these can be the median once five more
 * keys are added. */
INLINE void middle_six(keys *middle, const keys *a, const keys *b)
{
    keys low[5], high[5];
#pragma unroll
    for (int i = 0; i < 5; i++) { /* the larger ones of the lower half, the smaller ones of the upper half */
        low[i] = max(min(a[i], b[9 - i]), min(a[i + 5], b[4 - i]));
        high[i] = min(max(a[i], b[9 - i]), max(a[i + 5], b[4 - i]));
    }
    three_outermost(low, true);
    three_outermost(high, false);
    middle[0] = low[2], middle[1] = low[3], middle[2] = low[4];
    middle[3] = high[4], middle[4] = high[3], middle[5] = high[2];
}

/* The sixth of a sorted six and a sorted five. */
INLINE keys sixth(const keys *six, const keys *five)
{
    keys k = six[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
        k = min(k, max(six[i], five[4 - i]));
    return k;
}

/* The medians of columns [0, 5) and [1, 6). */
INLINE void medians_of_25(keys column[MOST_COLUMNS][MOST_SIDE], keys *first, keys *second)
{
    keys left[10], right[10], middle[6];
    merge_columns(left, column[1], column[2]);
    merge_columns(right, column[3], column[4]);
    middle_six(middle, left, right);
    *first = sixth(middle, column[0]);
    *second = sixth(middle, column[5]);
}

INLINE void two_medians(keys column[MOST_COLUMNS][MOST_SIDE], keys *first, keys *second, const int radius)
{
    if (radius == 1)
        medians_of_nine(column, first, second);
    else
        medians_of_25(column, first, second);
}
