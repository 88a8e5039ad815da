/* Copies a rectangle to planes that have other rows and columns, too: rows [rows.x, rows.y), and columns.z columns from
 * columns.x of src to columns.y of dst. Columns that do not begin at 0 are copied on CPU devices only.
 *
 * Grid: x counts vecs, y rows from rows.x on, z planes. */
#include "planes.h"

__kernel void keep_rows(PLANES_IN(src), PLANES_OUT(dst), int2 rows, int4 columns)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + rows.x, z = get_global_id(2);
    if (x < columns.z && y < rows.y)
        store(PLANES_ARG(dst), x + columns.y, y, z, load(PLANES_ARG(src), x + columns.x, y, z));
}
