#include "image/tiff/metadata.h"

#include "image/tiff/exif.h"
#include "image/tiff/extras.h"
#include "image/tiff/texts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double INCHES_PER_METRE = 1 / 0.0254;

static bool is_sane(double value)
{
    return isfinite(value) && value > 0;
}

static void read_resolution(TIFF *tiff, struct metadata *metadata)
{
    float x = 0, y = 0;
    uint16_t unit;

    if (!TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x) || !TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &y) ||
        !is_sane(x) || !is_sane(y))
        return;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_RESOLUTIONUNIT, &unit);
    double scale = 1;
    if (unit == RESUNIT_INCH)
        scale = INCHES_PER_METRE;
    else if (unit == RESUNIT_CENTIMETER)
        scale = 100;
    metadata->resolution_unit = unit == RESUNIT_NONE ? RESOLUTION_RATIO : RESOLUTION_PER_METRE;
    metadata->x_resolution = x * scale;
    metadata->y_resolution = y * scale;
}

/* PNG has whole pixels a metre: 300 dpi becomes 11811, which is 299.9994 dpi. Where a whole number of dpi is
 * what was rounded, it is what was meant. */
static double per_inch(double per_metre)
{
    double exact = per_metre / INCHES_PER_METRE, whole = round(exact);

    return round(whole * INCHES_PER_METRE) == per_metre ? whole : exact;
}

static void write_resolution(TIFF *tiff, const struct metadata *metadata)
{
    const bool ratio = metadata->resolution_unit == RESOLUTION_RATIO;
    double x = metadata->x_resolution, y = metadata->y_resolution;
    int unit = ratio ? RESUNIT_NONE : RESUNIT_INCH;

    if (metadata->resolution_unit != RESOLUTION_ABSENT && is_sane(x) && is_sane(y)) {
        x = ratio ? x : per_inch(x);
        y = ratio ? y : per_inch(y);
    } else if (!exif_resolution(&metadata->exif, &x, &y, &unit)) { /* which may be all that a PNG says */
        return;
    }
    TIFFSetField(tiff, TIFFTAG_XRESOLUTION, x);
    TIFFSetField(tiff, TIFFTAG_YRESOLUTION, y);
    TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, unit);
}

/* PNG's cHRM is TIFF's WhitePoint (x, y) and PrimaryChromaticities (red, green, blue). */
static void read_chromaticities(TIFF *tiff, struct metadata *metadata)
{
    const float *white, *primaries;

    if (!TIFFGetField(tiff, TIFFTAG_WHITEPOINT, &white) ||
        !TIFFGetField(tiff, TIFFTAG_PRIMARYCHROMATICITIES, &primaries))
        return;
    for (int i = 0; i < 8; i++) {
        float value = i < 2 ? white[i] : primaries[i - 2];
        if (!isfinite(value))
            return;
        /* The nearest of cHRM's steps, as the float is not exactly what the file's fraction was. */
        metadata->chromaticities[i] = round(value * 1e5) / 1e5;
    }
    metadata->has_chromaticities = true;
}

static void write_chromaticities(TIFF *tiff, const struct metadata *metadata)
{
    float values[8];

    if (!metadata->has_chromaticities)
        return;
    for (int i = 0; i < 8; i++)
        values[i] = (float)metadata->chromaticities[i];
    TIFFSetField(tiff, TIFFTAG_WHITEPOINT, values);
    TIFFSetField(tiff, TIFFTAG_PRIMARYCHROMATICITIES, values + 2);
}

static enum status read_profile(TIFF *tiff, struct metadata *metadata, struct error *error)
{
    uint32_t size = 0;
    void *data;

    if (!TIFFGetField(tiff, TIFFTAG_ICCPROFILE, &size, &data) || size == 0)
        return STATUS_OK;
    return metadata_set_blob(&metadata->icc, data, size, error);
}

enum status tiff_metadata_read(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    uint16_t orientation;

    read_resolution(file->tiff, metadata);
    read_chromaticities(file->tiff, metadata);
    if (TIFFGetField(file->tiff, TIFFTAG_ORIENTATION, &orientation) && orientation >= 1 && orientation <= 8)
        metadata->orientation = orientation;
    enum status status = read_profile(file->tiff, metadata, error);
    if (status == STATUS_OK)
        status = tiff_texts_read(file, metadata, error);
    if (status == STATUS_OK)
        status = tiff_extras_read(file, metadata, error);
    if (status == STATUS_OK)
        status = tiff_exif_read(file, &metadata->exif, error);
    metadata->gamma = exif_gamma(&metadata->exif);
    return status;
}

/* TIFF has no gAMA, but EXIF has one. */
static enum status write_exif(struct tiff_file *file, const struct metadata *metadata, struct error *error)
{
    struct blob exif = {NULL, 0};
    enum status status = STATUS_OK;

    if (metadata->gamma == 0 || metadata->srgb)
        return tiff_exif_write(file, &metadata->exif, error);
    if (metadata->exif.data != NULL)
        status = metadata_set_blob(&exif, metadata->exif.data, metadata->exif.size, error);
    if (status == STATUS_OK)
        status = exif_set_gamma(&exif, metadata->gamma, error);
    if (status == STATUS_OK)
        status = tiff_exif_write(file, &exif, error);
    free(exif.data);
    return status;
}

enum status tiff_metadata_write(struct tiff_file *file, const struct metadata *metadata, struct error *error)
{
    int orientation = metadata->orientation != 0 ? metadata->orientation : exif_orientation(&metadata->exif);

    write_resolution(file->tiff, metadata);
    write_chromaticities(file->tiff, metadata);
    if (orientation != 0)
        TIFFSetField(file->tiff, TIFFTAG_ORIENTATION, orientation);
    if (metadata->icc.data != NULL && metadata->icc.size <= UINT32_MAX)
        TIFFSetField(file->tiff, TIFFTAG_ICCPROFILE, (uint32_t)metadata->icc.size, metadata->icc.data);
    enum status status = tiff_texts_write(file, metadata, error);
    if (status == STATUS_OK)
        status = tiff_extras_write(file, metadata, error);
    return status == STATUS_OK ? write_exif(file, metadata, error) : status;
}
