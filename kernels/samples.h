/* Samples of 8 or 16 bit without alpha, for the kernels of CPU devices that read or write them without a pass between:
 * raster.h, of a type and a number of channels that are known when the program is built.
 *
 *   -DSAMPLE=n    0 uint8, 1 uint16
 *   -DREAD_SAMPLE=n  the same of samples that are read, where those are others
 *   -DCHANNELS=n  1 to 4 */
#pragma once
#include "raster.h"

#ifndef SAMPLE
#define SAMPLE 0
#endif
#ifndef READ_SAMPLE
#define READ_SAMPLE SAMPLE
#endif
#ifndef CHANNELS
#define CHANNELS 3
#endif

/* Where the pixel's samples begin. */
#define PIXEL_AT(name, x, y, z) (name + PIXEL_NUMBER(name, x, y, z) * CHANNELS)

#if SAMPLE == 0
typedef uchar sample;
typedef uchar16 raw;
#define FULL_SCALE 255.0f
#else
typedef ushort sample;
typedef ushort16 raw;
#define FULL_SCALE 65535.0f
#endif

#if READ_SAMPLE == 0
typedef uchar read_sample;
typedef uchar16 read_raw;
#define READ_FULL_SCALE 255.0f
#else
typedef ushort read_sample;
typedef ushort16 read_raw;
#define READ_FULL_SCALE 65535.0f
#endif

/* What is made of a channel: samples, or wider integers where those are cheaper to join. */
#if SAMPLE == 0 && CHANNELS >= 3
#define WORDS
typedef uint16 counts;
#else
typedef raw counts;
#endif

/* The channels of LANES neighbouring pixels, each in a vector of its own. */
static inline void split(read_raw *channel, __global const read_sample *p)
{
#if CHANNELS == 1
    channel[0] = vload16(0, p);
#else
    const read_raw a = vload16(0, p), b = vload16(1, p);
#if CHANNELS == 2
    channel[0] = (read_raw)(a.even, b.even);
    channel[1] = (read_raw)(a.odd, b.odd);
#elif CHANNELS == 3
    const read_raw c = vload16(2, p);
    channel[0] = (read_raw)(a.s0, a.s3, a.s6, a.s9, a.sc, a.sf, b.s2, b.s5, b.s8, b.sb, b.se, c.s1, c.s4, c.s7, c.sa, c.sd);
    channel[1] = (read_raw)(a.s1, a.s4, a.s7, a.sa, a.sd, b.s0, b.s3, b.s6, b.s9, b.sc, b.sf, c.s2, c.s5, c.s8, c.sb, c.se);
    channel[2] = (read_raw)(a.s2, a.s5, a.s8, a.sb, a.se, b.s1, b.s4, b.s7, b.sa, b.sd, c.s0, c.s3, c.s6, c.s9, c.sc, c.sf);
#else
    const read_raw c = vload16(2, p), d = vload16(3, p);
    channel[0] = (read_raw)(a.even.even, b.even.even, c.even.even, d.even.even);
    channel[1] = (read_raw)(a.odd.even, b.odd.even, c.odd.even, d.odd.even);
    channel[2] = (read_raw)(a.even.odd, b.even.odd, c.even.odd, d.even.odd);
    channel[3] = (read_raw)(a.odd.odd, b.odd.odd, c.odd.odd, d.odd.odd);
#endif
#endif
}

/* The pixels at p, a channel a vector, 1 for full scale. */
static inline void load_pixels(lanes *value, __global const read_sample *p)
{
    read_raw channel[CHANNELS];
    split(channel, p);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        value[c] = convert_float16(channel[c]) * (1.0f / READ_FULL_SCALE);
}

/* Rounds half to even to a multiple of `unit`, for 0 <= v < 2^23 units: above 2^23 units a float has no smaller
 * step. One addition; the rint() of PoCL 3.1 takes six instructions. */
#define RAISE(v, unit) ((v) + 0x1p23f * (unit))

/* 0 ... 1 to counts; what is beyond is clamped, and NaN becomes 0. As in samples.cl, 8 bit by way of multiples of 2^-12. */
static inline counts quantise(lanes v)
{
    v = v > 0.0f ? v : (lanes)(0.0f);
    v = v < 1.0f ? v : (lanes)(1.0f);
    v *= FULL_SCALE;
#if SAMPLE == 0
    v = RAISE(v, 0x1p-12f) - 0x1p11f;
#endif
    const uint16 bits = LANE_BITS(RAISE(v, 1.0f)) & (uint)FULL_SCALE;
#ifdef WORDS
    return bits;
#elif SAMPLE == 0
    return convert_uchar16(bits);
#else
    return convert_ushort16(bits);
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
#if CHANNELS == 1
    vstore16(channel[0], 0, p);
#elif CHANNELS == 2
    const raw a = channel[0], b = channel[1];
    vstore16((raw)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7), 0, p);
    vstore16((raw)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf), 1, p);
#elif CHANNELS == 3
    const raw a = channel[0], b = channel[1], c = channel[2];
    vstore16((raw)(a.s0, b.s0, c.s0, a.s1, b.s1, c.s1, a.s2, b.s2, c.s2, a.s3, b.s3, c.s3, a.s4, b.s4, c.s4, a.s5), 0, p);
    vstore16((raw)(b.s5, c.s5, a.s6, b.s6, c.s6, a.s7, b.s7, c.s7, a.s8, b.s8, c.s8, a.s9, b.s9, c.s9, a.sa, b.sa), 1, p);
    vstore16((raw)(c.sa, a.sb, b.sb, c.sb, a.sc, b.sc, c.sc, a.sd, b.sd, c.sd, a.se, b.se, c.se, a.sf, b.sf, c.sf), 2, p);
#else
    const raw a = channel[0], b = channel[1], c = channel[2], d = channel[3];
    vstore16((raw)(a.s0, b.s0, c.s0, d.s0, a.s1, b.s1, c.s1, d.s1, a.s2, b.s2, c.s2, d.s2, a.s3, b.s3, c.s3, d.s3), 0, p);
    vstore16((raw)(a.s4, b.s4, c.s4, d.s4, a.s5, b.s5, c.s5, d.s5, a.s6, b.s6, c.s6, d.s6, a.s7, b.s7, c.s7, d.s7), 1, p);
    vstore16((raw)(a.s8, b.s8, c.s8, d.s8, a.s9, b.s9, c.s9, d.s9, a.sa, b.sa, c.sa, d.sa, a.sb, b.sb, c.sb, d.sb), 2, p);
    vstore16((raw)(a.sc, b.sc, c.sc, d.sc, a.sd, b.sd, c.sd, d.sd, a.se, b.se, c.se, d.se, a.sf, b.sf, c.sf, d.sf), 3, p);
#endif
}
#endif

/* Counts values that samples cannot hold, of pixels from x on. Most have none, so all channels are looked at together first. */
static inline void count_pixels(RASTER(sample, raster), int x, int y, int z, const lanes *value)
{
    const truths there = x + LANE_NUMBERS < raster_width;
    truths inside = there;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        inside &= (value[c] >= -0.5f / FULL_SCALE) & (value[c] <= 1.0f + 0.5f / FULL_SCALE);
    if (!is_any(inside ^ there))
        return;
#pragma unroll 1
    for (int c = 0; c < CHANNELS; c++)
        count_clipped(raster_clipped, y, z, value[c] * FULL_SCALE, 0.0f, FULL_SCALE, there);
}

/* Stores the pixels from x on, whose channels are in `value`, as samples. */
static inline void store_pixels(RASTER(sample, raster), int x, int y, int z, const lanes *value)
{
    counts channel[CHANNELS];
    if (raster_clipped)
        count_pixels(GIVE_RASTER(raster), x, y, z, value);
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        channel[c] = quantise(value[c]);
    join(PIXEL_AT(raster, x, y, z), channel);
}
