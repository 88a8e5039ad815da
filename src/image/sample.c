/* Sizes, names and ranges of the sample types, and conversion of single samples to double. */
#include "image/sample.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    double full_scale;
    bool is_float, is_signed;
} types[] = {
    [SAMPLE_UINT8] = {"8 bit", 1, UINT8_MAX, false, false},
    [SAMPLE_UINT16] = {"16 bit", 2, UINT16_MAX, false, false},
    [SAMPLE_UINT32] = {"32 bit", 4, UINT32_MAX, false, false},
    [SAMPLE_HALF] = {"half", 2, 1, true, false},
    [SAMPLE_FLOAT] = {"float", 4, 1, true, false},
    [SAMPLE_COMPLEX] = {"complex", 8, 1, false, false},
    [SAMPLE_INT8] = {"signed 8 bit", 1, INT8_MAX, false, true},
    [SAMPLE_INT16] = {"signed 16 bit", 2, INT16_MAX, false, true},
    [SAMPLE_INT32] = {"signed 32 bit", 4, INT32_MAX, false, true},
};

size_t sample_size(enum sample_type type)
{
    return types[type].size;
}

bool sample_is_float(enum sample_type type)
{
    return types[type].is_float;
}

bool sample_is_signed(enum sample_type type)
{
    return types[type].is_signed;
}

double sample_full_scale(enum sample_type type)
{
    return types[type].full_scale;
}

const char *sample_name(enum sample_type type)
{
    return types[type].name;
}

const char *colour_model_name(enum colour_model model)
{
    return model == COLOUR_MODEL_RGB ? NULL : model <= COLOUR_MODEL_CMYK_INVERTED ? "CMYK" : "L*a*b*";
}

/* Decodes IEEE 754 binary16: a sign bit, 5 bits of exponent with bias 15, 10 bits of fraction. With exponent
 * 0 there is no implicit leading bit; 31 is infinity or NaN. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent > 0 ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

/* Encodes binary16: rounds half to even; values beyond the range become infinity. */
static uint16_t half_bits(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent = -13; /* frexp's exponent of 2^-14, the smallest normal number; also for subnormal ones */
    if (isnan(value))
        return 0x7e00;
    if (fabs(value) >= 0x1p-14)
        (void)frexp(value, &exponent);
    const double fraction = nearbyint(ldexp(fabs(value), 11 - exponent));
    /* The exponent's field is exponent + 14. The fraction has 11 bits; the first adds 1 to the field. */
    const double bits = fraction + ldexp(exponent + 13, 10);
    return (uint16_t)(sign | (uint16_t)fmin(bits, 0x7c00));
}

double sample_value(enum sample_type type, const void *samples, size_t index)
{
    const double scale = sample_full_scale(type);
    switch (type) {
    case SAMPLE_UINT8:
        return ((const uint8_t *)samples)[index] / scale;
    case SAMPLE_INT8:
        return ((const int8_t *)samples)[index] / scale;
    case SAMPLE_UINT16:
        return ((const uint16_t *)samples)[index] / scale;
    case SAMPLE_INT16:
        return ((const int16_t *)samples)[index] / scale;
    case SAMPLE_UINT32:
        return ((const uint32_t *)samples)[index] / scale;
    case SAMPLE_INT32:
        return ((const int32_t *)samples)[index] / scale;
    case SAMPLE_HALF:
        return half_value(((const uint16_t *)samples)[index]);
    default:
        return ((const float *)samples)[index];
    }
}

/* Encodes an integer in two's complement; types of fewer than 32 bits use the lowest ones. */
static uint32_t integer_bits(enum sample_type type, double value)
{
    const double full = sample_full_scale(type), low = sample_is_signed(type) ? -full - 1 : 0;
    return (uint32_t)(int64_t)(isnan(value) ? 0 : fmin(fmax(nearbyint(value * full), low), full));
}

void sample_set(enum sample_type type, void *samples, size_t index, double value)
{
    /* One variable of each size, whose bytes are in the host's order. */
    const float real = (float)value;
    const uint32_t word = integer_bits(type, value);
    const uint16_t half = type == SAMPLE_HALF ? half_bits(value) : (uint16_t)word;
    const uint8_t byte = (uint8_t)word;
    const size_t size = sample_size(type);
    const void *bytes = type == SAMPLE_FLOAT ? (const void *)&real
                        : size == 1          ? (const void *)&byte
                        : size == 2          ? (const void *)&half
                                             : (const void *)&word;
    memcpy((unsigned char *)samples + index * size, bytes, size);
}

void sample_values(enum sample_type type, const void *samples, size_t first, size_t count, double *values)
{
    /* Loops that compilers vectorise, for the types of most files. */
    const uint8_t *bytes = (const uint8_t *)samples + first;
    const uint16_t *words = (const uint16_t *)samples + first;
    const float *reals = (const float *)samples + first;
    if (type == SAMPLE_UINT8)
        for (size_t i = 0; i < count; i++)
            values[i] = bytes[i] / (double)UINT8_MAX;
    else if (type == SAMPLE_UINT16)
        for (size_t i = 0; i < count; i++)
            values[i] = words[i] / (double)UINT16_MAX;
    else if (type == SAMPLE_FLOAT)
        for (size_t i = 0; i < count; i++)
            values[i] = (double)reals[i];
    else
        for (size_t i = 0; i < count; i++)
            values[i] = sample_value(type, samples, first + i);
}

void sample_swap(const void *restrict samples, size_t size, void *restrict to)
{
    for (size_t i = 0; i + 1 < size; i += 2) {
        uint16_t sample;
        memcpy(&sample, (const unsigned char *)samples + i, sizeof sample);
        sample = (uint16_t)(sample << 8 | sample >> 8);
        memcpy((unsigned char *)to + i, &sample, sizeof sample);
    }
}
