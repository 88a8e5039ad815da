/* Mean and variance of square windows. The cost does not depend on the size of the window. Buffers only.
 *
 * The sums of a window of w samples along y are joined from two runs (M. van Herk, "A fast algorithm for local minimum
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
 * A run is kept as mean and sum of squared distances to the mean, not as sums of v and v^2, whose difference loses all
 * digits of a small variance. Two runs of n samples are joined by
 *
 *     d = mean_b - mean_a
 *     mean = mean_a + d n_b / (n_a + n_b)
 *     squares = squares_a + squares_b + d^2 n_a n_b / (n_a + n_b)
 *
 * T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance: analysis and recommendations", The
 * American Statistician 37 (1983). Windows of one value have exactly this value as mean and squares of 0.
 *
 * moments() works along y and stores its result transposed. Its second call works along the other axis and transposes
 * back. A work-item has some neighbouring blocks of a vec of columns. It keeps the runs to the end of a block in `kept`,
 * where it has w rows.
 *
 * On CPUs 16 outputs of 16 columns are transposed in registers: storing column by column took twice the processor time.
 *
 * Grid of moments(): x counts vecs of columns, y work-items, z planes. */
#include "edge.h"

#if LANES == 16
#define VALUES 16
#else
#define VALUES 4
#endif

struct window {
    int radius;
    int first_block, blocks; /* the first block of the first work-item, and blocks of each */
    int first, count;        /* outputs: rows [first, first + count) of src */
    int samples; /* samples of the image in an element of src: 1, or a window's; then src has two layers, mean and squares */
};

/* A run of elements. */
struct run {
    vec mean, squares;
};

/* Joins run a of n_a elements with run b of n_b elements. */
INLINE struct run join(struct run a, int n_a, struct run b, int n_b, int samples)
{
    const float share = (float)n_b / (float)(n_a + n_b), weight = (float)(n_a * samples) * share;
    const vec d = b.mean - a.mean;
    return (struct run){mad(d, share, a.mean), mad(d * d, weight, a.squares + b.squares)};
}

/* Returns the element of row y, as a run. */
INLINE struct run load_element(PLANES_IN(src), int x, int y, int z, int samples)
{
    struct run element = {load_row(PLANES_ARG(src), x, y, z), 0.0f};
    if (samples > 1)
        element.squares = load_row(PLANES_ARG(src), x, y, PLANE_INDEX(1, z, src_at.channels));
    return element;
}

/* Stores the values of neighbouring columns from x to `end` - 1 in column i of dst. */
INLINE void store_column(vec v, PLANES_OUT(dst), int x, int end, int i, int z)
{
    const float *values = (const float *)&v;
    for (int k = 0; k < min(VALUES, end - x); k++)
        dst[offset(dst_at, i, x + k + dst_at.first_row, z)] = values[k];
}

#if LANES == 16
/* Transposes 16 vecs: each round interleaves vec i with vec i + 8. */
INLINE void transpose(const vec *from, vec *to)
{
    vec next[LANES];
#pragma unroll
    for (int i = 0; i < LANES; i++)
        to[i] = from[i];
#pragma unroll
    for (int round = 0; round < 4; round++) {
#pragma unroll
        for (int i = 0; i < LANES / 2; i++) {
            next[2 * i].even = to[i].lo;
            next[2 * i].odd = to[i + LANES / 2].lo;
            next[2 * i + 1].even = to[i].hi;
            next[2 * i + 1].odd = to[i + LANES / 2].hi;
        }
#pragma unroll
        for (int i = 0; i < LANES; i++)
            to[i] = next[i];
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
NOINLINE void moments_run(PLANES_IN(src), __global float *kept, const struct geometry kept_at, PLANES_OUT(dst),
                          const struct window by, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, z = item_z, w = 2 * by.radius + 1, second_layer = PLANE_INDEX(1, z, dst_at.channels);
        /* The window of output i begins at row i + shift. */
        const int shift = by.first - by.radius, block_end = by.first_block + (item_y + 1) * by.blocks;
        if (x >= src_at.width)
            return;
        __global float *kept_mean = kept + offset(kept_at, x, item_y * w, z);
        __global float *kept_squares = kept + offset(kept_at, x, item_y * w, PLANE_INDEX(1, z, kept_at.channels));
#if LANES == 16
        vec means[LANES], squares[LANES];
        int stored = max(0, (block_end - by.blocks) * w - shift); /* outputs below are in dst */
#endif
        for (int block = (block_end - by.blocks) * w; block < block_end * w; block += w) {
            /* The windows begin at rows `begin` to `last`. */
            const int begin = max(block, shift), last = min(block + w, shift + by.count) - 1;
            if (begin > last)
                break;
            /* Runs to the end of the block, from short to long. */
            struct run run = load_element(PLANES_ARG(src), x, block + w - 1, z, by.samples);
            for (int y = block + w - 1; y >= begin; y--) {
                if (y < block + w - 1)
                    run = join(run, block + w - 1 - y, load_element(PLANES_ARG(src), x, y, z, by.samples), 1, by.samples);
                VSTORE(run.mean, kept_mean + (y - block) * (size_t)kept_at.pitch);
                VSTORE(run.squares, kept_squares + (y - block) * (size_t)kept_at.pitch);
            }
            /* Runs from the start of the next block, of n elements, joined with these. */
            for (int n = 0; n <= last - block; n++) {
                if (n > 0) {
                    const struct run element = load_element(PLANES_ARG(src), x, block + w - 1 + n, z, by.samples);
                    run = n == 1 ? element : join(run, n - 1, element, 1, by.samples);
                }
                const int i = block + n - shift;
                if (i < 0)
                    continue;
                struct run whole = {VLOAD(kept_mean + n * (size_t)kept_at.pitch), VLOAD(kept_squares + n * (size_t)kept_at.pitch)};
                if (n > 0)
                    whole = join(whole, w - n, run, n, by.samples);
#if LANES == 16
                means[i % LANES] = whole.mean;
                squares[i % LANES] = whole.squares;
                if (i % LANES == LANES - 1 || i == by.count - 1 || block + n == block_end * w - 1) {
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

__kernel void moments(PLANES_IN(src), __global float *kept, const struct geometry kept_at, PLANES_OUT(dst), const struct window by)
{
    moments_run(PLANES_ARG(src), kept, kept_at, PLANES_ARG(dst), by, WORK_ITEM_ARGS);
}

/* Returns full scale for clipping: 0 if interpolation made alpha negative, which is invisible. */
static inline vec visible(vec full)
{
    return full > 0.0f ? full : (vec)(0.0f);
}

/* Formula of the threshold T from mean m and standard deviation s of the window. */
struct rule {
    float samples; /* of a window */
    float k;
    int is_niblack;      /* T = m - k s */
    float4 darkest;      /* else T = m + k (m - darkest) (s inverse_range - 1), by channel */
    float4 inverse_range;
};

static inline float channel_value(float4 v, int channel)
{
    return channel == 0 ? v.x : channel == 1 ? v.y : channel == 2 ? v.z : v.w;
}

/* Stores full scale if colour is above the window's threshold, else 0; always 0 if the window has NaN or infinities, or
 * samples so large that their squares overflow. Only the rows that `windows` has. */
__kernel void threshold_local(PLANES_IN(src), PLANES_IN(windows), PLANES_OUT(dst), const struct rule by, int channels, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + windows_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= windows_at.first_row + windows_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), full = visible(full_scale(PLANES_ARG(src), v, x, y, alpha));
    const vec mean = load(PLANES_ARG(windows), x, y, z);
    const vec deviation = sqrt(load(PLANES_ARG(windows), x, y, PLANE_INDEX(1, z, windows_at.channels)) / by.samples);
    const vec factor = mad(deviation, channel_value(by.inverse_range, z % channels), (vec)(-1.0f));
    const vec limit = by.is_niblack ? mad(-by.k, deviation, mean)
                                    : mad(by.k * (mean - channel_value(by.darkest, z % channels)), factor, mean);
    const vec value = ((v > limit) & (deviation - deviation == 0.0f)) ? full : (vec)(0.0f);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

/* Returns an integer that sorts like v and is not 0 if v is finite. */
static inline uint sort_key(float v)
{
    const int bits = as_int(v);
    return (uint)(bits ^ (bits >> 31 | (int)0x80000000));
}

/* Finds, for each channel, the largest squares of a window (words[2 z]) and the smallest finite sample (words[2 z + 1],
 * as the complement of its key, so that both are maxima and begin with 0), in the rows from range.x to range.y - 1. */
__kernel void find_extremes(PLANES_IN(src), PLANES_IN(windows), volatile __global uint *words, int2 range)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + range.x, z = get_global_id(2);
    if (x >= src_at.width || y >= range.y)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    const vec s = load(PLANES_ARG(windows), x, y, PLANE_INDEX(1, z, windows_at.channels));
    const float *values = (const float *)&v, *squares = (const float *)&s;
    uint largest = 0, darkest = 0;
    for (int i = 0; i < min(VALUES, src_at.width - x); i++) {
        if (is_finite(squares[i]))
            largest = max(largest, sort_key(squares[i]));
        if (is_finite(values[i]))
            darkest = max(darkest, ~sort_key(values[i]));
    }
    /* Atomics are rare, as most items find nothing larger. */
    if (largest > words[2 * z])
        atomic_max(words + 2 * z, largest);
    if (darkest > words[2 * z + 1])
        atomic_max(words + 2 * z + 1, darkest);
}
