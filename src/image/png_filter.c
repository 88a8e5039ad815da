/* Plain loops over bytes, compiled with -O3 (see the Makefile): nothing here reads what it wrote, so the
 * compiler turns all of them into vectors. */
#include "image/png_filter.h"

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

void png_swap_samples(const byte *restrict row, size_t size, byte *restrict to)
{
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint16_t sample;
        memcpy(&sample, row + i, sizeof sample);
        sample = (uint16_t)(sample << 8 | sample >> 8);
        memcpy(to + i, &sample, sizeof sample);
    }
}
