/* Events of launches and copies: records that become events of a timing when their commands have
 * finished.
 *
 * A profile owns the OpenCL events of its records. It belongs to one thread, as its device does; the
 * functions on compilers at the end may be called by any thread. */
#ifndef CLIMG_DEVICE_PROFILE_H
#define CLIMG_DEVICE_PROFILE_H

#include "base/error.h"
#include "base/timing.h"

#include <CL/cl.h>
#include <stdbool.h>
#include <stdint.h>

struct device;

/* Step of the chain that a command belongs to: its index, and a name that outlives the profile. */
struct profile_owner {
    int index;
    const char *name;
};

enum profile_kind { PROFILE_KERNEL, PROFILE_UPLOAD, PROFILE_DOWNLOAD };

/* A launch or a copy. */
struct profile_record {
    cl_event event; /* NULL after it was collected */
    enum profile_kind kind;
    const char *name; /* name of the kernel, "upload" or "download" */
    struct profile_owner owner;
    int slice;
    uint64_t bytes; /* bytes read and written; each plane counts once */
};

/* Records of a device's launches and copies. */
struct profile {
    struct profile_record *records; /* not collected yet */
    size_t count, capacity;
    size_t collected;           /* number of records that were collected */
    struct profile_owner owner; /* owner of new records */
    int slice;                  /* slice of new records */
    struct timing *timing;      /* receives the events; may be NULL */
    double clock_offset;        /* host clock minus device clock, seconds */
};

/* Measures the offset between the clocks, for a trace. */
void profile_calibrate(struct profile *profile, const struct device *device);

/* Adds a record. Owns the event from now on, also after a failure. */
enum status profile_add(struct profile *profile, enum profile_kind kind, const char *name, uint64_t bytes,
                        cl_event event, struct error *error);

/* Returns a mark for profile_collect: the number of records so far. */
size_t profile_mark(const struct profile *profile);

/* Moves the records before the mark to the timing. Their commands must have finished. Fails if one of
 * them failed. */
enum status profile_collect(struct profile *profile, size_t mark, struct error *error);

/* Drops all records, after a failure. */
void profile_discard(struct profile *profile);

void profile_free(struct profile *profile);

/* ---------------------------------------------------------------- compilers
 *
 * Thread safety: any thread may call. */

/* Enclose a call that may compile. */
void compiling_begin(void);
void compiling_end(void);

/* Sets a function that is called when the first of concurrent calls that may compile begins, and when
 * the last one ends. `spent`: seconds of compilation so far. NULL removes it. */
void compiling_watch(void (*watch)(bool begins, double spent));

#endif
