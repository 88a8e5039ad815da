/* --shard: what Slurm says, and that each file is in one part. */
#include "settings/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const variables[] = {
    "SLURM_ARRAY_TASK_ID",    "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
    "SLURM_ARRAY_TASK_COUNT", "SLURM_PROCID",         "SLURM_STEP_NUM_TASKS", "JOB_COMPLETION_INDEX",
    "JOB_COMPLETIONS",        "PARALLEL_SEQ"};

/* "NAME=VALUE NAME=VALUE" and nothing else of those above. */
static void set_environment(const char *text)
{
    char copy[256], *rest, *word;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    snprintf(copy, sizeof copy, "%s", text);
    for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value = '\0';
        setenv(word, value + 1, 1);
    }
}

static void is(const char *environment, const char *text, int index, int count)
{
    struct shard shard;
    struct error error = {.text = ""};
    set_environment(environment);
    assert_int_equal(shard_parse(text, &shard, &error), STATUS_OK);
    assert_int_equal(shard.index, index);
    assert_int_equal(shard.count, count);
}

static void is_refused(const char *environment, const char *text, const char *part)
{
    struct shard shard;
    struct error error = {.text = ""};
    set_environment(environment);
    assert_int_equal(shard_parse(text, &shard, &error), STATUS_USAGE);
    if (!strstr(error.text, part))
        fail_msg("%s, not: %s", error.text, part);
}

static void numbers(void **state)
{
    (void)state;
    is("", NULL, 0, 0);
    is("", "2/5", 2, 5);
    is("", "1000000/1000000", 1000000, 1000000);
    is("SLURM_ARRAY_TASK_ID=3", "2/5", 2, 5);
    static const char *const wrong[] = {"",    "2",   "0/5", "6/5",       "2/0",   "-1/5",
                                        "a/5", "2/b", "2/",  "2/1000001", "2/5/6", "1/00000000000000005"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        is_refused("", wrong[i], "not I/N with I from 1 to N (at most 1000000), auto or auto/N");
}

static void slurm_arrays(void **state)
{
    (void)state;
    const char *even = "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=13 "
                       "SLURM_ARRAY_TASK_STEP=3 SLURM_ARRAY_TASK_COUNT=5";
    is(even, "auto", 3, 5);
    is(even, "auto/9", 7, 9);
    is_refused(even, "auto/6", "task 7 is outside 1 to 6");
    is_refused("SLURM_ARRAY_TASK_ID=x", "auto", "SLURM_ARRAY_TASK_ID is not a number");
    static const char *const odd[] = {
        "SLURM_ARRAY_TASK_ID=7",
        "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_STEP=1 "
        "SLURM_ARRAY_TASK_COUNT=3",
        "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=5 SLURM_ARRAY_TASK_STEP=2 "
        "SLURM_ARRAY_TASK_COUNT=3",
        "SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=5 SLURM_ARRAY_TASK_STEP=1 "
        "SLURM_ARRAY_TASK_COUNT=5",
        "SLURM_ARRAY_TASK_ID=6 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=5 SLURM_ARRAY_TASK_STEP=1 "
        "SLURM_ARRAY_TASK_COUNT=5",
        "SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=5 SLURM_ARRAY_TASK_STEP=0 "
        "SLURM_ARRAY_TASK_COUNT=5"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        is_refused(odd[i], "auto", "not evenly numbered");
}

static void steps(void **state)
{
    (void)state;
    is("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4", "auto", 1, 4);
    is("SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4", "auto/8", 4, 8);
    is("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=9 SLURM_ARRAY_TASK_ID=2", "auto/4", 2,
       4); /* of an array's task */
    is_refused("SLURM_PROCID=-1 SLURM_STEP_NUM_TASKS=4", "auto", "is not a number");
    is_refused("SLURM_STEP_NUM_TASKS=4", "auto", "SLURM_PROCID or SLURM_STEP_NUM_TASKS is not a number");
    is_refused("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=0", "auto", "task 1 is outside 1 to 0");
    is_refused("SLURM_PROCID=0", "auto", "no Slurm array"); /* a batch script runs once */
    is_refused("JOB_COMPLETION_INDEX=0 JOB_COMPLETIONS=3", "auto", "$((JOB_COMPLETION_INDEX + 1))/N");
    is_refused("PARALLEL_SEQ=2", "auto/4", "{#}/N");
}

/* The hash of the header, written here with 128-bit numbers. */
static int shard_of(const char *name, int count)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    hash ^= hash >> 33;
    __extension__ typedef unsigned __int128 wide;
    return 1 + (int)((wide)hash * (wide)(unsigned)count >> 64);
}

static void each_file_is_in_one_part(void **state)
{
    static const int counts[] = {1, 2, 3, 7, 1000, SHARD_COUNT_MAX};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int file = 0; file < 200; file++) {
            char name[32];
            snprintf(name, sizeof name, "image%04d.tif", file);
            int expected = shard_of(name, counts[c]);
            for (int index = 1; index <= counts[c] && index <= 1000; index++)
                assert_int_equal(shard_has(&(struct shard){index, counts[c]}, name), index == expected);
            assert_true(shard_has(&(struct shard){expected, counts[c]}, name));
        }
    assert_true(shard_has(&(struct shard){0, 0}, "all.png"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(slurm_arrays),
        cmocka_unit_test(steps),
        cmocka_unit_test(each_file_is_in_one_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
