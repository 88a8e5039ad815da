/* Arithmetic that gives the same bits on every device.
 *
 * A kernel's text defines the order of its operations, and each of these is correctly rounded: + - *, division and sqrt() (the host asks
 * for them where the device has a choice), fma(). Compilers contract nothing by themselves: where a product is added, the
 * kernel says mad(), which rounds once. Two kernels for one purpose (wide and grouped) sum in the same order: a filter's
 * taps one after the other in ascending order, from 0 on, first along y. A weight of 0 changes nothing then, so windows may
 * be longer than a filter. Functions such as exp() or sin(), which each device rounds differently, are written here, where a kernel needs
 * them. Denormal numbers are kept.
 *
 *   -DNO_FMA  the device has no fused multiply-add, or a slow one: its results differ in the last bit */
#pragma once
#pragma OPENCL FP_CONTRACT OFF

#ifdef NO_FMA
#define FUSE(a, b, c) ((a) * (b) + (c))
#else
#define FUSE(a, b, c) fma(a, b, c)
#endif
#define DEFINE_MULTIPLY_ADD(type)                                                                                      \
    static inline __attribute__((overloadable, always_inline)) type multiply_add(type a, type b, type c)              \
    {                                                                                                                  \
        return FUSE(a, b, c);                                                                                          \
    }                                                                                                                  \
    static inline __attribute__((overloadable, always_inline)) type multiply_add(type a, float b, type c)             \
    {                                                                                                                  \
        return FUSE(a, (type)(b), c);                                                                                  \
    }                                                                                                                  \
    static inline __attribute__((overloadable, always_inline)) type multiply_add(float a, type b, type c)             \
    {                                                                                                                  \
        return FUSE((type)(a), b, c);                                                                                  \
    }
DEFINE_MULTIPLY_ADD(float2)
DEFINE_MULTIPLY_ADD(float3)
DEFINE_MULTIPLY_ADD(float4)
DEFINE_MULTIPLY_ADD(float8)
DEFINE_MULTIPLY_ADD(float16)

static inline __attribute__((overloadable, always_inline)) float multiply_add(float a, float b, float c)
{
    return FUSE(a, b, c);
}

#undef mad
#define mad(a, b, c) multiply_add(a, b, c)
