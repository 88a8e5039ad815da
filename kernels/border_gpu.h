/* The border rule of the dual-tree transform (axis.h) on GPUs. The work-items of a group filter columns and pass them
 * on through local memory:
 *
 *     buffers   a work-item loads the vec at its own x, without a branch. Mirrored columns are copied from the columns
 *               that they repeat, after these were filtered (mirror_columns)
 *     images    a work-item loads the texel at the mirrored x (column_at)
 *
 *   -DGROUP=n   work-items of a group, along x */
#pragma once
#include "axis.h"

#ifndef GROUP
#define GROUP 128 /* work-items of a group, along x */
#endif

#ifdef IMAGES
#define VEC_WIDTH    1 /* samples of a vec along x */
#define PADDING_VECS 0
#else
#define VEC_WIDTH    4
#define PADDING_VECS 1 /* vecs by which padding shifts samples out of the vecs of their positions */
#endif

/* Returns the x of the vec to load for position x. */
static inline int column_at(const struct axis axis, int x)
{
#ifdef IMAGES
    return sample_at(axis, x);
#else
    return clamp(x, 0, (axis.n - 1) / VEC_WIDTH * VEC_WIDTH);
#endif
}

/* In buffers: rearranges `count` lines of GROUP vecs, which have the samples from x0 on, so that they have the samples
 * at positions x0 and on of the axis. All work-items of the group call it, after a barrier. */
INLINE void mirror_columns(__local vec *lines, int count, const struct axis axis, int x0)
{
#ifndef IMAGES
    const int item = get_local_id(0), x = x0 + item * VEC_WIDTH, last = GROUP * VEC_WIDTH - 1;
    if (is_interior(axis, x0, GROUP * VEC_WIDTH) && axis.pad == 0) /* the same for all work-items */
        return;
    const int a = clamp(sample_at(axis, x) - x0, 0, last), b = clamp(sample_at(axis, x + 1) - x0, 0, last);
    const int c = clamp(sample_at(axis, x + 2) - x0, 0, last), d = clamp(sample_at(axis, x + 3) - x0, 0, last);
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        __local const float *line = (__local const float *)(lines + i * GROUP);
        const vec placed = (vec)(line[a], line[b], line[c], line[d]);
        barrier(CLK_LOCAL_MEM_FENCE);
        lines[i * GROUP + item] = placed;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#endif
}

/* Returns the vec along x and the row of job `job` of a tile of `rows` rows. A store to an image fills a sector of a
 * texture only together with the texel above or below it, so in images neighbouring jobs are in neighbouring rows. */
static inline int2 tile_index(int job, int rows)
{
#ifdef IMAGES
    return (int2)(job / rows, job % rows);
#else
    return (int2)(job % GROUP, job / GROUP);
#endif
}
