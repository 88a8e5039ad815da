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

static int programs[2]; /* their addresses serve as handles */

static cl_program program(int number)
{
    return (cl_program)(void *)&programs[number];
}

static struct launch_request turn_of(int number, const char *kernel, size_t width, size_t height, size_t grid)
{
    return (struct launch_request){
        .program = program(number), .kernel = kernel, .group = {width, height}, .grid = grid};
}

/* Begins and ends a launch; whether it went alone. */
static bool launched(struct launch_serializer *serializer, int number, const char *kernel, size_t width,
                     size_t height, size_t grid)
{
    struct launch_request request = turn_of(number, kernel, width, height, grid);
    assert_int_equal(serializer_begin(serializer, &request), CL_SUCCESS);
    assert_int_equal(serializer_end(serializer, &request, NULL, CL_SUCCESS), CL_SUCCESS);
    return request.is_exclusive;
}

static void what_was_not_launched_is_not_known(void **state)
{
    struct launch_serializer serializer;
    struct launch_request request = turn_of(0, "blur", 16, 1, 100);
    (void)state;
    serializer_init(&serializer);
    for (int i = 0; i < 2; i++) {
        serializer_begin(&serializer, &request);
        assert_true(request.is_exclusive);
        assert_int_equal(serializer_end(&serializer, &request, NULL, CL_OUT_OF_RESOURCES),
                         CL_OUT_OF_RESOURCES);
    }
    assert_true(launched(&serializer, 0, "blur", 16, 1, 100));
    assert_false(launched(&serializer, 0, "blur", 16, 1, 100));
    serializer_free(&serializer);
}

/* Nobody knows what is under way then. */
static void nothing_is_launched_after_a_failing_wait(void **state)
{
    struct launch_serializer serializer;
    struct error error;
    struct launch_request known = turn_of(0, "blur", 16, 1, 100), larger = turn_of(0, "blur", 16, 1, 200);
    (void)state;
    serializer_init(&serializer);
    assert_int_equal(serializer_add_queue(&serializer, NULL, &error), STATUS_OK);
    assert_true(launched(&serializer, 0, "blur", 16, 1, 100));
    finished = CL_OUT_OF_HOST_MEMORY;
    assert_int_equal(serializer_begin(&serializer, &known), CL_SUCCESS);
    assert_int_equal(serializer_end(&serializer, &known, NULL, CL_SUCCESS), CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(serializer_begin(&serializer, &larger), CL_OUT_OF_HOST_MEMORY);
        assert_int_equal(serializer_end(&serializer, &larger, NULL, CL_SUCCESS), CL_OUT_OF_HOST_MEMORY);
        finished = CL_SUCCESS;
        assert_int_equal(serializer_begin(&serializer, &known), CL_OUT_OF_HOST_MEMORY);
        assert_int_equal(serializer_end(&serializer, &known, NULL, CL_SUCCESS), CL_OUT_OF_HOST_MEMORY);
    }
    serializer_remove_queue(&serializer, NULL);
    serializer_free(&serializer);
}

static void first_and_larger_ones_go_alone(void **state)
{
    struct launch_serializer serializer;
    (void)state;
    serializer_init(&serializer);
    assert_true(launched(&serializer, 0, "blur", 16, 1, 100));
    assert_false(launched(&serializer, 0, "blur", 16, 1, 100));
    assert_false(launched(&serializer, 0, "blur", 16, 1, 7));
    assert_true(launched(&serializer, 0, "blur", 16, 1, 101));
    assert_false(launched(&serializer, 0, "blur", 16, 1, 100));
    assert_false(launched(&serializer, 0, "blur", 16, 1, 101));
    serializer_free(&serializer);
}

static void each_kernel_and_group_by_itself(void **state)
{
    struct launch_serializer serializer;
    (void)state;
    serializer_init(&serializer);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(launched(&serializer, 0, "blur", 16, 1, 100), pass == 0);
        assert_int_equal(launched(&serializer, 1, "blur", 16, 1, 100), pass == 0);
        assert_int_equal(launched(&serializer, 0, "pack", 16, 1, 100), pass == 0);
        assert_int_equal(launched(&serializer, 0, "blur", 16, 2, 100), pass == 0);
        assert_int_equal(launched(&serializer, 0, "blur", 8, 1, 100), pass == 0);
    }
    serializer_free(&serializer);
}

struct other {
    struct launch_serializer *serializer;
    pthread_t thread;
    atomic_bool begun;
};

static void *launch_too(void *context)
{
    struct other *other = context;
    struct launch_request request = turn_of(0, "pack", 16, 1, 5);
    serializer_begin(other->serializer, &request);
    atomic_store(&other->begun, true);
    serializer_end(other->serializer, &request, NULL, CL_SUCCESS);
    return NULL;
}

/* True if another thread may launch a known kernel while this one is between begin and end. */
static bool others_may_launch(struct launch_serializer *serializer, size_t grid)
{
    struct other other = {.serializer = serializer};
    struct launch_request request = turn_of(0, "blur", 16, 1, grid);
    serializer_begin(serializer, &request);
    assert_int_equal(pthread_create(&other.thread, NULL, launch_too, &other), 0);
    for (int i = 0; i < 100 && !atomic_load(&other.begun); i++)
        usleep(1000);
    bool begun = atomic_load(&other.begun);
    serializer_end(serializer, &request, NULL, CL_SUCCESS);
    pthread_join(other.thread, NULL);
    assert_true(atomic_load(&other.begun));
    return begun;
}

static void alone_means_alone(void **state)
{
    struct launch_serializer serializer;
    (void)state;
    serializer_init(&serializer);
    launched(&serializer, 0, "pack", 16, 1, 5);
    assert_false(others_may_launch(&serializer, 10)); /* the first one */
    assert_true(others_may_launch(&serializer, 10));
    assert_false(others_may_launch(&serializer, 11)); /* a larger one */
    assert_true(others_may_launch(&serializer, 10));
    serializer_free(&serializer);
}

static void queues_join_and_leave(void **state)
{
    struct launch_serializer serializer;
    struct error error;
    (void)state;
    serializer_init(&serializer);
    assert_int_equal(serializer_add_queue(&serializer, NULL, &error), STATUS_OK);
    serializer_remove_queue(&serializer, (cl_command_queue)(void *)&programs[0]); /* did not join */
    assert_non_null(serializer.queues);
    serializer_remove_queue(&serializer, NULL);
    assert_null(serializer.queues);
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
