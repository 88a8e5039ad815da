/* Copies a rectangle between planes of different width:
 *
 *     dst[columns.y + i, y] = src[columns.x + i, y],  0 <= i < columns.z, rows.x <= y < rows.y
 *
 * columns.y is a multiple of LANES. On GPUs, which need aligned vectors, columns.x and columns.y are 0: only CPU devices
 * process images in tiles.
 *
 * Grid: x counts vecs, y rows from rows.x on, z planes. */
#include "planes.h"

__kernel void copy_rectangle(PLANES_IN(src), PLANES_OUT(dst), int2 rows, int4 columns)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + rows.x, z = get_global_id(2);
    if (x < columns.z && y < rows.y)
        store(PLANES_ARG(dst), x + columns.y, y, z, load(PLANES_ARG(src), x + columns.x, y, z));
}
