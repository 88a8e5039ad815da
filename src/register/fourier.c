/* Decimation in frequency (W. M. Gentleman and G. Sande, Fast Fourier Transforms, AFIPS 1966) leaves a line
 * in bit-reversed order, and decimation in time (J. W. Cooley and J. W. Tukey, Mathematics of Computation 19,
 * 1965) takes it so on the way back. Lines go down the columns: then each step is the same for a whole row.
 */
#include "register/fourier.h"

#include "base/exact.h"

#include <math.h>
#include <stdlib.h>

enum status fourier_make(struct fourier *fourier, int width, int height, struct error *error)
{
    const int count = width > height ? width : height;
    const double turn = 6.283185307179586;
    *fourier = (struct fourier){.width = width, .height = height};
    fourier->cosines = allocate(2 * (size_t)count * sizeof *fourier->cosines, "a Fourier transform", error);
    if (!fourier->cosines)
        return STATUS_FAILED;
    fourier->sines = fourier->cosines + count;
    for (int i = 0; i < count; i++) {
        fourier->cosines[i] = (float)exact_cos(turn * i / count);
        fourier->sines[i] = (float)exact_sin(turn * i / count);
    }
    return STATUS_OK;
}

void fourier_free(struct fourier *fourier)
{
    free(fourier->cosines);
    fourier->cosines = NULL;
}

/* Two rows of the columns that are transformed, real and imaginary parts. */
struct rows_of_two {
    float *restrict a, *restrict b, *restrict ia, *restrict ib;
};

static void part(struct rows_of_two rows, int width, float cosine, float sine)
{
    for (int x = 0; x < width; x++) {
        float real = rows.a[x] - rows.b[x], imaginary = rows.ia[x] - rows.ib[x];
        rows.a[x] += rows.b[x];
        rows.ia[x] += rows.ib[x];
        rows.b[x] = real * cosine + imaginary * sine;
        rows.ib[x] = imaginary * cosine - real * sine;
    }
}

static void join(struct rows_of_two rows, int width, float cosine, float sine)
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

/* One step of all columns: rows that are `half` apart. */
static void step_down(const struct fourier *fourier, float *plane, int width, int height, int half,
                      void (*step)(struct rows_of_two, int, float, float))
{
    const int longer = fourier->width > fourier->height ? fourier->width : fourier->height;
    float *imaginary = plane + (size_t)width * (size_t)height;
    for (int top = 0; top < height; top += 2 * half)
        for (int k = 0; k < half; k++) {
            const size_t a = (size_t)(top + k) * (size_t)width, b = a + (size_t)half * (size_t)width;
            const int at = k * (longer / (2 * half));
            step((struct rows_of_two){plane + a, plane + b, imaginary + a, imaginary + b}, width,
                 fourier->cosines[at], fourier->sines[at]);
        }
}

static void down(const struct fourier *fourier, float *plane, int width, int height)
{
    for (int half = height / 2; half > 0; half /= 2)
        step_down(fourier, plane, width, height, half, part);
}

static void down_back(const struct fourier *fourier, float *plane, int width, int height)
{
    for (int half = 1; half < height; half *= 2)
        step_down(fourier, plane, width, height, half, join);
}

/* In tiles, whose rows stay in the cache. */
static void transpose(const float *from, int width, int height, float *to)
{
    enum { TILE = 16 };
    for (int top = 0; top < height; top += TILE)
        for (int left = 0; left < width; left += TILE)
            for (int x = left; x < left + TILE && x < width; x++)
                for (int y = top; y < top + TILE && y < height; y++)
                    to[(size_t)x * (size_t)height + (size_t)y] = from[(size_t)y * (size_t)width + (size_t)x];
}

void fourier_forward(const struct fourier *fourier, float *plane, float *spectrum)
{
    const int width = fourier->width, height = fourier->height;
    const size_t count = (size_t)width * (size_t)height;
    down(fourier, plane, width, height);
    transpose(plane, width, height, spectrum);
    transpose(plane + count, width, height, spectrum + count);
    down(fourier, spectrum, height, width);
}

void fourier_back(const struct fourier *fourier, float *spectrum, float *plane)
{
    const int width = fourier->width, height = fourier->height;
    const size_t count = (size_t)width * (size_t)height;
    down_back(fourier, spectrum, height, width);
    transpose(spectrum, height, width, plane);
    transpose(spectrum + count, height, width, plane + count);
    down_back(fourier, plane, width, height);
}
