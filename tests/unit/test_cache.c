/* Files of the cache, and what a device has without any: the form of a kernel's work. */
#include "base/files.h"
#include "device/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/climg-cache-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* A process of the same number, on another machine that shares the folder, may be writing there. */
static void leaves_other_temporary_files_alone(void **state)
{
    struct error error;
    char other[128], path[64];
    size_t size;
    (void)state;
    snprintf(path, sizeof path, "%s/climg/memo", folder);
    snprintf(other, sizeof other, "%s.%ld-0.tmp", path, (long)getpid());
    assert_int_equal(cache_write(other, "other", 5, &error), STATUS_OK);
    assert_int_equal(cache_write(path, "memo", 4, &error), STATUS_OK);
    char *kept = file_read_whole(other, &size), *written = file_read_whole(path, &size);
    assert_true(kept && written);
    assert_string_equal(kept, "other");
    assert_string_equal(written, "memo");
    free(kept);
    free(written);
}

static void folder_that_cannot_be_made_is_an_error(void **state)
{
    struct error error;
    (void)state;
    assert_int_equal(cache_write("/dev/null/climg/memo", "memo", 4, &error), STATUS_FAILED);
}

/* A kernel's own form, the usual one where it has none for the class, and groups that the device takes. */
static void forms_fit_the_device(void **state)
{
    static const struct kernel_configs columns = {.kernel = "filter_columns", .gpu = {8, {32, 4}}};
    struct device device = {.variant = VARIANT_GPU, .group_size = 256};
    (void)state;
    struct launch_config form = device_launch_config(&device, MEMORY_BUFFER, &columns);
    assert_true(form.outputs == 8 && form.group[0] == 32 && form.group[1] == 4);
    device.group_size = 16;
    form = device_launch_config(&device, MEMORY_BUFFER, &columns);
    assert_true(form.outputs == 8 && form.group[0] * form.group[1] == 16);
    device.variant = VARIANT_CPU;
    form = device_launch_config(&device, MEMORY_BUFFER, &columns);
    assert_true(form.outputs == 1 && form.group[0] == 16 && form.group[1] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_other_temporary_files_alone),
        cmocka_unit_test(folder_that_cannot_be_made_is_an_error),
        cmocka_unit_test(forms_fit_the_device),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
