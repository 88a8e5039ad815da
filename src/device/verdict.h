/* What --selftest found on a device, remembered for the device, its driver and these kernels. */
#ifndef CLIMG_DEVICE_VERDICT_H
#define CLIMG_DEVICE_VERDICT_H

#include "device/device.h"

struct verdict {
    bool known, passed;
    double error;   /* the largest, of full scale */
    char stage[32]; /* that was the first to fail: "--blur" */
    char date[16];  /* 2026-01-31 */
};

/* Not `known` where nothing, or nothing that makes sense, is remembered. */
void verdict_load(const struct device *device, struct verdict *verdict);

/* *path (to be freed) is where. */
enum status verdict_save(const struct device *device, const struct verdict *verdict, char **path,
                         struct error *error);

/* STATUS_FAILED, with advice, for a device that failed. */
enum status verdict_check(const struct device *device, struct error *error);

#endif
