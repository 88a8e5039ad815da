/* Choice of the OpenCL device: which drivers are loaded, --device, and --list-devices.
 *
 * A chosen device has no context (device_open creates it) and need not be closed. It refers to `environment`,
 * which must outlive it.
 *
 * Thread safety: device_select_drivers sets state of the process that the other functions read; call it once,
 * before there are threads. After that any thread may call the others. */
#ifndef CLIMG_DEVICE_CHOOSE_H
#define CLIMG_DEVICE_CHOOSE_H

#include "device/device.h"
#include "settings/settings.h"

enum { MAX_DEVICES = 64 }; /* of all drivers */

/* ---------------- The cost model: expected seconds of a command on a device. They depend only on the work
 * and the kind of device. Nothing is measured at run time or stored, so on one machine a command always runs
 * on the same device. Pure functions: any thread may call them at any time. */

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

/* ---------------- The choice. */

/* True if device_select_drivers needs to know the work, as several drivers are installed. Computing the work
 * opens an input, which the caller can save otherwise. */
bool device_needs_workload(const struct settings *settings);

/* Selects the drivers to load: only the CPU's for --device cpu, and for "auto" if the CPU is expected to
 * finish `work` before a GPU has started and passed --selftest; otherwise all. `work` is copied;
 * NULL means unknown. Call it once, before the first OpenCL call and before there are threads. */
void device_select_drivers(const struct settings *settings, const struct workload *work);

/* Finds a device by `name`: "auto" or "", "gpu", "cpu", a number of device_list, or a part of a device's
 * name, platform or version, ignoring case. "auto" is the CPU or GPU that is expected to finish the work of
 * device_select_drivers first; if the work is unknown, the first GPU, or else the first CPU. "auto" skips
 * devices that failed --selftest, unless all did, and except with --force or --selftest. Fails, with advice,
 * if there is no platform or no such device. */
enum status device_choose(const char *name, const struct environment *environment, struct device *device,
                          struct error *error);

/* Resolves a list of names of device_choose, separated by commas, or "all", which means every GPU, or every
 * CPU if there is no GPU: a CPU next to a GPU would finish its share last. `numbers` receives the devices'
 * numbers in the list that --list-devices prints. */
enum status device_resolve_list(const char *name, const struct environment *environment,
                                int numbers[MAX_DEVICES], int *count, struct error *error);

/* Prints --list-devices: numbers, names, limits, and the device that "auto" uses for large work, with
 * the reason. `json`: as an array of objects. */
enum status device_list(const struct environment *environment, bool json, FILE *out, struct error *error);

#endif
