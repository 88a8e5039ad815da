/* Enlarging by FACTOR = 2^n along one axis. Output FACTOR * i + p lies at source position
 * i + (p + 0.5) / FACTOR - 0.5, so a power of two has FACTOR phases, each with TAPS weights:
 *
 *     dst[FACTOR * i + p] = sum over k < TAPS of weights[p * TAPS + k] * src[i - TAPS / 2 + (p >= FACTOR / 2) + k]
 *
 *   -DFACTOR=n, -DTAPS=n (even; 4 bicubic and B-spline, 2 bilinear, 0 nearest)
 *
 * A work-item loads the TAPS + 1 samples that all phases of its i share, once, and writes all phases. Loops over
 * them are unrolled by pragma: a window that is indexed at run time lives in memory. */
#define LATER(p) ((p) >= FACTOR / 2)

static inline void phases(pixel *out, const pixel *window, __constant const float *weights)
{
#pragma unroll
    for (int p = 0; p < FACTOR; p++) {
#if TAPS == 0
        out[p] = window[0];
#else
        out[p] = window[LATER(p)] * weights[p * TAPS];
#pragma unroll
        for (int k = 1; k < TAPS; k++)
            out[p] = mad(window[LATER(p) + k], weights[p * TAPS + k], out[p]);
#endif
    }
}

#if LANES == 16
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
#endif

static inline void load_window(pixel *window, SOURCE(src), int x0, int y, int z)
{
#if LANES > 1
    if (x0 < 0 || x0 + LANES + TAPS > src_at.width) {
        float line[LANES + TAPS];
        fill_line(line, LANES + TAPS, GIVE(src), x0, y, z);
#pragma unroll
        for (int k = 0; k <= TAPS; k++)
            window[k] = VLOAD(line + k);
        return;
    }
#pragma unroll
    for (int k = 0; k <= TAPS; k++)
        window[k] = load(GIVE(src), x0 + k, y, z);
#else
    for (int k = 0; k <= TAPS; k++)
        window[k] = load_column(GIVE(src), x0 + k, y, z);
#endif
}

__kernel void enlarge_rows(SOURCE(src), TARGET(dst), __constant const float *weights)
{
    const int x = get_global_id(0) * LANES, y = get_global_id(1) + dst_at.first_row, z = get_global_id(2);
    if (x >= src_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    pixel window[TAPS + 1], out[FACTOR];
    load_window(window, GIVE(src), x - TAPS / 2, y, z);
    phases(out, window, weights);
#if LANES == 16
    interleave(out);
#pragma unroll
    for (int p = 0; p < FACTOR; p++)
        if (x * FACTOR + p * LANES < dst_at.pitch)
            store(GIVE(dst), x * FACTOR + p * LANES, y, z, out[p]);
#else
#pragma unroll
    for (int p = 0; p < FACTOR; p++)
        store(GIVE(dst), x * FACTOR + p, y, z, out[p]);
#endif
}

/* The grid's y counts source rows from `first`, those whose phases the target holds. */
__kernel void enlarge_columns(SOURCE(src), TARGET(dst), __constant const float *weights, int first)
{
    const int x = get_global_id(0) * LANES, i = get_global_id(1) + first, z = get_global_id(2);
    if (x >= dst_at.width || i * FACTOR >= dst_at.first_row + dst_at.rows)
        return;
    pixel window[TAPS + 1], out[FACTOR];
#pragma unroll
    for (int k = 0; k <= TAPS; k++)
        window[k] = load_row(GIVE(src), x, i - TAPS / 2 + k, z);
    phases(out, window, weights);
#pragma unroll
    for (int p = 0; p < FACTOR; p++) {
        const int y = i * FACTOR + p;
        if (y >= dst_at.first_row && y < dst_at.first_row + dst_at.rows)
            store(GIVE(dst), x, y, z, out[p]);
    }
}
