/* Finds the map from places of a reference to places in a picture. All work is done on the host. */
#ifndef CLIMG_REGISTER_REGISTRATION_H
#define CLIMG_REGISTER_REGISTRATION_H

#include "register/levels.h"
#include "register/refine.h"
#include "settings/settings.h"

/* Least side of a picture in pixels. */
enum { LEAST_SIDE = 16 };

struct registration {
    struct affine affine; /* of whole pictures: output (x, y) of --warp is the reference's */
    double confidence;    /* 0 to 1; 0: nothing was found */
};

/* Registers a picture, which must be reduced as the reference is. Takes over the picture's memory, also on
 * failure. The result does not depend on the number of threads. */
enum status registration_find(struct run *run, struct workers *workers, enum model model,
                              const struct levels *reference, struct gray_plane *picture,
                              struct registration *registration, struct error *error);

/* ---------------------------------------------------------------- brightness.c */

/* Reads a file's first page and reduces it by *reduction, which it chooses. *width and *height are the page's
 * size. Messages name the file. */
enum status brightness_read(const char *path, const struct settings *settings, struct gray_plane *gray,
                            int *reduction, int *width, int *height, struct error *error);

/* Reduces and maps an image that is whole on the device, as display values even if it is in linear light.
 * Waits for the device. */
enum status brightness_fetch(struct run *run, struct workers *workers, const struct value *image,
                             int reduction, bool linear, struct gray_plane *gray, struct error *error);

#endif
