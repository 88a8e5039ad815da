/* Fourier transforms of small planes on the host. */
#ifndef CLIMG_REGISTER_FOURIER_H
#define CLIMG_REGISTER_FOURIER_H

#include "base/error.h"

/* The planes' size: powers of two. A plane is its real parts, row by row, and then its imaginary parts. */
struct fourier {
    int width, height;
    float *cosines, *sines; /* of one turn in as many steps as the longer side has */
};

enum status fourier_make(struct fourier *fourier, int width, int height, struct error *error);
void fourier_free(struct fourier *fourier);

/* Both write the result elsewhere and leave nothing useful in their source. A spectrum has x and y exchanged
 * and each in bit-reversed order, which products of spectra do not mind. There and back multiplies by the
 * number of pixels. */
void fourier_forward(const struct fourier *fourier, float *plane, float *spectrum);
void fourier_back(const struct fourier *fourier, float *spectrum, float *plane);

#endif
