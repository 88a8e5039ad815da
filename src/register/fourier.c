/* Radix-2 Fourier transforms without bit reversal.
 *
 * Forward is decimation in frequency (W. M. Gentleman and G. Sande, "Fast Fourier Transforms - For Fun and
 * Profit", AFIPS 1966), which leaves an axis in bit-reversed order. Inverse is decimation in time (J. W.
 * Cooley and J. W. Tukey, Mathematics of Computation 19, 1965), which reads an axis in that order. So no
 * sample is ever reordered.
 *
 *     forward:   columns ─▶ transpose ─▶ columns          inverse:   columns ─▶ transpose ─▶ columns
 *
 * Rows are transposed and then transformed as columns, too: a butterfly then has the same factor for a whole
 * row, and the compiler vectorises it. */
#include "register/fourier.h"

#include "base/exact.h"

#include <stdlib.h>

enum status fourier_make(struct fourier *fourier, int width, int height, struct error *error)
{
    const int count = width > height ? width : height;
    const double two_pi = 6.283185307179586;
    *fourier = (struct fourier){.width = width, .height = height};
    fourier->cosines = allocate(2 * (size_t)count * sizeof *fourier->cosines, "a Fourier transform", error);
    if (!fourier->cosines)
        return STATUS_FAILED;
    fourier->sines = fourier->cosines + count;
    for (int i = 0; i < count; i++) {
        fourier->cosines[i] = (float)exact_cos(two_pi * i / count);
        fourier->sines[i] = (float)exact_sin(two_pi * i / count);
    }
    return STATUS_OK;
}

void fourier_free(struct fourier *fourier)
{
    free(fourier->cosines);
    fourier->cosines = NULL;
}

/* The two rows that a butterfly combines: real parts a and b, imaginary parts ia and ib. */
struct row_pair {
    float *restrict a, *restrict b, *restrict ia, *restrict ib;
};

/* a, b = a + b, (a - b) w, where w = cosine - i sine. */
static void butterfly_forward(struct row_pair rows, int width, float cosine, float sine)
{
    for (int x = 0; x < width; x++) {
        float real = rows.a[x] - rows.b[x], imaginary = rows.ia[x] - rows.ib[x];
        rows.a[x] += rows.b[x];
        rows.ia[x] += rows.ib[x];
        rows.b[x] = real * cosine + imaginary * sine;
        rows.ib[x] = imaginary * cosine - real * sine;
    }
}

/* a, b = a + b w, a - b w, where w = cosine + i sine. */
static void butterfly_inverse(struct row_pair rows, int width, float cosine, float sine)
{
    for (int x = 0; x < width; x++) {
        float real = rows.b[x] * cosine - rows.ib[x] * sine,
              imaginary = rows.ib[x] * cosine + rows.b[x] * sine;
        rows.b[x] = rows.a[x] - real;
        rows.ib[x] = rows.ia[x] - imaginary;
        rows.a[x] += real;
        rows.ia[x] += imaginary;
    }
}

/* Applies one stage of butterflies to all columns. They combine rows at a distance of `half`, in groups of
 * 2 * half rows. */
static void butterflies(const struct fourier *fourier, float *plane, int width, int height, int half,
                        void (*butterfly)(struct row_pair, int, float, float))
{
    /* The tables are for the longer side; the shorter one uses every second, fourth, ... entry. */
    const int longer = fourier->width > fourier->height ? fourier->width : fourier->height;
    float *imaginary = plane + (size_t)width * (size_t)height;
    for (int top = 0; top < height; top += 2 * half)
        for (int k = 0; k < half; k++) {
            const size_t a = (size_t)(top + k) * (size_t)width, b = a + (size_t)half * (size_t)width;
            const int at = k * (longer / (2 * half));
            butterfly((struct row_pair){plane + a, plane + b, imaginary + a, imaginary + b}, width,
                      fourier->cosines[at], fourier->sines[at]);
        }
}

static void forward_columns(const struct fourier *fourier, float *plane, int width, int height)
{
    for (int half = height / 2; half > 0; half /= 2)
        butterflies(fourier, plane, width, height, half, butterfly_forward);
}

static void inverse_columns(const struct fourier *fourier, float *plane, int width, int height)
{
    for (int half = 1; half < height; half *= 2)
        butterflies(fourier, plane, width, height, half, butterfly_inverse);
}

/* Transposes real and imaginary part in tiles of 16 x 16, which stay in the cache. */
static void transpose(const float *from, int width, int height, float *to)
{
    enum { TILE = 16 };
    const size_t count = (size_t)width * (size_t)height;
    for (size_t part = 0; part < 2 * count; part += count)
        for (int top = 0; top < height; top += TILE)
            for (int left = 0; left < width; left += TILE)
                for (int x = left; x < left + TILE && x < width; x++)
                    for (int y = top; y < top + TILE && y < height; y++)
                        to[part + (size_t)x * (size_t)height + (size_t)y] =
                            from[part + (size_t)y * (size_t)width + (size_t)x];
}

void fourier_forward(const struct fourier *fourier, float *plane, float *spectrum)
{
    forward_columns(fourier, plane, fourier->width, fourier->height);
    transpose(plane, fourier->width, fourier->height, spectrum);
    forward_columns(fourier, spectrum, fourier->height, fourier->width);
}

void fourier_inverse(const struct fourier *fourier, float *spectrum, float *plane)
{
    inverse_columns(fourier, spectrum, fourier->height, fourier->width);
    transpose(spectrum, fourier->height, fourier->width, plane);
    inverse_columns(fourier, plane, fourier->width, fourier->height);
}
