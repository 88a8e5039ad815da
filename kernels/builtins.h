/* The functions of OpenCL C that kernels call, for PoCL, whose compiler would read clang's opencl-c.h otherwise: 18,000
 * lines, which take 0.15 s of a processor for each program that is compiled and 25 ms for each that was compiled before.
 * The host defines that header's guard and puts this text before a program's. Attributes are the header's, so that the
 * machine code is the same. A call that finds no function here makes the host build with opencl-c.h (program.c);
 * `make lint` finds it, and one that would take another function than there. */
#pragma once

#define OVERLOADED __attribute__((overloadable))
#define CONST      __attribute__((overloadable, const))
#define PURE       __attribute__((overloadable, pure))

#define FOR_WIDTHS(declare, type) declare(type, ) FOR_VECTORS(declare, type)
#define FOR_VECTORS(declare, type) declare(type, 2) declare(type, 3) declare(type, 4) declare(type, 8) declare(type, 16)

#define DECLARE_FLOATS(type, n)                                                                                        \
    CONST type##n sqrt(type##n);                                                                                       \
    CONST type##n rsqrt(type##n);                                                                                      \
    CONST type##n fabs(type##n);                                                                                       \
    CONST type##n rint(type##n);                                                                                       \
    CONST type##n ceil(type##n);                                                                                       \
    CONST type##n fmin(type##n, type##n);                                                                              \
    CONST type##n fmax(type##n, type##n);                                                                              \
    CONST type##n pow(type##n, type##n);                                                                               \
    CONST type##n copysign(type##n, type##n);                                                                          \
    CONST type##n atan2pi(type##n, type##n);                                                                           \
    CONST type##n select(type##n, type##n, int##n);
FOR_WIDTHS(DECLARE_FLOATS, float)

#define DECLARE_FLOATS_AND_ONE(type, n)                                                                                \
    CONST type##n fmin(type##n, type);                                                                                 \
    CONST type##n fmax(type##n, type);
FOR_VECTORS(DECLARE_FLOATS_AND_ONE, float)

#define DECLARE_ORDER(type, n)                                                                                         \
    CONST type##n min(type##n, type##n);                                                                               \
    CONST type##n max(type##n, type##n);                                                                               \
    CONST type##n clamp(type##n, type##n, type##n);
FOR_WIDTHS(DECLARE_ORDER, uchar)
FOR_WIDTHS(DECLARE_ORDER, ushort)
FOR_WIDTHS(DECLARE_ORDER, int)
FOR_WIDTHS(DECLARE_ORDER, uint)
FOR_WIDTHS(DECLARE_ORDER, float)

#define DECLARE_ORDER_OF_ONE(type, n)                                                                                  \
    CONST type##n min(type##n, type);                                                                                  \
    CONST type##n max(type##n, type);                                                                                  \
    CONST type##n clamp(type##n, type, type);
FOR_VECTORS(DECLARE_ORDER_OF_ONE, int)
FOR_VECTORS(DECLARE_ORDER_OF_ONE, uint)
FOR_VECTORS(DECLARE_ORDER_OF_ONE, float)

#define DECLARE_INTEGERS(type, n) CONST type##n select(type##n, type##n, int##n);
FOR_WIDTHS(DECLARE_INTEGERS, int)
FOR_WIDTHS(DECLARE_INTEGERS, uint)

CONST uint abs(int);
CONST uint popcount(uint);
CONST ulong popcount(ulong);
CONST ulong clz(ulong);

#define DECLARE_CONVERSION(from, to, n) CONST to##n convert_##to##n(from##n);
#define DECLARE_CONVERSIONS(type, n)                                                                                   \
    DECLARE_CONVERSION(type, char, n)                                                                                  \
    DECLARE_CONVERSION(type, uchar, n)                                                                                 \
    DECLARE_CONVERSION(type, short, n)                                                                                 \
    DECLARE_CONVERSION(type, ushort, n)                                                                                \
    DECLARE_CONVERSION(type, int, n)                                                                                   \
    DECLARE_CONVERSION(type, uint, n)                                                                                  \
    DECLARE_CONVERSION(type, float, n)
#define DECLARE_MEMORY(type, n, space)                                                                                 \
    PURE type##n vload##n(size_t, const space type *);                                                                 \
    OVERLOADED void vstore##n(type##n, size_t, space type *);
#define DECLARE_VECTORS_IN_MEMORY(type, n)                                                                             \
    DECLARE_MEMORY(type, n, __global)                                                                                  \
    DECLARE_MEMORY(type, n, __local)                                                                                   \
    DECLARE_MEMORY(type, n, __private)                                                                                 \
    PURE type##n vload##n(size_t, __constant const type *);
#define DECLARE_SAMPLES(type)                                                                                          \
    DECLARE_CONVERSIONS(type, )                                                                                        \
    DECLARE_CONVERSIONS(type, 16)                                                                                      \
    FOR_VECTORS(DECLARE_VECTORS_IN_MEMORY, type)
DECLARE_SAMPLES(char)
DECLARE_SAMPLES(uchar)
DECLARE_SAMPLES(short)
DECLARE_SAMPLES(ushort)
DECLARE_SAMPLES(int)
DECLARE_SAMPLES(uint)
DECLARE_SAMPLES(float)

CONST int convert_int_sat(float);
PURE float vload_half(size_t, const __global half *);
PURE float16 vload_half16(size_t, const __global half *);
OVERLOADED void vstore_half_rte(float, size_t, __global half *);
OVERLOADED void vstore_half16_rte(float16, size_t, __global half *);

#define DECLARE_ATOMIC(type, space)                                                                                    \
    OVERLOADED type atomic_add(volatile space type *, type);                                                           \
    OVERLOADED type atomic_max(volatile space type *, type);                                                           \
    OVERLOADED type atomic_inc(volatile space type *);
DECLARE_ATOMIC(int, __global)
DECLARE_ATOMIC(int, __local)
DECLARE_ATOMIC(uint, __global)
DECLARE_ATOMIC(uint, __local)

CONST size_t get_global_id(uint);
CONST size_t get_global_size(uint);
CONST size_t get_local_id(uint);
CONST size_t get_local_size(uint);
CONST size_t get_group_id(uint);
CONST size_t get_num_groups(uint);
OVERLOADED __attribute__((convergent)) void barrier(cl_mem_fence_flags);

PURE float4 read_imagef(__read_only image2d_array_t, sampler_t, int4);
OVERLOADED void write_imagef(__write_only image2d_array_t, int4, float4);

#undef CONST
#undef PURE
