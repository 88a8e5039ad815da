/* Wavelet shrinkage of subbands for CPUs; shrink.h has the formula. shrink_energy sums energies along y, shrink adds these sums
 * along x and shrinks the coefficients.
 *
 * Grid: x counts vecs, y rows, z = subband * channels + channel. */
#include "shrink.h"

/* Stores the sums of the energies of NEIGHBOURS rows, for each plane of each subband. */
NOINLINE void shrink_energy_run(PLANES_IN(subbands), PLANES_OUT(dst), WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int channels = subbands_at.channels, subband = z / channels, channel = z % channels;
        const int re = PLANE_INDEX(2 * subband, channel, channels), im = PLANE_INDEX(2 * subband + 1, channel, channels);
        vec sum = 0.0f;
        for (int k = -(NEIGHBOURS / 2); k <= NEIGHBOURS / 2; k++) {
            const int row = reflect(y + k, subbands_at.height);
            sum += energy(load(PLANES_ARG(subbands), x, row, re), load(PLANES_ARG(subbands), x, row, im));
        }
        store(PLANES_ARG(dst), x, y, z, sum);
    }
}

__kernel void shrink_energy(PLANES_IN(subbands), PLANES_OUT(dst))
{
    shrink_energy_run(PLANES_ARG(subbands), PLANES_ARG(dst), WORK_ITEM_ARGS);
}

/* Returns the sums over NEIGHBOURS x NEIGHBOURS neighbours for the vec at x: adds NEIGHBOURS column sums of plane z. If `guide`
 * is not 0, each has `guide` times the column sum of plane `first` added. */
static inline vec sum_row(PLANES_IN(energies), int x, int y, int z, int first, float guide)
{
    const int x0 = x - NEIGHBOURS / 2;
    vec sum = 0.0f;
    if (x0 >= 0 && x0 + LANES + NEIGHBOURS - 1 <= energies_at.width) {
        __global const float *own_row = energies + offset(energies_at, x0, y, z);
        __global const float *first_row = energies + offset(energies_at, x0, y, first);
        if (guide > 0.0f)
            for (int k = 0; k < NEIGHBOURS; k++)
                sum += mad((vec)(guide), VLOAD(first_row + k), VLOAD(own_row + k));
        else
            for (int k = 0; k < NEIGHBOURS; k++)
                sum += VLOAD(own_row + k);
        return sum;
    }
    const struct padded_axis axis = {.n = energies_at.width, .length = energies_at.width}; /* no padding */
    float line[LANES + NEIGHBOURS], first_line[LANES + NEIGHBOURS];
    fill_axis(line, LANES + NEIGHBOURS - 1, PLANES_ARG(energies), axis, x0, y, z);
    if (guide > 0.0f) {
        fill_axis(first_line, LANES + NEIGHBOURS - 1, PLANES_ARG(energies), axis, x0, y, first);
        for (int i = 0; i < LANES + NEIGHBOURS - 1; i++)
            line[i] = mad(guide, first_line[i], line[i]);
    }
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
    const float mean_noise = 0.5f * own[SIGMA * pitch], guide = own[GUIDE * pitch];
    const vec share = own[SHARE * pitch], subtract = own[SUBTRACT * pitch], mean = own[MEAN * pitch];
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
        const vec energies_5x5 = sum_row(PLANES_ARG(energies), x, y, z, z - channel % image_channels, guide);
        const vec factor = shrink_factor(energies_5x5, mean, local_noise, subtract, sum_squares(re, im, share, parent_square));
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
