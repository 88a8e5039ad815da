/* Windows of axes that are resized. */
#include "filters/resize.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The filter reaches three times as far as the axis, which is the longest there is. */
static void test_the_longest_axis(void **state)
{
    const struct resize_axis axis = {.filter = RESIZE_LANCZOS, .from = 1 << 30, .to = 1, .count = 1};
    int first;
    (void)state;
    assert_int_equal(resize_taps(&axis, 0, &first), axis.from);
    assert_int_equal(first, 0);
    assert_int_equal(resize_most_taps(&axis), axis.from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_longest_axis)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
