/* Kernels for missing values (NaN and infinities), used by stages that would spread them far:
 *
 *     missing_count    counts them
 *     missing_fill     replaces them by the mean of the finite values in a window of (2 radius + 1)^2 samples
 *     missing_weights  stores a weight for each value: alpha (1 without alpha), or 0 if the value is missing
 *     missing_restore  puts the missing values back into a result
 *
 * Grid: x counts vecs, y rows, z planes (IMAGES: always 0). Order of sums: row by row, from left to right. */
#include "planes.h"

/* VALUES is the number of values of a vec: in images the channels of a texel, in buffers neighbours along x of one channel.
 * COLUMN(x, i) is the column of value i of the vec at x. */
#ifdef IMAGES
#define VALUES       4
#define COLUMN(x, i) (x)
#else
#define VALUES       LANES
#define COLUMN(x, i) ((x) + (i))
#endif

/* Counts the missing values of each image i of a group. counts[2 i] is the number in all of src; counts[2 i + 1] is the number in
 * columns [own.x, own.y) and rows [own.z, own.w), without the halo and rows that were counted before. An image has `channels`
 * planes, of which the first `colours` are counted: alpha is not. */
__kernel void missing_count(PLANES_IN(src), int4 own, int channels, int colours, volatile __global uint *counts)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + src_at.first_row, z = get_global_id(2);
    if (x >= src_at.width || y >= src_at.first_row + src_at.rows || z % channels >= colours)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
#ifdef IMAGES
    const bool is_full = colours == 4; /* all values of the vec are counted */
#else
    const bool is_full = x + LANES <= src_at.width;
#endif
    /* Usually no value is missing. */
    if (is_full && are_finite(v))
        return;
    const float *values = (const float *)&v;
    const bool is_own_row = y >= own.z && y < own.w;
    uint all = 0, inside = 0;
    for (int i = 0; i < VALUES; i++) {
        const int column = COLUMN(x, i);
#ifdef IMAGES
        const bool is_counted = i < colours;
#else
        const bool is_counted = column < src_at.width;
#endif
        const bool is_missing = is_counted && !is_finite(values[i]);
        all += is_missing;
        inside += is_missing && is_own_row && column >= own.x && column < own.y;
    }
    const int image = z / channels;
    if (all > 0)
        atomic_add(counts + 2 * image, all);
    if (inside > 0)
        atomic_add(counts + 2 * image + 1, inside);
}

/* Copies all planes. Replaces a missing value by the mean of the finite values at most `radius` columns and rows away, or by 0
 * if there is no finite value. */
__kernel void missing_fill(PLANES_IN(src), PLANES_OUT(dst), int radius)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    vec v = load(PLANES_ARG(src), x, y, z);
    float *values = (float *)&v;
    for (int i = 0; i < VALUES; i++) {
        if (is_finite(values[i]))
            continue;
        const int column = COLUMN(x, i);
        float sum = 0.0f, count = 0.0f;
        for (int j = max(y - radius, src_at.first_row); j <= min(y + radius, src_at.first_row + src_at.rows - 1); j++)
            for (int k = max(column - radius, 0); k <= min(column + radius, src_at.width - 1); k++) {
#ifdef IMAGES
                const float other = component(load(PLANES_ARG(src), k, j, z), i);
#else
                const float other = src[offset(src_at, k, j, z)];
#endif
                if (is_finite(other))
                    sum += other, count += 1.0f;
            }
        values[i] = count > 0.0f ? sum / count : 0.0f;
    }
    store(PLANES_ARG(dst), x, y, z, v);
}

/* Stores a weight for each value: 0 if the value is missing, else the pixel's alpha, or 1 if the image has no alpha. `alpha` is
 * the index of the alpha channel, or -1. It is also the index of the alpha plane, because images with alpha never form groups
 * (group_accepts in src/chain/group.c). */
__kernel void missing_weights(PLANES_IN(src), PLANES_OUT(dst), int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    /* v - v is NaN if v is missing. */
    store(PLANES_ARG(dst), x, y, z, v - v == 0.0f ? full_scale(PLANES_ARG(src), v, x, y, alpha) : (vec)(0.0f));
}

/* Copies `result`, which a stage computed from src. Values that are missing in src are copied from src. */
__kernel void missing_restore(PLANES_IN(src), PLANES_IN(result), PLANES_OUT(dst))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    store(PLANES_ARG(dst), x, y, z, select(v, load(PLANES_ARG(result), x, y, z), v - v == 0.0f));
}
