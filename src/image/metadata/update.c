/* Updates metadata after a chain changed the picture: patches size, orientation and resolution, keeps what is
 * still true, and drops the rest and adds it to left_out. docs/metadata.md has the rules. */
#include "image/metadata/metadata.h"

#include "image/colour/colour.h"

#include <math.h>
#include <stdio.h>

/* ---------------------------------------------------------------- resolution */

/* Updates the resolution so that a print keeps its size. A resolution without a unit is only an aspect
 * ratio, which changes only if the shape of pixels does. ImageJ's has its unit in the description. */
static void update_resolution(struct metadata *metadata, const struct change *change)
{
    const bool absolute =
        metadata->resolution_unit == RESOLUTION_PER_METRE || description_is_imagej(metadata);
    double x = metadata->x_resolution, y = metadata->y_resolution;
    if (metadata->resolution_unit == RESOLUTION_ABSENT || !(x > 0) || !(y > 0))
        return;
    const bool swaps_axes = affine_swaps_axes(&change->from);
    const double old_x = swaps_axes ? y : x, old_y = swaps_axes ? x : y;
    affine_densities(&change->from, &x, &y);
    const bool same_aspect = fabs(x * old_y - y * old_x) <= 1e-12 * x * old_y;
    metadata->x_resolution = absolute || !same_aspect ? x : old_x;
    metadata->y_resolution = absolute || !same_aspect ? y : old_y;
}

/* ---------------------------------------------------------------- GeoTIFF 1.1 */

/* True if positions count from the centre of the first pixel instead of its corner (GTRasterTypeGeoKey).
 *
 * The tag has groups of four numbers. The last number of the first group is the number of keys. A key is its
 * ID, the tag that has its value (0: this one), the number of values, and the value. */
static bool counts_from_centres(const struct metadata *metadata)
{
    enum { RASTER_TYPE = 1025, POINT = 2 };
    const struct blob *keys = metadata_tag(metadata, TAG_GEO_KEYS);
    const uint16_t *numbers = keys != NULL ? (const void *)keys->data : NULL;
    const size_t groups = keys != NULL ? keys->size / (4 * sizeof *numbers) : 0;
    for (size_t i = 1; i < groups && i <= numbers[3]; i++) {
        const uint16_t *key = numbers + 4 * i;
        if (key[0] == RASTER_TYPE && key[1] == 0)
            return key[3] == POINT;
    }
    return false;
}

/* Updates the pixel size and the tie point, which is I, J, K in the raster and X, Y, Z in the model. False:
 * the grid is turned or sheared, the file has a transformation or several tie points, or it has no pixel size
 * or tie point. */
static bool update_geotiff(struct metadata *metadata, const struct change *change)
{
    enum { TIE = 6 /* doubles of a tie point */ };
    const struct affine from = affine_move_origin(&change->from, counts_from_centres(metadata) ? -0.5 : 0);
    const struct blob *scale = metadata_tag(metadata, TAG_PIXEL_SCALE),
                      *point = metadata_tag(metadata, TAG_TIE_POINTS);
    if (!affine_is_upright(&from) || scale == NULL || scale->size < 2 * sizeof(double) || point == NULL ||
        point->size / sizeof(double) != TIE || metadata_tag(metadata, TAG_TRANSFORMATION) != NULL)
        return false;
    double *pixel = (void *)scale->data, *tie = (void *)point->data;
    pixel[0] *= from.xx;
    pixel[1] *= from.yy;
    tie[0] = (tie[0] - from.x) / from.xx;
    tie[1] = (tie[1] - from.y) / from.yy;
    return true;
}

/* ---------------------------------------------------------------- other tags */

/* The condition on which a tag is kept. */
enum keep_if {
    KEEP_ALWAYS,
    KEEP_IF_UNPROCESSED, /* no stage and no --range: the tag may hold a thumbnail */
    KEEP_IF_SAME_VALUES, /* same geometry, sample type and meaning of values */
    KEEP_IF_GEOTIFF,     /* update_geotiff decides */
    KEEP_IF_IN_PLACE,    /* pixels stay in their places, and the number of pages is the same */
};

static const struct tag_rule {
    uint32_t number;
    enum keep_if keep_if;
    const char *label; /* name for messages */
} tag_rules[] = {
    {TAG_PIXEL_SCALE, KEEP_IF_GEOTIFF, "GeoTIFF"},
    {TAG_TIE_POINTS, KEEP_IF_GEOTIFF, "GeoTIFF"},
    {TAG_TRANSFORMATION, KEEP_IF_GEOTIFF, "GeoTIFF"},
    {TAG_GEO_KEYS, KEEP_IF_GEOTIFF, "GeoTIFF"},
    {TAG_GEO_DOUBLES, KEEP_IF_GEOTIFF, "GeoTIFF"},
    {TAG_GEO_TEXTS, KEEP_IF_GEOTIFF, "GeoTIFF"},
    {TAG_NODATA, KEEP_IF_SAME_VALUES, "GDAL's nodata"},
    {TAG_IMAGEJ, KEEP_IF_IN_PLACE, "ImageJ's metadata"},
    {TAG_IMAGEJ_COUNTS, KEEP_IF_IN_PLACE, "ImageJ's metadata"},
    {TAG_PHOTOSHOP, KEEP_IF_UNPROCESSED, "Photoshop's resources"},
    {TAG_IPTC, KEEP_ALWAYS, "IPTC"},
};

static const struct tag_rule *find_rule(const struct tiff_tag *tag)
{
    for (size_t i = 0; i < sizeof tag_rules / sizeof tag_rules[0]; i++)
        if (tag_rules[i].number == tag->number)
            return &tag_rules[i];
    return NULL;
}

const char *tiff_tag_name(const struct tiff_tag *tag)
{
    static _Thread_local char name[16];
    const struct tag_rule *rule = find_rule(tag);
    snprintf(name, sizeof name, "tag %u", (unsigned)tag->number);
    return rule != NULL ? rule->label : name;
}

static void update_tags(struct metadata *metadata, const struct change *change)
{
    const bool moves = change_moves(change);
    const bool is_kept[] = {
        [KEEP_ALWAYS] = true,
        [KEEP_IF_UNPROCESSED] = !change->processed,
        [KEEP_IF_SAME_VALUES] =
            !change->new_geometry && change->in_type == change->out_type && !change->rescaled,
        [KEEP_IF_GEOTIFF] = !moves || (!change->new_geometry && update_geotiff(metadata, change)),
        [KEEP_IF_IN_PLACE] = !moves && change->in_pages == change->out_pages,
    };
    for (size_t i = metadata->tag_count; i-- > 0;) {
        const struct tiff_tag *tag = &metadata->tags[i];
        const struct tag_rule *rule = find_rule(tag);
        if (is_kept[rule == NULL ? KEEP_ALWAYS : rule->keep_if])
            continue;
        metadata_note_left_out(metadata, tiff_tag_name(tag));
        metadata_remove_tag(metadata, tag->number);
    }
}

/* ---------------------------------------------------------------- colours, and all metadata */

/* Gray output: a profile or cICP of RGB is replaced by a gray profile, or dropped if there is none. Colour
 * output: a gray profile or cICP is dropped. */
static enum status update_colours(struct metadata *metadata, const struct change *change, struct error *error)
{
    const bool was_gray = change->in_channels <= 2, is_gray = change->out_channels <= 2;
    const bool loses_cicp = metadata->has_cicp && was_gray != is_gray;
    const struct colour_space *space;
    struct error ignored;
    if (change->space != NULL) /* metadata_set_space replaces all of it */
        return STATUS_OK;
    if (loses_cicp)
        metadata_note_left_out(metadata, "cICP");
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
        metadata_note_left_out(metadata, "the ICC profile");
    }
    return STATUS_OK;
}

enum status metadata_set_space(struct metadata *metadata, const struct colour_space *space, int channels,
                               struct error *error)
{
    if (channels <= 2 && space->gray != NULL)
        space = space->gray->is_srgb ? colour_space_builtin(COLOUR_GRAY) : space->gray;
    if (space == NULL) /* colour_space_builtin ran out of memory */
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
        metadata_note_left_out(metadata, "the EXIF thumbnail");
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
