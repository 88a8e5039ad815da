/* --shard: a part of the files, by a hash of their names; and the variables of Slurm that --shard auto reads.
 */
#include "settings/settings.h"

#include "base/sums.h"
#include "base/text.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a whole number from the environment; false if it is absent or something else. */
static bool read_variable(const char *name, long long *value)
{
    const char *text = getenv(name);
    return text && text_to_integer(text, value) && *value >= INT_MIN && *value <= INT_MAX;
}

static enum status shard_reject(const char *text, const char *problem, struct error *error)
{
    return fail(error, STATUS_USAGE, "--shard %s: %s", text, problem);
}

/* With N given, tasks are numbered 1 to N, so that one of them can be submitted again alone as the same
 * shard. Otherwise the variables describe the array: evenly spaced tasks from MIN to MAX. */
static enum status from_array(const char *text, struct shard *shard, struct error *error)
{
    long long task, min, max, step, tasks;
    if (!read_variable("SLURM_ARRAY_TASK_ID", &task))
        return shard_reject(text, "SLURM_ARRAY_TASK_ID is not a number", error);
    if (shard->count > 0) {
        shard->index = (int)task;
        return STATUS_OK;
    }
    if (!read_variable("SLURM_ARRAY_TASK_MIN", &min) || !read_variable("SLURM_ARRAY_TASK_MAX", &max) ||
        !read_variable("SLURM_ARRAY_TASK_STEP", &step) || !read_variable("SLURM_ARRAY_TASK_COUNT", &tasks) ||
        step < 1 || min > task || task > max || (max - min) / step + 1 != tasks || (task - min) % step != 0)
        return shard_reject(
            text,
            "the tasks of this Slurm array are not evenly numbered; submit it with --array=1-N and "
            "say --shard auto/N",
            error);
    shard->index = (int)((task - min) / step) + 1;
    shard->count = (int)tasks;
    return STATUS_OK;
}

/* A task of srun. A batch script is not a step; it has SLURM_PROCID 0 and its allocation's SLURM_NTASKS,
 * although it runs once: it must not become one of many shards. */
static enum status from_step(const char *text, struct shard *shard, struct error *error)
{
    long long task, tasks;
    if (!read_variable("SLURM_PROCID", &task) || !read_variable("SLURM_STEP_NUM_TASKS", &tasks) || task < 0 ||
        task == INT_MAX)
        return shard_reject(text, "SLURM_PROCID or SLURM_STEP_NUM_TASKS is not a number", error);
    shard->index = (int)task + 1;
    if (shard->count == 0)
        shard->count = (int)tasks;
    return STATUS_OK;
}

/* In an array the variables of the array count, even inside a step of srun. */
static enum status ask_slurm(const char *text, struct shard *shard, struct error *error)
{
    if (getenv("SLURM_ARRAY_TASK_ID"))
        return from_array(text, shard, error);
    if (getenv("SLURM_STEP_NUM_TASKS"))
        return from_step(text, shard, error);
    return shard_reject(
        text,
        "no Slurm array (SLURM_ARRAY_TASK_ID) and no task of srun (SLURM_STEP_NUM_TASKS) is there; say "
        "--shard I/N, such as {#}/N with GNU parallel, or $((JOB_COMPLETION_INDEX + 1))/N in a "
        "Kubernetes Job",
        error);
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

enum status shard_parse(const char *text, struct shard *shard, struct error *error)
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
        return shard_reject(text, form, error);
    if (!automatic)
        return parse_number(index, shard->count, &shard->index) ? STATUS_OK : shard_reject(text, form, error);
    enum status status = ask_slurm(text, shard, error);
    if (status == STATUS_OK && (shard->index < 1 || shard->index > shard->count))
        return fail(error, STATUS_USAGE, "--shard %s: this is task %d of %d; tasks are numbered from 1 to N",
                    text, shard->index, shard->count);
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
