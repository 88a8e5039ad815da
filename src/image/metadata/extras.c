/* Chunks of PNG and tags of TIFF that the other format has no place for. */
#include "image/metadata/follow.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an extra tells of, and so what makes it false. */
enum {
    OF_VALUES = 1, /* a stage, or --range */
    OF_PICTURE,    /* these, and turning: it has a small copy of the picture */
    OF_SAMPLES,    /* another sample type, or other values for the same numbers */
    OF_LEVELS,     /* --range, and stages that change what values mean; another number of channels */
    OF_PLACES,     /* another picture; a change of size changes it */
    OF_PAGES,      /* another size, number of pages or picture */
    OF_COLOUR,     /* another number of channels */
};

/* Those that are not here say nothing of the picture, and stay. */
static const struct rule {
    enum extra_place place;
    uint32_t name;
    int of;
    const char *people;
} rules[] = {
    {EXTRA_CHUNK, CHUNK_NAME('t', 'I', 'M', 'E'), OF_VALUES, "tIME"},
    {EXTRA_CHUNK, CHUNK_NAME('s', 'B', 'I', 'T'), OF_VALUES, "sBIT"},
    {EXTRA_CHUNK, CHUNK_NAME('c', 'L', 'L', 'I'), OF_VALUES, "cLLI"},
    {EXTRA_CHUNK, CHUNK_NAME('p', 'C', 'A', 'L'), OF_VALUES, "pCAL"},
    {EXTRA_CHUNK, CHUNK_NAME('b', 'K', 'G', 'D'), OF_LEVELS, "bKGD"},
    {EXTRA_CHUNK, CHUNK_NAME('c', 'I', 'C', 'P'), OF_COLOUR, "cICP"},
    {EXTRA_CHUNK, CHUNK_NAME('m', 'D', 'C', 'V'), OF_COLOUR, "mDCV"},
    {EXTRA_CHUNK, CHUNK_NAME('o', 'F', 'F', 's'), OF_PLACES, "oFFs"},
    {EXTRA_CHUNK, CHUNK_NAME('s', 'C', 'A', 'L'), OF_PLACES, "sCAL"},
    {EXTRA_TAG, EXTRA_PIXEL_SCALE, OF_PLACES, "GeoTIFF"},
    {EXTRA_TAG, EXTRA_TIE_POINTS, OF_PLACES, "GeoTIFF"},
    {EXTRA_TAG, EXTRA_TRANSFORMATION, OF_PLACES, "GeoTIFF"},
    {EXTRA_TAG, EXTRA_GEO_KEYS, OF_PLACES, "GeoTIFF"},
    {EXTRA_TAG, EXTRA_GEO_DOUBLES, OF_PLACES, "GeoTIFF"},
    {EXTRA_TAG, EXTRA_GEO_TEXTS, OF_PLACES, "GeoTIFF"},
    {EXTRA_TAG, EXTRA_NODATA, OF_SAMPLES, "GDAL's nodata"},
    {EXTRA_TAG, EXTRA_IMAGEJ, OF_PAGES, "ImageJ's metadata"},
    {EXTRA_TAG, EXTRA_IMAGEJ_COUNTS, OF_PAGES, "ImageJ's metadata"},
    {EXTRA_TAG, EXTRA_PHOTOSHOP, OF_PICTURE, "Photoshop's resources"},
    {EXTRA_TAG, EXTRA_IPTC, 0, "IPTC"},
};

static const struct rule *find_rule(const struct extra *extra)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].place == extra->place && rules[i].name == extra->name)
            return &rules[i];
    return NULL;
}

const char *extra_name(const struct extra *extra)
{
    static _Thread_local char number[16];
    const struct rule *rule = find_rule(extra);
    snprintf(number, sizeof number, "tag %u", (unsigned)extra->name);
    return rule != NULL ? rule->people : number;
}

static bool stays_true(const struct extra *extra, const struct change *change)
{
    const struct rule *rule = find_rule(extra);
    switch (rule == NULL ? 0 : rule->of) {
    case OF_VALUES:
        return !change->worked && !change->ranged;
    case OF_PICTURE:
        return !change->worked && !change->ranged && !change->turned;
    case OF_SAMPLES:
        return !change->redrawn && change->in_type == change->out_type && !change_maps(change);
    case OF_LEVELS:
        return !change->redrawn && !change->revalued && !change->ranged &&
               change->in_channels == change->out_channels;
    case OF_PLACES:
        return !change->redrawn;
    case OF_PAGES:
        return !change->redrawn && !change_moves(change) && change->in_pages == change->out_pages;
    case OF_COLOUR:
        return !change->redrawn && change->in_channels == change->out_channels;
    default:
        return true;
    }
}

/* ---------------------------------------------------------------- GeoTIFF */

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

/* GTRasterTypeGeoKey is 2 where coordinates count from pixel centres, not from their corners. Keys come in
 * fours, after four numbers: key, where its value is (0: here), how many, the value. */
static bool counts_from_centres(const struct metadata *metadata)
{
    enum { RASTER_TYPE = 1025, POINT = 2 };
    const struct blob *keys = metadata_extra(metadata, EXTRA_TAG, EXTRA_GEO_KEYS);
    uint16_t key[4];
    for (size_t at = sizeof key; keys != NULL && at + sizeof key <= keys->size; at += sizeof key) {
        memcpy(key, keys->data + at, sizeof key);
        if (key[0] == RASTER_TYPE && key[1] == 0)
            return key[3] == POINT;
    }
    return false;
}

/* GeoTIFF 1.1, 7.3: a tie point is I, J, K of the raster and X, Y, Z of the model; the matrix of 16 takes the
 * first to the last. A pixel's width and height alone need a tie point, and say that the model's Y goes up.
 */
static void follow_matrix(double *matrix, const struct affine *from)
{
    for (int row = 0; row < 16; row += 4) {
        const double a = matrix[row], b = matrix[row + 1];
        matrix[row] = a * from->xx + b * from->yx;
        matrix[row + 1] = a * from->xy + b * from->yy;
        matrix[row + 3] += a * from->x + b * from->y;
    }
}

/* What a tie point and the size of a pixel say, as a matrix, which may turn. */
static enum status make_matrix(struct metadata *metadata, const struct affine *from, struct error *error)
{
    const struct blob *scale = metadata_extra(metadata, EXTRA_TAG, EXTRA_PIXEL_SCALE);
    const struct blob *points = metadata_extra(metadata, EXTRA_TAG, EXTRA_TIE_POINTS);
    double matrix[16] = {[15] = 1}, tie[6];
    for (size_t i = 0; i < 6; i++)
        tie[i] = get_real(points, i);
    for (size_t axis = 0; axis < 3; axis++) {
        const double size = axis < real_count(scale) ? get_real(scale, axis) : 0;
        matrix[5 * axis] = axis == 1 ? -size : size;
        matrix[4 * axis + 3] = tie[3 + axis] - matrix[5 * axis] * tie[axis];
    }
    follow_matrix(matrix, from);
    metadata_remove_extra(metadata, EXTRA_TAG, EXTRA_PIXEL_SCALE);
    metadata_remove_extra(metadata, EXTRA_TAG, EXTRA_TIE_POINTS);
    return metadata_set_extra(metadata, EXTRA_TAG, EXTRA_TRANSFORMATION, matrix, sizeof matrix, error);
}

static enum status follow_geotiff(struct metadata *metadata, const struct change *change, struct error *error)
{
    /* As the raster is counted. */
    const struct affine from = affine_counted(&change->from, counts_from_centres(metadata) ? -0.5 : 0);
    struct blob *scale = metadata_extra(metadata, EXTRA_TAG, EXTRA_PIXEL_SCALE);
    struct blob *points = metadata_extra(metadata, EXTRA_TAG, EXTRA_TIE_POINTS);
    struct blob *matrix = metadata_extra(metadata, EXTRA_TAG, EXTRA_TRANSFORMATION);
    if (real_count(matrix) == 16) {
        double numbers[16];
        memcpy(numbers, matrix->data, sizeof numbers);
        follow_matrix(numbers, &from);
        memcpy(matrix->data, numbers, sizeof numbers);
    }
    if (real_count(scale) >= 2 && real_count(points) >= 6 && !affine_is_upright(&from))
        return make_matrix(metadata, &from, error);
    if (real_count(scale) >= 2 && affine_is_upright(&from)) { /* exactly */
        set_real(scale, 0, get_real(scale, 0) * from.xx);
        set_real(scale, 1, get_real(scale, 1) * from.yy);
    } else if (real_count(scale) >= 2) { /* what lies nowhere has a size all the same */
        double x = 1 / get_real(scale, 0), y = 1 / get_real(scale, 1);
        change_densities(change, &x, &y);
        set_real(scale, 0, 1 / x);
        set_real(scale, 1, 1 / y);
    }
    for (size_t i = 0; i + 6 <= real_count(points); i += 6) {
        double x = get_real(points, i), y = get_real(points, i + 1);
        affine_back(&from, &x, &y);
        set_real(points, i, x);
        set_real(points, i + 1, y);
    }
    return STATUS_OK;
}

/* ---------------------------------------------------------------- PNG */

static int32_t get_integer(const unsigned char *from)
{
    return (int32_t)((uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3]);
}

static void set_integer(unsigned char *to, double value)
{
    uint32_t whole = (uint32_t)(int32_t)fmin(fmax(round(value), -INT32_MAX), INT32_MAX);
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(whole >> (24 - 8 * i));
}

/* Where the picture lies on a page: in its pixels, or in micrometres. A page cannot be turned. */
static void follow_offset(struct metadata *metadata, const struct change *change)
{
    enum { SIZE = 9, MICROMETRES = 1 };
    const uint32_t name = CHUNK_NAME('o', 'F', 'F', 's');
    const struct affine *from = &change->from;
    struct blob *offset = metadata_extra(metadata, EXTRA_CHUNK, name);
    if (offset == NULL)
        return;
    const bool metric = offset->size == SIZE && offset->data[SIZE - 1] == MICROMETRES;
    const bool cut = from->x != 0 || from->y != 0;
    if (offset->size != SIZE || !affine_is_upright(from) ||
        (metric && cut && metadata->resolution_unit != RESOLUTION_PER_METRE)) {
        metadata_leave_out(metadata, "oFFs");
        metadata_remove_extra(metadata, EXTRA_CHUNK, name);
        return;
    }
    const double x = get_integer(offset->data), y = get_integer(offset->data + 4);
    const double cut_x = from->x / from->xx, cut_y = from->y / from->yy; /* pixels of the output */
    set_integer(offset->data, !metric ? x / from->xx + cut_x
                              : cut   ? x + 1e6 * cut_x / metadata->x_resolution
                                      : x);
    set_integer(offset->data + 4, !metric ? y / from->yy + cut_y
                                  : cut   ? y + 1e6 * cut_y / metadata->y_resolution
                                          : y);
}

/* A pixel's width and height, as texts behind the unit. */
static enum status follow_scale(struct metadata *metadata, const struct change *change, struct error *error)
{
    const uint32_t name = CHUNK_NAME('s', 'C', 'A', 'L');
    const struct blob *scale = metadata_extra(metadata, EXTRA_CHUNK, name);
    char text[64], made[80];
    if (scale == NULL)
        return STATUS_OK;
    double width = 0, height = 0;
    if (scale->size >= 4 && scale->size <= sizeof text) {
        memcpy(text, scale->data + 1, scale->size - 1);
        text[scale->size - 1] = '\0';
        width = strtod(text, NULL);
        height = strtod(text + strlen(text) + (strlen(text) + 1 < scale->size), NULL);
    }
    if (!(width > 0) || !(height > 0)) {
        metadata_leave_out(metadata, "sCAL");
        metadata_remove_extra(metadata, EXTRA_CHUNK, name);
        return STATUS_OK;
    }
    double x = 1 / width, y = 1 / height;
    change_densities(change, &x, &y);
    snprintf(made, sizeof made, "%c%.12g", scale->data[0], 1 / x);
    size_t first = strlen(made) + 1;
    snprintf(made + first, sizeof made - first, "%.12g", 1 / y);
    return metadata_set_extra(metadata, EXTRA_CHUNK, name, made, first + strlen(made + first), error);
}

enum status extras_follow(struct metadata *metadata, const struct change *change, struct error *error)
{
    for (size_t i = metadata->extra_count; i-- > 0;) {
        const struct extra *extra = &metadata->extras[i];
        if (stays_true(extra, change))
            continue;
        metadata_leave_out(metadata, extra_name(extra));
        metadata_remove_extra(metadata, extra->place, extra->name);
    }
    if (!change_moves(change))
        return STATUS_OK;
    follow_offset(metadata, change);
    enum status status = follow_geotiff(metadata, change, error);
    return status == STATUS_OK ? follow_scale(metadata, change, error) : status;
}
