/* --selftest launches every kernel that there is, on a device that computes nothing: what it says of its
 * answers is for tests/reference/program/test_selftest.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "imagined_opencl.h"

#include "device/source.h"
#include "selftest/selftest.h"

enum { MAX_LAUNCHED = 128, NAME_SIZE = 64 };

static char launched[MAX_LAUNCHED][NAME_SIZE];
static int launched_count;

static bool was_launched(const char *name)
{
    for (int i = 0; i < launched_count; i++)
        if (strcmp(launched[i], name) == 0)
            return true;
    return false;
}

static void note_launch(const char *kernel, int outputs, const size_t *group, double *seconds, float *value)
{
    (void)outputs, (void)group, (void)value;
    *seconds = 1e-6;
    if (!was_launched(kernel) && launched_count < MAX_LAUNCHED)
        snprintf(launched[launched_count++], NAME_SIZE, "%s", kernel);
}

static void ask(int device_class)
{
    const struct settings settings = {
        .device = "auto",
        .environment = {.cache = "/dev/null/none", .spool_folder = "/tmp", .device_class = device_class}};
    struct error error;
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);
    assert_int_equal(selftest(&settings, out, &error), STATUS_FAILED); /* nothing is computed */
    fclose(out);
    assert_non_null(strstr(error.text, "wrong answers from samples, --invert, --blur, "));
    assert_non_null(strstr(said, "not stored: "));
    free(said);
}

/* The names under which a kernel is launched: its own, or other names that its file defines for it. */
static int check_kernel(const char *text, const char *name)
{
    char define[2 * NAME_SIZE], other[NAME_SIZE];
    int others = 0, missing = 0;
    snprintf(define, sizeof define, "#define %s ", name);
    for (const char *at = text; (at = strstr(at, define)); at += strlen(define), others++)
        if (sscanf(at + strlen(define), "%63[a-z0-9_]", other) == 1 && !was_launched(other))
            print_error("%s is never asked\n", other), missing++;
    /* No test case has NaN; tests/reference/filters/test_not_finite.py runs these kernels. */
    bool of_nan = strncmp(name, "missing_", 8) == 0 || strcmp(name, "weighted_quotient") == 0;
    /* Nothing is measured here, so no noise depends on brightness; the question "denoise auto" does it. */
    bool of_measured = strcmp(name, "shrink_tones") == 0;
    /* The pictures of test cases are one slice. sums.txt and tests/reference/filters/test_background.py run
     * it in slices. */
    bool of_slices = strcmp(name, "accumulate") == 0;
    if (others == 0 && !was_launched(name) && !of_nan && !of_measured && !of_slices)
        print_error("%s is never asked\n", name), missing++;
    return missing;
}

static void every_kernel_is_asked(void **state)
{
    int kernels = 0, missing = 0;
    (void)state;
    imagined_form = note_launch;
    ask(CLASS_VARIABLE_CPU);
    ask(CLASS_VARIABLE_GPU);
    assert_int_equal(imagined_objects, 0);
    for (const struct kernel_source *source = kernel_sources; source->name; source++)
        for (const char *at = source->text; (at = strstr(at, "\n__kernel")); at++) {
            char name[NAME_SIZE];
            const char *after = strstr(at, " void");
            assert_true(after && sscanf(after, " void %63[A-Za-z0-9_]", name) == 1);
            missing += check_kernel(source->text, name);
            kernels++;
        }
    assert_true(kernels > 30);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kernel_is_asked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
