/* Pixels on the device, for every kernel: one text for buffers and images, for wide and narrow work-items.
 *
 *   -DIMAGES    planes are 2-D image arrays; pixel = float4, the channels of one texel
 *   -DLANES=16  planes are buffers; pixel = float16, sixteen neighbours along x (wide: CPU devices)
 *   -DLANES=4   planes are buffers; pixel = float4, four neighbours along x (grouped: GPU devices, whose memory
 *               pipe counts requests rather than bytes)
 *   -DLANES=1   planes are buffers; pixel = float, for kernels that hold windows of their own
 *
 * A kernel sees x in floats (texels for images), y in rows of the whole image, z in planes (layers for images).
 * Rows of a buffer are padded to a multiple of 16 floats, so a pixel may be stored past the width. */
#pragma once
#include "exact.h"

#ifndef LANES
#define LANES 16
#endif

struct geometry {
    int width, height;   /* of the whole image */
    int first_row, rows; /* those held here */
    int pitch;           /* floats from row to row */
    int layers, channels;
    int plane_rows;         /* rows from plane to plane */
};

/* Where filter weights lie: -DWEIGHTS=__global for those that do not fit the device's constant memory. */
#ifndef WEIGHTS
#define WEIGHTS __constant
#endif

/* For functions whose arrays must stay in registers. */
#define INLINE static inline __attribute__((always_inline))

/* PoCL, on CPU devices, calls a kernel from two functions of its own, puts it into both, and optimises and translates all
 * three; so it would a function that asks for its place. So a kernel of more than a few lines calls a function that stands
 * apart, is told its place, and goes along the work-items of a group by itself:
 *
 *     NOINLINE void foo_run(PLANES_IN(src), PLANES_OUT(dst), WORK_ITEM_PARAMS)
 *     {
 *     #pragma unroll 1
 *         for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
 *             const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
 *             ...
 *         }
 *     }
 *
 *     __kernel void foo(PLANES_IN(src), PLANES_OUT(dst))
 *     {
 *         foo_run(PLANES_ARG(src), PLANES_ARG(dst), WORK_ITEM_ARGS);
 *     }
 *
 * An item that is past the end returns, as those after it are, too; one that is done before its end continues.
 *
 *   -DITEMS_PER_CALL=n  so many work-items are one. The launch gives it on CPU devices, for buffers, where struct work says `apart`;
 *            without it a function is part of its kernel, and there is one item to go along */
#ifdef ITEMS_PER_CALL
#define NOINLINE static __attribute__((noinline))
#else
#define NOINLINE INLINE
#define ITEMS_PER_CALL   1
#endif
#define WORK_ITEM_PARAMS      int first_item, int item_y, int item_z
#define WORK_ITEM_ARGS get_global_id(0) * ITEMS_PER_CALL, get_global_id(1), get_global_id(2)

#define ROUND_UP(count, unit) (((count) + (unit) - 1) / (unit) * (unit))

/* Sixteen neighbours anywhere in memory, as one: the vload16() and vstore16() of PoCL 3.1 are eight of two neighbours each
 * and as many shuffles. To put them together again takes a third of LLVM's passes over a filter, if they do. */
#if LANES == 16
struct __attribute__((packed)) sixteen {
    float16 all;
};

static inline __attribute__((overloadable)) float16 load_sixteen(__global const float *p)
{
    return ((__global const struct sixteen *)p)->all;
}

static inline __attribute__((overloadable)) float16 load_sixteen(const float *p)
{
    return ((const struct sixteen *)p)->all;
}

static inline void store_line(float16 v, float *p)
{
    ((struct sixteen *)p)->all = v;
}
#endif

#ifdef IMAGES
typedef float4 vec;
#define PLANES_IN(name) __read_only image2d_array_t name, const struct geometry name##_at
#define PLANES_OUT(name) __write_only image2d_array_t name, const struct geometry name##_at
#else
#define PLANES_IN(name) __global const float *restrict name, const struct geometry name##_at
#define PLANES_OUT(name) __global float *restrict name, const struct geometry name##_at
#if LANES == 16
typedef float16 vec;
#define VLOAD(p)     load_sixteen(p) /* in private memory, too */
#define VSTORE(v, p) (*(__global float16 *)(p) = (v)) /* aligned: vstore16 becomes three instructions */
#elif LANES == 4
typedef float4 vec;
#define VLOAD(p)     (*(__global const float4 *)(p)) /* x is a multiple of 4 */
#define VSTORE(v, p) (*(__global float4 *)(p) = (v))
#else
typedef float vec;
#define VLOAD(p)     (*(p))
#define VSTORE(v, p) (*(p) = (v))
#endif
#endif
/* The z of layer l (a subband, say) for a kernel whose own z counts the planes of one layer: buffers hold all
 * the planes of a layer together, images hold a layer in one texel. */
#ifdef IMAGES
#define PLANE_INDEX(l, z, channels) (l)
#else
#define PLANE_INDEX(l, z, channels) ((l) * (channels) + (z))
#endif
/* Hands a PLANES_IN or PLANES_OUT on to a function that takes one. */
#define PLANES_ARG(name) name, name##_at

/* Where a float lies in a buffer. */
static inline size_t offset(const struct geometry at, int x, int y, int z)
{
    return ((size_t)z * at.plane_rows + (size_t)(y - at.first_row)) * at.pitch + x;
}

#ifdef IMAGES
__constant sampler_t TEXELS = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;

static inline vec load(PLANES_IN(s), int x, int y, int z)
{
    return read_imagef(s, TEXELS, (int4)(x, y - s_at.first_row, z, 0));
}

static inline void store(PLANES_OUT(t), int x, int y, int z, vec value)
{
    write_imagef(t, (int4)(x, y - t_at.first_row, z, 0), value);
}
#else
static inline vec load(PLANES_IN(s), int x, int y, int z)
{
    return VLOAD(s + offset(s_at, x, y, z));
}

static inline void store(PLANES_OUT(t), int x, int y, int z, vec value)
{
    VSTORE(value, t + offset(t_at, x, y, z));
}
#endif

static inline bool is_finite(float v)
{
    return v - v == 0.0f;
}

/* True if all lanes are finite, and not so large that their sum is not. */
static inline bool are_finite(vec v)
{
#if LANES == 16
    const float8 a = v.lo + v.hi;
    const float4 b = a.lo + a.hi;
    return is_finite(b.x + b.y + b.z + b.w);
#elif LANES == 4 || defined(IMAGES)
    return is_finite(v.x + v.y + v.z + v.w);
#else
    return is_finite(v);
#endif
}

static inline int clamp_row(const struct geometry at, int y)
{
    return clamp(y, at.first_row, at.first_row + at.rows - 1);
}

/* `value`, but `original` for the channel `keep` (-1: none): alpha that a stage leaves alone. */
static inline vec select_alpha(vec value, vec original, int z, int channels, int alpha_channel)
{
#ifdef IMAGES
    return select(value, original, (int4)(0, 1, 2, 3) == (int4)(alpha_channel));
#else
    return alpha_channel >= 0 && z % channels == alpha_channel ? original : value; /* the division only where there is alpha */
#endif
}

/* Full scale for the colour of a pixel whose value is given: its alpha (channel `alpha`), as colour is premultiplied;
 * one where there is none (-1). */
static inline vec full_scale(PLANES_IN(s), vec value, int x, int y, int alpha)
{
    if (alpha < 0)
        return 1.0f;
#ifdef IMAGES
    return alpha == 1 ? value.y : value.w;
#else
    return load(PLANES_ARG(s), x, y, alpha);
#endif
}
