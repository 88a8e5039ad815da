/* Access to the samples of a file for kernels on CPU devices, which saves the passes that unpack and pack. Samples are unsigned
 * integers of 8 or 16 bits, without alpha. Their type is a build option. The number of channels, 1 to MAX_CHANNELS, is an
 * argument, so gray and colour share a program.
 *
 * Sixteen pixels are loaded as one or two vectors of 32-bit words, with one pixel in each lane:
 *
 *     8 bit    words[0] has all channels
 *     16 bit   words[0] has channels 0 and 1, words[1] has channels 2 and 3
 *
 * Storing 4096x4096 pixels of 8-bit RGB as words takes 10 ms; with shuffles of bytes and the driver's rounding it took 38.
 *
 *     8-bit RGB in memory    r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3      three words, four pixels
 *     lanes of words[0]      r0 g0 b0 -- | r1 g1 b1 -- | r2 g2 b2 -- | r3 g3 b3 --
 *
 *   -DSAMPLE=n       type `sample` of the output: 0 uint8, 1 uint16
 *   -DREAD_SAMPLE=n  type `read_sample` of the input; the same by default */
#pragma once
#include "raster.h"

#ifndef SAMPLE
#define SAMPLE 0
#endif
#ifndef READ_SAMPLE
#define READ_SAMPLE SAMPLE
#endif

#define MAX_CHANNELS 4

#if SAMPLE == 0
typedef uchar sample;
#define FULL_SCALE 255.0f
#else
typedef ushort sample;
#define FULL_SCALE 65535.0f
#endif

#if READ_SAMPLE == 0
typedef uchar read_sample;
#define READ_FULL_SCALE 255.0f
#else
typedef ushort read_sample;
#define READ_FULL_SCALE 65535.0f
#endif

/* Loads the words of sixteen pixels at p. words[1] is set only for 3 or 4 channels of 16 bits. */
static inline void load_words(uint16 *words, __global const read_sample *p, int channels)
{
    __global const uint *q = (__global const uint *)p;
    if (channels == 1) {
        words[0] = convert_uint16(vload16(0, p));
#if READ_SAMPLE == 0
    } else if (channels == 2) {
        words[0] = convert_uint16(vload16(0, (__global const ushort *)p));
    } else if (channels == 4) {
        words[0] = vload16(0, q);
    } else { /* three words are four pixels: pixel j begins in byte 3 * j */
        const uint4 last = vload4(2, q);
        const uint16 w = (uint16)(vload8(0, q), last, last);
        const uint16 shift = (uint16)(0, 24, 16, 8, 0, 24, 16, 8, 0, 24, 16, 8, 0, 24, 16, 8);
        words[0] = w.s00123345667899ab >> shift | w.s112344567789aabb << 8 << (24 - shift);
    }
#else
    } else if (channels == 2) {
        words[0] = vload16(0, q);
    } else if (channels == 4) {
        const uint16 a = vload16(0, q), b = vload16(1, q);
        words[0] = (uint16)(a.even, b.even);
        words[1] = (uint16)(a.odd, b.odd);
    } else { /* three words are two pixels */
        const uint16 a = vload16(0, q);
        const uint8 b = vload8(2, q), first = (uint8)(a.s0369, a.scf, b.s25), second = (uint8)(a.s147a, a.sd, b.s036),
                    third = (uint8)(a.s258b, a.se, b.s147);
        words[0].even = first;
        words[0].odd = second >> 16 | third << 16;
        words[1].even = second;
        words[1].odd = third >> 16;
    }
#endif
}

/* Stores the words of sixteen pixels at p. */
static inline void store_words(__global sample *p, const uint16 *words, int channels)
{
    __global uint *q = (__global uint *)p;
#if SAMPLE == 0
    if (channels == 1) {
        STORE_SIXTEEN(uchar, convert_uchar16(words[0]), p);
    } else if (channels == 2) {
        STORE_SIXTEEN(ushort, convert_ushort16(words[0]), p);
    } else if (channels == 4) {
        vstore16(words[0], 0, q);
    } else {
        store_three_bytes(q, words[0]);
    }
#else
    const uint16 a = words[0], b = words[1];
    if (channels == 1) {
        STORE_SIXTEEN(ushort, convert_ushort16(a), p);
    } else if (channels == 2) {
        vstore16(a, 0, q);
    } else if (channels == 4) {
        vstore16((uint16)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7), 0, q);
        vstore16((uint16)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf), 1, q);
    } else {
        const uint8 k = a.even, l = b.even | a.odd << 16, m = a.odd >> 16 | b.odd << 16;
        vstore16((uint16)(k.s0, l.s0, m.s0, k.s1, l.s1, m.s1, k.s2, l.s2, m.s2, k.s3, l.s3, m.s3, k.s4, l.s4, m.s4, k.s5), 0, q);
        vstore8((uint8)(l.s5, m.s5, k.s6, l.s6, m.s6, k.s7, l.s7, m.s7), 2, q);
    }
#endif
}

/* Loads sixteen pixels at p, a vector per channel; full scale is 1. */
static inline void load_pixels(lanes *value, __global const read_sample *p, int channels)
{
    uint16 words[2];
    load_words(words, p, channels);
    for (int c = 0; c < channels; c++)
#if READ_SAMPLE == 0
        value[c] = convert_float16(words[0] >> (uint)(8 * c) & 255u) * (1.0f / READ_FULL_SCALE);
#else
        value[c] = convert_float16(words[c / 2] >> (uint)(16 * (c & 1)) & 65535u) * (1.0f / READ_FULL_SCALE);
#endif
}

/* Returns v, rounded to a multiple of `unit`, plus 2^23 * unit. `unit` is a power of two, and 0 <= v < 2^23 * unit. Floats from
 * 2^23 * unit to 2^24 * unit are multiples of `unit`, so the addition itself rounds, half to even. The rint() of PoCL 3.1 takes
 * six instructions. */
static inline lanes round_magic(lanes v, float unit)
{
    return v + 0x1p23f * unit;
}

/* Clamps values to [0, 1], sets NaN to 0, and converts them to samples, rounded half to even. Values of 8-bit samples are first
 * rounded to multiples of 2^-12, which restores exact halves (ROUND_SHORT in samples.cl). */
static inline uint16 quantise(lanes v)
{
    v = v > 0.0f ? v : (lanes)(0.0f);
    v = v < 1.0f ? v : (lanes)(1.0f);
    v *= FULL_SCALE;
#if SAMPLE == 0
    v = round_magic(v, 0x1p-12f) - 0x1p11f;
#endif
    return LANE_BITS(round_magic(v, 1.0f)) & (uint)FULL_SCALE;
}

/* Returns true if any value is clipped, NaN or negative. `largest` is the maximum of the bits of all values as unsigned
 * integers: bits of NaN and of negative values are larger than all others. */
static inline bool may_be_clipped(uint16 largest)
{
    return any_lane(largest > as_uint(1.0f + 0.5f / FULL_SCALE));
}

/* Counts the clipped samples and NaN of sixteen pixels from x on; `value` has a vector per channel. Tests all channels at once
 * first, as usually no sample is clipped. */
static inline void count_clipped_pixels(RASTER_OUT(sample, raster), int x, int y, const lanes *value, int channels)
{
    uint16 largest = LANE_BITS(value[0]);
    for (int c = 1; c < channels; c++)
        largest = max(largest, LANE_BITS(value[c]));
    if (!may_be_clipped(largest))
        return;
    const mask valid = x + LANE_NUMBERS < raster_width;
#pragma unroll 1
    for (int c = 0; c < channels; c++)
        count_clipped(raster_clipped, y, 0, value[c] * FULL_SCALE, 0.0f, FULL_SCALE, valid);
}

/* Stores sixteen pixels from x on as samples; `value` has a vector per channel. Does not count clipped samples
 * if `in_range`: the caller knows that no sample is clipped. */
static inline void store_pixels(RASTER_OUT(sample, raster), int x, int y, const lanes *value, int channels, bool in_range)
{
    uint16 words[2] = {0, 0};
    if (raster_clipped && !in_range)
        count_clipped_pixels(RASTER_OUT_ARG(raster), x, y, value, channels);
    for (int c = 0; c < channels; c++)
#if SAMPLE == 0
        words[0] |= quantise(value[c]) << (uint)(8 * c);
#else
        words[c / 2] |= quantise(value[c]) << (uint)(16 * (c & 1));
#endif
    store_words(raster + PIXEL_INDEX(raster, x, y, 0) * channels, words, channels);
}
