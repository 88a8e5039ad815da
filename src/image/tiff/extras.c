#include "image/tiff/extras.h"

#include "image/tiff/imagej.h"

#include <stdio.h>
#include <stdlib.h>

/* As they are written. Where libtiff has a field of its own, that is taken: IPTC's, which is bytes, is of
 * numbers of four or of bytes, as its version has it. */
static const TIFFFieldInfo fields[] = {
#define FIELD(tag, count, type, name)                                                                        \
    {                                                                                                        \
        tag, count, count, type, FIELD_CUSTOM, 1, (count) == TIFF_VARIABLE2, (char *)(uintptr_t)(name)       \
    }
    FIELD(TIFFTAG_HOSTCOMPUTER, TIFF_VARIABLE, TIFF_ASCII, "HostComputer"),
    FIELD(EXTRA_PIXEL_SCALE, TIFF_VARIABLE2, TIFF_DOUBLE, "ModelPixelScale"),
    FIELD(TIFFTAG_RICHTIFFIPTC, TIFF_VARIABLE2, TIFF_LONG, "RichTIFFIPTC"),
    FIELD(EXTRA_TIE_POINTS, TIFF_VARIABLE2, TIFF_DOUBLE, "ModelTiepoint"),
    FIELD(EXTRA_TRANSFORMATION, TIFF_VARIABLE2, TIFF_DOUBLE, "ModelTransformation"),
    FIELD(TIFFTAG_PHOTOSHOP, TIFF_VARIABLE2, TIFF_BYTE, "Photoshop"),
    FIELD(EXTRA_GEO_KEYS, TIFF_VARIABLE2, TIFF_SHORT, "GeoKeyDirectory"),
    FIELD(EXTRA_GEO_DOUBLES, TIFF_VARIABLE2, TIFF_DOUBLE, "GeoDoubleParams"),
    FIELD(EXTRA_GEO_TEXTS, TIFF_VARIABLE, TIFF_ASCII, "GeoAsciiParams"),
    FIELD(40091, TIFF_VARIABLE2, TIFF_BYTE, "XPTitle"),
    FIELD(40092, TIFF_VARIABLE2, TIFF_BYTE, "XPComment"),
    FIELD(40093, TIFF_VARIABLE2, TIFF_BYTE, "XPAuthor"),
    FIELD(40094, TIFF_VARIABLE2, TIFF_BYTE, "XPKeywords"),
    FIELD(40095, TIFF_VARIABLE2, TIFF_BYTE, "XPSubject"),
    FIELD(EXTRA_NODATA, TIFF_VARIABLE, TIFF_ASCII, "GDALNoData"),
    FIELD(EXTRA_IMAGEJ_COUNTS, TIFF_VARIABLE2, TIFF_LONG, "IJMetadataByteCounts"),
    FIELD(EXTRA_IMAGEJ, TIFF_VARIABLE2, TIFF_BYTE, "IJMetadata"),
#undef FIELD
};

enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static const TIFFFieldInfo *find_field(uint32_t tag)
{
    for (int i = 0; i < FIELD_COUNT; i++)
        if (fields[i].field_tag == tag)
            return &fields[i];
    return NULL;
}

static size_t size_of_value(TIFFDataType type)
{
    switch (type) {
    case TIFF_SHORT:
        return 2;
    case TIFF_LONG:
        return 4;
    case TIFF_DOUBLE:
        return 8;
    default:
        return 1;
    }
}

/* Bytes may be called BYTE or UNDEFINED. */
static bool is_as_expected(const struct ifd_entry *entry, const TIFFFieldInfo *field)
{
    return entry->tag == TIFFTAG_RICHTIFFIPTC || entry->type == field->field_type ||
           (entry->type == TIFF_UNDEFINED && field->field_type == TIFF_BYTE);
}

/* Tags that say how the pixels lie in the file, or that are read elsewhere; sorted. */
static bool is_dealt_with(uint16_t tag)
{
    static const uint16_t tags[] = {
        254, 255, 256, 257, 258, 259, 262, 266, 269,   270,   271,   272,   273,   274,  277, 278,
        279, 282, 283, 284, 285, 292, 293, 296, 297,   305,   306,   315,   317,   318,  319, 320,
        322, 323, 324, 325, 326, 327, 328, 338, 339,   347,   512,   513,   514,   515,  517, 518,
        519, 520, 521, 529, 530, 531, 532, 700, 33432, 34665, 34675, 34853, 42112, 50674};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0] && tags[i] <= tag; i++)
        if (tags[i] == tag)
            return true;
    return false;
}

static void leave_out(TIFF *tiff, uint16_t tag, struct metadata *metadata)
{
    const TIFFField *known = TIFFFindField(tiff, tag, TIFF_ANY);
    char name[32];
    snprintf(name, sizeof name, "tag %u", tag);
    metadata_leave_out(metadata, known != NULL && !TIFFFieldIsAnonymous(known) ? TIFFFieldName(known) : name);
}

/* With a NUL behind a text, and zeros to make numbers of bytes. */
static enum status take(TIFF *tiff, const struct ifd_source *source, const struct ifd_entry *entry,
                        struct metadata *metadata, struct error *error)
{
    const TIFFFieldInfo *field = find_field(entry->tag);
    const size_t unit = field == NULL ? 1 : size_of_value(field->field_type), limit = 16 << 20;
    if (field == NULL && !is_dealt_with(entry->tag))
        leave_out(tiff, entry->tag, metadata);
    if (field == NULL || !is_as_expected(entry, field) || entry->count == 0)
        return STATUS_OK;
    if (entry->size > limit) {
        metadata_leave_out(metadata, field->field_name);
        return STATUS_OK;
    }
    const size_t size = field->field_type == TIFF_ASCII ? (size_t)entry->size + 1
                                                        : ((size_t)entry->size + unit - 1) / unit * unit;
    unsigned char *data = allocate_zeroed(size, 1, "TIFF tags", error);
    if (data == NULL)
        return STATUS_FAILED;
    enum status status = STATUS_OK;
    if (ifd_read_values(source, entry, entry->tag == TIFFTAG_RICHTIFFIPTC, data))
        status = metadata_set_extra(metadata, EXTRA_TAG, entry->tag, data, size, error);
    free(data);
    return status;
}

enum status tiff_extras_read(struct tiff_file *file, struct metadata *metadata, struct error *error)
{
    struct ifd_source source;
    struct ifd_entry entry;
    uint64_t ifd;
    enum status status = STATUS_OK;

    tiff_file_ifd(file, &source, &ifd);
    const uint32_t count = ifd_entry_count(&source, ifd);
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++)
        if (ifd_entry_at(&source, ifd, i, &entry))
            status = take(file->tiff, &source, &entry, metadata, error);
    if (source.swapped)
        tiff_imagej_swap(metadata);
    return status;
}

enum status tiff_extras_write(struct tiff_file *file, const struct metadata *metadata, struct error *error)
{
    bool any = false;
    for (size_t i = 0; i < metadata->extra_count; i++)
        any = any || metadata->extras[i].place == EXTRA_TAG;
    if (any && TIFFMergeFieldInfo(file->tiff, fields, FIELD_COUNT) != 0)
        return fail_memory(error, "out of memory for TIFF tags");
    for (size_t i = 0; i < metadata->extra_count; i++) {
        const struct extra *extra = &metadata->extras[i];
        const TIFFFieldInfo *field = extra->place == EXTRA_TAG ? find_field(extra->name) : NULL;
        if (field == NULL)
            continue;
        const size_t unit = size_of_value(TIFFFieldDataType(TIFFFieldWithTag(file->tiff, extra->name)));
        if (field->field_type == TIFF_ASCII)
            TIFFSetField(file->tiff, extra->name, extra->data.data);
        else
            TIFFSetField(file->tiff, extra->name, (uint32_t)(extra->data.size / unit), extra->data.data);
    }
    return file->message[0] != '\0' ? tiff_file_not_written(file, error) : STATUS_OK;
}
