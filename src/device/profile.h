/* Launches and transfers that the device has not reported yet: each becomes an event of a timing once its
 * OpenCL event tells when it ran. */
#ifndef CLIMG_DEVICE_PROFILE_H
#define CLIMG_DEVICE_PROFILE_H

#include "base/error.h"
#include "base/timing.h"

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

struct device;

/* On whose behalf the device works: the caller's numbering, and a name that outlives the profile. */
struct profile_owner {
    int index;
    const char *name;
};

enum profile_kind { PROFILE_KERNEL, PROFILE_UPLOAD, PROFILE_DOWNLOAD };

struct profile_record {
    cl_event event; /* NULL once collected */
    enum profile_kind kind;
    const char *name; /* of the kernel */
    struct profile_owner owner;
    int slice;
    uint64_t bytes; /* read and written, counting each plane once */
};

struct profile {
    struct profile_record *records; /* waiting to be collected */
    size_t count, capacity;
    size_t collected;           /* records that went before those */
    struct profile_owner owner; /* given to new records, as is */
    int slice;
    struct timing *timing; /* gets the events; NULL: they are dropped */
    double clock_offset;   /* from the device's clock to the host's, seconds */
};

/* Measures the offset between the clocks, for a trace. */
void profile_calibrate(struct profile *profile, const struct device *device);

/* Takes the event over. */
enum status profile_add(struct profile *profile, enum profile_kind kind, const char *name, uint64_t bytes,
                        cl_event event, struct error *error);

/* The number of records so far, for profile_collect. */
size_t profile_mark(const struct profile *profile);

/* Adds the records before the mark to the timing; their commands must have finished. Fails if one failed. */
enum status profile_collect(struct profile *profile, size_t mark, struct error *error);

/* Forgets what waits to be collected: after a failure. */
void profile_discard(struct profile *profile);

void profile_free(struct profile *profile);

/* ---------------------------------------------------------------- compilers
 *
 * Thread safety: any thread may call. */

/* Call them before and after a call that may compile. */
void compiling_begin(void);
void compiling_end(void);

/* Has `watch` called when a call that may compile begins while no other one is under way, and when the last
 * one ends. `spent`: seconds that compilers took before. NULL: no more calls. */
void compiling_watch(void (*watch)(bool begins, double spent));

#endif
