/* Launches that must be alone, and that no other thread launches at the same time. */
#include "device/launch_serializer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static cl_int finished = CL_SUCCESS; /* what waiting for a queue gives */

cl_int clFinish(cl_command_queue queue)
{
    (void)queue;
    return finished;
}

static int programs[2];                 /* their addresses serve as handles */
static cl_int launched_as = CL_SUCCESS; /* what a launch gives */

static struct launch_serializer serializer;

static cl_program program(int number)
{
    return (cl_program)(void *)&programs[number];
}

static struct launch_request turn_of(int number, const char *kernel, size_t width, size_t height, size_t grid)
{
    return (struct launch_request){
        .program = program(number), .name = kernel, .group = {width, height, 1}, .grid = {grid, 1, 1}};
}

/* A launch's code; whether it went alone. */
static cl_int launch_code(const struct launch_request *request, bool *alone)
{
    cl_event event;
    double since;
    return serializer_enqueue(&serializer, request, &event, alone, &since);
}

static bool launched(int number, const char *kernel, size_t width, size_t height, size_t grid)
{
    const struct launch_request request = turn_of(number, kernel, width, height, grid);
    bool alone;
    assert_int_equal(launch_code(&request, &alone), CL_SUCCESS);
    return alone;
}

/* ---------------------------------------------------------------- another thread */

static bool probes; /* a launch of "blur" looks whether another thread may launch "pack" meanwhile */
static atomic_bool begun, others_may;
static pthread_t other;

static void *launch_too(void *context)
{
    const struct launch_request request = turn_of(0, "pack", 16, 1, 5);
    bool alone;
    (void)context;
    launch_code(&request, &alone);
    return NULL;
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *grid, const size_t *group, cl_uint n,
                              const cl_event *waits, cl_event *event)
{
    (void)queue, (void)kernel, (void)dimensions, (void)offset, (void)group, (void)n, (void)waits, (void)event;
    if (grid[0] == 5) {
        atomic_store(&begun, true);
    } else if (probes) {
        assert_int_equal(pthread_create(&other, NULL, launch_too, NULL), 0);
        for (int i = 0; i < 100 && !atomic_load(&begun); i++)
            usleep(1000);
        atomic_store(&others_may, atomic_load(&begun));
    }
    return launched_as;
}

static void what_was_not_launched_is_not_known(void **state)
{
    const struct launch_request request = turn_of(0, "blur", 16, 1, 100);
    bool alone;
    (void)state;
    serializer_init(&serializer);
    launched_as = CL_OUT_OF_RESOURCES;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(launch_code(&request, &alone), CL_OUT_OF_RESOURCES);
        assert_true(alone);
    }
    launched_as = CL_SUCCESS;
    assert_true(launched(0, "blur", 16, 1, 100));
    assert_false(launched(0, "blur", 16, 1, 100));
    serializer_free(&serializer);
}

/* Nobody knows what is under way then. */
static void nothing_is_launched_after_a_failing_wait(void **state)
{
    struct error error;
    const struct launch_request known = turn_of(0, "blur", 16, 1, 100),
                                larger = turn_of(0, "blur", 16, 1, 200);
    bool alone;
    (void)state;
    serializer_init(&serializer);
    assert_int_equal(serializer_add_queue(&serializer, NULL, &error), STATUS_OK);
    assert_true(launched(0, "blur", 16, 1, 100));
    finished = CL_OUT_OF_HOST_MEMORY;
    assert_int_equal(launch_code(&known, &alone), CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(launch_code(&larger, &alone), CL_OUT_OF_HOST_MEMORY);
        finished = CL_SUCCESS;
        assert_int_equal(launch_code(&known, &alone), CL_OUT_OF_HOST_MEMORY);
    }
    serializer_remove_queue(&serializer, NULL);
    serializer_free(&serializer);
}

static void first_and_larger_ones_go_alone(void **state)
{
    (void)state;
    serializer_init(&serializer);
    assert_true(launched(0, "blur", 16, 1, 100));
    assert_false(launched(0, "blur", 16, 1, 100));
    assert_false(launched(0, "blur", 16, 1, 7));
    assert_true(launched(0, "blur", 16, 1, 101));
    assert_false(launched(0, "blur", 16, 1, 100));
    assert_false(launched(0, "blur", 16, 1, 101));
    serializer_free(&serializer);
}

static void each_kernel_and_group_by_itself(void **state)
{
    (void)state;
    serializer_init(&serializer);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(launched(0, "blur", 16, 1, 100), pass == 0);
        assert_int_equal(launched(1, "blur", 16, 1, 100), pass == 0);
        assert_int_equal(launched(0, "pack", 16, 1, 100), pass == 0);
        assert_int_equal(launched(0, "blur", 16, 2, 100), pass == 0);
        assert_int_equal(launched(0, "blur", 8, 1, 100), pass == 0);
    }
    serializer_free(&serializer);
}

/* True if another thread may launch a known kernel while this one launches. */
static bool others_may_launch(size_t grid)
{
    atomic_store(&begun, false);
    probes = true;
    launched(0, "blur", 16, 1, grid);
    probes = false;
    pthread_join(other, NULL);
    assert_true(atomic_load(&begun));
    return atomic_load(&others_may);
}

static void alone_means_alone(void **state)
{
    (void)state;
    serializer_init(&serializer);
    launched(0, "pack", 16, 1, 5);
    assert_false(others_may_launch(10)); /* the first one */
    assert_true(others_may_launch(10));
    assert_false(others_may_launch(11)); /* a larger one */
    assert_true(others_may_launch(10));
    serializer_free(&serializer);
}

static void queues_join_and_leave(void **state)
{
    struct error error;
    (void)state;
    serializer_init(&serializer);
    assert_int_equal(serializer_add_queue(&serializer, NULL, &error), STATUS_OK);
    serializer_remove_queue(&serializer, (cl_command_queue)(void *)&programs[0]); /* did not join */
    assert_int_equal(serializer.count, 1);
    serializer_remove_queue(&serializer, NULL);
    assert_int_equal(serializer.count, 0);
    serializer_free(&serializer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_and_larger_ones_go_alone),
        cmocka_unit_test(each_kernel_and_group_by_itself),
        cmocka_unit_test(what_was_not_launched_is_not_known),
        cmocka_unit_test(nothing_is_launched_after_a_failing_wait),
        cmocka_unit_test(alone_means_alone),
        cmocka_unit_test(queues_join_and_leave),
    };
    return cmocka_run_group_tests_name("serializer", tests, NULL, NULL);
}
