/* Conversions between colour spaces (src/image/colour/colour.h):
 *
 *     value -> curve of its channel -> 3x3 matrix, or table of 33^3 nodes by tetrahedral interpolation -> curve
 *
 * A curve may be absent. Colour is divided by alpha before and multiplied by it after the conversion; alpha is copied. If
 * one colour of a pixel is NaN, all are. Gray is one channel, on either side.
 *
 *   -DSAMPLE=n  on CPUs, source, destination or both are a file's samples (samples.h) instead of planes
 *
 * Grid: x counts vecs of pixels (one pixel in images), y rows, z images. A work-item has all channels of its pixels: `lanes`
 * (raster.h) are values of LANES pixels in one channel. Order of sums: input channels ascending; of the tetrahedron the nodes
 * from the lowest to the highest. */
#include "raster.h"
#ifdef SAMPLE
#include "samples.h"
#else
#define MAX_CHANNELS 4
#endif
#include "curve.h"
#if LANES == 16
#define COLOURS_UNROLLED 1 /* a single copy of curve_lookup(): three take long to compile */
#else
#define COLOURS_UNROLLED 3
#endif

#define NODES 33

/* struct conversion of src/stages/profile.c. */
struct conversion {
    int in, out, alpha;       /* channels of colour, and 1 if alpha follows */
    int decode[3], encode[3]; /* start of the curve in the floats; -1: none */
    int grid;                 /* start of the table of nodes in the floats; -1: none, the matrix is used */
    float matrix[9];          /* [out][in] */
};

/* Loads the colours of LANES pixels, divided by alpha; of gray only the first. Returns alpha, or 1. */
static inline lanes load_colours(PLANES_IN(src), int x, int y, int z, const struct conversion conversion, lanes *value)
{
    lanes alpha = 1.0f;
#ifdef IMAGES
    const float4 texel = load(PLANES_ARG(src), x, y, z);
    value[0] = texel.x;
    if (conversion.in > 1)
        value[1] = texel.y, value[2] = texel.z;
    if (conversion.alpha)
        alpha = conversion.in > 1 ? texel.w : texel.y;
#else
    const int channels = conversion.in + conversion.alpha;
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (c < conversion.in)
            value[c] = load(PLANES_ARG(src), x, y, z * channels + c);
    if (conversion.alpha)
        alpha = load(PLANES_ARG(src), x, y, z * channels + conversion.in);
#endif
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (conversion.alpha)
            value[c] = alpha > 0.0f ? value[c] / alpha : (lanes)(0.0f);
    return alpha;
}

/* Stores the colours, multiplied by alpha. */
static inline void store_colours(PLANES_OUT(dst), int x, int y, int z, const struct conversion conversion, lanes *value,
                                 lanes alpha)
{
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (conversion.alpha)
            value[c] *= alpha;
#ifdef IMAGES
    const float last = conversion.alpha ? alpha : 0.0f;
    store(PLANES_ARG(dst), x, y, z,
          conversion.out > 1 ? (float4)(value[0], value[1], value[2], last) : (float4)(value[0], last, 0.0f, 0.0f));
#else
    const int channels = conversion.out + conversion.alpha;
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (c < conversion.out)
            store(PLANES_ARG(dst), x, y, z * channels + c, value[c]);
    if (conversion.alpha)
        store(PLANES_ARG(dst), x, y, z * channels + conversion.out, alpha);
#endif
}

/* Interpolates in the grid at (r, g, b), clipped to [0, 1]. The cube of eight nodes around this point is divided into six
 * tetrahedra. The corners of the point's tetrahedron are on a path from the lowest node of the cube to the highest, which
 * follows the axes in descending order of the point's fractions. */
static inline float4 interpolate(__global const float *restrict grid, float r, float g, float b)
{
    const float at[3] = {r, g, b};
    float fraction[3];
    int stride[3] = {4 * NODES * NODES, 4 * NODES, 4}, node = 0;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const float clipped = at[c] > 0.0f ? at[c] < 1.0f ? at[c] : 1.0f : 0.0f, scaled = clipped * (NODES - 1);
        const int cell = min((int)scaled, NODES - 2);
        fraction[c] = scaled - (float)cell;
        node += cell * stride[c];
    }
    /* Sorts the axes by their fractions; equal ones keep their order. */
#define EXCHANGE(i, j)                                                                                                 \
    if (fraction[j] > fraction[i]) {                                                                                   \
        const float f = fraction[i];                                                                                   \
        const int s = stride[i];                                                                                       \
        fraction[i] = fraction[j], fraction[j] = f;                                                                    \
        stride[i] = stride[j], stride[j] = s;                                                                          \
    }
    EXCHANGE(0, 1)
    EXCHANGE(1, 2)
    EXCHANGE(0, 1)
    /* The corners of the tetrahedron along the path. */
    const float4 n0 = vload4(0, grid + node), n1 = vload4(0, grid + node + stride[0]),
                 n2 = vload4(0, grid + node + stride[0] + stride[1]),
                 n3 = vload4(0, grid + node + stride[0] + stride[1] + stride[2]);
    return mad(fraction[2], n3 - n2, mad(fraction[1], n2 - n1, mad(fraction[0], n1 - n0, n0)));
}

/* Looks up the colours in the grid, lane by lane through pointers to a copy. Pointers to `value` itself would force it into
 * memory, also in chains without a grid. */
static inline void apply_grid(__global const float *restrict grid, lanes *value)
{
    lanes v[3] = {value[0], value[1], value[2]};
    float *const red = (float *)&v[0], *const green = (float *)&v[1], *const blue = (float *)&v[2];
#pragma unroll 1
    for (int i = 0; i < LANES; i++) {
        const float r = red[i], g = green[i], b = blue[i];
        const float sum = r + g + b; /* NaN if a colour is */
        const float4 found = interpolate(grid, r, g, b);
        red[i] = sum == sum ? found.x : sum;
        green[i] = sum == sum ? found.y : sum;
        blue[i] = sum == sum ? found.z : sum;
    }
    value[0] = v[0], value[1] = v[1], value[2] = v[2];
}

/* Applies the curves that start at `starts` to `count` vecs. */
static inline void apply_curves(__global const float *restrict floats, const int *starts, lanes (*value)[MAX_CHANNELS],
                                int count)
{
#pragma unroll COLOURS_UNROLLED
    for (int c = 0; c < 3; c++)
        if (starts[c] >= 0)
#pragma unroll 1
            for (int i = 0; i < count; i++)
                value[i][c] = curve_lookup(floats + starts[c], value[i][c]);
}

/* The source is `samples`, or src if that is NULL; the destination is the raster, or dst if that is NULL. */
#ifdef SAMPLE
#define SRC_PARAMS RASTER_IN(read_sample, samples), PLANES_IN(src)
#define SRC_ARGS   RASTER_IN_ARG(samples), PLANES_ARG(src)
#define DST_PARAMS RASTER_OUT(sample, raster), PLANES_OUT(dst)
#define DST_ARGS   RASTER_OUT_ARG(raster), PLANES_ARG(dst)
#else
#define SRC_PARAMS PLANES_IN(src)
#define SRC_ARGS   PLANES_ARG(src)
#define DST_PARAMS PLANES_OUT(dst)
#define DST_ARGS   PLANES_ARG(dst)
#endif

/* Each step loops over all vecs of a call (ITEMS_PER_CALL, planes.h). The steps of one vec depend on each other, but a core
 * overlaps one step of several vecs: to complete vec after vec took 1.4 times as long. */
NOINLINE void convert_run(SRC_PARAMS, DST_PARAMS, __global const float *restrict floats, const struct conversion conversion,
                          WORK_ITEM_PARAMS)
{
    const int first_x = first_item * LANES, y = item_y + dst_at.first_row, z = item_z;
    if (first_x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
        return;
    const int count = ITEMS_PER_CALL == 1 ? 1 : min(ITEMS_PER_CALL, (dst_at.width - first_x + LANES - 1) / LANES);
    lanes v[ITEMS_PER_CALL][MAX_CHANNELS], alpha[ITEMS_PER_CALL];
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        v[i][0] = v[i][1] = v[i][2] = 0.0f; /* the matrix reads all three */
        alpha[i] = 1.0f;                    /* samples have no alpha */
#ifdef SAMPLE
        if (samples)
            load_pixels(v[i], samples + PIXEL_INDEX(samples, first_x + i * LANES, y, 0) * conversion.in, conversion.in);
        else
#endif
            alpha[i] = load_colours(PLANES_ARG(src), first_x + i * LANES, y, z, conversion, v[i]);
    }
    apply_curves(floats, conversion.decode, v, count);
#pragma unroll 1
    for (int i = 0; i < count; i++)
        if (conversion.grid >= 0) {
            apply_grid(floats + conversion.grid, v[i]);
        } else {
            const lanes r = v[i][0], g = v[i][1], b = v[i][2];
            const float *m = conversion.matrix;
#pragma unroll
            for (int c = 0; c < 3; c++)
                v[i][c] = mad(m[3 * c + 2], b, mad(m[3 * c + 1], g, m[3 * c] * r));
        }
    apply_curves(floats, conversion.encode, v, count);
#pragma unroll 1
    for (int i = 0; i < count; i++) {
#ifdef SAMPLE
        if (raster) {
            store_pixels(RASTER_OUT_ARG(raster), first_x + i * LANES, y, v[i], conversion.out, false);
            continue;
        }
#endif
        store_colours(PLANES_ARG(dst), first_x + i * LANES, y, z, conversion, v[i], alpha[i]);
    }
}

__kernel void convert(SRC_PARAMS, DST_PARAMS, __global const float *restrict floats, const struct conversion conversion)
{
    convert_run(SRC_ARGS, DST_ARGS, floats, conversion, WORK_ITEM_ARGS);
}
