/* A file's samples, interleaved and of its own type, for kernels that are built with them.
 *
 *   -DSAMPLE=n    0 uint8, 1 uint16, 2 uint32, 3 half, 4 float
 *   -DCHANNELS=n  1 to 4, -DCOLOURS=n those of them that are not alpha
 *   -DDIVIDE_FIRST  unpack: divide colour by alpha (0 where alpha is not positive)
 *   -DMULTIPLY    unpack: multiply colour by alpha
 *   -DDIVIDE      pack: divide colour by alpha
 *   -DLINEAR      unpack decodes to linear light, pack encodes: the curve is sRGB's (IEC 61966-2-1), or
 *   -DGAMMA       the power law of `exponent`
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

#define RASTER(name)      __global sample *restrict name, int name##_pitch, int name##_row, int name##_rows
#define READ_RASTER(name) __global const sample *restrict name, int name##_pitch, int name##_row, int name##_rows
#define GIVE_RASTER(name) name, name##_pitch, name##_row, name##_rows

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
#define FULL_SCALE  4294967295.0f
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

/* 0 ... 1 to counts; what is outside is clamped, and NaN becomes 0. The one place where floats become integers.
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
#elif SAMPLE == 2 && LANES == 16
    return convert_uint16_sat_rte(fmax(v, 0.0f) * FULL_SCALE);
#elif SAMPLE == 2
    return convert_uint_sat_rte(fmax(v, 0.0f) * FULL_SCALE);
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

/* The pixels from x on, whose channels are in `value`, as samples. */
static inline void store_pixels(RASTER(raster), int x, int y, int z, const lanes *value, float exponent)
{
    counts channel[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        lanes v = value[c];
        if (c < COLOURS) {
#ifdef DIVIDE
            v = divide(v, value[CHANNELS - 1]);
#endif
#ifdef LINEAR
            v = encode(v, exponent);
#endif
        }
        channel[c] = quantise(v);
    }
    join(PIXEL_AT(raster, x, y, z), channel);
}
