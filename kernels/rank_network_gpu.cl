/* Medians of small windows (rank_network.h) on GPUs, and with IMAGES on any device. A work-item computes ACROSS outputs in
 * each of OUTPUTS rows; with IMAGES an output is a texel, with all channels. It computes two output rows at a time, from
 * SIDE + 1 rows of keys in registers. For the next two output rows it shifts these rows up by two and loads two new ones.
 *
 * Grid: x counts groups of ACROSS outputs, y groups of OUTPUTS rows, z planes.
 *
 *   -DRADIUS=n   1 or 2: a program for both would reserve the registers of the larger network for the smaller one, too
 *   -DOUTPUTS=n  rows of a work-item, even: 4, in images 2 (src/filters/rank.c) */
#ifndef LANES
#define LANES 4
#endif
#include "rank.h"

#ifndef RADIUS
#define RADIUS 2
#endif
#ifndef OUTPUTS
#define OUTPUTS 4
#endif

#ifdef IMAGES
typedef uint4 keys;
#define ACROSS 2
#else
typedef uint keys;
#define ACROSS 4
#endif
#include "rank_network.h"

#define SIDE    (2 * RADIUS + 1)
#define COLUMNS (ACROSS + 2 * RADIUS) /* columns of the windows of a work-item */

/* Loads the keys of row y in COLUMNS columns from x - RADIUS on, by the border rule along both axes. */
INLINE void load_keys(keys *line, PLANES_IN(src), int x, int y, int z)
{
    if (beyond_border(y, src_at.height)) {
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            line[i] = to_keys(0.0f);
        return;
    }
    const int row = clamp_row(src_at, edge(y, src_at.height));
#ifndef IMAGES
    if (x >= RADIUS && x + ACROSS + RADIUS <= src_at.width) {
        __global const float *p = src + offset(src_at, x, row, z);
        const vec v = VLOAD(p);
        const float middle[] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < COLUMNS; i++)
            line[i] = to_key(i < RADIUS || i >= RADIUS + ACROSS ? p[i - RADIUS] : middle[i - RADIUS]);
        return;
    }
#endif
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        line[i] = to_keys(load_edge_x(PLANES_ARG(src), x - RADIUS + i, row, z));
}

/* Computes a row of outputs. The windows of two output rows share SIDE - 1 rows, whose sorted columns are in `shared`. `own`
 * is the remaining row of these windows. */
INLINE void filter_line(keys *out, keys shared[COLUMNS][SIDE - 1], const keys *own)
{
    keys column[COLUMNS + MAX_COLUMNS][MAX_SIDE]; /* two_medians() takes MAX_COLUMNS from any column on */
#pragma unroll
    for (int i = 0; i < COLUMNS; i++)
        insert_key(column[i], shared[i], own[i], RADIUS);
#pragma unroll
    for (int i = 0; i < ACROSS; i += 2)
        two_medians(column + i, &out[i], &out[i + 1], RADIUS);
}

/* Stores a row of outputs, and copies alpha. */
INLINE void store_keys(const keys *out, PLANES_IN(src), PLANES_OUT(dst), int x, int y, int z, int alpha_channel)
{
    if (y >= dst_at.first_row + dst_at.rows)
        return;
#ifdef IMAGES
#pragma unroll
    for (int i = 0; i < ACROSS; i++) {
        vec v = from_keys(out[i]);
        if (x + i < dst_at.width) {
            if (alpha_channel >= 0)
                v = select_alpha(v, load(PLANES_ARG(src), x + i, y, z), z, dst_at.channels, alpha_channel);
            store(PLANES_ARG(dst), x + i, y, z, v);
        }
    }
#else
    vec v = (vec)(from_key(out[0]), from_key(out[1]), from_key(out[2]), from_key(out[3]));
    if (alpha_channel >= 0)
        v = select_alpha(v, load(PLANES_ARG(src), x, y, z), z, dst_at.channels, alpha_channel);
    store(PLANES_ARG(dst), x, y, z, v);
#endif
}

__kernel void rank_network(PLANES_IN(src), PLANES_OUT(dst), int alpha_channel)
{
    const int x = get_global_id(0) * ACROSS, y = get_global_id(1) * OUTPUTS + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    keys line[SIDE + 1][COLUMNS]; /* the rows of the windows of two output rows */
#pragma unroll
    for (int k = 0; k < SIDE - 1; k++)
        load_keys(line[k], PLANES_ARG(src), x, y - RADIUS + k, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r += 2) {
        keys shared[COLUMNS][SIDE - 1], out[ACROSS];
        load_keys(line[SIDE - 1], PLANES_ARG(src), x, y + r + RADIUS, z);
        load_keys(line[SIDE], PLANES_ARG(src), x, y + r + 1 + RADIUS, z);
#pragma unroll
        for (int i = 0; i < COLUMNS; i++) {
#pragma unroll
            for (int k = 0; k < SIDE - 1; k++)
                shared[i][k] = line[k + 1][i];
            sort_shared(shared[i], RADIUS);
        }
        filter_line(out, shared, line[0]);
        store_keys(out, PLANES_ARG(src), PLANES_ARG(dst), x, y + r, z, alpha_channel);
        filter_line(out, shared, line[SIDE]);
        store_keys(out, PLANES_ARG(src), PLANES_ARG(dst), x, y + r + 1, z, alpha_channel);
#pragma unroll
        for (int k = 0; k < SIDE - 1; k++)
#pragma unroll
            for (int i = 0; i < COLUMNS; i++)
                line[k][i] = line[k + 2][i];
    }
}
