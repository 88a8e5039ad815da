#include "image/sample.h"

#include <math.h>
#include <stdint.h>

size_t sample_size(enum sample_type type)
{
    switch (type) {
    case SAMPLE_UINT8:
    case SAMPLE_INT8:
        return 1;
    case SAMPLE_UINT16:
    case SAMPLE_INT16:
    case SAMPLE_HALF:
        return 2;
    case SAMPLE_UINT32:
    case SAMPLE_INT32:
    case SAMPLE_FLOAT:
        return 4;
    case SAMPLE_COMPLEX:
        return 8;
    }
    return 0;
}

bool sample_is_float(enum sample_type type)
{
    return type == SAMPLE_HALF || type == SAMPLE_FLOAT;
}

bool sample_is_signed(enum sample_type type)
{
    return type == SAMPLE_INT8 || type == SAMPLE_INT16 || type == SAMPLE_INT32;
}

double sample_full_scale(enum sample_type type)
{
    switch (type) {
    case SAMPLE_UINT8:
        return UINT8_MAX;
    case SAMPLE_UINT16:
        return UINT16_MAX;
    case SAMPLE_UINT32:
        return UINT32_MAX;
    case SAMPLE_INT8:
        return INT8_MAX;
    case SAMPLE_INT16:
        return INT16_MAX;
    case SAMPLE_INT32:
        return INT32_MAX;
    default:
        return 1;
    }
}

/* IEEE 754 binary16. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent > 0 ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
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

void sample_values(enum sample_type type, const void *samples, size_t first, size_t count, double *values)
{
    const uint8_t *bytes = (const uint8_t *)samples + first;
    const uint16_t *words = (const uint16_t *)samples + first;
    if (type == SAMPLE_UINT8)
        for (size_t i = 0; i < count; i++)
            values[i] = bytes[i] / (double)UINT8_MAX;
    else if (type == SAMPLE_UINT16)
        for (size_t i = 0; i < count; i++)
            values[i] = words[i] / (double)UINT16_MAX;
    else
        for (size_t i = 0; i < count; i++)
            values[i] = sample_value(type, samples, first + i);
}

const char *sample_name(enum sample_type type)
{
    static const char *const names[] = {"8 bit",   "16 bit",       "32 bit",        "half",         "float",
                                        "complex", "signed 8 bit", "signed 16 bit", "signed 32 bit"};
    return names[type];
}
