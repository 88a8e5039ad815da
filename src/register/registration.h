/* Image registration: finds the affine map from pixels of a reference to a picture, for --align.
 *
 *     brightness.c     file or device image ─▶ luma, reduced to at most 1.6 million pixels
 *     levels.c         luma ─▶ pyramid
 *     search.c         coarsest level ─▶ candidates, by correlation (fourier.c)
 *     refine.c         candidates ─▶ matches, by Gauss-Newton steps, level by level
 *     registration.c   calls these and computes the confidence in the result
 *
 * Everything but the reduction of device images runs on the host, in the threads of `workers`. The result has
 * the same bits for any number of threads and on every device.
 *
 * The reference's pyramid belongs to the caller and is only read, so several threads may share it. */
#ifndef CLIMG_REGISTER_REGISTRATION_H
#define CLIMG_REGISTER_REGISTRATION_H

#include "register/levels.h"
#include "register/refine.h"
#include "settings/settings.h"

/* Smallest width and height of a picture, in pixels. The caller checks it. */
enum { MIN_SIDE = 16 };

/* The result. */
struct registration {
    struct affine affine; /* from the reference to the picture, in pixels of whole pictures, as in --warp */
    double confidence;    /* 0 (nothing was found) to 1 */
};

/* Registers a picture that was reduced by the same factor as the reference. A picture without a match has a
 * confidence of 0, which is no failure. Adds the time to the run, which may be NULL. */
enum status registration_find(struct run *run, struct thread_pool *workers, enum model model,
                              const struct levels *reference, const struct gray_plane *picture,
                              struct registration *registration, struct error *error);

/* ---------------------------------------------------------------- brightness.c */

/* Reads the brightness of a page of a file, counted from 1, upright and reduced. Sets *reduction, a power of
 * two, and *width and *height, the size of the upright page. Messages name the file. */
enum status brightness_read(const char *path, int page, const struct settings *settings,
                            struct gray_plane *gray, int *reduction, int *width, int *height,
                            struct error *error);

/* Computes the brightness of a whole image on the device, reduced by `reduction`. Samples that are `linear`
 * light are converted to display values. Waits for the device. On a dry-run device `gray` is unchanged. */
enum status brightness_fetch(struct run *run, struct thread_pool *workers, const struct value *image,
                             int reduction, bool linear, struct gray_plane *gray, struct error *error);

#endif
