/* Rank filter of values of any precision on CPU devices, in squares and discs of any size, tile by tile. All keys of a tile
 * and its halo are sorted once, which gives each pixel an ordinal: its index in the sorted keys (B. Weiss, "Fast median and
 * bilateral filtering", ACM TOG 25, 2006). The window is a set of ordinals, a bit each. It moves over the tile in a
 * serpentine, one pixel at a time, with a cursor that stays near the result:
 *
 *     set       word 0        word 1        word 2
 *               0110 ... 1    0000 ... 0    1011 ... 0
 *                             ^ cursor; `below` = number of ones before it
 *
 * To find the result, the cursor steps over words by popcount() until the word that contains index `rank`. Then the lowest ones
 * of the word are cleared until the lowest one left is the result.
 *
 * A move toggles 2 radius + 1 bits on either side, so the cost per pixel grows with the radius.
 *
 * The tiles of all planes are divided among the work-items, each of which has scratch memory of its own. Values are only
 * compared, so all devices give the same bits. */
#define LANES 1
#include "rank.h"

#define DIGIT  8 /* bits per pass of the radix sort */
#define DIGITS (32 / DIGIT)
#define BINS   (1 << DIGIT)

/* The filter. The output is the key at index `rank` of the window's sorted keys. */
struct ranking {
    int radius, rank;
    int tile;                     /* width and height of a tile in outputs */
    int tiles_across, tiles_down; /* tiles of a plane */
};

/* The blocks of rank_blocks.h, which has filtered all blocks of only 8-bit values. */
struct blocks {
    int width, height; /* tiles of a block */
    int across, down;  /* blocks of a plane */
};

enum { MAX_RADIUS = 127 }; /* RANK_MAX_RADIUS of src/filters/rank.h */

/* A tile, in the scratch memory of a work-item. Its pixels are the outputs and a halo of `radius` around them. */
struct tile {
    int x, y, width, height; /* outputs */
    int z, radius;
    int pitch;               /* from row to row of `ordinals`, in pixels */
    __global ulong *sorted;  /* (key, pixel) pairs in ascending order: key << 32 | index of the pixel in `ordinals` */
    __global uint *ordinals; /* of each pixel: its index in `sorted` */
    __global ulong *set;     /* the window: bit n is set if it contains the pixel of ordinal n */
    int cursor;              /* a word of the set */
    int below;               /* number of pixels of the window in the words before it */
    const int *reach;        /* half widths of the window's rows */
};

/* Stores the (key, pixel) pairs of row j of the tile's pixels, by the border rule, and counts the digits of their keys. */
static inline void gather_row(__global ulong *pairs, uint counts[DIGITS][BINS], PLANES_IN(src), const struct tile *tile, int j,
                              int columns)
{
    const int x = tile->x - tile->radius, y = tile->y - tile->radius + j;
    const bool is_beyond = beyond_border(y, src_at.height);
    const int source = is_beyond ? src_at.first_row : clamp_row(src_at, edge(y, src_at.height));
    __global const float *row = src + offset(src_at, 0, source, tile->z);
    for (int i = 0; i < columns; i++) {
        float v = 0.0f;
        if (!is_beyond && x + i >= 0 && x + i < src_at.width)
            v = row[x + i];
        else if (!is_beyond && !beyond_border(x + i, src_at.width))
            v = row[edge(x + i, src_at.width)];
        const uint key = to_key(v);
        pairs[i] = (ulong)key << 32 | (uint)(j * tile->pitch + i);
        for (int d = 0; d < DIGITS; d++)
            counts[d][key >> d * DIGIT & (BINS - 1)]++;
    }
}

/* Sorts n pairs by their keys: radix sort, lowest digit first, without digits that are equal in all keys. Returns the sorted
 * pairs, which are in `pairs` or in `other`. */
static inline __global ulong *sort_keys(__global ulong *pairs, __global ulong *other, uint counts[DIGITS][BINS], uint n)
{
    for (int d = 0; d < DIGITS; d++) {
        const int shift = 32 + d * DIGIT;
        uint at = 0;
        if (counts[d][pairs[0] >> shift & (BINS - 1)] == n)
            continue;
        for (int i = 0; i < BINS; i++) {
            const uint count = counts[d][i];
            counts[d][i] = at;
            at += count;
        }
        for (uint i = 0; i < n; i++)
            other[counts[d][pairs[i] >> shift & (BINS - 1)]++] = pairs[i];
        __global ulong *next = other;
        other = pairs;
        pairs = next;
    }
    return pairs;
}

/* Adds pixel i to the window (change = 1), or removes it (-1). */
static inline void toggle(struct tile *tile, int i, int change)
{
    const uint ordinal = tile->ordinals[i];
    tile->set[ordinal >> 6] ^= 1ul << (ordinal & 63);
    tile->below += (int)(ordinal >> 6) < tile->cursor ? change : 0;
}

/* Moves the window around pixel `at` by one pixel. `step` is the distance to the next pixel along the move, `line` across it. */
static inline void slide_window(struct tile *tile, int at, int step, int line)
{
    for (int j = -tile->radius; j <= tile->radius; j++) {
        const int middle = at + j * line, reach = tile->reach[abs(j)] * step;
        toggle(tile, middle - reach, -1);
        toggle(tile, middle + reach + step, 1);
    }
}

/* Returns the key at index `rank` of the window's sorted keys, and moves the cursor to it. */
static inline uint find_key(struct tile *tile, int rank)
{
    while (tile->below > rank)
        tile->below -= (int)popcount(tile->set[--tile->cursor]);
    ulong word = tile->set[tile->cursor];
    for (int count; (count = (int)popcount(word)) <= rank - tile->below; word = tile->set[++tile->cursor])
        tile->below += count;
    for (int i = tile->below; i < rank; i++)
        word &= word - 1;
    return tile->sorted[tile->cursor * 64 + 63 - (int)clz(word & -word)] >> 32;
}

/* Filters a tile: one row from left to right, the next one back. */
static inline void scan_serpentine(struct tile *tile, PLANES_OUT(dst), int rank)
{
    int i = 0, step = 1;
    for (int j = 0; j < tile->height; j++, step = -step)
        for (int k = 0; k < tile->width; k++) {
            const int at = (tile->radius + j) * tile->pitch + tile->radius + i;
            dst[offset(dst_at, tile->x + i, tile->y + j, tile->z)] = from_key(find_key(tile, rank));
            if (k + 1 < tile->width)
                slide_window(tile, at, step, tile->pitch), i += step;
            else if (j + 1 < tile->height)
                slide_window(tile, at, tile->pitch, 1);
        }
}

/* Filters tiles `item`, item + items, ... of all planes. Filters only blocks with skipped[block] != 0, which rank_blocks.h left
 * out, or all if `skipped` is NULL. `reach` is the shape of the window (rank_blocks.h). `tile_pixels` is the number of pixels
 * of the largest tile. Each work-item has 24 bytes of `scratch` per pixel: pairs before and after a pass of the sort (8 each),
 * an ordinal (4), and room for the set. */
NOINLINE void rank_tiles_run(PLANES_IN(src), PLANES_OUT(dst), __global const float *reach, const struct ranking ranking,
                             int alpha_channel, __global ulong *scratch, int tile_pixels, __global const uint *skipped,
                             const struct blocks blocks, int item, int items)
{
    const int tiles = ranking.tiles_across * ranking.tiles_down;
    uint counts[DIGITS][BINS];
    int row_reach[MAX_RADIUS + 1];
    struct tile tile = {.radius = ranking.radius, .pitch = ranking.tile + 2 * ranking.radius, .reach = row_reach};
    __global ulong *pairs = scratch + (size_t)item * 3 * tile_pixels, *other = pairs + tile_pixels;
    tile.ordinals = (__global uint *)(other + tile_pixels);
    tile.set = (__global ulong *)(tile.ordinals + tile_pixels);
    for (int k = 0; k <= ranking.radius; k++)
        row_reach[k] = (int)reach[k];
    for (int t = item; t < tiles * dst_at.layers * dst_at.channels; t += items) {
        const int column = t % tiles % ranking.tiles_across, row = t % tiles / ranking.tiles_across; /* of the tile, in tiles */
        tile.x = column * ranking.tile, tile.y = dst_at.first_row + row * ranking.tile;
        tile.z = t / tiles;
        if (skipped && !skipped[(tile.z * blocks.down + row / blocks.height) * blocks.across + column / blocks.width])
            continue;
        tile.width = min(ranking.tile, dst_at.width - tile.x);
        tile.height = min(ranking.tile, dst_at.first_row + dst_at.rows - tile.y);
        if (alpha_channel >= 0 && tile.z % dst_at.channels == alpha_channel) {
            for (int y = tile.y; y < tile.y + tile.height; y++)
                for (int x = tile.x; x < tile.x + tile.width; x++)
                    dst[offset(dst_at, x, y, tile.z)] = src[offset(src_at, x, y, tile.z)];
            continue;
        }
        /* Sort the (key, pixel) pairs of the tile. */
        const int rows = tile.height + 2 * ranking.radius, columns = tile.width + 2 * ranking.radius;
        const uint n = rows * columns;
        for (int i = 0; i < DIGITS * BINS; i++)
            counts[i / BINS][i % BINS] = 0;
        for (int j = 0; j < rows; j++)
            gather_row(pairs + j * columns, counts, PLANES_ARG(src), &tile, j, columns);
        tile.sorted = sort_keys(pairs, other, counts, n);
        for (uint i = 0; i < n; i++)
            tile.ordinals[(uint)tile.sorted[i]] = i;
        /* Fill the window of the first output. */
        for (uint i = 0; i <= n >> 6; i++)
            tile.set[i] = 0;
        tile.cursor = tile.below = 0;
        for (int j = -tile.radius; j <= tile.radius; j++)
            for (int i = -row_reach[abs(j)]; i <= row_reach[abs(j)]; i++)
                toggle(&tile, (tile.radius + j) * tile.pitch + tile.radius + i, 1);
        scan_serpentine(&tile, PLANES_ARG(dst), ranking.rank);
    }
}

__kernel void rank_tiles(PLANES_IN(src), PLANES_OUT(dst), __global const float *reach, const struct ranking ranking,
                         int alpha_channel, __global ulong *scratch, int tile_pixels, __global const uint *skipped,
                         const struct blocks blocks)
{
    rank_tiles_run(PLANES_ARG(src), PLANES_ARG(dst), reach, ranking, alpha_channel, scratch, tile_pixels, skipped, blocks,
                   get_global_id(0), get_global_size(0));
}
