/* Enlarging by 2^shift. Output o of an axis is interpolated between TAPS samples, from
 *
 *     first(o) = ((o + halfway) >> shift) - TAPS / 2
 *
 * on, where `halfway` is half the factor for an even number, which lies around the output's place and changes halfway from
 * one sample to the next, and 0 for an odd one (grid=corners), which lies around a sample. The TAPS weights of an output
 * are those of its phase, its remainder by the factor.
 *
 * Outputs are taken in runs. What a run needs is a window of samples, from first() of its first output on, and a matrix:
 *
 *     output r of the run = sum over j < window of matrix[j][r] * sample j
 *
 * whose rows have a weight for each output of the run, zero where the sample is not one of its TAPS. There are as many
 * matrices as runs to the factor, or one.
 *
 *   -DTAPS=n  4 bicubic and B-spline, 2 bilinear; on the grid of corners 7, 3 */
#pragma once
#include "edge.h"

#ifndef TAPS
#define TAPS 4
#endif

struct enlargement {
    int shift, halfway;
    int window; /* of a run along the axis whose outputs a work-item has several of */
};

static inline int first_sample(const struct enlargement by, int o)
{
    return ((o + by.halfway) >> by.shift) - TAPS / 2;
}

/* Of the run of `outputs` that begins at o, which `outputs` divides. */
static inline int matrix_of(const struct enlargement by, int o, int outputs)
{
    return (o & ((1 << by.shift) - 1)) / outputs;
}
