/* Leaving: the status arrives, and what outlives the process for a moment ends by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/leave.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The processes that end when one leaves with 7, all of which come to this one. */
static int leave_and_count(bool slowly)
{
    int status, count = 0;
    pid_t ended, child = fork();
    if (child == 0) {
        if (slowly)
            leave_takes_long();
        leave(7);
    }
    while ((ended = wait4(-1, &status, __WALL, NULL)) > 0) {
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), ended == child ? 7 : 0);
        count++;
    }
    assert_int_equal(errno, ECHILD);
    return count;
}

static void a_second_process_stays_where_it_is_reaped(void **state)
{
    (void)state;
    char name[32] = "";
    FILE *file = fopen("/proc/1/comm", "r");
    assert_non_null(file);
    assert_non_null(fgets(name, sizeof name, file));
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(leave_and_count(false), 1);
    assert_int_equal(leave_and_count(true), leave_has_reaper(name) ? 2 : 1);
}

static void only_known_programs_reap(void **state)
{
    (void)state;
    assert_true(leave_has_reaper("systemd") && leave_has_reaper("tini"));
    assert_false(leave_has_reaper("python3") || leave_has_reaper("") || leave_has_reaper("climg"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_process_stays_where_it_is_reaped),
        cmocka_unit_test(only_known_programs_reap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
