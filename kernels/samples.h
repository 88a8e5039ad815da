/* A file's samples, interleaved and of its own type, for kernels that are built with them.
 *
 *   -DSAMPLE=n    0 uint8, 1 uint16, 2 uint32, 3 half, 4 float, 6 int8, 7 int16, 8 int32
 *   -DCHANNELS=n  1 to 4, -DCOLOURS=n those of them that are not alpha
 *   -DDIVIDE_FIRST  unpack: divide colour by alpha (0 where alpha is not positive)
 *   -DMULTIPLY    unpack: multiply colour by alpha
 *   -DDIVIDE      pack: divide colour by alpha
 *   -DROUNDED     pack: alpha as small as rounding in a wavelet transform leaves of 0 is 0
 *   -DLINEAR      unpack decodes to linear light, pack encodes: the curve is sRGB's (IEC 61966-2-1), or
 *   -DGAMMA       the power law of `exponent`
 *   -DRANGE       unpack maps colour: range.x becomes 0, range.x + 1 / range.y full scale; pack goes back
 *   -DCOUNT       pack counts values that samples cannot hold
 *
 * A raster's pitch is a multiple of 16 pixels, so vectors may run past the width. The rasters of a group lie one after
 * the other, `rows` apart: raster z. */
#pragma once
#include "planes.h"

#ifndef SAMPLE
#define SAMPLE 0
#endif
#ifndef CHANNELS
#define CHANNELS 3
#endif
#ifndef COLOURS
#define COLOURS CHANNELS
#endif
#ifndef COUNTED_ROWS
#define COUNTED_ROWS 64
#endif

#define READ_RASTER(name) __global const sample *restrict name, int name##_pitch, int name##_row, int name##_rows
#define GIVE_READ_RASTER(name) name, name##_pitch, name##_row, name##_rows

/* One that is written has its width and, where pack counts, counters (count_clipped). */
#define RASTER(name)                                                                                                        \
    __global sample *restrict name, int name##_pitch, int name##_row, int name##_rows, int name##_width, __global uint *name##_clipped
#define GIVE_RASTER(name) name, name##_pitch, name##_row, name##_rows, name##_width, name##_clipped

/* Where the pixel's samples begin. */
#define PIXEL_AT(name, x, y, z) \
    (name + (((size_t)(z) * name##_rows + (y) - name##_row) * name##_pitch + (x)) * CHANNELS)

#if SAMPLE == 0
typedef uchar sample;
#define RAW(n)      uchar##n
#define FULL_SCALE  255.0f
#elif SAMPLE == 1
typedef ushort sample;
#define RAW(n)      ushort##n
#define FULL_SCALE  65535.0f
#elif SAMPLE == 2
typedef uint sample;
#define RAW(n)      uint##n
#define SATURATE(n) convert_uint##n##_sat_rte
#define FULL_SCALE  4294967295.0f
#elif SAMPLE == 6
typedef char sample;
#define RAW(n)      char##n
#define SATURATE(n) convert_char##n##_sat_rte
#define FULL_SCALE  127.0f
#elif SAMPLE == 7
typedef short sample;
#define RAW(n)      short##n
#define SATURATE(n) convert_short##n##_sat_rte
#define FULL_SCALE  32767.0f
#elif SAMPLE == 8
typedef int sample;
#define RAW(n)      int##n
#define SATURATE(n) convert_int##n##_sat_rte
#define FULL_SCALE  2147483647.0f
#elif SAMPLE == 3
typedef half sample;
#define RAW(n)      float##n
#else
typedef float sample;
#define RAW(n)      float##n
#endif

#if LANES == 16
typedef float16 lanes;
typedef RAW(16) raw;
#define TO_LANES(v) convert_float16(v)
#define LANE_BITS(v) as_uint16(v)
#define SATURATE_LANES(v) SATURATE(16)(v)
#if SAMPLE == 3
#define RAW_LOAD(i, p) vload_half16(i, p)
#define RAW_STORE(v, i, p) vstore_half16_rte(v, i, p)
#else
#define RAW_LOAD(i, p) vload16(i, p)
#define RAW_STORE(v, i, p) vstore16(v, i, p)
#endif
#else
typedef float lanes;
typedef RAW() raw;
#define TO_LANES(v) convert_float(v)
#define LANE_BITS(v) as_uint(v)
#define SATURATE_LANES(v) SATURATE()(v)
#if SAMPLE == 3
#define RAW_LOAD(i, p) vload_half(i, p)
#define RAW_STORE(v, i, p) vstore_half_rte(v, i, p)
#else
#define RAW_LOAD(i, p) ((p)[i])
#define RAW_STORE(v, i, p) ((p)[i] = (v))
#endif
#endif

/* What pack makes of a channel: samples, or wider integers where those are cheaper to join. */
#if SAMPLE == 0 && LANES == 16 && CHANNELS >= 3
#define WORDS
typedef uint16 counts;
#define TO_COUNTS(v) (v)
#else
typedef raw counts;
#if LANES == 1
#define TO_COUNTS(v) ((raw)(v))
#elif SAMPLE == 0
#define TO_COUNTS(v) convert_uchar16(v)
#else
#define TO_COUNTS(v) convert_ushort16(v)
#endif
#endif

static inline lanes decode(lanes v, float exponent)
{
#ifdef GAMMA
    return copysign(pow(fabs(v), (lanes)(exponent)), v);
#else
    const lanes a = fabs(v);
    return copysign(select(pow((a + 0.055f) / 1.055f, (lanes)(2.4f)), a / 12.92f, a <= 0.04045f), v);
#endif
}

static inline lanes encode(lanes v, float exponent)
{
#ifdef GAMMA
    return copysign(pow(fabs(v), (lanes)(1.0f / exponent)), v);
#else
    const lanes a = fabs(v);
    return copysign(select(1.055f * pow(a, (lanes)(1.0f / 2.4f)) - 0.055f, a * 12.92f, a <= 0.0031308f), v);
#endif
}

static inline lanes divide(lanes colour, lanes alpha)
{
    return select((lanes)(0.0f), colour / alpha, alpha > 0.0f);
}

/* Alpha as pack takes it. A transform there and back leaves some 1e-7 of alpha that was 0, and would divide colour by it that
 * was spread there. */
static inline lanes settle_alpha(lanes alpha)
{
#ifdef ROUNDED
    return select(alpha, (lanes)(0.0f), fabs(alpha) < 0x1p-20f);
#else
    return alpha;
#endif
}

/* The channels of LANES neighbouring pixels, each in a vector of its own. */
static inline void split(raw *channel, __global const sample *p)
{
#if LANES == 1
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        channel[c] = RAW_LOAD(c, p);
#elif CHANNELS == 1
    channel[0] = RAW_LOAD(0, p);
#else
    const raw a = RAW_LOAD(0, p), b = RAW_LOAD(1, p);
#if CHANNELS == 2
    channel[0] = (raw)(a.even, b.even);
    channel[1] = (raw)(a.odd, b.odd);
#elif CHANNELS == 3
    const raw c = RAW_LOAD(2, p);
    channel[0] = (raw)(a.s0, a.s3, a.s6, a.s9, a.sc, a.sf, b.s2, b.s5, b.s8, b.sb, b.se, c.s1, c.s4, c.s7, c.sa, c.sd);
    channel[1] = (raw)(a.s1, a.s4, a.s7, a.sa, a.sd, b.s0, b.s3, b.s6, b.s9, b.sc, b.sf, c.s2, c.s5, c.s8, c.sb, c.se);
    channel[2] = (raw)(a.s2, a.s5, a.s8, a.sb, a.se, b.s1, b.s4, b.s7, b.sa, b.sd, c.s0, c.s3, c.s6, c.s9, c.sc, c.sf);
#else
    const raw c = RAW_LOAD(2, p), d = RAW_LOAD(3, p);
    channel[0] = (raw)(a.even.even, b.even.even, c.even.even, d.even.even);
    channel[1] = (raw)(a.odd.even, b.odd.even, c.odd.even, d.odd.even);
    channel[2] = (raw)(a.even.odd, b.even.odd, c.even.odd, d.even.odd);
    channel[3] = (raw)(a.odd.odd, b.odd.odd, c.odd.odd, d.odd.odd);
#endif
#endif
}

/* The pixels from x on, a channel a vector, 1 for full scale. */
static inline void load_pixels(lanes *value, READ_RASTER(raster), int x, int y, int z)
{
    raw channel[CHANNELS];
    split(channel, PIXEL_AT(raster, x, y, z));
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
#ifdef FULL_SCALE
        value[c] = TO_LANES(channel[c]) * (1.0f / FULL_SCALE);
#else
        value[c] = channel[c];
#endif
}

/* Rounds half to even to a multiple of `unit`, for 0 <= v < 2^23 units: above 2^23 units a float has no smaller
 * step. One addition; the rint() of PoCL 3.1 takes six instructions. */
#define RAISE(v, unit) ((v) + 0x1p23f * (unit))

/* 0 ... 1 to counts, of signed types -1 ... 1; what is beyond the type is clamped to it, and NaN becomes 0. The one
 * place where floats become integers.
 *
 * Filters with dyadic weights, such as "1 4 6 4 1", often give exact halves of an 8-bit count. Float arithmetic
 * leaves them off by up to 1e-4 counts, so values are brought to a multiple of 2^-12 before they are rounded. */
static inline counts quantise(lanes v)
{
#if SAMPLE <= 1
    v = v > 0.0f ? v : (lanes)(0.0f);
    v = v < 1.0f ? v : (lanes)(1.0f);
    v *= FULL_SCALE;
#if SAMPLE == 0
    v = RAISE(v, 0x1p-12f) - 0x1p11f;
#endif
    return TO_COUNTS(LANE_BITS(RAISE(v, 1.0f)) & (uint)FULL_SCALE);
#elif SAMPLE == 2
    return SATURATE_LANES(fmax(v, 0.0f) * FULL_SCALE);
#elif SAMPLE >= 6
    v = v == v ? v * FULL_SCALE : (lanes)(0.0f);
#if SAMPLE == 6
    v = rint(v * 0x1p12f) * 0x1p-12f;
#endif
    return SATURATE_LANES(v);
#else
    return v;
#endif
}

#ifdef WORDS
/* The inverse of split, in words of 32 bits, a pixel a lane (4096x4096 RGB: 38 ms with shuffles of bytes and the
 * rounding of the driver, 10 so). */
static inline void join(__global sample *p, const counts *channel)
{
    const uint16 pixels = channel[0] | channel[1] << 8 | channel[2] << 16;
#if CHANNELS == 4
    vstore16(pixels | channel[3] << 24, 0, (__global uint *)p);
#else
    /* Four pixels are three words: word j is pixel j from its byte j on, then the first bytes of pixel j + 1. */
    const uint16 shift = (uint16)(0, 8, 16, 0, 8, 16, 0, 8, 16, 0, 8, 16, 0, 0, 0, 0);
    const uint16 words = pixels.s01245689acdeffff >> shift | pixels.s1235679abdefffff << (24 - shift);
    vstore8(words.lo, 0, (__global uint *)p);
    vstore4(words.hi.lo, 2, (__global uint *)p);
#endif
}
#else
/* The inverse of split. */
static inline void join(__global sample *p, const counts *channel)
{
#if LANES == 1
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        RAW_STORE(channel[c], c, p);
#elif CHANNELS == 1
    RAW_STORE(channel[0], 0, p);
#elif CHANNELS == 2
    const raw a = channel[0], b = channel[1];
    RAW_STORE((raw)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7), 0, p);
    RAW_STORE((raw)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf), 1, p);
#elif CHANNELS == 3
    const raw a = channel[0], b = channel[1], c = channel[2];
    RAW_STORE((raw)(a.s0, b.s0, c.s0, a.s1, b.s1, c.s1, a.s2, b.s2, c.s2, a.s3, b.s3, c.s3, a.s4, b.s4, c.s4, a.s5), 0, p);
    RAW_STORE((raw)(b.s5, c.s5, a.s6, b.s6, c.s6, a.s7, b.s7, c.s7, a.s8, b.s8, c.s8, a.s9, b.s9, c.s9, a.sa, b.sa), 1, p);
    RAW_STORE((raw)(c.sa, a.sb, b.sb, c.sb, a.sc, b.sc, c.sc, a.sd, b.sd, c.sd, a.se, b.se, c.se, a.sf, b.sf, c.sf), 2, p);
#else
    const raw a = channel[0], b = channel[1], c = channel[2], d = channel[3];
    RAW_STORE((raw)(a.s0, b.s0, c.s0, d.s0, a.s1, b.s1, c.s1, d.s1, a.s2, b.s2, c.s2, d.s2, a.s3, b.s3, c.s3, d.s3), 0, p);
    RAW_STORE((raw)(a.s4, b.s4, c.s4, d.s4, a.s5, b.s5, c.s5, d.s5, a.s6, b.s6, c.s6, d.s6, a.s7, b.s7, c.s7, d.s7), 1, p);
    RAW_STORE((raw)(a.s8, b.s8, c.s8, d.s8, a.s9, b.s9, c.s9, d.s9, a.sa, b.sa, c.sa, d.sa, a.sb, b.sb, c.sb, d.sb), 2, p);
    RAW_STORE((raw)(a.sc, b.sc, c.sc, d.sc, a.sd, b.sd, c.sd, d.sd, a.se, b.se, c.se, d.se, a.sf, b.sf, c.sf, d.sf), 3, p);
#endif
}
#endif

#if defined(COUNT) && defined(FULL_SCALE)
#define HIGHEST (1.0f + 0.5f / FULL_SCALE)
#if SAMPLE >= 6
#define LOWEST (-1.0f - 1.5f / FULL_SCALE)
#else
#define LOWEST (-0.5f / FULL_SCALE)
#endif

#if LANES == 16
typedef int16 truths;
#define LANE_NUMBERS (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

static inline int how_many(truths t)
{
    const int8 a = t.lo + t.hi;
    const int4 b = a.lo + a.hi;
    return -(b.x + b.y + b.z + b.w);
}
#else
typedef int truths;
#define LANE_NUMBERS 0

static inline int how_many(truths t)
{
    return t;
}
#endif

/* Counts values that are farther than rounding beyond what samples hold, and those that are no numbers; not those of lanes
 * past the width. Each image of a group has COUNTED_ROWS pairs of counters, which its rows take in turn: none overflows. */
static inline void count_clipped(RASTER(raster), int x, int y, int z, lanes v)
{
    const truths there = x + LANE_NUMBERS < raster_width;
    const int beyond = how_many(((v < LOWEST) | (v > HIGHEST)) & there), nan = how_many((v != v) & there);
    __global uint *counter = raster_clipped + 2 * (z * COUNTED_ROWS + y % COUNTED_ROWS);
    if (beyond > 0)
        atomic_add(counter, (uint)beyond);
    if (nan > 0)
        atomic_add(counter + 1, (uint)nan);
}
#endif

/* The pixels from x on, whose channels are in `value`, as samples. */
static inline void store_pixels(RASTER(raster), int x, int y, int z, const lanes *value, float exponent, float2 range)
{
    counts channel[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        lanes v = c < COLOURS ? value[c] : settle_alpha(value[c]);
        if (c < COLOURS) {
#ifdef DIVIDE
            v = divide(v, settle_alpha(value[CHANNELS - 1]));
#endif
#ifdef LINEAR
            v = encode(v, exponent);
#endif
#ifdef RANGE
            v = v / range.y + range.x;
#endif
        }
#if defined(COUNT) && defined(FULL_SCALE)
        count_clipped(GIVE_RASTER(raster), x, y, z, v);
#endif
        channel[c] = quantise(v);
    }
    join(PIXEL_AT(raster, x, y, z), channel);
}
