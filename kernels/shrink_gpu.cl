/* Shrinkage of subbands (shrink.h) in one kernel, for GPUs. A work-item sums energies along y, for OUTPUTS rows, in
 * registers. The group passes the sums on through local memory, and each work-item sums along x and shrinks.
 * Neighbouring groups overlap by HALO vecs on both sides; the work-items there only sum along y.
 *
 *   -DGROUP=n    work-items of a group, along x
 *   -DOUTPUTS=n  output rows of a group */
#ifndef LANES
#define LANES 4
#endif
#include "border_gpu.h"
#include "shrink.h"

#ifndef OUTPUTS
#define OUTPUTS 4
#endif
#define WINDOW (OUTPUTS + SIDE - 1)

#ifdef IMAGES
#define HALO (SIDE / 2)
#else
#define HALO 1
#endif

/* Returns the sums of SIDE neighbours along x, for the vec at `at`. */
static inline vec sum_row(__local const vec *at)
{
#ifdef IMAGES
    return at[-2] + at[-1] + at[0] + at[1] + at[2];
#else
    const vec a = at[-1], b = at[0], c = at[1];
    return (vec)(a.zw, b.xy) + (vec)(a.w, b.xyz) + b + (vec)(b.yzw, c.x) + (vec)(b.zw, c.xy);
#endif
}

/* Loads the parents of a vec: half as many samples, each twice. */
static inline vec load_parents(PLANES_IN(parents), int x, int y, int z)
{
#ifdef IMAGES
    return load(PLANES_ARG(parents), x / 2, y / 2, z);
#else
    const float2 v = *(__global const float2 *)(parents + offset(parents_at, x / 2, y / 2, z));
    return v.xxyy;
#endif
}

/* Returns the squared magnitudes of a vec's parents; 0 on the coarsest level, for which `parents` is the level itself. */
static inline vec load_above(PLANES_IN(parents), int has_parent, int x, int y, int re, int im)
{
    if (!has_parent)
        return 0.0f;
    const vec a = load_parents(PLANES_ARG(parents), x, y, re), b = load_parents(PLANES_ARG(parents), x, y, im);
    return mad(a, a, b * b);
}

/* Shrinks. The grid's y counts the planes of each subband: all subbands of some rows are written together, and the last
 * ones are still in the cache for the next kernel. `sigma` has the image's noise of each channel from `sigma_at` on (0
 * for alpha), and the noise of the parents from `above_at` on (-1: no parents). */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
shrink(PLANES_IN(subbands), PLANES_IN(parents), PLANES_OUT(dst), __global const float *sigma, int sigma_at, int above_at)
{
    __local vec sums[OUTPUTS][GROUP];
    __local int rows[WINDOW];
    const int item = get_local_id(0), z = get_group_id(1), channels = subbands_at.channels;
#ifdef IMAGES
    const int subband = z, channel = 0; /* all channels of a texel */
#else
    const int subband = z / channels, channel = z % channels;
#endif
    const int re_at = PLANE_INDEX(2 * subband, channel, channels), im_at = PLANE_INDEX(2 * subband + 1, channel, channels);
    const int first = (int)get_group_id(0) * (GROUP - 2 * HALO) - HALO; /* the tile's first vec */
    const int y0 = dst_at.first_row + get_group_id(2) * OUTPUTS;
    const struct axis across = {subbands_at.width, 0, subbands_at.width};
    const int column = column_at(across, (first + item) * VEC_WIDTH);
    for (int j = item; j < WINDOW; j += GROUP) /* border rule, once for all columns */
        rows[j] = clamp_row(subbands_at, reflect(y0 - SIDE / 2 + j, subbands_at.height));
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Loads the work-item's column: energies of WINDOW rows, coefficients of the OUTPUTS rows in the middle. */
    vec energies[WINDOW], re[OUTPUTS], im[OUTPUTS], above2[OUTPUTS];
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        const int r = j - SIDE / 2;
        const vec a = load(PLANES_ARG(subbands), column, rows[j], re_at);
        const vec b = load(PLANES_ARG(subbands), column, rows[j], im_at);
        energies[j] = energy(a, b);
        if (r >= 0 && r < OUTPUTS)
            re[r] = a, im[r] = b;
    }
    /* Loads everything else before the barrier. */
#pragma unroll
    for (int j = 0; j < OUTPUTS; j++) {
        const int2 place = tile_index(j * GROUP + item, OUTPUTS);
        const int x = clamp((first + place.x) * VEC_WIDTH, 0, (dst_at.width - 1) / VEC_WIDTH * VEC_WIDTH);
        const int y = min(y0 + place.y, dst_at.first_row + dst_at.rows - 1);
#ifdef IMAGES
        re[j] = load(PLANES_ARG(subbands), x, y, re_at), im[j] = load(PLANES_ARG(subbands), x, y, im_at);
#endif
        above2[j] = load_above(PLANES_ARG(parents), above_at >= 0, x, y, re_at, im_at);
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        vec sum = 0.0f;
#pragma unroll
        for (int k = 0; k < SIDE; k++)
            sum += energies[r + k];
        sums[r][item] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    mirror_columns(sums[0], OUTPUTS, across, first * VEC_WIDTH);
#ifdef IMAGES
    const vec noise = 0.5f * vload4(0, sigma + sigma_at), above = 0.5f * vload4(0, sigma + max(above_at, 0));
#else
    const float noise = 0.5f * sigma[sigma_at + channel], above = 0.5f * sigma[max(above_at, 0) + channel];
#endif
    /* Sums along x and shrinks. */
    const vec share = parent_share(noise, above);
#pragma unroll
    for (int j = 0; j < OUTPUTS; j++) {
        const int2 place = tile_index(j * GROUP + item, OUTPUTS);
        const int at = place.x, r = place.y, x = (first + at) * VEC_WIDTH, y = y0 + r;
        if (at < HALO || at >= GROUP - HALO || x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            continue;
        const vec factor = shrink_factor(sum_row(&sums[r][at]), noise, sum_squares(re[j], im[j], share, above2[j]));
        store(PLANES_ARG(dst), x, y, re_at, factor * re[j]);
        store(PLANES_ARG(dst), x, y, im_at, factor * im[j]);
    }
}
