/* The pass along y of a resized image, from a file's samples without alpha, or into them: on CPU devices, where that saves
 * the passes that would unpack and pack, and planes of full size. Grids as in separable_samples.cl: z counts strips of
 * STRIP work-items along x. */
#include "resize_table.h"
#include "samples.h"

#define ROWS_OUT 4
#define STRIP    64

/* sum[r] += what a row gives output r, if its window has it. */
#define ADD_ROW(row, value)                                                                                            \
    _Pragma("unroll") for (int r = 0; r < ROWS_OUT; r++) if ((row) >= FIRST(output[r]) && (row) < END(output[r]))      \
    {                                                                                                                  \
        const float weight = WEIGHT(output[r], (row) - FIRST(output[r]));                                              \
        _Pragma("unroll") for (int c = 0; c < CHANNELS; c++) sum[r][c] = mad((value)[c], weight, sum[r][c]);           \
    }

#define FIND_OUTPUTS(table, y, rows)                                                                                   \
    __global const float *output[ROWS_OUT];                                                                            \
    lanes sum[ROWS_OUT][CHANNELS];                                                                                     \
    _Pragma("unroll") for (int r = 0; r < ROWS_OUT; r++)                                                               \
    {                                                                                                                  \
        output[r] = OUTPUT(table, (y) + min(r, (rows) - 1));                                                           \
        _Pragma("unroll") for (int c = 0; c < CHANNELS; c++) sum[r][c] = 0.0f;                                         \
    }

/* `height` is that of the image that the samples are of. */
APART void unpack_resize_columns_run(READ_RASTER(sample, raster), int height, TARGET(dst), TABLE(table), ITEM)
{
    EACH_ITEM(item)
    {
        const int x = (item + item_z * STRIP) * LANES, y = item_y * ROWS_OUT + dst_at.first_row;
        const int rows = min(ROWS_OUT, dst_at.first_row + dst_at.rows - y);
        if (x >= dst_at.width || rows <= 0)
            return;
        FIND_OUTPUTS(table, y, rows)
        for (int row = FIRST(output[0]); row < END(output[ROWS_OUT - 1]); row++) {
            lanes value[CHANNELS];
            load_pixels(value, GIVE_READ_RASTER(raster), x, wrapped(row, height), 0);
            ADD_ROW(row, value)
        }
#pragma unroll
        for (int r = 0; r < ROWS_OUT; r++)
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                if (r < rows)
                    store(GIVE(dst), x, y + r, c, sum[r][c]);
    }
}

__kernel void unpack_resize_columns(READ_RASTER(sample, raster), int height, TARGET(dst), TABLE(table))
{
    unpack_resize_columns_run(GIVE_READ_RASTER(raster), height, GIVE(dst), GIVE_TABLE(table), THIS_ITEM);
}

/* `at` says which rows are wanted. */
APART void resize_columns_pack_run(SOURCE(src), RASTER(sample, raster), const struct geometry at, TABLE(table), ITEM)
{
    EACH_ITEM(item)
    {
        const int x = (item + item_z * STRIP) * LANES, y = item_y * ROWS_OUT + at.first_row;
        const int rows = min(ROWS_OUT, at.first_row + at.rows - y);
        if (x >= at.width || rows <= 0)
            return;
        FIND_OUTPUTS(table, y, rows)
        for (int row = FIRST(output[0]); row < END(output[ROWS_OUT - 1]); row++) {
            const int held = wrapped(row, src_at.height);
            lanes value[CHANNELS];
#pragma unroll
            for (int c = 0; c < CHANNELS; c++)
                value[c] = load(GIVE(src), x, held, c);
            ADD_ROW(row, value)
        }
#pragma unroll
        for (int r = 0; r < ROWS_OUT; r++)
            if (r < rows)
                store_pixels(GIVE_RASTER(raster), x, y + r, 0, sum[r]);
    }
}

__kernel void resize_columns_pack(SOURCE(src), RASTER(sample, raster), const struct geometry at, TABLE(table))
{
    resize_columns_pack_run(GIVE(src), GIVE_RASTER(raster), at, GIVE_TABLE(table), THIS_ITEM);
}
