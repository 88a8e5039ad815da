/* Conversions between colour spaces (src/image/colour/colour.h):
 *
 *     value -> curve of its channel -> 3x3 matrix, or table of 33^3 nodes by tetrahedral interpolation -> curve
 *
 * A curve may be absent. Colour is divided by alpha before and multiplied by it after the conversion; alpha is copied. If
 * one colour of a pixel is NaN, all are. Gray is one channel, on either side.
 *
 * Grid: x counts vecs of pixels (one pixel in images), y rows, z images. A work-item has all channels of its pixels. Order:
 * input channels ascending; of the tetrahedron the nodes from the lowest to the highest. */
#include "planes.h"

#if LANES == 16
typedef float16 lanes;
typedef int16 ints;
#else
typedef float lanes;
typedef int ints;
#endif
#include "curve.h"

#define MAX_CHANNELS 4
#define NODES        33

/* struct conversion of src/stages/profile.c. */
struct conversion {
    int in, out, alpha;       /* channels of colour, and 1 if alpha follows */
    int decode[3], encode[3]; /* start of the curve in the floats; -1: none */
    int grid;                 /* start of the grid; -1: the matrix */
    float matrix[9];          /* [out][in] */
};

/* Loads the colours of LANES pixels, divided by alpha, and applies the first curves. Returns alpha, or 1. */
static inline lanes load_colours(PLANES_IN(src), int x, int y, int z, __global const float *restrict floats,
                                 const struct conversion how, lanes *value)
{
    lanes alpha = 1.0f;
    value[0] = value[1] = value[2] = 0.0f;
#ifdef IMAGES
    const float4 texel = load(PLANES_ARG(src), x, y, z);
    value[0] = texel.x, value[1] = how.in > 1 ? texel.y : 0.0f, value[2] = how.in > 1 ? texel.z : 0.0f;
    if (how.alpha)
        alpha = how.in > 1 ? texel.w : texel.y;
#else
    const int channels = how.in + how.alpha;
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (c < how.in)
            value[c] = load(PLANES_ARG(src), x, y, z * channels + c);
    if (how.alpha)
        alpha = load(PLANES_ARG(src), x, y, z * channels + how.in);
#endif
#pragma unroll
    for (int c = 0; c < 3; c++) {
        if (how.alpha)
            value[c] = alpha > 0.0f ? value[c] / alpha : (lanes)(0.0f);
        if (how.decode[c] >= 0)
            value[c] = curve_lookup(floats + how.decode[c], value[c]);
    }
    return alpha;
}

/* Applies the last curves and stores the colours, multiplied by alpha. */
static inline void store_colours(PLANES_OUT(dst), int x, int y, int z, __global const float *restrict floats,
                                 const struct conversion how, lanes *value, lanes alpha)
{
#pragma unroll
    for (int c = 0; c < 3; c++) {
        if (how.encode[c] >= 0)
            value[c] = curve_lookup(floats + how.encode[c], value[c]);
        if (how.alpha)
            value[c] *= alpha;
    }
#ifdef IMAGES
    const float last = how.alpha ? alpha : 0.0f;
    store(PLANES_ARG(dst), x, y, z,
          how.out > 1 ? (float4)(value[0], value[1], value[2], last) : (float4)(value[0], last, 0.0f, 0.0f));
#else
    const int channels = how.out + how.alpha;
#pragma unroll
    for (int c = 0; c < 3; c++)
        if (c < how.out)
            store(PLANES_ARG(dst), x, y, z * channels + c, value[c]);
    if (how.alpha)
        store(PLANES_ARG(dst), x, y, z * channels + how.out, alpha);
#endif
}

static inline void apply_matrix(const struct conversion how, lanes *value)
{
    const lanes r = value[0], g = value[1], b = value[2];
#pragma unroll
    for (int c = 0; c < 3; c++)
        value[c] = mad(how.matrix[3 * c + 2], b, mad(how.matrix[3 * c + 1], g, how.matrix[3 * c] * r));
}

/* Interpolates in the grid at (r, g, b), which is clipped to 0...1. The cube of eight nodes around it is six tetrahedra. Its
 * tetrahedron's nodes are on the way from the lowest node to the highest, first along the axis with the largest part. */
static inline float4 interpolate(__global const float *restrict grid, float r, float g, float b)
{
    const float at[3] = {r, g, b};
    float part[3];
    int stride[3] = {4 * NODES * NODES, 4 * NODES, 4}, node = 0;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const float inside = at[c] > 0.0f ? at[c] < 1.0f ? at[c] : 1.0f : 0.0f, scaled = inside * (NODES - 1);
        const int cell = min((int)scaled, NODES - 2);
        part[c] = scaled - (float)cell;
        node += cell * stride[c];
    }
    /* Sorts the axes by their parts; equal ones keep their order. */
#define EXCHANGE(i, j)                                                                                                 \
    if (part[j] > part[i]) {                                                                                           \
        const float p = part[i];                                                                                       \
        const int s = stride[i];                                                                                       \
        part[i] = part[j], part[j] = p;                                                                                \
        stride[i] = stride[j], stride[j] = s;                                                                          \
    }
    EXCHANGE(0, 1)
    EXCHANGE(1, 2)
    EXCHANGE(0, 1)
    const float4 a = vload4(0, grid + node), c = vload4(0, grid + node + stride[0]),
                 d = vload4(0, grid + node + stride[0] + stride[1]),
                 e = vload4(0, grid + node + stride[0] + stride[1] + stride[2]);
    return mad(part[2], e - d, mad(part[1], d - c, mad(part[0], c - a, a)));
}

/* Looks the colours up in the grid. The copy leaves `value` in registers for the matrix. */
static inline void apply_grid(__global const float *restrict grid, lanes *value)
{
    lanes v[3] = {value[0], value[1], value[2]};
    float *const red = (float *)&v[0], *const green = (float *)&v[1], *const blue = (float *)&v[2];
#pragma unroll 1
    for (int i = 0; i < LANES; i++) {
        const float r = red[i], g = green[i], b = blue[i];
        const float nan = r + g + b;
        const float4 found = interpolate(grid, r, g, b);
        red[i] = nan == nan ? found.x : nan;
        green[i] = nan == nan ? found.y : nan;
        blue[i] = nan == nan ? found.z : nan;
    }
    value[0] = v[0], value[1] = v[1], value[2] = v[2];
}

NOINLINE void convert_run(PLANES_IN(src), PLANES_OUT(dst), __global const float *restrict floats,
                          const struct conversion how, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        lanes v[3];
        const lanes alpha = load_colours(PLANES_ARG(src), x, y, z, floats, how, v);
        if (how.grid >= 0)
            apply_grid(floats + how.grid, v);
        else
            apply_matrix(how, v);
        store_colours(PLANES_ARG(dst), x, y, z, floats, how, v, alpha);
    }
}

__kernel void convert(PLANES_IN(src), PLANES_OUT(dst), __global const float *restrict floats, const struct conversion how)
{
    convert_run(PLANES_ARG(src), PLANES_ARG(dst), floats, how, WORK_ITEM_ARGS);
}
