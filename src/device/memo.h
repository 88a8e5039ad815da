/* What climg remembers of a device: files in the cache, each for one device, driver and set of kernels. */
#ifndef CLIMG_DEVICE_MEMO_H
#define CLIMG_DEVICE_MEMO_H

#include "device/device.h"

enum { MEMO_LINE_SIZE = 1280 };

/* A file's first line: what it is about, "tuning" say, and what it was found on. */
void memo_header(const struct device *device, const char *about, char line[MEMO_LINE_SIZE]);

/* Where that file is, to be freed; NULL where there is no cache. */
char *memo_path(const struct device *device, const char *about, struct error *error);

#endif
