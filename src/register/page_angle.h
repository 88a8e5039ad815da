/* The measurement of a page's angle, for --deskew and --rotate auto: callbacks of struct measurement
 * (engine/stage.h). A state belongs to one thread. */
#ifndef CLIMG_REGISTER_PAGE_ANGLE_H
#define CLIMG_REGISTER_PAGE_ANGLE_H

#include "engine/stage.h"
#include "image/image.h"

/* Length in pixels of a page's longer side that is enough to find its angle. */
enum { PAGE_ANGLE_SIDE = 1200 };

/* State of a measurement. */
struct page_angle {
    struct image_info info; /* of the rows */
    int factor;             /* a pixel of `gray` is the sum of factor x factor pixels of the page */
    int width, height;      /* of gray */
    uint32_t row;           /* number of the next row */
    float *gray;            /* owned */
    double *values;         /* values of one row; owned */
};

enum status page_angle_begin(void *context, const void *params, const struct shape *shape,
                             const struct image_info *info, struct error *error);
void page_angle_add(void *context, const void *rows, size_t pitch, uint32_t count);
void page_angle_release(void *context);

/* Finds the angle by which --rotate makes the lines level, from -max_angle to max_angle degrees; 0 if they
 * are level already or no angle is clear. Call it once, after the last row. Sets `stage`, and `found` or
 * `warning`, of the replacement; the caller sets `value`. */
enum status page_angle_find(const struct page_angle *state, double max_angle, double *degrees,
                            struct replacement *replacement, struct error *error);

#endif
