/* PNG's row filters, as loops that the compiler turns into vector code: the Makefile compiles this file with
 * -O3.
 *
 * Filtering processes successive bytes of a row in a vector. The inverse of Sub, Average and Paeth needs the
 * unfiltered pixel to the left, so a vector holds the bytes of one pixel only. */
#include "image/png/png.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;

/* Subtracts Paeth's prediction: left, above or above-left (`corner`), whichever is nearest to
 * left + above - corner; of equally near ones the first. */
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
    const size_t pixel = row->pixel_size, rest = row->size - pixel;
    *to++ = (byte)filter;
    if (filter == ROW_FILTER_NONE) {
        memcpy(to, bytes, row->size);
        return;
    }
    for (size_t i = 0; i < pixel; i++) /* left and corner are 0: Paeth predicts the byte above */
        to[i] = (byte)(bytes[i] - above[i]);
    subtract_paeth(bytes + pixel, bytes, above + pixel, above, rest, to + pixel);
}

void png_count_runs(const byte *bytes, size_t size, size_t *zeros, size_t *runs)
{
    *zeros = *runs = 0;
    for (size_t i = 0; i < size; i++)
        *zeros += bytes[i] == 0;
    for (size_t i = 0; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        *runs += word == (word << 8 | word >> 56);
    }
}

#ifdef __clang__
#define INDEPENDENT /* clang's pragma would give warnings in builds with sanitizers */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Reverses Up. `to` may be `row`. */
static void unfilter_up(const byte *row, const byte *above, size_t size, byte *to)
{
    INDEPENDENT
    for (size_t i = 0; i < size; i++)
        to[i] = (byte)(row[i] + above[i]);
}

/* The bytes of one pixel, with 16 bits each for sums and differences. Each pixel depends on the one before
 * it, so that no more can be computed at once. */
typedef int16_t lanes __attribute__((vector_size(16)));
typedef byte byte_lanes __attribute__((vector_size(8)));

/* Loads 1, 2, 4 or 8 bytes. */
static inline lanes load_bytes(const byte *from, size_t size)
{
    uint64_t word = 0;
    byte_lanes bytes;
    memcpy(&word, from, size);
    memcpy(&bytes, &word, sizeof bytes);
    return __builtin_convertvector(bytes, lanes);
}

/* Stores the pixel, exactly pixel_size bytes: `to` may be followed by filtered bytes. Three bytes are stored
 * as 2 + 1, six as 4 + 2: memcpy of these sizes is one instruction. */
static inline void store_pixel(byte *to, lanes pixel, size_t pixel_size)
{
    byte_lanes bytes = __builtin_convertvector(pixel, byte_lanes);
    uint64_t word;
    memcpy(&word, &bytes, sizeof word);
    if (pixel_size == 3 || pixel_size == 6) {
        memcpy(to, &word, pixel_size / 3 * 2);
        word >>= pixel_size / 3 * 16;
        memcpy(to + pixel_size / 3 * 2, &word, pixel_size / 3);
    } else {
        memcpy(to, &word, pixel_size);
    }
}

/* Absolute values. */
static inline lanes magnitude(lanes v)
{
    const lanes sign = v >> 15;
    return (v ^ sign) - sign;
}

/* Returns Paeth's prediction, as in subtract_paeth, by masks. */
static inline lanes guess_paeth(lanes left, lanes above, lanes corner)
{
    const lanes from_left = magnitude(above - corner), from_above = magnitude(left - corner);
    const lanes from_corner = magnitude(left + above - 2 * corner);
    const lanes is_above = from_above <= from_corner;
    const lanes is_left = (from_left <= from_above) & (from_left <= from_corner);
    return (is_left & left) | (~is_left & ((is_above & above) | (~is_above & corner)));
}

/* The pixels to the left and above-left. */
struct neighbours {
    lanes left, corner;
};

/* Unfilters a pixel and returns the neighbours of the next one. Loads `load` bytes, of which the first
 * pixel_size count. Inlined with constant filter, load and pixel_size. */
__attribute__((always_inline)) static inline struct neighbours
unfilter_pixel(enum png_filter filter, struct neighbours before, const byte *bytes, const byte *above_bytes,
               size_t load, size_t pixel_size, byte *to)
{
    const lanes above = load_bytes(above_bytes, load);
    const lanes guess = filter == ROW_FILTER_SUB       ? before.left
                        : filter == ROW_FILTER_AVERAGE ? (before.left + above) >> 1
                                                       : guess_paeth(before.left, above, before.corner);
    const lanes pixel = (load_bytes(bytes, load) + guess) & 0xff;
    store_pixel(to, pixel, pixel_size);
    return (struct neighbours){pixel, above};
}

/* Unfilters a row. Pixels of three and six bytes are loaded as four and eight bytes, but not the last ones,
 * as that would read beyond the row. */
__attribute__((always_inline)) static inline void unfilter(enum png_filter filter, const struct png_row *row,
                                                           byte *to, size_t pixel_size)
{
    const byte *bytes = row->bytes, *above = row->above;
    const size_t size = row->size, load = pixel_size == 3 ? 4 : pixel_size == 6 ? 8 : pixel_size;
    struct neighbours before = {{0}, {0}};
    size_t i = 0;
    for (; i + load <= size; i += pixel_size)
        before = unfilter_pixel(filter, before, bytes + i, above + i, load, pixel_size, to + i);
    for (; i + pixel_size <= size; i += pixel_size)
        before = unfilter_pixel(filter, before, bytes + i, above + i, pixel_size, pixel_size, to + i);
}

/* Unfilters a row, with a copy of the loop for each pixel size. */
__attribute__((always_inline)) static inline void unfilter_pixels(enum png_filter filter,
                                                                  const struct png_row *row, byte *to)
{
    switch (row->pixel_size) {
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
        unfilter_up(row->bytes, row->above, row->size, to);
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
