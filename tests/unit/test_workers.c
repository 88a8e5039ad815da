/* Tasks on threads: each runs once, waiting means waiting, and nothing is lost without threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum { COUNT = 100 };

struct probe {
    struct task task;
    atomic_int *order; /* counts the probes that have begun */
    int begun_as, runs;
    unsigned microseconds;
};

static void run_probe(void *argument)
{
    struct probe *probe = argument;
    probe->begun_as = atomic_fetch_add(probe->order, 1);
    usleep(probe->microseconds);
    probe->runs++;
}

static void prepare(struct probe *probes, atomic_int *order, unsigned microseconds)
{
    atomic_init(order, 0);
    for (int i = 0; i < COUNT; i++)
        probes[i] = (struct probe){
            .task = {.run = run_probe, .argument = &probes[i]}, .order = order, .microseconds = microseconds};
}

/* Items that were not submitted are done. */
static void wait_for_all(struct thread_pool *workers, struct probe *probes)
{
    for (int i = 0; i < COUNT; i++)
        thread_pool_wait(workers, &probes[i].task);
}

static void every_task_runs_once(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 16, 256, 1000};
    struct probe probes[COUNT];
    atomic_int order;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct thread_pool workers;
        prepare(probes, &order, 10);
        thread_pool_open(&workers, counts[i]);
        for (int k = 0; k < COUNT; k++)
            thread_pool_submit(&workers, &probes[k].task);
        wait_for_all(&workers, probes);
        for (int k = 0; k < COUNT; k++)
            assert_int_equal(probes[k].runs, 1);
        assert_true(workers.thread_count <= THREADS_MAX - 1 && workers.thread_count < counts[i]);
        thread_pool_close(&workers);
    }
}

static void waiting_is_for_the_task_named(void **state)
{
    (void)state;
    for (int count = 1; count <= 4; count++) {
        struct probe probes[COUNT];
        atomic_int order;
        struct thread_pool workers;
        prepare(probes, &order, 20);
        thread_pool_open(&workers, count);
        for (int i = 0; i < COUNT; i++) {
            if (i >= 7) {
                thread_pool_wait(&workers, &probes[i - 7].task);
                assert_int_equal(probes[i - 7].runs, 1);
            }
            thread_pool_submit(&workers, &probes[i].task);
        }
        wait_for_all(&workers, probes);
        assert_int_equal(atomic_load(&order), COUNT);
        thread_pool_close(&workers);
    }
}

static void a_task_may_be_submitted_again(void **state)
{
    (void)state;
    struct probe probes[COUNT];
    atomic_int order;
    struct thread_pool workers;
    prepare(probes, &order, 0);
    thread_pool_open(&workers, 3);
    thread_pool_wait(&workers, &probes[0].task); /* not submitted yet */
    for (int i = 0; i < 50; i++) {
        thread_pool_submit(&workers, &probes[0].task);
        thread_pool_wait(&workers, &probes[0].task);
    }
    assert_int_equal(probes[0].runs, 50);
    thread_pool_close(&workers);
}

static void without_threads_tasks_run_in_order_when_waited_for(void **state)
{
    (void)state;
    struct probe probes[COUNT];
    atomic_int order;
    struct thread_pool workers;
    prepare(probes, &order, 0);
    thread_pool_open(&workers, 1);
    for (int i = 0; i < COUNT; i++)
        thread_pool_submit(&workers, &probes[i].task);
    assert_int_equal(atomic_load(&order), 0);
    wait_for_all(&workers, probes);
    assert_int_equal(workers.thread_count, 0);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(probes[i].begun_as, i);
    thread_pool_close(&workers);
}

static void threads_start_when_there_is_work(void **state)
{
    (void)state;
    struct probe probes[COUNT];
    atomic_int order;
    struct thread_pool workers;
    prepare(probes, &order, 20000);
    thread_pool_open(&workers, 8);
    assert_int_equal(workers.thread_count, 0);
    thread_pool_submit(&workers, &probes[0].task);
    thread_pool_submit(&workers, &probes[1].task);
    assert_in_range(workers.thread_count, 1, 2);
    wait_for_all(&workers, probes);
    thread_pool_close(&workers);
}

/* Two tasks that each wait for the other to begin can only end on two threads. */
static void meet(void *argument)
{
    atomic_int *here = argument;
    atomic_fetch_add(here, 1);
    while (atomic_load(here) < 2)
        usleep(100);
}

static void tasks_run_at_once(void **state)
{
    (void)state;
    atomic_int here;
    atomic_init(&here, 0);
    struct task tasks[2] = {{.run = meet, .argument = &here}, {.run = meet, .argument = &here}};
    struct thread_pool workers;
    thread_pool_open(&workers, 2); /* one thread and this one, which helps */
    thread_pool_submit(&workers, &tasks[0]);
    thread_pool_submit(&workers, &tasks[1]);
    thread_pool_wait(&workers, &tasks[0]);
    thread_pool_wait(&workers, &tasks[1]);
    thread_pool_close(&workers);
}

static void closing_drops_what_nobody_began(void **state)
{
    (void)state;
    struct probe probes[COUNT];
    atomic_int order;
    struct thread_pool workers;
    prepare(probes, &order, 20000);
    thread_pool_open(&workers, 4);
    for (int i = 0; i < COUNT; i++)
        thread_pool_submit(&workers, &probes[i].task);
    thread_pool_close(&workers);
    int begun = atomic_load(&order), done = 0;
    for (int i = 0; i < COUNT; i++)
        done += probes[i].runs;
    assert_int_equal(done, begun);
    assert_true(begun < COUNT);
}

/* Stacks larger than the address space. */
static void set_stack_size(size_t size)
{
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, size), 0);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
}

static void where_no_thread_can_start_the_caller_works(void **state)
{
    (void)state;
    pthread_attr_t before;
    size_t size;
    struct probe probes[COUNT];
    atomic_int order;
    struct thread_pool workers;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_getstacksize(&before, &size), 0);
    pthread_attr_destroy(&before);
    prepare(probes, &order, 0);
    thread_pool_open(&workers, 8);
    set_stack_size((size_t)1 << 60);
    for (int i = 0; i < COUNT; i++)
        thread_pool_submit(&workers, &probes[i].task);
    set_stack_size(size);
    wait_for_all(&workers, probes);
    assert_int_equal(atomic_load(&order), COUNT);
    assert_int_equal(workers.thread_count, 0);
    thread_pool_close(&workers);
}

struct pieces {
    struct thread_pool *workers;
    atomic_int done[COUNT];
    int fails, within; /* the first index that does; pieces of each piece */
};

static enum status do_inner_piece(void *context, int index, struct error *error)
{
    struct pieces *pieces = context;
    (void)index;
    (void)error;
    atomic_fetch_add(&pieces->done[0], 1);
    return STATUS_OK;
}

static enum status do_piece(void *context, int index, struct error *error)
{
    struct pieces *pieces = context;
    usleep((unsigned)(index * 7 % 50));
    if (index >= pieces->fails)
        return fail(error, STATUS_FAILED, "piece %d", index);
    atomic_fetch_add(&pieces->done[index], 1);
    return thread_pool_each(pieces->workers, pieces->within, do_inner_piece, pieces, error);
}

static void each_piece_is_done_once(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 5, 300};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (int within = 0; within <= 3; within += 3) {
            struct thread_pool workers;
            struct pieces pieces = {.workers = &workers, .fails = COUNT, .within = within};
            struct error error = {.text = ""};
            thread_pool_open(&workers, counts[i]);
            assert_int_equal(thread_pool_each(&workers, 0, do_piece, &pieces, &error), STATUS_OK);
            assert_int_equal(thread_pool_each(&workers, COUNT, do_piece, &pieces, &error), STATUS_OK);
            thread_pool_close(&workers);
            assert_int_equal(atomic_load(&pieces.done[0]), 1 + within * COUNT);
            for (int k = 1; k < COUNT; k++)
                assert_int_equal(atomic_load(&pieces.done[k]), 1);
            assert_string_equal(error.text, "");
        }
}

/* All items before it have begun, so it is the first to fail, independent of the others. */
static void of_failures_the_first_piece_is_told(void **state)
{
    (void)state;
    for (int count = 1; count <= 8; count++) {
        struct thread_pool workers;
        struct pieces pieces = {.workers = &workers, .fails = COUNT / 2};
        struct error error = {.text = ""};
        thread_pool_open(&workers, count);
        assert_int_equal(thread_pool_each(&workers, COUNT, do_piece, &pieces, &error), STATUS_FAILED);
        thread_pool_close(&workers);
        assert_string_equal(error.text, "piece 50");
        for (int k = 0; k < COUNT; k++)
            assert_int_equal(atomic_load(&pieces.done[k]), k < COUNT / 2);
    }
}

static void processors_are_counted(void **state)
{
    (void)state;
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_in_range(processors_available(), 1, THREADS_MAX);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(processors_available(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(waiting_is_for_the_task_named),
        cmocka_unit_test(a_task_may_be_submitted_again),
        cmocka_unit_test(without_threads_tasks_run_in_order_when_waited_for),
        cmocka_unit_test(threads_start_when_there_is_work),
        cmocka_unit_test(tasks_run_at_once),
        cmocka_unit_test(closing_drops_what_nobody_began),
        cmocka_unit_test(where_no_thread_can_start_the_caller_works),
        cmocka_unit_test(each_piece_is_done_once),
        cmocka_unit_test(of_failures_the_first_piece_is_told),
        cmocka_unit_test(processors_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
