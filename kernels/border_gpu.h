/* The border rule of the dual-tree transform (padded_axis.h) on GPUs. A position counts from the beginning of the padded axis, a
 * column from the first column of the image: column = position - axis.pad inside the image. The work-items of a group filter
 * columns and exchange them through local memory:
 *
 *     buffers   a work-item loads the vec at its own x, without a branch. mirror_columns() then copies the filtered
 *               columns to the mirrored ones
 *     images    a work-item loads the texel at the mirrored x (column_at)
 *
 *   -DGROUP=n   work-items of a group, along x */
#pragma once
#ifndef LANES
#define LANES 4
#endif
#include "padded_axis.h"

#ifndef GROUP
#define GROUP 128
#endif

#ifdef IMAGES
#define PADDING_VECS 0
#else
#define PADDING_VECS 1 /* additional halo: axis.pad columns, less than a vec */
#endif

/* Returns the column to load for position x of the axis, which may be padding or beyond the border. */
static inline int column_at(const struct padded_axis axis, int x)
{
#ifdef IMAGES
    return padded_index(axis, x);
#else
    return clamp(x, 0, (axis.n - 1) / LANES * LANES);
#endif
}

/* Applies the border rule along x to `count` lines of GROUP vecs, in buffers. Float i of a line is the sample of column x0 + i
 * on entry, and the sample at position x0 + i on return. All work-items of the group call it, after a barrier. */
INLINE void mirror_columns(__local vec *lines, int count, const struct padded_axis axis, int x0)
{
#ifndef IMAGES
    const int item = get_local_id(0), x = x0 + item * LANES, last = GROUP * LANES - 1;
    if (is_interior(axis, x0, GROUP * LANES) && axis.pad == 0) /* the same for all work-items */
        return;
    const int a = clamp(padded_index(axis, x) - x0, 0, last), b = clamp(padded_index(axis, x + 1) - x0, 0, last);
    const int c = clamp(padded_index(axis, x + 2) - x0, 0, last), d = clamp(padded_index(axis, x + 3) - x0, 0, last);
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

/* Returns the vec (x) and the row (y) that task number `task` writes, in a tile of `rows` rows. In images neighbouring
 * tasks write neighbouring rows: a sector of a texture has texels of two rows, and is written once if both rows are stored at
 * the same time. */
static inline int2 tile_index(int task, int rows)
{
#ifdef IMAGES
    return (int2)(task / rows, task % rows);
#else
    return (int2)(task % GROUP, task / GROUP);
#endif
}
