/* Shrinkage of subbands (shrink.h) in one kernel, for GPUs.
 *
 * Step 1: each work-item loads a column of WINDOW rows and computes OUTPUTS vertical sums of NEIGHBOURS energies in registers.
 * Step 2: the sums are exchanged through local memory and summed along x, and the coefficients are shrunk.
 *
 * Neighbouring groups overlap by HALO vecs on both sides, which have no outputs and need only step 1.
 *
 *   -DGROUP=n    work-items of a group, along x
 *   -DOUTPUTS=n  output rows of a group */
#include "border_gpu.h"
#include "shrink.h"

#ifndef OUTPUTS
#define OUTPUTS 4
#endif
#define WINDOW (OUTPUTS + NEIGHBOURS - 1) /* rows that a group loads */

#ifdef IMAGES
#define HALO (NEIGHBOURS / 2)
#else
#define HALO 1
#endif

/* Returns the sums of NEIGHBOURS neighbours along x, around each sample of the vec at `at`. */
static inline vec sum_row(__local const vec *at)
{
#ifdef IMAGES
    return at[-2] + at[-1] + at[0] + at[1] + at[2];
#else
    const vec a = at[-1], b = at[0], c = at[1];
    return (vec)(a.zw, b.xy) + (vec)(a.w, b.xyz) + b + (vec)(b.yzw, c.x) + (vec)(b.zw, c.xy);
#endif
}

/* Returns the sum of the energies of NEIGHBOURS rows. */
static inline vec sum_rows(const vec *energies)
{
    vec sum = 0.0f;
#pragma unroll
    for (int k = 0; k < NEIGHBOURS; k++)
        sum += energies[k];
    return sum;
}

/* Shrinks the subbands of a level. The rows of its noise (shrink.h) begin at noise_index. The coarsest level has no parents:
 * then has_parents is 0, and `parents` may be any planes, which are not read. An image has image_channels planes. If by_tone is
 * not 0, `tones` has one plane of noise factors per image; otherwise it is not read and the factor is 1.
 *
 * Grid: x counts groups of columns, y planes of all subbands, z groups of rows. With rows outermost, all subbands of the last
 * rows are written last and are still in the cache for the next kernel, which reads them together. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
shrink(PLANES_IN(subbands), PLANES_IN(parents), PLANES_OUT(dst), __global const float *noise, int noise_index, int pitch,
       int has_parents, int image_channels, PLANES_IN(tones), int by_tone)
{
    __local vec sums[OUTPUTS][GROUP];
    __local int rows[WINDOW];
    const int item = get_local_id(0), z = get_group_id(1), channels = subbands_at.channels;
#ifdef IMAGES
    const int subband = z, channel = 0; /* a texel has all channels */
#else
    const int subband = z / channels, channel = z % channels;
#endif
    const int re_at = PLANE_INDEX(2 * subband, channel, channels), im_at = PLANE_INDEX(2 * subband + 1, channel, channels);
    __global const float *own = noise + noise_index + channel;
    const int first = (int)get_group_id(0) * (GROUP - 2 * HALO) - HALO; /* the tile's first vec */
    const int y0 = dst_at.first_row + get_group_id(2) * OUTPUTS;
    const struct padded_axis across = {subbands_at.width, 0, subbands_at.width};
    const int column = column_at(across, (first + item) * LANES);
    for (int j = item; j < WINDOW; j += GROUP) /* border rule, once for all columns */
        rows[j] = clamp_row(subbands_at, reflect(y0 - NEIGHBOURS / 2 + j, subbands_at.height));
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Sums the first plane's energies if they count. After the own column, when re and im are in registers, it took an H200
     * 1.13 times as long, also without a guide. */
    vec energies[WINDOW], re[OUTPUTS], im[OUTPUTS];
#ifdef IMAGES
    const vec guide = vload4(0, own + GUIDE * pitch);
#else
    const float guide = own[GUIDE * pitch];
    const int to_first = channel % image_channels;
    if (guide > 0.0f) {
#pragma unroll
        for (int j = 0; j < WINDOW; j++)
            energies[j] = energy(load(PLANES_ARG(subbands), column, rows[j], re_at - to_first),
                                 load(PLANES_ARG(subbands), column, rows[j], im_at - to_first));
#pragma unroll
        for (int r = 0; r < OUTPUTS; r++)
            sums[r][item] = sum_rows(energies + r);
    }
#endif
    /* Loads the work-item's column: energies of WINDOW rows, coefficients of the OUTPUTS rows in the middle. */
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        const int r = j - NEIGHBOURS / 2;
        const vec a = load(PLANES_ARG(subbands), column, rows[j], re_at);
        const vec b = load(PLANES_ARG(subbands), column, rows[j], im_at);
        energies[j] = energy(a, b);
        if (r >= 0 && r < OUTPUTS)
            re[r] = a, im[r] = b;
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++) {
        const vec sum = sum_rows(energies + r);
#ifdef IMAGES
        sums[r][item] = guide > 0.0f ? mad(guide, (vec)(sum.x), sum) : sum; /* 0 times NaN would be NaN */
#else
        sums[r][item] = guide > 0.0f ? mad((vec)(guide), sums[r][item], sum) : sum;
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    mirror_columns(sums[0], OUTPUTS, across, first * LANES);
#ifdef IMAGES
    const vec mean_noise = 0.5f * vload4(0, own + SIGMA * pitch), share = vload4(0, own + SHARE * pitch);
    const vec subtract = vload4(0, own + SUBTRACT * pitch), mean = vload4(0, own + MEAN * pitch);
#else
    const float mean_noise = 0.5f * own[SIGMA * pitch];
    const vec share = own[SHARE * pitch], subtract = own[SUBTRACT * pitch], mean = own[MEAN * pitch];
#endif
    /* Sums along x and shrinks. A work-item writes the outputs of tile_index(): in buffers in its own column, in images in
     * another one, whose coefficients are loaded again. Loading tones and parents before the barrier took 1.2 times as long on
     * an H200: their registers leave room for fewer groups. */
#pragma unroll
    for (int j = 0; j < OUTPUTS; j++) {
        const int2 index = tile_index(j * GROUP + item, OUTPUTS);
        const int at = index.x, r = index.y, x = (first + at) * LANES, y = y0 + r;
        if (at < HALO || at >= GROUP - HALO || x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            continue;
#ifdef IMAGES
        re[j] = load(PLANES_ARG(subbands), x, y, re_at), im[j] = load(PLANES_ARG(subbands), x, y, im_at);
#endif
        vec parent_square = 0.0f, local_noise = mean_noise;
        if (has_parents)
            parent_square = load_parent_squares(PLANES_ARG(parents), x, y, re_at, im_at);
        if (by_tone)
            local_noise *= load(PLANES_ARG(tones), x, y, channel / image_channels);
        const vec squares = sum_squares(re[j], im[j], share, parent_square);
        const vec factor = shrink_factor(sum_row(&sums[r][at]), mean, local_noise, subtract, squares);
        store(PLANES_ARG(dst), x, y, re_at, factor * re[j]);
        store(PLANES_ARG(dst), x, y, im_at, factor * im[j]);
    }
}
