/* Mean and variance of square windows. The cost does not depend on the size of the window. Buffers only.
 *
 * The sums of a window of w samples along y are merged from two runs (M. van Herk, "A fast algorithm for local minimum
 * and maximum filters on rectangular and octagonal kernels", Pattern Recognition Letters 13 (1992), for sums instead of
 * minima). The axis is divided into blocks of w samples:
 *
 *     blocks     |. . . . . . .|. . . . . . .|
 *     window           |=============|             w samples, wherever it begins
 *     runs             |<------|---->|             to the end of its block; from the start of the next one
 *
 * Each sample is added twice and never subtracted, so rounding does not accumulate and NaN reaches only the windows that
 * contain it. Blocks are multiples of w from row 0 of the image, so slices change no bit.
 *
 * A run is represented by its mean and its sum of squared distances to the mean. The difference of the sums of v^2 and v
 * would lose all digits of a small variance. Runs a and b of n_a and n_b samples are merged by
 *
 *     d = mean_b - mean_a
 *     mean = mean_a + d n_b / (n_a + n_b)
 *     squares = squares_a + squares_b + d^2 n_a n_b / (n_a + n_b)
 *
 * T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance: analysis and recommendations", The
 * American Statistician 37 (1983). In a window of equal values the mean is exactly that value, and the squares are 0.
 *
 * moments() works along y and stores its result transposed. Its second call works along the other axis and transposes
 * back. A work-item has some neighbouring blocks of a vec of columns. It stores the runs to the end of a block in its w rows
 * of `suffixes`; on CPUs in one row, the mean and the squares of a run next to each other, because w rows are in as many pages.
 *
 * On CPUs 16 outputs of 16 columns are transposed in registers: storing column by column took twice the processor time.
 *
 * Grid of moments(): x counts vecs of columns, y work-items, z planes. */
#include "edge.h"

struct window {
    int radius;
    int first_block, blocks; /* the first block of the first work-item, and blocks of each */
    int first, count;        /* outputs: rows [first, first + count) of src */
    int samples;             /* number of the image's samples in an element of src. 1 in the first call; in the second call an
                              * element is a window of the first call, and src has two layers: mean and squares */
    int calls;               /* on CPUs, calls of moments_run() for the width of src */
};

/* The moments of a run of elements, which are pixels or, in the second call, windows of the first call. */
struct moments {
    vec mean, squares;
};

/* Merges run a of n_a elements with run b of n_b elements. */
INLINE struct moments merge_runs(struct moments a, int n_a, struct moments b, int n_b, int samples)
{
    const float share = (float)n_b / (float)(n_a + n_b), weight = (float)(n_a * samples) * share;
    const vec d = b.mean - a.mean;
    return (struct moments){mad(d, share, a.mean), mad(d * d, weight, a.squares + b.squares)};
}

/* Returns the element of row y, as a run. */
INLINE struct moments load_element(PLANES_IN(src), int x, int y, int z, int samples)
{
    struct moments element = {load_edge_y(PLANES_ARG(src), x, y, z), 0.0f};
    if (samples > 1)
        element.squares = load_edge_y(PLANES_ARG(src), x, y, PLANE_INDEX(1, z, src_at.channels));
    return element;
}

/* Stores the values of neighbouring columns from x to `end` - 1 in column i of dst. */
INLINE void store_column(vec v, PLANES_OUT(dst), int x, int end, int i, int z)
{
    const float *values = (const float *)&v;
    for (int k = 0; k < min(LANES, end - x); k++)
        dst[offset(dst_at, i, x + k + dst_at.first_row, z)] = values[k];
}

#if LANES == 16
/* Rows to prefetch ahead. Each row is in a page of its own, which the hardware does not prefetch. Without prefetching 35
 * megapixels took 1.4 times as long. 4 and 16 rows are slower. */
#define AHEAD 8

/* Prefetches one row of the tile that follows the tile of output i. 16 calls prefetch all. */
INLINE void prefetch_tile(PLANES_OUT(dst), int x, int end, int i, int z)
{
    const int row = min(x + i % LANES, end - 1) + dst_at.first_row, column = (i / LANES + 1) * LANES;
    PREFETCH(dst + offset(dst_at, min(column, dst_at.width - 1), row, z));
}

/* Each 4 lanes: the even or odd lanes of a, then those lanes of b. _SQUARES: the same choice of groups of 4 lanes. */
#define EVEN_LANES(a, b)   __builtin_shufflevector(a, b, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30)
#define ODD_LANES(a, b)    __builtin_shufflevector(a, b, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31)
#define EVEN_SQUARES(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define ODD_SQUARES(a, b)  __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)

/* Transposes 16 vecs: first 4 x 4 squares, which are in 128 bits of 4 vecs, and then the squares. clang 15 makes 96 shuffles of
 * it with AVX2, and 64 with AVX-512. Tried and lost: four rounds that interleave vec i with vec i + 8, 256 shuffles and spills
 * with AVX2, 104 shuffles with AVX-512. */
INLINE void transpose(const vec *from, vec *to)
{
    vec squares[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i += 4) {
        const vec a = EVEN_LANES(from[i], from[i + 1]), b = ODD_LANES(from[i], from[i + 1]),
                  c = EVEN_LANES(from[i + 2], from[i + 3]), d = ODD_LANES(from[i + 2], from[i + 3]);
        squares[i] = EVEN_LANES(a, c);
        squares[i + 1] = EVEN_LANES(b, d);
        squares[i + 2] = ODD_LANES(a, c);
        squares[i + 3] = ODD_LANES(b, d);
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const vec a = EVEN_SQUARES(squares[i], squares[i + 4]), b = ODD_SQUARES(squares[i], squares[i + 4]),
                  c = EVEN_SQUARES(squares[i + 8], squares[i + 12]), d = ODD_SQUARES(squares[i + 8], squares[i + 12]);
        to[i] = EVEN_SQUARES(a, c);
        to[i + 4] = EVEN_SQUARES(b, d);
        to[i + 8] = ODD_SQUARES(a, c);
        to[i + 12] = ODD_SQUARES(b, d);
    }
}

/* Stores outputs `begin` to `end` - 1, of 16 that begin at a multiple of 16, transposed. */
INLINE void store_tile(const vec *tile, int begin, int end, PLANES_OUT(dst), int x, int columns, int z)
{
    vec rows[LANES];
    if (end - begin < LANES) {
        for (int i = begin; i < end; i++)
            store_column(tile[i % LANES], PLANES_ARG(dst), x, columns, i, z);
        return;
    }
    transpose(tile, rows);
    for (int k = 0; k < min(LANES, columns - x); k++)
        store(PLANES_ARG(dst), begin, x + k + dst_at.first_row, z, rows[k]);
}
#endif

/* Computes the windows that begin in some blocks. */
NOINLINE void moments_run(PLANES_IN(src), PLANES_OUT(suffixes), PLANES_OUT(dst), const struct window window, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, z = item_z, w = 2 * window.radius + 1, second_layer = PLANE_INDEX(1, z, dst_at.channels);
        /* The window of output i begins at row i + shift. */
        const int shift = window.first - window.radius;
        const int first_block = window.first_block + item_y * window.blocks, block_end = first_block + window.blocks;
        if (x >= src_at.width)
            return;
#if LANES == 16
        /* All items of a call use one row of `suffixes`, which stays in a cache. */
        __global float *suffix_mean =
            suffixes + offset(suffixes_at, 0, item_y * window.calls + first_item / ITEMS_PER_CALL, z);
        __global float *suffix_squares = suffix_mean + LANES;
        const size_t next_suffix = 2 * LANES;
        vec means[LANES], squares[LANES];
        int stored = max(0, first_block * w - shift); /* outputs below are in dst */
#else
        __global float *suffix_mean = suffixes + offset(suffixes_at, x, item_y * w, z);
        __global float *suffix_squares = suffixes + offset(suffixes_at, x, item_y * w, PLANE_INDEX(1, z, suffixes_at.channels));
        const size_t next_suffix = suffixes_at.pitch;
#endif
        for (int block = first_block * w; block < block_end * w; block += w) {
            /* The windows begin at rows `begin` to `last`. */
            const int begin = max(block, shift), last = min(block + w, shift + window.count) - 1;
            if (begin > last)
                break;
            /* Runs to the end of the block, from short to long. */
            struct moments suffix = load_element(PLANES_ARG(src), x, block + w - 1, z, window.samples), prefix;
            for (int y = block + w - 1; y >= begin; y--) {
                if (y < block + w - 1)
                    suffix = merge_runs(suffix, block + w - 1 - y, load_element(PLANES_ARG(src), x, y, z, window.samples), 1,
                                        window.samples);
                VSTORE(suffix.mean, suffix_mean + (y - block) * next_suffix);
                VSTORE(suffix.squares, suffix_squares + (y - block) * next_suffix);
            }
            /* Runs of n elements from the start of the next block, merged with the suffixes. Runs begin there
             * also if the first outputs are missing. */
            for (int n = 0; n <= last - block; n++) {
#if LANES == 16
                const int ahead = clamp_row(src_at, block + w - 1 + n + AHEAD);
                PREFETCH(src + offset(src_at, x, ahead, z));
                if (window.samples > 1)
                    PREFETCH(src + offset(src_at, x, ahead, PLANE_INDEX(1, z, src_at.channels)));
#endif
                if (n > 0) {
                    const struct moments element = load_element(PLANES_ARG(src), x, block + w - 1 + n, z, window.samples);
                    prefix = n == 1 ? element : merge_runs(prefix, n - 1, element, 1, window.samples);
                }
                const int i = block + n - shift;
                if (i < 0)
                    continue;
                struct moments whole = {VLOAD(suffix_mean + n * next_suffix), VLOAD(suffix_squares + n * next_suffix)};
                if (n > 0)
                    whole = merge_runs(whole, w - n, prefix, n, window.samples);
#if LANES == 16
                prefetch_tile(PLANES_ARG(dst), x, src_at.width, i, z);
                prefetch_tile(PLANES_ARG(dst), x, src_at.width, i, second_layer);
                means[i % LANES] = whole.mean;
                squares[i % LANES] = whole.squares;
                if (i % LANES == LANES - 1 || i == window.count - 1 || block + n == block_end * w - 1) {
                    store_tile(means, stored, i + 1, PLANES_ARG(dst), x, src_at.width, z);
                    store_tile(squares, stored, i + 1, PLANES_ARG(dst), x, src_at.width, second_layer);
                    stored = i + 1;
                }
#else
                store_column(whole.mean, PLANES_ARG(dst), x, src_at.width, i, z);
                store_column(whole.squares, PLANES_ARG(dst), x, src_at.width, i, second_layer);
#endif
            }
        }
    }
}

__kernel void moments(PLANES_IN(src), PLANES_OUT(suffixes), PLANES_OUT(dst), const struct window window)
{
    moments_run(PLANES_ARG(src), PLANES_ARG(suffixes), PLANES_ARG(dst), window, WORK_ITEM_ARGS);
}

/* The formula for the threshold T, given the mean m and the standard deviation s of a window. Formulas and sources:
 * src/stages/threshold.c. darkest is 0 for sauvola, the darkest sample for wolf; inverse_range is 1 / R. */
struct rule {
    float samples; /* of a window */
    float k;
    int is_niblack;      /* T = m - k s */
    float4 darkest;      /* else T = m + k (m - darkest) (s inverse_range - 1), by channel */
    float4 inverse_range;
};

/* Stores full scale if colour is above the window's threshold, else 0; always 0 if the window has NaN or infinities, or
 * samples so large that their squares overflow. Only the rows that `windows` has. */
__kernel void threshold_local(PLANES_IN(src), PLANES_IN(windows), PLANES_OUT(dst), const struct rule rule, int channels,
                              int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + windows_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= windows_at.first_row + windows_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), full = clip_limit(full_scale(PLANES_ARG(src), v, x, y, alpha));
    const vec mean = load(PLANES_ARG(windows), x, y, z);
    const vec deviation = sqrt(load(PLANES_ARG(windows), x, y, PLANE_INDEX(1, z, windows_at.channels)) / rule.samples);
    const vec factor = mad(deviation, channel_value(rule.inverse_range, z % channels), (vec)(-1.0f));
    const vec limit = rule.is_niblack ? mad(-rule.k, deviation, mean)
                                    : mad(rule.k * (mean - channel_value(rule.darkest, z % channels)), factor, mean);
    const vec value = ((v > limit) & (deviation - deviation == 0.0f)) ? full : (vec)(0.0f);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

/* Returns an integer that sorts like v and is not 0 if v is finite. */
static inline uint sort_key(float v)
{
    const int bits = as_int(v);
    return (uint)(bits ^ (bits >> 31 | (int)0x80000000));
}

/* Finds, for each channel z in rows [range.x, range.y), the largest finite squares of a window and the smallest finite
 * sample, and counts samples that are NaN or infinite. extremes[3 z] has the key of the squares, extremes[3 z + 1] the
 * complement of the sample's key: both are maxima. extremes[3 z + 2] is the count. All begin with 0. */
__kernel void find_extremes(PLANES_IN(src), PLANES_IN(windows), volatile __global uint *extremes, int2 range)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + range.x, z = get_global_id(2);
    if (x >= src_at.width || y >= range.y)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    const vec s = load(PLANES_ARG(windows), x, y, PLANE_INDEX(1, z, windows_at.channels));
    const float *values = (const float *)&v, *squares = (const float *)&s;
    uint largest = 0, darkest = 0, missing = 0;
    for (int i = 0; i < min(LANES, src_at.width - x); i++) {
        if (is_finite(squares[i]))
            largest = max(largest, sort_key(squares[i]));
        if (is_finite(values[i]))
            darkest = max(darkest, ~sort_key(values[i]));
        else
            missing++;
    }
    /* Atomic operations are rare, as most work-items find nothing larger. */
    if (largest > extremes[3 * z])
        atomic_max(extremes + 3 * z, largest);
    if (darkest > extremes[3 * z + 1])
        atomic_max(extremes + 3 * z + 1, darkest);
    if (missing > 0)
        atomic_add(extremes + 3 * z + 2, missing);
}
