/* What becomes of metadata when a chain changes the picture: what is still true stays, sizes and resolutions
 * are set, the rest is dropped and named. docs/metadata.md has the rule. */
#include "image/metadata/metadata.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool change_moves(const struct change *change)
{
    const struct affine *from = &change->from;
    return change->in_width != change->out_width || change->in_height != change->out_height ||
           !affine_is_upright(from) || from->xx != 1 || from->yy != 1 || from->x != 0 || from->y != 0;
}

/* ---------------------------------------------------------------- resolution */

/* Pixels per unit along one axis of the output, where a step to the next pixel goes (across, down) pixels in
 * the input, which has x and y pixels per unit. */
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

/* A print keeps its size. If only the aspect is known, it changes where pixels get another aspect; ImageJ has
 * the unit of a resolution in its description. */
static void follow_resolution(struct metadata *metadata, const struct change *change)
{
    const bool absolute =
        metadata->resolution_unit == RESOLUTION_PER_METRE || description_is_imagej(metadata);
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

/* ---------------------------------------------------------------- GeoTIFF 1.1 */

static double get_real(const struct blob *blob, size_t index)
{
    double value;
    memcpy(&value, blob->data + index * sizeof value, sizeof value);
    return value;
}

static void set_real(struct blob *blob, size_t index, double value)
{
    memcpy(blob->data + index * sizeof value, &value, sizeof value);
}

static size_t real_count(const struct blob *blob)
{
    return blob == NULL ? 0 : blob->size / sizeof(double);
}

/* Each key is four numbers: the key, where its value is (0: here), how many values there are, the value. The
 * first four are a header, whose last is the number of keys. */
static bool counts_from_centres(const struct metadata *metadata)
{
    enum { RASTER_TYPE = 1025, POINT = 2 };
    const struct blob *keys = metadata_extra(metadata, EXTRA_GEO_KEYS);
    uint16_t key[4] = {0};
    if (keys != NULL && keys->size >= sizeof key)
        memcpy(key, keys->data, sizeof key);
    for (size_t at = sizeof key, left = key[3]; left > 0 && at + sizeof key <= keys->size;
         at += sizeof key, left--) {
        memcpy(key, keys->data + at, sizeof key);
        if (key[0] == RASTER_TYPE && key[1] == 0)
            return key[3] == POINT;
    }
    return false;
}

/* Sets the size of a pixel and the one tie point (section 7.3: I, J, K in the raster, X, Y, Z in the model)
 * if the grid stays upright. False: it does not, or the place on earth is told in another form. */
static bool follow_geotiff(struct metadata *metadata, const struct change *change)
{
    enum { TIE = 6 };
    const struct affine from = affine_counted(&change->from, counts_from_centres(metadata) ? -0.5 : 0);
    struct blob *scale = metadata_extra(metadata, EXTRA_PIXEL_SCALE);
    struct blob *point = metadata_extra(metadata, EXTRA_TIE_POINTS);
    if (!affine_is_upright(&from) || real_count(scale) < 2 || real_count(point) != TIE ||
        metadata_extra(metadata, EXTRA_TRANSFORMATION) != NULL)
        return false;
    set_real(scale, 0, get_real(scale, 0) * from.xx);
    set_real(scale, 1, get_real(scale, 1) * from.yy);
    set_real(point, 0, (get_real(point, 0) - from.x) / from.xx);
    set_real(point, 1, (get_real(point, 1) - from.y) / from.yy);
    return true;
}

/* ---------------------------------------------------------------- other tags */

/* What an extra tells of, and so what makes it untrue. */
enum {
    OF_NOTHING, /* of this picture */
    OF_PICTURE, /* it may have a small copy of it: a stage, or another orientation */
    OF_NUMBERS, /* another sample type, or another value for the same number */
    OF_PLACES,  /* follow_geotiff decides */
    OF_PAGES,   /* another size, or number of pages */
};

static const struct rule {
    uint32_t tag;
    int of;
    const char *people;
} rules[] = {
    {EXTRA_PIXEL_SCALE, OF_PLACES, "GeoTIFF"},
    {EXTRA_TIE_POINTS, OF_PLACES, "GeoTIFF"},
    {EXTRA_TRANSFORMATION, OF_PLACES, "GeoTIFF"},
    {EXTRA_GEO_KEYS, OF_PLACES, "GeoTIFF"},
    {EXTRA_GEO_DOUBLES, OF_PLACES, "GeoTIFF"},
    {EXTRA_GEO_TEXTS, OF_PLACES, "GeoTIFF"},
    {EXTRA_NODATA, OF_NUMBERS, "GDAL's nodata"},
    {EXTRA_IMAGEJ, OF_PAGES, "ImageJ's metadata"},
    {EXTRA_IMAGEJ_COUNTS, OF_PAGES, "ImageJ's metadata"},
    {EXTRA_PHOTOSHOP, OF_PICTURE, "Photoshop's resources"},
    {EXTRA_IPTC, OF_NOTHING, "IPTC"},
};

static const struct rule *find_rule(const struct extra *extra)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].tag == extra->tag)
            return &rules[i];
    return NULL;
}

const char *extra_name(const struct extra *extra)
{
    static _Thread_local char name[16];
    const struct rule *rule = find_rule(extra);
    snprintf(name, sizeof name, "tag %u", (unsigned)extra->tag);
    return rule != NULL ? rule->people : name;
}

static bool stays_true(const struct extra *extra, const struct change *change, bool geotiff)
{
    const struct rule *rule = find_rule(extra);
    switch (rule == NULL ? OF_NOTHING : rule->of) {
    case OF_PICTURE:
        return !change->worked && !change->turned;
    case OF_NUMBERS:
        return !change->redrawn && change->in_type == change->out_type && !change->renumbered;
    case OF_PLACES:
        return geotiff;
    case OF_PAGES:
        return !change->redrawn && !change_moves(change) && change->in_pages == change->out_pages;
    default:
        return true;
    }
}

static void follow_extras(struct metadata *metadata, const struct change *change)
{
    const bool geotiff = !change->redrawn && (!change_moves(change) || follow_geotiff(metadata, change));
    for (size_t i = metadata->extra_count; i-- > 0;) {
        const struct extra *extra = &metadata->extras[i];
        if (stays_true(extra, change, geotiff))
            continue;
        metadata_leave_out(metadata, extra_name(extra));
        metadata_remove_extra(metadata, extra->tag);
    }
}

/* ---------------------------------------------------------------- all of it */

/* An ICC profile is for gray or for RGB. */
static void follow_colours(struct metadata *metadata, const struct change *change)
{
    if (metadata->icc.data != NULL && (change->in_channels <= 2) != (change->out_channels <= 2)) {
        blob_free(&metadata->icc);
        metadata_leave_out(metadata, "the ICC profile");
    }
    if (metadata->has_cicp && (change->redrawn || change->in_channels != change->out_channels)) {
        metadata->has_cicp = false;
        metadata_leave_out(metadata, "cICP");
    }
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
        exif_follow(metadata, change);
        follow_resolution(metadata, change);
    }
    follow_colours(metadata, change);
    follow_extras(metadata, change);
    xmp_follow(metadata, change);
    texts_follow(metadata, change);
    description_follow(metadata, change);
    return status;
}
