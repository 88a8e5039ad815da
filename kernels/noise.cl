/* Statistics for the noise model (src/wavelet/noise.h): for each plane and level of a pyramid, quantiles of the local energy
 *
 *     e(x, y) = mean of |z|^2 / 2 over the live coefficients z among 7x7 neighbours
 *
 * at evenly spaced positions (sampling_positions.h). Live coefficients are neither clipped nor constant, so they show noise.
 * live.cl packs the liveness of a cell into a uint, one byte per channel, 0 to LIVE. A coefficient is live if the mean of its
 * cell and the eight neighbouring cells is at least 9/10 of LIVE. --shrink knows only the pyramid, and so has no cells
 * (`has_cells` = 0): all coefficients other than 0 are live.
 *
 * There are two classes of positions, with a histogram each: in the upper class at least ALL_LIVE of the 49 neighbours are
 * live, in the lower class at least SOME_LIVE. The host uses the upper class if it has enough positions, and otherwise both.
 *
 * A colour picture has six planes: brightness, two colour differences, red, green and blue. Other pictures have a plane per
 * colour channel. Positions of the upper class are also counted by tone (tones.h).
 *
 *     noise_energies    counts e in a histogram of 8 bins an octave
 *     noise_quantiles   finds the bins of the 5% quantile, the median and the 85% quantile
 *
 * Order of sums: each of the seven columns from top to bottom, then the columns in pairs (sum_lanes). All results are
 * integers. */
#define LANES 1
#include "planes.h"
#include "padded_axis.h"
#include "sampling_positions.h"
#define CHANNEL float8
#include "opponent.h"
#include "tones.h"

#define SUBBANDS   6
#define SIDE       (2 * NEAR + 1) /* rows and columns of the neighbours */
#define MAX_PLANES 6              /* brightness, two differences, red, green, blue */
#define ALL_LIVE   47             /* fewest live neighbours, of 49, in the upper class */
#define SOME_LIVE  24             /* fewest live neighbours in the lower class */
#define LIVE       252            /* greatest liveness of a cell; also in kernels/live.cl */
#define LIVE_SUM   (9 * 9 * LIVE / 10) /* least liveness of a live coefficient's nine cells, added up */
#define NOT_ZERO   1e-11f         /* energies up to this count as 0: rounding of a transform of constant pixels */

/* A histogram of energies has 8 bins an octave; these constants are also in src/wavelet/noise_estimate.[ch]. The upper
 * bits of a positive float, exponent and three bits of the mantissa, are its bin. */
#define CLASSES   2 /* histogram 0: the upper class, 1: the lower class */
#define BINS      768
#define SHIFT     20
#define FIRST_BIN ((127 - 32) << 3) /* begins at 2^-32, ends at 2^64 */
#define PARTS     20 /* quantiles are multiples of 1 / PARTS: 1, 10 and 17 of 20 are 5%, 50% and 85% */

/* Returns one channel of the coefficient at (x, y). Layer 2b is the real, 2b + 1 the imaginary part of subband b. */
static inline float channel_of(PLANES_IN(subbands), int x, int y, int layer, int image, int channel, int channels)
{
#ifdef IMAGES
    return component(load(PLANES_ARG(subbands), x, y, layer), channel);
#else
    return load(PLANES_ARG(subbands), x, y, PLANE_INDEX(layer, image * channels + channel, subbands_at.channels));
#endif
}

/* Loads seven coefficients of a row, from column x on, mirrored at the border. The eighth lane is undefined. */
static inline float8 load_seven(PLANES_IN(subbands), int x, int y, int layer, int image, int channel, int channels)
{
    float line[8];
#ifndef IMAGES
    if (x >= 0 && x + 8 <= subbands_at.width)
        return vload8(0, subbands + offset(subbands_at, x, y, PLANE_INDEX(layer, image * channels + channel, subbands_at.channels)));
#endif
    for (int i = 0; i < SIDE; i++)
        line[i] = channel_of(PLANES_ARG(subbands), reflect(x + i, subbands_at.width), y, layer, image, channel, channels);
    return (float8)(line[0], line[1], line[2], line[3], line[4], line[5], line[6], 0.0f);
}

/* Adds up the liveness of the 3x3 cells around each neighbour of (x, y), for all channels at once. Bytes 0 and 2 of the cells
 * are added to the 16-bit halves of `even`, bytes 1 and 3 to the halves of `odd`. Element k has row k of the neighbours, a
 * column per lane. */
static inline void sum_cells(uint8 even[SIDE], uint8 odd[SIDE], __global const uint *live, const struct geometry live_at, int x, int y,
                             int image)
{
    const bool inside = x >= NEAR + 1 && x + NEAR + 4 <= live_at.width;
    for (int k = 0; k < SIDE + 2; k++) {
        const int row = clamp(y - NEAR - 1 + k, live_at.first_row, live_at.first_row + live_at.rows - 1);
        __global const uint *cells = live + offset(live_at, 0, row, image);
        uint8 a = 0, b = 0;
        for (int d = 0; d < 3; d++) {
            const int from = x - NEAR - 1 + d;
            uint8 v;
            if (inside) {
                v = vload8(0, cells + from);
            } else {
                uint line[8];
                for (int i = 0; i < 8; i++)
                    line[i] = cells[clamp(from + i, 0, live_at.width - 1)];
                v = (uint8)(line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7]);
            }
            a += v & 0x00ff00ff, b += v >> 8 & 0x00ff00ff;
        }
        for (int i = max(k - 2, 0); i <= min(k, SIDE - 1); i++)
            even[i] += a, odd[i] += b;
    }
}

/* Returns -1 in the lanes of live neighbours, else 0, from sums of sum_cells(). `byte`: the channel's byte of a cell. */
static inline int8 is_live(uint8 even, uint8 odd, int byte)
{
    const uint8 v = byte % 2 == 0 ? even : odd;
    return as_int8((byte < 2 ? v & 0xffff : v >> 16) >= (uint8)(LIVE_SUM));
}

/* Computes |z|^2 of the first `counted` planes from the real and imaginary parts of `colours` channels. If these are three,
 * planes 0 to 2 are opponent colours and planes 3 to 5 red, green and blue; the missing half is converted from the other one,
 * in place in re and im. */
static inline void find_energies(float8 energy[MAX_PLANES], float8 re[4], float8 im[4], int colours, int opponent, int counted)
{
    for (int c = 0; c < colours; c++)
        energy[c + (colours == 3 && !opponent ? 3 : 0)] = mad(re[c], re[c], im[c] * im[c]);
    if (colours != 3 || (opponent && counted == 3))
        return;
    if (opponent)
        from_opponent(re), from_opponent(im);
    else
        to_opponent(re), to_opponent(im);
    for (int c = 0; c < 3; c++)
        energy[c + (opponent ? 3 : 0)] = mad(re[c], re[c], im[c] * im[c]);
}

/* Returns the tone (tones.h) of position (x, y) of level 1, from the mean brightness of every second of 13x13 pixels along each
 * axis, added row by row. */
static inline int tone_of(PLANES_IN(picture), int x, int y, int image, int channels)
{
    float sum = 0.0f;
    for (int k = 0; k < SIDE * SIDE; k++) {
        const int column = reflect(2 * (x - NEAR + k % SIDE), picture_at.width);
        sum += channel_of(PLANES_ARG(picture), column, reflect(2 * (y - NEAR + k / SIDE), picture_at.height), 0, image, 0, channels);
    }
    /* Clipped as a float, as devices convert huge floats differently. */
    return (int)clamp(sum * (TONES * ONE_BRIGHTNESS / (SIDE * SIDE)), 0.0f, TONES - 1.0f);
}

/* Counts the energies of one level at columns x rows evenly spaced positions, but only in rows [range.x, range.y).
 *
 *     live, has_cells        cells of the level (live.cl); not used if has_cells = 0
 *     channels, colours   planes of an image in src, with and without alpha
 *     opponent            not 0: src has opponent colours
 *     picture             the picture in opponent colours, for the tones
 *     bins, bins_at       histograms [image][plane][class] of the level, and their offset
 *     tones_at            offset of histograms [image][tone][class] of level 1, or -1: tones are not counted
 *
 * Red, green and blue are counted at every second position of every second row only. Grid: x and y count positions, z
 * images. */
__kernel void noise_energies(PLANES_IN(subbands), __global const uint *live, const struct geometry live_at, int has_cells, int columns,
                             int rows, int2 range, int channels, int colours, int opponent, PLANES_IN(picture),
                             volatile __global uint *bins, int bins_at, int tones_at)
{
    const int i = get_global_id(0), j = get_global_id(1), image = get_global_id(2);
    if (i >= columns || j >= rows)
        return;
    const int x = sampling_position(i, columns, subbands_at.width), y = sampling_position(j, rows, subbands_at.height);
    if (y < range.x || y >= range.y)
        return;
    const int planes = colours == 3 ? MAX_PLANES : colours, counted = (i | j) % 2 == 0 ? planes : min(planes, 3);
    const int8 used_lanes = (int8)(-1, -1, -1, -1, -1, -1, -1, 0);
    const int tone = tones_at >= 0 ? image * TONES + tone_of(PLANES_ARG(picture), x, y, image, channels) : 0;
    uint8 even[SIDE] = {0}, odd[SIDE] = {0};
    if (has_cells)
        sum_cells(even, odd, live, live_at, x, y, image);
    for (int subband = 0; subband < SUBBANDS; subband++) {
        float8 sum[MAX_PLANES] = {0.0f};
        int8 count[MAX_PLANES] = {0};
        for (int k = 0; k < SIDE; k++) {
            const int row = reflect(y - NEAR + k, subbands_at.height);
            float8 re[4], im[4], energy[MAX_PLANES];
            for (int c = 0; c < colours; c++) {
                re[c] = load_seven(PLANES_ARG(subbands), x - NEAR, row, 2 * subband, image, c, channels);
                im[c] = load_seven(PLANES_ARG(subbands), x - NEAR, row, 2 * subband + 1, image, c, channels);
            }
            find_energies(energy, re, im, colours, opponent, counted);
#pragma unroll
            for (int p = 0; p < MAX_PLANES; p++) {
                if (p >= counted)
                    break;
                const int byte = planes < MAX_PLANES ? p : p < 3 ? 3 : p - 3; /* opponent colours: of all colours together */
                const int8 is_counted = used_lanes & (energy[p] == energy[p]) & /* not NaN */
                                        (has_cells ? is_live(even[k], odd[k], byte) : energy[p] > NOT_ZERO);
                sum[p] += as_float8(as_int8(energy[p]) & is_counted);
                count[p] -= is_counted;
            }
        }
        for (int p = 0; p < counted; p++) {
            const int4 pairs = count[p].lo + count[p].hi;
            const int n = (pairs.x + pairs.y) + (pairs.z + pairs.w);
            if (n < SOME_LIVE)
                continue;
            const float mean = sum_lanes(sum[p]) / (float)(2 * n);
            const int bin = clamp((int)(as_uint(mean) >> SHIFT) - FIRST_BIN, 0, BINS - 1);
            atomic_inc(bins + bins_at + ((image * planes + p) * CLASSES + (n < ALL_LIVE)) * BINS + bin);
            if (p == 0 && tones_at >= 0 && n >= ALL_LIVE)
                atomic_inc(bins + tones_at + tone * CLASSES * BINS + bin);
        }
    }
}

/* Finds the bin of the quantile parts / PARTS of `total` energies. Stores its index, the number of energies in lower bins, and
 * the number in the bin itself. With two classes the histogram is the sum of both. */
static inline void find_quantile(__global const uint *counts, int classes, uint total, uint parts, __global uint *to)
{
    uint below = 0, own = 0;
    int bin = 0;
    for (;; bin++) {
        own = counts[bin] + (classes > 1 ? counts[BINS + bin] : 0);
        if (bin == BINS - 1 || (below + own) * PARTS >= total * parts)
            break;
        below += own;
    }
    to[0] = bin, to[1] = below, to[2] = own;
}

/* Stores, after the `count` pairs of histograms, for each pair ten integers for the upper class alone and ten for both classes:
 * the number of energies, then find_quantile() of the 5% quantile, the median and the 85% quantile. Grid: x counts pairs. */
__kernel void noise_quantiles(__global uint *bins, int count)
{
    const int item = get_global_id(0);
    if (item >= count)
        return;
    __global const uint *counts = bins + item * CLASSES * BINS;
    for (int classes = 1; classes <= CLASSES; classes++) {
        __global uint *to = bins + count * CLASSES * BINS + (item * CLASSES + classes - 1) * 10;
        uint total = 0;
        for (int i = 0; i < classes * BINS; i++)
            total += counts[i];
        to[0] = total;
        find_quantile(counts, classes, total, 1, to + 1);
        find_quantile(counts, classes, total, 10, to + 4);
        find_quantile(counts, classes, total, 17, to + 7);
    }
}
