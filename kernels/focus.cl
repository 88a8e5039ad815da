/* Merges pictures of different focus (src/wavelet/focus.h): the weighted mean of their subbands, picture by picture.
 *
 *     focus_energy    brightness of a picture's coefficients, squared, plus the mean of all orientations; divided by the noise
 *     focus_add_finer adds the sum of 2x2 energies of the next finer level, of the same orientation
 *     focus_coarsen   mean of 2x2 energies and of all orientations, for the next coarser level
 *     focus_add       adds the coefficients with the weight exp(t), where t is the weighted mean of 3x3 of these energies
 *     focus_divide    divides the sums by the sums of weights
 *     focus_lowpass   adds a lowpass to the mean, with the weight of the coarsest level's energies
 *     focus_measure   adds up the 3x3 energies of all subbands of a level, at the coefficients of level 1
 *     focus_sharpest  keeps the largest of these sums, and the number of its picture
 *
 * exp(t) would overflow. So layer 2b of `weights` is the sum of exp(t - m) of subband b, and layer 2b + 1 is m, the largest t
 * so far. If a picture has a larger one, the sums are multiplied by exp(old m - new m). The first picture has weight 1.
 *
 * The weights of the mean are 1 5 1 along each axis. Beyond the border the nearest energy counts. Order of the sum: left +
 * right of a row, then 5 times the centre; rows in the same order. In focus_measure the weights are equal, row by row.
 *
 * Planes are buffers. Grid: x counts vecs, y rows, z subbands; 1 in focus_energy, focus_lowpass and the last two kernels. */
#include "planes.h"
#define REAL_LANES LANES
#include "power.h"

/* Computes the energies of a picture: factor * |scale * sum of the colours|^2 of each orientation, plus the mean of these, which
 * are added in the order of the orientations. scale^2 * factor is 1 / (3 * 49 * colours * variance of the noise); 49 is the sum of
 * the weights 1 5 1 over 3x3, so that weighted sums of energies are means. `scale` is a power of two, which keeps squares of huge
 * values finite. Energies are clipped, so that all sums of them are finite, too. */
__kernel void focus_energy(PLANES_IN(subbands), PLANES_OUT(dst), int colours, float scale, float factor)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row;
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    vec energies[6], sum = 0.0f;
    for (int b = 0; b < 6; b++) {
        vec re = 0.0f, im = 0.0f;
        for (int c = 0; c < colours; c++) {
            re += load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * b, c, subbands_at.channels));
            im += load(PLANES_ARG(subbands), x, y, PLANE_INDEX(2 * b + 1, c, subbands_at.channels));
        }
        re *= scale, im *= scale;
        energies[b] = fmin(factor * mad(re, re, im * im), (vec)(1e33f));
        sum += energies[b];
    }
    for (int b = 0; b < 6; b++)
        store(PLANES_ARG(dst), x, y, b, mad(1.0f / 6.0f, sum, energies[b]));
}

/* Returns `sum` plus the four energies of plane z of a level that are at position (x, y) of the next coarser level, row by row.
 * For rows that are not in memory, takes the nearest row in memory; only results that are not used depend on them. */
static inline float add_quad(float sum, PLANES_IN(e), int x, int y, int z)
{
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 2; column++)
            sum += e[offset(e_at, min(2 * x + column, e_at.width - 1),
                            clamp(2 * y + row, e_at.first_row, e_at.first_row + e_at.rows - 1), z)];
    return sum;
}

/* Adds the sum of 2x2 energies of the next finer level to dst, one lane after the other. */
__kernel void focus_add_finer(PLANES_IN(finer), PLANES_OUT(dst))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    float line[LANES];
    for (int i = 0; i < LANES; i++)
        line[i] = add_quad(0.0f, PLANES_ARG(finer), x + i, y, z);
    store(PLANES_ARG(dst), x, y, z, load(PLANES_ARG(dst), x, y, z) + VLOAD(line));
}

/* Stores the mean of 2x2 energies of all six orientations, for each orientation of dst. Sums orientation by orientation, each
 * in the order of add_quad(); one lane after the other. */
__kernel void focus_coarsen(PLANES_IN(energies), PLANES_OUT(dst))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    float line[LANES];
    for (int i = 0; i < LANES; i++) {
        line[i] = 0.0f;
        for (int b = 0; b < 6; b++)
            line[i] = add_quad(line[i], PLANES_ARG(energies), x + i, y, b);
    }
    store(PLANES_ARG(dst), x, y, z, (1.0f / 24.0f) * VLOAD(line));
}

/* Returns the sum of three neighbours along x, with weights 1 5 1. */
static inline vec sum_row(PLANES_IN(s), int x, int y, int z)
{
    __global const float *row = s + offset(s_at, 0, clamp(y, 0, s_at.height - 1), z);
    if (x > 0 && x + LANES < s_at.width)
        return mad(5.0f, VLOAD(row + x), VLOAD(row + x - 1) + VLOAD(row + x + 1));
    float line[LANES + 2];
    for (int i = 0; i < LANES + 2; i++)
        line[i] = row[clamp(x - 1 + i, 0, s_at.width - 1)];
    return mad(5.0f, VLOAD(line + 1), VLOAD(line) + VLOAD(line + 2));
}

/* Returns exp(v) for v <= 0, to 1e-5; exactly 1 for 0, and 0 below -87. */
static inline vec exponential(vec v)
{
    const vec y = fmax(v * 1.4426950f, (vec)(-126.0f)); /* v / ln 2 */
    return y > -126.0f ? power_of_two(y, (vec)(0.0f)) : (vec)(0.0f);
}

__kernel void focus_add(PLANES_IN(energies), PLANES_IN(subbands), PLANES_OUT(weights), PLANES_OUT(sums), int is_first)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + sums_at.first_row, z = get_global_id(2);
    if (x >= sums_at.width || y >= sums_at.first_row + sums_at.rows)
        return;
    const vec above_and_below = sum_row(PLANES_ARG(energies), x, y - 1, z) + sum_row(PLANES_ARG(energies), x, y + 1, z);
    const vec t = mad(5.0f, sum_row(PLANES_ARG(energies), x, y, z), above_and_below);
    vec old_factor = 0.0f, factor = 1.0f, most = t, weight = 0.0f;
    if (!is_first) {
        const vec before = load(PLANES_ARG(weights), x, y, 2 * z + 1);
        most = fmax(before, t);
        old_factor = exponential(before - most);
        factor = exponential(t - most);
        weight = load(PLANES_ARG(weights), x, y, 2 * z);
    }
    store(PLANES_ARG(weights), x, y, 2 * z, mad(old_factor, weight, factor));
    store(PLANES_ARG(weights), x, y, 2 * z + 1, most);
    for (int i = 0; i < 2 * sums_at.channels; i++) {
        const int plane = 2 * z * sums_at.channels + i;
        const vec added = factor * load(PLANES_ARG(subbands), x, y, plane);
        store(PLANES_ARG(sums), x, y, plane, is_first ? added : mad(old_factor, load(PLANES_ARG(sums), x, y, plane), added));
    }
}

__kernel void focus_divide(PLANES_IN(weights), PLANES_OUT(sums))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + sums_at.first_row, z = get_global_id(2);
    if (x >= sums_at.width || y >= sums_at.first_row + sums_at.rows)
        return;
    const vec factor = 1.0f / load(PLANES_ARG(weights), x, y, 2 * z);
    for (int i = 0; i < 2 * sums_at.channels; i++) {
        const int plane = 2 * z * sums_at.channels + i;
        store(PLANES_ARG(sums), x, y, plane, factor * load(PLANES_ARG(sums), x, y, plane));
    }
}

/* A coefficient of the coarsest level covers 2x2 pixels of the lowpass. t is the mean of all orientations, added in the order
 * orientations, rows, columns. `weights` has the planes of one subband. `mean` is the mean of the pictures so far. */
__kernel void focus_lowpass(PLANES_IN(energies), PLANES_IN(src), PLANES_OUT(weights), PLANES_OUT(mean), int is_first)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + mean_at.first_row;
    if (x >= mean_at.width || y >= mean_at.first_row + mean_at.rows)
        return;
    float line[LANES];
    for (int i = 0; i < LANES; i++) {
        float sum = 0.0f;
        for (int b = 0; b < 6; b++)
            for (int row = -1; row <= 1; row++)
                for (int column = -1; column <= 1; column++) {
                    const int at_x = clamp((x + i) / 2 + column, 0, energies_at.width - 1);
                    const int at_y = clamp(y / 2 + row, 0, energies_at.height - 1);
                    const float factor = (row == 0 ? 5.0f : 1.0f) * (column == 0 ? 5.0f : 1.0f);
                    sum = mad(factor, energies[offset(energies_at, at_x, at_y, b)], sum);
                }
        line[i] = sum * (1.0f / 6.0f);
    }
    const vec t = VLOAD(line);
    vec old_share = 0.0f, share = 1.0f, most = t, weight = 1.0f;
    if (!is_first) {
        const vec before = load(PLANES_ARG(weights), x, y, 1);
        most = fmax(before, t);
        old_share = exponential(before - most) * load(PLANES_ARG(weights), x, y, 0);
        share = exponential(t - most);
        weight = old_share + share;
        old_share /= weight;
        share /= weight;
    }
    store(PLANES_ARG(weights), x, y, 0, weight);
    store(PLANES_ARG(weights), x, y, 1, most);
    for (int c = 0; c < mean_at.channels; c++) {
        const vec added = share * load(PLANES_ARG(src), x, y, c);
        store(PLANES_ARG(mean), x, y, c, is_first ? added : mad(old_share, load(PLANES_ARG(mean), x, y, c), added));
    }
}

/* `shift` is the level - 1: a coefficient covers 2^shift x 2^shift coefficients of level 1. Lanes are computed one by one. */
__kernel void focus_measure(PLANES_IN(energies), PLANES_OUT(sums), int shift)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + sums_at.first_row;
    if (x >= sums_at.width || y >= sums_at.first_row + sums_at.rows)
        return;
    for (int i = 0; i < LANES && x + i < sums_at.width; i++) {
        float sum = shift > 0 ? sums[offset(sums_at, x + i, y, 0)] : 0.0f;
        for (int b = 0; b < 6; b++)
            for (int row = -1; row <= 1; row++)
                for (int column = -1; column <= 1; column++) {
                    const int at_y = clamp((y >> shift) + row, 0, energies_at.height - 1);
                    const int at_x = clamp(((x + i) >> shift) + column, 0, energies_at.width - 1);
                    sum += energies[offset(energies_at, at_x, at_y, b)];
                }
        sums[offset(sums_at, x + i, y, 0)] = sum;
    }
}

/* Plane 0 of `sharpest` is the largest sum, plane 1 the number of its picture. */
__kernel void focus_sharpest(PLANES_IN(sums), PLANES_OUT(sharpest), float picture)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + sharpest_at.first_row;
    if (x >= sharpest_at.width || y >= sharpest_at.first_row + sharpest_at.rows)
        return;
    const vec sum = load(PLANES_ARG(sums), x, y, 0);
    const vec most = picture > 0.0f ? load(PLANES_ARG(sharpest), x, y, 0) : (vec)(-1.0f);
    const vec before = picture > 0.0f ? load(PLANES_ARG(sharpest), x, y, 1) : (vec)(0.0f);
    store(PLANES_ARG(sharpest), x, y, 0, fmax(sum, most));
    store(PLANES_ARG(sharpest), x, y, 1, sum > most ? (vec)(picture) : before);
}
