#include "image/tiff/texts.h"

#include "base/text.h"
#include "base/utf8.h"
#include "image/tiff/items.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct text_tag {
    uint16_t tag;
    const char *key;
};

/* The first column is TIFF 6.0's and EXIF's, the second PNG's registered keywords where there is one. */
static const struct text_tag text_tags[] = {
    {TIFFTAG_DOCUMENTNAME, "Title"}, {TIFFTAG_IMAGEDESCRIPTION, "Description"},
    {TIFFTAG_MAKE, "Make"},          {TIFFTAG_MODEL, "Model"},
    {TIFFTAG_SOFTWARE, "Software"},  {TIFFTAG_DATETIME, "Creation Time"},
    {TIFFTAG_ARTIST, "Author"},      {TIFFTAG_COPYRIGHT, "Copyright"},
};

enum { TEXT_TAG_COUNT = sizeof text_tags / sizeof text_tags[0] };

/* TIFF says ASCII; writers put in UTF-8 or, before that, mostly Latin-1. */
static enum status copy_as_utf8(const char *text, char **copy, struct error *error)
{
    *copy = utf8_is_valid(text, strlen(text)) ? copy_text(text, error)
                                              : utf8_from_latin1(text, strlen(text), error);
    return *copy == NULL ? STATUS_FAILED : STATUS_OK;
}

/* libtiff has a tag, but no value for it: a text of no bytes, or one that it had no memory for. */
static enum status check_empty(struct tiff_file *file, uint32_t tag, struct error *error)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;

    tiff_file_ifd(file, &source, &ifd);
    return ifd_find(&source, ifd, (uint16_t)tag, &entry) && entry.count > 0
               ? fail_memory(error, "out of memory for TIFF")
               : STATUS_OK;
}

enum status tiff_text_read(struct tiff_file *file, uint32_t tag, char **text, struct error *error)
{
    const char *value = NULL;

    *text = NULL;
    if (!TIFFGetField(file->tiff, tag, &value))
        return STATUS_OK;
    if (value == NULL)
        return check_empty(file, tag, error);
    return value[0] == '\0' ? STATUS_OK : copy_as_utf8(value, text, error);
}

/* The photographer's and the editor's, each up to a NUL (EXIF 2.3, 4.6.4): libtiff gives the first. */
static enum status read_copyright(struct tiff_file *file, char **text, struct error *error)
{
    enum { SIZE_MAX_OF_PARTS = 1 << 16 };
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;

    tiff_file_ifd(file, &source, &ifd);
    if (!ifd_find(&source, ifd, TIFFTAG_COPYRIGHT, &entry) || entry.type != TIFF_ASCII ||
        entry.size > SIZE_MAX_OF_PARTS)
        return tiff_text_read(file, TIFFTAG_COPYRIGHT, text, error);
    char *parts = allocate_zeroed((size_t)entry.size + 1, 1, "TIFF texts", error);
    enum status status = parts == NULL ? STATUS_FAILED : STATUS_OK;
    *text = NULL;
    if (parts != NULL && ifd_read_values(&source, &entry, true, parts)) {
        text_join(parts, (size_t)entry.size + 1);
        status = parts[0] == '\0' ? STATUS_OK : copy_as_utf8(parts, text, error);
    }
    free(parts);
    return status;
}

static enum status read_xmp(TIFF *tiff, struct metadata *metadata, struct error *error)
{
    uint32_t size = 0;
    const char *data;

    if (!TIFFGetField(tiff, TIFFTAG_XMLPACKET, &size, &data))
        return STATUS_OK;
    size_t length = size == 0 ? 0 : strnlen(data, size); /* libtiff has no data then */
    return length == 0 ? STATUS_OK : metadata_set_text(metadata, XMP_KEY, data, length, error);
}

enum status tiff_texts_read(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    for (int i = 0; i < TEXT_TAG_COUNT; i++) {
        char *text;
        enum status status = text_tags[i].tag == TIFFTAG_COPYRIGHT
                                 ? read_copyright(file, &text, error)
                                 : tiff_text_read(file, text_tags[i].tag, &text, error);
        if (status == STATUS_OK && text != NULL)
            status = metadata_set_text(metadata, text_tags[i].key, text, strlen(text), error);
        free(text);
        if (status != STATUS_OK)
            return status;
    }
    enum status status = read_xmp(file->tiff, metadata, error);
    return status == STATUS_OK ? tiff_items_read(file, metadata, error) : status;
}

/* TIFF 6.0 wants "2024:01:31 12:34:56"; PNG's Creation Time is in any words. */
static bool is_date(const char *text)
{
    static const char form[] = "0000:00:00 00:00:00";
    size_t i = 0;
    while (form[i] != '\0' && (form[i] == '0' ? isdigit((unsigned char)text[i]) != 0 : text[i] == form[i]))
        i++;
    return form[i] == '\0' && text[i] == '\0';
}

static bool fits(const struct text_tag *row, const char *text)
{
    return row->tag != TIFFTAG_DATETIME || is_date(text);
}

static bool has_tag(const struct text_entry *entry)
{
    for (int i = 0; i < TEXT_TAG_COUNT; i++)
        if (strcmp(text_tags[i].key, entry->key) == 0)
            return fits(&text_tags[i], entry->value);
    return strcmp(entry->key, XMP_KEY) == 0;
}

/* The tag's text; failing that, what EXIF that comes from a PNG says, as TIFF has these tags outside of EXIF.
 */
static enum status write_text(TIFF *tiff, const struct metadata *metadata, const struct text_tag *row,
                              struct error *error)
{
    const char *text = metadata_text(metadata, row->key);
    char *from_exif;

    if (text != NULL && fits(row, text)) {
        TIFFSetField(tiff, row->tag, text);
        return STATUS_OK;
    }
    enum status status = exif_text(&metadata->exif, row->tag, &from_exif, error);
    if (from_exif != NULL)
        TIFFSetField(tiff, row->tag, from_exif);
    free(from_exif);
    return status;
}

enum status tiff_texts_write(struct tiff_file *file, const struct metadata *metadata, struct error *error)
{
    for (int i = 0; i < TEXT_TAG_COUNT; i++) {
        enum status status = write_text(file->tiff, metadata, &text_tags[i], error);
        if (status != STATUS_OK)
            return status;
    }
    const char *xmp = metadata_text(metadata, XMP_KEY);
    if (xmp != NULL && strlen(xmp) <= UINT32_MAX)
        TIFFSetField(file->tiff, TIFFTAG_XMLPACKET, (uint32_t)strlen(xmp), xmp);
    return tiff_items_write(file, metadata, has_tag, error);
}
