/* Launches that must be alone, and that no other thread launches at the same time. */
#include "device/turns.h"

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

static struct turn turn_of(int number, const char *kernel, size_t width, size_t height, size_t grid)
{
    return (struct turn){
        .program = program(number), .kernel = kernel, .group = {width, height}, .grid = grid};
}

/* Begins and ends a launch; whether it went alone. */
static bool launched(struct turns *turns, int number, const char *kernel, size_t width, size_t height,
                     size_t grid)
{
    struct turn turn = turn_of(number, kernel, width, height, grid);
    assert_int_equal(turns_begin(turns, &turn), CL_SUCCESS);
    assert_int_equal(turns_end(turns, &turn, NULL, CL_SUCCESS), CL_SUCCESS);
    return turn.alone;
}

static void what_was_not_launched_is_not_known(void **state)
{
    struct turns turns;
    struct turn turn = turn_of(0, "blur", 16, 1, 100);
    (void)state;
    turns_init(&turns);
    for (int i = 0; i < 2; i++) {
        turns_begin(&turns, &turn);
        assert_true(turn.alone);
        assert_int_equal(turns_end(&turns, &turn, NULL, CL_OUT_OF_RESOURCES), CL_OUT_OF_RESOURCES);
    }
    assert_true(launched(&turns, 0, "blur", 16, 1, 100));
    assert_false(launched(&turns, 0, "blur", 16, 1, 100));
    turns_free(&turns);
}

/* Nobody knows what is under way then. */
static void nothing_is_launched_after_a_failing_wait(void **state)
{
    struct turns turns;
    struct error error;
    struct turn known = turn_of(0, "blur", 16, 1, 100), larger = turn_of(0, "blur", 16, 1, 200);
    (void)state;
    turns_init(&turns);
    assert_int_equal(turns_join(&turns, NULL, &error), STATUS_OK);
    assert_true(launched(&turns, 0, "blur", 16, 1, 100));
    finished = CL_OUT_OF_HOST_MEMORY;
    assert_int_equal(turns_begin(&turns, &known), CL_SUCCESS);
    assert_int_equal(turns_end(&turns, &known, NULL, CL_SUCCESS), CL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(turns_begin(&turns, &larger), CL_OUT_OF_HOST_MEMORY);
        assert_int_equal(turns_end(&turns, &larger, NULL, CL_SUCCESS), CL_OUT_OF_HOST_MEMORY);
        finished = CL_SUCCESS;
        assert_int_equal(turns_begin(&turns, &known), CL_OUT_OF_HOST_MEMORY);
        assert_int_equal(turns_end(&turns, &known, NULL, CL_SUCCESS), CL_OUT_OF_HOST_MEMORY);
    }
    turns_leave(&turns, NULL);
    turns_free(&turns);
}

static void first_and_larger_ones_go_alone(void **state)
{
    struct turns turns;
    (void)state;
    turns_init(&turns);
    assert_true(launched(&turns, 0, "blur", 16, 1, 100));
    assert_false(launched(&turns, 0, "blur", 16, 1, 100));
    assert_false(launched(&turns, 0, "blur", 16, 1, 7));
    assert_true(launched(&turns, 0, "blur", 16, 1, 101));
    assert_false(launched(&turns, 0, "blur", 16, 1, 100));
    assert_false(launched(&turns, 0, "blur", 16, 1, 101));
    turns_free(&turns);
}

static void each_kernel_and_group_by_itself(void **state)
{
    struct turns turns;
    (void)state;
    turns_init(&turns);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(launched(&turns, 0, "blur", 16, 1, 100), pass == 0);
        assert_int_equal(launched(&turns, 1, "blur", 16, 1, 100), pass == 0);
        assert_int_equal(launched(&turns, 0, "pack", 16, 1, 100), pass == 0);
        assert_int_equal(launched(&turns, 0, "blur", 16, 2, 100), pass == 0);
        assert_int_equal(launched(&turns, 0, "blur", 8, 1, 100), pass == 0);
    }
    turns_free(&turns);
}

struct other {
    struct turns *turns;
    pthread_t thread;
    atomic_bool begun;
};

static void *launch_too(void *context)
{
    struct other *other = context;
    struct turn turn = turn_of(0, "pack", 16, 1, 5);
    turns_begin(other->turns, &turn);
    atomic_store(&other->begun, true);
    turns_end(other->turns, &turn, NULL, CL_SUCCESS);
    return NULL;
}

/* True if another thread may launch a known kernel while this one is between begin and end. */
static bool others_may_launch(struct turns *turns, size_t grid)
{
    struct other other = {.turns = turns};
    struct turn turn = turn_of(0, "blur", 16, 1, grid);
    turns_begin(turns, &turn);
    assert_int_equal(pthread_create(&other.thread, NULL, launch_too, &other), 0);
    for (int i = 0; i < 100 && !atomic_load(&other.begun); i++)
        usleep(1000);
    bool begun = atomic_load(&other.begun);
    turns_end(turns, &turn, NULL, CL_SUCCESS);
    pthread_join(other.thread, NULL);
    assert_true(atomic_load(&other.begun));
    return begun;
}

static void alone_means_alone(void **state)
{
    struct turns turns;
    (void)state;
    turns_init(&turns);
    launched(&turns, 0, "pack", 16, 1, 5);
    assert_false(others_may_launch(&turns, 10)); /* the first one */
    assert_true(others_may_launch(&turns, 10));
    assert_false(others_may_launch(&turns, 11)); /* a larger one */
    assert_true(others_may_launch(&turns, 10));
    turns_free(&turns);
}

static void queues_join_and_leave(void **state)
{
    struct turns turns;
    struct error error;
    (void)state;
    turns_init(&turns);
    assert_int_equal(turns_join(&turns, NULL, &error), STATUS_OK);
    turns_leave(&turns, (cl_command_queue)(void *)&programs[0]); /* did not join */
    assert_non_null(turns.queues);
    turns_leave(&turns, NULL);
    assert_null(turns.queues);
    turns_free(&turns);
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
    return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
