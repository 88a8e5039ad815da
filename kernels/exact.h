/* Arithmetic that gives the same bits on every device. Every kernel includes this file, through planes.h.
 *
 *   1. The kernel's text fixes the order of its operations.
 *   2. Each operation is correctly rounded: + - *, division, sqrt() and fma(). The host requests correctly rounded
 *      division and roots if the device has a choice.
 *   3. Compilers contract nothing by themselves (FP_CONTRACT OFF). To add a product, a kernel calls mad(), which rounds once.
 *   4. The CPU and the GPU variant of a kernel sum in the same order: the taps of a filter in ascending order, from 0 on,
 *      first along y, then along x. A weight of 0 does not change a finite sum, so a window may be longer than a filter.
 *   5. Functions that devices round differently, such as exp(), sin() and pow(), are series in these operations (power.h,
 *      warp.h).
 *   6. Denormal numbers are not flushed to 0.
 *
 *   -DNO_FMA  the device has no fused multiply-add, or a slow one. mad() then rounds twice, and the last bit may differ
 *             from other devices */
#pragma once
#pragma OPENCL FP_CONTRACT OFF

#ifdef NO_FMA
#define FUSE(a, b, c) ((a) * (b) + (c))
#else
#define FUSE(a, b, c) fma(a, b, c)
#endif

/* Defines multiply_add() for a vector type. One of the factors may be a scalar. */
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

/* Defines conversions of a scalar or a vector, lane by lane: bits_of_float() returns the bits of a float,
 * float_from_bits() the float of these bits, to_float() the value of an integer. */
#define DEFINE_BITS(n)                                                                                                 \
    static inline __attribute__((overloadable, always_inline)) int##n bits_of_float(float##n v)                        \
    {                                                                                                                  \
        return as_int##n(v);                                                                                           \
    }                                                                                                                  \
    static inline __attribute__((overloadable, always_inline)) float##n float_from_bits(int##n v)                      \
    {                                                                                                                  \
        return as_float##n(v);                                                                                         \
    }                                                                                                                  \
    static inline __attribute__((overloadable, always_inline)) float##n to_float(int##n v)                             \
    {                                                                                                                  \
        return convert_float##n(v);                                                                                    \
    }
DEFINE_BITS()
DEFINE_BITS(4)
DEFINE_BITS(16)
