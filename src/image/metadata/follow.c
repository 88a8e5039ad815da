#include "image/metadata/follow.h"

#include <math.h>

bool change_moves(const struct change *change)
{
    const struct affine *from = &change->from;
    return change->in_width != change->out_width || change->in_height != change->out_height ||
           !affine_is_upright(from) || from->xx != 1 || from->yy != 1 || from->x != 0 || from->y != 0;
}

bool change_maps(const struct change *change)
{
    return change->revalued || change->expanded || change->unit != 1 || change->zero != 0;
}

/* A step of one output pixel goes (across, down) pixels in the input, of which there are x and y in a unit.
 */
static double density(double across, double down, double x, double y)
{
    if (down == 0) /* exactly */
        return x / fabs(across);
    if (across == 0)
        return y / fabs(down);
    return 1 / hypot(across / x, down / y);
}

void change_densities(const struct change *change, double *x, double *y)
{
    const struct affine *from = &change->from;
    const double along_x = density(from->xx, from->yx, *x, *y), along_y = density(from->xy, from->yy, *x, *y);
    *x = along_x;
    *y = along_y;
}

/* The print keeps its size, and a pixel measures what it measures. Where only the aspect is known, it changes
 * with that of the pixels; ImageJ's calibration has its unit elsewhere. */
static void follow_resolution(struct metadata *metadata, const struct change *change)
{
    bool absolute = metadata->resolution_unit == RESOLUTION_PER_METRE || description_is_imagej(metadata);
    double x = metadata->x_resolution, y = metadata->y_resolution;
    if (metadata->resolution_unit == RESOLUTION_ABSENT || !(x > 0) || !(y > 0))
        return;
    const bool on_side = affine_is_on_side(&change->from);
    const double old_x = on_side ? y : x, old_y = on_side ? x : y;
    change_densities(change, &x, &y);
    const bool same = fabs(x * old_y - y * old_x) <= 1e-12 * x * old_y;
    metadata->x_resolution = absolute || !same ? x : old_x;
    metadata->y_resolution = absolute || !same ? y : old_y;
}

enum status metadata_follow(struct metadata *metadata, const struct change *change, struct error *error)
{
    enum status status = STATUS_OK;
    if (change->turned) {
        metadata->orientation = 1;
        if (exif_orientation(&metadata->exif) > 1)
            status = exif_set_orientation(&metadata->exif, 1, error);
    }
    if ((change->worked || change->turned) && exif_drop_thumbnail(&metadata->exif))
        metadata_leave_out(metadata, "the EXIF thumbnail");
    if (change_moves(change)) {
        exif_follow(&metadata->exif, change);
        follow_resolution(metadata, change);
    }
    repeats_follow(metadata, change);
    if (status == STATUS_OK)
        status = xmp_follow(metadata, change, error);
    if (status == STATUS_OK)
        status = extras_follow(metadata, change, error);
    if (status == STATUS_OK)
        status = items_follow(metadata, change, error);
    return status == STATUS_OK ? description_follow(metadata, change, error) : status;
}
