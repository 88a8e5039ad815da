/* Enlarging by FACTOR = 2^n. Output FACTOR * i + p of an axis lies at source position i + (p + 0.5) / FACTOR - 0.5, so
 * a power of two has FACTOR phases, each with TAPS weights:
 *
 *     dst[FACTOR * i + p] = sum over k < TAPS of weights[p * TAPS + k] * src[i - TAPS / 2 + LATER(p) + k]
 *
 *   -DFACTOR=n, -DTAPS=n (4 bicubic and B-spline, 2 bilinear, 0 nearest)
 *
 * An even number of samples lies around the output's place, so they change halfway from one i to the next: LATER. On
 * the grid of corners the half-pixel step is part of the weights, and an odd number (7 or 3) lies around sample i.
 *
 * Loops over windows are unrolled by pragma: a window that is indexed at run time lives in memory. */
#include "edge.h"

#ifndef FACTOR
#define FACTOR 2
#endif
#ifndef TAPS
#define TAPS 4
#endif
#ifndef OUTPUTS
#define OUTPUTS 1
#endif

#define BETWEEN  (TAPS > 0 && TAPS % 2 == 0)
#define LATER(p) (BETWEEN && (p) >= FACTOR / 2)

#if LANES == 16
#define SHARED (TAPS + (TAPS % 2 == 0)) /* samples that the phases of one i need */

/* Two passes. A work-item loads the samples that all phases of its i share, once, and writes all phases. */
static inline void phases(pixel *out, const pixel *window, WEIGHTS_ARGUMENT(weights))
{
#pragma unroll
    for (int p = 0; p < FACTOR; p++) {
#if TAPS == 0
        out[p] = window[0];
#else
        out[p] = window[LATER(p)] * WEIGHT(weights, p * TAPS);
#pragma unroll
        for (int k = 1; k < TAPS; k++)
            out[p] = mad(window[LATER(p) + k], WEIGHT(weights, p * TAPS + k), out[p]);
#endif
    }
}

#define LOW(a, b)  (float16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7)
#define HIGH(a, b) (float16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf)

/* Perfect shuffles: vector p holds phase p of 16 samples; afterwards the vectors follow each other in x. */
static inline void interleave(pixel *v)
{
#pragma unroll
    for (int round = 1; round < FACTOR; round *= 2) {
        pixel next[FACTOR];
#pragma unroll
        for (int i = 0; i < FACTOR / 2; i++) {
            next[2 * i] = LOW(v[i], v[i + FACTOR / 2]);
            next[2 * i + 1] = HIGH(v[i], v[i + FACTOR / 2]);
        }
#pragma unroll
        for (int i = 0; i < FACTOR; i++)
            v[i] = next[i];
    }
}

static inline void load_window(pixel *window, SOURCE(src), int x0, int y, int z)
{
    if (x0 < 0 || x0 + LANES + SHARED - 1 > src_at.width) {
        float line[LANES + SHARED - 1];
        fill_line(line, LANES + SHARED - 1, GIVE(src), x0, y, z);
#pragma unroll
        for (int k = 0; k < SHARED; k++)
            window[k] = VLOAD(line + k);
        return;
    }
#pragma unroll
    for (int k = 0; k < SHARED; k++)
        window[k] = load(GIVE(src), x0 + k, y, z);
}

__kernel void enlarge_rows(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= src_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    pixel window[SHARED], out[FACTOR];
    load_window(window, GIVE(src), x - TAPS / 2, y, z);
    phases(out, window, weights);
    interleave(out);
#pragma unroll
    for (int p = 0; p < FACTOR; p++)
        if (x * FACTOR + p * LANES < dst_at.pitch)
            store(GIVE(dst), x * FACTOR + p * LANES, y, z, out[p]);
}

/* The grid's y counts source rows from `first`, those whose phases the target holds. */
__kernel void enlarge_columns(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights), int first)
{
    const int x = get_global_id(0) * LANES, i = get_global_id(1) + first, z = get_global_id(2);
    if (x >= dst_at.width || i * FACTOR >= dst_at.first_row + dst_at.rows)
        return;
    pixel window[SHARED], out[FACTOR];
#pragma unroll
    for (int k = 0; k < SHARED; k++)
        window[k] = load_row(GIVE(src), x, i - TAPS / 2 + k, z);
    phases(out, window, weights);
#pragma unroll
    for (int p = 0; p < FACTOR; p++) {
        const int y = i * FACTOR + p;
        if (y >= dst_at.first_row && y < dst_at.first_row + dst_at.rows)
            store(GIVE(dst), x, y, z, out[p]);
    }
}

#if defined(SAMPLE) && SAMPLE != 3
#include "samples.h"

/* The same for all channels, into a file's samples without alpha; `at` says which rows are wanted. */
__kernel void enlarge_columns_pack(SOURCE(src), RASTER(raster), const struct geometry at, WEIGHTS_ARGUMENT(weights),
                                   int first)
{
    const int x = get_global_id(0) * LANES, i = get_global_id(1) + first;
    if (x >= at.width || i * FACTOR >= at.first_row + at.rows)
        return;
    pixel out[CHANNELS][FACTOR];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        pixel window[SHARED];
#pragma unroll
        for (int k = 0; k < SHARED; k++)
            window[k] = load_row(GIVE(src), x, i - TAPS / 2 + k, c);
        phases(out[c], window, weights);
    }
#pragma unroll
    for (int p = 0; p < FACTOR; p++) {
        const int y = i * FACTOR + p;
        lanes value[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            value[c] = out[c][p];
        if (y >= at.first_row && y < at.first_row + at.rows)
            store_pixels(GIVE_RASTER(raster), x, y, 0, value, 0.0f);
    }
}
#endif
#else
/* One pass: the source is small and stays in a GPU's caches. A work-item has LANES outputs along x and OUTPUTS along y,
 * in images OUTPUTS texels along x, of several i or of a part of one. PART_*: the phase is known at run time only. */
#define PART_LANES     (FACTOR > LANES)
#define PART_OUTPUTS   (FACTOR > OUTPUTS)
#define CELLS(out)     (FACTOR > (out) ? 1 : (out) / FACTOR) /* i that the outputs belong to */
#define HALFWAY(out)   (BETWEEN && FACTOR <= (out))          /* whether the last of them needs a sample more */
#define WINDOW_LANES   (TAPS + HALFWAY(LANES) + CELLS(LANES) - (TAPS > 0))
#define WINDOW_OUTPUTS (TAPS + HALFWAY(OUTPUTS) + CELLS(OUTPUTS) - (TAPS > 0))

/* Output `out` of those of a work-item whose first one has phase `phase`: SUM_n adds up n samples from w[0] on, times
 * n weights from `at` on. */
#if TAPS == 0
#define INTERPOLATE(window, out, phase, part) window[(part) ? 0 : (out) / FACTOR]
#else
#define FIRST(out, part)        ((part) ? 0 : (out) / FACTOR + LATER((out) % FACTOR))
#define PHASE(out, phase, part) ((part) ? (phase) + (out) : (out) % FACTOR)
#define SUM_1(w, at)            ((w)[0] * WEIGHT(weights, at))
#define SUM_2(w, at)            mad((w)[1], WEIGHT(weights, (at) + 1), SUM_1(w, at))
#define SUM_3(w, at)            mad((w)[2], WEIGHT(weights, (at) + 2), SUM_2(w, at))
#define SUM_4(w, at)            mad((w)[3], WEIGHT(weights, (at) + 3), SUM_3(w, at))
#define SUM_5(w, at)            mad((w)[4], WEIGHT(weights, (at) + 4), SUM_4(w, at))
#define SUM_6(w, at)            mad((w)[5], WEIGHT(weights, (at) + 5), SUM_5(w, at))
#define SUM_7(w, at)            mad((w)[6], WEIGHT(weights, (at) + 6), SUM_6(w, at))
#define SUM_N(n)                SUM_##n
#define SUM(n)                  SUM_N(n)
#define INTERPOLATE(window, out, phase, part)                                                                          \
    SUM(TAPS)((window + FIRST(out, part)), PHASE(out, phase, part) * TAPS)
#endif

#ifdef IMAGES
#define ONE (TAPS + !TAPS)

/* A column of the source at one output row, whose phase is known at run time only. */
static inline __attribute__((always_inline)) pixel enlarge_column(SOURCE(src), const float *own, int x, int y0, int z)
{
    if (outside(x, src_at.width))
        return 0.0f;
    const int column = edge(x, src_at.width);
    pixel sum = load_row(GIVE(src), column, y0, z) * own[0];
#pragma unroll
    for (int k = 1; k < TAPS; k++)
        sum = mad(load_row(GIVE(src), column, y0 + k, z), own[k], sum);
    return sum;
}

/* Neighbours in a group lie along y and store texels above each other: a sector of a texture is two rows high, and with
 * neighbours that are rows apart each store fills but half of one (H200, by 4 to 4096x4096: 183 us so, 97 along x). The
 * grid's x counts runs of OUTPUTS texels. */
__kernel void enlarge(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * OUTPUTS, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int phase_x = x % FACTOR, phase_y = y % FACTOR;
    const int x0 = x / FACTOR - TAPS / 2 + (PART_OUTPUTS && LATER(phase_x));
    const int y0 = y / FACTOR - TAPS / 2 + LATER(phase_y);
    float own[ONE] = {1.0f};
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        own[k] = WEIGHT(weights, phase_y * TAPS + k);
    pixel window[WINDOW_OUTPUTS];
#pragma unroll
    for (int j = 0; j < WINDOW_OUTPUTS; j++)
        window[j] = enlarge_column(GIVE(src), own, x0 + j, y0, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (x + r < dst_at.width)
            store(GIVE(dst), x + r, y, z, INTERPOLATE(window, r, phase_x, PART_OUTPUTS));
}
#else
/* The outputs' x at one source row. */
static inline __attribute__((always_inline)) pixel enlarge_row(SOURCE(src), WEIGHTS_ARGUMENT(weights), int x0, int phase,
                                                               int y, int z)
{
    float window[WINDOW_LANES];
#pragma unroll
    for (int i = 0; i < WINDOW_LANES; i++)
        window[i] = load_column(GIVE(src), x0 + i, y, z);
    return (pixel)(INTERPOLATE(window, 0, phase, PART_LANES), INTERPOLATE(window, 1, phase, PART_LANES),
                   INTERPOLATE(window, 2, phase, PART_LANES), INTERPOLATE(window, 3, phase, PART_LANES));
}

/* The grid's y counts runs of OUTPUTS rows from row `first`, which OUTPUTS divides. */
__kernel void enlarge(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights), int first)
{
    const int x = get_global_id(0) * LANES, y = first + get_global_id(1) * OUTPUTS, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int phase_x = x % FACTOR, phase_y = y % FACTOR;
    const int x0 = x / FACTOR - TAPS / 2 + (PART_LANES && LATER(phase_x));
    const int y0 = y / FACTOR - TAPS / 2 + (PART_OUTPUTS && LATER(phase_y));
    pixel window[WINDOW_OUTPUTS];
#pragma unroll
    for (int j = 0; j < WINDOW_OUTPUTS; j++)
        window[j] = outside(y0 + j, src_at.height) ? (pixel)(0.0f)
                                                   : enlarge_row(GIVE(src), weights, x0, phase_x,
                                                                 held_row(src_at, edge(y0 + j, src_at.height)), z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r >= dst_at.first_row && y + r < dst_at.first_row + dst_at.rows)
            store(GIVE(dst), x, y + r, z, INTERPOLATE(window, r, phase_y, PART_OUTPUTS));
}
#endif
#endif
