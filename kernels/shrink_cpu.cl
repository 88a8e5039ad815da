/* Wavelet shrinkage of subbands for CPUs; shrink.h has the formula. shrink_energy sums energies along y, shrink adds these sums
 * along x and shrinks the coefficients.
 *
 * Grid: x counts vecs, y rows, z = subband * channels + channel. */
#include "shrink.h"

/* Returns the sum of the energies of NEIGHBOURS rows around row y. `plane` is the real part, `plane` + `channels` the imaginary
 * part. Adds `guide` times the energies of planes first_plane and first_plane + channels, unless it is 0. */
static inline vec sum_column(PLANES_IN(subbands), int x, int y, int plane, int first_plane, int channels, float guide)
{
    vec sum = 0.0f;
    for (int k = -(NEIGHBOURS / 2); k <= NEIGHBOURS / 2; k++) {
        const int row = reflect(y + k, subbands_at.height);
        vec e = energy(load(PLANES_ARG(subbands), x, row, plane), load(PLANES_ARG(subbands), x, row, plane + channels));
        if (guide > 0.0f)
            e = mad((vec)(guide),
                    energy(load(PLANES_ARG(subbands), x, row, first_plane),
                           load(PLANES_ARG(subbands), x, row, first_plane + channels)),
                    e);
        sum += e;
    }
    return sum;
}

/* Stores the sums along y, for each plane of each subband. An image has image_channels planes. `noise` is as in shrink(). */
NOINLINE void shrink_energy_run(PLANES_IN(subbands), PLANES_OUT(dst), __global const float *noise, int noise_index, int pitch,
                                int image_channels, WORK_ITEM_PARAMS)
{
    const int channels = subbands_at.channels, subband = item_z / channels, channel = item_z % channels;
    const int plane = PLANE_INDEX(2 * subband, channel, channels), first_plane = plane - channel % image_channels;
    const float guide = noise[noise_index + GUIDE * pitch + channel];
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        store(PLANES_ARG(dst), x, y, z, sum_column(PLANES_ARG(subbands), x, y, plane, first_plane, channels, guide));
    }
}

__kernel void shrink_energy(PLANES_IN(subbands), PLANES_OUT(dst), __global const float *noise, int noise_index, int pitch,
                            int image_channels)
{
    shrink_energy_run(PLANES_ARG(subbands), PLANES_ARG(dst), noise, noise_index, pitch, image_channels, WORK_ITEM_ARGS);
}

/* Returns the sums over NEIGHBOURS x NEIGHBOURS neighbours for the vec at x: adds NEIGHBOURS column sums. */
static inline vec sum_row(PLANES_IN(energies), int x, int y, int z)
{
    const int x0 = x - NEIGHBOURS / 2;
    vec sum = 0.0f;
    if (x0 >= 0 && x0 + LANES + NEIGHBOURS - 1 <= energies_at.width) {
        __global const float *row = energies + offset(energies_at, x0, y, z);
        for (int k = 0; k < NEIGHBOURS; k++)
            sum += VLOAD(row + k);
        return sum;
    }
    const struct padded_axis axis = {.n = energies_at.width, .length = energies_at.width}; /* no padding */
    float line[LANES + NEIGHBOURS];
    fill_axis(line, LANES + NEIGHBOURS - 1, PLANES_ARG(energies), axis, x0, y, z);
    for (int k = 0; k < NEIGHBOURS; k++)
        sum += VLOAD(line + k);
    return sum;
}

/* Shrinks the subbands of a level. The rows of its noise (shrink.h) begin at noise_index. The coarsest level has no parents:
 * then has_parents is 0, and `parents` may be any planes, which are not read. An image has image_channels planes. If by_tone is
 * not 0, `tones` has one plane of noise factors per image; otherwise it is not read and the factor is 1. */
NOINLINE void shrink_run(PLANES_IN(subbands), PLANES_IN(parents), PLANES_IN(energies), PLANES_OUT(dst),
                         __global const float *noise, int noise_index, int pitch, int has_parents, int image_channels,
                         PLANES_IN(tones), int by_tone, WORK_ITEM_PARAMS)
{
    const int channels = subbands_at.channels, subband = item_z / channels, channel = item_z % channels;
    __global const float *own = noise + noise_index + channel;
    const float mean_noise = 0.5f * own[SIGMA * pitch];
    const vec share = own[SHARE * pitch], subtract = own[SUBTRACT * pitch];
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int re_plane = PLANE_INDEX(2 * subband, channel, channels);
        const int im_plane = PLANE_INDEX(2 * subband + 1, channel, channels);
        const vec re = load(PLANES_ARG(subbands), x, y, re_plane), im = load(PLANES_ARG(subbands), x, y, im_plane);
        vec parent_square = 0.0f;
        if (has_parents)
            parent_square = load_parent_squares(PLANES_ARG(parents), x, y, re_plane, im_plane);
        vec local_noise = mean_noise;
        if (by_tone)
            local_noise *= load(PLANES_ARG(tones), x, y, channel / image_channels);
        const vec factor = shrink_factor(sum_row(PLANES_ARG(energies), x, y, z), local_noise, subtract,
                                         sum_squares(re, im, share, parent_square));
        store(PLANES_ARG(dst), x, y, re_plane, factor * re);
        store(PLANES_ARG(dst), x, y, im_plane, factor * im);
    }
}

__kernel void shrink(PLANES_IN(subbands), PLANES_IN(parents), PLANES_IN(energies), PLANES_OUT(dst), __global const float *noise,
                     int noise_index, int pitch, int has_parents, int image_channels, PLANES_IN(tones), int by_tone)
{
    shrink_run(PLANES_ARG(subbands), PLANES_ARG(parents), PLANES_ARG(energies), PLANES_ARG(dst), noise, noise_index, pitch,
               has_parents, image_channels, PLANES_ARG(tones), by_tone, WORK_ITEM_ARGS);
}
