/* One input to one output by itself. */
#ifndef CLIMG_BATCH_CONVERT_H
#define CLIMG_BATCH_CONVERT_H

#include "batch/converting.h"

/* Opens the device unless that was done, and takes every page of an opened input through the chain. The
 * output is in its place where it succeeds. */
enum status convert(struct converting *converting, struct error *error);

#endif
