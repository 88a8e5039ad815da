/* Mean and variance of square windows, at a cost that does not depend on the size of the window. Buffers only.
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
 * American Statistician 37 (1983). Windows of one value have exactly this mean and squares of 0.
 *
 * moments() works along y and stores its result transposed. Its second call works along the other axis and transposes
 * back.
 *
 * Grid of moments(): x counts vecs of columns, y blocks, z planes. */
#include "edge.h"

#if LANES == 16
#define VALUES 16
#else
#define VALUES 4
#endif

struct window {
    int radius, first_block;
    int first, count; /* outputs: rows [first, first + count) of src */
    int samples;      /* samples of the image in an element of src: 1, or a window's; then src has two layers, mean and squares */
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

/* Stores the runs of neighbouring columns from x on in column i of dst. */
INLINE void store_transposed(__global float *dst, const struct geometry dst_at, int x, int end, int i, int z, const struct run run)
{
    const float *mean = (const float *)&run.mean, *squares = (const float *)&run.squares;
    for (int k = 0; k < min(VALUES, end - x); k++) {
        const int row = x + k + dst_at.first_row;
        dst[offset(dst_at, i, row, z)] = mean[k];
        dst[offset(dst_at, i, row, PLANE_INDEX(1, z, dst_at.channels))] = squares[k];
    }
}

/* Loads what store_transposed() stored. */
INLINE struct run load_transposed(__global const float *dst, const struct geometry dst_at, int x, int end, int i, int z)
{
    struct run run = {0.0f, 0.0f};
    float *mean = (float *)&run.mean, *squares = (float *)&run.squares;
    for (int k = 0; k < min(VALUES, end - x); k++) {
        const int row = x + k + dst_at.first_row;
        mean[k] = dst[offset(dst_at, i, row, z)];
        squares[k] = dst[offset(dst_at, i, row, PLANE_INDEX(1, z, dst_at.channels))];
    }
    return run;
}

/* Computes the windows that begin in a block. */
NOINLINE void moments_run(PLANES_IN(src), PLANES_OUT(dst), const struct window by, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, z = item_z, w = 2 * by.radius + 1, block = (item_y + by.first_block) * w;
        if (x >= src_at.width)
            return;
        /* The windows begin at rows `begin` to `last`. The window of output i begins at row i + shift. */
        const int shift = by.first - by.radius;
        const int begin = max(block, shift), last = min(block + w, shift + by.count) - 1;
        /* Runs to the end of the block, from short to long. */
        struct run run = load_element(PLANES_ARG(src), x, block + w - 1, z, by.samples);
        for (int y = block + w - 1; y >= begin; y--) {
            if (y < block + w - 1)
                run = join(run, block + w - 1 - y, load_element(PLANES_ARG(src), x, y, z, by.samples), 1, by.samples);
            if (y <= last)
                store_transposed(dst, dst_at, x, src_at.width, y - shift, z, run);
        }
        /* Runs from the start of the next block. */
        for (int n = 1; n <= last - block; n++) {
            const struct run element = load_element(PLANES_ARG(src), x, block + w - 1 + n, z, by.samples);
            run = n == 1 ? element : join(run, n - 1, element, 1, by.samples);
            if (block + n >= begin) {
                const int i = block + n - shift;
                const struct run before = load_transposed(dst, dst_at, x, src_at.width, i, z);
                store_transposed(dst, dst_at, x, src_at.width, i, z, join(before, w - n, run, n, by.samples));
            }
        }
    }
}

__kernel void moments(PLANES_IN(src), PLANES_OUT(dst), const struct window by)
{
    moments_run(PLANES_ARG(src), PLANES_ARG(dst), by, WORK_ITEM_ARGS);
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

/* Stores full scale if colour is above the window's threshold, else 0. */
__kernel void threshold_local(PLANES_IN(src), PLANES_IN(windows), PLANES_OUT(dst), const struct rule by, int channels, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), full = visible(full_scale(PLANES_ARG(src), v, x, y, alpha));
    const vec mean = load(PLANES_ARG(windows), x, y, z);
    const vec deviation = sqrt(load(PLANES_ARG(windows), x, y, PLANE_INDEX(1, z, windows_at.channels)) / by.samples);
    const vec factor = mad(deviation, channel_value(by.inverse_range, z % channels), (vec)(-1.0f));
    const vec limit = by.is_niblack ? mad(-by.k, deviation, mean)
                                    : mad(by.k * (mean - channel_value(by.darkest, z % channels)), factor, mean);
    const vec value = v > limit ? full : (vec)(0.0f);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

/* Returns an integer that sorts like v; 0 for no number. */
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
