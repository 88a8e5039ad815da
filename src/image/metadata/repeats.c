/* Texts of a PNG in which ImageMagick and GraphicsMagick say once more what EXIF, XMP and Photoshop's
 * resources say: "exif:PixelXDimension", "EXIF:Orientation", "tiff:ImageWidth", "Raw profile type 8bim". */
#include "image/metadata/follow.h"

#include <string.h>
#include <strings.h>

/* Behind "exif:" or "tiff:"; NULL: it begins with neither. */
static const char *property_of(const char *key)
{
    const bool found = strncasecmp(key, "exif:", 5) == 0 || strncasecmp(key, "tiff:", 5) == 0;
    return found ? key + 5 : NULL;
}

static bool is_of_places(const char *property)
{
    static const char *const names[] = {
        "PixelXDimension", "PixelYDimension", "ExifImageWidth",        "ExifImageLength",
        "ImageWidth",      "ImageLength",     "XResolution",           "YResolution",
        "SubjectArea",     "SubjectLocation", "FocalPlaneXResolution", "FocalPlaneYResolution"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(property, names[i]) == 0)
            return true;
    return false;
}

static bool stays_true(const char *key, const struct change *change)
{
    const char *property = property_of(key);
    if (strcmp(key, "Raw profile type 8bim") == 0) /* it may have a small copy of the picture */
        return !change->worked && !change->ranged && !change->turned;
    if (property == NULL)
        return true;
    return strcmp(property, "Orientation") == 0 ? !change->turned
                                                : !change_moves(change) || !is_of_places(property);
}

void repeats_follow(struct metadata *metadata, const struct change *change)
{
    for (size_t i = metadata->text_count; i-- > 0;)
        if (metadata->texts[i].item == NULL && !stays_true(metadata->texts[i].key, change)) {
            metadata_leave_out(metadata, metadata->texts[i].key);
            metadata_remove_entry(metadata, i);
        }
}
