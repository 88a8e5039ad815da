/* One level of the inverse 2-D dual-tree complex wavelet transform: columns into two planes L and H, then rows
 * into the next finer lowpass Z:
 *
 *     L = cols_g0 Z + cols_g1 c2q(0, 5),  H = cols_g0 c2q(2, 3) + cols_g1 c2q(1, 4),  Z = rows_g0 L + rows_g1 H
 *
 *   level 1   TAPS odd:  y[n] = sum of g[k] * X[n - (TAPS - 1) / 2 + k]; weights: TAPS of g0, then TAPS of g1
 *   -DQSHIFT  level >= 2, doubles the size: outputs 4n + t and 4n + t + 2 of tree t (0 or 1) are
 *             y = sum of w[k] * X[2n + start[filter][tree] + 2k], k < TAPS; weights: [filter][tree][first, second][TAPS]
 *
 * Z may be larger than this level by one sample a side (`crop_x`, `crop_y`): those are skipped here rather than
 * removed there. */

/* Row r of the quads that bands `first` and `second` stand for: P = (z0 + z1) / sqrt 2, Q = (z0 - z1) / sqrt 2;
 * a = Re P, b = Im P in even rows, c = Im Q, d = -Re Q in odd ones. */
static inline pair quads(SOURCE(bands), int first, int second, int n, int r, int z)
{
    const int channels = bands_at.channels, i = r / 2;
    const single re0 = load_single(GIVE(bands), n, i, LAYER(2 * first, z, channels));
    const single im0 = load_single(GIVE(bands), n, i, LAYER(2 * first + 1, z, channels));
    const single re1 = load_single(GIVE(bands), n, i, LAYER(2 * second, z, channels));
    const single im1 = load_single(GIVE(bands), n, i, LAYER(2 * second + 1, z, channels));
    const single even = r & 1 ? im0 - im1 : re0 + re1, odd = r & 1 ? re1 - re0 : im0 + im1;
    return JOIN(even, odd) * M_SQRT1_2_F;
}

struct crop {
    int x, y;
};

static inline pair load_cropped(SOURCE(lowpass), struct crop crop, int n, int r, int z)
{
    return load_pair(GIVE(lowpass), 2 * n + crop.x, r + crop.y, z);
}

#ifdef QSHIFT
#define OUTPUTS 4
#define WEIGHT(filter, tree, which, k) weights[(((filter) * 2 + (tree)) * 2 + (which)) * TAPS + (k)]

/* The grid's x counts pairs of columns, its y groups of four output rows. */
__kernel void inverse_columns(SOURCE(lowpass), SOURCE(bands), TARGET(dst), __constant const float *weights, int4 starts,
                              int crop_x, int crop_y)
{
    const int n = get_global_id(0) * PAIRS, i = get_global_id(1), z = get_global_id(2);
    if (n >= bands_at.width || i >= bands_at.height)
        return;
    const struct crop crop = {crop_x, crop_y};
    const int height = 2 * bands_at.height;
    const int start[4] = {starts.x, starts.y, starts.z, starts.w};
    pair low[4] = {0.0f, 0.0f, 0.0f, 0.0f}, high[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int tree = 0; tree < 2; tree++)
        for (int k = 0; k < TAPS; k++) {
            const int r0 = reflect(2 * i + start[tree] + 2 * k, height);
            const int r1 = reflect(2 * i + start[2 + tree] + 2 * k, height);
            const pair l0 = load_cropped(GIVE(lowpass), crop, n, r0, z), l1 = quads(GIVE(bands), 0, 5, n, r1, z);
            const pair h0 = quads(GIVE(bands), 2, 3, n, r0, z), h1 = quads(GIVE(bands), 1, 4, n, r1, z);
#pragma unroll
            for (int which = 0; which < 2; which++) {
                const int row = tree + 2 * which;
                low[row] = mad(l0, WEIGHT(0, tree, which, k), mad(l1, WEIGHT(1, tree, which, k), low[row]));
                high[row] = mad(h0, WEIGHT(0, tree, which, k), mad(h1, WEIGHT(1, tree, which, k), high[row]));
            }
        }
#pragma unroll
    for (int row = 0; row < 4; row++) {
        store_pair(GIVE(dst), 2 * n, 4 * i + row, LAYER(0, z, dst_at.channels), low[row]);
        store_pair(GIVE(dst), 2 * n, 4 * i + row, LAYER(1, z, dst_at.channels), high[row]);
    }
}

#if LANES == 16
#define LINE (2 * PAIRS + 2 * TAPS)

static inline void add_filter(single *out, SOURCE(src), __constant const float *weights, int filter, int tree, int x0,
                              int y, int z)
{
    const struct axis axis = {src_at.width, 0, src_at.width};
    float line[LINE];
    const bool inside = plain(axis, x0, LINE);
    __global const float *p = src + offset(src_at, inside ? x0 : 0, y, z);
    if (!inside)
        fill_axis(line, LINE, GIVE(src), axis, x0, y, z);
    for (int k = 0; k < TAPS; k++) {
        const single v = inside ? vload16(0, p + 2 * k).even : vload16(0, line + 2 * k).even;
        out[tree] = mad(v, WEIGHT(filter, tree, 0, k), out[tree]);
        out[tree + 2] = mad(v, WEIGHT(filter, tree, 1, k), out[tree + 2]);
    }
}
#else
static inline void add_filter(single *out, SOURCE(src), __constant const float *weights, int filter, int tree, int x0,
                              int y, int z)
{
    for (int k = 0; k < TAPS; k++) {
        const single v = load(GIVE(src), reflect(x0 + 2 * k, src_at.width), y, z);
        out[tree] = mad(v, WEIGHT(filter, tree, 0, k), out[tree]);
        out[tree + 2] = mad(v, WEIGHT(filter, tree, 1, k), out[tree + 2]);
    }
}
#endif

/* The grid's x counts pairs of source columns: four target columns each. */
__kernel void inverse_rows(SOURCE(src), TARGET(dst), __constant const float *weights, int4 starts)
{
    const int n = get_global_id(0) * PAIRS, y = get_global_id(1), z = get_global_id(2);
    if (2 * n >= src_at.width || y >= dst_at.height)
        return;
    const int start[4] = {starts.x, starts.y, starts.z, starts.w};
    single out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int filter = 0; filter < 2; filter++)
#pragma unroll
        for (int tree = 0; tree < 2; tree++)
            add_filter(out, GIVE(src), weights, filter, tree, 2 * n + start[2 * filter + tree], y,
                       LAYER(filter, z, src_at.channels));
#if LANES == 16
    const pair even = JOIN(out[0], out[2]), odd = JOIN(out[1], out[3]);
    store_pair(GIVE(dst), 4 * n, y, z, JOIN(even.lo, odd.lo));
    if (4 * n + LANES < dst_at.pitch)
        store_pair(GIVE(dst), 4 * n + LANES, y, z, JOIN(even.hi, odd.hi));
#else
    store_pair(GIVE(dst), 4 * n, y, z, JOIN(out[0], out[1]));
    store_pair(GIVE(dst), 4 * n + 2, y, z, JOIN(out[2], out[3]));
#endif
}
#else
/* The grid's x counts pairs of columns, its y pairs of rows. */
__kernel void inverse_columns(SOURCE(lowpass), SOURCE(bands), TARGET(dst), __constant const float *weights, int crop_x,
                              int crop_y)
{
    const int n = get_global_id(0) * PAIRS, i = get_global_id(1), z = get_global_id(2);
    if (n >= bands_at.width || i >= bands_at.height)
        return;
    const struct crop crop = {crop_x, crop_y};
    const int height = 2 * bands_at.height;
    pair low[2] = {0.0f, 0.0f}, high[2] = {0.0f, 0.0f};
    for (int k = 0; k <= TAPS; k++) {
        const int r = reflect(2 * i - (TAPS - 1) / 2 + k, height);
        const pair l0 = load_cropped(GIVE(lowpass), crop, n, r, z), l1 = quads(GIVE(bands), 0, 5, n, r, z);
        const pair h0 = quads(GIVE(bands), 2, 3, n, r, z), h1 = quads(GIVE(bands), 1, 4, n, r, z);
#pragma unroll
        for (int row = 0; row < 2; row++)
            if (k - row >= 0 && k - row < TAPS) {
                low[row] = mad(l0, weights[k - row], mad(l1, weights[TAPS + k - row], low[row]));
                high[row] = mad(h0, weights[k - row], mad(h1, weights[TAPS + k - row], high[row]));
            }
    }
#pragma unroll
    for (int row = 0; row < 2; row++) {
        store_pair(GIVE(dst), 2 * n, 2 * i + row, LAYER(0, z, dst_at.channels), low[row]);
        store_pair(GIVE(dst), 2 * n, 2 * i + row, LAYER(1, z, dst_at.channels), high[row]);
    }
}

#define ACCUMULATE(lo, hi)                                                                                             \
    for (int k = 0; k < TAPS; k++)                                                                                     \
        sum = mad(lo, weights[k], mad(hi, weights[TAPS + k], sum));

/* dst has the image's own size: the padding of odd sizes ends here. */
__kernel void inverse_rows(SOURCE(src), TARGET(dst), __constant const float *weights)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1), z = get_global_id(2);
    if (x >= dst_at.width || y >= dst_at.height)
        return;
    const struct axis axis = {src_at.width, 0, src_at.width};
    const int low = LAYER(0, z, src_at.channels), high = LAYER(1, z, src_at.channels), x0 = x - (TAPS - 1) / 2;
    pixel sum = 0.0f;
    if (plain(axis, x0, LANES + TAPS))
        ACCUMULATE(load(GIVE(src), x0 + k, y, low), load(GIVE(src), x0 + k, y, high))
    else {
#if LANES == 16
        float lows[LANES + TAPS], highs[LANES + TAPS];
        fill_axis(lows, LANES + TAPS, GIVE(src), axis, x0, y, low);
        fill_axis(highs, LANES + TAPS, GIVE(src), axis, x0, y, high);
        ACCUMULATE(vload16(0, lows + k), vload16(0, highs + k))
#else
        ACCUMULATE(load(GIVE(src), sample_at(axis, x0 + k), y, low), load(GIVE(src), sample_at(axis, x0 + k), y, high))
#endif
    }
    store(GIVE(dst), x, y, z, sum);
}
#endif
