/* The two passes of a separable filter (planes_filter.h). */
__kernel void filter_rows(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * ROW_STEP, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    pixel sum[ROW_OUTPUTS];
    filter_row_at(sum, GIVE(src), weights, x, y, z);
#pragma unroll
    for (int r = 0; r < ROW_OUTPUTS; r++)
        if (x + r < dst_at.width)
            store(GIVE(dst), x + r, y, z, kept(sum[r], GIVE(src), x + r, y, z));
}

__kernel void filter_columns(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    pixel sum[OUTPUTS];
    filter_columns_at(sum, GIVE(src), weights, 0, x, y, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r < end)
            store(GIVE(dst), x, y + r, z, kept(sum[r], GIVE(src), x, y + r, z));
}

#if LANES == 4
/* Both passes at once: each row of the window is filtered along x as it comes. That costs WINDOW / OUTPUTS times the
 * arithmetic along x and saves a plane's way to memory and back: it wins for reductions by 2 and loses for blurs. */
__kernel void filter_both(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    const int y0 = y * STRIDE + START;
    pixel sum[OUTPUTS];
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        pixel v = 0.0f;
        if (!outside(y0 + j, src_at.height))
            filter_row_at(&v, GIVE(src), weights, x, held_row(src_at, edge(y0 + j, src_at.height)), z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            if (TOUCHES(j, r))
                sum[r] = mad(v, WEIGHT(weights, TAP(j, r)), sum[r]);
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r < end)
            store(GIVE(dst), x, y + r, z, sum[r]);
}
#endif
