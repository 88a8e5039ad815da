#include "base/cache.h"
#include "device/tuning.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct environment environment;

static struct device gpu(const char *driver)
{
    struct device device = {.environment = &environment, .class = DEVICE_GROUPED, .group_size = 256};
    snprintf(device.name, sizeof device.name, "a device");
    snprintf(device.driver, sizeof device.driver, "%s", driver);
    return device;
}

static const struct tunable columns = {.kernel = "filter_columns", .grouped = {8, {32, 4}}},
                            single = {.kernel = "invert"};

static void assert_form(const struct device *device, const struct tunable *kernel, int outputs, int x, int y)
{
    struct form form = device_form(device, MEMORY_BUFFER, kernel);
    assert_int_equal(form.outputs, outputs);
    assert_int_equal(form.group[0], x);
    assert_int_equal(form.group[1], y);
}

static char folder[] = "/tmp/climg-cache-XXXXXX";

static int make_cache(void **state)
{
    (void)state;
    environment.cache = mkdtemp(folder);
    return environment.cache ? 0 : -1;
}

static int remove_cache(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void saves_for_this_device_only(void **state)
{
    struct error error;
    struct device tuned = gpu("1.0"), same = gpu("1.0"), other = gpu("1.1"), forced = gpu("1.0");
    char *path = NULL;
    (void)state;
    assert_int_equal(tuning_set(&tuned, MEMORY_BUFFER, &columns, &(struct form){2, {16, 2}}, &error),
                     STATUS_OK);
    assert_int_equal(tuning_save(&tuned, &path, &error), STATUS_OK);
    tuning_load(&same);
    tuning_load(&other);
    forced.class = DEVICE_WIDE; /* by CLIMG_CLASS */
    tuning_load(&forced);
    assert_form(&same, &columns, 2, 16, 2);
    assert_form(&other, &columns, 8, 32, 4);
    assert_form(&forced, &columns, 1, 16, 1);

    /* The right name, but the contents of another device, are ignored too. */
    size_t size = 0;
    char *text = cache_read(path, &size);
    assert_non_null(text);
    text[strlen("climg tuning-grouped, , a")] = 'X';
    assert_int_equal(cache_write(path, text, size, &error), STATUS_OK);
    tuning_free(&same);
    tuning_load(&same);
    assert_form(&same, &columns, 8, 32, 4);
    free(text);
    free(path);
    tuning_free(&tuned);
    tuning_free(&same);
    tuning_free(&other);
}

static void refuses_impossible_forms(void **state)
{
    struct error error;
    struct device device = gpu("1.0");
    (void)state;
    const struct form bad[] = {{3, {16, 1}}, {32, {16, 1}}, {0, {16, 1}},
                               {4, {0, 1}},  {4, {32, 16}}, {4, {-1, -1}}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(tuning_set(&device, MEMORY_BUFFER, &columns, &bad[i], &error), STATUS_FAILED);
    /* Outputs of a kernel that has no choice of them. */
    assert_int_equal(tuning_set(&device, MEMORY_BUFFER, &single, &(struct form){2, {16, 1}}, &error),
                     STATUS_FAILED);
    assert_null(device.tuned);
}

static void keeps_to_the_group_size(void **state)
{
    struct device device = gpu("1.0");
    (void)state;
    device.group_size = 16;
    struct form form = device_form(&device, MEMORY_BUFFER, &columns);
    assert_true(form.group[0] * form.group[1] <= 16);
}

static void no_home_is_an_error_that_can_be_ignored(void **state)
{
    struct error error;
    struct device device = gpu("1.0");
    char *path = NULL;
    (void)state;
    environment.cache = "/dev/null";
    assert_int_equal(tuning_save(&device, &path, &error), STATUS_FAILED);
    assert_null(path);
    tuning_load(&device);
    environment.cache = folder;
    assert_null(device.tuned);
}

/* Of another machine that shares the folder. */
static void leaves_alone_what_a_process_of_its_number_writes(void **state)
{
    struct error error;
    char other[128], path[64];
    size_t size;
    (void)state;
    snprintf(path, sizeof path, "%s/climg/memo", folder);
    snprintf(other, sizeof other, "%s.%ld-0.tmp", path, (long)getpid());
    assert_int_equal(cache_write(other, "other", 5, &error), STATUS_OK);
    assert_int_equal(cache_write(path, "memo", 4, &error), STATUS_OK);
    char *kept = cache_read(other, &size), *written = cache_read(path, &size);
    assert_true(kept && written);
    assert_string_equal(kept, "other");
    assert_string_equal(written, "memo");
    free(kept);
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saves_for_this_device_only),
        cmocka_unit_test(refuses_impossible_forms),
        cmocka_unit_test(keeps_to_the_group_size),
        cmocka_unit_test(no_home_is_an_error_that_can_be_ignored),
        cmocka_unit_test(leaves_alone_what_a_process_of_its_number_writes),
    };
    return cmocka_run_group_tests(tests, make_cache, remove_cache);
}
