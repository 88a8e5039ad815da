/* --shard: selects a part of the files by a hash of their names; reads the variables of Slurm for --shard
 * auto.
 *
 *     array of jobs    SLURM_ARRAY_TASK_ID, and _MIN, _MAX, _STEP, _COUNT of the array
 *     step of srun     SLURM_PROCID, SLURM_STEP_NUM_TASKS
 *
 * In an array only the variables of the array are used, even inside a step of srun. SLURM_NTASKS is not used
 * instead of SLURM_STEP_NUM_TASKS, as it is also set in a batch script, which runs only once: only the first
 * shard would be done. */
#include "settings/settings.h"

#include "base/sums.h"
#include "base/text.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads an integer from the environment. Returns false if the variable is not set or its value is no int. */
static bool read_variable(const char *name, long long *value)
{
    const char *text = getenv(name);
    return text && text_to_integer(text, value) && *value >= INT_MIN && *value <= INT_MAX;
}

static enum status shard_reject(const char *text, const char *problem, struct error *error)
{
    return fail(error, STATUS_USAGE, "--shard %s: %s", text, problem);
}

/* Reads the shard from the variables of an array. With "auto/N", I is the number of the task, so that a
 * single task can be submitted again. With "auto", the tasks must be evenly spaced from MIN to MAX. */
static enum status read_array(const char *text, struct shard *shard, struct error *error)
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
            "use --shard auto/N",
            error);
    shard->index = (int)((task - min) / step) + 1;
    shard->count = (int)tasks;
    return STATUS_OK;
}

/* Parses a number from 1 to `most`. */
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

    /* Parse "I/N", "auto" or "auto/N". */
    struct word index;
    const char *count = text;
    text_next_word(&count, '/', &index);
    const bool is_automatic = word_equals(index, "auto");
    if (count ? !parse_number((struct word){count, strlen(count)}, SHARD_COUNT_MAX, &shard->count)
              : !is_automatic)
        return shard_reject(text, form, error);
    if (!is_automatic)
        return parse_number(index, shard->count, &shard->index) ? STATUS_OK : shard_reject(text, form, error);
    enum status status = STATUS_OK;
    if (getenv("SLURM_ARRAY_TASK_ID")) {
        status = read_array(text, shard, error);
    } else if (getenv("SLURM_STEP_NUM_TASKS")) {
        /* A task of srun, whose numbers begin at 0. Keep the N of "auto/N". */
        long long task, tasks;
        if (!read_variable("SLURM_PROCID", &task) || !read_variable("SLURM_STEP_NUM_TASKS", &tasks) ||
            task < 0 || task == INT_MAX)
            return shard_reject(text, "SLURM_PROCID or SLURM_STEP_NUM_TASKS is not a number", error);
        shard->index = (int)task + 1;
        shard->count = shard->count > 0 ? shard->count : (int)tasks;
    } else
        return shard_reject(
            text,
            "there is no Slurm array (SLURM_ARRAY_TASK_ID) and no task of srun (SLURM_STEP_NUM_TASKS); use "
            "--shard I/N, such as {#}/N with GNU parallel, or $((JOB_COMPLETION_INDEX + 1))/N in a "
            "Kubernetes Job",
            error);
    if (status == STATUS_OK && (shard->index < 1 || shard->index > shard->count))
        return fail(error, STATUS_USAGE, "--shard %s: task %d is outside 1 to %d", text, shard->index,
                    shard->count);
    return status;
}

bool shard_has(const struct shard *shard, const char *name)
{
    /* Mix the hash, as the upper bits of FNV-1a differ little between similar names: MurmurHash3's fmix64. */
    uint64_t hash = hash_bytes(HASH_START, name, strlen(name)), count = (uint64_t)shard->count;
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    hash ^= hash >> 33;

    /* The upper 64 bits of the product hash * count; the count is below 2^32. */
    uint64_t low = (hash & UINT32_MAX) * count, high = (hash >> 32) * count;
    return count == 0 || 1 + ((high + (low >> 32)) >> 32) == (uint64_t)shard->index;
}
