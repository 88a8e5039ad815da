#include "selftest/question.h"

#include <string.h>

enum { HOLES = 11 }; /* one pixel of so many has alpha 0 */

/* 32 bits that look random, of a number: the finalizer of MurmurHash3 (A. Appleby, public domain). */
static uint32_t mix(uint32_t number)
{
    number = (number ^ number >> 16) * 0x85ebca6bu;
    number = (number ^ number >> 13) * 0xc2b2ae35u;
    return number ^ number >> 16;
}

/* From 0 to 1, in pyramids most of them small, but for one of 32 that is a denormal number. */
static float real_number(uint32_t bits, bool pyramid)
{
    float value = (float)(bits >> 8) * 0x1p-24f, square = value * value;
    uint32_t denormal = bits >> 10;
    if (pyramid)
        value = square * square;
    if ((bits & 31) == 0)
        memcpy(&value, &denormal, sizeof value);
    return value;
}

static void write_sample(enum sample_type type, uint32_t bits, bool pyramid, unsigned char *to)
{
    uint16_t upper = (uint16_t)(bits >> 16), half = (uint16_t)(0x3800 | bits >> 22); /* from 0.5 to 1 */
    float value = real_number(bits, pyramid);
    if (type == SAMPLE_UINT8)
        *to = (unsigned char)(bits >> 24);
    else if (type == SAMPLE_UINT16 || type == SAMPLE_INT16)
        memcpy(to, &upper, sizeof upper);
    else if (type == SAMPLE_UINT32)
        memcpy(to, &bits, sizeof bits);
    else if (type == SAMPLE_HALF)
        memcpy(to, &half, sizeof half);
    else
        memcpy(to, &value, sizeof value);
}

void question_write(const struct question *question, enum sample_type type, size_t first, size_t count,
                    void *samples)
{
    unsigned char *to = samples;
    size_t channels = (size_t)question->channels, parts = type == SAMPLE_COMPLEX ? 2 : 1;
    enum sample_type part = type == SAMPLE_COMPLEX ? SAMPLE_FLOAT : type;
    for (size_t i = first * parts; i < (first + count) * parts; i++, to += sample_size(part)) {
        bool alpha = question->alpha && i % channels == channels - 1;
        bool hole = alpha && i / channels % HOLES == HOLES - 1;
        uint32_t bits = mix((uint32_t)i + 1);
        write_sample(part, bits | (alpha ? 0x80000001u : 0), question->levels > 0, to);
        if (hole)
            memset(to, 0, sample_size(part));
    }
}
