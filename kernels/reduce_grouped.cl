/* Reduction, both axes in one kernel: a group filters columns of the source along y, hands them on through local memory
 * and filters them along x. A large stride has more columns than the group has work-items. */
#ifndef LANES
#define LANES 4
#endif
#ifndef OUTPUTS
#define OUTPUTS 4
#endif
#include "columns_grouped.h"
#include "reduce.h"

/* The columns of a group, and its outputs along x. */
struct block {
    int columns, across;
};

/* Pixels of local memory from row to row: in images odd, as rows that are read together then begin in different banks. */
#ifdef IMAGES
#define PITCH(block) ((block).columns | 1)
#else
#define PITCH(block) (block).columns
#endif

INLINE void reduce_column(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct reduction by, int x,
                          int y, int z)
{
    const int first = y * by.stride + by.start;
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#define ROW(y) load(GIVE(src), x, y, z)
    if (holds_window(src_at, x, first, run_rows(by))) {
        REDUCE_RUN(ROW)
    } else {
#define ROW_BESIDE(y) load_beside(GIVE(src), x, y, z)
        REDUCE_ANY_RUN(ROW_BESIDE)
    }
}

/* `tile` has OUTPUTS rows of PITCH pixels. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
reduce(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, const struct reduction by, const struct block block,
       __local pixel *tile)
{
    const int id = get_local_id(0), z = get_global_id(2), skew = by.start & (LANES - 1);
    const int x0 = get_group_id(0) * block.across, y0 = get_group_id(1) * OUTPUTS + dst_at.first_row;
    for (int column = id; column < block.columns; column += GROUP) {
        pixel sum[OUTPUTS];
        reduce_column(sum, GIVE(src), weights, by, x0 * by.stride + by.start - skew + column * LANES, y0, z);
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            tile[r * PITCH(block) + column] = sum[r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* Work-items side by side have outputs side by side; in images above each other, which fills whole sectors. */
    const int across = min(block.across, dst_at.width - x0), down = min(OUTPUTS, dst_at.first_row + dst_at.rows - y0);
#ifdef IMAGES
    const int per_row = GROUP / OUTPUTS, row = id % OUTPUTS, column = id / OUTPUTS;
#else
    const int per_row = min(GROUP, max(GROUP * LANES / by.stride, GROUP / OUTPUTS)), row = id / per_row;
    const int column = id % per_row;
#endif
    for (int y = row; y < down; y += GROUP / per_row)
        for (int x = column; x < across; x += per_row) {
            __local const sample_at_x *line = (__local const sample_at_x *)(tile + y * PITCH(block)) + skew;
            sample_at_x sum = 0.0f;
#pragma unroll 4
            for (int k = 0; k < by.taps; k++)
                sum = mad(line[x * by.stride + k], weights[k], sum);
#ifdef IMAGES
            store(GIVE(dst), x0 + x, y0 + y, z, sum);
#else
            dst[offset(dst_at, x0 + x, y0 + y, z)] = sum;
#endif
        }
}
