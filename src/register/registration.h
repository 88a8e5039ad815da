/* Where places of a reference are in a picture. */
#ifndef CLIMG_REGISTER_REGISTRATION_H
#define CLIMG_REGISTER_REGISTRATION_H

#include "register/levels.h"
#include "register/refine.h"
#include "settings/settings.h"

/* Sides of pictures with less cannot be told apart. */
enum { LEAST_SIDE = 16 };

struct registration {
    struct affine affine; /* of whole pictures: output (x, y) of --warp is the reference's */
    double confidence;    /* 0 to 1: how much their detail is alike on the coarsest level */
};

/* Finds it, whatever gain, offset and noise there are. The picture's brightness is reduced as the reference's
 * is; it is taken, also on failure. A confidence of 0 says that nothing was found. The result does not depend
 * on the number of threads. */
enum status registration_find(struct run *run, struct workers *workers, enum model model,
                              const struct levels *reference, struct gray_plane *picture,
                              struct registration *registration, struct error *error);

/* ---------------------------------------------------------------- brightness.c
 *
 * Pictures from files and devices as registration sees them: brightness on the host, small enough for it. */

/* A file's first page, reduced by *reduction, which it chooses. *width and *height are the page's own.
 * Messages name the file. */
enum status brightness_read(const char *path, const struct settings *settings, struct gray_plane *gray,
                            int *reduction, int *width, int *height, struct error *error);

/* An image that is whole on the device, as display values even where it is in linear light there. Waits for
 * it. */
enum status brightness_fetch(struct run *run, struct workers *workers, const struct value *image,
                             int reduction, bool linear, struct gray_plane *gray, struct error *error);

#endif
