/* A two-dimensional convolution of one channel in the steps of 2011, each one better than the last. The source has a margin
 * of clamped pixels, so that no step has to care for borders:
 *
 *     dst[x, y] = sum over j < taps_y, i < taps_x of taps[j * taps_x + i] * src[x + i, y + j]
 *
 *   -DIMAGES         src is an image of one float a texel; of four neighbours a texel for matrix_four
 *   -DTAPS_SPACE=s   __global or __constant
 *   -DVECTOR_TAPS    taps are float4
 *   -DTAPS_X=n -DTAPS_Y=n -DPITCH=n   the sizes at build time, and loops unrolled; else they are arguments
 *
 * pitch: floats from row to row of the source. taps_x and pitch are multiples of 4. tile: local memory for the pixels of
 * a group; float4, or it would not be aligned for them. */
#ifdef TAPS_X
#define SIZES const int given_taps_x, const int given_taps_y, const int given_pitch
#define taps_x TAPS_X
#define taps_y TAPS_Y
#define pitch  PITCH
#define UNROLL _Pragma("unroll")
#else
#define SIZES const int taps_x, const int taps_y, const int pitch
#define UNROLL
#endif

#ifdef IMAGES
#define SOURCE __read_only image2d_array_t src
__constant sampler_t TEXELS = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
#else
#define SOURCE __global const float *restrict src
#endif
#ifdef VECTOR_TAPS
#define TAPS TAPS_SPACE const float4 *restrict taps
#else
#define TAPS TAPS_SPACE const float *restrict taps
#endif
#define ARGUMENTS SOURCE, __global float *restrict dst, TAPS, __local float4 *tile, SIZES, const int width

#ifdef IMAGES
#define ONE(i, j) read_imagef(src, TEXELS, (int4)(i, j, 0, 0)).x
#else
#define ONE(i, j) src[(j) * pitch + (i)]
#endif

#ifndef VECTOR_TAPS
/* Reads every tap's pixel from global memory. Groups of 64 x 1 are the naive form; in groups of 16 x 16 neighbours share
 * the texture cache. */
__kernel void matrix(ARGUMENTS)
{
    const int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int j = 0; j < taps_y; j++)
        for (int i = 0; i < taps_x; i++)
            sum += taps[j * taps_x + i] * ONE(x + i, y + j);
    dst[(size_t)y * width + x] = sum;
}

#ifndef IMAGES
/* The same from local memory: a group of 16 x 16 loads what its outputs share. */
__kernel void matrix_tile(ARGUMENTS)
{
    const int lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    const int span = 15 + taps_x, rows = 15 + taps_y;
    __local float *pixels = (__local float *)tile;
    for (int j = ly; j < rows; j += 16)
        for (int i = lx; i < span; i += 16)
            pixels[j * span + i] = ONE(x - lx + i, y - ly + j);
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int j = 0; j < taps_y; j++)
        for (int i = 0; i < taps_x; i++)
            sum += taps[j * taps_x + i] * pixels[(ly + j) * span + lx + i];
    dst[(size_t)y * width + x] = sum;
}
#endif
#endif

/* Four neighbouring outputs a work-item, from float4 pixels: four taps meet two of them, v and next. */
#define ADD_FOUR(sum, v, next, t0, t1, t2, t3)                                                                         \
    sum += (t0) * (v);                                                                                                 \
    sum += (t1) * (float4)((v).yzw, (next).x);                                                                         \
    sum += (t2) * (float4)((v).zw, (next).xy);                                                                         \
    sum += (t3) * (float4)((v).w, (next).xyz)

#ifdef VECTOR_TAPS
#define ADD(sum, v, next, first)                                                                                       \
    {                                                                                                                  \
        const float4 t = taps[(first) / 4];                                                                            \
        ADD_FOUR(sum, v, next, t.x, t.y, t.z, t.w);                                                                    \
    }
#else
#define ADD(sum, v, next, first)                                                                                       \
    ADD_FOUR(sum, v, next, taps[first], taps[(first) + 1], taps[(first) + 2], taps[(first) + 3])
#endif

/* A group of 16 x 16 has 64 x 16 outputs. */
__kernel void matrix_four(ARGUMENTS)
{
    const int lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
#ifdef IMAGES
#define FOUR(i, j) read_imagef(src, TEXELS, (int4)(x + (i), y + (j), 0, 0))
#else
    __global const float4 *four = (__global const float4 *)src;
    const int span = 16 + taps_x / 4, rows = 15 + taps_y;
    for (int j = ly; j < rows; j += 16)
        for (int i = lx; i < span; i += 16)
            tile[j * span + i] = four[(y - ly + j) * (pitch / 4) + x - lx + i];
    barrier(CLK_LOCAL_MEM_FENCE);
#define FOUR(i, j) tile[(ly + (j)) * span + lx + (i)]
#endif
    float4 sum = 0.0f;
    UNROLL for (int j = 0; j < taps_y; j++)
    {
        float4 v = FOUR(0, j);
        UNROLL for (int i = 0; i < taps_x; i += 4)
        {
            const float4 next = FOUR(i / 4 + 1, j);
            ADD(sum, v, next, j * taps_x + i);
            v = next;
        }
    }
    *(__global float4 *)(dst + (size_t)y * width + 4 * x) = sum;
}
