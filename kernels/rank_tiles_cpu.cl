/* Ranks in any window on CPU devices, tile by tile: all keys that a tile's windows cover are sorted once, after which a key
 * is its place in that order. The window is a set of places, a bit each. It moves over the tile like a plough, by one pixel
 * at a time, with a cursor that stays near the place wanted. */
#ifndef LANES
#define LANES 1
#endif
#include "rank.h"

#define DIGIT  8 /* bits that a pass of the sort goes by */
#define DIGITS (32 / DIGIT)
#define BINS   (1 << DIGIT)

/* `rank` of the keys of a window are smaller than the one that is wanted. A window's row k rows from its middle reaches over
 * reach[k] columns on either side. Tiles have tile x tile outputs; `across` x `down` of them are a plane. */
struct ranking {
    int radius, rank, tile, across, down;
};

/* Blocks of rank_histogram_cpu.cl: tiles across and down one, and blocks across and down a plane. */
struct blocks {
    int tiles_across, tiles_down, across, down;
};

enum { MAX_RADIUS = 127 };

/* A work-item's memory: of `room` pixels, keys and their numbers before and after a pass of the sort, then the places of
 * pixels, then the set. */
struct tile {
    int x, y, width, height; /* of the outputs */
    int z, radius, pitch;    /* from row to row of its pixels, with all that is around */
    __global ulong *sorted;
    __global uint *places;
    __global ulong *set;
    int cursor, below; /* a word of the set, and the members before it */
    const int *reach;
};

/* The keys of column x on that row j of the tile's pixels has, with the pixels' numbers in the lower halves of the words. */
static inline void gather_row(__global ulong *words, uint counts[DIGITS][BINS], PLANES_IN(src), const struct tile *tile, int j,
                              int columns)
{
    const int x = tile->x - tile->radius, y = tile->y - tile->radius + j;
    const bool beside = beyond_border(y, src_at.height);
    const int held = beside ? src_at.first_row : clamp_row(src_at, edge(y, src_at.height));
    __global const float *row = src + offset(src_at, 0, held, tile->z);
    for (int i = 0; i < columns; i++) {
        float v = 0.0f;
        if (!beside && x + i >= 0 && x + i < src_at.width)
            v = row[x + i];
        else if (!beside && !beyond_border(x + i, src_at.width))
            v = row[edge(x + i, src_at.width)];
        const uint key = to_key(v);
        words[i] = (ulong)key << 32 | (uint)(j * tile->pitch + i);
        for (int d = 0; d < DIGITS; d++)
            counts[d][key >> d * DIGIT & (BINS - 1)]++;
    }
}

/* A tile's keys, row after row; counts their digits on the way. */
static inline void gather_keys(__global ulong *words, uint counts[DIGITS][BINS], PLANES_IN(src), const struct tile *tile)
{
    const int rows = tile->height + 2 * tile->radius, columns = tile->width + 2 * tile->radius;
    for (int i = 0; i < DIGITS * BINS; i++)
        counts[i / BINS][i % BINS] = 0;
    for (int j = 0; j < rows; j++)
        gather_row(words + j * columns, counts, PLANES_ARG(src), tile, j, columns);
}

/* Sorts by one digit after the other, the lowest first; a digit that all keys share is left out. */
static inline __global ulong *sort_keys(__global ulong *words, __global ulong *other, uint counts[DIGITS][BINS], uint n)
{
    for (int d = 0; d < DIGITS; d++) {
        const int shift = 32 + d * DIGIT;
        uint at = 0;
        if (counts[d][words[0] >> shift & (BINS - 1)] == n)
            continue;
        for (int i = 0; i < BINS; i++) {
            const uint count = counts[d][i];
            counts[d][i] = at;
            at += count;
        }
        for (uint i = 0; i < n; i++)
            other[counts[d][words[i] >> shift & (BINS - 1)]++] = words[i];
        __global ulong *next = other;
        other = words;
        words = next;
    }
    return words;
}

/* Adds or removes pixel i. */
static inline void toggle(struct tile *tile, int i, int change)
{
    const uint place = tile->places[i];
    tile->set[place >> 6] ^= 1ul << (place & 63);
    tile->below += (int)(place >> 6) < tile->cursor ? change : 0;
}

static inline void begin_window(struct tile *tile, uint n)
{
    for (uint i = 0; i <= n >> 6; i++)
        tile->set[i] = 0;
    tile->cursor = tile->below = 0;
    for (int j = -tile->radius; j <= tile->radius; j++)
        for (int i = -tile->reach[abs(j)]; i <= tile->reach[abs(j)]; i++)
            toggle(tile, (tile->radius + j) * tile->pitch + tile->radius + i, 1);
}

/* From pixel `at` on by `step`; `line` leads from a pixel to the next one across. */
static inline void move_window(struct tile *tile, int at, int step, int line)
{
    for (int j = -tile->radius; j <= tile->radius; j++) {
        const int middle = at + j * line, reach = tile->reach[abs(j)] * step;
        toggle(tile, middle - reach, -1);
        toggle(tile, middle + reach + step, 1);
    }
}

/* The key that has so many before it. */
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

static inline void scan_serpentine(struct tile *tile, PLANES_OUT(dst), int rank)
{
    int i = 0, step = 1;
    for (int j = 0; j < tile->height; j++, step = -step)
        for (int k = 0; k < tile->width; k++) {
            const int at = (tile->radius + j) * tile->pitch + tile->radius + i;
            dst[offset(dst_at, tile->x + i, tile->y + j, tile->z)] = from_key(find_key(tile, rank));
            if (k + 1 < tile->width)
                move_window(tile, at, step, tile->pitch), i += step;
            else if (j + 1 < tile->height)
                move_window(tile, at, tile->pitch, 1);
        }
}

static inline void copy_tile(PLANES_IN(src), PLANES_OUT(dst), const struct tile *tile)
{
    for (int y = tile->y; y < tile->y + tile->height; y++)
        for (int x = tile->x; x < tile->x + tile->width; x++)
            dst[offset(dst_at, x, y, tile->z)] = src[offset(src_at, x, y, tile->z)];
}

/* Work-items share the tiles of all planes in the blocks that are `mixed` (NULL: all); each has `room` pixels of memory in `scratch`. */
NOINLINE void rank_tiles_run(PLANES_IN(src), PLANES_OUT(dst), __global const float *reach, const struct ranking by, int alpha_channel,
                          __global ulong *scratch, int room, __global const uint *mixed, const struct blocks blocks, int item,
                          int items)
{
    const int tiles = by.across * by.down;
    uint counts[DIGITS][BINS];
    int reaches[MAX_RADIUS + 1];
    struct tile tile = {.radius = by.radius, .pitch = by.tile + 2 * by.radius, .reach = reaches};
    __global ulong *words = scratch + (size_t)item * 3 * room, *other = words + room;
    tile.places = (__global uint *)(other + room);
    tile.set = (__global ulong *)(tile.places + room);
    for (int k = 0; k <= by.radius; k++)
        reaches[k] = (int)reach[k];
    for (int t = item; t < tiles * dst_at.layers * dst_at.channels; t += items) {
        const int across = t % tiles % by.across, down = t % tiles / by.across;
        tile.x = across * by.tile, tile.y = dst_at.first_row + down * by.tile;
        tile.z = t / tiles;
        if (mixed && !mixed[(tile.z * blocks.down + down / blocks.tiles_down) * blocks.across + across / blocks.tiles_across])
            continue;
        tile.width = min(by.tile, dst_at.width - tile.x);
        tile.height = min(by.tile, dst_at.first_row + dst_at.rows - tile.y);
        if (alpha_channel >= 0 && tile.z % dst_at.channels == alpha_channel) {
            copy_tile(PLANES_ARG(src), PLANES_ARG(dst), &tile);
            continue;
        }
        const uint n = (tile.width + 2 * by.radius) * (tile.height + 2 * by.radius);
        gather_keys(words, counts, PLANES_ARG(src), &tile);
        tile.sorted = sort_keys(words, other, counts, n);
        for (uint i = 0; i < n; i++)
            tile.places[(uint)tile.sorted[i]] = i;
        begin_window(&tile, n);
        scan_serpentine(&tile, PLANES_ARG(dst), by.rank);
    }
}

__kernel void rank_tiles(PLANES_IN(src), PLANES_OUT(dst), __global const float *reach, const struct ranking by, int alpha_channel,
                         __global ulong *scratch, int room, __global const uint *mixed, const struct blocks blocks)
{
    rank_tiles_run(PLANES_ARG(src), PLANES_ARG(dst), reach, by, alpha_channel, scratch, room, mixed, blocks, get_global_id(0), get_global_size(0));
}
