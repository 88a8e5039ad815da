/* Image registration: finds the affine map from pixels of a reference to a picture, for --align.
 *
 *     brightness.c     file or device image ─▶ luma, reduced to at most 1.5 million pixels
 *     levels.c         luma ─▶ pyramid
 *     search.c         coarsest level ─▶ candidates, by correlation (fourier.c)
 *     refine.c         candidates ─▶ matches, by Gauss-Newton steps (sample.c), level by level
 *     registration.c   calls these and computes the confidence in the result
 *
 * All but the reduction of device images runs on the host, in the threads of `workers`. The result is the
 * same bits for any number of threads and on every device.
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
    /* From the reference to the picture, in pixels of whole pictures, as an argument of --warp. */
    struct affine affine;
    double confidence; /* 0 (nothing was found) to 1 */
};

/* Registers a picture that was reduced by the reference's factor. Takes over the picture's memory, also on
 * failure. Pictures without a match are no error: they get a confidence of 0. Adds the time to the run, which
 * may be NULL. */
enum status registration_find(struct run *run, struct thread_pool *workers, enum model model,
                              const struct levels *reference, struct gray_plane *picture,
                              struct registration *registration, struct error *error);

/* ---------------------------------------------------------------- brightness.c */

/* Reads the brightness of a file's first page. Chooses *reduction, a power of two, and reduces the page by
 * it. *width and *height become the size of the whole page after its orientation is applied. Messages name
 * the file. */
enum status brightness_read(const char *path, const struct settings *settings, struct gray_plane *gray,
                            int *reduction, int *width, int *height, struct error *error);

/* Computes the brightness of a whole image on the device, reduced by `reduction`. Converts samples to display
 * values, as in a file, if they are `linear` light. Waits for the device. On a dry-run device `gray` is
 * unchanged. */
enum status brightness_fetch(struct run *run, struct thread_pool *workers, const struct value *image,
                             int reduction, bool linear, struct gray_plane *gray, struct error *error);

#endif
