/* Ranks in any window on GPUs, in buffers: digit by digit of the key, the highest first. Each digit is found by counting
 * those of the keys that begin as the one wanted does. A window whose values are all whole 255ths has a bin for
 * each of them, and moves on with its bins row by row.
 *
 *   -DGROUP=n  work-items of a group, side by side along x */
#ifndef LANES
#define LANES 1
#endif
#include "rank.h"

#ifndef GROUP
#define GROUP 32
#endif

/* The output is the key of rank `rank` in its window. Row k of a window, counted from its middle, covers reach[k] columns on
 * either side. Digits have 4 or 8 `bits`. `rows` are the output rows of a work-item. */
struct ranking {
    int radius, rank, bits, rows;
};

/* State of the radix search: the bits in mask `known` are found and stored in `found`. The digit at `shift` is counted next; its
 * largest value is `last`. */
struct search {
    uint found, known, last;
    int shift;
};

static inline void count_digit(__local ushort *bins, const struct search search, uint key, ushort times)
{
    if ((key & search.known) == search.found)
        bins[(key >> search.shift & search.last) * GROUP] += times;
}

/* The key that is wanted of the window around (x, y). Bins of the items of a group stand side by side. */
static inline uint find_key(__local ushort *bins, PLANES_IN(src), __global const float *reach, const struct ranking by, int x,
                            int y, int z)
{
    struct search search = {.last = (1u << by.bits) - 1, .shift = 32 - by.bits};
    int rank = by.rank;
    for (; search.shift >= 0; search.shift -= by.bits) {
        for (uint i = 0; i <= search.last; i++)
            bins[i * GROUP] = 0;
        for (int j = -by.radius; j <= by.radius; j++) {
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

#define WHOLE 255
#define UNIT  (1.0f / WHOLE) /* as kernels/samples.h has it */

/* Bins of whole numbers of UNIT. */
struct window {
    __local ushort *bins;
    int cursor, below; /* a bin, and the values in those before it */
    bool whole;        /* all values are */
};

/* Adds the value that (x, y) stands for, or takes it away. */
static inline void change_window(struct window *window, PLANES_IN(src), int x, int y, int z, int change)
{
    float v = 0.0f;
    if (!beyond_border(x, src_at.width) && !beyond_border(y, src_at.height))
        v = load(PLANES_ARG(src), edge(x, src_at.width), clamp_row(src_at, edge(y, src_at.height)), z);
    const int number = convert_int_sat(v * WHOLE + 0.5f);
    if (number < 0 || number > WHOLE || as_uint(number * UNIT) != as_uint(v)) {
        window->whole = false;
        return;
    }
    window->bins[number * GROUP] += change;
    window->below += number < window->cursor ? change : 0;
}

static inline void begin_window(struct window *window, PLANES_IN(src), __global const float *reach, int radius, int x, int y,
                                int z)
{
    window->cursor = window->below = 0;
    window->whole = true;
    for (int i = 0; i <= WHOLE; i++)
        window->bins[i * GROUP] = 0;
    for (int j = -radius; j <= radius; j++)
        for (int i = x - (int)reach[abs(j)]; i <= x + (int)reach[abs(j)] && window->whole; i++)
            change_window(window, PLANES_ARG(src), i, y + j, z, 1);
}

/* From the row above. */
static inline void move_window(struct window *window, PLANES_IN(src), __global const float *reach, int radius, int x, int y, int z)
{
    for (int i = -radius; i <= radius; i++) {
        const int side = (int)reach[abs(i)];
        change_window(window, PLANES_ARG(src), x + i, y - 1 - side, z, -1);
        change_window(window, PLANES_ARG(src), x + i, y + side, z, 1);
    }
}

static inline float find_whole(struct window *window, int rank)
{
    while (window->below > rank)
        window->below -= window->bins[--window->cursor * GROUP];
    while (window->below + window->bins[window->cursor * GROUP] <= rank)
        window->below += window->bins[window->cursor++ * GROUP];
    return window->cursor * UNIT;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
rank_digits(PLANES_IN(src), PLANES_OUT(dst), __global const float *reach, const struct ranking by, int alpha_channel, __local ushort *bins)
{
    const int x = get_global_id(0), first = get_global_id(1) * by.rows + dst_at.first_row, z = get_global_id(2);
    const int end = min(first + by.rows, dst_at.first_row + dst_at.rows);
    if (x >= dst_at.width)
        return;
    bins += get_local_id(0);
    const bool copies = alpha_channel >= 0 && z % dst_at.channels == alpha_channel;
    struct window window = {bins, 0, 0, false};
    for (int y = first; y < end; y++) {
        if (copies) {
            store(PLANES_ARG(dst), x, y, z, load(PLANES_ARG(src), x, y, z));
            continue;
        }
        if (y == first)
            begin_window(&window, PLANES_ARG(src), reach, by.radius, x, y, z);
        else if (window.whole)
            move_window(&window, PLANES_ARG(src), reach, by.radius, x, y, z);
        store(PLANES_ARG(dst), x, y, z,
              window.whole ? find_whole(&window, by.rank) : from_key(find_key(bins, PLANES_ARG(src), reach, by, x, y, z)));
    }
}
