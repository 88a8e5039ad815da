/* Copies a rectangle from planes to other planes, which may have other rows and another width.
 *
 * Rows [rows.x, rows.y) keep their numbers. Of each, columns.z columns are copied: from column columns.x of src to column
 * columns.y of dst. columns.y is a multiple of LANES. On GPUs, where loads must be aligned, columns.x is one, too; there all
 * copies begin at 0, as only CPU devices process tiles.
 *
 * Grid: x counts vecs, y rows from rows.x on, z planes. */
#include "planes.h"

__kernel void copy_rectangle(PLANES_IN(src), PLANES_OUT(dst), int2 rows, int4 columns)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + rows.x, z = get_global_id(2);
    if (x < columns.z && y < rows.y)
        store(PLANES_ARG(dst), x + columns.y, y, z, load(PLANES_ARG(src), x + columns.x, y, z));
}
