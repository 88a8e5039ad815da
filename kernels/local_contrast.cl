/* Contrast-limited adaptive histogram equalisation (CLAHE): each tile of the picture has a table that spreads its
 * histogram, and a pixel becomes the mean of what the tables of the four nearest tiles give, weighted by their distance.
 *
 *     count_tiles    histograms of the tiles, of brightness; `bins` counts from 0 to full scale
 *     make_tables    histograms become tables of new brightness, in the same memory
 *     equalise       adds the change of brightness to all colours
 *
 *     centres of tiles    +-------+-------+       a pixel x lies between four centres;
 *                         |   x   |       |       beyond the outer ones the next tile's
 *                         +-------+-------+       table counts alone
 *
 * K. Zuiderveld, "Contrast limited adaptive histogram equalization", Graphics Gems IV (1994). Sizes of tiles, clipping,
 * the redistribution of what is clipped and the order of the interpolation are as in OpenCV's createCLAHE.
 *
 * Counts are integers, so they do not depend on slices or on the order of work-items. Pixels that are transparent, NaN or
 * infinite are not counted and do not change. */
#include "planes.h"

#if LANES == 16
#define VALUES 16
typedef float16 level; /* brightness of neighbouring pixels */
typedef int16 levels;
#define TO_LEVELS convert_int16
#define COUNT(p)  ++*(p) /* a tile has one work-item */
#define COLUMNS   (float16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define VALUES 1
typedef float level;
typedef int levels;
#define TO_LEVELS convert_int
#define COUNT(p)  atomic_inc(p)
#define COLUMNS   0.0f
#endif

struct tiles {
    float4 weights;      /* of the colours in brightness */
    int across, down;    /* number of tiles */
    int width, height;   /* pixels of a tile; beyond the border the picture is mirrored about its last pixel */
    float inverse_width, inverse_height;
    int bins;            /* the table of tile (i, j) begins at (i + j * across) * bins */
    int colours;
    int alpha;           /* channel, or -1 */
};

/* Returns the pixel that replaces pixel i of a row or column of n pixels. */
static inline int mirror(int i, int n)
{
    while (i >= n && n > 1)
        i = abs(2 * (n - 1) - i);
    return min(i, n - 1);
}

/* Returns brightness 0 to 1, divided by alpha; NaN if a pixel has none or is transparent. */
static inline level brightness(PLANES_IN(src), int x, int y, const struct tiles by)
{
#ifdef IMAGES
    const float4 v = load(PLANES_ARG(src), x, y, 0);
    float sum = by.colours == 1 ? v.x : mad(v.z, by.weights.z, mad(v.y, by.weights.y, v.x * by.weights.x));
    const float full = by.alpha < 0 ? 1.0f : by.alpha == 1 ? v.y : v.w;
#else
    level sum = load(PLANES_ARG(src), x, y, 0), full = 1.0f;
    if (by.colours > 1)
        sum = mad(load(PLANES_ARG(src), x, y, 2), by.weights.z,
                  mad(load(PLANES_ARG(src), x, y, 1), by.weights.y, sum * by.weights.x));
    if (by.alpha >= 0)
        full = load(PLANES_ARG(src), x, y, by.alpha);
#endif
    if (by.alpha >= 0)
        sum = full > 0.0f ? sum / full : (level)(NAN);
    return fabs(sum) < INFINITY ? sum : (level)(NAN);
}

/* Returns the bin of a brightness, or -1 for NaN. */
static inline levels find_bins(level v, int bins)
{
    level t = mad(v, (float)(bins - 1), (level)(0.5f));
    t = t > 0.0f ? t : (level)(0.0f);
    t = t < bins - 1.0f ? t : (level)(bins - 1.0f);
    return v == v ? TO_LEVELS(t) : (levels)(-1);
}

/* Counts the pixels first to end - 1 of a row of the picture. */
static inline void count_row(PLANES_IN(src), __global uint *own, int first, int end, int y, const struct tiles by)
{
    for (int x = first / VALUES * VALUES; x < end; x += VALUES) {
        const levels found = find_bins(brightness(PLANES_ARG(src), x, y, by), by.bins);
        const int *bin = (const int *)&found;
        for (int i = max(0, first - x); i < min(VALUES, end - x); i++)
            if (bin[i] >= 0)
                COUNT(own + bin[i]);
    }
}

/* Counts the rows [rows.x, rows.y) of the picture, also where they are mirrored. Grid: x and y count tiles on CPUs, else
 * the pixels of all tiles. */
__kernel void count_tiles(PLANES_IN(src), __global uint *tables, const struct tiles by, int2 rows)
{
#if LANES == 16
    const int i = get_global_id(0), first = i * by.width, end = first + by.width;
    const int j = get_global_id(1), top = j * by.height, bottom = top + by.height;
#else
    const int first = get_global_id(0), end = first + 1, i = first / by.width;
    const int top = get_global_id(1), bottom = top + 1, j = top / by.height;
#endif
    if (i >= by.across || j >= by.down)
        return;
    __global uint *own = tables + (size_t)(i + j * by.across) * by.bins;
    for (int row = top; row < bottom; row++) {
        const int y = mirror(row, src_at.height);
        if (y < rows.x || y >= rows.y)
            continue;
        count_row(PLANES_ARG(src), own, first, min(end, src_at.width), y, by);
        for (int x = max(first, src_at.width); x < end; x++) {
            const int seen = mirror(x, src_at.width);
            count_row(PLANES_ARG(src), own, seen, seen + 1, y, by);
        }
    }
}

/* Clips a histogram at `limit` (0: not), adds what is clipped to all bins alike, and replaces counts by their running sum,
 * scaled to 0 ... bins - 1. `limit` is meant for all pixels of a tile; if fewer were counted, it is lowered. A tile without
 * pixels changes nothing. Grid: x counts tiles. */
__kernel void make_tables(__global uint *tables, const struct tiles by, uint limit)
{
    const int tile = get_global_id(0);
    if (tile >= by.across * by.down || get_global_id(1) > 0)
        return;
    __global uint *counts = tables + (size_t)tile * by.bins;
    __global float *table = (__global float *)counts;
    const ulong area = (ulong)by.width * by.height;
    ulong total = 0, clipped = 0;
    for (int i = 0; i < by.bins; i++)
        total += counts[i];
    const uint most = limit == 0 ? UINT_MAX : max(1u, (uint)(limit * total / area));
    for (int i = 0; i < by.bins; i++)
        clipped += counts[i] > most ? counts[i] - most : 0;
    /* The rest of the division goes to single bins at equal distances. */
    const uint share = (uint)(clipped / by.bins);
    uint rest = (uint)(clipped % by.bins);
    const int step = rest > 0 ? max(by.bins / (int)rest, 1) : 1;
    const float scale = (float)(by.bins - 1) / (float)total;
    ulong sum = 0;
    for (int i = 0; i < by.bins; i++) {
        const bool has_one = rest > 0 && i % step == 0;
        sum += min(counts[i], most) + share + has_one;
        rest -= has_one;
        table[i] = total > 0 ? min(rint((float)sum * scale), (float)(by.bins - 1)) : (float)i;
    }
}

/* Adds to each colour the change of brightness. Grid: x counts pixels or vecs, y rows. */
NOINLINE void equalise_run(PLANES_IN(src), PLANES_OUT(dst), __global const float *tables, const struct tiles by,
                           WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * VALUES, y = item_y + dst_at.first_row;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const level v = brightness(PLANES_ARG(src), x, y, by);
        const levels found = find_bins(v, by.bins);
        /* The rows and columns of tables, and the weight of the second of each. */
        const float down = (float)y * by.inverse_height - 0.5f;
        const int above = (int)(down + 1.0f) - 1; /* down is -0.5 or more */
        const int upper = max(above, 0) * by.across, lower = min(above + 1, by.down - 1) * by.across;
        const float b = down - (float)above;
        const level across = (COLUMNS + (float)x) * by.inverse_width - 0.5f;
        const levels before = TO_LEVELS(across + 1.0f) - 1;
        const levels last = by.across - 1; /* lanes beyond the picture may be beyond the tiles */
        const levels left = min(max(before, (levels)(0)), last), right = min(before + 1, last);
        const level a = across - to_float(before);
        level values[4]; /* of the tables: upper left, upper right, lower left, lower right */
        for (int i = 0; i < VALUES; i++) {
            const int bin = max(((const int *)&found)[i], 0), l = ((const int *)&left)[i], r = ((const int *)&right)[i];
            ((float *)&values[0])[i] = tables[(size_t)(upper + l) * by.bins + bin];
            ((float *)&values[1])[i] = tables[(size_t)(upper + r) * by.bins + bin];
            ((float *)&values[2])[i] = tables[(size_t)(lower + l) * by.bins + bin];
            ((float *)&values[3])[i] = tables[(size_t)(lower + r) * by.bins + bin];
        }
        const level top = mad(values[1], a, values[0] * (1.0f - a)), bottom = mad(values[3], a, values[2] * (1.0f - a));
        level change = mad(bottom, (level)(b), top * (1.0f - b)) - to_float(found);
        change = v == v ? change / (float)(by.bins - 1) : (level)(0.0f);
#ifdef IMAGES
        const float4 pixel = load(PLANES_ARG(src), x, y, 0);
        const float full = by.alpha < 0 ? 1.0f : by.alpha == 1 ? pixel.y : pixel.w;
        store(PLANES_ARG(dst), x, y, 0, select(pixel, mad(change, (float4)(full), pixel), (int4)(0, 1, 2, 3) < by.colours));
#else
        level full = 1.0f;
        if (by.alpha >= 0)
            full = load(PLANES_ARG(src), x, y, by.alpha);
        for (int z = 0; z < dst_at.channels; z++) {
            const level pixel = load(PLANES_ARG(src), x, y, z);
            store(PLANES_ARG(dst), x, y, z, z < by.colours ? mad(change, full, pixel) : pixel);
        }
#endif
    }
}

__kernel void equalise(PLANES_IN(src), PLANES_OUT(dst), __global const float *tables, const struct tiles by)
{
    equalise_run(PLANES_ARG(src), PLANES_ARG(dst), tables, by, WORK_ITEM_ARGS);
}
