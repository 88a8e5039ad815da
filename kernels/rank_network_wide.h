/* Medians of small windows (rank_network.h) on CPU devices, on lines of keys in private memory: a work-item has SEGMENT
 * outputs in each of OUTPUTS rows. Columns with even and with odd numbers stand in lines of their own, as two neighbours
 * are two registers.
 *
 * Whoever includes this defines the types `key` and `keys` (16 of them). */
#pragma once
#include "rank_network.h"

#ifndef OUTPUTS
#define OUTPUTS 8 /* even */
#endif
#define SEGMENT 128
#define PAD     16 /* keys before a line's first one and behind its last one */
#define LINE    (SEGMENT / 2 + 2 * PAD)
#define LINES   (OUTPUTS + 2 * RADIUS)

/* Sixteen keys anywhere: the vload16() and vstore16() of PoCL 3.1 take bytes in pieces. */
struct __attribute__((packed)) unaligned {
    keys k;
};

static inline keys load_line(const key *p)
{
    return ((const struct unaligned *)p)->k;
}

static inline void store_keys(keys k, key *p)
{
    ((struct unaligned *)p)->k = k;
}

/* Where the key at column i of a segment is, -RADIUS <= i < SEGMENT + RADIUS. */
static inline key *key_at(key line[2][LINE], int i)
{
    return &line[i & 1][PAD + (i >> 1)];
}

/* Columns [i, i + 32), i a multiple of 32. */
INLINE void put_keys(key line[2][LINE], int i, keys a, keys b)
{
    store_keys((keys)(a.even, b.even), line[0] + PAD + i / 2);
    store_keys((keys)(a.odd, b.odd), line[1] + PAD + i / 2);
}

/* Column i + j - RADIUS of 16 pairs of outputs. */
static inline keys column_of(key line[2][LINE], int i, int j)
{
    return load_line(key_at(line, i + j - RADIUS)); /* i is even */
}

/* One row of 16 pairs: `outer` is the row of the window that is not among those shared. */
INLINE void filter_pairs(key outer[2][LINE], keys shared[COLUMNS][SIDE - 1], int i, keys *a, keys *b)
{
    keys column[COLUMNS][SIDE], first, second;
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        insert_key(column[j], shared[j], column_of(outer, i, j));
    two_medians(column, &first, &second);
    *a = (keys)(first.s0, second.s0, first.s1, second.s1, first.s2, second.s2, first.s3, second.s3, first.s4, second.s4,
                first.s5, second.s5, first.s6, second.s6, first.s7, second.s7);
    *b = (keys)(first.s8, second.s8, first.s9, second.s9, first.sa, second.sa, first.sb, second.sb, first.sc, second.sc,
                first.sd, second.sd, first.se, second.se, first.sf, second.sf);
}

/* Outputs [i, i + 32), i a multiple of 32, of row r, which is even, to out[0] and out[1], and of the next row to out[2] and
 * out[3]. */
INLINE void filter_block(key lines[LINES][2][LINE], int r, int i, keys *out)
{
    keys shared[COLUMNS][SIDE - 1];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
#pragma unroll
        for (int k = 0; k < SIDE - 1; k++)
            shared[j][k] = column_of(lines[r + 1 + k], i, j);
        sort_shared(shared[j]);
    }
    filter_pairs(lines[r], shared, i, &out[0], &out[1]);
    filter_pairs(lines[r + SIDE], shared, i, &out[2], &out[3]);
}
