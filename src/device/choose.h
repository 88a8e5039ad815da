/* The OpenCL devices of this machine, and which one is meant. */
#ifndef CLIMG_DEVICE_CHOOSE_H
#define CLIMG_DEVICE_CHOOSE_H

#include "device/expect.h"
#include "settings/settings.h"

/* Before the first call of OpenCL, and before there are threads: has the driver of the device that --device
 * names started alone, where it is remembered which one that is (drivers.h). Only that device can then be
 * chosen. All are started where others may be needed: for --list-devices, --warm, a list of devices,
 * --verify on another one.
 *
 * `measure` says what "auto" is to do; it is called only where there are several devices, here or in
 * device_choose; `settings` and `context` must last as long. NULL: nobody knows. */
void device_start(const struct settings *settings, const struct workload *(*measure)(void *context),
                  void *context);

/* Finds the device that `wanted` names: "auto" or "", "gpu", "cpu", a number of device_list or a part of its
 * name or its platform's name (case does not matter). "auto" is the CPU or GPU on which the work is expected
 * to end first (expect.h); where that is not known a GPU before a CPU, simulators last. A device that failed
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
