/* Shrinkage of subbands (shrink.h) for CPUs: a pass for the sums of energies along y, and a pass that sums them along x
 * and shrinks.
 *
 * Grid: x counts vecs, y rows, z the planes of each subband. */
#include "shrink.h"

/* Returns the sum of the energies of SIDE neighbours in a column, around row y. re and im are the planes of both parts. */
static inline vec sum_column(PLANES_IN(subbands), int x, int y, int re, int im)
{
    vec sum = 0.0f;
    for (int k = -(SIDE / 2); k <= SIDE / 2; k++) {
        const int row = reflect(y + k, subbands_at.height);
        sum += energy(load(PLANES_ARG(subbands), x, row, re), load(PLANES_ARG(subbands), x, row, im));
    }
    return sum;
}

/* Stores the sums along y, for each plane of each subband. */
NOINLINE void shrink_energy_run(PLANES_IN(subbands), PLANES_OUT(dst), WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int channels = subbands_at.channels, subband = z / channels, channel = z % channels;
        store(PLANES_ARG(dst), x, y, z,
              sum_column(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * subband, channel, channels),
                         PLANE_INDEX(2 * subband + 1, channel, channels)));
    }
}

__kernel void shrink_energy(PLANES_IN(subbands), PLANES_OUT(dst))
{
    shrink_energy_run(PLANES_ARG(subbands), PLANES_ARG(dst), WORK_ITEM_ARGS);
}

/* Returns the sums over 5x5 for the vec at x: each is the sum of the sums of SIDE columns. */
static inline vec sum_row(PLANES_IN(energies), int x, int y, int z)
{
    const int x0 = x - SIDE / 2;
    vec sum = 0.0f;
    if (x0 >= 0 && x0 + LANES + SIDE - 1 <= energies_at.width) {
        __global const float *row = energies + offset(energies_at, x0, y, z);
        for (int k = 0; k < SIDE; k++)
            sum += VLOAD(row + k);
        return sum;
    }
    const struct axis axis = {.n = energies_at.width, .length = energies_at.width};
    float line[LANES + SIDE];
    fill_axis(line, LANES + SIDE - 1, PLANES_ARG(energies), axis, x0, y, z);
    for (int k = 0; k < SIDE; k++)
        sum += VLOAD(line + k);
    return sum;
}

/* Loads the parents of a vec: half as many samples, each twice. */
static inline vec load_parents(PLANES_IN(parents), int x, int y, int z)
{
    return vload8(0, parents + offset(parents_at, x / 2, y / 2, z)).s0011223344556677;
}

/* Shrinks the subbands of a level. `sigma` has the image's noise of each channel (0 for alpha): on this level from
 * sigma[sigma_at] on, on the level of the parents from sigma[parent_sigma_at] on. For the coarsest level, which has no
 * parents, parent_sigma_at is -1; `parents` may be any planes and is not read. */
NOINLINE void shrink_run(PLANES_IN(subbands), PLANES_IN(parents), PLANES_IN(energies), PLANES_OUT(dst), __global const float *sigma,
                      int sigma_at, int parent_sigma_at, WORK_ITEM_PARAMS)
{
    const int channels = subbands_at.channels, subband = item_z / channels, channel = item_z % channels;
    const float noise = 0.5f * sigma[sigma_at + channel];
    const vec share = parent_share(noise, 0.5f * sigma[max(parent_sigma_at, 0) + channel]);
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int re_at = PLANE_INDEX(2 * subband, channel, channels), im_at = PLANE_INDEX(2 * subband + 1, channel, channels);
        const vec re = load(PLANES_ARG(subbands), x, y, re_at), im = load(PLANES_ARG(subbands), x, y, im_at);
        vec parent_square = 0.0f;
        if (parent_sigma_at >= 0) {
            const vec parent_re = load_parents(PLANES_ARG(parents), x, y, re_at);
            const vec parent_im = load_parents(PLANES_ARG(parents), x, y, im_at);
            parent_square = mad(parent_re, parent_re, parent_im * parent_im);
        }
        const vec factor =
            shrink_factor(sum_row(PLANES_ARG(energies), x, y, z), noise, sum_squares(re, im, share, parent_square));
        store(PLANES_ARG(dst), x, y, re_at, factor * re);
        store(PLANES_ARG(dst), x, y, im_at, factor * im);
    }
}

__kernel void shrink(PLANES_IN(subbands), PLANES_IN(parents), PLANES_IN(energies), PLANES_OUT(dst), __global const float *sigma,
                     int sigma_at, int parent_sigma_at)
{
    shrink_run(PLANES_ARG(subbands), PLANES_ARG(parents), PLANES_ARG(energies), PLANES_ARG(dst), sigma, sigma_at, parent_sigma_at,
               WORK_ITEM_ARGS);
}
