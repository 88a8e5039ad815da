/* Rank filter of 8-bit values on CPU devices, in discs of any size.
 *
 * T. Huang, G. Yang, G. Tang, "A fast two-dimensional median filtering algorithm", IEEE TASSP 27 (1979): one histogram moves
 * with the window. 2 radius + 1 values enter on one side and leave on the other. Only one of TILE_ROWS rows is filtered in
 * this way. The outputs above and below it are mostly close to its own, so counting the values below a few thresholds finds
 * them. Each column of a tile has its own thresholds, near its output in the middle row:
 *
 *     column         0   1   2   3  ...  63
 *     middle row    52  52  54  53       90     histograms; thresholds 49 to 56, 49 to 56, 51 to 58, ...
 *     the row below 52  53  54  53       71     the last one is below its thresholds: again with other thresholds
 *
 * A value becomes 8 bits, one for each threshold. Bits are added without carrying from column to column: plane i of a count has
 * bit i of all counters (Harley and Seal's full adders; W. Mula, N. Kurz, D. Lemire, "Faster population counts using AVX2
 * instructions", Computer Journal 61 (2018)). So two to five logical instructions add a value to 8 counters of each column. A
 * comparison and an addition for each threshold took twice the time at radius 127.
 *
 * Columns whose outputs differ much are finished by moving their histograms up and down. */
#include "rank_blocks.h"

/* Outputs of a tile along x, a lane each: a register. SHUFFLE(table, index) is table[index] in each lane. */
#if defined(__AVX512BW__)
#define TILE_COLUMNS          64
#define SHUFFLE(table, index) __builtin_ia32_pshufb512(table, index)
#elif defined(__AVX2__)
#define TILE_COLUMNS          32
#define SHUFFLE(table, index) __builtin_ia32_pshufb256(table, index)
#else
#define TILE_COLUMNS 32
#endif

enum {
    TILE_ROWS = 48,    /* outputs of a tile along y. Of 32, 48 and 64, 32 is best at radius 5, 64 at 127 */
    THRESHOLDS = 8,    /* of a sweep, a bit each */
    FEW_COLUMNS = 4,   /* so few columns are finished value by value: another sweep costs more */
    COUNTER_BITS = 16, /* a disc has at most 50,671 values, and a counter grows by at most 256 a row */
    BATCH = 8,         /* values that enter, and values that leave, which are added at once */
    LOW_BITS = 4,      /* lowest bits of a counter: a batch is added to these, and its overflow is counted */
    OVERFLOW_BITS = 6  /* bits of the number of overflows while the disc moves by one row */
};

/* A byte of each column of a tile. With char16 the loop of a sweep has twice as many instructions. */
typedef uchar bytes __attribute__((ext_vector_type(TILE_COLUMNS)));

/* The byte of column x. */
#define LANE(v, x) (((uchar *)&(v))[x])

/* Bytes of 255 where a comparison is true, and of 0 elsewhere. */
#define MASK(comparison) __builtin_astype(comparison, bytes)

struct __attribute__((packed)) unaligned_bytes {
    bytes all;
};

/* The histogram of a disc, the sum of added[..][v] minus removed[..][v]. In flat areas all changes are to the same bin; in four
 * arrays they need not wait for each other. */
struct window {
    ushort added[2][MAX_VALUE + 1], removed[2][MAX_VALUE + 1];
};

/* A disc, and the values that it moves over. added[d] and removed[d] have the distances from the middle of the disc to the
 * values that enter and leave when it moves up (d = 0) or down (1), one of each per column of the disc. They are padded to
 * `moved`, a multiple of BATCH, with values that both enter and leave. */
struct disc {
    int radius, rank, pitch;
    int reach[MAX_RADIUS + 1]; /* half width of the row at this distance from the middle; half height of the column */
    int moved, added[2][2 * (MAX_RADIUS + 1)], removed[2][2 * (MAX_RADIUS + 1)];
    bool is_used[MAX_VALUE + 1]; /* true for values that occur in the block */
};

/* A tile of outputs. `middle` is the row whose windows are counted; the others are reached from there. */
struct tile {
    int columns, rows, middle;
    bytes output[TILE_ROWS], known[TILE_ROWS];     /* known: not 0 if the output is final */
    ushort counts[TILE_COLUMNS][MAX_VALUE + 1];    /* histograms of the windows of the middle row */
    int cursor[TILE_COLUMNS], below[TILE_COLUMNS]; /* outputs there, and the number of values less than these */

    /* The sweeps of one direction. */
    int unknown;                                /* rows up to the last unknown output */
    bytes lower, higher;                        /* not 0: a column's unknown outputs are below or above its thresholds */
    int begin[TILE_COLUMNS], end[TILE_COLUMNS]; /* values that sweeps of a column have looked for */
    bytes base;                                 /* the thresholds are base + 1 to base + THRESHOLDS */
    bytes smaller[2][THRESHOLDS];               /* low and high byte of the number of values less than each, in the middle row */
};

/* Fills a window with its values around `at`. */
static inline void fill_window(struct window *window, __global const uchar *at, const struct disc *disc)
{
    for (int i = 0; i < 2; i++)
        for (int v = 0; v <= MAX_VALUE; v++)
            window->added[i][v] = window->removed[i][v] = 0;
    for (int j = -disc->radius; j <= disc->radius; j++) {
        const int reach = disc->reach[abs(j)];
        for (int k = -reach; k <= reach; k++)
            window->added[k & 1][at[j * disc->pitch + k]]++;
    }
}

/* Stores the histogram of the window in `counts`, and in *cursor the value at index `rank` of the window's sorted values. The
 * search for it begins at the old *cursor. Returns the number of values less than it. */
static inline int find_value(const struct window *window, ushort *counts, int *cursor, int rank)
{
    ushort sum = 0;
    for (int v = 0; v <= MAX_VALUE; v++) {
        const ushort count = window->added[0][v] + window->added[1][v] - window->removed[0][v] - window->removed[1][v];
        counts[v] = count;
        sum += v < *cursor ? count : 0;
    }
    int below = sum, v = *cursor;
    while (below > rank)
        below -= counts[--v];
    for (; below + counts[v] <= rank; v++)
        below += counts[v];
    *cursor = v;
    return below;
}

/* Moves the disc around `at` by one value. `step` is the distance to the next value along the move, `line` across it. Tried and
 * lost: skipping pairs of equal values. The branch made this take 1.2 times as long. */
static inline void move_disc(struct window *window, __global const uchar *at, const struct disc *disc, int step, int line)
{
    window->removed[0][at[-disc->radius * step]]++;
    window->added[0][at[(disc->radius + 1) * step]]++;
    for (int j = 1; j <= disc->radius; j++) {
        const int reach = disc->reach[j] * step;
        window->removed[0][at[-j * line - reach]]++;
        window->added[0][at[-j * line + reach + step]]++;
        window->removed[1][at[j * line - reach]]++;
        window->added[1][at[j * line + reach + step]]++;
    }
}

/* Chooses consecutive thresholds for the columns with unknown outputs, next to the values that previous sweeps looked for.
 * Skips values that do not occur in the block. */
static inline void choose_thresholds(struct tile *tile, const struct disc *disc)
{
    const int values = THRESHOLDS - 1; /* that a sweep can find */
    for (int x = 0; x < tile->columns; x++) {
        int first;
        if (LANE(tile->higher, x)) {
            for (first = max(tile->end[x], 0); first < MAX_VALUE && !disc->is_used[first]; first++)
                ;
            tile->end[x] = first + values;
        } else if (LANE(tile->lower, x)) {
            for (first = min(tile->begin[x], (int)MAX_VALUE); first > 0 && !disc->is_used[first - 1]; first--)
                ;
            tile->begin[x] = first -= values;
        } else {
            continue;
        }
        first = clamp(first, 1, MAX_VALUE - values);
        int smaller = tile->below[x];
        for (int v = tile->cursor[x]; v < first; v++)
            smaller += tile->counts[x][v];
        for (int v = tile->cursor[x] - 1; v >= first; v--)
            smaller -= tile->counts[x][v];
        LANE(tile->base, x) = first - 1;
        for (int i = 0; i < THRESHOLDS; i++) {
            LANE(tile->smaller[0][i], x) = smaller;
            LANE(tile->smaller[1][i], x) = smaller >> 8;
            smaller += tile->counts[x][first + i];
        }
    }
}

/* Returns a bit for each threshold: bit i is set if the value is at most base + i. */
static inline bytes compare(bytes value, bytes base)
{
    const bytes above = value > base ? value - base : (bytes)0; /* saturating subtraction */
    const bytes index = above < (bytes)THRESHOLDS ? above : (bytes)THRESHOLDS;
#ifdef SHUFFLE
    typedef char native __attribute__((vector_size(TILE_COLUMNS)));
    /* 0xff, 0xfe, 0xfc, ... 0x80, 0 in every 16 bytes, among which the instruction looks. */
    const ulong table[] __attribute__((aligned(64))) = {0x80c0e0f0f8fcfeff, 0, 0x80c0e0f0f8fcfeff, 0,
                                                        0x80c0e0f0f8fcfeff, 0, 0x80c0e0f0f8fcfeff, 0};
    return __builtin_astype(SHUFFLE(*(const native *)table, __builtin_astype(index, native)), bytes);
#else
    return (bytes)0xff << index & MASK(index < (bytes)THRESHOLDS);
#endif
}

/* Adds bits to two bits of equal weight. Returns the bits of twice the weight. */
static inline bytes add_bits(bytes *sum, bytes a, bytes b)
{
    const bytes differ = a ^ b, carry = (differ & *sum) | (~differ & a);
    *sum ^= differ;
    return carry;
}

/* Moves the windows of all columns up from the middle row (direction -1) or down (1), and counts the values below the
 * thresholds. A bit b of a value that leaves is inverted and added, 1 - b instead of -b. So each value that leaves adds 1 too
 * many, which `limit` allows for. An output is known if the rank is between the counts of two thresholds. */
static inline void sweep(struct tile *tile, __global const uchar *at, const struct disc *disc, int direction)
{
    const int rows = tile->unknown, *to_added = disc->added[direction > 0], *to_removed = disc->removed[direction > 0];
    const bytes base = tile->base;
    bytes count[COUNTER_BITS] = {0};
    for (int i = 0; i < COUNTER_BITS; i++)
        for (int t = 0; t < THRESHOLDS; t++)
            count[i] |= (tile->smaller[i / 8][t] >> (bytes)(i % 8) & (bytes)1) << (bytes)t;
    tile->lower = tile->higher = 0;
    tile->unknown = 0;
    for (int j = 1; j <= rows; j++, at += direction * disc->pitch) {
        bytes overflows[OVERFLOW_BITS] = {0};
        for (int k = 0; k < disc->moved; k += BATCH) {
            bytes carry[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; i++) {
                const bytes added = ((__global const struct unaligned_bytes *)(at + to_added[k + i]))->all;
                const bytes removed = ((__global const struct unaligned_bytes *)(at + to_removed[k + i]))->all;
                carry[i] = add_bits(&count[0], compare(added, base), ~compare(removed, base));
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                carry[i] = add_bits(&count[1], carry[2 * i], carry[2 * i + 1]);
#pragma unroll
            for (int i = 0; i < 2; i++)
                carry[i] = add_bits(&count[2], carry[2 * i], carry[2 * i + 1]);
            bytes overflow = add_bits(&count[3], carry[0], carry[1]);
#pragma unroll
            for (int i = 0; i < OVERFLOW_BITS; i++) {
                const bytes both = overflows[i] & overflow;
                overflows[i] ^= overflow;
                overflow = both;
            }
        }
        bytes carry = 0;
#pragma unroll
        for (int i = LOW_BITS; i < COUNTER_BITS; i++)
            carry = add_bits(&count[i], i < LOW_BITS + OVERFLOW_BITS ? overflows[i - LOW_BITS] : (bytes)0, carry);

        /* Bits of the thresholds that the output is not below, then their number. */
        const int limit = disc->rank + j * disc->moved;
        bytes passed = 0xff;
#pragma unroll
        for (int i = 0; i < COUNTER_BITS; i++)
            passed = limit >> i & 1 ? passed | ~count[i] : passed & ~count[i];
        passed -= passed >> (bytes)1 & (bytes)0x55;
        passed = (passed & (bytes)0x33) + (passed >> (bytes)2 & (bytes)0x33);
        passed = (passed + (passed >> (bytes)4)) & (bytes)0x0f;

        const bytes lower = MASK(passed == (bytes)0) & MASK(base != (bytes)0);
        const bytes higher = MASK(passed == (bytes)THRESHOLDS) & MASK(base != (bytes)(MAX_VALUE - THRESHOLDS));
        const bytes found = ~(lower | higher);
        const int row = tile->middle + direction * j;
        const bytes unknown = ~(found | tile->known[row]);
        tile->lower |= unknown & lower;
        tile->higher |= unknown & higher;
        tile->output[row] = (tile->output[row] & ~found) | ((base + passed) & found);
        tile->known[row] |= found;
        for (int i = 0; i < TILE_COLUMNS / 8; i++)
            if (((ulong *)&unknown)[i])
                tile->unknown = j;
    }
}

/* Returns the number of columns with unknown outputs. */
static inline int count_unknown(const struct tile *tile)
{
    int count = 0;
    for (int x = 0; x < TILE_COLUMNS; x++)
        count += LANE(tile->lower, x) || LANE(tile->higher, x);
    return count;
}

/* Moves the window of column x up (direction -1) or down (1) from the middle row, value by value. */
static inline void finish_column(struct tile *tile, __global const uchar *at, const struct disc *disc, int x, int direction)
{
    const int step = direction * disc->pitch;
    struct window window;
    ushort counts[MAX_VALUE + 1];
    int cursor = tile->cursor[x];
    for (int v = 0; v <= MAX_VALUE; v++) {
        window.added[0][v] = tile->counts[x][v];
        window.added[1][v] = window.removed[0][v] = window.removed[1][v] = 0;
    }
    for (int j = 1; j <= tile->unknown; j++) {
        move_disc(&window, at + x + (j - 1) * step, disc, step, 1);
        find_value(&window, counts, &cursor, disc->rank);
        LANE(tile->output[tile->middle + direction * j], x) = cursor;
    }
}

/* Filters a tile. `at` is the value of its first column in the middle row, `window` the window there. `above` is the row of
 * outputs above the tile, or NULL. It shows whether outputs rise or fall; thresholds around the middle row's output, without
 * that, took 1.1 times as long. */
static inline void rank_tile(struct tile *tile, struct window *window, __global const uchar *at, const struct disc *disc,
                             __global const uchar *above)
{
    bytes columns = 0;
    for (int x = 0; x < tile->columns; x++)
        LANE(columns, x) = 0xff;
    for (int j = 0; j < tile->rows; j++)
        tile->known[j] = ~columns;
    /* Count the windows of the middle row. `window` ends as the first one of the next tile. */
    int cursor = tile->cursor[0];
    for (int x = 0; x < tile->columns; x++) {
        tile->below[x] = find_value(window, tile->counts[x], &cursor, disc->rank);
        tile->cursor[x] = LANE(tile->output[tile->middle], x) = cursor;
        move_disc(window, at + x, disc, 1, disc->pitch);
    }
    for (int direction = -1; direction <= 1; direction += 2) {
        for (int x = 0; x < tile->columns; x++) {
            const int change = above ? direction * (tile->cursor[x] - above[x]) : 0;
            tile->begin[x] = tile->end[x] = tile->cursor[x] + clamp(change / 2, -3, 3) - 3;
        }
        tile->lower = 0;
        tile->higher = columns;
        tile->unknown = direction < 0 ? tile->middle : tile->rows - 1 - tile->middle;
        while (count_unknown(tile) > FEW_COLUMNS) {
            choose_thresholds(tile, disc);
            sweep(tile, at, disc, direction);
        }
        for (int x = 0; x < tile->columns; x++)
            if (LANE(tile->lower, x) || LANE(tile->higher, x))
                finish_column(tile, at, disc, x, direction);
    }
}

/* An odd number of cache lines: rows at a distance of 1024 bytes share a few sets of a cache, and radius 127 takes 1.15 times
 * as long. */
static inline int block_pitch(int columns)
{
    return (columns + 63) / 64 * 64 | 64;
}

/* Sets the shape of the disc and its moves. */
static inline void set_disc(struct disc *disc, const struct block *block, __global const float *reach)
{
    const int radius = block->radius, pitch = block->pitch;
    disc->radius = radius;
    disc->rank = block->rank;
    disc->pitch = pitch;
    for (int j = 0; j <= radius; j++)
        disc->reach[j] = (int)reach[j];
    disc->moved = (2 * radius + BATCH) / BATCH * BATCH;
    for (int k = 0; k < disc->moved; k++) {
        const int x = min(k - radius, radius), rise = k <= 2 * radius ? disc->reach[abs(x)] * pitch : 0,
                  next = k <= 2 * radius ? rise + pitch : 0;
        disc->added[0][k] = x - next;
        disc->removed[0][k] = x + rise;
        disc->added[1][k] = x + next;
        disc->removed[1][k] = x - rise;
    }
}

/* Filters a block of discs, tile by tile. block->scratch has the last row of the tiles above. */
static inline void rank_block(const struct block *block, DST_PARAMS, int channels, __global const float *reach)
{
    const int radius = block->radius, pitch = block->pitch;
    struct disc disc;
    struct tile tile = {.base = 0};
    set_disc(&disc, block, reach);
    for (int v = 0; v <= MAX_VALUE; v++)
        disc.is_used[v] = false;
    for (int j = 0; j < block->height + 2 * radius; j++)
        for (int i = 0; i < block->columns; i++)
            disc.is_used[block->values[j * pitch + i]] = true;
    for (int y = 0; y < block->height; y += TILE_ROWS) {
        tile.rows = min((int)TILE_ROWS, block->height - y);
        tile.middle = tile.rows / 2;
        __global const uchar *at = block->values + (radius + y + tile.middle) * pitch + radius;
        struct window window;
        fill_window(&window, at, &disc);
        for (int x = 0; x < block->width; x += TILE_COLUMNS) {
            __global uchar *last = block->scratch + x;
            tile.columns = min((int)TILE_COLUMNS, block->width - x);
            rank_tile(&tile, &window, at + x, &disc, y > 0 ? last : 0);
            for (int j = 0; j < tile.rows; j++)
                for (int i = 0; i < tile.columns; i++)
                    store_value(block, DST_ARGS, channels, x + i, y + j, LANE(tile.output[j], i));
            for (int i = 0; i < tile.columns; i++)
                last[i] = LANE(tile.output[tile.rows - 1], i);
        }
    }
}
