/* Writes the segments before the picture of a JPEG, in this order: JFIF, EXIF, ICC profile, IPTC, XMP,
 * comments. jpeg.h shows their layout.
 *
 * A segment has room for 64 KiB. Larger profiles and IPTC are divided among segments; larger EXIF, XMP and
 * comments are left out. jpeg_holds_text, jpeg_holds_icc and jpeg_note_left_out report that before the file
 * is written, and must agree with jpeg_metadata_write. */
#include "image/jpeg/jpeg.h"

#include <math.h>
#include <string.h>

/* Writes bytes of a segment, after jpeg_write_m_header. */
static void write_bytes(j_compress_ptr out, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        jpeg_write_m_byte(out, ((const unsigned char *)bytes)[i]);
}

/* Writes a segment of an identifier and data: together at most SEGMENT_SIZE_MAX bytes. */
static void write_segment(j_compress_ptr out, int marker, const char *identifier, size_t identifier_size,
                          const void *data, size_t size)
{
    jpeg_write_m_header(out, marker, (unsigned)(identifier_size + size));
    write_bytes(out, identifier, identifier_size);
    write_bytes(out, data, size);
}

/* True if the value is nearly a whole number. PNG stores whole pixels per metre: 300 per inch become 11811
 * per metre, which are 299.9994 per inch. */
static bool is_whole(double value)
{
    return fabs(value - round(value)) < 2e-4;
}

enum { JFIF_RATIO, JFIF_INCH, JFIF_CENTIMETRE };

/* Returns the resolution in JFIF's units. False: it is absent or not of 16 bits. */
static bool find_density(const struct metadata *metadata, int *unit, double *across, double *down)
{
    const double inch = 0.0254, centimetre = 0.01; /* metres */
    double x = metadata->x_resolution, y = metadata->y_resolution;
    int exif_unit;

    *unit = JFIF_RATIO;
    /* Pixels per metre become pixels per inch, or per centimetre if only those are whole numbers. Without a
       resolution in the metadata, use EXIF's. */
    if (metadata->resolution_unit == RESOLUTION_RATIO) {
        const double most = fmax(x, y),
                     scale = is_whole(x) && is_whole(y) && most <= UINT16_MAX ? 1 : 10000 / most;
        x *= scale;
        y *= scale;
    } else if (metadata->resolution_unit == RESOLUTION_PER_METRE) {
        const bool metric = !(is_whole(x * inch) && is_whole(y * inch)) && is_whole(x * centimetre) &&
                            is_whole(y * centimetre);
        *unit = metric ? JFIF_CENTIMETRE : JFIF_INCH;
        x *= metric ? centimetre : inch;
        y *= metric ? centimetre : inch;
    } else if (exif_resolution(&metadata->exif, &x, &y, &exif_unit)) {
        *unit = exif_unit - 1; /* EXIF counts the same units from 1 */
    } else {
        return false;
    }
    *across = round(x);
    *down = round(y);
    return *across >= 1 && *across <= UINT16_MAX && *down >= 1 && *down <= UINT16_MAX;
}

void jpeg_set_density(j_compress_ptr out, const struct metadata *metadata)
{
    int unit;
    double x, y;
    const bool is_known = find_density(metadata, &unit, &x, &y);
    out->JFIF_major_version = out->JFIF_minor_version = 1;
    out->density_unit = is_known ? (UINT8)unit : JFIF_RATIO; /* 1:1 means that the resolution is unknown */
    out->X_density = is_known ? (UINT16)x : 1;
    out->Y_density = is_known ? (UINT16)y : 1;
}

static bool exif_fits(const struct blob *exif)
{
    return exif->size <= SEGMENT_SIZE_MAX - sizeof EXIF_IDENTIFIER;
}

/* If the metadata have no EXIF or too much of it, EXIF contains only the orientation. */
enum status jpeg_make_exif(const struct metadata *metadata, struct blob *exif, struct error *error)
{
    return exif_with_orientation(metadata, exif_fits(&metadata->exif), exif, error);
}

/* Writes IPTC as a Photoshop image resource, divided among as many segments as it needs:
 *
 *     "8BIM"   number, 2 bytes   empty name, 2 bytes   size, 4 bytes   data, padded to an even size */
static void write_iptc(j_compress_ptr out, const struct blob *iptc)
{
    enum { HEAD = 12, PART = SEGMENT_SIZE_MAX - sizeof PHOTOSHOP_IDENTIFIER };
    unsigned char head[HEAD] = {'8', 'B', 'I', 'M', RESOURCE_IPTC >> 8, RESOURCE_IPTC & 0xff};
    for (int i = 0; i < 4; i++)
        head[8 + i] = (unsigned char)(iptc->size >> (24 - 8 * i));
    const size_t end = HEAD + iptc->size, padded = end + iptc->size % 2;
    for (size_t at = 0, next; at < padded; at = next) {
        next = padded - at < PART ? padded : at + PART;
        jpeg_write_m_header(out, JPEG_APP0 + 13, (unsigned)(sizeof PHOTOSHOP_IDENTIFIER + next - at));
        write_bytes(out, PHOTOSHOP_IDENTIFIER, sizeof PHOTOSHOP_IDENTIFIER);
        for (size_t i = at; i < next; i++)
            jpeg_write_m_byte(out, i < HEAD ? head[i] : i < end ? iptc->data[i - HEAD] : 0);
    }
}

bool jpeg_holds_text(const struct text_entry *text)
{
    const size_t key = strcmp(text->key, COMMENT_KEY) == 0 ? 0 : strlen(text->key) + strlen(KEY_SEPARATOR);
    if (text->item != NULL)
        return false;
    return strcmp(text->key, XMP_KEY) == 0 ? strlen(text->value) <= SEGMENT_SIZE_MAX - sizeof XMP_IDENTIFIER
                                           : key + strlen(text->value) <= SEGMENT_SIZE_MAX;
}

void jpeg_metadata_write(j_compress_ptr out, const struct image_info *info, const struct blob *exif)
{
    const struct metadata *metadata = &info->metadata;
    const struct blob *iptc = metadata_tag(metadata, TAG_IPTC);
    if (exif->data != NULL && exif_fits(exif))
        write_segment(out, JPEG_APP0 + 1, EXIF_IDENTIFIER, sizeof EXIF_IDENTIFIER, exif->data, exif->size);
    if (metadata->icc.data != NULL && jpeg_holds_icc(&metadata->icc, info->channels))
        jpeg_write_icc_profile(out, metadata->icc.data, (unsigned)metadata->icc.size);
    if (iptc != NULL)
        write_iptc(out, iptc);
    /* Texts become comments that begin with their key, except XMP. XMP is first, where readers look for it.
       The comment without a key is last, as many programs show the last of several comments. */
    for (int rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < metadata->text_count; i++) {
            const struct text_entry *text = &metadata->texts[i];
            const bool is_xmp = strcmp(text->key, XMP_KEY) == 0,
                       has_key = strcmp(text->key, COMMENT_KEY) != 0;
            const char *key = has_key ? text->key : "", *separator = has_key ? KEY_SEPARATOR : "";
            const size_t size = strlen(text->value);
            if (rank != (is_xmp ? 0 : has_key ? 1 : 2) || !jpeg_holds_text(text))
                continue;
            if (is_xmp) {
                write_segment(out, JPEG_APP0 + 1, XMP_IDENTIFIER, sizeof XMP_IDENTIFIER, text->value, size);
                continue;
            }
            jpeg_write_m_header(out, JPEG_COM, (unsigned)(strlen(key) + strlen(separator) + size));
            write_bytes(out, key, strlen(key));
            write_bytes(out, separator, strlen(separator));
            write_bytes(out, text->value, size);
        }
}

/* True if the profile fits 255 segments and is for gray or RGB, as the picture is. */
bool jpeg_holds_icc(const struct blob *icc, int channels)
{
    return icc->size <= ICC_PARTS_MAX * (SEGMENT_SIZE_MAX - ICC_HEADER_SIZE) && icc_is_for(icc, channels);
}

void jpeg_note_left_out(struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    double x, y;
    int unit;
    metadata_note_languages(metadata);
    if (metadata->resolution_unit != RESOLUTION_ABSENT && !find_density(metadata, &unit, &x, &y))
        metadata_note_left_out(metadata, "the resolution");
    if (!exif_fits(&metadata->exif))
        metadata_note_left_out(metadata, "EXIF, which is larger than 64 KiB");
}
