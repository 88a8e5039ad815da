/* Reads the metadata of a TIFF page:
 *
 *     resolution, chromaticities, orientation   by libtiff ─▶ numbers of struct metadata
 *     text tags, XMP, GDAL's items              ─▶ texts
 *     EXIF and GPS directories                  ─▶ a blob like PNG's eXIf
 *     tags of tiff_extra_fields                 ─▶ tags, copied unchanged
 *     ICC profile                               ─▶ a blob
 *
 * All but the first line are read by image/ifd.h, as libtiff's directory has only some tags (file.c). A
 * damaged value is ignored; a value that is too large, or a tag that is not known, is noted as left out. */
#include "image/tiff/tiff.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct tiff_text_tag tiff_text_tags[TIFF_TEXT_TAGS] = {
    {TIFFTAG_DOCUMENTNAME, "Title"}, {TIFFTAG_IMAGEDESCRIPTION, "Description"},
    {TIFFTAG_MAKE, "Make"},          {TIFFTAG_MODEL, "Model"},
    {TIFFTAG_SOFTWARE, "Software"},  {TIFFTAG_DATETIME, "Creation Time"},
    {TIFFTAG_ARTIST, "Author"},      {TIFFTAG_COPYRIGHT, "Copyright"},
};

/* libtiff defines IPTC's tag itself, as LONG or as BYTE, depending on its version. */
const TIFFFieldInfo tiff_extra_fields[TIFF_EXTRA_FIELDS] = {
#define FIELD(tag, count, type, name)                                                                        \
    {                                                                                                        \
        tag, count, count, type, FIELD_CUSTOM, 1, (count) == TIFF_VARIABLE2, (char *)(uintptr_t)(name)       \
    }
    FIELD(TIFFTAG_HOSTCOMPUTER, TIFF_VARIABLE, TIFF_ASCII, "HostComputer"),
    FIELD(TAG_PIXEL_SCALE, TIFF_VARIABLE2, TIFF_DOUBLE, "ModelPixelScale"),
    FIELD(TIFFTAG_RICHTIFFIPTC, TIFF_VARIABLE2, TIFF_LONG, "RichTIFFIPTC"),
    FIELD(TAG_TIE_POINTS, TIFF_VARIABLE2, TIFF_DOUBLE, "ModelTiepoint"),
    FIELD(TAG_TRANSFORMATION, TIFF_VARIABLE2, TIFF_DOUBLE, "ModelTransformation"),
    FIELD(TIFFTAG_PHOTOSHOP, TIFF_VARIABLE2, TIFF_BYTE, "Photoshop"),
    FIELD(TAG_GEO_KEYS, TIFF_VARIABLE2, TIFF_SHORT, "GeoKeyDirectory"),
    FIELD(TAG_GEO_DOUBLES, TIFF_VARIABLE2, TIFF_DOUBLE, "GeoDoubleParams"),
    FIELD(TAG_GEO_TEXTS, TIFF_VARIABLE, TIFF_ASCII, "GeoAsciiParams"),
    FIELD(18246, TIFF_VARIABLE2, TIFF_SHORT, "Rating"),
    FIELD(18249, TIFF_VARIABLE2, TIFF_SHORT, "RatingPercent"),
    FIELD(40091, TIFF_VARIABLE2, TIFF_BYTE, "XPTitle"),
    FIELD(40092, TIFF_VARIABLE2, TIFF_BYTE, "XPComment"),
    FIELD(40093, TIFF_VARIABLE2, TIFF_BYTE, "XPAuthor"),
    FIELD(40094, TIFF_VARIABLE2, TIFF_BYTE, "XPKeywords"),
    FIELD(40095, TIFF_VARIABLE2, TIFF_BYTE, "XPSubject"),
    FIELD(TAG_NODATA, TIFF_VARIABLE, TIFF_ASCII, "GDALNoData"),
    FIELD(TAG_IMAGEJ_COUNTS, TIFF_VARIABLE2, TIFF_LONG, "IJMetadataByteCounts"),
    FIELD(TAG_IMAGEJ, TIFF_VARIABLE2, TIFF_BYTE, "IJMetadata"),
#undef FIELD
};

const TIFFFieldInfo *tiff_extra_field(uint32_t tag)
{
    for (int i = 0; i < TIFF_EXTRA_FIELDS; i++)
        if (tiff_extra_fields[i].field_tag == tag)
            return &tiff_extra_fields[i];
    return NULL;
}

size_t tiff_extra_element_size(TIFFDataType type)
{
    return type == TIFF_DOUBLE ? 8 : type == TIFF_LONG ? 4 : type == TIFF_SHORT ? 2 : 1;
}

/* ---------------------------------------------------------------- numbers */

/* Reads the resolution in pixels per metre, or as a ratio. Numbers that are not positive are ignored. */
static void read_resolution(TIFF *tiff, struct metadata *metadata)
{
    float x = 0, y = 0;
    uint16_t unit;

    if (!TIFFGetField(tiff, TIFFTAG_XRESOLUTION, &x) || !TIFFGetField(tiff, TIFFTAG_YRESOLUTION, &y) ||
        !isfinite(x) || !isfinite(y) || x <= 0 || y <= 0)
        return;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_RESOLUTIONUNIT, &unit);
    const double scale = unit == RESUNIT_INCH ? INCHES_PER_METRE : unit == RESUNIT_CENTIMETER ? 100 : 1;
    metadata->resolution_unit = unit == RESUNIT_NONE ? RESOLUTION_RATIO : RESOLUTION_PER_METRE;
    metadata->is_in_centimetres = unit == RESUNIT_CENTIMETER;
    metadata->x_resolution = x * scale;
    metadata->y_resolution = y * scale;
}

/* Reads WhitePoint (x, y) and PrimaryChromaticities (red, green, blue), which are PNG's cHRM. */
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
        /* Round to cHRM's unit, as the float is not exactly the file's fraction. */
        metadata->chromaticities[i] = round(value * 1e5) / 1e5;
    }
    metadata->has_chromaticities = true;
}

/* ---------------------------------------------------------------- texts */

enum status tiff_text_read(struct tiff_file *file, uint16_t tag, char **text, struct metadata *metadata,
                           struct error *error)
{
    struct blob value;
    enum status status = tiff_file_bytes(file, tag, &value, metadata, error);
    char *bytes = (char *)value.data;

    *text = NULL;
    /* Copyright may be two strings, the photographer's and the editor's (EXIF 2.3, 4.6.4). */
    if (bytes != NULL && tag == TIFFTAG_COPYRIGHT)
        text_join(bytes, value.size + 1);
    /* TIFF specifies ASCII; programs write UTF-8, and older ones mostly Latin-1. */
    if (bytes != NULL && bytes[0] != '\0') {
        *text = text_to_utf8(bytes, error);
        status = *text == NULL ? STATUS_FAILED : STATUS_OK;
    }
    free(value.data);
    return status;
}

const char tiff_xml_characters[TIFF_XML_REFERENCES + 1] = "&<>\"'\r";
const char *const tiff_xml_references[TIFF_XML_REFERENCES] = {"&amp;",  "&lt;",   "&gt;",
                                                              "&quot;", "&apos;", "&#13;"};

/* Replaces tiff_xml_references by their characters, in place; other references stay. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0';) {
        size_t i = 0;
        while (i < TIFF_XML_REFERENCES &&
               strncmp(from, tiff_xml_references[i], strlen(tiff_xml_references[i])) != 0)
            i++;
        *to++ = i < TIFF_XML_REFERENCES ? tiff_xml_characters[i] : *from;
        from += i < TIFF_XML_REFERENCES ? strlen(tiff_xml_references[i]) : 1;
    }
    *to = '\0';
}

/* Parses GDAL's tag, which contains the texts that have no tag of their own. Writes NULs into it. Stops at a
 * damaged item.
 *
 *     <GDALMetadata>
 *       <Item name="Comment">seen &amp; approved</Item>
 *     </GDALMetadata>
 */
static enum status parse_items(char *xml, struct metadata *metadata, struct error *error)
{
    static const char start[] = "<Item name=\"", end[] = "</Item>";
    enum status status = STATUS_OK;

    while (status == STATUS_OK && (xml = strstr(xml, start)) != NULL) {
        char *key = xml + strlen(start);
        char *quote = strchr(key, '"');
        char *value = quote == NULL ? NULL : strchr(quote, '>'); /* further attributes are before it */
        if (value == NULL)
            return STATUS_OK;
        if (value[-1] == '/') { /* an item without a value */
            xml = value;
            continue;
        }
        char *stop = strstr(value, end);
        if (stop == NULL)
            return STATUS_OK;
        xml = stop + strlen(end);
        *quote = *value++ = *stop = '\0';
        unescape(key);
        unescape(value);
        const struct text_entry entry = {
            .key = key, .value = value, .item = quote[1] != '\0' ? quote + 1 : NULL};
        if (key[0] != '\0')
            status = metadata_add_text(metadata, &entry, error);
    }
    return status;
}

static enum status read_texts(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    struct blob items;
    enum status status = STATUS_OK;

    for (int i = 0; status == STATUS_OK && i <= TIFF_TEXT_TAGS; i++) {
        const struct tiff_text_tag xmp = {TIFFTAG_XMLPACKET, XMP_KEY},
                                   *tag = i < TIFF_TEXT_TAGS ? &tiff_text_tags[i] : &xmp;
        char *text;
        status = tiff_text_read(file, tag->tag, &text, metadata, error);
        if (status == STATUS_OK && text != NULL)
            status = metadata_set_text(metadata, tag->key, text, strlen(text), error);
        free(text);
    }
    if (status == STATUS_OK)
        status = tiff_file_bytes(file, TIFFTAG_GDAL_METADATA, &items, metadata, error);
    if (status == STATUS_OK && items.data != NULL) {
        status = parse_items((char *)items.data, metadata, error);
        free(items.data);
    }
    return status;
}

/* ---------------------------------------------------------------- other tags */

/* True for tags that describe the layout or that other functions read: they are not noted as left out. */
static bool is_known(uint16_t tag)
{
    static const uint16_t tags[] = {254, 255, 285, 297, 326, 327, 328, 330, 700, 34665, 34675, 34853, 42112};
    for (int i = 0; i < TIFF_TEXT_TAGS; i++)
        if (tiff_text_tags[i].tag == tag)
            return true;
    return ifd_tag_is_in(tag, tags, sizeof tags / sizeof tags[0]) || tiff_tag_is_for_libtiff(tag, 0);
}

/* Copies the value of a tag in the host's byte order. Appends a NUL to a text, and zeros to IPTC's bytes,
 * which are written as LONGs. */
static enum status copy_extra(struct tiff_file *file, const struct ifd_entry *entry,
                              const TIFFFieldInfo *field, struct metadata *metadata, struct error *error)
{
    const size_t unit = tiff_extra_element_size(field->field_type);
    const size_t size = field->field_type == TIFF_ASCII ? (size_t)entry->size + 1
                                                        : ((size_t)entry->size + unit - 1) / unit * unit;
    const struct ifd ifd = tiff_file_ifd(file);
    unsigned char *data = allocate_zeroed(size, 1, "TIFF tags", error);
    enum status status = data == NULL ? STATUS_FAILED : STATUS_OK;

    if (data != NULL && ifd_read_values(&ifd, entry, entry->tag == TIFFTAG_RICHTIFFIPTC, data))
        status = metadata_set_tag(metadata, entry->tag, data, size, error);
    free(data);
    return status;
}

/* Copies the tags of tiff_extra_fields, notes that unknown tags are left out, and warns of tags that cannot
 * be read. */
static enum status read_extras(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    const uint64_t most = 16 << 20; /* bytes of a value */
    const struct ifd ifd = tiff_file_ifd(file);
    const uint32_t count = ifd_entry_count(&ifd);
    struct ifd_entry entry;
    enum status status = STATUS_OK;

    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        const bool readable = ifd_entry_at(&ifd, i, &entry);
        const TIFFFieldInfo *field = tiff_extra_field(entry.tag);
        /* Bytes may have the type BYTE or UNDEFINED; IPTC's bytes may have any type. */
        const bool has_type =
            field != NULL && (entry.tag == TIFFTAG_RICHTIFFIPTC || entry.type == field->field_type ||
                              (entry.type == TIFF_UNDEFINED && field->field_type == TIFF_BYTE));
        if ((field == NULL && !is_known(entry.tag)) || (readable && field != NULL && entry.size > most))
            metadata_note_left_out(metadata, tiff_file_tag_name(file, entry.tag));
        else if (!readable) { /* such as a value after the end of a file that was cut off */
            char text[80];
            snprintf(text, sizeof text, "its %.40s is damaged and left out",
                     tiff_file_tag_name(file, entry.tag));
            metadata_warn(metadata, text);
        } else if (has_type && entry.count > 0)
            status = copy_extra(file, &entry, field, metadata, error);
    }
    /* ImageJ's tag consists of bytes, but contains UTF-16 and numbers in the input's byte order. */
    if (ifd.swapped && metadata_tag(metadata, TAG_IMAGEJ) != NULL) {
        metadata_note_left_out(metadata, "ImageJ's metadata");
        metadata_remove_tag(metadata, TAG_IMAGEJ);
        metadata_remove_tag(metadata, TAG_IMAGEJ_COUNTS);
    }
    return status;
}

/* ---------------------------------------------------------------- EXIF */

/* True for tags of the page's IFD that belong to EXIF in other formats. */
static bool belongs_to_exif(uint16_t tag)
{
    static const uint16_t tags[] = {
        IFD_MAKE,         IFD_MODEL,           IFD_ORIENTATION,     IFD_EXIF,
        IFD_GPS,          TIFFTAG_XRESOLUTION, TIFFTAG_YRESOLUTION, TIFFTAG_RESOLUTIONUNIT,
        TIFFTAG_SOFTWARE, TIFFTAG_DATETIME,    TIFFTAG_ARTIST,      TIFFTAG_COPYRIGHT};
    return ifd_tag_is_in(tag, tags, sizeof tags / sizeof tags[0]) || exif_shares_tag(tag);
}

static bool is_description_or_belongs_to_exif(uint16_t tag)
{
    return tag == TIFFTAG_IMAGEDESCRIPTION || belongs_to_exif(tag);
}

/* Copies the page's EXIF and GPS directories to a blob like PNG's eXIf: a classic TIFF with one IFD that
 * points to both. */
static enum status read_exif(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    const uint16_t magic = 42;
    const uint32_t first = 8;
    struct ifd_sink sink = {.base = 0};
    const struct ifd ifd = tiff_file_ifd(file);
    struct ifd sub;
    uint64_t offset;

    if (!ifd_sub(&ifd, IFD_EXIF, &sub) && !ifd_sub(&ifd, IFD_GPS, &sub))
        return STATUS_OK;
    /* The header: byte order of the host, 42, offset of the IFD. */
    unsigned char *header = ifd_sink_grow(&sink, 8, error);
    if (header == NULL)
        return STATUS_FAILED;
    header[0] = header[1] = TIFFIsBigEndian(file->tiff) != TIFFIsByteSwapped(file->tiff) ? 'M' : 'I';
    memcpy(header + 2, &magic, sizeof magic);
    memcpy(header + 4, &first, sizeof first);
    enum status status =
        ifd_copy(&ifd, description_is_caption(metadata) ? is_description_or_belongs_to_exif : belongs_to_exif,
                 &sink, &offset, error);
    if (status == STATUS_OK && offset != 0)
        status = metadata_set_blob(&metadata->exif, sink.bytes.data, sink.bytes.size, error);
    if (sink.is_damaged)
        metadata_warn(metadata, "some of its EXIF is damaged and left out");
    free(sink.bytes.data);
    return status;
}

enum status tiff_metadata_read(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    uint16_t orientation;

    read_resolution(file->tiff, metadata);
    read_chromaticities(file->tiff, metadata);
    if (TIFFGetField(file->tiff, TIFFTAG_ORIENTATION, &orientation) && orientation >= 1 && orientation <= 8)
        metadata->orientation = orientation;
    if (tiff_file_bytes(file, TIFFTAG_ICCPROFILE, &metadata->icc, metadata, error) != STATUS_OK ||
        read_texts(file, metadata, error) != STATUS_OK || read_extras(file, metadata, error) != STATUS_OK ||
        read_exif(file, metadata, error) != STATUS_OK)
        return STATUS_FAILED;
    exif_drop_maker_note(metadata);
    return STATUS_OK;
}
