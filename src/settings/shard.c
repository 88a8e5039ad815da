#include "settings/shard.h"

#include "base/hash.h"
#include "base/text.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole number in the environment; false where the variable is absent or something else. */
static bool read_variable(const char *name, long long *value)
{
    const char *text = getenv(name);
    return text && text_to_integer(text, value) && *value >= INT_MIN && *value <= INT_MAX;
}

static enum status reject(const char *text, const char *problem, struct error *error)
{
    return fail(error, STATUS_USAGE, "--shard %s: %s", text, problem);
}

/* Where the number of shards comes from when it is not in the option. */
static enum status take_count(const char *text, long long count, struct shard *shard, struct error *error)
{
    if (shard->count > 0)
        return STATUS_OK;
    if (count < 1 || count > SHARD_COUNT_MAX)
        return reject(text,
                      "how many shards there are is not known; say --shard auto/N or set CLIMG_SHARD_COUNT",
                      error);
    shard->count = (int)count;
    return STATUS_OK;
}

/* With N given, the tasks are numbered 1 to N, so that one of them can be submitted again alone and is still
 * the same shard. Otherwise the array says what it is: evenly spaced tasks from MIN to MAX. */
static enum status from_slurm(const char *text, int known_count, struct shard *shard, struct error *error)
{
    long long task, min, max, step, tasks;
    (void)known_count; /* the array knows better */
    if (!read_variable("SLURM_ARRAY_TASK_ID", &task))
        return reject(text, "SLURM_ARRAY_TASK_ID is not a number", error);
    if (shard->count > 0) {
        shard->index = (int)task;
        return STATUS_OK;
    }
    if (!read_variable("SLURM_ARRAY_TASK_MIN", &min) || !read_variable("SLURM_ARRAY_TASK_MAX", &max) ||
        !read_variable("SLURM_ARRAY_TASK_STEP", &step) || !read_variable("SLURM_ARRAY_TASK_COUNT", &tasks) ||
        step < 1 || min > task || task > max || (max - min) / step + 1 != tasks || (task - min) % step != 0)
        return reject(text,
                      "the tasks of this Slurm array are not evenly numbered; submit it with --array=1-N and "
                      "say --shard auto/N",
                      error);
    shard->index = (int)((task - min) / step) + 1;
    shard->count = (int)tasks;
    return STATUS_OK;
}

static enum status from_kubernetes(const char *text, int known_count, struct shard *shard,
                                   struct error *error)
{
    long long index, count = known_count;
    if (!read_variable("JOB_COMPLETION_INDEX", &index) || index < 0 || index == INT_MAX)
        return reject(text, "JOB_COMPLETION_INDEX is not a number", error);
    shard->index = (int)index + 1;
    if (count == 0 && !read_variable("JOB_COMPLETIONS", &count))
        count = 0;
    return take_count(text, count, shard, error);
}

/* The job's number, not the slot it runs in (PARALLEL_JOBSLOT): slots are used again as soon as they are
 * free, and a quick job would make two of one shard and none of another. */
static enum status from_parallel(const char *text, int known_count, struct shard *shard, struct error *error)
{
    long long job;
    if (!read_variable("PARALLEL_SEQ", &job))
        return reject(text, "PARALLEL_SEQ is not a number", error);
    shard->index = (int)job;
    return take_count(text, known_count, shard, error);
}

/* A task of srun. A batch script, which is no step, has SLURM_PROCID 0 and the SLURM_NTASKS of its
 * allocation, although it runs once: it must not be taken for one of so many. */
static enum status from_slurm_step(const char *text, struct shard *shard, struct error *error)
{
    long long task, tasks;
    if (!read_variable("SLURM_PROCID", &task) || !read_variable("SLURM_STEP_NUM_TASKS", &tasks) || task < 0 ||
        task == INT_MAX)
        return reject(text, "SLURM_PROCID or SLURM_STEP_NUM_TASKS is not a number", error);
    shard->index = (int)task + 1;
    return take_count(text, tasks, shard, error);
}

static enum status find_out(const char *text, int known_count, struct shard *shard, struct error *error)
{
    static const struct {
        const char *variable;
        enum status (*read)(const char *text, int known_count, struct shard *shard, struct error *error);
    } engines[] = {{"SLURM_ARRAY_TASK_ID", from_slurm},
                   {"JOB_COMPLETION_INDEX", from_kubernetes},
                   {"PARALLEL_SEQ", from_parallel}};
    size_t count = sizeof engines / sizeof engines[0], found = count;
    for (size_t i = 0; i < count; i++) {
        if (!getenv(engines[i].variable))
            continue;
        if (found < count)
            return fail(
                error, STATUS_USAGE,
                "--shard %s: both %s and %s are set, and it is not clear which one shares out the files; "
                "say --shard I/N",
                text, engines[found].variable, engines[i].variable);
        found = i;
    }
    /* What runs in a step may be an array's, or another scheduler's within Slurm, and then that counts. */
    if (found == count && getenv("SLURM_STEP_NUM_TASKS"))
        return from_slurm_step(text, shard, error);
    if (found == count)
        return reject(
            text,
            "neither a Slurm array (SLURM_ARRAY_TASK_ID), nor a task of srun (SLURM_STEP_NUM_TASKS), nor a "
            "Kubernetes Indexed Job "
            "(JOB_COMPLETION_INDEX), nor GNU parallel (PARALLEL_SEQ) is there; say --shard I/N",
            error);
    return engines[found].read(text, known_count, shard, error);
}

static bool parse_number(struct word word, long long most, int *number)
{
    char text[16];
    long long value;
    if (word.length >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)word.length, word.start);
    if (!text_to_integer(text, &value) || value < 1 || value > most)
        return false;
    *number = (int)value;
    return true;
}

enum status shard_parse(const char *text, int known_count, struct shard *shard, struct error *error)
{
    static const char form[] = "not I/N with I from 1 to N (at most 1000000), auto or auto/N";
    *shard = (struct shard){0};
    if (!text)
        return STATUS_OK;
    struct word index, count = {NULL, 0};
    const char *rest = text;
    text_next_word(&rest, '/', &index);
    bool counted = text_next_word(&rest, '\0', &count), automatic = word_equals(index, "auto");
    if ((counted && !parse_number(count, SHARD_COUNT_MAX, &shard->count)) || (!counted && !automatic))
        return reject(text, form, error);
    if (!automatic)
        return parse_number(index, shard->count, &shard->index) ? STATUS_OK : reject(text, form, error);
    enum status status = find_out(text, known_count, shard, error);
    if (status == STATUS_OK && (shard->index < 1 || shard->index > shard->count))
        return fail(
            error, STATUS_USAGE,
            "--shard %s: this is task %d of %d; tasks are numbered from 1 to N (in Kubernetes from 0)", text,
            shard->index, shard->count);
    return status;
}

bool shard_has(const struct shard *shard, const char *name)
{
    uint64_t hash = hash_bytes(HASH_START, name, strlen(name)), count = (uint64_t)shard->count;
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    hash ^= hash >> 33;
    /* The upper half of a 64 by 32 bit product: the count is below 2^32. */
    uint64_t low = (hash & UINT32_MAX) * count, high = (hash >> 32) * count;
    return count == 0 || 1 + ((high + (low >> 32)) >> 32) == (uint64_t)shard->index;
}
