/* Rank filter of 8-bit values on CPU devices, in discs of any size.
 *
 * T. Huang, G. Yang, G. Tang, "A fast two-dimensional median filtering algorithm", IEEE TASSP 27 (1979): one histogram moves with
 * the window. 2 radius + 1 values enter on one side and leave on the other. Only one of TILE_ROWS rows is filtered in this way.
 * The outputs above and below it are mostly close to its own, so counting the values below a few thresholds finds them. Each
 * column of a tile has its own thresholds, around its output in the middle row. One instruction compares all columns:
 *
 *     column         0   1   2   3  ...  31
 *     middle row    52  52  54  53       90     histograms; thresholds 49 to 56, 49 to 56, 51 to 58, ...
 *     the row below 52  53  54  53       71     the last one is below its thresholds: again with other thresholds
 *
 * Columns whose outputs differ much are finished by moving their histograms up and down. This takes 1/4 (radius 15) to 1/8
 * (127) of the time of one histogram that moves through the whole picture; twice the time in the worst picture found, a steep
 * sawtooth at radius 2. */
#include "rank_blocks.h"

/* Values are stored as v - 128, since CPUs compare signed bytes in one instruction. */
#define SIGNED(v)   ((v) - 128)
#define UNSIGNED(v) ((v) + 128)

/* Outputs of a tile along x, a lane each, and along y; thresholds of a sweep; and the most columns that are finished value by
 * value, because that costs less than another sweep. Tried and lost: 16 rows (1.3 times as long at radius 127, 0.93 at 15), 6 and
 * 12 thresholds, 2 and 8 columns. */
enum { TILE_COLUMNS = 32, TILE_ROWS = 32, THRESHOLDS = 8, FEW_COLUMNS = 4 };

/* A byte or a number of each column of a tile. With char16 the loop of a sweep has twice as many instructions. */
typedef char bytes __attribute__((ext_vector_type(TILE_COLUMNS)));
typedef short numbers __attribute__((ext_vector_type(TILE_COLUMNS)));

/* The byte of column x. */
#define LANE(v, x) (((char *)&(v))[x])

struct __attribute__((packed)) unaligned_bytes {
    bytes all;
};

/* The histogram of a disc, added[v] - removed[v], with a cursor. In flat areas additions and removals change the same bin; in
 * two arrays they need not wait for each other. Two more for every other row gained 4%. */
struct window {
    ushort added[MAX_VALUE + 1], removed[MAX_VALUE + 1];
    int cursor; /* the value found last */
    int below;  /* number of values of the window that are less than it */
};

/* A disc, and the values that it moves over. reach[j]: columns on either side in row j, -radius <= j <= radius; column j covers
 * as many rows, which are rise[j] = reach[j] * pitch values apart. */
struct disc {
    int radius, rank, pitch;
    int reach[2 * MAX_RADIUS + 1], rise[2 * MAX_RADIUS + 1];
    bool is_used[MAX_VALUE + 1]; /* true for values that occur in the block */
};

/* A tile of outputs. `middle` is the row whose windows are counted; the others are reached from there. */
struct tile {
    int columns, rows, middle;
    int unknown[2];                                /* rows above and below the middle, up to the last unknown output */
    bytes output[TILE_ROWS], known[TILE_ROWS];     /* known: -1 if the output is final */
    bytes lower, higher;                           /* not 0: a column's unknown outputs are below or above its thresholds */
    ushort counts[TILE_COLUMNS][MAX_VALUE + 1];    /* histograms of the windows of the middle row */
    int cursor[TILE_COLUMNS], below[TILE_COLUMNS]; /* and their cursors, which are the outputs there */
    int begin[TILE_COLUMNS], end[TILE_COLUMNS];    /* values that sweeps of a column have looked for */
    char threshold[THRESHOLDS][TILE_COLUMNS] __attribute__((aligned(TILE_COLUMNS)));      /* of the next sweep */
    short count[THRESHOLDS][TILE_COLUMNS] __attribute__((aligned(2 * TILE_COLUMNS))); /* smaller values, in the middle row */
};

/* Returns the value at index `rank` of the window's sorted values, and moves the cursor to it. */
static inline int find_value(struct window *window, int rank)
{
    int v = window->cursor, below = window->below;
    while (below > rank) {
        v--;
        below -= (ushort)(window->added[v] - window->removed[v]);
    }
    for (int count; below + (count = (ushort)(window->added[v] - window->removed[v])) <= rank; v++)
        below += count;
    window->cursor = v;
    window->below = below;
    return v;
}

/* Moves the disc around `at` by one value. `step` is the distance to the next value along the move, `line` across it. Tried and
 * lost: skipping pairs of equal values. The branch made this take 1.2 times as long. */
static inline void move_disc(struct window *window, __global const char *at, const struct disc *disc, int step, int line)
{
    const int cursor = SIGNED(window->cursor), rows = 2 * disc->radius + 1;
    int below = window->below;
    at -= disc->radius * line;
    for (int j = 0; j < rows; j++, at += line) {
        const int r = at[-disc->reach[j] * step], a = at[(disc->reach[j] + 1) * step];
        window->removed[UNSIGNED(r)]++;
        window->added[UNSIGNED(a)]++;
        below += (a < cursor) - (r < cursor);
    }
    window->below = below;
}

/* Counts the windows of the middle row around `at`, from the tile's first column on. `window` is the first one, and is moved to
 * the first one of the next tile. */
static inline void count_middle(struct tile *tile, struct window *window, __global const char *at, const struct disc *disc)
{
    for (int x = 0; x < tile->columns; x++) {
        tile->cursor[x] = find_value(window, disc->rank);
        tile->below[x] = window->below;
        for (int v = 0; v <= MAX_VALUE; v++)
            tile->counts[x][v] = window->added[v] - window->removed[v];
        LANE(tile->output[tile->middle], x) = SIGNED(tile->cursor[x]);
        tile->begin[x] = tile->end[x] = tile->cursor[x] - THRESHOLDS / 2 + 1;
        move_disc(window, at + x, disc, 1, disc->pitch);
    }
}

/* Chooses consecutive thresholds for the columns with unknown outputs: next to the values that were looked for, without those
 * that do not occur. */
static inline void choose_thresholds(struct tile *tile, const struct disc *disc)
{
    for (int x = 0; x < tile->columns; x++) {
        int first;
        if (LANE(tile->higher, x)) {
            for (first = max(tile->end[x], 0); first < MAX_VALUE && !disc->is_used[first]; first++)
                ;
            tile->end[x] = first + THRESHOLDS - 1;
        } else if (LANE(tile->lower, x)) {
            for (first = min(tile->begin[x], (int)MAX_VALUE); first > 0 && !disc->is_used[first - 1]; first--)
                ;
            tile->begin[x] = first -= THRESHOLDS - 1;
        } else {
            continue;
        }
        first = clamp(first, 0, MAX_VALUE + 1 - THRESHOLDS);
        int count = tile->below[x];
        for (int v = tile->cursor[x]; v < first; v++)
            count += tile->counts[x][v];
        for (int v = tile->cursor[x] - 1; v >= first; v--)
            count -= tile->counts[x][v];
        for (int i = 0; i < THRESHOLDS; i++) {
            tile->threshold[i][x] = SIGNED(first + i);
            tile->count[i][x] = count - BIAS;
            count += tile->counts[x][first + i];
        }
    }
}

/* Moves the windows of all columns up from the middle row (direction -1) or down (1), and counts the values below the
 * thresholds: a comparison and an addition for TILE_COLUMNS values. An output is known if the rank is between two counts. */
static inline void sweep(struct tile *tile, __global const char *at, const struct disc *disc, int direction)
{
    const int pitch = direction * disc->pitch, rows = tile->unknown[direction > 0];
    bytes threshold[THRESHOLDS];
    numbers count[THRESHOLDS];
    for (int i = 0; i < THRESHOLDS; i++) {
        threshold[i] = *(bytes *)tile->threshold[i];
        count[i] = *(numbers *)tile->count[i];
    }
    tile->unknown[direction > 0] = 0;
    for (int j = 1; j <= rows; j++, at += pitch) {
        /* Changes of 127 columns of the disc fit into bytes. */
        for (int begin = 0; begin <= 2 * disc->radius; begin += 127) {
            const int end = min(begin + 127, 2 * disc->radius + 1);
            bytes change[THRESHOLDS];
#pragma unroll
            for (int i = 0; i < THRESHOLDS; i++)
                change[i] = 0;
            for (int k = begin; k < end; k++) {
                __global const char *column = at + k - disc->radius;
                const int rise = direction * disc->rise[k];
                const bytes added = ((__global const struct unaligned_bytes *)(column + rise + pitch))->all;
                const bytes removed = ((__global const struct unaligned_bytes *)(column - rise))->all;
#pragma unroll
                for (int i = 0; i < THRESHOLDS; i++) {
                    change[i] -= added < threshold[i]; /* true is -1 */
                    change[i] += removed < threshold[i];
                }
            }
#pragma unroll
            for (int i = 0; i < THRESHOLDS; i++)
                count[i] += __builtin_convertvector(change[i], numbers);
        }
        bytes passed = 0; /* minus the number of thresholds that the output is not below */
#pragma unroll
        for (int i = 0; i < THRESHOLDS; i++)
            passed += __builtin_convertvector(count[i] <= (numbers)(short)(disc->rank - BIAS), bytes);
        const bytes is_last = threshold[THRESHOLDS - 1] == (bytes)(char)SIGNED(MAX_VALUE);
        const bytes found = (passed < (bytes)0) & ((passed > (bytes)-THRESHOLDS) | is_last);
        const int row = tile->middle + direction * j;
        const bytes unknown = ~(found | tile->known[row]);
        tile->lower |= unknown & (passed == (bytes)0);
        tile->higher |= unknown & (passed < (bytes)0);
        tile->output[row] = (tile->output[row] & ~found) | ((threshold[0] - (bytes)1 - passed) & found);
        tile->known[row] |= found;
        const ulong4 any = as_ulong4(unknown);
        if (any.x | any.y | any.z | any.w)
            tile->unknown[direction > 0] = j;
    }
}

/* Returns the number of columns with unknown outputs. */
static inline int count_unknown(const struct tile *tile)
{
    int count = 0;
    for (int x = 0; x < tile->columns; x++)
        count += LANE(tile->lower, x) || LANE(tile->higher, x);
    return count;
}

/* Moves the window of column x up and down from the middle row, value by value. */
static inline void finish_column(struct tile *tile, __global const char *at, const struct disc *disc, int x)
{
    for (int direction = -1; direction <= 1; direction += 2) {
        __global const char *middle = at + x;
        struct window window = {.cursor = tile->cursor[x], .below = tile->below[x]};
        for (int v = 0; v <= MAX_VALUE; v++) {
            window.added[v] = tile->counts[x][v];
            window.removed[v] = 0;
        }
        for (int j = 1; j <= tile->unknown[direction > 0]; j++) {
            move_disc(&window, middle, disc, direction * disc->pitch, 1);
            middle += direction * disc->pitch;
            LANE(tile->output[tile->middle + direction * j], x) = SIGNED(find_value(&window, disc->rank));
        }
    }
}

/* Filters a tile. `at` is the value of its first column in the middle row, `window` the window there. */
static inline void rank_tile(struct tile *tile, struct window *window, __global const char *at, const struct disc *disc)
{
    for (int x = 0; x < TILE_COLUMNS; x++)
        LANE(tile->higher, x) = x < tile->columns ? -1 : 0;
    tile->lower = 0;
    for (int j = 0; j < tile->rows; j++)
        tile->known[j] = ~tile->higher; /* columns that the tile has not */
    tile->unknown[0] = tile->middle;
    tile->unknown[1] = tile->rows - 1 - tile->middle;
    count_middle(tile, window, at, disc);
    while (count_unknown(tile) > FEW_COLUMNS) {
        choose_thresholds(tile, disc);
        tile->lower = tile->higher = 0;
        sweep(tile, at, disc, -1);
        sweep(tile, at, disc, 1);
    }
    for (int x = 0; x < tile->columns; x++)
        if (LANE(tile->lower, x) || LANE(tile->higher, x))
            finish_column(tile, at, disc, x);
}

/* Filters a block of discs, tile by tile. Changes its values to signed ones. */
static inline void rank_block(const struct block *block, OUTPUT, int channels, __global const float *reach)
{
    const int radius = block->radius, pitch = block->pitch, values = (block->height + 2 * radius) * pitch;
    struct disc disc = {.radius = radius, .rank = block->rank, .pitch = pitch};
    struct tile tile;
    for (int j = -radius; j <= radius; j++) {
        disc.reach[radius + j] = (int)reach[abs(j)];
        disc.rise[radius + j] = (int)reach[abs(j)] * pitch;
    }
    for (int i = 0; i < THRESHOLDS * TILE_COLUMNS; i++)
        tile.threshold[i / TILE_COLUMNS][i % TILE_COLUMNS] = tile.count[i / TILE_COLUMNS][i % TILE_COLUMNS] = 0;
    for (int v = 0; v <= MAX_VALUE; v++)
        disc.is_used[v] = false;
    for (int i = 0; i < values; i++) {
        disc.is_used[block->values[i]] = true;
        block->values[i] ^= 0x80;
    }
    for (int y = 0; y < block->height; y += TILE_ROWS) {
        tile.rows = min((int)TILE_ROWS, block->height - y);
        tile.middle = tile.rows / 2;
        __global const char *at = (__global const char *)block->values + (radius + y + tile.middle) * pitch + radius;
        struct window window = {.cursor = 0, .below = 0};
        for (int v = 0; v <= MAX_VALUE; v++)
            window.added[v] = window.removed[v] = 0;
        for (int j = -radius; j <= radius; j++)
            for (int k = -disc.reach[radius + j]; k <= disc.reach[radius + j]; k++)
                window.added[UNSIGNED(at[j * pitch + k])]++;
        for (int x = 0; x < block->width; x += TILE_COLUMNS) {
            tile.columns = min((int)TILE_COLUMNS, block->width - x);
            rank_tile(&tile, &window, at + x, &disc);
            for (int j = 0; j < tile.rows; j++)
                for (int i = 0; i < tile.columns; i++)
                    store_value(block, OUTPUT_ARG, channels, x + i, y + j, UNSIGNED(LANE(tile.output[j], i)));
        }
    }
}
