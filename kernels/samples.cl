/* Converts between a file's samples and float planes, in this order:
 *
 *     unpack   samples * unit -> deinterleave -> / alpha -> (v - low) * gain -> linear light -> * alpha -> opponent
 *     pack     opponent -> / alpha -> curve -> v / gain + low -> interleave -> * unit -> count clipped -> clamp -> round
 *
 * Steps that a file does not need are skipped. On CPU devices 8-bit samples of three or four channels are interleaved last, as
 * words. Properties of a file are arguments, so one program serves many files. Three macros shorten the program for the usual
 * files, as it is the first program that a run waits for:
 *
 *   -DSAMPLE=n  type of the samples; without it any type
 *   -DPLAIN     values are samples * unit: no alpha, range, curve or opponent colours, and no counting
 *   -DCURVE=1   the chain works in linear light, by sRGB's curve or a power law
 *   -DCURVE=2   the same, by a table for each channel (curve.h)
 *
 * Grid: x counts vecs of pixels (one pixel in images), y rows, z images. A work-item has all channels of its pixels. */
#include "raster.h"
#define CHANNEL lanes
#include "opponent.h"
#ifndef CURVE
#define CURVE 0
#endif
#if CURVE == 1
#define REAL_LANES LANES
#include "power.h"
#elif CURVE == 2
#include "curve.h"
#endif

/* enum sample_type of src/image/sample.h */
#define UINT8  0
#define UINT16 1
#define UINT32 2
#define HALF   3
#define FLOAT  4
#define INT8   6
#define INT16  7
#define INT32  8

#define MAX_CHANNELS 4

/* A curve with a linear toe:
 *
 *     decoding   v <= toe ? v / slope : ((v + offset) / scale)^exponent
 *     encoding   v <= toe_back ? v * slope : scale * v^(1 / exponent) - offset */
struct curve {
    float toe, toe_back, slope, offset, scale, exponent;
};

/* The conversion between samples and values: struct sample_conversion of src/engine/transfer.c. */
struct conversion {
    int type, channels, colours; /* a channel after the colours is alpha */
    int divide;                  /* not 0: divide colour by alpha, before the other steps */
    int multiply;                /* not 0: multiply colour by alpha, after the other steps */
    int flushes_tiny_alpha;      /* not 0: flush tiny alpha to 0 (flush_alpha) */
    int opponent;                /* not 0: the planes have opponent colours (opponent.h) */
    int has_range;               /* not 0: map colour `low` to 0 and low + 1 / gain to full scale */
    float low, gain;
    float unit;                  /* factor of samples in unpack, of values in pack */
    float lowest, highest;       /* range of the type */
    float first_rounding;        /* 1.5 * 2^23 times the step of a first rounding (ROUND_SHORT); 0 for none */
    struct curve curve;
    int table_step; /* floats from the table of one channel to the next table */
};

/* The type of the samples; a constant if -DSAMPLE is given. */
#ifdef SAMPLE
#define TYPE_OF(conversion) SAMPLE
#else
#define TYPE_OF(conversion) (conversion).type
#endif

/* Unrolling of long loops over channels: none if the program has the code of all types. */
#if LANES == 16 && !defined(SAMPLE)
#define UNROLLED 1
#else
#define UNROLLED MAX_CHANNELS
#endif

/* Access to vector i of the samples at p, without scaling. */
#if LANES == 16
#define LOAD_RAW(type, i, p)     convert_float16(vload16(i, (__global const type *)(p)))
#define LOAD_HALF(i, p)          vload_half16(i, (__global const half *)(p))
#define STORE_RAW(type, v, i, p) STORE_SIXTEEN(type, convert_##type##16(v), (__global type *)(p) + 16 * (i))
#define STORE_HALF(v, i, p)      vstore_half16_rte(v, i, (__global half *)(p))
#define TO_INT(v)                convert_int16(v)
#define TO_UINT(v)               convert_uint16(v)
#else
#define LOAD_RAW(type, i, p)     convert_float(((__global const type *)(p))[i])
#define LOAD_HALF(i, p)          vload_half(i, (__global const half *)(p))
#define STORE_RAW(type, v, i, p) ((__global type *)(p))[i] = convert_##type(v)
#define STORE_HALF(v, i, p)      vstore_half_rte(v, i, (__global half *)(p))
#define TO_INT(v)                convert_int(v)
#define TO_UINT(v)               convert_uint(v)
#endif

/* Loads vector i of the samples at p, without scaling. */
static inline lanes load_samples(__global const uchar *p, int i, int type)
{
    switch (type) {
    case UINT8: return LOAD_RAW(uchar, i, p);
    case UINT16: return LOAD_RAW(ushort, i, p);
    case UINT32: return LOAD_RAW(uint, i, p);
    case HALF: return LOAD_HALF(i, p);
    case INT8: return LOAD_RAW(char, i, p);
    case INT16: return LOAD_RAW(short, i, p);
    case INT32: return LOAD_RAW(int, i, p);
    default: return LOAD_RAW(float, i, p);
    }
}

/* Rounds v to an integer, half to even, for types of 8 and 16 bit. Above 1.5 * 2^23 a float has steps of 1, so an
 * addition rounds and the last bits are the integer. The rint() of PoCL 3.1 takes six instructions.
 *
 * Filters with dyadic weights, such as "1 4 6 4 1", often give values exactly between two 8-bit samples. Float arithmetic
 * leaves them off by up to 1e-4, so values are first rounded to a multiple of 2^-12. */
#define ROUND_SHORT(v, rounding) LANE_BITS((v) + (rounding) - (rounding) + 0x1.8p23f)

/* Rounds and stores vector i of the samples at p. */
static inline void store_samples(__global uchar *p, int i, lanes v, int type, float rounding)
{
    switch (type) {
    case UINT8:
    case INT8: STORE_RAW(uchar, ROUND_SHORT(v, rounding) & 0xff, i, p); break;
    case UINT16:
    case INT16: STORE_RAW(ushort, ROUND_SHORT(v, rounding) & 0xffff, i, p); break;
    case UINT32: STORE_RAW(uint, select(TO_UINT(rint(v)), UINT_MAX, v >= 0x1p32f), i, p); break;
    case INT32: STORE_RAW(int, select(TO_INT(rint(v)), INT_MAX, v >= 0x1p31f), i, p); break;
    case HALF: STORE_HALF(v, i, p); break;
    default: STORE_RAW(float, v, i, p); break;
    }
}

/* Turns vectors of interleaved samples into one vector per channel, in place. With one lane these are the same. */
static inline void deinterleave(lanes *v, int channels)
{
#if LANES == 16
    const lanes a = v[0], b = v[1], c = v[2], d = v[3];
    switch (channels) {
    case 2:
        v[0] = (lanes)(a.even, b.even);
        v[1] = (lanes)(a.odd, b.odd);
        break;
    case 3:
        v[0] = (lanes)(a.s0, a.s3, a.s6, a.s9, a.sc, a.sf, b.s2, b.s5, b.s8, b.sb, b.se, c.s1, c.s4, c.s7, c.sa, c.sd);
        v[1] = (lanes)(a.s1, a.s4, a.s7, a.sa, a.sd, b.s0, b.s3, b.s6, b.s9, b.sc, b.sf, c.s2, c.s5, c.s8, c.sb, c.se);
        v[2] = (lanes)(a.s2, a.s5, a.s8, a.sb, a.se, b.s1, b.s4, b.s7, b.sa, b.sd, c.s0, c.s3, c.s6, c.s9, c.sc, c.sf);
        break;
    case 4:
        v[0] = (lanes)(a.even.even, b.even.even, c.even.even, d.even.even);
        v[1] = (lanes)(a.odd.even, b.odd.even, c.odd.even, d.odd.even);
        v[2] = (lanes)(a.even.odd, b.even.odd, c.even.odd, d.even.odd);
        v[3] = (lanes)(a.odd.odd, b.odd.odd, c.odd.odd, d.odd.odd);
        break;
    }
#endif
}

/* Turns one vector per channel into vectors of interleaved samples, in place. */
static inline void interleave(lanes *v, int channels)
{
#if LANES == 16
    const lanes a = v[0], b = v[1], c = v[2], d = v[3];
    switch (channels) {
    case 2:
        v[0] = (lanes)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3, a.s4, b.s4, a.s5, b.s5, a.s6, b.s6, a.s7, b.s7);
        v[1] = (lanes)(a.s8, b.s8, a.s9, b.s9, a.sa, b.sa, a.sb, b.sb, a.sc, b.sc, a.sd, b.sd, a.se, b.se, a.sf, b.sf);
        break;
    case 3:
        v[0] = (lanes)(a.s0, b.s0, c.s0, a.s1, b.s1, c.s1, a.s2, b.s2, c.s2, a.s3, b.s3, c.s3, a.s4, b.s4, c.s4, a.s5);
        v[1] = (lanes)(b.s5, c.s5, a.s6, b.s6, c.s6, a.s7, b.s7, c.s7, a.s8, b.s8, c.s8, a.s9, b.s9, c.s9, a.sa, b.sa);
        v[2] = (lanes)(c.sa, a.sb, b.sb, c.sb, a.sc, b.sc, c.sc, a.sd, b.sd, c.sd, a.se, b.se, c.se, a.sf, b.sf, c.sf);
        break;
    case 4:
        v[0] = (lanes)(a.s0, b.s0, c.s0, d.s0, a.s1, b.s1, c.s1, d.s1, a.s2, b.s2, c.s2, d.s2, a.s3, b.s3, c.s3, d.s3);
        v[1] = (lanes)(a.s4, b.s4, c.s4, d.s4, a.s5, b.s5, c.s5, d.s5, a.s6, b.s6, c.s6, d.s6, a.s7, b.s7, c.s7, d.s7);
        v[2] = (lanes)(a.s8, b.s8, c.s8, d.s8, a.s9, b.s9, c.s9, d.s9, a.sa, b.sa, c.sa, d.sa, a.sb, b.sb, c.sb, d.sb);
        v[3] = (lanes)(a.sc, b.sc, c.sc, d.sc, a.sd, b.sd, c.sd, d.sd, a.se, b.se, c.se, d.se, a.sf, b.sf, c.sf, d.sf);
        break;
    }
#endif
}

#define BYTES(v, rounding) (ROUND_SHORT(v, rounding) & 0xff)

/* Stores 8-bit samples of three or four channels as 32-bit words, with a pixel in each lane (samples.h has the gain). */
static inline void store_words(__global uchar *p, const lanes *v, int channels, float rounding)
{
#if LANES == 16
    const uint16 pixels = BYTES(v[0], rounding) | BYTES(v[1], rounding) << 8 | BYTES(v[2], rounding) << 16;
    if (channels == 4) {
        vstore16(pixels | BYTES(v[3], rounding) << 24, 0, (__global uint *)p);
        return;
    }
    store_three_bytes((__global uint *)p, pixels);
#endif
}

/* Decodes channel c to linear light. Negative values are mirrored. */
static inline lanes decode(lanes v, const struct conversion conversion, int c, __global const float *restrict tables)
{
#if CURVE == 1
    const struct curve curve = conversion.curve;
    const lanes a = fabs(v);
    const lanes light = power((a + curve.offset) / curve.scale, curve.exponent);
    return copysign(select(light, a / curve.slope, a <= curve.toe), v);
#elif CURVE == 2
    return curve_lookup(tables + c * conversion.table_step, v);
#else
    return v;
#endif
}

/* Encodes linear light. */
static inline lanes encode(lanes v, const struct conversion conversion, int c, __global const float *restrict tables)
{
#if CURVE == 1
    const struct curve curve = conversion.curve;
    const lanes a = fabs(v);
    const lanes root = mad(curve.scale, power(a, 1.0f / curve.exponent), (lanes)(-curve.offset));
    return copysign(select(root, a * curve.slope, a <= curve.toe_back), v);
#elif CURVE == 2
    return curve_lookup(tables + c * conversion.table_step, v);
#else
    return v;
#endif
}

/* Divides colour by alpha; 0 if alpha is not positive. */
static inline lanes divide(lanes colour, lanes alpha)
{
    return select((lanes)(0.0f), colour / alpha, alpha > 0.0f);
}

/* Flushes tiny alpha to 0. After a forward and inverse transform an alpha of 0 is about 1e-7, by which colour that spread to
 * such pixels would be divided. */
static inline lanes flush_alpha(lanes alpha)
{
    return select(alpha, (lanes)(0.0f), fabs(alpha) < 0x1p-20f);
}

/* Converts the file's values to the chain's, in place. */
static inline void to_chain(lanes *value, const struct conversion conversion, __global const float *restrict tables)
{
    const lanes alpha = conversion.colours == 1 ? value[1] : value[3];
#pragma unroll
    for (int c = 0; c < MAX_CHANNELS; c++) {
        if (c >= conversion.colours)
            break;
        if (conversion.divide)
            value[c] = divide(value[c], alpha);
        if (conversion.has_range)
            value[c] = (value[c] - conversion.low) * conversion.gain;
        value[c] = decode(value[c], conversion, c, tables);
        if (conversion.multiply)
            value[c] *= alpha;
    }
    if (conversion.opponent)
        to_opponent(value);
}

/* Converts the chain's values to the file's, in place. */
static inline void from_chain(lanes *value, const struct conversion conversion, __global const float *restrict tables)
{
    if (conversion.opponent)
        from_opponent(value);
    lanes alpha = conversion.colours == 1 ? value[1] : value[3];
    if (conversion.flushes_tiny_alpha)
        alpha = flush_alpha(alpha);
    /* One loop per step: a single loop makes LLVM in PoCL 6 fail ("did not reach a fixpoint") for one channel in
     * images. */
#pragma unroll
    for (int c = 0; c < MAX_CHANNELS; c++)
        if (conversion.divide && c < conversion.colours)
            value[c] = divide(value[c], alpha);
#pragma unroll
    for (int c = 0; c < MAX_CHANNELS; c++)
        if (c < conversion.colours)
            value[c] = encode(value[c], conversion, c, tables);
#pragma unroll
    for (int c = 0; c < MAX_CHANNELS; c++)
        if (conversion.has_range && c < conversion.colours)
            value[c] = value[c] / conversion.gain + conversion.low;
    if (conversion.colours == 1)
        value[1] = alpha;
    if (conversion.colours == 3)
        value[3] = alpha;
}

/* Unpacks samples to planes. Column 0 of the planes is column `column` of the raster. */
NOINLINE void unpack_run(RASTER_IN(uchar, raster), PLANES_OUT(dst), const struct conversion conversion, int pixel_bytes,
                         int column, __global const float *restrict tables, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + dst_at.first_row, z = item_z;
        if (x >= dst_at.width || y >= dst_at.first_row + dst_at.rows)
            return;
        const int type = TYPE_OF(conversion), channels = conversion.channels;
        lanes value[MAX_CHANNELS] = {0.0f, 0.0f, 0.0f, 0.0f};
        __global const uchar *p = raster + PIXEL_INDEX(raster, x + column, y, z) * pixel_bytes;
#pragma unroll UNROLLED
        for (int i = 0; i < MAX_CHANNELS; i++)
            if (i < channels)
                value[i] = load_samples(p, i, type) * conversion.unit;
        deinterleave(value, channels);
#ifndef PLAIN
        to_chain(value, conversion, tables);
#endif
#ifdef IMAGES
        store(PLANES_ARG(dst), x, y, 0, (vec)(value[0], value[1], value[2], value[3]));
#else
#pragma unroll
        for (int c = 0; c < MAX_CHANNELS; c++)
            if (c < channels)
                store(PLANES_ARG(dst), x, y, z * channels + c, value[c]);
#endif
    }
}

__kernel void unpack(RASTER_IN(uchar, raster), PLANES_OUT(dst), const struct conversion conversion, int pixel_bytes,
                     int column, __global const float *restrict tables)
{
    unpack_run(RASTER_IN_ARG(raster), PLANES_ARG(dst), conversion, pixel_bytes, column, tables, WORK_ITEM_ARGS);
}

/* Packs columns.z columns: from column columns.x of the planes to column columns.y of the raster. */
NOINLINE void pack_run(PLANES_IN(src), RASTER_OUT(uchar, raster), const struct conversion conversion, int pixel_bytes,
                       int4 columns, __global const float *restrict tables, WORK_ITEM_PARAMS)
{
#pragma unroll 1
    for (int item = first_item; item < first_item + ITEMS_PER_CALL; item++) {
        const int x = item * LANES, y = item_y + src_at.first_row, z = item_z;
        if (x >= columns.z || y >= src_at.first_row + src_at.rows)
            return;
        const int from = x + columns.x, to = x + columns.y;
        const int type = TYPE_OF(conversion), channels = conversion.channels;
        lanes value[MAX_CHANNELS] = {0.0f, 0.0f, 0.0f, 0.0f};
#ifdef IMAGES
        const vec texel = load(PLANES_ARG(src), from, y, 0);
        value[0] = texel.x, value[1] = texel.y, value[2] = texel.z, value[3] = texel.w;
#else
#pragma unroll
        for (int c = 0; c < MAX_CHANNELS; c++)
            if (c < channels)
                value[c] = load(PLANES_ARG(src), from, y, z * channels + c);
#endif
#ifndef PLAIN
        from_chain(value, conversion, tables);
#endif
        __global uchar *p = raster + PIXEL_INDEX(raster, to, y, z) * pixel_bytes;
        /* Scales values of integer types and clamps them. Counts clipped values, and finite values beyond half floats.
         * Stores samples by type, or as 32-bit words of a pixel each. */
        const bool is_integer = type != HALF && type != FLOAT;
        const bool as_words = LANES == 16 && channels >= 3 && (type == UINT8 || type == INT8);
        if (!as_words)
            interleave(value, channels);
#pragma unroll UNROLLED
        for (int i = 0; i < MAX_CHANNELS; i++) {
            if (i >= channels)
                break;
            if (is_integer)
                value[i] *= conversion.unit;
#ifndef PLAIN
            const mask valid = as_words ? to + LANE_NUMBERS < raster_width
                                       : i * LANES + LANE_NUMBERS < (raster_width - to) * channels;
            if (raster_clipped)
                count_clipped(raster_clipped, y, z, value[i], conversion.lowest, conversion.highest,
                              is_integer ? valid : valid & (fabs(value[i]) < INFINITY));
#endif
            if (type >= INT8 && is_integer) /* a signed type: NaN becomes 0, not the lowest value */
                value[i] = value[i] == value[i] ? value[i] : (lanes)(0.0f);
            if (is_integer) {
                value[i] = value[i] > conversion.lowest ? value[i] : (lanes)(conversion.lowest);
                value[i] = value[i] < conversion.highest ? value[i] : (lanes)(conversion.highest);
            }
            if (!as_words)
                store_samples(p, i, value[i], type, conversion.first_rounding);
        }
        if (as_words)
            store_words(p, value, channels, conversion.first_rounding);
    }
}

__kernel void pack(PLANES_IN(src), RASTER_OUT(uchar, raster), const struct conversion conversion, int pixel_bytes, int4 columns,
                   __global const float *restrict tables)
{
    pack_run(PLANES_ARG(src), RASTER_OUT_ARG(raster), conversion, pixel_bytes, columns, tables, WORK_ITEM_ARGS);
}
