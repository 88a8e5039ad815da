/* --tune, on a device whose kernels take as long as the test says: a form that is worth it replaces the
 * default, one that computes something else does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "imagined_opencl.h"

#include "device/choose.h"
#include "device/open.h"
#include "device/tuning.h"
#include "engine/stage.h"
#include "tuning/tune.h"

static struct environment environment;
static struct device device;
static char folder[] = "/tmp/climg-tune-XXXXXX";

/* The group that is faster than all others, how much, and whether its pixels are wrong. */
static struct {
    size_t group[2];
    double seconds;
    float value;
} favourite;

static void time_form(const char *kernel, int outputs, const size_t *group, double *seconds, float *value)
{
    (void)kernel, (void)outputs;
    *seconds = 100e-6;
    if (group[0] == favourite.group[0] && group[1] == favourite.group[1]) {
        *seconds = favourite.seconds;
        *value = favourite.value;
    }
}

static int begin(void **state)
{
    static const struct imagined_device simulated = {.name = "Oclgrind's idea", .type = CL_DEVICE_TYPE_GPU};
    struct error error;
    (void)state;
    environment.cache = mkdtemp(folder);
    imagined_devices[0] = simulated; /* small images do */
    imagined_form = time_form;
    return !environment.cache || device_choose("auto", &environment, &device, &error) != STATUS_OK ||
           device_open(&device, &error) != STATUS_OK;
}

static int end(void **state)
{
    char command[64];
    (void)state;
    device_close(&device);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0 || imagined_objects != 0;
}

/* What --tune says; to be freed. */
static char *run_tune(size_t x, size_t y, double seconds, float value)
{
    struct error error = {.text = ""};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    favourite.group[0] = x;
    favourite.group[1] = y;
    favourite.seconds = seconds;
    favourite.value = value;
    tuning_free(&device);
    assert_int_equal(tune(&device, out, &error), STATUS_OK);
    fclose(out);
    return text;
}

/* Calls `look` for each kernel that has forms, in both kinds of memory, with what it uses now and by default.
 */
static int each_kernel(void (*look)(const struct tunable *tunable, const struct form *form,
                                    const struct form *preset))
{
    struct device untuned = device;
    int count = 0;
    untuned.tuned = NULL;
    for (const struct stage *const *stage = stages; *stage; stage++)
        for (const struct tuning *tuning = (*stage)->tunings; tuning && tuning->tunables; tuning++)
            for (const struct tunable *const *one = tuning->tunables; *one; one++)
                for (int memory = MEMORY_BUFFER; memory <= MEMORY_IMAGE; memory++, count++) {
                    struct form form = device_form(&device, (enum memory)memory, *one),
                                preset = device_form(&untuned, (enum memory)memory, *one);
                    look(*one, &form, &preset);
                }
    return count;
}

static int favoured, kept; /* kernels with the favourite group, and with their default */

static void count_forms(const struct tunable *tunable, const struct form *form, const struct form *preset)
{
    (void)tunable;
    favoured += (size_t)form->group[0] == favourite.group[0] && (size_t)form->group[1] == favourite.group[1];
    kept += memcmp(form, preset, sizeof *form) == 0;
}

static void faster_forms_are_taken_and_remembered(void **state)
{
    (void)state;
    char *text = run_tune(64, 1, 50e-6, 0);
    assert_non_null(strstr(text, "Oclgrind's idea, Imagination\n"));
    assert_non_null(strstr(text, "  buffer filter_both            100 us       50 us"));
    assert_non_null(strstr(text, "remembered in "));
    free(text);
    favoured = 0;
    each_kernel(count_forms);
    assert_true(favoured > 8); /* those whose text takes such groups */
    int before = favoured;
    tuning_free(&device); /* as another run of climg begins */
    tuning_load(&device);
    favoured = 0;
    each_kernel(count_forms);
    assert_int_equal(favoured, before);
    text = run_tune(8, 16, 50e-6, 0);
    assert_non_null(strstr(text, "  buffer enlarge                100 us       50 us       2     8x16\n"));
    free(text);
}

static void what_is_hardly_faster_is_noise(void **state)
{
    (void)state;
    char *text = run_tune(8, 16, 98e-6, 0);
    free(text);
    favoured = kept = 0;
    int count = each_kernel(count_forms);
    assert_int_equal(count, kept);
}

static void wrong_pixels_are_not_taken(void **state)
{
    (void)state;
    char *text = run_tune(8, 16, 50e-6, 0.75f);
    assert_non_null(strstr(text, "groups of 8x16: wrong pixels; not used\n"));
    for (const char *line = text; (line = strstr(line, "wrong pixels")) != NULL; line++) {
        const char *next = strchr(line, '\n') + 1;
        size_t length = strcspn(next, "\n"); /* of what is told about that kernel */
        if (strncmp(next, "  buffer", 8) == 0 || strncmp(next, "  image", 7) == 0)
            assert_true(strncmp(next + length - 5, " 8x16", 5) != 0);
    }
    free(text);
}

static bool fail_mapping(const char *call)
{
    return strcmp(call, "clCreateBuffer") == 0;
}

static void failures_are_handed_up(void **state)
{
    struct error error = {.text = ""};
    FILE *out = fopen("/dev/null", "w");
    (void)state;
    imagined_fault = fail_mapping;
    assert_int_equal(tune(&device, out, &error), STATUS_FAILED);
    imagined_fault = NULL;
    assert_non_null(strstr(error.text, "Oclgrind's idea is out of memory: "));
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faster_forms_are_taken_and_remembered),
        cmocka_unit_test(what_is_hardly_faster_is_noise),
        cmocka_unit_test(wrong_pixels_are_not_taken),
        cmocka_unit_test(failures_are_handed_up),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
