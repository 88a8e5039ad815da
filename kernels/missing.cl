/* Missing values (NaN, infinite), for stages that would spread them far:
 *
 *     missing_count    counts them
 *     missing_fill     replaces them by the mean of their finite neighbours in (2 near + 1)^2 samples
 *     missing_weights  makes a picture of weights: full scale, or 0 if missing
 *     missing_restore  puts the missing values back into a result
 *
 * Grid: x counts vecs, y rows, z planes. Order of sums: row by row, from left to right. */
#include "planes.h"

#ifdef IMAGES
#define VALUES 4
#else
#define VALUES LANES
#endif
#define NEAR 3 /* window of 7x7; a missing value without finite neighbours becomes 0 */

/* Counts missing values of each image: counts[2 * image] in all, counts[2 * image + 1] in the area `own` (columns x to
 * y, rows z to w). Each image has `channels` planes, of which the first `colours` are counted. */
__kernel void missing_count(PLANES_IN(src), int4 own, int channels, int colours, volatile __global uint *counts)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + src_at.first_row, z = get_global_id(2);
    if (x >= src_at.width || y >= src_at.first_row + src_at.rows || z % channels >= colours)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
#ifdef IMAGES
    const bool whole = colours == 4;
#else
    const bool whole = x + LANES <= src_at.width;
#endif
    /* The usual case. */
    if (whole && are_finite(v))
        return;
    const float *values = (const float *)&v;
    uint all = 0, some = 0;
    for (int i = 0; i < VALUES; i++) {
#ifdef IMAGES
        const int column = x;
        const bool there = i < colours;
#else
        const int column = x + i;
        const bool there = column < src_at.width;
#endif
        const bool missing = there && !is_finite(values[i]);
        all += missing;
        some += missing && column >= own.x && column < own.y && y >= own.z && y < own.w;
    }
#ifdef IMAGES
    const int image = 0;
#else
    const int image = z / channels;
#endif
    if (all > 0)
        atomic_add(counts + 2 * image, all);
    if (some > 0)
        atomic_add(counts + 2 * image + 1, some);
}

/* Copies a plane. Missing values become the mean of their neighbours, or 0 if `near` is 0. */
__kernel void missing_fill(PLANES_IN(src), PLANES_OUT(dst), int near)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    vec v = load(PLANES_ARG(src), x, y, z);
    float *values = (float *)&v;
    for (int i = 0; i < VALUES; i++) {
        float sum = 0.0f, count = 0.0f;
        if (is_finite(values[i]))
            continue;
        for (int j = max(y - near, src_at.first_row); j <= min(y + near, src_at.first_row + src_at.rows - 1); j++)
#ifdef IMAGES
            for (int k = max(x - near, 0); k <= min(x + near, src_at.width - 1); k++) {
                const vec w = load(PLANES_ARG(src), k, j, z);
                const float other = ((const float *)&w)[i];
#else
            for (int k = max(x + i - near, 0); k <= min(x + i + near, src_at.width - 1); k++) {
                const float other = src[offset(src_at, k, j, z)];
#endif
                if (is_finite(other))
                    sum += other, count += 1.0f;
            }
        values[i] = count > 0.0f ? sum / count : 0.0f;
    }
    store(PLANES_ARG(dst), x, y, z, v);
}

/* Stores the weight of each value: full scale, or 0 if it is missing. */
__kernel void missing_weights(PLANES_IN(src), PLANES_OUT(dst), int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    store(PLANES_ARG(dst), x, y, z, v - v == 0.0f ? full_scale(PLANES_ARG(src), v, x, y, alpha) : (vec)(0.0f));
}

/* Copies `made`, a result of src, but with the missing values of src. */
__kernel void missing_restore(PLANES_IN(src), PLANES_IN(made), PLANES_OUT(dst))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    store(PLANES_ARG(dst), x, y, z, select(v, load(PLANES_ARG(made), x, y, z), v - v == 0.0f));
}
