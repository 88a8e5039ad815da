/* Wiener filter in sliding 8x8 blocks of the cosine transform (DCT-II): the second step of --denoise with quality=high.
 * L. Yaroslavsky, K. Egiazarian, J. Astola, "Transform domain image restoration methods", SPIE 4304 (2001).
 *
 *     z' = z g,  g = p^2 / (p^2 + v),  pixel = sum of w z' / sum of w,  w = 1 / sum of g^2
 *
 *     z      coefficient of a block of the noisy picture
 *     p      the same coefficient of the pilot, which is the picture after the first step
 *     v      0.8 times the variance of the noise at the coefficient's frequency (noise_set of wavelet/noise.c) and at the
 *            brightness of the pilot's block (tones.h)
 *     w      weight of a block, larger if less noise is left
 *
 * The mean of a block is copied from the pilot, which has no coarse noise any more. The result is a mixture of the filtered
 * picture and the pilot. docs/denoising.md says how 0.8 and the pilot's share were found.
 *
 *     blocks begin at every second column and row:   |-- block i ----|
 *                                                      |-- block i + 1 |
 *                                                        |-- block i + 2 |        16 blocks cover a pixel
 *
 *     cosine_blocks   a work-item transforms, filters and stores one block
 *     cosine_mean     a work-item adds up the blocks that cover 2x2 pixels, which are the same 16 for all four
 *
 * A float8 is a row of a block of one channel.
 *
 * Order of sums: a transform as written in to_cosines(); a block's brightness and g^2 down each column, then sum_lanes() over
 * the columns; the blocks of a pixel row by row, from left to right. */
#define LANES 1
#include "padded_axis.h"
#include "tones.h"

#define SIDE 8 /* rows and columns of a block */
#define STEP 2 /* pixels from block to block */

#ifdef IMAGES
#define CHANNELS 4
#else
#define CHANNELS 1
#endif

/* cos(k pi / 16) / 2, and sqrt(1/8). */
#define K1 0.49039264f
#define K2 0.46193977f
#define K3 0.41573481f
#define K5 0.27778512f
#define K6 0.19134172f
#define K7 0.09754516f
#define R8 0.35355339f

/* Transforms the columns of a block, in place: orthonormal DCT-II. */
static inline void to_cosines(float8 v[SIDE])
{
    const float8 s0 = v[0] + v[7], s1 = v[1] + v[6], s2 = v[2] + v[5], s3 = v[3] + v[4];
    const float8 d0 = v[0] - v[7], d1 = v[1] - v[6], d2 = v[2] - v[5], d3 = v[3] - v[4];
    const float8 a = s0 + s3, b = s1 + s2, c = s0 - s3, d = s1 - s2;
    v[0] = R8 * (a + b), v[4] = R8 * (a - b);
    v[2] = K2 * c + K6 * d, v[6] = K6 * c - K2 * d;
    v[1] = K1 * d0 + K3 * d1 + K5 * d2 + K7 * d3;
    v[3] = K3 * d0 - K7 * d1 - K1 * d2 - K5 * d3;
    v[5] = K5 * d0 - K1 * d1 + K7 * d2 + K3 * d3;
    v[7] = K7 * d0 - K5 * d1 + K3 * d2 - K1 * d3;
}

/* Transforms the columns back, in place: DCT-III, the transposed matrix. */
static inline void from_cosines(float8 v[SIDE])
{
    const float8 a = R8 * (v[0] + v[4]), b = R8 * (v[0] - v[4]);
    const float8 c = K2 * v[2] + K6 * v[6], d = K6 * v[2] - K2 * v[6];
    const float8 s0 = a + c, s3 = a - c, s1 = b + d, s2 = b - d;
    const float8 d0 = K1 * v[1] + K3 * v[3] + K5 * v[5] + K7 * v[7];
    const float8 d1 = K3 * v[1] - K7 * v[3] - K1 * v[5] - K5 * v[7];
    const float8 d2 = K5 * v[1] - K1 * v[3] + K7 * v[5] + K3 * v[7];
    const float8 d3 = K7 * v[1] - K5 * v[3] + K3 * v[5] - K1 * v[7];
    v[0] = s0 + d0, v[7] = s0 - d0;
    v[1] = s1 + d1, v[6] = s1 - d1;
    v[2] = s2 + d2, v[5] = s2 - d2;
    v[3] = s3 + d3, v[4] = s3 - d3;
}

/* Transposes a block in place. Swaps the off-diagonal parts of 4x4, then of 2x2, then single elements. */
static inline void transpose(float8 v[SIDE])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float8 a = v[i], b = v[i + 4];
        v[i] = (float8)(a.lo, b.lo), v[i + 4] = (float8)(a.hi, b.hi);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int i = k / 2 * 4 + k % 2;
        const float8 a = v[i], b = v[i + 2];
        v[i] = (float8)(a.s01, b.s01, a.s45, b.s45), v[i + 2] = (float8)(a.s23, b.s23, a.s67, b.s67);
    }
#pragma unroll
    for (int i = 0; i < SIDE; i += 2) {
        const float8 a = v[i], b = v[i + 1];
        v[i] = (float8)(a.s0, b.s0, a.s2, b.s2, a.s4, b.s4, a.s6, b.s6);
        v[i + 1] = (float8)(a.s1, b.s1, a.s3, b.s3, a.s5, b.s5, a.s7, b.s7);
    }
}

/* Loads row y of a block that begins at column x, mirrored at the border. c selects a channel of the texels of IMAGES. */
static inline float8 load_row(PLANES_IN(src), int x, int y, int z, int c)
{
    const int row = reflect(y, src_at.height);
    float line[SIDE];
#ifndef IMAGES
    if (x >= 0 && x + SIDE <= src_at.width)
        return vload8(0, src + offset(src_at, x, row, z));
#endif
    for (int i = 0; i < SIDE; i++) {
        const vec p = load(PLANES_ARG(src), reflect(x + i, src_at.width), row, z);
#ifdef IMAGES
        line[i] = component(p, c);
#else
        line[i] = p;
#endif
    }
    return (float8)(line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7]);
}

static inline void load_block(PLANES_IN(src), int x, int y, int z, int c, float8 v[SIDE])
{
#pragma unroll 1
    for (int k = 0; k < SIDE; k++)
        v[k] = load_row(PLANES_ARG(src), x, y + k, z, c);
}

/* Returns the index of the 64 values of block (i, j). Each plane has `plane_rows` rows of blocks. A row has `pitch` floats:
 *
 *     | 64 values of block 0 | of block 1 | ... | of block columns - 1 | a weight for each block | */
static inline size_t block_at(int pitch, int plane_rows, int i, int j, int plane)
{
    return ((size_t)plane * plane_rows + j) * pitch + (size_t)i * SIDE * SIDE;
}

/* Returns the index of the weight of block (i, j). */
static inline size_t weight_at(int columns, int pitch, int plane_rows, int i, int j, int plane)
{
    return ((size_t)plane * plane_rows + j) * pitch + (size_t)columns * SIDE * SIDE + i;
}

/* Returns the factor of the variance of the noise for the brightness of the pilot's block at (x, y): the mean of two of its
 * rows. Plane z belongs to image z / channels, whose first plane is the brightness. */
static inline float variance_factor(PLANES_IN(pilot), int x, int y, int z, int channels, __global const float *curves)
{
    const int image = z / channels;
    const float8 sum = load_row(PLANES_ARG(pilot), x, y + 2, image * channels, 0) +
                       load_row(PLANES_ARG(pilot), x, y + 5, image * channels, 0);
    const float tone = max(mad(sum_lanes(sum), TONES * ONE_BRIGHTNESS / (2 * SIDE), -0.5f), 0.0f);
    /* tone_factor(), with the differences of the curve in the lanes of a vector. */
    const float8 shares = min(max(tone - (float8)(-1, 0, 1, 2, 3, 4, 5, 6), 0.0f), 1.0f);
    const float factor = sum_lanes(shares * vload8(image, curves));
    return factor * factor;
}

/* Filters blocks and stores them with their weights. Block (i, j) begins at x = STEP i - (SIDE - STEP), y = first + STEP j.
 * `variances` has v of each plane for the frequencies 0 to 7; coefficient (a, b) has the variance of frequency max(a, b).
 * Planes without noise are skipped. `tone_channels` is the number of planes of an image, each image having one curve; 0 if the
 * noise does not depend on brightness.
 * Grid: x and y count blocks, z planes. */
__kernel void cosine_blocks(PLANES_IN(noisy), PLANES_IN(pilot), __global float *blocks, int columns, int rows, int pitch,
                            int plane_rows, int first, __global const float *variances, int tone_channels,
                            __global const float *curves)
{
    const int i = get_global_id(0), j = get_global_id(1), z = get_global_id(2);
    if (i >= columns || j >= rows)
        return;
    const int x = STEP * i - (SIDE - STEP), y = first + STEP * j;
    const float tone = tone_channels > 0 ? variance_factor(PLANES_ARG(pilot), x, y, z, tone_channels, curves) : 1.0f;
    for (int c = 0; c < CHANNELS; c++) {
        const int plane = z * CHANNELS + c;
        float8 v[SIDE], p[SIDE], sum = 0.0f;
        const float8 variance = tone * vload8(plane, variances);
        if (variance.s7 == 0.0f)
            continue; /* cosine_mean copies the pilot */
        load_block(PLANES_ARG(noisy), x, y, z, c, v);
        load_block(PLANES_ARG(pilot), x, y, z, c, p);
        to_cosines(v), transpose(v), to_cosines(v);
        to_cosines(p), transpose(p), to_cosines(p);
        const float variance_at[SIDE] = {variance.s0, variance.s1, variance.s2, variance.s3,
                                         variance.s4, variance.s5, variance.s6, variance.s7};
#pragma unroll
        for (int k = 0; k < SIDE; k++) {
            const float8 row = (int8)(0, 1, 2, 3, 4, 5, 6, 7) < (int8)(k) ? (float8)(variance_at[k]) : variance;
            const float8 power = min(p[k] * p[k], 1e37f); /* not infinite */
            float8 gain = power / (power + row);
            v[k] *= gain;
            if (k == 0) /* the mean is the pilot's */
                gain.s0 = 1.0f, v[k].s0 = p[k].s0;
            sum += gain * gain;
        }
        from_cosines(v), transpose(v), from_cosines(v);
        const float weight = 1.0f / sum_lanes(sum);
        __global float *to = blocks + block_at(pitch, plane_rows, i, j, plane);
        for (int k = 0; k < SIDE; k++)
            vstore8(weight * v[k], k, to);
        blocks[weight_at(columns, pitch, plane_rows, i, j, plane)] = weight;
    }
}

/* Returns `mean` with a share of the pilot's value; in planes without noise (variance 0) the pilot's value. */
static inline float mix_pilot(float mean, float pilot, float share, float variance)
{
    return variance == 0.0f ? pilot : mean + share * (pilot - mean);
}

/* Stores the weighted mean of the blocks that cover each pixel of rows [range.x, range.y), mixed with `share` of the pilot.
 * Grid: x counts pairs of columns, y pairs of rows, z planes. */
__kernel void cosine_mean(__global const float *blocks, int columns, int pitch, int plane_rows, int first, PLANES_IN(pilot),
                          PLANES_OUT(dst), int2 range, __global const float *variances, float share)
{
    const int i = get_global_id(0), j = get_global_id(1), z = get_global_id(2);
    const int x = STEP * i, y = first + SIDE - STEP + STEP * j;
    if (x >= dst_at.width || y >= range.y)
        return;
    float mean[CHANNELS][STEP * STEP];
    for (int c = 0; c < CHANNELS; c++) {
        const int plane = z * CHANNELS + c;
        float weights = 0.0f;
        float2 above = 0.0f, below = 0.0f;
        const bool has_blocks = variances[plane * SIDE + SIDE - 1] != 0.0f; /* cosine_blocks skips planes without noise */
        for (int b = 0; has_blocks && b < SIDE / STEP; b++)
            for (int a = 0; a < SIDE / STEP; a++) {
                /* Position, in block (i + a, j + b), of the top left of the four pixels. */
                __global const float *at = blocks + block_at(pitch, plane_rows, i + a, j + b, plane) +
                                           (SIDE - STEP - STEP * b) * SIDE + SIDE - STEP - STEP * a;
                above += vload2(0, at);
                below += vload2(0, at + SIDE);
                weights += blocks[weight_at(columns, pitch, plane_rows, i + a, j + b, plane)];
            }
        const float scale = weights > 0.0f ? 1.0f / weights : 0.0f;
        mean[c][0] = above.x * scale, mean[c][1] = above.y * scale;
        mean[c][2] = below.x * scale, mean[c][3] = below.y * scale;
    }
    for (int k = 0; k < STEP * STEP; k++) {
        const int x1 = x + k % STEP, y1 = y + k / STEP;
        if (x1 >= dst_at.width || y1 < range.x || y1 >= range.y)
            continue;
        const vec value = load(PLANES_ARG(pilot), x1, y1, z);
#ifdef IMAGES
        store(PLANES_ARG(dst), x1, y1, z,
              (float4)(mix_pilot(mean[0][k], value.x, share, variances[SIDE - 1]),
                       mix_pilot(mean[1][k], value.y, share, variances[2 * SIDE - 1]),
                       mix_pilot(mean[2][k], value.z, share, variances[3 * SIDE - 1]),
                       mix_pilot(mean[3][k], value.w, share, variances[4 * SIDE - 1])));
#else
        store(PLANES_ARG(dst), x1, y1, z, mix_pilot(mean[0][k], value, share, variances[z * SIDE + SIDE - 1]));
#endif
    }
}
