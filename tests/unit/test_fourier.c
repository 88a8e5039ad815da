/* Transforms of planes against the sums that define them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "register/fourier.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 64 * 64 };

static int reversed(int k, int count)
{
    int result = 0;
    for (int bit = 1; bit < count; bit *= 2)
        result = 2 * result + !!(k & bit);
    return result;
}

static void fill(float *plane, int count)
{
    for (int i = 0; i < count; i++)
        plane[i] = (float)rand() / (float)RAND_MAX - 0.5F;
}

/* The sum for one frequency. */
static double complex transform_at(const float *plane, int width, int height, int u, int v)
{
    const double turn = 2 * acos(-1);
    double complex sum = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double complex value =
                (double)plane[y * width + x] + I * (double)plane[width * height + y * width + x];
            sum += value * cexp(-I * turn * ((double)u * x / width + (double)v * y / height));
        }
    return sum;
}

static void test_size(int width, int height)
{
    static float plane[2 * MOST], spectrum[2 * MOST], kept[2 * MOST];
    const int count = width * height;
    struct fourier fourier;
    struct error error;
    assert_int_equal(fourier_make(&fourier, width, height, &error), STATUS_OK);
    fill(plane, 2 * count);
    for (int i = 0; i < 2 * count; i++)
        kept[i] = plane[i];
    fourier_forward(&fourier, plane, spectrum);
    for (int trial = 0; trial < 20; trial++) {
        int u = rand() % width, v = rand() % height;
        int at = reversed(u, width) * height + reversed(v, height);
        double complex found = (double)spectrum[at] + I * (double)spectrum[count + at];
        assert_true(cabs(found - transform_at(kept, width, height, u, v)) < 1e-5 * count);
    }
    fourier_inverse(&fourier, spectrum, plane);
    for (int i = 0; i < 2 * count; i++)
        assert_true(fabs((double)plane[i] / count - (double)kept[i]) < 1e-6);
    fourier_free(&fourier);
}

static void test_sizes(void **state)
{
    (void)state;
    for (int width = 2; width <= 64; width *= 2)
        for (int height = 2; height <= 64; height *= 2)
            test_size(width, height);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
