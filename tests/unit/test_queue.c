/* The bounded queue between two threads. */
#include "base/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MANY = 100000 };

/* Queued items: pointers with distinct numbers. */
static void *item(int number)
{
    static char items[MANY + 2];
    return &items[number];
}

static void things_come_out_in_order(void **state)
{
    struct queue queue;
    (void)state;
    queue_init(&queue);
    for (int round = 0; round < 3; round++) { /* past the ring's end */
        for (int i = 1; i <= QUEUE_CAPACITY - 1; i++)
            assert_true(queue_push(&queue, item(i)));
        for (int i = 1; i <= QUEUE_CAPACITY - 1; i++)
            assert_ptr_equal(queue_pop(&queue), item(i));
    }
    queue_free(&queue);
}

static void what_is_in_an_ended_queue_still_comes_out(void **state)
{
    struct queue queue;
    (void)state;
    queue_init(&queue);
    queue_push(&queue, item(1));
    queue_end(&queue);
    assert_ptr_equal(queue_pop(&queue), item(1));
    assert_null(queue_pop(&queue));
    queue_free(&queue);
}

static void a_stopped_queue_takes_and_gives_nothing(void **state)
{
    struct queue queue;
    (void)state;
    queue_init(&queue);
    queue_push(&queue, item(1));
    assert_false(queue_stopped(&queue));
    queue_stop(&queue);
    assert_true(queue_stopped(&queue));
    assert_null(queue_pop(&queue));
    assert_false(queue_push(&queue, item(2)));
    queue_free(&queue);
}

static void *produce(void *context)
{
    struct queue *queue = context;
    for (int i = 1; i <= MANY; i++)
        if (!queue_push(queue, item(i)))
            return NULL;
    queue_end(queue);
    return NULL;
}

static void a_producer_and_a_consumer_meet(void **state)
{
    struct queue queue;
    struct error error;
    pthread_t thread;
    (void)state;
    queue_init(&queue);
    assert_int_equal(thread_start(&thread, produce, &queue, &error), STATUS_OK);
    int next = 1;
    for (void *got = queue_pop(&queue); got; got = queue_pop(&queue))
        assert_ptr_equal(got, item(next++));
    assert_int_equal(next, MANY + 1);
    pthread_join(thread, NULL);
    queue_free(&queue);
}

/* The producer waits for room: only stopping lets it go. */
static void stopping_frees_who_waits(void **state)
{
    struct queue queue;
    struct error error;
    pthread_t thread;
    (void)state;
    queue_init(&queue);
    assert_int_equal(thread_start(&thread, produce, &queue, &error), STATUS_OK);
    assert_ptr_equal(queue_pop(&queue), item(1));
    queue_stop(&queue);
    pthread_join(thread, NULL);
    assert_true(queue.count <= QUEUE_CAPACITY);
    queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_come_out_in_order),
        cmocka_unit_test(what_is_in_an_ended_queue_still_comes_out),
        cmocka_unit_test(a_stopped_queue_takes_and_gives_nothing),
        cmocka_unit_test(a_producer_and_a_consumer_meet),
        cmocka_unit_test(stopping_frees_who_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
