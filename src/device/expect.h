/* When a command is expected to end on a device: for `--device auto`, and for what it learns of each run.
 *
 * A device takes its start, and for each part of the work a time that is proportional to it. What is not
 * known yet is what a usual device of the kind takes; each run then moves it halfway to what was measured. */
#ifndef CLIMG_DEVICE_EXPECT_H
#define CLIMG_DEVICE_EXPECT_H

#include "device/device.h"
#include "device/profile.h"

enum { WORK_PARTS = 64 };

/* What there is to do. The amount of a stage is the samples that go through it times the passes over them
 * that it is worth (`effort` of engine/stage.h); of WORK_ENDS, where samples become floats and floats
 * samples, the samples; of WORK_COPIES the bytes of both. */
struct workload {
    int count;
    struct {
        char name[32]; /* of a stage, or one of these */
        double amount;
    } parts[WORK_PARTS];
};

#define WORK_ENDS   "ends"
#define WORK_COPIES "copies"

/* Adds to the part of that name. What is beyond WORK_PARTS names is left out. */
void workload_add(struct workload *work, const char *name, double amount);

/* Seconds until the device is open, and until all is done; formats that are decoded take the host longer. */
struct expected {
    double start, end;
};

struct expected expect(const struct device *device, const struct workload *work);

/* Remembers how long the device took to start, and for the parts of the work what the profile (NULL: nothing)
 * has. Small works are mostly launches: they teach the start alone. A failure to write is no failure. */
void expect_learn(const struct device *device, const struct workload *work, const struct profile *profile);

#endif
