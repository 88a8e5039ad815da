/* Access to pixels on the device, for all kernels. One text serves buffers and images, CPUs and GPUs.
 *
 *   -DIMAGES    planes are 2-D image arrays; vec = float4, the channels of one texel
 *   -DLANES=16  planes are buffers; vec = float16, sixteen neighbours along x of one channel (CPU devices)
 *   -DLANES=4   planes are buffers; vec = float4, four neighbours along x of one channel (GPU devices: their memory pipe
 *               counts requests rather than bytes)
 *   -DLANES=1   planes are buffers; vec = float, for kernels that compute one sample at a time
 *
 * The host defines LANES (src/device/launch.c). The defaults of LANES and of other macros are for `make lint`, which
 * compiles each file without options. A layer is one plane per channel: an image, or the real or imaginary part of a subband.
 *
 * A kernel's x counts floats (texels in images), its y counts rows of the whole image, its z counts planes (layers in
 * images). An image may be processed in slices, so the first row in memory is row `first_row` of the image:
 *
 *                       pitch (floats, a multiple of 16)
 *                |------------------------------------------|
 *                | width samples              | padding     |   first_row of plane 0
 *                | ...                                      |
 *                | width samples              | padding     |   first_row + rows - 1
 *                | unused up to plane_rows rows             |
 *                | width samples              | padding     |   first_row of plane 1
 *
 * Because of the padding, a vec that begins inside the width can be stored whole. */
#pragma once
#include "exact.h"

#ifndef LANES
#define LANES 16
#endif

struct geometry {
    int width, height;   /* of the whole image */
    int first_row, rows; /* in memory */
    int pitch;           /* floats from row to row */
    int layers, channels; /* a buffer has layers * channels planes, an image has layers planes of texels */
    int plane_rows;       /* rows from plane to plane */
};

/* The address space of filter weights. -DWEIGHTS=__global if they do not fit into the device's constant memory. */
#ifndef WEIGHTS
#define WEIGHTS __constant
#endif

/* For functions whose arrays must stay in registers. */
#define INLINE static inline __attribute__((always_inline))

/* Outlined kernel bodies. On CPU devices PoCL inlines a kernel into two functions of its own, and optimises and
 * translates all three copies. It does the same to any function that calls get_global_id(). So a kernel of more than a
 * few lines is a call of a function that is not inlined, gets its position as parameters and loops over the work-items
 * of a group:
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
 * Items beyond the image return: all later ones are outside, too. An item that finishes early uses `continue`.
 *
 *   -DITEMS_PER_CALL=n  work-items of a call. The launch defines it on CPU devices, for buffers, if `calls_noinline` of
 *                       struct kernel_launch is set. Without it the function is inlined, and a call has one work-item */
#ifdef ITEMS_PER_CALL
#define NOINLINE static __attribute__((noinline))
#else
#define NOINLINE INLINE
#define ITEMS_PER_CALL 1
#endif
#define WORK_ITEM_PARAMS int first_item, int item_y, int item_z
#define WORK_ITEM_ARGS   get_global_id(0) * ITEMS_PER_CALL, get_global_id(1), get_global_id(2)

#define ROUND_UP(count, unit) (((count) + (unit) - 1) / (unit) * (unit))

/* Unaligned access to sixteen values. The vload16() and vstore16() of PoCL 3.1 are eight accesses to two floats each
 * and eight shuffles. LLVM spends a third of a filter's compilation on merging these, and does not always succeed. Bytes and
 * shorts are stored one by one. */
#if LANES == 16
typedef float16 float16_unaligned __attribute__((aligned(4)));
typedef uchar16 uchar16_unaligned __attribute__((aligned(1)));
typedef ushort16 ushort16_unaligned __attribute__((aligned(2)));
typedef int16 int16_unaligned __attribute__((aligned(4)));
typedef uint16 uint16_unaligned __attribute__((aligned(4)));
#define STORE_SIXTEEN(type, v, p) (*(__global type##16_unaligned *)(p) = (v))
#define store_sixteen(v, p)       (*(float16_unaligned *)(p) = (v)) /* in private memory */

static inline __attribute__((overloadable)) float16 load_sixteen(__global const float *p)
{
    return *(__global const float16_unaligned *)p;
}

static inline __attribute__((overloadable)) float16 load_sixteen(const float *p)
{
    return *(const float16_unaligned *)p;
}
#endif

/* Parameters of planes to read or to write: their samples (name) and their geometry (name_at). */
#ifdef IMAGES
typedef float4 vec;
#define PLANES_IN(name)  __read_only image2d_array_t name, const struct geometry name##_at
#define PLANES_OUT(name) __write_only image2d_array_t name, const struct geometry name##_at
#else
#define PLANES_IN(name)  __global const float *restrict name, const struct geometry name##_at
#define PLANES_OUT(name) __global float *restrict name, const struct geometry name##_at
#if LANES == 16
typedef float16 vec;
#define VLOAD(p)     load_sixteen(p) /* also in private memory */
#define VSTORE(v, p) (*(__global float16 *)(p) = (v)) /* aligned; vstore16 becomes three instructions */
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

/* The plane, z of load() and store(), of channel z of layer l. In buffers the planes of a layer are adjacent; in images a layer
 * is one plane of texels. */
#ifdef IMAGES
#define PLANE_INDEX(l, z, channels) (l)
#else
#define PLANE_INDEX(l, z, channels) ((l) * (channels) + (z))
#endif
/* Passes a PLANES_IN or PLANES_OUT parameter to a function that has the same one. */
#define PLANES_ARG(name) name, name##_at

/* Returns the index of sample (x, y) of plane z in a buffer. */
static inline size_t offset(const struct geometry at, int x, int y, int z)
{
    return ((size_t)z * at.plane_rows + (size_t)(y - at.first_row)) * at.pitch + x;
}

#ifdef IMAGES
/* Reads texels at integer coordinates, without filtering and without a border rule. */
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

/* Prefetches a cache line. OpenCL's prefetch() does nothing in PoCL 3.1. Other targets have address spaces, which
 * __builtin_prefetch() does not take. */
#if defined __x86_64__ || defined __aarch64__
#define PREFETCH(p) __builtin_prefetch((const void *)(size_t)(p))
#else
#define PREFETCH(p)
#endif

/* Returns true if v is neither NaN nor infinite: otherwise v - v is NaN. */
static inline bool is_finite(float v)
{
    return v - v == 0.0f;
}

/* Returns true if all lanes are finite, and not so large that their sum overflows. */
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

/* Returns the sum of the lanes, added in pairs. */
static inline float sum_lanes(float8 v)
{
    return ((v.s0 + v.s1) + (v.s2 + v.s3)) + ((v.s4 + v.s5) + (v.s6 + v.s7));
}

/* Returns one channel of a texel. */
static inline float component(float4 v, int channel)
{
    return channel == 0 ? v.x : channel == 1 ? v.y : channel == 2 ? v.z : v.w;
}

/* Returns the component of v for a channel, in all lanes of a vec; in images v itself, as a texel has all channels. */
static inline vec channel_value(float4 v, int channel)
{
#ifdef IMAGES
    return v;
#else
    return component(v, channel);
#endif
}

/* Clamps y to the rows in memory. */
static inline int clamp_row(const struct geometry at, int y)
{
    return clamp(y, at.first_row, at.first_row + at.rows - 1);
}

/* Returns `value`, but `original` for channel `alpha_channel` (-1: no alpha), which a stage leaves unchanged. */
static inline vec select_alpha(vec value, vec original, int z, int channels, int alpha_channel)
{
#ifdef IMAGES
    return select(value, original, (int4)(0, 1, 2, 3) == (int4)(alpha_channel));
#else
    return alpha_channel >= 0 && z % channels == alpha_channel ? original : value; /* divides only if there is alpha */
#endif
}

/* Returns full scale for the colour of a pixel: its alpha (channel `alpha`), as colour is premultiplied, or 1 without
 * alpha (-1). In images `value` is the texel at x, y. In buffers plane `alpha` has it: pictures with alpha are never in a group. */
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

/* Returns the value at which colour is clipped: full scale, or 0 if interpolation made alpha negative. */
static inline vec clip_limit(vec full)
{
    return full > 0.0f ? full : (vec)(0.0f);
}
