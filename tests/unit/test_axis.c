/* Windows and weights of axes. */
#include "filters/axis.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 300 };

/* The filter reaches three times as far as the axis, which is the longest there is. */
static void test_the_longest_axis(void **state)
{
    const struct axis axis = {.samples = 1 << 30,
                              .outputs = 1,
                              .ends_at_border = true,
                              .resize = {.filter = RESIZE_LANCZOS, .from = 1 << 30, .to = 1}};
    (void)state;
    const struct interval taps = axis_taps(&axis, 0, NULL),
                          source = axis_source_rows(&axis, (struct interval){0, 1});
    assert_int_equal(taps.begin, 0);
    assert_int_equal(taps.end, axis.samples);
    assert_int_equal(source.begin, 0);
    assert_int_equal(source.end, axis.samples);
    assert_int_equal(axis_max_taps(&axis), axis.samples);
}

static void check_sum(const struct axis *axis, int o, struct interval taps)
{
    double weights[MOST + 1], sum = 0;
    assert_true(taps.begin >= 0 && taps.begin < taps.end && taps.end <= axis->samples);
    assert_true(taps.end - taps.begin <= axis_max_taps(axis));
    axis_taps(axis, o, weights);
    for (int i = taps.begin; i < taps.end; i++)
        sum += weights[i - taps.begin];
    assert_true(fabs(sum - 1) < 1e-12);
}

/* For all pairs of sizes weights add up to 1. A box that reduces gives each sample to exactly one output. */
static void test_pairs_of_sizes(void **state)
{
    (void)state;
    for (int filter = RESIZE_LANCZOS; filter <= RESIZE_BOX; filter++)
        for (int from = 1; from <= MOST; from++)
            for (int to = 1; to <= MOST; to += filter == RESIZE_BOX ? 1 : 37) {
                const struct axis axis = {
                    .samples = from,
                    .outputs = to,
                    .ends_at_border = true,
                    .resize = {.filter = (enum resize_filter)filter, .from = from, .to = to}};
                int next = 0;
                for (int o = 0; o < to; o++) {
                    struct interval taps = axis_taps(&axis, o, NULL);
                    check_sum(&axis, o, taps);
                    if (filter == RESIZE_BOX && from >= to)
                        assert_int_equal(taps.begin, next);
                    next = taps.end;
                }
                assert_int_equal(next, from);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_longest_axis),
                                       cmocka_unit_test(test_pairs_of_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
