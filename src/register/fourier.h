/* 2-D Fourier transforms of small planes (128 x 128 pixels usually) on the host, in single precision.
 *
 * A struct fourier has the tables for one size of planes. It is read-only after fourier_make, so several
 * threads may transform planes with it. Results are the same bits on every machine: the tables come from
 * exact_cos and exact_sin, and the order of operations is fixed. */
#ifndef CLIMG_REGISTER_FOURIER_H
#define CLIMG_REGISTER_FOURIER_H

#include "base/error.h"

/* A plane is 2 * width * height floats: the real parts row by row, then the imaginary parts. */
struct fourier {
    int width, height;      /* powers of two */
    float *cosines, *sines; /* of 2 pi i / n, n being the longer side; one allocation, owned */
};

/* Allocates and fills the tables. Fails only if out of memory. */
enum status fourier_make(struct fourier *fourier, int width, int height, struct error *error);

/* Frees the tables. May be called on a zeroed struct, and twice. */
void fourier_free(struct fourier *fourier);

/* Transforms the first plane into the second one; the first one is overwritten. A spectrum is transposed
 * (height columns, width rows), and both axes are in bit-reversed order. Products of two spectra need no
 * other order. Forward followed by inverse multiplies by width * height. */
void fourier_forward(const struct fourier *fourier, float *plane, float *spectrum);
void fourier_inverse(const struct fourier *fourier, float *spectrum, float *plane);

#endif
