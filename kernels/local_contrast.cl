/* Contrast-limited adaptive histogram equalisation (CLAHE): each tile of the picture has a table that spreads its
 * histogram, and a pixel becomes the mean of its values in the tables of the four nearest tiles, weighted by their distance.
 *
 *     count_tiles    makes histograms of the tiles' brightness, with `bins` bins from 0 to full scale
 *     make_tables    turns histograms into tables of new brightness, in the same memory
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
 * infinite are not counted and do not change.
 *
 *   -DLANES=16           CPUs: a work-item of count_tiles counts a tile; one of equalise has sixteen pixels
 *   -DLANES=1, -DIMAGES  GPUs: a work-item of both has a pixel */
#include "planes.h"

#if LANES == 16
#define ITEM_PIXELS 16
typedef float16 float_lanes; /* values of ITEM_PIXELS neighbours along x */
typedef int16 int_lanes;
#define to_int_lanes convert_int16
#define COUNT(p)  ++*(p) /* a tile has one work-item */
#define COLUMNS   (float16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
#define ITEM_PIXELS 1
typedef float float_lanes;
typedef int int_lanes;
#define to_int_lanes convert_int
#define COUNT(p)  atomic_inc(p)
#define COLUMNS   0.0f
#endif

struct tiles {
    float4 weights;      /* of red, green and blue in the brightness */
    int across, down;    /* number of tiles */
    int width, height;   /* pixels of a tile. A tile that extends beyond the border has mirrored pixels there */
    float inverse_width, inverse_height;
    int bins;            /* the table of tile (i, j) begins at (i + j * across) * bins */
    int colours;         /* 1 or 3; other channels are copied */
    int alpha;           /* channel, or -1 */
};

/* Returns the index of the pixel for position i >= 0 of an axis of n pixels, mirrored about its first and last pixel. */
static inline int mirror(int i, int n)
{
    while (i >= n && n > 1)
        i = abs(2 * (n - 1) - i);
    return min(i, n - 1);
}

/* Returns brightness, with full scale 1, divided by alpha; NaN if a pixel is transparent, NaN or infinite. */
static inline float_lanes brightness(PLANES_IN(src), int x, int y, const struct tiles tiles)
{
#ifdef IMAGES
    const float4 v = load(PLANES_ARG(src), x, y, 0);
    float sum = tiles.colours == 1 ? v.x : mad(v.z, tiles.weights.z, mad(v.y, tiles.weights.y, v.x * tiles.weights.x));
    const float full = full_scale(PLANES_ARG(src), v, x, y, tiles.alpha).x;
#else
    float_lanes sum = load(PLANES_ARG(src), x, y, 0);
    const float_lanes full = full_scale(PLANES_ARG(src), sum, x, y, tiles.alpha);
    if (tiles.colours > 1)
        sum = mad(load(PLANES_ARG(src), x, y, 2), tiles.weights.z,
                  mad(load(PLANES_ARG(src), x, y, 1), tiles.weights.y, sum * tiles.weights.x));
#endif
    if (tiles.alpha >= 0)
        sum = full > 0.0f ? sum / full : (float_lanes)(NAN);
    return fabs(sum) < INFINITY ? sum : (float_lanes)(NAN);
}

/* Returns the bin of a brightness, or -1 for NaN. */
static inline int_lanes find_bins(float_lanes v, int bins)
{
    float_lanes t = mad(v, (float)(bins - 1), (float_lanes)(0.5f));
    t = t > 0.0f ? t : (float_lanes)(0.0f);
    t = t < bins - 1.0f ? t : (float_lanes)(bins - 1.0f);
    return v == v ? to_int_lanes(t) : (int_lanes)(-1);
}

/* Counts the pixels first to end - 1 of a row of the picture. */
static inline void count_row(PLANES_IN(src), __global uint *counts, int first, int end, int y, const struct tiles tiles)
{
    for (int x = first / ITEM_PIXELS * ITEM_PIXELS; x < end; x += ITEM_PIXELS) {
        const int_lanes found = find_bins(brightness(PLANES_ARG(src), x, y, tiles), tiles.bins);
        const int *bin = (const int *)&found;
        for (int i = max(0, first - x); i < min(ITEM_PIXELS, end - x); i++)
            if (bin[i] >= 0)
                COUNT(counts + bin[i]);
    }
}

/* Counts rows [rows.x, rows.y) of the picture, and their mirror images beyond the border. Grid: x and y count tiles if LANES is
 * 16, otherwise the pixels of all tiles. */
__kernel void count_tiles(PLANES_IN(src), __global uint *tables, const struct tiles tiles, int2 rows)
{
#if LANES == 16
    const int i = get_global_id(0), first = i * tiles.width, end = first + tiles.width;
    const int j = get_global_id(1), top = j * tiles.height, bottom = top + tiles.height;
#else
    const int first = get_global_id(0), end = first + 1, i = first / tiles.width;
    const int top = get_global_id(1), bottom = top + 1, j = top / tiles.height;
#endif
    if (i >= tiles.across || j >= tiles.down)
        return;
    __global uint *counts = tables + (size_t)(i + j * tiles.across) * tiles.bins;
    for (int row = top; row < bottom; row++) {
        const int y = mirror(row, src_at.height);
        if (y < rows.x || y >= rows.y)
            continue;
        count_row(PLANES_ARG(src), counts, first, min(end, src_at.width), y, tiles);
        for (int x = max(first, src_at.width); x < end; x++) {
            const int column = mirror(x, src_at.width);
            count_row(PLANES_ARG(src), counts, column, column + 1, y, tiles);
        }
    }
}

/* Clips a histogram at `limit` (0: no limit), distributes the clipped counts evenly over all bins, and replaces counts by their
 * running sum, scaled to 0 ... bins - 1. `limit` is for a tile whose pixels are all counted, and is reduced in proportion
 * if fewer are. The table of a tile without counted pixels changes nothing. Grid: x counts tiles. */
__kernel void make_tables(__global uint *tables, const struct tiles tiles, uint limit)
{
    const int tile = get_global_id(0);
    if (tile >= tiles.across * tiles.down || get_global_id(1) > 0)
        return;
    __global uint *counts = tables + (size_t)tile * tiles.bins;
    __global float *table = (__global float *)counts;
    const ulong area = (ulong)tiles.width * tiles.height;
    ulong total = 0, clipped = 0;
    for (int i = 0; i < tiles.bins; i++)
        total += counts[i];
    const uint most = limit == 0 ? UINT_MAX : max(1u, (uint)(limit * total / area));
    for (int i = 0; i < tiles.bins; i++)
        clipped += counts[i] > most ? counts[i] - most : 0;
    /* The rest of the division goes to single bins at equal distances. */
    const uint share = (uint)(clipped / tiles.bins);
    uint rest = (uint)(clipped % tiles.bins);
    const int step = rest > 0 ? max(tiles.bins / (int)rest, 1) : 1;
    const float scale = (float)(tiles.bins - 1) / (float)total;
    ulong sum = 0;
    for (int i = 0; i < tiles.bins; i++) {
        const bool has_one = rest > 0 && i % step == 0;
        sum += min(counts[i], most) + share + has_one;
        rest -= has_one;
        table[i] = total > 0 ? min(rint((float)sum * scale), (float)(tiles.bins - 1)) : (float)i;
    }
}

/* Adds to each colour the change of brightness. Grid: x counts pixels or vecs, y rows. */
NOINLINE void equalise_run(PLANES_IN(src), PLANES_OUT(dst), __global const float *tables, const struct tiles tiles,
                           WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * ITEM_PIXELS, y = item_y + dst_at.first_row;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const float_lanes v = brightness(PLANES_ARG(src), x, y, tiles);
        const int_lanes found = find_bins(v, tiles.bins);
        /* Index of the tables above and below, left and right; a and b are the weights of the right and lower ones. */
        const float tile_y = (float)y * tiles.inverse_height - 0.5f;
        const int above = (int)(tile_y + 1.0f) - 1; /* tile_y is -0.5 or more */
        const int upper = max(above, 0) * tiles.across, lower = min(above + 1, tiles.down - 1) * tiles.across;
        const float b = tile_y - (float)above;
        const float_lanes tile_x = (COLUMNS + (float)x) * tiles.inverse_width - 0.5f;
        const int_lanes before = to_int_lanes(tile_x + 1.0f) - 1;
        const int_lanes last = tiles.across - 1; /* lanes beyond the picture may be beyond the tiles */
        const int_lanes left = min(max(before, (int_lanes)(0)), last), right = min(before + 1, last);
        const float_lanes a = tile_x - to_float(before);
        float_lanes values[4]; /* of the tables: upper left, upper right, lower left, lower right */
        for (int i = 0; i < ITEM_PIXELS; i++) {
            const int bin = max(((const int *)&found)[i], 0), l = ((const int *)&left)[i], r = ((const int *)&right)[i];
            ((float *)&values[0])[i] = tables[(size_t)(upper + l) * tiles.bins + bin];
            ((float *)&values[1])[i] = tables[(size_t)(upper + r) * tiles.bins + bin];
            ((float *)&values[2])[i] = tables[(size_t)(lower + l) * tiles.bins + bin];
            ((float *)&values[3])[i] = tables[(size_t)(lower + r) * tiles.bins + bin];
        }
        const float_lanes top = mad(values[1], a, values[0] * (1.0f - a)), bottom = mad(values[3], a, values[2] * (1.0f - a));
        float_lanes change = mad(bottom, (float_lanes)(b), top * (1.0f - b)) - to_float(found);
        change = v == v ? change / (float)(tiles.bins - 1) : (float_lanes)(0.0f);
#ifdef IMAGES
        const float4 pixel = load(PLANES_ARG(src), x, y, 0);
        const float4 full = full_scale(PLANES_ARG(src), pixel, x, y, tiles.alpha);
        store(PLANES_ARG(dst), x, y, 0, select(pixel, mad(change, full, pixel), (int4)(0, 1, 2, 3) < tiles.colours));
#else
        const float_lanes full = full_scale(PLANES_ARG(src), v, x, y, tiles.alpha);
        for (int z = 0; z < dst_at.channels; z++) {
            const float_lanes pixel = load(PLANES_ARG(src), x, y, z);
            store(PLANES_ARG(dst), x, y, z, z < tiles.colours ? mad(change, full, pixel) : pixel);
        }
#endif
    }
}

__kernel void equalise(PLANES_IN(src), PLANES_OUT(dst), __global const float *tables, const struct tiles tiles)
{
    equalise_run(PLANES_ARG(src), PLANES_ARG(dst), tables, tiles, WORK_ITEM_ARGS);
}
