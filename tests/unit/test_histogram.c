/* Histograms of pictures that have more samples than a counter of 32 bits can count. */
#include "filters/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Copy i counts rows i, i + n, and so on, so that the first one has the most samples: of one value, if the
 * picture has one colour. */
static void test_no_counter_wraps(void **state)
{
    static const int sizes[][2] = {{1, 1},           {2048, 2048},   {65536, 65536},
                                   {150000, 150000}, {1 << 29, 100}, {100, 1 << 29}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int channels = 1; channels <= 4; channels++) {
            const struct shape shape = {.width = sizes[i][0], .height = sizes[i][1], .channels = channels};
            const int64_t copies = histogram_copies(&shape), rows = (shape.height + copies - 1) / copies;
            assert_in_range(rows * shape.width * channels, 1, UINT32_MAX);
        }
}

static void test_ends_of_no_samples(void **state)
{
    static const uint64_t counts[1 << 19] = {0};
    (void)state;
    for (int floats = 0; floats < 2; floats++) {
        const struct histogram histogram = {.counts = counts, .bins = 1 << (18 + floats), .is_float = floats};
        float found[2];
        histogram_ends(&histogram, 1, found);
        assert_true(found[0] == 0 && found[1] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_counter_wraps),
                                       cmocka_unit_test(test_ends_of_no_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
