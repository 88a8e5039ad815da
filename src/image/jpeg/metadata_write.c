/* Writes the first marker of a JPEG and the segments before its picture, in this order: JFIF, EXIF, ICC
 * profile, IPTC, XMP, comments. jpeg.h shows their layout.
 *
 * A segment has room for 64 KiB. Larger profiles and IPTC are divided among segments; larger EXIF, XMP and
 * comments are left out. jpeg_holds_text, jpeg_holds_icc and jpeg_leave_out report that before the file is
 * written, and must agree with jpeg_metadata_write. */
#include "image/jpeg/jpeg.h"

#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes to write, not owned. */
struct piece {
    const void *data;
    size_t size;
};

/* Writes a segment of `head`, followed by `body`: together at most SEGMENT_SIZE_MAX bytes. */
static enum status write_segment(FILE *file, int marker, struct piece head, struct piece body,
                                 struct error *error)
{
    const size_t length = 2 + head.size + body.size;
    const unsigned char start[] = {0xff, (unsigned char)marker, (unsigned char)(length >> 8),
                                   (unsigned char)length};
    if (fwrite(start, 1, sizeof start, file) == sizeof start &&
        fwrite(head.data, 1, head.size, file) == head.size &&
        fwrite(body.data, 1, body.size, file) == body.size)
        return STATUS_OK;
    return fail_writing(error, errno);
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

/* Writes the JFIF segment, which contains the resolution as a unit and two numbers of 16 bits. */
static enum status write_jfif(FILE *file, const struct metadata *metadata, struct error *error)
{
    int unit;
    double x, y;
    if (!find_density(metadata, &unit, &x, &y)) {
        unit = JFIF_RATIO;
        x = y = 1; /* without a unit: the resolution is unknown */
    }
    const unsigned across = (unsigned)x, down = (unsigned)y;
    const unsigned char numbers[] = {(unsigned char)unit,
                                     (unsigned char)(across >> 8),
                                     (unsigned char)across,
                                     (unsigned char)(down >> 8),
                                     (unsigned char)down,
                                     0,
                                     0 /* no thumbnail */};
    return write_segment(file, MARKER_APP0, (struct piece){"JFIF\0\1\1" /* version 1.01 */, 7},
                         (struct piece){numbers, sizeof numbers}, error);
}

static bool exif_fits(const struct blob *exif)
{
    return exif->size <= SEGMENT_SIZE_MAX - sizeof EXIF_IDENTIFIER;
}

/* Writes EXIF with the metadata's orientation, as JPEG has no other place for it. If the metadata have no
 * EXIF or too much of it, writes EXIF that contains only the orientation. */
static enum status jpeg_write_exif(FILE *file, const struct metadata *metadata, struct error *error)
{
    struct blob exif;
    enum status status = exif_with_orientation(metadata, exif_fits(&metadata->exif), &exif, error);
    if (status == STATUS_OK && exif.data != NULL && exif_fits(&exif))
        status = write_segment(file, MARKER_APP0 + 1, (struct piece){EXIF_IDENTIFIER, sizeof EXIF_IDENTIFIER},
                               (struct piece){exif.data, exif.size}, error);
    free(exif.data);
    return status;
}

/* Writes the profile in parts, each with its number from 1 and the number of parts (ICC.1, annex B.4). */
static enum status write_icc(FILE *file, const struct blob *icc, struct error *error)
{
    enum { PART = SEGMENT_SIZE_MAX - ICC_HEADER_SIZE };
    const size_t count = (icc->size + PART - 1) / PART;
    unsigned char head[ICC_HEADER_SIZE] = ICC_IDENTIFIER;
    enum status status = STATUS_OK;
    head[ICC_HEADER_SIZE - 1] = (unsigned char)count;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const size_t left = icc->size - i * PART;
        head[ICC_HEADER_SIZE - 2] = (unsigned char)(i + 1);
        status = write_segment(file, MARKER_APP0 + 2, (struct piece){head, sizeof head},
                               (struct piece){icc->data + i * PART, left < PART ? left : PART}, error);
    }
    return status;
}

/* Writes IPTC as a Photoshop image resource, divided among as many segments as it needs:
 *
 *     "8BIM"   number, 2 bytes   empty name, 2 bytes   size, 4 bytes   data, padded to an even size */
static enum status write_iptc(FILE *file, const struct blob *iptc, struct error *error)
{
    enum { HEAD = 12, PART = SEGMENT_SIZE_MAX - sizeof PHOTOSHOP_IDENTIFIER };
    static const unsigned char start[] = {'8', 'B', 'I', 'M', RESOURCE_IPTC >> 8, RESOURCE_IPTC & 0xff};
    const size_t size = HEAD + iptc->size + iptc->size % 2;
    unsigned char *resource = allocate_zeroed(size, 1, "IPTC", error);
    enum status status = STATUS_OK;
    if (resource == NULL)
        return STATUS_FAILED;
    memcpy(resource, start, sizeof start);
    for (int i = 0; i < 4; i++)
        resource[8 + i] = (unsigned char)(iptc->size >> (24 - 8 * i));
    memcpy(resource + HEAD, iptc->data, iptc->size);
    for (size_t at = 0; status == STATUS_OK && at < size; at += PART)
        status = write_segment(file, MARKER_APP0 + 13,
                               (struct piece){PHOTOSHOP_IDENTIFIER, sizeof PHOTOSHOP_IDENTIFIER},
                               (struct piece){resource + at, size - at < PART ? size - at : PART}, error);
    free(resource);
    return status;
}

bool jpeg_holds_text(const struct text_entry *text)
{
    const size_t key = strcmp(text->key, COMMENT_KEY) == 0 ? 0 : strlen(text->key) + strlen(KEY_SEPARATOR);
    if (text->item != NULL)
        return false;
    return strcmp(text->key, XMP_KEY) == 0 ? strlen(text->value) <= SEGMENT_SIZE_MAX - sizeof XMP_IDENTIFIER
                                           : key + strlen(text->value) <= SEGMENT_SIZE_MAX;
}

/* Writes XMP as its segment, any other text as a comment. */
static enum status jpeg_write_text(FILE *file, const struct text_entry *text, struct error *error)
{
    const struct piece value = {text->value, strlen(text->value)};
    if (strcmp(text->key, XMP_KEY) == 0)
        return write_segment(file, MARKER_APP0 + 1, (struct piece){XMP_IDENTIFIER, sizeof XMP_IDENTIFIER},
                             value, error);
    if (strcmp(text->key, COMMENT_KEY) == 0)
        return write_segment(file, MARKER_COMMENT, (struct piece){"", 0}, value, error);
    char *head = text_print(error, "%s%s", text->key, KEY_SEPARATOR);
    if (head == NULL)
        return STATUS_FAILED;
    enum status status =
        write_segment(file, MARKER_COMMENT, (struct piece){head, strlen(head)}, value, error);
    free(head);
    return status;
}

enum status jpeg_metadata_write(FILE *file, const struct image_info *info, bool is_jfif, struct error *error)
{
    static const unsigned char start[] = {0xff, MARKER_SOI};
    const struct metadata *metadata = &info->metadata;
    const struct blob *iptc = metadata_tag(metadata, TAG_IPTC);
    const bool has_icc = metadata->icc.data != NULL && jpeg_holds_icc(&metadata->icc, info->channels);
    if (fwrite(start, 1, sizeof start, file) != sizeof start)
        return fail_writing(error, errno);
    if ((is_jfif && write_jfif(file, metadata, error) != STATUS_OK) ||
        jpeg_write_exif(file, metadata, error) != STATUS_OK ||
        (has_icc && write_icc(file, &metadata->icc, error) != STATUS_OK) ||
        (iptc != NULL && write_iptc(file, iptc, error) != STATUS_OK))
        return STATUS_FAILED;
    /* XMP is first, where readers look for it. The comment without a key is last, as many programs show the
       last of several comments. */
    for (int rank = 0; rank < 3; rank++)
        for (size_t i = 0; i < metadata->text_count; i++) {
            const struct text_entry *text = &metadata->texts[i];
            const bool is_xmp = strcmp(text->key, XMP_KEY) == 0,
                       has_key = strcmp(text->key, COMMENT_KEY) != 0;
            if (rank == (is_xmp    ? 0
                         : has_key ? 1
                                   : 2) &&
                jpeg_holds_text(text) && jpeg_write_text(file, text, error) != STATUS_OK)
                return STATUS_FAILED;
        }
    return STATUS_OK;
}

/* True if the profile fits 255 segments and is for gray or RGB, as the picture is. */
bool jpeg_holds_icc(const struct blob *icc, int channels)
{
    return icc->size <= ICC_PARTS_MAX * (SEGMENT_SIZE_MAX - ICC_HEADER_SIZE) && icc_is_for(icc, channels);
}

void jpeg_leave_out(struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    double x, y;
    int unit;
    metadata_leave_out_languages(metadata);
    if (metadata->resolution_unit != RESOLUTION_ABSENT && !find_density(metadata, &unit, &x, &y))
        metadata_leave_out(metadata, "the resolution");
    if (!exif_fits(&metadata->exif))
        metadata_leave_out(metadata, "EXIF, which is larger than 64 KiB");
    if (metadata->icc.data == NULL && !metadata->srgb &&
        (metadata->gamma > 0 || metadata->has_chromaticities))
        metadata_leave_out(metadata, "the colour space");
    for (size_t i = 0; i < metadata->tag_count; i++) {
        const struct tiff_tag *tag = &metadata->tags[i];
        if (tag->number != TAG_IPTC)
            metadata_leave_out(metadata, tiff_tag_name(tag));
    }
}
