/* Texts with properties of the picture: descriptions by ImageJ, tifffile and OME, items of GDAL, and texts in
 * which ImageMagick repeats EXIF. Texts that are not true of the output are dropped; of ImageJ's
 * description, only lines. */
#include "image/metadata/metadata.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char DESCRIPTION[] = "Description";

/* ---------------------------------------------------------------- descriptions by ImageJ and tifffile */

/* ImageJ's description has lines: "ImageJ=1.53", "slices=5", "unit=um". */
bool description_is_imagej(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    return text != NULL && strncmp(text, "ImageJ=", strlen("ImageJ=")) == 0;
}

/* True for tifffile's description: {"shape": [5, 64, 64, 3], ...} */
static bool is_tifffile(const char *text)
{
    return text[0] == '{' && strstr(text, "\"shape\":") != NULL;
}

/* Drops the description, and adds `label` to left_out. */
static void drop_description(struct metadata *metadata, const char *label)
{
    metadata_remove_text(metadata, DESCRIPTION);
    metadata_note_left_out(metadata, label);
}

/* Drops OME's description. Most files have the size of a pixel only there, so its loss is a warning. */
static void drop_ome(struct metadata *metadata)
{
    const bool has_size = strstr(metadata_text(metadata, DESCRIPTION), "PhysicalSizeX=") != NULL;

    drop_description(metadata, "the OME description");
    if (has_size)
        metadata_warn(metadata,
                      "loses its OME description, which is no longer true, and the size of a pixel in it");
}

bool description_is_truncated(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    return text != NULL && is_tifffile(text) && strstr(text, "\"truncated\": true") != NULL;
}

bool description_is_stack(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    if (text == NULL)
        return false;
    return is_tifffile(text) || (description_is_imagej(metadata) &&
                                 (strstr(text, "\nchannels=") != NULL || strstr(text, "\nslices=") != NULL ||
                                  strstr(text, "\nframes=") != NULL));
}

int description_image_count(const struct metadata *metadata)
{
    static const char key[] = "\nimages=";
    const char *text = metadata_text(metadata, DESCRIPTION);
    const char *line = description_is_imagej(metadata) ? strstr(text, key) : NULL;
    const long count = line == NULL ? 0 : strtol(line + strlen(key), NULL, 10);
    return count > 0 && count < 1 << 30 ? (int)count : 0;
}

/* Drops the lines of ImageJ's description that are not true of the output. Keeps all others, such as the unit
 * and the spacing of slices, without which the resolution has no meaning. */
static void imagej_update(struct metadata *metadata, char *text, const struct change *change)
{
    static const char dimensions[] = "ImageJ's dimensions", range[] = "ImageJ's range",
                      origin[] = "ImageJ's origin";
    const int images = description_image_count(metadata);
    const bool same_positions = !change_moves(change);
    const bool same_stack = change->in_pages == change->out_pages &&
                            change->in_channels == change->out_channels &&
                            (images == 0 || images == change->out_pages);
    /* images=N makes ImageJ read N images without gaps from the first; without it ImageJ follows the
     * directories. So it is kept only for one image. If the stack is the same, nothing is lost: no label. */
    const struct {
        const char *key, *label; /* start of the line; its name for messages, or NULL */
        bool is_true;
    } lines[] = {{"images=", same_stack ? NULL : dimensions, same_stack && images == 1},
                 {"channels=", dimensions, same_stack},
                 {"slices=", dimensions, same_stack},
                 {"frames=", dimensions, same_stack},
                 {"hyperstack=", dimensions, same_stack},
                 {"min=", range, !change->rescaled},
                 {"max=", range, !change->rescaled},
                 {"xorigin=", origin, same_positions}, /* in pixels */
                 {"yorigin=", origin, same_positions}};
    char *to = text;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n"), i = 0;
        length += text[length] == '\n';
        while (i < sizeof lines / sizeof lines[0] && strncmp(text, lines[i].key, strlen(lines[i].key)) != 0)
            i++;
        if (i == sizeof lines / sizeof lines[0] || lines[i].is_true) {
            memmove(to, text, length);
            to += length;
        } else if (lines[i].label != NULL) {
            metadata_note_left_out(metadata, lines[i].label);
        }
        text += length;
    }
    *to = '\0';
}

/* ---------------------------------------------------------------- OME, and the update of descriptions */

/* True for XML with a root OME, with or without a namespace. Bio-Formats writes a comment before the root. */
static bool is_ome(const char *text)
{
    return text[strspn(text, " \t\r\n\xef\xbb\xbf")] == '<' && strstr(text, "Pixels") != NULL &&
           (strstr(text, "<OME") != NULL || strstr(text, ":OME") != NULL);
}

void description_check_decoded(struct metadata *metadata, bool is_other_shape, bool is_other_type)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    if (text != NULL && is_other_shape && is_tifffile(text))
        drop_description(metadata, "tifffile's description");
    else if (text != NULL && is_other_type && is_ome(text))
        drop_ome(metadata);
}

bool description_is_caption(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, DESCRIPTION);
    return text != NULL && strlen(text) <= CAPTION_MAX && !description_is_imagej(metadata) &&
           !is_tifffile(text) && !is_ome(text) && strstr(text, "\"climg\":") == NULL;
}

/* True if size, pages and channels are the same. False for several pages of one row, as such a page is one
 * strip: the TIFF writer then cannot add the gap that keeps readers from taking the stack as contiguous
 * (emit_strip in image/tiff/writer.c). */
static bool is_same_layout(const struct change *change)
{
    return !change_moves(change) && change->in_pages == change->out_pages &&
           change->in_channels == change->out_channels && (change->out_pages == 1 || change->out_height > 1);
}

void description_update(struct metadata *metadata, const struct change *change)
{
    const struct text_entry *entry = metadata_find_text(metadata, DESCRIPTION);
    if (entry == NULL)
        return;
    const bool has_rows_as_pages = change->out_pages > 1 && change->out_height == 1;
    if (description_is_imagej(metadata) && has_rows_as_pages)
        drop_description(metadata, "ImageJ's description");
    else if (description_is_imagej(metadata))
        imagej_update(metadata, entry->value, change);
    else if (is_tifffile(entry->value) && !is_same_layout(change))
        drop_description(metadata, "tifffile's description");
    else if (is_ome(entry->value) && !(is_same_layout(change) && change->in_type == change->out_type))
        drop_ome(metadata);
}

/* ---------------------------------------------------------------- GDAL's items, and ImageMagick's texts */

/* True for an item that GDAL computed from the pixels. */
static bool is_statistic(const struct text_entry *entry)
{
    return strncmp(entry->key, "STATISTICS_", strlen("STATISTICS_")) == 0;
}

/* True for a PNG text in which ImageMagick or GraphicsMagick repeats EXIF: "exif:PixelXDimension",
 * "tiff:ImageWidth". */
static bool is_repeated_exif(const struct text_entry *entry)
{
    return strncasecmp(entry->key, "exif:", 5) == 0 || strncasecmp(entry->key, "tiff:", 5) == 0;
}

/* True if a text is true of the output. An item of a domain, such as RPC, may describe anything. An item of a
 * channel (scale, offset, unit, description) stays true if sample values keep their meaning. */
static bool text_is_true(const struct text_entry *entry, const struct change *change)
{
    const bool same_channels = !change->new_geometry && change->in_channels == change->out_channels;
    if (is_statistic(entry) || (entry->item != NULL && strstr(entry->item, "domain=") != NULL))
        return same_channels && !change->processed && !change->rescaled && !change_moves(change);
    if (entry->item != NULL)
        return same_channels && !change->rescaled;
    if (is_repeated_exif(entry))
        return !change_moves(change);
    /* Photoshop's resources may have a thumbnail. */
    return strcmp(entry->key, "Raw profile type 8bim") != 0 || !change->processed;
}

void texts_update(struct metadata *metadata, const struct change *change)
{
    for (size_t i = metadata->text_count; i-- > 0;) {
        const struct text_entry *entry = &metadata->texts[i];
        char name[64];
        if (text_is_true(entry, change))
            continue;
        snprintf(name, sizeof name, "%s%.*s", entry->item != NULL ? "GDAL's item " : "",
                 (int)utf8_fit(entry->key, strlen(entry->key), 40), entry->key);
        metadata_note_left_out(metadata, is_statistic(entry)       ? "GDAL's statistics"
                                         : is_repeated_exif(entry) ? "texts that repeat EXIF"
                                                                   : name);
        metadata_remove_entry(metadata, i);
    }
}
