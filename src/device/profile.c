#include "device/profile.h"

#include "device/device.h"

#include <stdlib.h>
#include <string.h>

enum status profile_add(struct profile *profile, const char *name, uint64_t bytes, cl_event event,
                        struct error *error)
{
    if (profile->count == profile->capacity) {
        size_t capacity = profile->capacity ? 2 * profile->capacity : 64;
        void *grown = realloc(profile->records, capacity * sizeof *profile->records);
        if (!grown) {
            clReleaseEvent(event);
            return fail(error, STATUS_FAILED, "out of memory for timing records");
        }
        profile->records = grown;
        profile->capacity = capacity;
    }
    profile->records[profile->count++] = (struct profile_record){event, name, profile->owner, bytes};
    return STATUS_OK;
}

static struct profile_sum *find_sum(struct profile *profile, const char *name, struct profile_owner owner)
{
    for (size_t i = 0; i < profile->sum_count; i++)
        if (profile->sums[i].owner.index == owner.index && profile->sums[i].owner.name == owner.name &&
            strcmp(profile->sums[i].name, name) == 0)
            return &profile->sums[i];
    void *grown = realloc(profile->sums, (profile->sum_count + 1) * sizeof *profile->sums);
    if (!grown)
        return NULL;
    profile->sums = grown;
    profile->sums[profile->sum_count] = (struct profile_sum){.name = name, .owner = owner};
    return &profile->sums[profile->sum_count++];
}

static enum status collect_one(struct profile *profile, struct profile_record *record, struct error *error)
{
    cl_int state = CL_COMPLETE;
    cl_ulong start = 0, end = 0;
    clGetEventInfo(record->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    clGetEventProfilingInfo(record->event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(record->event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(record->event);
    record->event = NULL;
    if (state < 0)
        return fail(error, STATUS_FAILED, "kernel %s failed on the device: %s", record->name,
                    cl_error_name(state));
    struct profile_sum *sum = find_sum(profile, record->name, record->owner);
    if (!sum)
        return fail(error, STATUS_FAILED, "out of memory for timing records");
    sum->launches++;
    sum->bytes += record->bytes;
    sum->seconds += 1e-9 * (double)(end - start);
    return STATUS_OK;
}

enum status profile_collect(struct profile *profile, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < profile->count; i++)
        if (collect_one(profile, &profile->records[i], error) != STATUS_OK)
            status = STATUS_FAILED;
    profile->count = 0;
    return status;
}

void profile_discard(struct profile *profile)
{
    for (size_t i = 0; i < profile->count; i++)
        clReleaseEvent(profile->records[i].event);
    profile->count = 0;
}

void profile_free(struct profile *profile)
{
    profile_discard(profile);
    free(profile->records);
    free(profile->sums);
    memset(profile, 0, sizeof *profile);
}
