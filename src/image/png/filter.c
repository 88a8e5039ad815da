/* PNG's row filters, as loops that the compiler turns into vector code: the Makefile compiles this file with
 * -O3.
 *
 * Filtering depends on the picture alone, so whole rows are computed at once. The inverse of Sub, Average and
 * Paeth needs the pixel to the left: there a vector has the bytes of one pixel. */
#include "image/png/png.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;

/* Up: subtracts the prediction, byte by byte. */
static void subtract(const byte *restrict row, const byte *restrict guess, size_t size, byte *restrict to)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (byte)(row[i] - guess[i]);
}

/* Paeth: the prediction is left, above or above-left, whichever is nearest to left + above - above-left; the
 * first of equals. */
static void subtract_paeth(const byte *restrict row, const byte *restrict left, const byte *restrict above,
                           const byte *restrict corner, size_t size, byte *restrict to)
{
    for (size_t i = 0; i < size; i++) {
        const int16_t a = left[i], b = above[i], c = corner[i];
        const int16_t from_left = (int16_t)abs(b - c);
        const int16_t from_above = (int16_t)abs(a - c);
        const int16_t from_corner = (int16_t)abs(a + b - 2 * c);
        const int16_t other = from_above <= from_corner ? b : c;
        const int16_t guess = ((from_left <= from_above) & (from_left <= from_corner)) ? a : other;
        to[i] = (byte)(row[i] - guess);
    }
}

void png_filter_row(enum png_filter filter, const struct png_row *row, byte *to)
{
    const byte *bytes = row->bytes, *above = row->above;
    const size_t step = row->step, rest = row->size - step;
    *to++ = (byte)filter;
    if (filter == ROW_FILTER_NONE) {
        memcpy(to, bytes, row->size);
        return;
    }
    subtract(bytes, above, step,
             to); /* left of the first pixel all is zero, so Paeth predicts the byte above */
    subtract_paeth(bytes + step, bytes, above + step, above, rest, to + step);
}

void png_count_runs(const byte *bytes, size_t size, size_t *zeros, size_t *eights)
{
    *zeros = *eights = 0;
    for (size_t i = 0; i < size; i++)
        *zeros += bytes[i] == 0;
    for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        *eights += word == (word << 8 | word >> 56);
    }
}

#ifdef __clang__
#define INDEPENDENT /* clang's pragma would give warnings in builds with sanitizers */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* The inverse of Up. `to` may be `row`. */
static void png_add(const byte *row, const byte *above, size_t size, byte *to)
{
    INDEPENDENT
    for (size_t i = 0; i < size; i++)
        to[i] = (byte)(row[i] + above[i]);
}

/* The bytes of one pixel, with 16 bits each for sums and differences. Each pixel depends on the one before
 * it, so no more can be computed at once. */
typedef int16_t lanes __attribute__((vector_size(16)));
typedef byte narrow __attribute__((vector_size(8)));

/* Loads 1, 2, 4 or 8 bytes. */
static inline lanes load_bytes(const byte *from, size_t size)
{
    uint64_t word = 0;
    narrow bytes;
    memcpy(&word, from, size);
    memcpy(&bytes, &word, sizeof bytes);
    return __builtin_convertvector(bytes, lanes);
}

/* Stores a pixel of `step` bytes, and no more: `to` may be followed by filtered bytes. */
static inline void store_pixel(byte *to, lanes pixel, size_t step)
{
    narrow bytes = __builtin_convertvector(pixel, narrow);
    uint64_t word;
    memcpy(&word, &bytes, sizeof word);
    if (step == 3 || step == 6) {
        memcpy(to, &word, step / 3 * 2);
        word >>= step / 3 * 16;
        memcpy(to + step / 3 * 2, &word, step / 3);
    } else {
        memcpy(to, &word, step);
    }
}

/* Absolute values. */
static inline lanes magnitude(lanes v)
{
    const lanes sign = v >> 15;
    return (v ^ sign) - sign;
}

/* Paeth's prediction, as in subtract_paeth, by masks. */
static inline lanes guess_paeth(lanes left, lanes above, lanes corner)
{
    const lanes from_left = magnitude(above - corner), from_above = magnitude(left - corner);
    const lanes from_corner = magnitude(left + above - 2 * corner);
    const lanes is_above = from_above <= from_corner;
    const lanes is_left = (from_left <= from_above) & (from_left <= from_corner);
    return (is_left & left) | (~is_left & ((is_above & above) | (~is_above & corner)));
}

/* The pixel before, and the one above that. */
struct pixels {
    lanes left, corner;
};

/* Unfilters a pixel and returns what the next one needs. Inlined with constant `filter`, `load` and `step`.
 * Reads `load` bytes, of which the first `step` count. */
__attribute__((always_inline)) static inline struct pixels
unfilter_pixel(enum png_filter filter, struct pixels before, const byte *bytes, const byte *above_bytes,
               size_t load, size_t step, byte *to)
{
    const lanes above = load_bytes(above_bytes, load);
    const lanes guess = filter == ROW_FILTER_SUB       ? before.left
                        : filter == ROW_FILTER_AVERAGE ? (before.left + above) >> 1
                                                       : guess_paeth(before.left, above, before.corner);
    const lanes pixel = (load_bytes(bytes, load) + guess) & 0xff;
    store_pixel(to, pixel, step);
    return (struct pixels){pixel, above};
}

/* Unfilters a row. Pixels of three and six bytes are loaded as four and eight, but not the last ones, where
 * the row would be overrun. */
__attribute__((always_inline)) static inline void unfilter(enum png_filter filter, const struct png_row *row,
                                                           byte *to, size_t step)
{
    const byte *bytes = row->bytes, *above = row->above;
    const size_t size = row->size, load = step == 3 ? 4 : step == 6 ? 8 : step;
    struct pixels before = {{0}, {0}};
    size_t i = 0;
    for (; i + load <= size; i += step)
        before = unfilter_pixel(filter, before, bytes + i, above + i, load, step, to + i);
    for (; i + step <= size; i += step)
        before = unfilter_pixel(filter, before, bytes + i, above + i, step, step, to + i);
}

/* A copy of the loop for each size of a pixel. */
__attribute__((always_inline)) static inline void unfilter_pixels(enum png_filter filter,
                                                                  const struct png_row *row, byte *to)
{
    switch (row->step) {
    case 1:
        unfilter(filter, row, to, 1);
        break;
    case 2:
        unfilter(filter, row, to, 2);
        break;
    case 3:
        unfilter(filter, row, to, 3);
        break;
    case 4:
        unfilter(filter, row, to, 4);
        break;
    case 6:
        unfilter(filter, row, to, 6);
        break;
    default:
        unfilter(filter, row, to, 8);
        break;
    }
}

void png_unfilter_row(enum png_filter filter, const struct png_row *row, byte *to)
{
    switch (filter) {
    case ROW_FILTER_SUB:
        unfilter_pixels(ROW_FILTER_SUB, row, to);
        break;
    case ROW_FILTER_UP:
        png_add(row->bytes, row->above, row->size, to);
        break;
    case ROW_FILTER_AVERAGE:
        unfilter_pixels(ROW_FILTER_AVERAGE, row, to);
        break;
    case ROW_FILTER_PAETH:
        unfilter_pixels(ROW_FILTER_PAETH, row, to);
        break;
    default:
        memmove(to, row->bytes, row->size);
        break;
    }
}
