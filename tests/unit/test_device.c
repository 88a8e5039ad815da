/* Failures of a device: what they say, whether the job may be tried again, and what is freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "imagined_opencl.h"

#include "device/choose.h"
#include "device/event_log.h"
#include "device/planes.h"
#include "device/program.h"

static struct environment environment;
static struct device device;
static struct error error;

static int open_device(void **state)
{
    (void)state;
    return device_choose("", &environment, &device, &error) != STATUS_OK ||
           device_open(&device, &error) != STATUS_OK;
}

static int close_device(void **state)
{
    (void)state;
    imagined_refusal = CL_SUCCESS;
    device_close(&device);
    assert_int_equal(imagined_objects, 0);
    return 0;
}

static int program_count;

static void count_program(void *context, const char *file, const char *options)
{
    (void)context, (void)options;
    program_count += strcmp(file, "warp") == 0;
}

/* A warp has a border rule of its own. */
static void program_is_listed_for_each_border_rule(void **state)
{
    struct program_key key;
    (void)state;
    assert_int_equal(source_find("warp", &key.source, &error), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        key.options = i % 2 ? "-DLANES=1 -DEDGE=3" : "-DLANES=1 -DEDGE=0";
        assert_int_equal(program_add(&device, &key, &error), STATUS_OK);
    }
    programs_visit(&device, count_program, NULL);
    assert_int_equal(program_count, 0); /* none is compiled */
    programs_build(&device);
    programs_visit(&device, count_program, NULL);
    assert_int_equal(program_count, 2);
}

static void failed_copy_is_no_kernel(void **state)
{
    static const struct {
        enum phase phase;
        const char *name, *message;
    } records[] = {
        {PHASE_STAGES, "blur", "kernel blur failed on the device: CL_OUT_OF_RESOURCES"},
        {PHASE_UPLOAD, "upload", "upload failed on the device: CL_OUT_OF_RESOURCES"},
        {PHASE_DOWNLOAD, "download", "download failed on the device: CL_OUT_OF_RESOURCES"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        struct event_log event_log = {.slice = -1};
        assert_int_equal(event_log_add(&event_log, records[i].phase, records[i].name, 1,
                                       imagined_event(CL_OUT_OF_RESOURCES, 0), &error),
                         STATUS_OK);
        assert_int_equal(event_log_collect(&event_log, event_log_mark(&event_log), &error), STATUS_FAILED);
        assert_string_equal(error.text, records[i].message);
        event_log_free(&event_log);
    }
}

/* A command that fails makes the commands fail that wait for it. */
static void first_failure_is_reported(void **state)
{
    static const cl_int codes[] = {CL_COMPLETE, CL_MEM_OBJECT_ALLOCATION_FAILURE,
                                   CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST};
    static const char *const names[] = {"blur", "median", "pack"};
    struct event_log event_log = {.slice = -1};
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        assert_int_equal(
            event_log_add(&event_log, PHASE_STAGES, names[i], 1, imagined_event(codes[i], 0), &error),
            STATUS_OK);
    assert_int_equal(event_log_collect(&event_log, event_log_mark(&event_log), &error), STATUS_FAILED);
    assert_string_equal(error.text, "kernel median failed on the device: CL_MEM_OBJECT_ALLOCATION_FAILURE");
    assert_true(error.is_out_of_memory);
    event_log_free(&event_log);
}

/* Drivers that allocate when memory is first used report it then. */
static void late_allocations_may_be_tried_again(void **state)
{
    struct pool pool = {.device = &device, .poison = true};
    struct planes planes = {.width = 8, .height = 8, .rows = 8, .layers = 1, .channels = 1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        imagined_refusal = i == 0 ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_OUT_OF_RESOURCES;
        assert_int_equal(planes_acquire(&pool, &planes, &error), STATUS_FAILED);
        assert_null(planes.object);
        assert_int_equal(error.is_out_of_memory, i == 0);
        cl_mem counters = NULL;
        assert_int_equal(counters_create(&device, 8, &counters, &error), STATUS_FAILED);
        assert_null(counters);
        assert_int_equal(error.is_out_of_memory, i == 0);
    }
    pool_free_unused(&pool, true); /* frees only what was released */
    assert_int_equal(pool.allocated, 0);
}

static void failed_copy_of_a_device_owns_nothing(void **state)
{
    struct device copy;
    struct program_key key = {.options = ""};
    cl_kernel kernel = NULL;
    (void)state;
    assert_int_equal(source_find("point", &key.source, &error), STATUS_OK);
    assert_int_equal(program_kernel(&device, &key, "linear", &kernel, &error), STATUS_OK);
    imagined_refusal = CL_OUT_OF_RESOURCES;
    assert_int_equal(device_share(&device, &copy, &error), STATUS_FAILED);
    assert_non_null(strstr(error.text, "its context cannot be shared (CL_OUT_OF_RESOURCES)"));
    assert_null(copy.kernels);
    device_close(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(program_is_listed_for_each_border_rule, open_device, close_device),
        cmocka_unit_test(failed_copy_is_no_kernel),
        cmocka_unit_test(first_failure_is_reported),
        cmocka_unit_test_setup_teardown(late_allocations_may_be_tried_again, open_device, close_device),
        cmocka_unit_test_setup_teardown(failed_copy_of_a_device_owns_nothing, open_device, close_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
