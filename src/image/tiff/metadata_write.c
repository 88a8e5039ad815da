/* Writes the metadata of a TIFF page, which metadata_read.c reads back. Texts without a tag of their own
 * become items in GDAL's XML.
 *
 * libtiff copies all values, and writes them with the directory. EXIF's directories are appended to the file
 * now, without libtiff, and the page's tags point to them. */
#include "image/tiff/tiff.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns pixels per inch. PNG stores whole pixels per metre: 300 per inch become 11811, which are 299.9994
 * per inch. So if PNG would round a whole number of pixels per inch to `per_metre`, returns that number. */
static double per_inch(double per_metre)
{
    double exact = per_metre / INCHES_PER_METRE, whole = round(exact);

    return round(whole * INCHES_PER_METRE) == per_metre ? whole : exact;
}

/* Writes the resolution of the metadata. If it is absent or invalid, writes EXIF's: some PNGs have only
 * that. */
static void write_resolution(TIFF *tiff, const struct metadata *metadata)
{
    const bool ratio = metadata->resolution_unit == RESOLUTION_RATIO;
    double x = metadata->x_resolution, y = metadata->y_resolution;
    /* ImageJ's description has a unit that belongs to the numbers of these tags. */
    const bool metric = metadata->is_in_centimetres && description_is_imagej(metadata);
    int unit = ratio ? RESUNIT_NONE : metric ? RESUNIT_CENTIMETER : RESUNIT_INCH;

    if (metadata->resolution_unit != RESOLUTION_ABSENT && isfinite(x) && isfinite(y) && x > 0 && y > 0) {
        x = ratio ? x : metric ? x / 100 : per_inch(x);
        y = ratio ? y : metric ? y / 100 : per_inch(y);
    } else if (!exif_resolution(&metadata->exif, &x, &y, &unit)) {
        return;
    }
    /* libtiff would write infinity for more than a RATIONAL holds. */
    const double most = 0x1.fffffep31;
    TIFFSetField(tiff, TIFFTAG_XRESOLUTION, fmin(x, most));
    TIFFSetField(tiff, TIFFTAG_YRESOLUTION, fmin(y, most));
    TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, unit);
}

/* ---------------------------------------------------------------- texts */

/* True if the tag can store the text. DateTime has the form "2024:01:31 12:34:56" (TIFF 6.0), while PNG's
 * Creation Time may be any text. */
static bool tag_fits(const struct tiff_text_tag *text_tag, const char *text)
{
    static const char form[] = "0000:00:00 00:00:00";
    size_t i = 0;
    if (text_tag->tag != TIFFTAG_DATETIME)
        return true;
    while (form[i] != '\0' && (form[i] == '0' ? isdigit((unsigned char)text[i]) != 0 : text[i] == form[i]))
        i++;
    return form[i] == '\0' && text[i] == '\0';
}

/* True if a tag stores the entry, so that it must not become an item: XMP, and texts with a tag of their own.
 * A tag stores only the first entry of a key, which metadata_text returns. */
static bool has_tag(const struct metadata *metadata, const struct text_entry *entry)
{
    bool has = strcmp(entry->key, XMP_KEY) == 0;

    for (int i = 0; i < TIFF_TEXT_TAGS; i++)
        has |= strcmp(tiff_text_tags[i].key, entry->key) == 0 && tag_fits(&tiff_text_tags[i], entry->value);
    return has && metadata_text(metadata, entry->key) == entry->value; /* the same address */
}

/* Prints a text as XML. Special characters, to which CR belongs, become references (tiff_xml_references).
 * Other control characters except tab and LF become spaces: XML 1.0 (2.2) forbids them, also as references,
 * and a parser would refuse all items. */
static void print_escaped(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *special = strchr(tiff_xml_characters, *text);
        if (special != NULL)
            fputs(tiff_xml_references[special - tiff_xml_characters], to);
        else
            fputc((unsigned char)*text >= ' ' || *text == '\t' || *text == '\n' ? *text : ' ', to);
    }
}

/* Writes the texts without a tag as GDAL's items. */
static enum status write_items(TIFF *tiff, const struct metadata *metadata, struct error *error)
{
    /* libtiff defines the tag's number, but no field. */
    static const TIFFFieldInfo field = {TIFFTAG_GDAL_METADATA, -1, -1, TIFF_ASCII,
                                        FIELD_CUSTOM,          1,  0,  (char *)(uintptr_t) "GDALMetadata"};
    char *xml = NULL;
    size_t size = 0, item_count = 0;
    FILE *stream = open_memstream(&xml, &size);

    if (stream == NULL)
        return fail_memory(error, "out of memory for TIFF texts");
    fputs("<GDALMetadata>\n", stream);
    for (size_t i = 0; i < metadata->text_count; i++) {
        const struct text_entry *entry = &metadata->texts[i];
        if (has_tag(metadata, entry))
            continue;
        item_count++;
        fputs("  <Item name=\"", stream);
        print_escaped(stream, entry->key);
        fprintf(stream, "\"%s>", entry->item != NULL ? entry->item : "");
        print_escaped(stream, entry->value);
        fputs("</Item>\n", stream);
    }
    fputs("</GDALMetadata>\n", stream);

    bool written = !ferror(stream);
    written = fclose(stream) == 0 && written;
    enum status status = written ? STATUS_OK : fail_memory(error, "out of memory for TIFF texts");
    if (written && item_count > 0 &&
        (TIFFMergeFieldInfo(tiff, &field, 1) != 0 || !TIFFSetField(tiff, TIFFTAG_GDAL_METADATA, xml)))
        status = fail(error, STATUS_FAILED, "cannot write TIFF: libtiff refuses its texts");
    free(xml);
    return status;
}

/* ---------------------------------------------------------------- other tags, EXIF */

/* Writes the tags that only TIFF can store (tiff_extra_fields). */
static enum status write_extras(struct tiff_file *file, const struct metadata *metadata, struct error *error)
{
    bool is_registered = false; /* tiff_extra_fields, with libtiff */

    for (size_t i = 0; i < metadata->tag_count; i++) {
        const struct tiff_tag *tag = &metadata->tags[i];
        const TIFFFieldInfo *field = tiff_extra_field(tag->number);
        if (field == NULL)
            continue;
        if (!is_registered && TIFFMergeFieldInfo(file->tiff, tiff_extra_fields, TIFF_EXTRA_FIELDS) != 0)
            return fail_memory(error, "out of memory for TIFF tags");
        is_registered = true;
        /* libtiff's type, not the table's: they differ for IPTC in some versions. */
        const TIFFDataType type = TIFFFieldDataType(TIFFFieldWithTag(file->tiff, tag->number));
        const size_t element = tiff_extra_element_size(type);
        if (field->field_type == TIFF_ASCII)
            TIFFSetField(file->tiff, tag->number, tag->data.data);
        else
            TIFFSetField(file->tiff, tag->number, (uint32_t)(tag->data.size / element), tag->data.data);
    }
    return STATUS_OK;
}

/* Appends a copy of one of EXIF's directories to the file, and lets `tag` of the page point to the copy.
 * `ifd` is EXIF's first directory, whose entry `tag` points to the directory. Does nothing if it has no such
 * entry. */
static enum status append_directory(struct tiff_file *file, const struct ifd *ifd, uint16_t tag,
                                    struct error *error)
{
    /* Write after the end of the file, at an even offset. libtiff appends later data after these bytes. */
    struct ifd_sink sink = {.base = (file->size + 1) & ~(uint64_t)1, .big = TIFFIsBigTIFF(file->tiff)};
    struct ifd from;
    uint64_t to;

    if (!ifd_sub(ifd, tag, &from))
        return STATUS_OK;
    enum status status = ifd_copy(&from, NULL, &sink, &to, error);
    if (status == STATUS_OK && to != 0 &&
        (!tiff_file_write_at(file, sink.base, sink.bytes.data, sink.bytes.size) ||
         !TIFFSetField(file->tiff, tag, to)))
        status = tiff_file_fail_writing(file, error);
    free(sink.bytes.data);
    return status;
}

enum status tiff_metadata_write(struct tiff_file *file, const struct metadata *metadata, struct error *error)
{
    TIFF *tiff = file->tiff;
    int orientation = metadata->orientation != 0 ? metadata->orientation : exif_orientation(&metadata->exif);
    const char *xmp = metadata_text(metadata, XMP_KEY);
    struct ifd ifd;

    write_resolution(tiff, metadata);
    if (metadata->has_chromaticities) { /* PNG's cHRM */
        float values[8];
        for (int i = 0; i < 8; i++)
            values[i] = (float)metadata->chromaticities[i];
        TIFFSetField(tiff, TIFFTAG_WHITEPOINT, values);
        TIFFSetField(tiff, TIFFTAG_PRIMARYCHROMATICITIES, values + 2);
    }
    if (orientation != 0)
        TIFFSetField(tiff, TIFFTAG_ORIENTATION, orientation);
    if (metadata->icc.data != NULL && metadata->icc.size <= UINT32_MAX)
        TIFFSetField(tiff, TIFFTAG_ICCPROFILE, (uint32_t)metadata->icc.size, metadata->icc.data);
    /* Texts of the metadata, or if a tag cannot store that, of EXIF. A TIFF has these tags in the page's
     * directory, not in EXIF's. */
    for (int i = 0; i < TIFF_TEXT_TAGS; i++) {
        const uint16_t tag = tiff_text_tags[i].tag;
        const char *text = metadata_text(metadata, tiff_text_tags[i].key);
        char *from_exif = NULL;
        const bool fits = text != NULL && tag_fits(&tiff_text_tags[i], text);
        if (!fits && exif_text(&metadata->exif, tag, &from_exif, error) != STATUS_OK)
            return STATUS_FAILED;
        if (fits || from_exif != NULL)
            TIFFSetField(tiff, tag, fits ? text : from_exif);
        free(from_exif);
    }
    if (xmp != NULL && xmp[0] != '\0' && strlen(xmp) <= UINT32_MAX)
        TIFFSetField(tiff, TIFFTAG_XMLPACKET, (uint32_t)strlen(xmp), xmp);
    if (write_items(tiff, metadata, error) != STATUS_OK || write_extras(file, metadata, error) != STATUS_OK)
        return STATUS_FAILED;
    if (file->message[0] != '\0') /* libtiff has refused the value of a tag */
        return tiff_file_fail_writing(file, error);

    if (!ifd_of_blob(&metadata->exif, &ifd))
        return STATUS_OK;
    enum status status = append_directory(file, &ifd, IFD_EXIF, error);
    return status == STATUS_OK ? append_directory(file, &ifd, IFD_GPS, error) : status;
}
