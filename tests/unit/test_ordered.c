/* Work that comes back in the order in which it was handed out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { PIECES = 500 };

struct piece {
    int number, square;
    char *owned;
};

static atomic_int released, run_count;

/* Some take longer than the ones after them. */
static void square(void *slot)
{
    struct piece *piece = slot;
    for (int i = 0; i < piece->number % 7; i++)
        sched_yield();
    piece->square = piece->number * piece->number;
    atomic_fetch_add(&run_count, 1);
}

static void release(void *slot)
{
    struct piece *piece = slot;
    free(piece->owned);
    atomic_fetch_add(&released, 1);
}

static void open_ordered(struct ordered *ordered, int threads, size_t count)
{
    struct error error;
    atomic_store(&released, 0);
    atomic_store(&run_count, 0);
    assert_int_equal(ordered_open(ordered, threads, count, sizeof(struct piece), square, &error), STATUS_OK);
}

static void fill_next(struct ordered *ordered, int number, bool alone)
{
    struct piece *piece = ordered_slot(ordered, ordered->submitted);
    piece->number = number;
    if (piece->owned == NULL)
        piece->owned = malloc(1);
    ordered_submit(ordered, alone);
}

static void expect_oldest(struct ordered *ordered, int number)
{
    const struct piece *piece = ordered_oldest(ordered);
    assert_non_null(piece);
    assert_int_equal(piece->number, number);
    assert_int_equal(piece->square, number * number);
    ordered_release(ordered);
}

static void pieces_come_back_in_order(void **state)
{
    (void)state;
    static const struct {
        int threads;
        size_t count;
    } sizes[] = {{1, 1}, {1, 3}, {2, 4}, {4, 8}, {8, 3}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct ordered ordered;
        int back = 0;
        open_ordered(&ordered, sizes[s].threads, sizes[s].count);
        for (int i = 0; i < PIECES; i++) {
            if (ordered_is_full(&ordered))
                expect_oldest(&ordered, back++);
            fill_next(&ordered, i, false);
        }
        assert_int_equal(PIECES - back, sizes[s].count);
        while (back < PIECES)
            expect_oldest(&ordered, back++);
        assert_null(ordered_oldest(&ordered));
        ordered_close(&ordered, release);
        assert_int_equal(released, sizes[s].count);
    }
}

static void a_piece_alone_is_done_here(void **state)
{
    (void)state;
    struct ordered ordered;
    open_ordered(&ordered, 4, 4);
    fill_next(&ordered, 3, true);
    assert_int_equal(ordered.pool.thread_count, 0);
    assert_int_equal(run_count, 1);
    expect_oldest(&ordered, 3);
    ordered_close(&ordered, release);
}

static void closing_waits_for_what_is_under_way(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct ordered ordered;
        open_ordered(&ordered, 3, 6);
        for (int i = 0; i < 6; i++)
            fill_next(&ordered, i, false);
        ordered_close(&ordered, release);
        int done = run_count;
        sched_yield();
        assert_int_equal(run_count, done);
        assert_int_equal(released, 6);
    }
}

static void one_that_was_not_opened_can_be_closed(void **state)
{
    (void)state;
    struct ordered ordered = {.count = 0};
    ordered_close(&ordered, release);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_back_in_order),
        cmocka_unit_test(a_piece_alone_is_done_here),
        cmocka_unit_test(closing_waits_for_what_is_under_way),
        cmocka_unit_test(one_that_was_not_opened_can_be_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
