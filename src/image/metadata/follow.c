#include "image/metadata/follow.h"

bool change_resizes(const struct change *change)
{
    return change->in_width != change->out_width || change->in_height != change->out_height ||
           change->x != 1 || change->y != 1;
}

/* The print keeps its size, and a pixel measures what it measures. Where only the aspect is known, it changes
 * with that of the pixels; ImageJ's calibration has its unit elsewhere. */
static void follow_resolution(struct metadata *metadata, double x, double y)
{
    bool absolute = metadata->resolution_unit == RESOLUTION_PER_METRE || description_is_imagej(metadata);
    if (metadata->resolution_unit == RESOLUTION_ABSENT || (!absolute && x == y))
        return;
    metadata->x_resolution *= x;
    metadata->y_resolution *= y;
}

/* What says where the top is, and what lies the old way. */
static enum status turn(struct metadata *metadata, const struct change *change, struct error *error)
{
    const bool on_side = metadata->orientation > 4;
    const double x = metadata->x_resolution, y = metadata->y_resolution;
    metadata->orientation = 1;
    if (exif_drop_thumbnail(&metadata->exif))
        metadata_leave_out(metadata, "the EXIF thumbnail");
    if (on_side) {
        metadata->x_resolution = y;
        metadata->y_resolution = x;
        exif_resize(&metadata->exif, change->out_width, change->out_height, 1, 1);
    }
    return exif_orientation(&metadata->exif) > 1 ? exif_set_orientation(&metadata->exif, 1, error)
                                                 : STATUS_OK;
}

enum status metadata_follow(struct metadata *metadata, const struct change *change, struct error *error)
{
    enum status status = change->turned ? turn(metadata, change, error) : STATUS_OK;
    if (change->worked && exif_drop_thumbnail(&metadata->exif))
        metadata_leave_out(metadata, "the EXIF thumbnail");
    if (change_resizes(change) && !change->turned) {
        exif_resize(&metadata->exif, change->out_width, change->out_height, change->x, change->y);
        follow_resolution(metadata, change->x, change->y);
    }
    if (status == STATUS_OK)
        status = extras_follow(metadata, change, error);
    return status == STATUS_OK ? description_follow(metadata, change, error) : status;
}
