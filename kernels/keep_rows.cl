/* Copies rows from rows.x to rows.y to planes that hold them among others. */
#include "planes.h"

__kernel void keep_rows(SOURCE(src), TARGET(dst), int2 rows)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + rows.x, z = get_global_id(2);
    if (x < dst_at.width && y < rows.y)
        store(GIVE(dst), x, y, z, load(GIVE(src), x, y, z));
}
