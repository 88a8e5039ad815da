/* Writes the segments of a JPEG before its picture: JFIF, EXIF, ICC profile, IPTC, XMP, comments.
 *
 * A segment holds 64 KiB. Profiles and IPTC are divided; EXIF, XMP and texts that are larger are left out. */
#include "image/jpeg/jpeg.h"

#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A piece of a segment. */
struct piece {
    const void *data;
    size_t size;
};

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

/* Density as JFIF stores it, whole numbers of 16 bits. */
struct density {
    int unit; /* 0: only the ratio is known; 1: per inch; 2: per centimetre */
    double x, y;
};

static bool is_whole(double value)
{
    return fabs(value - round(value)) < 2e-4; /* 300 an inch are 11811 a metre in PNG */
}

static struct density find_density(const struct metadata *metadata)
{
    enum { EXIF_NONE = 1, EXIF_CENTIMETRE = 3 };
    const double x = metadata->x_resolution, y = metadata->y_resolution, inch = 0.0254, centimetre = 0.01;
    struct density density = {0, 1, 1};
    int unit;
    if (metadata->resolution_unit == RESOLUTION_RATIO) {
        const double scale = is_whole(x) && is_whole(y) ? 1 : 10000 / fmax(x, y);
        density = (struct density){0, x * scale, y * scale};
    } else if (metadata->resolution_unit == RESOLUTION_PER_METRE) {
        const bool metric = !(is_whole(x * inch) && is_whole(y * inch)) && is_whole(x * centimetre) &&
                            is_whole(y * centimetre);
        const double scale = metric ? centimetre : inch;
        density = (struct density){metric ? 2 : 1, x * scale, y * scale};
    } else if (exif_resolution(&metadata->exif, &density.x, &density.y, &unit)) {
        density.unit = unit == EXIF_NONE ? 0 : unit == EXIF_CENTIMETRE ? 2 : 1;
    } else {
        density = (struct density){0, 1, 1};
    }
    density.x = round(density.x);
    density.y = round(density.y);
    const bool fits = density.x >= 1 && density.x <= UINT16_MAX && density.y >= 1 && density.y <= UINT16_MAX;
    return fits ? density : (struct density){0, 1, 1};
}

static enum status write_jfif(FILE *file, const struct metadata *metadata, struct error *error)
{
    const struct density density = find_density(metadata);
    const unsigned x = (unsigned)density.x, y = (unsigned)density.y;
    const unsigned char numbers[] = {(unsigned char)density.unit,
                                     (unsigned char)(x >> 8),
                                     (unsigned char)x,
                                     (unsigned char)(y >> 8),
                                     (unsigned char)y,
                                     0,
                                     0 /* no thumbnail */};
    return write_segment(file, MARKER_APP0, (struct piece){"JFIF\0\1\1" /* version 1.01 */, 7},
                         (struct piece){numbers, sizeof numbers}, error);
}

static bool exif_fits(const struct blob *exif)
{
    return exif->size <= SEGMENT_SIZE_MAX - sizeof EXIF_NAME;
}

/* EXIF is JPEG's only place for the orientation. */
static enum status jpeg_write_exif(FILE *file, const struct metadata *metadata, struct error *error)
{
    struct blob exif;
    enum status status = exif_with_orientation(metadata, exif_fits(&metadata->exif), &exif, error);
    if (status == STATUS_OK && exif.data != NULL && exif_fits(&exif))
        status = write_segment(file, MARKER_APP0 + 1, (struct piece){EXIF_NAME, sizeof EXIF_NAME},
                               (struct piece){exif.data, exif.size}, error);
    free(exif.data);
    return status;
}

static enum status write_icc(FILE *file, const struct blob *icc, struct error *error)
{
    enum { PART = SEGMENT_SIZE_MAX - ICC_HEAD };
    const size_t count = (icc->size + PART - 1) / PART;
    unsigned char head[ICC_HEAD] = ICC_NAME;
    enum status status = STATUS_OK;
    head[ICC_HEAD - 1] = (unsigned char)count;
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        const size_t left = icc->size - i * PART;
        head[ICC_HEAD - 2] = (unsigned char)(i + 1);
        status = write_segment(file, MARKER_APP0 + 2, (struct piece){head, sizeof head},
                               (struct piece){icc->data + i * PART, left < PART ? left : PART}, error);
    }
    return status;
}

/* Writes IPTC as a resource of Photoshop's, without a name, in as many segments as it takes. */
static enum status write_iptc(FILE *file, const struct blob *iptc, struct error *error)
{
    enum { HEAD = 12, PART = SEGMENT_SIZE_MAX - sizeof PHOTOSHOP_NAME };
    const size_t size = HEAD + iptc->size + iptc->size % 2;
    unsigned char *resource = allocate_zeroed(size, 1, "IPTC", error);
    enum status status = resource == NULL ? STATUS_FAILED : STATUS_OK;
    if (status != STATUS_OK)
        return status;
    memcpy(resource, "8BIM\4\4", 6); /* RESOURCE_IPTC */
    for (int i = 0; i < 4; i++)
        resource[8 + i] = (unsigned char)(iptc->size >> (24 - 8 * i));
    memcpy(resource + HEAD, iptc->data, iptc->size);
    for (size_t at = 0; status == STATUS_OK && at < size; at += PART)
        status = write_segment(file, MARKER_APP0 + 13, (struct piece){PHOTOSHOP_NAME, sizeof PHOTOSHOP_NAME},
                               (struct piece){resource + at, size - at < PART ? size - at : PART}, error);
    free(resource);
    return status;
}

bool jpeg_metadata_holds(const struct text_entry *text)
{
    const size_t key = strcmp(text->key, COMMENT_KEY) == 0 ? 0 : strlen(text->key) + strlen(KEY_END);
    if (text->item != NULL)
        return false;
    return strcmp(text->key, XMP_KEY) == 0 ? strlen(text->value) <= SEGMENT_SIZE_MAX - sizeof XMP_NAME
                                           : key + strlen(text->value) <= SEGMENT_SIZE_MAX;
}

static enum status jpeg_write_text(FILE *file, const struct text_entry *text, struct error *error)
{
    const struct piece value = {text->value, strlen(text->value)};
    if (strcmp(text->key, XMP_KEY) == 0)
        return write_segment(file, MARKER_APP0 + 1, (struct piece){XMP_NAME, sizeof XMP_NAME}, value, error);
    if (strcmp(text->key, COMMENT_KEY) == 0)
        return write_segment(file, MARKER_COMMENT, (struct piece){"", 0}, value, error);
    char *head = text_print(error, "%s%s", text->key, KEY_END);
    if (head == NULL)
        return STATUS_FAILED;
    enum status status =
        write_segment(file, MARKER_COMMENT, (struct piece){head, strlen(head)}, value, error);
    free(head);
    return status;
}

/* The order of texts: XMP first, where readers look for it. Many programs show the last of several comments,
 * so the comment without a key is last. */
static int turn_of(const struct text_entry *text)
{
    return strcmp(text->key, XMP_KEY) == 0 ? 0 : strcmp(text->key, COMMENT_KEY) == 0 ? 2 : 1;
}

enum status jpeg_metadata_write(FILE *file, const struct image_info *info, bool is_jfif, struct error *error)
{
    const struct metadata *metadata = &info->metadata;
    const struct blob *iptc = metadata_tag(metadata, TAG_IPTC);
    static const unsigned char start[] = {0xff, MARKER_SOI};
    enum status status = STATUS_OK;
    if (fwrite(start, 1, sizeof start, file) != sizeof start)
        status = fail_writing(error, errno);
    if (status == STATUS_OK && is_jfif)
        status = write_jfif(file, metadata, error);
    if (status == STATUS_OK)
        status = jpeg_write_exif(file, metadata, error);
    if (status == STATUS_OK && metadata->icc.data != NULL &&
        jpeg_metadata_holds_icc(&metadata->icc, info->channels))
        status = write_icc(file, &metadata->icc, error);
    if (status == STATUS_OK && iptc != NULL)
        status = write_iptc(file, iptc, error);
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; status == STATUS_OK && i < metadata->text_count; i++)
            if (turn_of(&metadata->texts[i]) == turn && jpeg_metadata_holds(&metadata->texts[i]))
                status = jpeg_write_text(file, &metadata->texts[i], error);
    return status;
}

/* The header of a profile names its colour space (ICC.1, 7.2.6) and contains "acsp". */
bool jpeg_metadata_holds_icc(const struct blob *icc, int channels)
{
    enum { HEADER = 128, COLOURS = 16, SIGNATURE = 36, MOST = ICC_PARTS_MAX * (SEGMENT_SIZE_MAX - ICC_HEAD) };
    return icc->size >= HEADER && icc->size <= MOST && memcmp(icc->data + SIGNATURE, "acsp", 4) == 0 &&
           memcmp(icc->data + COLOURS, channels <= 2 ? "GRAY" : "RGB ", 4) == 0;
}

void jpeg_metadata_leave_out(struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    metadata_leave_out_languages(metadata);
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
