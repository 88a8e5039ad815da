/* Pictures from files and devices as registration sees them: brightness on the host, small enough for it. */
#ifndef CLIMG_FILTERS_BRIGHTNESS_H
#define CLIMG_FILTERS_BRIGHTNESS_H

#include "filters/levels.h"
#include "settings/settings.h"

/* Which power of two a picture of that size is reduced by, so that 0.4 to 1.5 million pixels are left;
 * smaller ones by 1. */
int brightness_reduction(int width, int height);

/* A file's first page, reduced by *reduction, which it chooses. *width and *height are the page's own.
 * Messages name the file. */
enum status brightness_read(const char *path, const struct settings *settings, struct grey *grey,
                            int *reduction, int *width, int *height, struct error *error);

/* An image that is whole on the device, as display values even where it is in linear light there. Waits for
 * it. */
enum status brightness_fetch(struct run *run, struct workers *workers, const struct value *image,
                             int reduction, bool linear, struct grey *grey, struct error *error);

#endif
