/* Pyramids of pictures that are much smaller than the reference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "register/levels.h"

/* A picture of 16 pixels is one pixel after the reduction of a large reference. AddressSanitizer reports
 * reads beyond it. */
static void test_one_pixel(void **state)
{
    static const int sides[][2] = {{1, 1}, {1, 5}, {5, 1}, {2, 2}};
    struct gray_plane picture;
    struct levels reference, levels;
    struct thread_pool workers;
    struct error error;
    (void)state;
    thread_pool_open(&workers, 1);
    assert_int_equal(gray_plane_make(&picture, 200, 100, &error), STATUS_OK);
    assert_int_equal(levels_make(&workers, &reference, &picture, 16, NULL, &error), STATUS_OK);
    gray_plane_free(&picture);
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        assert_int_equal(gray_plane_make(&picture, sides[i][0], sides[i][1], &error), STATUS_OK);
        picture.values[0] = 1;
        assert_int_equal(levels_make(&workers, &levels, &picture, 16, &reference, &error), STATUS_OK);
        assert_int_equal(levels.count, reference.count);
        levels_free(&levels);
        gray_plane_free(&picture);
    }
    levels_free(&reference);
    thread_pool_close(&workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_pixel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
