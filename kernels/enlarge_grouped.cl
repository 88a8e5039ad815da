/* Enlarging (enlarge.h) on GPUs, in one pass: the source is small and stays in the caches.
 *
 *   -DOUTPUTS=n  outputs of a run along y, in images along x */
#ifndef LANES
#define LANES 4
#endif
#include "enlarge.h"

#ifndef OUTPUTS
#define OUTPUTS 8
#endif

/* Sample j of a run's window is one of output r's TAPS, where runs begin with phase 0. */
#define MEETS(j, r, shift) ((j) - GAP(r, shift) >= 0 && (j) - GAP(r, shift) < TAPS)
#define HALFWAY(shift)     (TAPS % 2 == 0 ? (1 << (shift)) / 2 : 0)
#define GAP(r, shift)      ((((r) + HALFWAY(shift)) >> (shift)) - (HALFWAY(shift) >> (shift)))
#define WINDOW(n, shift)   (TAPS + GAP((n) - 1, shift)) /* of a run of n outputs */

/* The outputs of a run: RUN_OF(shift) for a factor that is known at compile time, and leaves out the zeros of its matrix,
 * as most enlargements are by 2 or 4; RUN_OF_ANY for all others. SAMPLE(j, shift) is the run's sample j, of any factor with 0. */
#define RUN_OF(shift)                                                                                                  \
    _Pragma("unroll") for (int j = 0; j < WINDOW(OUTPUTS, shift); j++)                                                 \
    {                                                                                                                  \
        const pixel v = SAMPLE(j, shift);                                                                              \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (MEETS(j, r, shift)) sum[r] =                           \
            mad(v, matrix[j * OUTPUTS + r], sum[r]);                                                                   \
    }
#define RUN_OF_ANY                                                                                                     \
    for (int j = 0; j < by.window; j++) {                                                                              \
        const pixel v = SAMPLE(j, 0);                                                                                  \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) sum[r] = mad(v, matrix[j * OUTPUTS + r], sum[r]);          \
    }
#define ENLARGE_RUN                                                                                                    \
    _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) sum[r] = 0.0f;                                                 \
    if (OUTPUTS >= 4 && by.shift == 2) {                                                                               \
        RUN_OF(2)                                                                                                      \
    } else if (OUTPUTS >= 2 && by.shift == 1) {                                                                        \
        RUN_OF(1)                                                                                                      \
    } else {                                                                                                           \
        RUN_OF_ANY                                                                                                     \
    }

#ifdef IMAGES
/* A column of the source at the output row whose samples begin at y0. */
INLINE pixel enlarge_column(SOURCE(src), const float *weights, int x, int y0, int z)
{
    pixel sum = 0.0f;
    if (outside(x, src_at.width))
        return sum;
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        sum = mad(load_row(GIVE(src), edge(x, src_at.width), y0 + k, z), weights[k], sum);
    return sum;
}

/* Neighbours in a group lie along y and store texels above each other: a sector of a texture is two rows high, and with
 * neighbours that are rows apart each store fills but half of one (H200, by 4 to 4096x4096: 183 us so, 97 along x). The
 * grid's x counts runs; along y a run is one output. */
__kernel void enlarge(SOURCE(src), TARGET(dst), WEIGHTS const float *along_x, WEIGHTS const float *along_y,
                      const struct enlargement by)
{
    const int x = get_global_id(0) * OUTPUTS, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int x0 = first_sample(by, x), y0 = first_sample(by, y);
    WEIGHTS const float *matrix = along_x + matrix_of(by, x, OUTPUTS) * by.window * OUTPUTS;
    float own[TAPS];
#pragma unroll
    for (int k = 0; k < TAPS; k++)
        own[k] = along_y[matrix_of(by, y, 1) * TAPS + k];
    pixel sum[OUTPUTS];
#define SAMPLE(j, shift) enlarge_column(GIVE(src), own, x0 + j, y0, z)
    ENLARGE_RUN
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (x + r < dst_at.width)
            store(GIVE(dst), x + r, y, z, sum[r]);
}
#else
#define MOST_WINDOW (TAPS + 2) /* of a run of LANES outputs: at factor 2 */

/* Four outputs of one source row, from `window` samples. */
INLINE pixel enlarge_row(SOURCE(src), const pixel *matrix, const int window, int x0, int y, int z)
{
    pixel sum = 0.0f;
    if (outside(y, src_at.height))
        return sum;
    const int row = held_row(src_at, edge(y, src_at.height));
#pragma unroll
    for (int i = 0; i < window; i++)
        sum = mad(load_column(GIVE(src), x0 + i, row, z), matrix[i], sum);
    return sum;
}

/* The grid's y counts runs of OUTPUTS rows from row `first`, which OUTPUTS divides. */
__kernel void enlarge(SOURCE(src), TARGET(dst), WEIGHTS const float *along_x, WEIGHTS const float *along_y,
                      const struct enlargement by, int first)
{
    const int x = get_global_id(0) * LANES, y = first + get_global_id(1) * OUTPUTS, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int x0 = first_sample(by, x), y0 = first_sample(by, y);
    WEIGHTS const float *matrix = along_y + matrix_of(by, y, OUTPUTS) * by.window * OUTPUTS;
    WEIGHTS const pixel *across = (WEIGHTS const pixel *)along_x + matrix_of(by, x, LANES) * MOST_WINDOW;
    pixel own[MOST_WINDOW], sum[OUTPUTS];
#pragma unroll
    for (int i = 0; i < MOST_WINDOW; i++)
        own[i] = across[i];
#define SAMPLE(j, shift) enlarge_row(GIVE(src), own, (shift) == 2 ? TAPS + 1 : MOST_WINDOW, x0, y0 + j, z)
    ENLARGE_RUN
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r >= dst_at.first_row && y + r < dst_at.first_row + dst_at.rows)
            store(GIVE(dst), x, y + r, z, sum[r]);
}
#endif
