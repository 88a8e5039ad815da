/* One level of the inverse 2-D dual-tree complex wavelet transform in one kernel, for GPUs. N. Kingsbury, "Complex
 * wavelets for shift invariant analysis and filtering of signals", ACHA 10 (2001).
 *
 *     L = cols_g0 Z + cols_g1 c2q(0, 5),  H = cols_g0 c2q(2, 3) + cols_g1 c2q(1, 4),  result = rows_g0 L + rows_g1 H
 *
 *   Z            the lowpass of this level
 *   c2q(a, b)    the quads (2x2 blocks of samples) of subbands a and b (planes_pairs.h)
 *   cols_, rows_ columns or rows filtered with the lowpass g0 or the highpass g1:
 *
 *   level 1      y[n] = sum over k < TAPS of w[k] X[n - RADIUS + k], TAPS odd
 *   -DQSHIFT     from level 2 on, each pair of inputs gives four outputs, with weights of their own:
 *                y[4n + i] = sum over k < TAPS / 2 of w[k][i] s[k][i], TAPS / 2 odd. With g0, s[k][i] is the even sample of
 *                pair n - REACH + k of X for i = 0 and 2, the odd one for i = 1 and 3; with g1 even and odd are exchanged
 *
 * Order of sums: k ascending; for each k first g0, then g1. In columns of level 1 rows are added two at a time, the even
 * one first: two rows with g0, then two with g1.
 *
 * Columns are filtered first. Each work-item filters one pair of columns into ROWS rows of L or H, in images of both, in
 * registers. The group exchanges them through local memory, and each work-item filters rows. Neighbouring groups overlap by
 * REACH pairs on both sides; the work-items there only filter columns.
 *
 *                 |<REACH>|                             |<REACH>|
 *     buffers  L  |       |    work-items of row 0      |       |
 *              H  |       |    work-items of row 1      |       |
 *     images   a single row of work-items has L and H
 *
 * Grid: x counts the work-items of groups along x, y the rows of work-items of groups of OUTPUTS rows of coefficients, z planes.
 *
 * Z may be larger than the level by one sample per side. These samples are skipped here (`crop`): removing them would take
 * a pass of its own.
 *
 *   -DGROUP=n    work-items of a group, along x
 *   -DOUTPUTS=n  rows of coefficients of a group
 *   -DTAPS=n     taps of the longest filter */
#define PAIRS 1
#include "border_gpu.h"
#include "planes_pairs.h"

#ifndef TAPS
#define TAPS 7
#endif
#ifndef OUTPUTS
#define OUTPUTS 4
#endif
#ifdef IMAGES
#define ITEM_ROWS 1 /* rows of work-items of a group */
#else
#define ITEM_ROWS 2
#endif
#define BANDS (2 / ITEM_ROWS) /* of a work-item: L, H or both */

#ifdef QSHIFT
#define inverse_level inverse_2
#define REACH         (TAPS / 4) /* input pairs on either side of the one of an output */
#define RATE          4          /* outputs of an input pair */

struct filter {
    float4 w[TAPS / 2];
};
#else
#define inverse_level inverse_1
#define RADIUS        (TAPS / 2)
#define REACH         ((RADIUS + 1) / 2)
#define RATE          2

struct filter {
    float w[TAPS];
};
#endif
#define ROWS   (RATE * OUTPUTS)
#define WINDOW (OUTPUTS + 2 * REACH) /* rows of coefficients that the group reads for ROWS output rows */

struct filters {
    struct filter g0, g1;
};

/* Returns v, with its rows exchanged if `row` is odd. `row` is reflect() of twice the index of a row of coefficients, and is odd
 * beyond the border, where the odd row comes first. */
static inline struct quads mirror_rows(const struct quads v, int row)
{
    struct quads rows;
    rows.even = row & 1 ? v.odd : v.even;
    rows.odd = row & 1 ? v.even : v.odd;
    return rows;
}

#ifdef IMAGES
/* Loads pair n and row i of the lowpass: two texels of two rows. */
static inline struct quads load_lowpass(PLANES_IN(lowpass), int2 crop, int n, int i, int z)
{
    const int first = (lowpass_at.first_row - crop.y) / 2, end = first + lowpass_at.rows / 2;
    const int x = 2 * n + crop.x, y = 2 * clamp(i, first, end - 1) + crop.y;
    struct quads v;
    v.even = interleave(load(PLANES_ARG(lowpass), x, y, z), load(PLANES_ARG(lowpass), x + 1, y, z));
    v.odd = interleave(load(PLANES_ARG(lowpass), x, y + 1, z), load(PLANES_ARG(lowpass), x + 1, y + 1, z));
    return v;
}
#else
/* A column of inputs, of four floats each: a quad of Z, or two complex samples for c2q. With this common form work-items of L
 * and of H differ in addresses only; branches would delay the loads. */
struct column {
    __global const float *at; /* row `first` */
    int first, rows, pitch;
    size_t right, below; /* offsets of the second and of the third float; the fourth is at their sum */
};

/* Returns the column of pair n of the lowpass Z. */
static inline struct column lowpass_column(PLANES_IN(lowpass), int2 crop, int n, int z)
{
    const int first = (lowpass_at.first_row - crop.y) / 2, pitch = lowpass_at.pitch;
    return (struct column){lowpass + offset(lowpass_at, 2 * n + crop.x, 2 * first + crop.y, z), first,
                           lowpass_at.rows / 2, 2 * pitch, 1, pitch};
}

/* Returns column n of two subbands. */
static inline struct column subbands_column(PLANES_IN(subbands), int one, int other, int n, int z)
{
    const size_t layer = (size_t)subbands_at.plane_rows * subbands_at.pitch * subbands_at.channels;
    const int first = subbands_at.first_row;
    return (struct column){subbands + offset(subbands_at, n, first, z) + 2 * one * layer, first, subbands_at.rows,
                           subbands_at.pitch, layer, 2 * (other - one) * layer};
}

/* Loads row i of a column; `complex` samples go through c2q. */
static inline struct quads load_quads(const struct column from, int i, bool complex)
{
    __global const float *at = from.at + (size_t)clamp(i - from.first, 0, from.rows - 1) * from.pitch;
    const float a = at[0], b = at[from.right], c = at[from.below], d = at[from.below + from.right];
    const struct quads v = c2q(a, b, c, d);
    struct quads quads;
    quads.even = complex ? v.even : (pair)(a, b);
    quads.odd = complex ? v.odd : (pair)(c, d);
    return quads;
}
#endif

/* Adds row c of the window to all output rows of L or H that have a tap for it. */
INLINE void add_rows(pair *sum, const int c, const struct quads v, const struct filter *g, const bool highpass)
{
#ifdef QSHIFT
    const pair a = highpass ? v.odd : v.even, b = highpass ? v.even : v.odd;
#pragma unroll
    for (int p = 0; p < OUTPUTS; p++) {
        const int k = c - p;
        if (k < 0 || k >= TAPS / 2)
            continue;
        sum[4 * p] = mad(a, g->w[k].x, sum[4 * p]);
        sum[4 * p + 1] = mad(b, g->w[k].y, sum[4 * p + 1]);
        sum[4 * p + 2] = mad(a, g->w[k].z, sum[4 * p + 2]);
        sum[4 * p + 3] = mad(b, g->w[k].w, sum[4 * p + 3]);
    }
#else
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        const int r = 2 * (c - REACH) + RADIUS - k;
        if (r >= 0 && r < ROWS)
            sum[r] = mad(v.even, g->w[k], sum[r]);
        if (r + 1 >= 0 && r + 1 < ROWS)
            sum[r + 1] = mad(v.odd, g->w[k], sum[r + 1]);
    }
#endif
}

/* Returns a pair of outputs of a row: pair number `part` of the RATE / 2 pairs that an input pair gives. `low` and `high`
 * point to L and H at that input pair. */
INLINE pair filter_row(__local const pair *low, __local const pair *high, int part, const struct filters w)
{
    pair sum = 0.0f;
#ifdef QSHIFT
#pragma unroll
    for (int k = 0; k < TAPS / 2; k++) {
        const float2 g0 = part ? w.g0.w[k].zw : w.g0.w[k].xy, g1 = part ? w.g1.w[k].zw : w.g1.w[k].xy;
        sum = mad(swap(high[k - REACH]), both_trees(g1), mad(low[k - REACH], both_trees(g0), sum));
    }
#else
    single l[2 * (2 * REACH + 1)], h[2 * (2 * REACH + 1)];
#pragma unroll
    for (int i = 0; i <= 2 * REACH; i++) {
        const pair a = low[i - REACH], b = high[i - REACH];
        l[2 * i] = a.EVEN, l[2 * i + 1] = a.ODD;
        h[2 * i] = b.EVEN, h[2 * i + 1] = b.ODD;
    }
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        const int i = 2 * REACH - RADIUS + k;
        sum = mad(interleave(h[i], h[i + 1]), w.g1.w[k], mad(interleave(l[i], l[i + 1]), w.g0.w[k], sum));
    }
#endif
    return sum;
}

/* Returns the outputs of task number `task`: x is PARTS * pair of the tile + part of its outputs, y is the row. In images
 * neighbouring work-items write neighbouring rows (tile_index), but only two: with more rows they would read the same
 * banks of local memory. */
#ifdef IMAGES
#define PARTS (RATE / 2) /* a task is a pair of outputs */

static inline int2 part_index(int task)
{
    return (int2)(task / 2 % (PARTS * GROUP), task % 2 + task / 2 / (PARTS * GROUP) * 2);
}
#else
#define PARTS            1 /* a task is all outputs of a pair */
#define part_index(task) tile_index(task, ROWS)
#endif
#define TASKS (PARTS * ROWS / ITEM_ROWS) /* of a work-item */

/* In buffers the groups proceed from the last rows to the first, as the rows that were written last are still in the cache.
 * For images this is slower. */
#ifdef IMAGES
#define GROUP_ROW get_group_id(1)
#else
#define GROUP_ROW (get_num_groups(1) - 1 - get_group_id(1))
#endif

/* Computes a level. dst is the lowpass of the finer level, or the image without the padding of odd sizes. */
__kernel __attribute__((reqd_work_group_size(GROUP, ITEM_ROWS, 1))) void
inverse_level(PLANES_IN(lowpass), PLANES_IN(subbands), PLANES_OUT(dst), const struct filters w, int2 crop)
{
    __local pair tile[2][ROWS][GROUP];
    __local int rows[WINDOW];
    const int item = get_local_id(0), item_row = ITEM_ROWS > 1 ? get_local_id(1) : 0, z = get_global_id(2);
    const int first = (int)get_group_id(0) * (GROUP - 2 * REACH) - REACH; /* the tile's first pair */
    const int i0 = dst_at.first_row / RATE + GROUP_ROW * OUTPUTS;       /* its first row of coefficients */
    /* Border rule along y, once for all columns: 2 * row of coefficients, + 1 if it is mirrored (mirror_rows). */
    for (int c = item_row * GROUP + item; c < WINDOW; c += ITEM_ROWS * GROUP) {
        const int row = reflect(2 * (i0 - REACH + c), 2 * subbands_at.height);
        rows[c] = 2 * clamp_row(subbands_at, row >> 1) + (row & 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const int column = reflect(2 * (first + item), 2 * subbands_at.width), n = column >> 1;
#ifndef IMAGES
    const struct column g1 = subbands_column(PLANES_ARG(subbands), item_row, 5 - item_row, n, z);
    const struct column g0 = item_row ? subbands_column(PLANES_ARG(subbands), 2, 3, n, z)
                                      : lowpass_column(PLANES_ARG(lowpass), crop, n, z);
#endif
    /* Along y: L, H or both in the work-item's column. */
    pair sum[BANDS * ROWS] = {0.0f};
#pragma unroll
    for (int c = 0; c < WINDOW; c++) {
        const int row = rows[c], i = row >> 1;
#pragma unroll
        for (int band = 0; band < BANDS; band++) {
            const int high = item_row + band; /* 0: L, 1: H */
#ifdef IMAGES
            const struct quads a = high ? load_c2q(PLANES_ARG(subbands), 2, 3, n, i, z)
                                        : load_lowpass(PLANES_ARG(lowpass), crop, n, i, z);
            const struct quads b = load_c2q(PLANES_ARG(subbands), high, 5 - high, n, i, z);
#else
            const struct quads a = load_quads(g0, i, high), b = load_quads(g1, i, true);
#endif
            add_rows(sum + band * ROWS, c, mirror_rows(a, row), &w.g0, false);
            add_rows(sum + band * ROWS, c, mirror_rows(b, row), &w.g1, true);
        }
    }
#pragma unroll
    for (int r = 0; r < BANDS * ROWS; r++)
        tile[item_row + r / ROWS][r % ROWS][item] = column & 1 ? swap(sum[r]) : sum[r]; /* a mirrored pair */
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Along x. Unrolled by 4 the kernel takes 0.96 of the time, but compilation 1.2 times as long. */
#pragma unroll 1
    for (int j = 0; j < TASKS; j++) {
        const int2 place = part_index((j * ITEM_ROWS + item_row) * GROUP + item);
        const int at = place.x / PARTS, part = place.x % PARTS, r = place.y;
        const int x = RATE * (first + at) + 2 * part, y = RATE * i0 + r;
        if (at < REACH || at >= GROUP - REACH || first + at >= subbands_at.width || y < dst_at.first_row ||
            y >= dst_at.first_row + dst_at.rows)
            continue;
        __local const pair *l = &tile[0][r][at], *h = &tile[1][r][at];
#if defined(QSHIFT) && !defined(IMAGES)
        *(__global float4 *)(dst + offset(dst_at, x, y, z)) = (float4)(filter_row(l, h, 0, w), filter_row(l, h, 1, w));
#else
        store_pair(PLANES_ARG(dst), x, y, z, filter_row(l, h, part, w));
#endif
    }
}
