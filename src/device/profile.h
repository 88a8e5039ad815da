/* What the device did when: one record a kernel launch or transfer, from profiling events. */
#ifndef CLIMG_DEVICE_PROFILE_H
#define CLIMG_DEVICE_PROFILE_H

#include "base/error.h"

#include <CL/cl.h>
#include <stdint.h>

/* On whose behalf the device works: the caller's numbering, and a name that outlives the profile. */
struct profile_owner {
    int index;
    const char *name;
};

struct profile_record {
    cl_event event;   /* NULL once collected */
    const char *name; /* of the kernel */
    struct profile_owner owner;
    uint64_t bytes; /* read and written, counting each plane once */
};

/* Time and bytes of all launches of one kernel for one owner. */
struct profile_sum {
    const char *name;
    struct profile_owner owner;
    int launches;
    uint64_t bytes;
    double seconds;
};

struct profile {
    struct profile_record *records; /* waiting to be collected */
    size_t count, capacity;
    struct profile_sum *sums;
    size_t sum_count;
    struct profile_owner owner; /* given to new records */
};

/* Takes the event over. */
enum status profile_add(struct profile *profile, const char *name, uint64_t bytes, cl_event event,
                        struct error *error);

/* Adds the finished records to the sums. The queue must be idle. Reports a command that failed. */
enum status profile_collect(struct profile *profile, struct error *error);

/* Forgets what waits to be collected: after a failure. */
void profile_discard(struct profile *profile);

void profile_free(struct profile *profile);

#endif
