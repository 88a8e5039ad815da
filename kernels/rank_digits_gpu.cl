/* Rank filter of squares and discs of any size on GPUs, in buffers, with a histogram per work-item in local memory.
 *
 *   8-bit values    used as long as all samples of the window are multiples of 1/255. A bin per value; the histogram
 *                   moves down with the window
 *   other values    radix search in the keys (rank.h), from the highest digit on: counts the next digit of all keys that
 *                   agree with the digits found so far. The digit whose bin contains the rank is found
 *
 * Local memory: 256 bins of 16 bits for each of GROUP work-items, 16 KB. A window has at most 255 x 255 samples, so
 * counters do not overflow.
 *
 * Grid: x counts pixels, y groups of `rows` rows, z planes.
 *
 *   -DGROUP=n  work-items of a group, along x: 32 (src/filters/rank.c) */
#define LANES 1
#include "rank.h"

#ifndef GROUP
#define GROUP 32
#endif

/* The filter. The output is the key at index `rank` of the window's sorted keys. An array `reach` has the shape: reach[k] is
 * the half width of the row at distance k from the middle, and the half height of the column there. These whole numbers are
 * floats, as run_constants() uploads floats. */
struct ranking {
    int radius, rank;
    int bits; /* bits of a digit: 8, or 4 if windows have few samples: 8 digits of 4 bits then take less time than 4 digits
               * of 8 bits, each of which clears and sums 256 bins */
    int rows; /* output rows of a work-item */
};

/* State of the radix search. */
struct search {
    uint found; /* the digits found so far */
    uint known; /* mask of their bits */
    uint last;  /* largest value of a digit */
    int shift;  /* position of the digit that is counted next */
};

/* Counts a key `times` times if it agrees with the digits found so far. */
static inline void count_digit(__local ushort *bins, const struct search search, uint key, ushort times)
{
    if ((key & search.known) == search.found)
        bins[(key >> search.shift & search.last) * GROUP] += times;
}

/* Returns the key at index ranking.rank of the sorted window around (x, y). The bins of the work-items of a group are
 * interleaved, so there are no bank conflicts. */
static inline uint find_key(__local ushort *bins, PLANES_IN(src), __global const float *reach, const struct ranking ranking,
                            int x, int y, int z)
{
    struct search search = {.last = (1u << ranking.bits) - 1, .shift = 32 - ranking.bits};
    int rank = ranking.rank;
    for (; search.shift >= 0; search.shift -= ranking.bits) {
        for (uint i = 0; i <= search.last; i++)
            bins[i * GROUP] = 0;
        for (int j = -ranking.radius; j <= ranking.radius; j++) {
            const int side = (int)reach[abs(j)];
            if (beyond_border(y + j, src_at.height)) {
                count_digit(bins, search, to_key(0.0f), 2 * side + 1);
                continue;
            }
            const int row = clamp_row(src_at, edge(y + j, src_at.height));
            if (x >= side && x + side < src_at.width) {
                for (int i = x - side; i <= x + side; i++)
                    count_digit(bins, search, to_key(load(PLANES_ARG(src), i, row, z)), 1);
            } else {
                for (int i = x - side; i <= x + side; i++)
                    count_digit(bins, search, key_at(PLANES_ARG(src), i, y + j, z), 1);
            }
        }
        uint digit = 0;
        for (; rank >= bins[digit * GROUP]; digit++)
            rank -= bins[digit * GROUP];
        search.found |= digit << search.shift;
        search.known |= search.last << search.shift;
    }
    return search.found;
}

#define MAX_VALUE 255
#define STEP      (1.0f / MAX_VALUE) /* the factor of unpacking (samples.cl), so 8-bit samples are exact multiples */

/* The histogram of a window of 8-bit values, with a cursor that stays near the result from row to row. */
struct window {
    __local ushort *bins; /* bin i is bins[i * GROUP], as the bins of a group are interleaved */
    int cursor;           /* a bin */
    int below;            /* number of samples in the bins below the cursor */
    bool is_8bit;         /* all samples of the window are multiples of STEP in [0, 1]; otherwise bins are invalid */
};

/* Adds the sample at (x, y), by the border rule, to the histogram (change = 1) or removes it (change = -1). */
static inline void change_window(struct window *window, PLANES_IN(src), int x, int y, int z, int change)
{
    float v = 0.0f;
    if (!beyond_border(x, src_at.width) && !beyond_border(y, src_at.height))
        v = load(PLANES_ARG(src), edge(x, src_at.width), clamp_row(src_at, edge(y, src_at.height)), z);
    const int number = convert_int_sat(v * MAX_VALUE + 0.5f);
    if (number < 0 || number > MAX_VALUE || as_uint(number * STEP) != as_uint(v)) {
        window->is_8bit = false;
        return;
    }
    window->bins[number * GROUP] += change;
    window->below += number < window->cursor ? change : 0;
}

/* Fills the histogram of the window around (x, y); ends early if a sample is not a multiple of STEP. */
static inline void fill_window(struct window *window, PLANES_IN(src), __global const float *reach, int radius, int x, int y,
                                int z)
{
    window->cursor = window->below = 0;
    window->is_8bit = true;
    for (int i = 0; i <= MAX_VALUE; i++)
        window->bins[i * GROUP] = 0;
    for (int j = -radius; j <= radius; j++)
        for (int i = x - (int)reach[abs(j)]; i <= x + (int)reach[abs(j)] && window->is_8bit; i++)
            change_window(window, PLANES_ARG(src), i, y + j, z, 1);
}

/* Moves the window from row y - 1 to row y: removes the top sample of each column and adds one at the bottom. */
static inline void slide_window(struct window *window, PLANES_IN(src), __global const float *reach, int radius, int x, int y, int z)
{
    for (int i = -radius; i <= radius; i++) {
        const int side = (int)reach[abs(i)];
        change_window(window, PLANES_ARG(src), x + i, y - 1 - side, z, -1);
        change_window(window, PLANES_ARG(src), x + i, y + side, z, 1);
    }
}

/* Returns the value at index `rank` of the window's sorted samples. */
static inline float find_value(struct window *window, int rank)
{
    while (window->below > rank)
        window->below -= window->bins[--window->cursor * GROUP];
    while (window->below + window->bins[window->cursor * GROUP] <= rank)
        window->below += window->bins[window->cursor++ * GROUP];
    return window->cursor * STEP;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rank_digits(PLANES_IN(src), PLANES_OUT(dst), __global const float *reach, const struct ranking ranking, int alpha_channel,
            __local ushort *bins)
{
    const int x = get_global_id(0), first = get_global_id(1) * ranking.rows + dst_at.first_row, z = get_global_id(2);
    const int end = min(first + ranking.rows, dst_at.first_row + dst_at.rows);
    if (x >= dst_at.width)
        return;
    bins += get_local_id(0);
    const bool is_alpha = alpha_channel >= 0 && z % dst_at.channels == alpha_channel;
    struct window window = {bins, 0, 0, false};
    for (int y = first; y < end; y++) {
        if (is_alpha) {
            store(PLANES_ARG(dst), x, y, z, load(PLANES_ARG(src), x, y, z));
            continue;
        }
        if (y == first)
            fill_window(&window, PLANES_ARG(src), reach, ranking.radius, x, y, z);
        else if (window.is_8bit)
            slide_window(&window, PLANES_ARG(src), reach, ranking.radius, x, y, z);
        store(PLANES_ARG(dst), x, y, z,
              window.is_8bit ? find_value(&window, ranking.rank)
                             : from_key(find_key(bins, PLANES_ARG(src), reach, ranking, x, y, z)));
    }
}
