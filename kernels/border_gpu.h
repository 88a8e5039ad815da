/* The borders of the dual-tree transform where the work-items of a group filter columns and hand them on through local
 * memory. In buffers a work-item loads the pixel of its own place, which costs no branch; columns beside the image, mirrored
 * ones, are copied from those that they repeat when these are filtered. In images it loads the texel that stands there. */
#pragma once
#include "axis.h"

#ifndef GROUP
#define GROUP 128 /* work-items of a group, in a row along x */
#endif

#ifdef IMAGES
#define VEC_WIDTH          1 /* samples along x */
#define PADDING_VECS 0
#else
#define VEC_WIDTH          4
#define PADDING_VECS 1 /* by which the samples of a padded axis may lie outside the pixels of their positions */
#endif

/* The x of the pixel to load for position x. */
static inline int column_at(const struct axis axis, int x)
{
#ifdef IMAGES
    return sample_at(axis, x);
#else
    return clamp(x, 0, (axis.n - 1) / VEC_WIDTH * VEC_WIDTH);
#endif
}

/* In buffers: gives `count` lines of GROUP pixels, which hold samples from x0 on, what stands at positions from x0 on. All
 * work-items of the group call it, after a barrier. */
INLINE void mirror_columns(__local vec *lines, int count, const struct axis axis, int x0)
{
#ifndef IMAGES
    const int item = get_local_id(0), x = x0 + item * VEC_WIDTH, last = GROUP * VEC_WIDTH - 1;
    if (is_interior(axis, x0, GROUP * VEC_WIDTH) && axis.pad == 0) /* so for all of them */
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

/* Work-item `job` of those that go over `rows` rows of pixels of the tile: its pixel along x, and its row. A store to an
 * image fills a sector of a texture only together with the texel above or below: there neighbouring items write
 * neighbouring rows. */
static inline int2 tile_index(int job, int rows)
{
#ifdef IMAGES
    return (int2)(job / rows, job % rows);
#else
    return (int2)(job % GROUP, job / GROUP);
#endif
}
