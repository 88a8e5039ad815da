/* A two-dimensional correlation with a WIDTH x HEIGHT matrix whose centre is (CENTRE_X, CENTRE_Y):
 *
 *     dst[x, y] = sum over (i, j) of weights[j * WIDTH + i] * src[x + i - CENTRE_X, y + j - CENTRE_Y]
 *
 * -DOUTPUTS=n: rows that a work-item computes. A work-item has LANES x OUTPUTS outputs. */
#if LANES == 4
/* Each source row goes through once, in registers, for all output rows that it touches; matrices that are too wide for
 * that go in pieces. The rows are a loop and weights are loads, so one binary serves all matrices of a size; with the
 * weights as constants and all unrolled an H200 is 13% faster at 16x16. */
#define WIDEST     40
#define PIECE      (WIDTH <= WIDEST ? WIDTH : 32)
#define TAIL       (WIDTH % PIECE)
#define SKEW       ((-(CENTRE_X)) & 3) /* loads of four floats want a first one that 4 divides */
#define SPAN(taps) ROUND_UP(SKEW + 3 + (taps), 4)

static inline __attribute__((always_inline)) void load_piece(float *window, const int span, SOURCE(src), int x0, int y,
                                                             int z)
{
    if (x0 >= 0 && x0 + span <= src_at.width) {
        __global const float *row = src + offset(src_at, x0, y, z);
#pragma unroll
        for (int i = 0; i < span; i += 4) {
            const float4 v = *(__global const float4 *)(row + i);
            window[i] = v.x, window[i + 1] = v.y, window[i + 2] = v.z, window[i + 3] = v.w;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < span; i++)
        window[i] = load_column(GIVE(src), x0 + i, y, z);
}

/* Columns first ... first + taps - 1 of all the matrix' rows that source row j of the window meets. */
static inline __attribute__((always_inline)) void add_piece(pixel *sum, const int taps, SOURCE(src),
                                                            WEIGHTS_ARGUMENT(weights), int first, int x, int y, int j,
                                                            int z)
{
    float window[SPAN(PIECE)];
    load_piece(window, SPAN(taps), GIVE(src), x + first - (CENTRE_X) - SKEW, y, z);
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (j - r >= 0 && j - r < HEIGHT)
#pragma unroll
            for (int i = 0; i < taps; i++)
                sum[r] = mad((float4)(window[SKEW + i], window[SKEW + i + 1], window[SKEW + i + 2], window[SKEW + i + 3]),
                             WEIGHT(weights, (j - r) * WIDTH + first + i), sum[r]);
}

static inline __attribute__((always_inline)) void add_row(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights), int x,
                                                          int y, int j, int z)
{
#pragma unroll 1
    for (int first = 0; first + PIECE <= WIDTH; first += PIECE)
        add_piece(sum, PIECE, GIVE(src), weights, first, x, y, j, z);
#if TAIL
    add_piece(sum, TAIL, GIVE(src), weights, WIDTH - TAIL, x, y, j, z);
#endif
}
#else
/* Every sample is loaded once and serves all the output rows that source row j of the window meets. */
#define ADD_ROW(sample)                                                                                                \
    for (int i = 0; i < WIDTH; i++) {                                                                                  \
        const pixel v = sample;                                                                                        \
        _Pragma("unroll") for (int r = 0; r < OUTPUTS; r++) if (j - r >= 0 && j - r < HEIGHT)                          \
            sum[r] = mad(v, WEIGHT(weights, (j - r) * WIDTH + i), sum[r]);                                             \
    }

static inline __attribute__((always_inline)) void add_row(pixel *sum, SOURCE(src), WEIGHTS_ARGUMENT(weights), int x,
                                                          int y, int j, int z)
{
    const int x0 = x - (CENTRE_X);
    if (x0 >= 0 && x0 + LANES + WIDTH <= src_at.width) {
        ADD_ROW(load(GIVE(src), x0 + i, y, z))
    } else {
#if LANES == 16
        float line[LANES + WIDTH];
        fill_line(line, LANES + WIDTH, GIVE(src), x0, y, z);
        ADD_ROW(VLOAD(line + i))
#else
        ADD_ROW(load_column(GIVE(src), x0 + i, y, z))
#endif
    }
}
#endif

__kernel void convolve(SOURCE(src), TARGET(dst), WEIGHTS_ARGUMENT(weights))
{
    const int x = get_global_id(0) * LANES, z = get_global_id(2);
    const int y = get_global_id(1) * OUTPUTS + dst_at.first_row, end = dst_at.first_row + dst_at.rows;
    if (x >= dst_at.width || y >= end)
        return;
    pixel sum[OUTPUTS];
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        sum[r] = 0.0f;
#pragma unroll 1
    for (int j = 0; j < HEIGHT + OUTPUTS - 1; j++) {
        const int row = y + j - (CENTRE_Y);
        if (!outside(row, src_at.height))
            add_row(sum, GIVE(src), weights, x, held_row(src_at, edge(row, src_at.height)), j, z);
    }
#pragma unroll
    for (int r = 0; r < OUTPUTS; r++)
        if (y + r < end)
            store(GIVE(dst), x, y + r, z, kept(sum[r], GIVE(src), x, y + r, z));
}
