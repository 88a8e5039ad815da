/* Point operations: an output depends on the pixel at the same position only. The file also has the histogram
 * kernels.
 *
 *     linear             factor * v + offset * full
 *     levels             full * (clamp((v - black * full) * gain, 0, full) / full)^exponent
 *     threshold          full if v > limit * full, else 0
 *     gray               sum of weights[c] * v[c]
 *     difference         v - background  [+ full, for a light background]
 *     quotient           gain * v * full(background) / background
 *     weighted_quotient  gain * v * weights / background
 *     combine            v - w * full or v * w, for a value w of a second picture
 *
 * full is full scale for a pixel's colour: 1, or its alpha, as colour is premultiplied. Alpha itself is copied.
 *
 * Grid: x counts vecs (texels in images), y rows, z planes. Order: as written, channels ascending. */
#include "planes.h"
#if LANES == 16
#define REAL_LANES 16 /* floats of a vec: its lanes, or the four channels of a texel */
#else
#define REAL_LANES 4
#endif
#include "power.h"

/* Computes factor * v + offset_fraction * full scale for all channels but alpha (-1: no alpha). z counts the planes of all
 * layers. With several layers offset_fraction must be 0, as full_scale() reads alpha of the first layer. */
__kernel void linear(PLANES_IN(src), PLANES_OUT(dst), float factor, float offset_fraction, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    vec value = factor * v;
    if (offset_fraction != 0)
        value = mad(offset_fraction, full_scale(PLANES_ARG(src), v, x, y, alpha), value);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

#if LANES == 16
#define TO_INTS  convert_int16
#define COUNT(p) ++*(p) /* each work-item has its own histogram */
#else
#define TO_INTS  convert_int4
#define COUNT(p) atomic_inc(p)
#endif

/* Maps colour `black` to 0 and black + 1 / gain to full scale, clips, and raises 0 ... 1 to the power of `exponent`.
 * NaN stays NaN. */
__kernel void levels(PLANES_IN(src), PLANES_OUT(dst), float4 black, float4 gain, float exponent, int channels, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), full = clip_limit(full_scale(PLANES_ARG(src), v, x, y, alpha));
    vec value = mad(-channel_value(black, z % channels), full, v) * channel_value(gain, z % channels);
    value = value < 0.0f ? (vec)(0.0f) : value;
    value = value > full ? full : value;
    if (exponent != 1.0f)
        value = value > 0.0f ? full * power(value / full, exponent) : value;
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

/* Stores full scale if colour is above `limit`, else 0. */
__kernel void threshold(PLANES_IN(src), PLANES_OUT(dst), float4 limit, int channels, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), full = clip_limit(full_scale(PLANES_ARG(src), v, x, y, alpha));
    const vec value = v > channel_value(limit, z % channels) * full ? full : (vec)(0.0f);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

/* Stores the weighted sum of the source's channels, followed by alpha if dst has alpha. Channels of weight 0 are skipped, as
 * they may be NaN or infinite. */
__kernel void gray(PLANES_IN(src), PLANES_OUT(dst), float4 weights)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
#ifdef IMAGES
    const float4 v = load(PLANES_ARG(src), x, y, z);
    float sum = 0.0f;
    for (int c = 0; c < src_at.channels; c++)
        if (component(weights, c) != 0.0f)
            sum = mad(component(weights, c), component(v, c), sum);
    store(PLANES_ARG(dst), x, y, z, (float4)(sum, dst_at.channels > 1 ? component(v, src_at.channels - 1) : 0.0f, 0.0f, 0.0f));
#else
    vec sum = 0.0f;
    if (z > 0)
        sum = load(PLANES_ARG(src), x, y, src_at.channels - 1);
    else
        for (int c = 0; c < src_at.channels; c++)
            if (component(weights, c) != 0.0f)
                sum = mad(component(weights, c), load(PLANES_ARG(src), x, y, c), sum);
    store(PLANES_ARG(dst), x, y, z, sum);
#endif
}

/* Subtracts a background of the same size. Adds full scale if the background is light. */
__kernel void difference(PLANES_IN(src), PLANES_IN(back), PLANES_OUT(dst), int light, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    vec value = v - load(PLANES_ARG(back), x, y, z);
    if (light)
        value += full_scale(PLANES_ARG(src), v, x, y, alpha);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

/* Computes gain * v / background; 0 if the background is 0. Colour and background are premultiplied, each by its own
 * alpha. */
__kernel void quotient(PLANES_IN(src), PLANES_IN(back), PLANES_OUT(dst), float gain, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), b = load(PLANES_ARG(back), x, y, z);
    const vec value = gain * v * full_scale(PLANES_ARG(back), b, x, y, alpha) / b;
    store(PLANES_ARG(dst), x, y, z, select_alpha(select(value, (vec)(0.0f), b == 0.0f), v, z, dst_at.channels, alpha));
}

/* Divides by a background that is the blur of an image with 0 for missing values. `weights` is the blur of an image that is full
 * scale for valid values and 0 for missing ones, so background / weights is the mean of the valid values. Weights that differ
 * from full scale only by rounding are set to full scale: without missing values the result is the same as of quotient(). */
__kernel void weighted_quotient(PLANES_IN(src), PLANES_IN(back), PLANES_IN(weights), PLANES_OUT(dst), float gain, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z), b = load(PLANES_ARG(back), x, y, z), w = load(PLANES_ARG(weights), x, y, z);
    const vec full = full_scale(PLANES_ARG(back), b, x, y, alpha);
    const vec weight = fabs(w - full) <= 1e-5f * fabs(full) ? full : w;
    const vec value = gain * v * weight / b;
    const vec dark = select(v, (vec)(0.0f), fabs(v) < INFINITY); /* a missing value stays missing */
    store(PLANES_ARG(dst), x, y, z, select_alpha(select(value, dark, b == 0.0f), v, z, dst_at.channels, alpha));
}

/* Subtracts a second picture, or multiplies by it. `other` has the rows of dst: `pitch` floats from row to row, a multiple of
 * LANES, and `plane_step` floats from plane to plane, or 0 if one plane serves all colours. */
__kernel void combine(PLANES_IN(src), PLANES_OUT(dst), __global const float *restrict other, int pitch, int plane_step,
                      int multiplies, int alpha)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const vec v = load(PLANES_ARG(src), x, y, z);
    const size_t at = (size_t)(y - dst_at.first_row) * pitch + x, step = plane_step;
#ifdef IMAGES
    const int last = alpha < 0 ? dst_at.channels - 1 : alpha - 1;
    const vec w = (vec)(other[at], other[at + min(1, last) * step], other[at + min(2, last) * step],
                        other[at + min(3, last) * step]);
#else
    const vec w = z == alpha ? (vec)(0.0f) : VLOAD(other + at + z * step);
#endif
    const vec value = multiplies ? v * w : mad(-w, full_scale(PLANES_ARG(src), v, x, y, alpha), v);
    store(PLANES_ARG(dst), x, y, z, select_alpha(value, v, z, dst_at.channels, alpha));
}

/* Layout of a histogram in 32-bit counters, the same as in src/filters/histogram.c:
 *
 *     0 ... bins - 1    bins in ascending order of values: half of them below 0 (integers) or below the origin (floats)
 *     bins              number of NaN and infinities
 *     bins + 1          number of ignored values: transparent pixels, and lanes beyond the picture
 *     bins + ORIGIN     the origin, a float (find_origin)
 *     bins + SPACING    the next histogram
 *
 * `bins` is FLOAT_BINS or INTEGER_BINS, by the type of the samples. */
#define LINEAR_BINS  (1 << 17) /* of integers, on either side of 0: up to 2 times full scale, 1/65535 each */
#define DISTANT_BINS (1 << 15) /* of larger integers, on either side */
#define INTEGER_BINS (2 * (LINEAR_BINS + DISTANT_BINS))
#define FLOAT_BINS   (1 << 19)
#define ORIGIN       8
#define SPACING      16
#define SHIFT        13 /* lowest bits of a float that its bin ignores */

/* Sets the origin of each histogram of a float picture: the median of 31 samples of the first row. Bins near the origin
 * are the narrowest, so they separate samples that differ little. A work-item has one histogram. */
__kernel void find_origin(PLANES_IN(src), __global uint *counters, int histograms, int alpha)
{
    const int colour = get_global_id(0);
    float sorted[31];
    int count = 0;
    if (colour >= histograms)
        return;
    for (int i = 0; i < 31; i++) {
        const int x = (2 * i + 1) * (long)src_at.width / 62, first = x / LANES * LANES;
#ifdef IMAGES
        const int plane = 0, lane = colour;
#else
        const int plane = colour, lane = x - first;
#endif
        vec v = load(PLANES_ARG(src), first, 0, plane);
        v /= full_scale(PLANES_ARG(src), v, first, 0, alpha);
        const float sample = ((const float *)&v)[lane];
        if (!(fabs(sample) < INFINITY))
            continue;
        /* Insert the sample into the sorted ones. */
        int at = count++;
        for (; at > 0 && sorted[at - 1] > sample; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = sample;
    }
    counters[colour * (FLOAT_BINS + SPACING) + FLOAT_BINS + ORIGIN] = as_uint(count > 0 ? sorted[count / 2] : 0.0f);
}

/* Returns true if any lane is true. */
static inline int any_lane(ints lanes)
{
#if REAL_LANES == 16
    const int8 pairs = lanes.lo | lanes.hi;
    const int4 rest = pairs.lo | pairs.hi;
#else
    const int4 rest = lanes;
#endif
    return (rest.x | rest.y | rest.z | rest.w) != 0;
}

/* Returns the bin of each value: of integers the sample, of floats (is_float) the distance from the origin.
 *
 *     integers below 2 times full scale     bins are 1/65535 wide
 *     larger integers (--range, sums)       the bits of |v| without the lowest SHIFT bits: these increase with |v|, as the
 *     and floats                            bits of positive floats sort like integers. A value midway between two
 *                                           bins goes to the lower one */
static inline ints find_bins(vec v, int is_float)
{
    const int bins = is_float ? FLOAT_BINS : INTEGER_BINS;
    const vec a = fabs(v);
    const ints is_distant = a >= 2.0f;
    ints bin = DISTANT_BINS + TO_INTS(mad(is_distant ? (vec)(0.0f) : v, 65535.0f, (vec)(LINEAR_BINS + 0.5f)));
    if (is_float || any_lane(is_distant)) {
        const int first = is_float ? 0 : 0x40000000 /* bits of 2.0f */, count = is_float ? bins / 2 : DISTANT_BINS;
        const ints rounding = v < 0.0f ? (ints)(1 << (SHIFT - 1)) : (ints)((1 << (SHIFT - 1)) - 1);
        const ints number = min((bits_of_float(a) - first + rounding) >> SHIFT, (ints)(count - 1));
        const ints distant = v < 0.0f ? count - 1 - number : bins - count + number;
        bin = is_float ? distant : is_distant ? distant : bin;
    }
    return a < INFINITY ? bin : (ints)(bins);
}

/* Counts the colours of rows [rows.x, rows.y), divided by alpha. `histograms` is 1, for all colours together, or the number of
 * colours. There are `copies` copies of these histograms, which the host adds up, to avoid conflicts between work-items. Grid:
 * x counts vecs, y rows; with LANES 16 a work-item counts every `copies`-th row. Work-items of row y use copy y % copies. */
__kernel void count_values(PLANES_IN(src), __global uint *counters, int2 rows, int copies, int histograms, int colours, int alpha,
                           int is_float)
{
    const size_t step_x = get_global_size(0) * LANES, step_y = get_global_size(1);
    const int bins = is_float ? FLOAT_BINS : INTEGER_BINS, spacing = bins + SPACING;
    __global uint *copy = counters + (size_t)(get_global_id(1) % copies) * histograms * spacing;
#ifdef IMAGES
    vec origin;
    for (int c = 0; c < 4; c++)
        ((float *)&origin)[c] = as_float(counters[(c < histograms ? c : 0) * spacing + bins + ORIGIN]);
#endif
    for (int y = rows.x + get_global_id(1); y < rows.y; y += step_y)
        for (int x = get_global_id(0) * LANES; x < src_at.width; x += step_x) {
#ifdef IMAGES
            const int planes = 1, valid = colours, next_plane = 0, next_value = histograms > 1 ? spacing : 0;
#else
            const int planes = colours, valid = min(LANES, src_at.width - x);
            const int next_plane = histograms > 1 ? spacing : 0, next_value = 0;
#endif
            /* The first `valid` floats of a vec are colours, the others lanes beyond the picture or channels that are not
             * colours. Float i of plane z belongs to the histogram at z * next_plane + i * next_value. */
            ints found[4];
            int *const bin = (int *)found;
            for (int z = 0; z < planes; z++) {
                vec v = load(PLANES_ARG(src), x, y, z);
                const vec full = full_scale(PLANES_ARG(src), v, x, y, alpha);
                if (alpha >= 0)
                    v /= full;
#ifndef IMAGES
                const float origin = as_float(counters[(histograms > 1 ? z : 0) * spacing + bins + ORIGIN]);
#endif
                found[z] = full > 0.0f ? find_bins(v - origin, is_float) : (ints)(bins + 1);
            }
            /* Count the others as ignored in the plane's first histogram: the offset of their own histogram is subtracted here
             * and added again below. */
            for (int i = valid; i < REAL_LANES; i++)
                for (int z = 0; z < planes; z++)
                    bin[z * REAL_LANES + i] = bins + 1 - i * next_value;
            /* Alternate between planes: neighbours in a plane often increment the same counter, and each such increment waits
             * for the previous one. */
#pragma unroll
            for (int i = 0; i < REAL_LANES; i++)
                for (int z = 0; z < planes; z++)
                    COUNT(copy + z * next_plane + i * next_value + bin[z * REAL_LANES + i]);
        }
}
