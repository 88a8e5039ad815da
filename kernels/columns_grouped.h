/* Columns that the work-items of a group filter along y and then hand on to each other through local memory.
 *
 *   -DGROUP=n    work-items of a group, side by side along x
 *   -DOUTPUTS=n  rows that a group has outputs in */
#pragma once
#include "filter.h"

#ifndef GROUP
#define GROUP 128
#endif

/* Whether rows [y, y + rows) of the pixel at x are all there to be loaded. */
static inline bool holds_window(const struct geometry at, int x, int y, int rows)
{
    return x >= 0 && x + LANES <= at.width && holds_rows(at, y, rows);
}

/* The pixel at x and row y, which may lie beside the image, wholly or in part. */
static inline pixel load_beside(SOURCE(s), int x, int y, int z)
{
    if (outside(y, s_at.height))
        return 0.0f;
    const int row = held_row(s_at, edge(y, s_at.height));
#ifdef IMAGES
    return load_column(GIVE(s), x, row, z);
#else
    return load_four(GIVE(s), x, row, z);
#endif
}
