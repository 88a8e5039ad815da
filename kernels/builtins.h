/* Declarations of the OpenCL C functions that kernels call, for PoCL. Its compiler would otherwise read clang's
 * opencl-c.h: 18,000 lines, which take 0.15 s of processor time per compiled program and 25 ms per cached one.
 *
 * The host defines opencl-c.h's include guard and puts this text in front of a program. Declarations have the same
 * attributes as in opencl-c.h, so the machine code is the same. Only functions that kernels call are declared: 50
 * declarations take a millisecond per program. If a kernel calls a function that is missing here, the host builds it
 * with opencl-c.h (src/device/program.c). `make lint` reports missing functions, and calls that resolve to another
 * overload than with opencl-c.h. */
#pragma once

#define OVERLOADED __attribute__((overloadable))
#define CONST      __attribute__((overloadable, const))
#define PURE       __attribute__((overloadable, pure))

/* Declares for scalars and for the vectors that `vec` may be (planes.h). */
#define FOR_WIDTHS(declare, type) declare(type, ) declare(type, 4) declare(type, 16)

#define DECLARE_FLOATS(type, n)                                                                                        \
    CONST type##n sqrt(type##n);                                                                                       \
    CONST type##n fabs(type##n);                                                                                       \
    CONST type##n rint(type##n);                                                                                       \
    CONST type##n fmin(type##n, type##n);                                                                              \
    CONST type##n fmax(type##n, type##n);                                                                              \
    CONST type##n copysign(type##n, type##n);                                                                          \
    CONST type##n select(type##n, type##n, int##n);
FOR_WIDTHS(DECLARE_FLOATS, float)
#define DECLARE_FMA(n) CONST float##n fma(float##n, float##n, float##n);
DECLARE_FMA()
DECLARE_FMA(2)
DECLARE_FMA(3)
DECLARE_FMA(4)
DECLARE_FMA(8)
DECLARE_FMA(16)
CONST float4 fmin(float4, float);
CONST float4 fmax(float4, float);
CONST float16 fmax(float16, float);
CONST float3 fabs(float3);
CONST float8 fabs(float8);
CONST float3 fmin(float3, float3);
CONST float ceil(float);

#define DECLARE_ORDER(type, n)                                                                                         \
    CONST type##n min(type##n, type##n);                                                                               \
    CONST type##n max(type##n, type##n);
FOR_WIDTHS(DECLARE_ORDER, int)
FOR_WIDTHS(DECLARE_ORDER, uint)
FOR_WIDTHS(DECLARE_ORDER, float)
DECLARE_ORDER(uchar, 16)
DECLARE_ORDER(ushort, 16)
CONST float4 max(float4, float);
CONST float8 max(float8, float);
CONST float8 min(float8, float);
CONST float16 max(float16, float);
CONST int clamp(int, int, int);
CONST uint clamp(uint, uint, uint);
CONST float clamp(float, float, float);
CONST float3 clamp(float3, float, float);

#define DECLARE_SELECT(type, n) CONST type##n select(type##n, type##n, int##n);
FOR_WIDTHS(DECLARE_SELECT, int)
FOR_WIDTHS(DECLARE_SELECT, uint)

CONST uint abs(int);
CONST uint popcount(uint);
CONST ulong popcount(ulong);
CONST ulong clz(ulong);

#define DECLARE_CONVERSION(from, to)                                                                                   \
    CONST to convert_##to(from);                                                                                       \
    CONST to##16 convert_##to##16(from##16);
DECLARE_CONVERSION(char, float)
DECLARE_CONVERSION(uchar, float)
DECLARE_CONVERSION(short, float)
DECLARE_CONVERSION(ushort, float)
DECLARE_CONVERSION(int, float)
DECLARE_CONVERSION(uint, float)
DECLARE_CONVERSION(float, float)
DECLARE_CONVERSION(uint, uchar)
DECLARE_CONVERSION(uint, ushort)
DECLARE_CONVERSION(int, int)
DECLARE_CONVERSION(float, int)
DECLARE_CONVERSION(uchar, uint)
DECLARE_CONVERSION(ushort, uint)
DECLARE_CONVERSION(uint, uint)
DECLARE_CONVERSION(float, uint)

#define DECLARE_VLOAD(type, n, space)  PURE type##n vload##n(size_t, const space type *);
#define DECLARE_VSTORE(type, n, space) OVERLOADED void vstore##n(type##n, size_t, space type *);
#define DECLARE_MEMORY(type, n)        DECLARE_VLOAD(type, n, __global) DECLARE_VSTORE(type, n, __global)
DECLARE_VLOAD(float, 2, __global)
DECLARE_VLOAD(float, 4, __global)
DECLARE_MEMORY(float, 8)
DECLARE_VLOAD(float, 16, __global)
DECLARE_VLOAD(float, 2, __constant)
DECLARE_VLOAD(float, 4, __constant)
DECLARE_VSTORE(float, 4, __private)
DECLARE_VSTORE(float, 8, __private)
DECLARE_VLOAD(char, 16, __global)
DECLARE_VLOAD(uchar, 16, __global)
DECLARE_VLOAD(short, 16, __global)
DECLARE_VLOAD(ushort, 16, __global)
DECLARE_VLOAD(int, 16, __global)
DECLARE_MEMORY(uint, 16)
DECLARE_MEMORY(uint, 8)
DECLARE_MEMORY(uint, 4)

CONST float4 convert_float4(int4);
CONST int4 convert_int4(float4);
CONST int convert_int_sat(float);
CONST int16 convert_int16(long16);
CONST long16 convert_long16(int16);
PURE float vload_half(size_t, const __global half *);
PURE float16 vload_half16(size_t, const __global half *);
OVERLOADED void vstore_half_rte(float, size_t, __global half *);
OVERLOADED void vstore_half16_rte(float16, size_t, __global half *);

OVERLOADED uint atomic_add(volatile __global uint *, uint);
OVERLOADED uint atomic_inc(volatile __global uint *);
OVERLOADED uint atomic_min(volatile __global uint *, uint);
OVERLOADED uint atomic_max(volatile __global uint *, uint);
OVERLOADED int atomic_max(volatile __global int *, int);

CONST size_t get_global_id(uint);
CONST size_t get_global_size(uint);
CONST size_t get_local_id(uint);
CONST size_t get_local_size(uint);
CONST size_t get_group_id(uint);
CONST size_t get_num_groups(uint);
OVERLOADED __attribute__((convergent)) void barrier(cl_mem_fence_flags);

PURE float4 read_imagef(__read_only image2d_array_t, sampler_t, int4);
OVERLOADED void write_imagef(__write_only image2d_array_t, int4, float4);

#undef OVERLOADED
#undef CONST
#undef PURE
