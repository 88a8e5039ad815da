/* Merges whose temporary file is damaged. */
#include "filters/merge_store.h"
#include "image/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

static void a_truncated_file_is_an_error(void **state)
{
    const struct image_info info = {.width = 8, .height = 6, .channels = 1, .type = SAMPLE_UINT8};
    const struct merge_input input = {.info = &info, .samples = SAMPLE_UINT8, .folder = "/tmp", .jobs = 1};
    const struct merge_options options = {.method = MERGE_MEDIAN};
    const unsigned char samples[8 * 6] = {7};
    float rows[8 * 6];
    struct merge_result result;
    struct error error = {.text = ""};
    void *merge;
    (void)state;
    assert_int_equal(merge_robust.begin(&options, &input, &merge, &error), STATUS_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(merge_robust.add(merge, NULL, samples, &error), STATUS_OK);
    assert_int_equal(merge_robust.finish(merge, NULL, &result, &error), STATUS_OK);
    assert_int_equal(ftruncate(fileno(((struct merge_store *)merge)->file), 2 * 8 * 6 + 5), 0);
    assert_int_equal(merge_robust.read(merge, rows, 6, &error), STATUS_FAILED);
    assert_string_equal(error.text,
                        "cannot read the temporary file in /tmp that has all pictures: Input/output error");
    merge_robust.free(merge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_truncated_file_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
