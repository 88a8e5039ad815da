/* Updates metadata after a chain changed the picture, in one pass over its blobs: size, orientation and
 * resolution are patched, blobs that still describe the picture are kept, the others are dropped and listed
 * in left_out, for a warning. docs/metadata.md has the rule. */
#include "image/metadata/metadata.h"

#include "image/colour/colour.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- resolution */

/* Updates the resolution so that a print keeps its size. A resolution without a unit is an aspect ratio: it
 * is kept unless the aspect changes. ImageJ's files have a unit in the description, so theirs is absolute. */
static void update_resolution(struct metadata *metadata, const struct change *change)
{
    const bool absolute =
        metadata->resolution_unit == RESOLUTION_PER_METRE || description_is_imagej(metadata);
    double x = metadata->x_resolution, y = metadata->y_resolution;
    if (metadata->resolution_unit == RESOLUTION_ABSENT || !(x > 0) || !(y > 0))
        return;
    const bool swaps_axes = affine_is_on_side(&change->from);
    const double old_x = swaps_axes ? y : x, old_y = swaps_axes ? x : y; /* exchanged with the axes */
    affine_densities(&change->from, &x, &y);
    const bool same_aspect = fabs(x * old_y - y * old_x) <= 1e-12 * x * old_y;
    metadata->x_resolution = absolute || !same_aspect ? x : old_x;
    metadata->y_resolution = absolute || !same_aspect ? y : old_y;
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

/* True if positions count from the centre of the first pixel instead of its corner (GTRasterTypeGeoKey).
 *
 * A key is four numbers: the key, the tag that has its value (0: the key itself), the number of values, the
 * value. The first four numbers are a header, whose last is the number of keys. */
static bool counts_from_centres(const struct metadata *metadata)
{
    enum { RASTER_TYPE = 1025, POINT = 2 };
    const struct blob *keys = metadata_tag(metadata, TAG_GEO_KEYS);
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

/* Sets the size of a pixel and the one tie point (section 7.3: I, J, K in the raster, X, Y, Z in the model).
 * False: the grid is turned or sheared, or the file stores the place on earth in another form. */
static bool update_geotiff(struct metadata *metadata, const struct change *change)
{
    enum { TIE = 6 /* doubles of a tie point */ };
    const struct affine from = affine_move_origin(&change->from, counts_from_centres(metadata) ? -0.5 : 0);
    struct blob *scale = metadata_tag(metadata, TAG_PIXEL_SCALE);
    struct blob *point = metadata_tag(metadata, TAG_TIE_POINTS);
    if (!affine_is_upright(&from) || real_count(scale) < 2 || real_count(point) != TIE ||
        metadata_tag(metadata, TAG_TRANSFORMATION) != NULL)
        return false;
    set_real(scale, 0, get_real(scale, 0) * from.xx);
    set_real(scale, 1, get_real(scale, 1) * from.yy);
    set_real(point, 0, (get_real(point, 0) - from.x) / from.xx);
    set_real(point, 1, (get_real(point, 1) - from.y) / from.yy);
    return true;
}

/* ---------------------------------------------------------------- other tags */

/* The subject of a tag. If a stage changes the subject, the tag is no longer true and is dropped. */
enum {
    OF_NOTHING, /* nothing that a stage changes: always true */
    OF_PICTURE, /* may have a small copy of the picture: untrue after a stage */
    OF_NUMBERS, /* untrue after a change of the sample type or of what a number means (rescaled) */
    OF_PLACES,  /* update_geotiff decides */
    OF_PAGES,   /* untrue after a movement of pixels, another size or number of pages */
};

static const struct rule {
    uint32_t number;
    int of;
    const char *label;
} rules[] = {
    {TAG_PIXEL_SCALE, OF_PLACES, "GeoTIFF"},
    {TAG_TIE_POINTS, OF_PLACES, "GeoTIFF"},
    {TAG_TRANSFORMATION, OF_PLACES, "GeoTIFF"},
    {TAG_GEO_KEYS, OF_PLACES, "GeoTIFF"},
    {TAG_GEO_DOUBLES, OF_PLACES, "GeoTIFF"},
    {TAG_GEO_TEXTS, OF_PLACES, "GeoTIFF"},
    {TAG_NODATA, OF_NUMBERS, "GDAL's nodata"},
    {TAG_IMAGEJ, OF_PAGES, "ImageJ's metadata"},
    {TAG_IMAGEJ_COUNTS, OF_PAGES, "ImageJ's metadata"},
    {TAG_PHOTOSHOP, OF_PICTURE, "Photoshop's resources"},
    {TAG_IPTC, OF_NOTHING, "IPTC"},
};

static const struct rule *find_rule(const struct tiff_tag *tag)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].number == tag->number)
            return &rules[i];
    return NULL;
}

const char *tiff_tag_name(const struct tiff_tag *tag)
{
    static _Thread_local char name[16];
    const struct rule *rule = find_rule(tag);
    snprintf(name, sizeof name, "tag %u", (unsigned)tag->number);
    return rule != NULL ? rule->label : name;
}

static bool stays_true(const struct tiff_tag *tag, const struct change *change, bool geotiff_is_true)
{
    const struct rule *rule = find_rule(tag);
    switch (rule == NULL ? OF_NOTHING : rule->of) {
    case OF_PICTURE:
        return !change->processed;
    case OF_NUMBERS:
        return !change->replaced && change->in_type == change->out_type && !change->rescaled;
    case OF_PLACES:
        return geotiff_is_true;
    case OF_PAGES:
        return !change->replaced && !change_moves(change) && change->in_pages == change->out_pages;
    default:
        return true;
    }
}

static void update_tags(struct metadata *metadata, const struct change *change)
{
    bool geotiff_is_true = !change->replaced;
    if (geotiff_is_true && change_moves(change))
        geotiff_is_true = update_geotiff(metadata, change);
    for (size_t i = metadata->tag_count; i-- > 0;) {
        const struct tiff_tag *tag = &metadata->tags[i];
        if (stays_true(tag, change, geotiff_is_true))
            continue;
        metadata_leave_out(metadata, tiff_tag_name(tag));
        metadata_remove_tag(metadata, tag->number);
    }
}

/* ---------------------------------------------------------------- all of it */

/* Gray gets a profile of gray instead of one of RGB, or of cICP for RGB; RGB loses one of gray. Drops cICP if
 * the picture is replaced or has another number of channels. */
static enum status update_colours(struct metadata *metadata, const struct change *change, struct error *error)
{
    const bool was_gray = change->in_channels <= 2, is_gray = change->out_channels <= 2;
    const bool loses_cicp =
        metadata->has_cicp && (change->replaced || change->in_channels != change->out_channels);
    const struct colour_space *space;
    struct error ignored;
    if (change->space != NULL) /* metadata_set_space replaces all of it */
        return STATUS_OK;
    if (loses_cicp)
        metadata_leave_out(metadata, "cICP");
    metadata->has_cicp = metadata->has_cicp && !change->replaced;
    const bool is_of_rgb = metadata->has_cicp ? !was_gray : icc_is_for(&metadata->icc, 3);
    if (is_gray && is_of_rgb && colour_space_of_file(metadata, 3, &space, &ignored) == STATUS_OK &&
        space != NULL) {
        const enum status status = metadata_set_space(metadata, space, change->out_channels, error);
        colour_space_release(space);
        return status;
    }
    metadata->has_cicp = metadata->has_cicp && !loses_cicp;
    if (metadata->icc.data != NULL && (was_gray != is_gray || (is_gray && is_of_rgb))) {
        blob_free(&metadata->icc);
        metadata_leave_out(metadata, "the ICC profile");
    }
    return STATUS_OK;
}

enum status metadata_set_space(struct metadata *metadata, const struct colour_space *space, int channels,
                               struct error *error)
{
    if (channels <= 2 && space->gray != NULL)
        space = space->gray->is_srgb ? colour_space_builtin(COLOUR_GRAY) : space->gray;
    if (space == NULL || (channels <= 2 && space->channels == 3))
        return fail_memory(error, "out of memory for a colour space");
    exif_set_space(&metadata->exif, space->is_srgb);
    metadata->srgb = metadata->has_cicp = metadata->has_chromaticities = false;
    metadata->gamma = 0;
    return metadata_set_blob(&metadata->icc, space->icc.data, space->icc.size, error);
}

void metadata_strip(struct metadata *metadata)
{
    if (metadata->orientation == 0)
        metadata->orientation = exif_orientation(&metadata->exif);
    blob_free(&metadata->exif);
    while (metadata->text_count > 0)
        metadata_remove_entry(metadata, metadata->text_count - 1);
    while (metadata->tag_count > 0)
        metadata_remove_tag(metadata, metadata->tags[0].number);
    metadata->resolution_unit = RESOLUTION_ABSENT;
    metadata->left_out[0] = '\0';
}

enum status metadata_update(struct metadata *metadata, const struct change *change, struct error *error)
{
    enum status status = STATUS_OK;
    if (change->reoriented) {
        metadata->orientation = 1;
        if (exif_orientation(&metadata->exif) > 1)
            status = exif_set_orientation(&metadata->exif, 1, error);
    }
    if (change->processed && exif_drop_thumbnail(&metadata->exif))
        metadata_leave_out(metadata, "the EXIF thumbnail");
    if (change_moves(change)) {
        exif_update(metadata, change);
        update_resolution(metadata, change);
    }
    if (status == STATUS_OK)
        status = update_colours(metadata, change, error);
    update_tags(metadata, change);
    xmp_update(metadata, change);
    texts_update(metadata, change);
    description_update(metadata, change);
    return status;
}
