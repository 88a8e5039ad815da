/* Texts that tell of the picture: XMP, the descriptions of ImageJ, tifffile and OME, GDAL's items, and texts
 * in which ImageMagick repeats EXIF. What is no longer true of the output is dropped. */
#include "image/metadata/metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char DESCRIPTION[] = "Description";

/* ---------------------------------------------------------------- XMP (ISO 16684-1)
 *
 * Properties are found as toolkits write them, with their usual prefixes: ` tiff:Orientation="6"` as an
 * attribute,
 * `<tiff:Orientation>6</tiff:Orientation>` as an element. */

static bool is_attribute(const char *name, size_t length)
{
    return strchr(" \t\r\n", name[-1]) != NULL && name[length] == '=' &&
           (name[length + 1] == '"' || name[length + 1] == '\'');
}

static bool is_element(const char *name, size_t length)
{
    return name[-1] == '<' && name[length] != '\0' && strchr("/> \t\r\n", name[length]) != NULL;
}

/* Behind the end tag of the element; NULL: it has none. */
static char *element_end(char *name, size_t length)
{
    char *end = strchr(name, '>');
    if (end != NULL && end[-1] == '/')
        return end + 1;
    while (end != NULL && (end = strstr(end, "</")) != NULL) {
        end += 2;
        if (strncmp(end, name, length) == 0 && end[length] == '>')
            return end + length + 1;
    }
    return NULL;
}

/* Cuts all properties of that name out of the text; returns whether there were any. The search stops at one
 * that does not end, so that no byte is searched twice. */
static bool cut_property(char *xmp, const char *name)
{
    const size_t length = strlen(name);
    char *to = xmp, *from = xmp, *at = xmp;
    while ((at = strstr(at, name)) != NULL) {
        char *const begin = at - 1; /* '<' or a space */
        const bool attribute = at > from && is_attribute(at, length);
        at += length;
        if (attribute)
            at = strchr(at + 2, at[1]);
        else if (begin >= from && is_element(begin + 1, length))
            at = element_end(begin + 1, length);
        else
            continue;
        if (at == NULL)
            break;
        at += attribute;
        memmove(to, from, (size_t)(begin - from));
        to += begin - from;
        from = at;
    }
    const bool any = from > xmp;
    memmove(to, from, strlen(from) + 1);
    return any;
}

void xmp_follow(struct metadata *metadata, const struct change *change)
{
    const bool moves = change_moves(change), looks_other = change->worked || change->turned;
    const struct {
        const char *name, *people;
        bool untrue;
    } properties[] = {{"tiff:Orientation", "XMP's orientation", change->turned},
                      {"tiff:ImageWidth", "XMP's size", moves},
                      {"tiff:ImageLength", "XMP's size", moves},
                      {"exif:PixelXDimension", "XMP's size", moves},
                      {"exif:PixelYDimension", "XMP's size", moves},
                      {"tiff:XResolution", "XMP's resolution", moves},
                      {"tiff:YResolution", "XMP's resolution", moves},
                      {"xmpGImg:image", "the XMP thumbnail", looks_other}};
    const struct text_entry *xmp = metadata_find_text(metadata, XMP_KEY);
    for (size_t i = 0; xmp != NULL && i < sizeof properties / sizeof properties[0]; i++)
        if (properties[i].untrue && cut_property(xmp->value, properties[i].name))
            metadata_leave_out(metadata, properties[i].people);
    if (xmp != NULL && xmp->value[0] == '\0')
        metadata_remove_text(metadata, XMP_KEY);
}

/* ---------------------------------------------------------------- ImageJ */

/* A description of lines: "ImageJ=1.53", "slices=5", "unit=um". */
bool description_is_imagej(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    return text != NULL && strncmp(text, "ImageJ=", strlen("ImageJ=")) == 0;
}

bool description_is_stack(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    return description_is_imagej(metadata) &&
           (strstr(text, "\nchannels=") != NULL || strstr(text, "\nslices=") != NULL ||
            strstr(text, "\nframes=") != NULL);
}

int description_image_count(const struct metadata *metadata)
{
    static const char key[] = "\nimages=";
    const char *text = metadata_text(metadata, DESCRIPTION);
    const char *line = description_is_imagej(metadata) ? strstr(text, key) : NULL;
    const long count = line == NULL ? 0 : strtol(line + strlen(key), NULL, 10);
    return count > 0 && count < 1 << 30 ? (int)count : 0;
}

/* How a line begins, and whether it is true of the output. */
struct line {
    const char *key, *people;
    bool is_true;
};

/* NULL: the line is about something else, such as the unit or the spacing of slices, and stays. */
static const struct line *find_line(const struct line *lines, const char *text)
{
    while (lines->key != NULL && strncmp(text, lines->key, strlen(lines->key)) != 0)
        lines++;
    return lines->key == NULL ? NULL : lines;
}

static void imagej_follow(struct metadata *metadata, char *text, const struct change *change)
{
    static const char dimensions[] = "ImageJ's dimensions", range[] = "ImageJ's range",
                      origin[] = "ImageJ's origin";
    const int images = description_image_count(metadata);
    const bool stays = !change_moves(change);
    const bool stack = change->in_pages == change->out_pages && change->in_channels == change->out_channels &&
                       (images == 0 || images == change->out_pages);
    /* images=N makes ImageJ read N images without gaps from the first; without it ImageJ follows the
     * directories. */
    const struct line lines[] = {{"images=", stack ? NULL : dimensions, stack && images == 1},
                                 {"channels=", dimensions, stack},
                                 {"slices=", dimensions, stack},
                                 {"frames=", dimensions, stack},
                                 {"hyperstack=", dimensions, stack},
                                 {"min=", range, !change->renumbered},
                                 {"max=", range, !change->renumbered},
                                 {"xorigin=", origin, stays}, /* in pixels */
                                 {"yorigin=", origin, stays},
                                 {NULL, NULL, true}};
    char *to = text;
    while (*text != '\0') {
        const struct line *line = find_line(lines, text);
        size_t length = strcspn(text, "\n");
        length += text[length] == '\n';
        if (line == NULL || line->is_true) {
            memmove(to, text, length);
            to += length;
        } else if (line->people != NULL) {
            metadata_leave_out(metadata, line->people);
        }
        text += length;
    }
    *to = '\0';
}

/* ---------------------------------------------------------------- tifffile: {"shape": [5, 64, 64, 3], ...}
 */

/* The shape ends in height, width and samples of a page, or in height and width where there is one sample;
 * the numbers before them are those of pages. Without a list of numbers it is no shape. */
static bool shape_is_true(const char *text, const struct change *change)
{
    enum { DIMENSIONS_MAX = 16, PAGE = 3 };
    static const char key[] = "\"shape\":";
    long long lengths[PAGE + DIMENSIONS_MAX] = {0}, pages = 1;
    size_t count = PAGE; /* three zeros stand first */
    const char *at = strstr(text, key) + strlen(key);
    at += strspn(at, " ");
    if (*at != '[')
        return true;
    do {
        char *end;
        if (count == PAGE + DIMENSIONS_MAX)
            return false;
        lengths[count++] = strtoll(at + 1, &end, 10);
        at = end + strspn(end, " ");
    } while (*at == ',');
    const long long *last = lengths + count - PAGE;
    const bool samples =
        last[0] == change->out_height && last[1] == change->out_width && last[2] == change->out_channels;
    const bool gray =
        last[1] == change->out_height && last[2] == change->out_width && change->out_channels == 1;
    for (const long long *length = lengths + PAGE; length < last + !samples && pages > 0; length++)
        pages = *length > 0 && *length <= change->out_pages / pages ? pages * *length : 0;
    return *at != ']' || ((samples || gray) && pages == change->out_pages);
}

/* ---------------------------------------------------------------- OME: <OME ...> <Pixels ...> */

/* Bio-Formats writes a comment before the root. */
static bool is_ome(const char *text)
{
    return text[strspn(text, " \t\r\n\xef\xbb\xbf")] == '<' && strstr(text, "Pixels") != NULL &&
           (strstr(text, "<OME") != NULL || strstr(text, ":OME") != NULL);
}

static bool ome_is_true(const struct change *change)
{
    return !change_moves(change) && !change->redrawn && change->in_pages == change->out_pages &&
           change->in_channels == change->out_channels && change->in_type == change->out_type;
}

static void drop_description(struct metadata *metadata, const char *people)
{
    metadata_remove_text(metadata, DESCRIPTION);
    metadata_leave_out(metadata, people);
}

void description_follow(struct metadata *metadata, const struct change *change)
{
    const struct text_entry *entry = metadata_find_text(metadata, DESCRIPTION);
    if (entry == NULL)
        return;
    if (description_is_imagej(metadata))
        imagej_follow(metadata, entry->value, change);
    else if (entry->value[0] == '{' && strstr(entry->value, "\"shape\":") != NULL) {
        if (!shape_is_true(entry->value, change))
            drop_description(metadata, "tifffile's description");
    } else if (is_ome(entry->value) && !ome_is_true(change)) {
        drop_description(metadata, "the OME description");
    }
}

/* ---------------------------------------------------------------- GDAL's items, and ImageMagick's texts */

static bool is_statistic(const struct text_entry *entry)
{
    return strncmp(entry->key, "STATISTICS_", strlen("STATISTICS_")) == 0;
}

/* An item of a domain (RPC) is of all kinds of things. What tells of a channel (scale, offset, unit,
 * description) is true while the same number means the same value. */
static bool item_is_true(const struct text_entry *entry, const struct change *change)
{
    const bool same_channels = !change->redrawn && change->in_channels == change->out_channels;
    if (is_statistic(entry) || (entry->item != NULL && strstr(entry->item, "domain=") != NULL))
        return same_channels && !change->worked && !change->renumbered && !change_moves(change);
    return entry->item == NULL || (same_channels && !change->renumbered);
}

/* ImageMagick and GraphicsMagick put EXIF into texts of a PNG once more: "exif:PixelXDimension",
 * "EXIF:Orientation", "tiff:ImageWidth", and Photoshop's resources as "Raw profile type 8bim". */
static bool repeated_is_true(const char *key, const struct change *change)
{
    static const char *const of_places[] = {
        "PixelXDimension", "PixelYDimension", "ExifImageWidth",        "ExifImageLength",
        "ImageWidth",      "ImageLength",     "XResolution",           "YResolution",
        "SubjectArea",     "SubjectLocation", "FocalPlaneXResolution", "FocalPlaneYResolution"};
    if (strcmp(key, "Raw profile type 8bim") == 0) /* it may have a small copy of the picture */
        return !change->worked && !change->turned;
    if (strncasecmp(key, "exif:", 5) != 0 && strncasecmp(key, "tiff:", 5) != 0)
        return true;
    if (strcmp(key + 5, "Orientation") == 0)
        return !change->turned;
    for (size_t i = 0; i < sizeof of_places / sizeof of_places[0]; i++)
        if (strcmp(key + 5, of_places[i]) == 0)
            return !change_moves(change);
    return true;
}

void texts_follow(struct metadata *metadata, const struct change *change)
{
    for (size_t i = metadata->text_count; i-- > 0;) {
        const struct text_entry *entry = &metadata->texts[i];
        char name[64];
        if (item_is_true(entry, change) && (entry->item != NULL || repeated_is_true(entry->key, change)))
            continue;
        snprintf(name, sizeof name, "%s%.40s", entry->item != NULL ? "GDAL's item " : "", entry->key);
        metadata_leave_out(metadata, is_statistic(entry) ? "GDAL's statistics" : name);
        metadata_remove_entry(metadata, i);
    }
}
