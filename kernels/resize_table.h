/* Outputs of an axis that is resized: output i is the sum over k < taps of weight k times sample first + k. A table has a
 * row for each: the bits of two ints, first and taps, then the weights. There is no border rule: where samples beyond the
 * border count, their weights are those of the samples that stand for them, but the window of an axis that wraps goes on at
 * its other end. */
#pragma once
#include "planes.h"

#define TABLE(name)     __global const float *restrict name, const int name##_pitch
#define GIVE_TABLE(name) name, name##_pitch
#define OUTPUT(name, i) ((name) + (size_t)(i) * name##_pitch)
#define FIRST(output)   as_int((output)[0])
#define TAPS(output)    as_int((output)[1])
#define END(output)     (FIRST(output) + TAPS(output))
#define WEIGHT(output, k) (output)[2 + (k)]

/* The sample that i stands for. */
static inline int wrapped(int i, int n)
{
    return i < 0 ? i + n : i < n ? i : i - n;
}
