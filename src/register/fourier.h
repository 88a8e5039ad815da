/* Fourier transforms of small planes on the host. */
#ifndef CLIMG_REGISTER_FOURIER_H
#define CLIMG_REGISTER_FOURIER_H

#include "base/error.h"

/* Sides of the planes are powers of two. A plane is its real parts, row by row, followed by its imaginary
 * parts. */
struct fourier {
    int width, height;
    float *cosines, *sines; /* of one turn, in as many steps as the longer side has pixels */
};

enum status fourier_make(struct fourier *fourier, int width, int height, struct error *error);
void fourier_free(struct fourier *fourier);

/* Both write the result to the second plane and use the first one as scratch. A spectrum has x and y
 * exchanged and each in bit-reversed order, which does not matter to products of spectra. Forward and back
 * multiplies by the number of pixels. */
void fourier_forward(const struct fourier *fourier, float *plane, float *spectrum);
void fourier_back(const struct fourier *fourier, float *spectrum, float *plane);

#endif
