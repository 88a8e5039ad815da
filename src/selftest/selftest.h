/* climg --selftest: questions whose answers are known, put to a device. */
#ifndef CLIMG_SELFTEST_SELFTEST_H
#define CLIMG_SELFTEST_SELFTEST_H

#include "device/device.h"

/* Puts every question to the open device, in every memory that it has and, where the stage can do without the
 * rest of the image, in slices; in the forms of kernels that it uses. Tells on `out` how large the errors
 * are, with `verbose` of each question and which kernels ran, and remembers what it found
 * (device/verdict.h). STATUS_FAILED where an answer is wrong: the message names the stages. */
enum status selftest(struct device *device, bool verbose, FILE *out, struct error *error);

#endif
