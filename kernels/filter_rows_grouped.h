/* Along x on GPUs, for filters that reach too far to run with the other axis in one kernel (filter_grouped.h). In buffers
 * a work-item has four neighbours, in images OUTPUTS texels. */
#pragma once

#ifdef IMAGES
#define ROW_OUTPUTS OUTPUTS

INLINE void filter_row_at(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct window along_x, int x,
                          int y, int z)
{
    int next = x + along_x.start;
#pragma unroll
    for (int i = 0; i < ROW_FILTERS * OUTPUTS; i++)
        sum[i] = 0.0f;
    if (along_x.taps >= RUN_TAPS) {
        FILTER_RUN(ROW_FILTERS, sum, weights, along_x.taps, load_column(GIVE(src), next++, y, z))
    } else {
        FILTER_ANY_RUN(ROW_FILTERS, sum, weights, along_x.taps, load_column(GIVE(src), next++, y, z))
    }
}
#else
#define ROW_OUTPUTS 1

/* One vector after the other goes through, where `inside` says that a plain load does. The first one begins up to three
 * samples before the window, as loads want addresses that four divides. */
#define SLIDE(LOAD)                                                                                                    \
    for (int k = -skew; k < along_x.taps; k += 4) {                                                                    \
        const pixel v = LOAD(x + along_x.start + k + 4);                                                               \
        const pixel samples[4] = {u, (pixel)(u.yzw, v.x), (pixel)(u.zw, v.xy), (pixel)(u.w, v.xyz)};                   \
        _Pragma("unroll") for (int i = 0; i < 4; i++) if (k + i >= 0 && k + i < along_x.taps)                          \
            _Pragma("unroll") for (int f = 0; f < ROW_FILTERS; f++) sum[f] =                                           \
                mad(samples[i], weights[f * along_x.taps + k + i], sum[f]);                                            \
        u = v;                                                                                                         \
    }
#define LOAD_INSIDE(at) load(GIVE(src), at, y, z)
#define LOAD_BESIDE(at) load_four(GIVE(src), at, y, z)

INLINE void filter_row_at(pixel *sum, SOURCE(src), WEIGHTS const float *weights, const struct window along_x, int x,
                          int y, int z)
{
    const int skew = along_x.start & 3, first = x + along_x.start - skew;
#pragma unroll
    for (int f = 0; f < ROW_FILTERS; f++)
        sum[f] = 0.0f;
    if (first >= 0 && first + skew + along_x.taps + 8 <= src_at.width) {
        pixel u = LOAD_INSIDE(first);
        SLIDE(LOAD_INSIDE)
    } else {
        pixel u = LOAD_BESIDE(first);
        SLIDE(LOAD_BESIDE)
    }
}
#endif
