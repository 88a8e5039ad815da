/* Plain loops over bytes, compiled with -O3 (see the Makefile): nothing here reads what it wrote, so the
 * compiler turns all of them into vectors. */
#include "image/png/filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;

static void subtract(const byte *restrict row, const byte *restrict guess, size_t size, byte *restrict to)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (byte)(row[i] - guess[i]);
}

static void subtract_average(const byte *restrict row, const byte *restrict left, const byte *restrict above,
                             size_t size, byte *restrict to)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (byte)(row[i] - ((left[i] + above[i]) >> 1));
}

/* Of left, above and above-left the one nearest to left + above - above-left; the first of equals. */
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
    /* What is left of the first pixel counts as zero. */
    const byte *bytes = row->bytes, *above = row->above;
    size_t step = row->step, rest = row->size - step;
    *to++ = (byte)filter;
    switch (filter) {
    case PNG_ROW_SUB:
        memcpy(to, bytes, step);
        subtract(bytes + step, bytes, rest, to + step);
        break;
    case PNG_ROW_UP:
        subtract(bytes, above, row->size, to);
        break;
    case PNG_ROW_AVERAGE:
        for (size_t i = 0; i < step; i++)
            to[i] = (byte)(bytes[i] - (above[i] >> 1));
        subtract_average(bytes + step, bytes, above + step, rest, to + step);
        break;
    case PNG_ROW_PAETH:
        subtract(bytes, above, step, to);
        subtract_paeth(bytes + step, bytes, above + step, above, rest, to + step);
        break;
    default:
        memcpy(to, bytes, row->size);
        break;
    }
}

static uint32_t sum_of_some(const byte *bytes, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += (uint32_t)abs((int8_t)bytes[i]);
    return sum;
}

static uint64_t sum_of_magnitudes(const byte *bytes, size_t size)
{
    enum { BLOCK = 1 << 20 }; /* whose sum fits 32 bit: lanes as narrow as can be */
    uint64_t sum = 0;
    for (; size > BLOCK; bytes += BLOCK, size -= BLOCK)
        sum += sum_of_some(bytes, BLOCK);
    return sum + sum_of_some(bytes, size);
}

byte *png_filter_choose(const struct png_row *row, byte *to, byte *trial)
{
    uint64_t least = UINT64_MAX;
    for (int filter = PNG_ROW_NONE; filter < PNG_ROW_COUNT; filter++) {
        png_filter_row((enum png_filter)filter, row, trial);
        uint64_t sum = sum_of_magnitudes(trial + 1, row->size);
        if (sum < least) {
            byte *best = trial;
            trial = to;
            to = best;
            least = sum;
        }
    }
    return to;
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
#define INDEPENDENT /* clang has a pragma for it, and warns where it is of no use, as with sanitizers */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* `to` may be `row`. */
static void add(const byte *row, const byte *above, size_t size, byte *to)
{
    INDEPENDENT
    for (size_t i = 0; i < size; i++)
        to[i] = (byte)(row[i] + above[i]);
}

/* The bytes of a pixel side by side: each row's pixels depend on the one before, so that is all there is to
 * do at once. */
typedef int16_t lanes __attribute__((vector_size(16)));
typedef byte narrow __attribute__((vector_size(8)));

/* `size` bytes, 1, 2, 4 or 8: those that a register takes at once. */
static inline lanes load_bytes(const byte *from, size_t size)
{
    uint64_t word = 0;
    narrow bytes;
    memcpy(&word, from, size);
    memcpy(&bytes, &word, sizeof bytes);
    return __builtin_convertvector(bytes, lanes);
}

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

static inline lanes magnitude(lanes v)
{
    const lanes sign = v >> 15;
    return (v ^ sign) - sign;
}

static inline lanes guess_paeth(lanes left, lanes above, lanes corner)
{
    const lanes from_left = magnitude(above - corner), from_above = magnitude(left - corner);
    const lanes from_corner = magnitude(left + above - 2 * corner);
    const lanes is_above = from_above <= from_corner;
    const lanes is_left = (from_left <= from_above) & (from_left <= from_corner);
    return (is_left & left) | (~is_left & ((is_above & above) | (~is_above & corner)));
}

/* What the next pixel needs of the one before. */
struct behind {
    lanes left, corner;
};

/* Inlined, with all but the pointers known; `load` bytes are read and the first `step` count. */
__attribute__((always_inline)) static inline struct behind
unfilter_pixel(enum png_filter filter, struct behind behind, const byte *bytes, const byte *above_bytes,
               size_t load, size_t step, byte *to)
{
    const lanes above = load_bytes(above_bytes, load);
    const lanes guess = filter == PNG_ROW_SUB       ? behind.left
                        : filter == PNG_ROW_AVERAGE ? (behind.left + above) >> 1
                                                    : guess_paeth(behind.left, above, behind.corner);
    const lanes pixel = (load_bytes(bytes, load) + guess) & 0xff;
    store_pixel(to, pixel, step);
    return (struct behind){pixel, above};
}

/* Three and six bytes are loaded as four and eight, but for the last pixels: nothing stands behind them. */
__attribute__((always_inline)) static inline void unfilter(enum png_filter filter, const struct png_row *row,
                                                           byte *to, size_t step)
{
    const byte *bytes = row->bytes, *above = row->above;
    const size_t size = row->size, load = step == 3 ? 4 : step == 6 ? 8 : step;
    struct behind behind = {{0}, {0}};
    size_t i = 0;
    for (; i + load <= size; i += step)
        behind = unfilter_pixel(filter, behind, bytes + i, above + i, load, step, to + i);
    for (; i + step <= size; i += step)
        behind = unfilter_pixel(filter, behind, bytes + i, above + i, step, step, to + i);
}

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
    case PNG_ROW_SUB:
        unfilter_pixels(PNG_ROW_SUB, row, to);
        break;
    case PNG_ROW_UP:
        add(row->bytes, row->above, row->size, to);
        break;
    case PNG_ROW_AVERAGE:
        unfilter_pixels(PNG_ROW_AVERAGE, row, to);
        break;
    case PNG_ROW_PAETH:
        unfilter_pixels(PNG_ROW_PAETH, row, to);
        break;
    default:
        memmove(to, row->bytes, row->size);
        break;
    }
}

void png_swap_samples(const byte *restrict row, size_t size, byte *restrict to)
{
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint16_t sample;
        memcpy(&sample, row + i, sizeof sample);
        sample = (uint16_t)(sample << 8 | sample >> 8);
        memcpy(to + i, &sample, sizeof sample);
    }
}
