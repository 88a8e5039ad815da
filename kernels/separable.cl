/* One pass of a separable filter, along x or along y, at every sample or at every STRIDE-th:
 *
 *     dst[i] = sum over k < TAPS of weights[k] * src[i * STRIDE + start + k]
 *
 *   -DTAPS=n    number of weights (compile time, so that short filters unroll)
 *   -DSTRIDE=n  1 for filters, 2^n for antialiased reduction
 */
#ifndef STRIDE
#define STRIDE 1
#endif

#define OUT_ROWS 4                                  /* rows a work-item of `columns` computes */
#define WINDOW   ((OUT_ROWS - 1) * STRIDE + TAPS)   /* rows it reads */
#define UNROLL   (WINDOW * OUT_ROWS <= 512)

#if LANES > 1 && STRIDE > 1
/* Lanes i * STRIDE of the floats at p. */
#define GATHER(load16)                                                                                                 \
    float16 part[STRIDE];                                                                                              \
    _Pragma("unroll") for (int i = 0; i < STRIDE; i++) part[i] = load16;                                               \
    _Pragma("unroll") for (int n = STRIDE / 2; n > 0; n /= 2)                                                          \
        for (int i = 0; i < n; i++) part[i] = (float16)(part[2 * i].even, part[2 * i + 1].even);                       \
    return part[0];

static inline float16 strided(__global const float *p)
{
    GATHER(vload16(i, p))
}

static inline float16 strided_line(const float *p)
{
    GATHER(vload16(i, p))
}
#else
#define strided(p)      VLOAD(p)
#define strided_line(p) VLOAD(p)
#endif

#if LANES > 1
static inline pixel filter_row(SOURCE(src), WEIGHTS const float *weights, int x0, int y, int z)
{
    pixel sum = 0.0f;
    if (x0 >= 0 && x0 + LANES * STRIDE + TAPS <= src_at.width) {
        __global const float *p = src + offset(src_at, x0, y, z);
        for (int k = 0; k < TAPS; k++)
            sum = mad(strided(p + k), weights[k], sum);
        return sum;
    }
    float line[LANES * STRIDE + TAPS];
    fill_line(line, LANES * STRIDE + TAPS, GIVE(src), x0, y, z);
    for (int k = 0; k < TAPS; k++)
        sum = mad(strided_line(line + k), weights[k], sum);
    return sum;
}
#else
static inline pixel filter_row(SOURCE(src), WEIGHTS const float *weights, int x0, int y, int z)
{
    pixel sum = 0.0f;
    if (x0 >= 0 && x0 + TAPS <= src_at.width)
        for (int k = 0; k < TAPS; k++)
            sum = mad(load(GIVE(src), x0 + k, y, z), weights[k], sum);
    else
        for (int k = 0; k < TAPS; k++)
            sum = mad(load_column(GIVE(src), x0 + k, y, z), weights[k], sum);
    return sum;
}
#endif

/* `keep` names a channel that is copied from src (-1: none). */
__kernel void filter_rows(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, int start, int keep)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const pixel sum = filter_row(GIVE(src), weights, x * STRIDE + start, y, z);
    const pixel other = keep >= 0 ? load(GIVE(src), x, y, z) : sum;
    store(GIVE(dst), x, y, z, keep_channel(sum, other, z, src_at.channels, keep));
}

/* The weight of window row j for output row r; j and r are known when the loops are unrolled. */
#define TAP(j, r)    ((j) - (r) * STRIDE)
#define TOUCHES(j, r) (TAP(j, r) >= 0 && TAP(j, r) < TAPS)

static inline void filter_window(pixel *sum, SOURCE(src), WEIGHTS const float *weights, int x, int y0, int z)
{
#if UNROLL
    /* Short: every input row is loaded once and serves all the output rows it touches. */
#pragma unroll
    for (int j = 0; j < WINDOW; j++) {
        const pixel row = load_row(GIVE(src), x, y0 + j, z);
#pragma unroll
        for (int r = 0; r < OUT_ROWS; r++)
            if (TOUCHES(j, r))
                sum[r] = mad(row, weights[TAP(j, r)], sum[r]);
    }
#else
    for (int k = 0; k < TAPS; k++)
#pragma unroll
        for (int r = 0; r < OUT_ROWS; r++)
            sum[r] = mad(load_row(GIVE(src), x, y0 + r * STRIDE + k, z), weights[k], sum[r]);
#endif
}

__kernel void filter_columns(SOURCE(src), TARGET(dst), WEIGHTS const float *weights, int start, int keep)
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUT_ROWS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    pixel sum[OUT_ROWS];
#pragma unroll
    for (int r = 0; r < OUT_ROWS; r++)
        sum[r] = 0.0f;
    filter_window(sum, GIVE(src), weights, x, y * STRIDE + start, z);
#pragma unroll
    for (int r = 0; r < OUT_ROWS; r++) {
        if (y + r >= end)
            break;
        const pixel other = keep >= 0 ? load(GIVE(src), x, y + r, z) : sum[r];
        store(GIVE(dst), x, y + r, z, keep_channel(sum[r], other, z, src_at.channels, keep));
    }
}
