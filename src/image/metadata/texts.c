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
 * A property is an attribute, ` tiff:Orientation="6"`, or an element,
 * `<tiff:Orientation>6</tiff:Orientation>`, or an element with others in it. Its prefix stands for a
 * namespace: xmlns:tiff="http://ns.adobe.com/tiff/1.0/". */

/* Properties that may become untrue. The name may end with *. */
enum xmp_reason { XMP_ALWAYS, XMP_TURNED, XMP_MOVED, XMP_LOOKS_OTHER };

static const struct xmp_property {
    const char *namespace, *prefix /* that is usual */, *name, *people;
    enum xmp_reason reason;
} xmp_properties[] = {
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "Orientation", "XMP's orientation", XMP_TURNED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "ImageWidth", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "ImageLength", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "XResolution", "XMP's resolution", XMP_MOVED},
    {"http://ns.adobe.com/tiff/1.0/", "tiff", "YResolution", "XMP's resolution", XMP_MOVED},
    {"http://ns.adobe.com/exif/1.0/", "exif", "PixelXDimension", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/exif/1.0/", "exif", "PixelYDimension", "XMP's size", XMP_MOVED},
    {"http://ns.adobe.com/xap/1.0/g/img/", "xmpGImg", "image", "the XMP thumbnail", XMP_LOOKS_OTHER},
    /* Outputs have no second picture, no video and no extended XMP. */
    {"http://ns.adobe.com/hdr-gain-map/1.0/", "hdrgm", "*", "XMP's gain map", XMP_ALWAYS},
    {"http://ns.apple.com/HDRGainMap/1.0/", "HDRGainMap", "*", "XMP's gain map", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/container/", "Container", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/container/item/", "Item", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/dd/1.0/container/", "Container", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/dd/1.0/item/", "Item", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/dd/1.0/device/", "Device", "*", "XMP's list of pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/camera/", "GCamera", "MicroVideo*", "XMP's video", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/camera/", "GCamera", "MotionPhoto*", "XMP's video", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/depthmap/", "GDepth", "*", "XMP's depth map", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/image/", "GImage", "*", "XMP's pictures", XMP_ALWAYS},
    {"http://ns.google.com/photos/1.0/audio/", "GAudio", "*", "XMP's sound", XMP_ALWAYS},
    {"http://ns.adobe.com/xmp/note/", "xmpNote", "HasExtendedXMP", "XMP's extension", XMP_ALWAYS},
};

static bool is_name_character(char c)
{
    return c != '\0' && strchr("=/> \t\r\n\"'<", c) == NULL;
}

/* Returns the end of the property that begins at `name`, `length` bytes long, or NULL if it does not end. */
static char *property_end(char *name, size_t length)
{
    char *end = name + length;
    if (name[-1] != '<') { /* an attribute: name, =, quote */
        end += strspn(end, "= \t\r\n");
        end = *end == '"' || *end == '\'' ? strchr(end + 1, *end) : NULL;
        return end == NULL ? NULL : end + 1;
    }
    end = strchr(end, '>');
    if (end == NULL || end[-1] == '/')
        return end == NULL ? NULL : end + 1;
    while ((end = strstr(end, "</")) != NULL) {
        end += 2;
        if (strncmp(end, name, length) == 0 && end[length] == '>')
            return end + length + 1;
    }
    return NULL;
}

/* Cuts all properties of that prefix and name (which may end with *) out of the text; returns true if there
 * were any. Stops at one that does not end, so that no byte is searched twice. */
static bool cut_properties(char *xmp, const char *prefix, const char *name)
{
    const bool is_pattern = name[strlen(name) - 1] == '*';
    const size_t name_length = strlen(name) - is_pattern, prefix_length = strlen(prefix);
    char *to = xmp, *from = xmp, *at = xmp + 1;
    while (xmp[0] != '\0' && (at = strchr(at, ':')) != NULL) {
        const bool has_room = (size_t)(at - from) > prefix_length;
        char *start = has_room ? at - prefix_length : at;
        at++;
        if (!has_room || strncmp(start, prefix, prefix_length) != 0 ||
            strchr("< \t\r\n", start[-1]) == NULL || strncmp(at, name, name_length) != 0)
            continue;
        size_t length = prefix_length + 1 + name_length;
        while (is_pattern && is_name_character(start[length]))
            length++;
        if (is_name_character(start[length]))
            continue;
        char *end = property_end(start, length);
        if (end == NULL)
            break;
        memmove(to, from, (size_t)(start - 1 - from));
        to += start - 1 - from;
        from = at = end;
    }
    const bool any = from > xmp;
    memmove(to, from, strlen(from) + 1);
    return any;
}

/* Copies the prefix that is declared for the namespace in the attribute whose value begins at `value`. False:
 * it is no such attribute. */
static bool copy_prefix(const char *xmp, const char *value, const char *namespace, char *prefix, size_t size)
{
    static const char declaration[] = "xmlns:";
    const size_t declared = strlen(declaration);
    const char *end = value - 1, *start;
    if (end <= xmp || (*end != '"' && *end != '\'') || value[strlen(namespace)] != *end)
        return false;
    while (end > xmp && strchr("= \t\r\n", end[-1]) != NULL)
        end--;
    for (start = end; start > xmp && start[-1] != ':' && is_name_character(start[-1]);)
        start--;
    const size_t length = (size_t)(end - start);
    if ((size_t)(start - xmp) < declared || strncmp(start - declared, declaration, declared) != 0 ||
        length == 0 || length >= size)
        return false;
    memcpy(prefix, start, length);
    prefix[length] = '\0';
    return true;
}

/* Cuts a property out, whatever prefix its namespace has. If nothing of the namespace is left, its
 * declaration goes, too. */
static bool cut_property(char *xmp, const struct xmp_property *property)
{
    enum { DECLARATIONS_MAX = 8 };
    bool any = cut_properties(xmp, property->prefix, property->name);
    char *value = xmp, prefix[64];
    for (int i = 0; i < DECLARATIONS_MAX && (value = strstr(value, property->namespace)) != NULL; i++) {
        if (!copy_prefix(xmp, value++, property->namespace, prefix, sizeof prefix))
            continue;
        any = cut_properties(xmp, prefix, property->name) || any;
        if (any && strcmp(property->name, "*") == 0)
            cut_properties(xmp, "xmlns", prefix);
        value = any ? xmp : value; /* the text has moved */
    }
    return any;
}

void xmp_follow(struct metadata *metadata, const struct change *change)
{
    const bool is_untrue[] = {[XMP_ALWAYS] = true,
                              [XMP_TURNED] = change->turned,
                              [XMP_MOVED] = change_moves(change),
                              [XMP_LOOKS_OTHER] = change->worked || change->turned};
    const struct text_entry *xmp = metadata_find_text(metadata, XMP_KEY);
    for (size_t i = 0; xmp != NULL && i < sizeof xmp_properties / sizeof xmp_properties[0]; i++)
        if (is_untrue[xmp_properties[i].reason] && cut_property(xmp->value, &xmp_properties[i]))
            metadata_leave_out(metadata, xmp_properties[i].people);
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

/* tifffile's: {"shape": [5, 64, 64, 3], ...} */
static bool is_tifffile(const char *text)
{
    return text[0] == '{' && strstr(text, "\"shape\":") != NULL;
}

void description_drop_tifffile(struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    if (text == NULL || !is_tifffile(text))
        return;
    metadata_remove_text(metadata, DESCRIPTION);
    metadata_leave_out(metadata, "tifffile's description");
}

bool description_is_truncated(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    return text != NULL && is_tifffile(text) && strstr(text, "\"truncated\": true") != NULL;
}

bool description_is_stack(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    if (text != NULL && is_tifffile(text))
        return true;
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

/* ---------------------------------------------------------------- OME: <OME ...> <Pixels ...> */

/* Bio-Formats writes a comment before the root. */
static bool is_ome(const char *text)
{
    return text[strspn(text, " \t\r\n\xef\xbb\xbf")] == '<' && strstr(text, "Pixels") != NULL &&
           (strstr(text, "<OME") != NULL || strstr(text, ":OME") != NULL);
}

/* True if sizes, pages and channels are the same, as descriptions of stacks list them. Programs that know
 * these descriptions read pages of one row as if they followed each other without a gap. */
static bool is_same_layout(const struct change *change)
{
    return !change_moves(change) && !change->redrawn && change->in_pages == change->out_pages &&
           change->in_channels == change->out_channels && (change->out_pages == 1 || change->out_height > 1);
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
    const bool one_row = change->out_pages > 1 && change->out_height == 1;
    if (description_is_imagej(metadata) && one_row)
        drop_description(metadata, "ImageJ's description");
    else if (description_is_imagej(metadata))
        imagej_follow(metadata, entry->value, change);
    else if (is_tifffile(entry->value) && !is_same_layout(change))
        drop_description(metadata, "tifffile's description");
    else if (is_ome(entry->value) && !(is_same_layout(change) && change->in_type == change->out_type))
        drop_description(metadata, "the OME description");
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
