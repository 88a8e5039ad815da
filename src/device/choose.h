/* The OpenCL devices of this machine, and which one is meant. */
#ifndef CLIMG_DEVICE_CHOOSE_H
#define CLIMG_DEVICE_CHOOSE_H

#include "device/cost.h"
#include "device/device.h"
#include "settings/settings.h"

/* True if device_start needs the work: several drivers are installed. Finding the work opens a file. */
bool device_needs_workload(const struct settings *settings);

/* Decides which drivers are loaded: only the CPU's for --device cpu, and for "auto" if the CPU is expected to
 * finish `work` before a GPU has started (cost.h); otherwise all. `work` may be NULL if it is unknown; it is
 * copied. Call it once, before the first OpenCL call and before other threads start. */
void device_start(const struct settings *settings, const struct workload *work);

/* Finds the device that `wanted` names: "auto" or "", "gpu", "cpu", a number of device_list or a part of its
 * name or its platform's name (case does not matter). "auto" is the CPU or GPU that is expected to
 * finish the work of device_start first; if the work is unknown a GPU before a CPU, simulators last. A device
 * that failed
 * --selftest is not taken where there is another, unless device_start had --force or --selftest. Creates no
 * context. `environment` must outlive the device. STATUS_FAILED with advice where there is no platform, no
 * device, no such device. */
enum status device_choose(const char *wanted, const struct environment *environment, struct device *device,
                          struct error *error);

/* "all": the devices of the best kind, every GPU or else every CPU, as one much slower than the
 * others would hold up the end. Else a list of what device_choose takes, separated by commas. *numbers (to be
 * freed) are their numbers in --list-devices. */
enum status device_numbers(const char *wanted, const struct environment *environment, int **numbers,
                           int *count, struct error *error);

/* --list-devices: numbers, names, limits, and which one "auto" takes for much work and why; `json`: as an
 * array of objects. */
enum status device_list(const struct environment *environment, bool json, FILE *out, struct error *error);

#endif
