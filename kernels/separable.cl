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
        if (x + r * LANES < dst_at.width)
            store(GIVE(dst), x + r * LANES, y, z, kept(sum[r], GIVE(src), x + r * LANES, y, z));
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

#if defined(IMAGES) && defined(GROUP)
/* Both passes at once by a group of GROUP work-items, each texel fetched once but for the halo: every work-item filters
 * a column of the source in registers, the group then the rows that this gives, from local memory.
 *
 *   -DGROUP=n   work-items of a group, at least TAPS
 *
 * Neighbours store texels above each other (see enlarge in scale.cl). With rows an odd number of texels apart, the two
 * rows that eight neighbours read fall into different banks. */
#define ACROSS ((GROUP - TAPS) / STRIDE + 1) /* outputs along x that GROUP columns give */
#define ROWS   ROUND_UP(OUTPUTS, 2)

__kernel void filter_both(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    __local float4 columns[ROWS][GROUP + 1];
    const int id = get_local_id(1) * get_local_size(0) + get_local_id(0), z = get_global_id(2);
    const int x0 = get_group_id(0) * ACROSS, y0 = get_group_id(1) * OUTPUTS + dst_at.first_row;
    const int column = x0 * STRIDE + START + id, end = dst_at.first_row + dst_at.rows;
    pixel sum[OUTPUTS];
    filter_columns_at(sum, GIVE(src), weights, 0, edge(column, src_at.width), y0, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        columns[r][id] = outside(column, src_at.width) ? (float4)(0.0f) : sum[r];
    barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
    for (int first = 0; first < ACROSS * ROWS; first += GROUP) {
        const int i = first + id, x = i / 2 % ACROSS, y = i / (2 * ACROSS) * 2 + i % 2;
        if (x0 + x >= dst_at.width || y >= OUTPUTS || y0 + y >= end)
            continue;
        pixel value = 0.0f;
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            value = mad(columns[y][x * STRIDE + k], WEIGHT(weights, k), value);
        store(GIVE(dst), x0 + x, y0 + y, z, value);
    }
}
#elif LANES == 4
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

#if LANES == 16 && defined(SAMPLE)
/* The first pass from a file's samples, and the second one into them: built for samples without alpha. */
#define SEGMENT (ROW_OUTPUTS * LANES) /* outputs of a work-item along x: with fewer, more samples are converted twice */
#if STRIDE == 1
#define BEFORE        ROUND_UP(-START, LANES) /* vectors of the line begin at multiples of LANES */
#define REACH         (TAPS + START - 1)      /* samples that an output needs to its right */
#define SEGMENT_LINE  (BEFORE + SEGMENT + ROUND_UP(REACH > 0 ? REACH : 0, LANES))

/* line[c][i] = the sample of channel c that x - BEFORE + i stands for, from the first to the last one needed. A window
 * of single samples costs more to convert than to filter, so neighbours share it. */
static inline void load_line(float line[][SEGMENT_LINE], READ_RASTER(raster), const struct geometry at, int x, int y)
{
    for (int i = 0; i < SEGMENT_LINE; i += LANES) {
        lanes value[CHANNELS];
        if (x - BEFORE + i < 0 || x - BEFORE + i >= at.width)
            continue;
        load_pixels(value, GIVE_RASTER(raster), x - BEFORE + i, y, 0);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            vstore16(value[c], 0, line[c] + i);
    }
    const int end = min(x + SEGMENT, at.width) + REACH;
    for (int c = 0; c < CHANNELS; c++) {
        for (int i = x + START; i < 0; i++)
            line[c][i - x + BEFORE] = load_sample(GIVE_RASTER(raster), i, at.width, y, c);
        for (int i = at.width; i < end; i++)
            line[c][i - x + BEFORE] = load_sample(GIVE_RASTER(raster), i, at.width, y, c);
    }
}

__kernel void unpack_filter_rows(READ_RASTER(raster), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * SEGMENT, y = get_global_id(1) + dst_at.first_row;
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    float line[CHANNELS][SEGMENT_LINE];
    load_line(line, GIVE_RASTER(raster), dst_at, x, y);
    for (int c = 0; c < CHANNELS; c++) {
        pixel sum[SEGMENT / LANES];
#pragma unroll
        for (int i = 0; i < SEGMENT / LANES; i++)
            sum[i] = 0.0f;
        for (int k = 0; k < TAPS; k++) {
            const float weight = WEIGHT(weights, k);
#pragma unroll
            for (int i = 0; i < SEGMENT / LANES; i++)
                sum[i] = mad(vload16(i, line[c] + BEFORE + START + k), weight, sum[i]);
        }
#pragma unroll
        for (int i = 0; i < SEGMENT / LANES; i++)
            if (x + i * LANES < dst_at.width)
                store(GIVE(dst), x + i * LANES, y, c, sum[i]);
    }
}
#endif

#if SAMPLE != 3
#define STRIP 64 /* work-items */

/* `at` says which rows are wanted. The grid's z counts strips of STRIP work-items along x: the windows of all channels
 * over the whole width do not stay in a core's cache (a third slower). */
__kernel void filter_columns_pack(SOURCE(src), RASTER(raster), const struct geometry at, WEIGHTS_ARGUMENT(weights))
{
    const int x = (get_global_id(0) + get_global_id(2) * STRIP) * LANES;
    const int y = get_global_id(1) * OUTPUTS + at.first_row, end = at.first_row + at.rows;
    if (x >= at.width || y >= end)
        return;
    pixel sum[CHANNELS][OUTPUTS];
#pragma unroll 1 /* else the addresses of all channels' rows take the registers (a fifth slower) */
    for (int c = 0; c < CHANNELS; c++)
        filter_columns_at(sum[c], GIVE(src), weights, 0, x, y, c);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        lanes value[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            value[c] = sum[c][r];
        if (y + r < end)
            store_pixels(GIVE_RASTER(raster), x, y + r, 0, value, 0.0f);
    }
}
#endif
#endif
