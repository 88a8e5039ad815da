/* The passes of a separable convolution as they were written in 2011, to be compared with today's:
 *
 *     dst[i] = sum over k < TAPS of weights[k] * src[i - RADIUS + k],  TAPS = 2 * RADIUS + 1, edges clamped
 *
 *   -DRADIUS=n   at most 32
 *   -DVECTORS    the local cache holds whole pixels; else each channel has a cache of its own, so that neighbouring
 *                work-items read neighbouring banks
 *
 * src and dst are width x height pixels an image; the grid's z counts the images of a batch. */
#define TAPS (2 * RADIUS + 1)

#if defined(VECTORS) || CHANNELS == 1
#define CACHE(name, size) __local pixel name[size]
#define PUT(cache, i, v)  cache[i] = (v)
#define GET(cache, i)     cache[i]
#elif CHANNELS == 2
#define CACHE(name, size) __local float name[2][size]
#define PUT(cache, i, v)                                                                                               \
    do {                                                                                                               \
        const pixel put = (v);                                                                                         \
        cache[0][i] = put.x, cache[1][i] = put.y;                                                                      \
    } while (0)
#define GET(cache, i) ((float2)(cache[0][i], cache[1][i]))
#else
#define CACHE(name, size) __local float name[4][size]
#define PUT(cache, i, v)                                                                                               \
    do {                                                                                                               \
        const pixel put = (v);                                                                                         \
        cache[0][i] = put.x, cache[1][i] = put.y, cache[2][i] = put.z, cache[3][i] = put.w;                            \
    } while (0)
#define GET(cache, i) ((float4)(cache[0][i], cache[1][i], cache[2][i], cache[3][i]))
#endif

#define ARGUMENTS SOURCE(src), TARGET(dst), __constant float *restrict weights, const int width, const int height
#define GROUP(x, y) __attribute__((reqd_work_group_size(x, y, 1)))

/* A sum over the cache, `step` entries from sample to sample. */
#define FILTER_CACHE(sum, cache, first, step)                                                                          \
    pixel sum = 0.0f;                                                                                                  \
    for (int k = 0; k < TAPS; k++)                                                                                     \
        sum += weights[k] * GET(cache, (first) + k * (step))

#ifndef IMAGES
enum { WIDE = 64, ROWS = 4 }; /* results of a work-group */

static inline size_t row_of(int y, int z, int width, int height)
{
    return ((size_t)z * height + y) * width;
}

/* 128 x 4 pixels to local memory, two loads a work-item, 64 x 4 results: the halo is 32 for any radius. */
__kernel GROUP(64, 4) void array_x_whole(ARGUMENTS)
{
    const int lx = get_local_id(0), x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const int first = get_local_id(1) * 2 * WIDE, x0 = get_group_id(0) * WIDE - WIDE / 2;
    const size_t row = row_of(y, z, width, height);
    CACHE(cache, 2 * WIDE * ROWS);
    PUT(cache, first + lx, src[row + clamp(x0 + lx, 0, width - 1)]);
    PUT(cache, first + lx + WIDE, src[row + clamp(x0 + lx + WIDE, 0, width - 1)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    FILTER_CACHE(sum, cache, first + lx + WIDE / 2 - RADIUS, 1);
    dst[row + x] = sum;
}

/* The same, without what no result needs: the second load is for the first 2 * RADIUS work-items of a row. */
__kernel GROUP(64, 4) void array_x_needed(ARGUMENTS)
{
    const int lx = get_local_id(0), x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const int span = WIDE + 2 * RADIUS, first = get_local_id(1) * span, x0 = get_group_id(0) * WIDE - RADIUS;
    const size_t row = row_of(y, z, width, height);
    CACHE(cache, (WIDE + 2 * RADIUS) * ROWS);
    for (int i = lx; i < span; i += WIDE)
        PUT(cache, first + i, src[row + clamp(x0 + i, 0, width - 1)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    FILTER_CACHE(sum, cache, first + lx, 1);
    dst[row + x] = sum;
}

/* One load a work-item: 2 * RADIUS of them have no result and are there for the halo alone. */
__kernel GROUP(64 + 2 * RADIUS, 4) void array_x_loaders(ARGUMENTS)
{
    const int lx = get_local_id(0), y = get_global_id(1), z = get_global_id(2);
    const int first = get_local_id(1) * (WIDE + 2 * RADIUS), x0 = get_group_id(0) * WIDE;
    const size_t row = row_of(y, z, width, height);
    CACHE(cache, (WIDE + 2 * RADIUS) * ROWS);
    PUT(cache, first + lx, src[row + clamp(x0 + lx - RADIUS, 0, width - 1)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lx >= WIDE)
        return;
    FILTER_CACHE(sum, cache, first + lx, 1);
    dst[row + x0 + lx] = sum;
}

/* No local memory: neighbours in x read neighbours in memory, each walks along its column. */
__kernel GROUP(64, 4) void array_y_walk(ARGUMENTS)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    pixel sum = 0.0f;
    for (int k = 0; k < TAPS; k++)
        sum += weights[k] * src[row_of(clamp(y - RADIUS + k, 0, height - 1), z, width, height) + x];
    dst[row_of(y, z, width, height) + x] = sum;
}

/* A group goes down STRIP rows of 64 columns, four at a time; the last RING rows are in local memory. Rows that a step
 * replaces are older than any that the step before still reads (RING >= TAPS + 7), so one barrier a step is enough. */
#define STRIP 64
#if RADIUS <= 4
#define RING 16
#elif RADIUS <= 12
#define RING 32
#else
#define RING 64
#endif
#define SLOT(y) ((((y) + RING) % RING) * WIDE)

__kernel GROUP(64, 4) void array_y_rolling(ARGUMENTS)
{
    const int lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), z = get_global_id(2);
    const int y0 = get_group_id(1) * STRIP;
    CACHE(ring, RING * WIDE);
    for (int y = -RADIUS + ly; y < RADIUS; y += ROWS)
        PUT(ring, SLOT(y) + lx, src[row_of(clamp(y0 + y, 0, height - 1), z, width, height) + x]);
    for (int step = 0; step < STRIP; step += ROWS) {
        const int y = step + ly;
        PUT(ring, SLOT(y + RADIUS) + lx, src[row_of(clamp(y0 + y + RADIUS, 0, height - 1), z, width, height) + x]);
        barrier(CLK_LOCAL_MEM_FENCE);
        pixel sum = 0.0f;
        for (int k = 0; k < TAPS; k++)
            sum += weights[k] * GET(ring, SLOT(y - RADIUS + k) + lx);
        dst[row_of(y0 + y, z, width, height) + x] = sum;
    }
}
#else
enum { SIDE = 16 }; /* results of a work-group, both ways */

__kernel GROUP(16, 16) void image_x_cached(ARGUMENTS)
{
    const int lx = get_local_id(0), x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const int span = SIDE + 2 * RADIUS, first = get_local_id(1) * span;
    CACHE(cache, (SIDE + 2 * RADIUS) * SIDE);
    for (int i = lx; i < span; i += SIDE)
        PUT(cache, first + i, FETCH(src, x - lx - RADIUS + i, y, z));
    barrier(CLK_LOCAL_MEM_FENCE);
    FILTER_CACHE(sum, cache, first + lx, 1);
    STORE(dst, x, y, z, sum);
}

__kernel GROUP(16, 16) void image_y_cached(ARGUMENTS)
{
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), span = SIDE + 2 * RADIUS;
    CACHE(cache, (SIDE + 2 * RADIUS) * SIDE);
    for (int i = ly; i < span; i += SIDE)
        PUT(cache, i * SIDE + lx, FETCH(src, x, y - ly - RADIUS + i, z));
    barrier(CLK_LOCAL_MEM_FENCE);
    FILTER_CACHE(sum, cache, ly * SIDE + lx, SIDE);
    STORE(dst, x, y, z, sum);
}

__kernel GROUP(16, 16) void image_x(ARGUMENTS)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    pixel sum = 0.0f;
    for (int k = 0; k < TAPS; k++)
        sum += weights[k] * FETCH(src, x - RADIUS + k, y, z);
    STORE(dst, x, y, z, sum);
}

__kernel GROUP(16, 16) void image_y(ARGUMENTS)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    pixel sum = 0.0f;
    for (int k = 0; k < TAPS; k++)
        sum += weights[k] * FETCH(src, x, y - RADIUS + k, z);
    STORE(dst, x, y, z, sum);
}
#endif
