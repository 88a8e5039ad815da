/* The cost model of --device auto: expected seconds of a command on a device. They depend only on the work
 * and the kind of device. Nothing is measured at run time or stored, so on one machine a command always runs
 * on the same device. Pure functions; any thread may call. */
#ifndef CLIMG_DEVICE_COST_H
#define CLIMG_DEVICE_COST_H

#include <stdbool.h>

/* Amount of work of a command. */
struct workload {
    double stage_samples; /* samples that pass through stages, times the stage's relative cost */
    double file_samples;  /* samples read and written */
    double file_bytes;    /* bytes read and written, uncompressed */
};

/* Kind of device, a row of the model's table. */
enum cost_class {
    COST_CPU,
    COST_GPU,       /* with its own memory */
    COST_GPU_SHARED /* shares the host's memory */
};

/* Returns the expected seconds of a command on a device with this number of compute units. */
double cost_total(enum cost_class class, unsigned units, const struct workload *work);

/* True if the CPU is expected to finish before any GPU has started. */
bool cost_is_below_gpu_start(unsigned processors, const struct workload *work);

#endif
