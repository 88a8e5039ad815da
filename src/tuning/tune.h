/* climg --tune: which form of each hot kernel is fastest on this device. */
#ifndef CLIMG_TUNING_TUNE_H
#define CLIMG_TUNING_TUNE_H

#include "engine/run.h"

#include <stdio.h>

/* Runs chains that hold the hot kernels on noise, in every memory that the device has, with every form that
 * makes sense on its class; checks each form's output against the default's; tells on `out` what it found;
 * makes the winners this process' forms and saves them (device/tuning.h). */
enum status tune(struct device *device, FILE *out, struct error *error);

#endif
