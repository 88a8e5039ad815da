/* Writes the chunks of a PNG before its pixels: colour space, resolution, EXIF, texts.
 *
 * libpng is not used here, as each of its versions refuses a different set of ICC profiles. */
#include "base/sums.h"
#include "base/text.h"
#include "image/png/png.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* A part of a chunk's data; not owned. */
struct piece {
    const void *data;
    size_t size;
};

/* Writes a chunk of several pieces: length, name, data, CRC of name and data. */
static enum status write_pieces(FILE *file, const char *name, const struct piece *pieces, size_t count,
                                struct error *error)
{
    unsigned char head[8], tail[4];
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].size;
    png_save_uint_32(head, (png_uint_32)size);
    memcpy(head + 4, name, 4);
    uint32_t crc = isal_crc32(0, head + 4, 4);
    bool written = fwrite(head, 1, sizeof head, file) == sizeof head;
    for (size_t i = 0; written && i < count; i++) {
        crc = isal_crc32(crc, pieces[i].data, pieces[i].size);
        written = fwrite(pieces[i].data, 1, pieces[i].size, file) == pieces[i].size;
    }
    png_save_uint_32(tail, crc);
    written = written && fwrite(tail, 1, sizeof tail, file) == sizeof tail;
    return written ? STATUS_OK : fail_writing(error, errno);
}

enum status png_chunk_write(FILE *file, const char *name, const void *data, size_t size, struct error *error)
{
    return write_pieces(file, name, &(struct piece){data, size}, 1, error);
}

/* Returns a piece of a text and its NUL. NULL: the text is empty. */
static struct piece piece_with_nul(const char *text)
{
    return text == NULL ? (struct piece){"", 1} : (struct piece){text, strlen(text) + 1};
}

/* Replaces the piece by a zlib stream of its bytes, which the caller frees as *deflated. */
static enum status deflate_piece(struct piece *piece, unsigned char **deflated, struct error *error)
{
    uLongf size = compressBound((uLong)piece->size);
    *deflated = allocate(size, "metadata", error);
    if (*deflated == NULL)
        return STATUS_FAILED;
    if (compress2(*deflated, &size, piece->data, (uLong)piece->size, Z_DEFAULT_COMPRESSION) != Z_OK)
        return fail_memory(error, "out of memory for metadata");
    *piece = (struct piece){*deflated, size};
    return STATUS_OK;
}

/* ---------------------------------------------------------------- texts */

enum { KEYWORD_MAX = 79 };

/* Converts a key in Latin-1 to a keyword (ISO/IEC 15948, 11.3.4.2): visible characters with single spaces
 * between them. Other characters become spaces. False: the key is too long, or has no visible character. */
static bool make_keyword(const char *latin1, char keyword[KEYWORD_MAX + 1])
{
    size_t length = 0;
    if (strlen(latin1) > KEYWORD_MAX)
        return false;
    for (; *latin1 != '\0'; latin1++) {
        const unsigned char character = (unsigned char)*latin1;
        const bool visible = (character > 0x20 && character < 0x7f) || character > 0xa0;
        if (visible || (length > 0 && keyword[length - 1] != ' '))
            keyword[length++] = visible ? *latin1 : ' ';
    }
    if (length > 0 && keyword[length - 1] == ' ')
        length--;
    keyword[length] = '\0';
    return length > 0;
}

/* Makes the keyword of a text entry. *is_held is false if PNG cannot hold the text. */
static enum status convert_keyword(const struct text_entry *entry, char keyword[KEYWORD_MAX + 1],
                                   bool *is_held, struct error *error)
{
    char *latin1 = NULL;
    enum status status = latin1_from_utf8(entry->key, &latin1, error);
    /* A text with `item` describes a channel or is GDAL's: PNG cannot hold it. */
    *is_held = entry->item == NULL && latin1 != NULL && make_keyword(latin1, keyword);
    free(latin1);
    return status;
}

bool png_holds_text(const struct text_entry *text)
{
    struct error ignored; /* out of memory counts as held: png_write_text will report it */
    char keyword[KEYWORD_MAX + 1];
    bool is_held;
    return convert_keyword(text, keyword, &is_held, &ignored) != STATUS_OK || is_held;
}

/* Writes a text as tEXt, zTXt or iTXt. Readers look for XMP in iTXt only, and only iTXt has a language. */
static enum status png_write_text(FILE *file, const struct text_entry *entry, struct error *error)
{
    char keyword[KEYWORD_MAX + 1], *latin1 = NULL;
    unsigned char *deflated = NULL;
    bool is_held;
    enum status status = convert_keyword(entry, keyword, &is_held, error);
    if (status != STATUS_OK || !is_held)
        return status;
    if (strcmp(keyword, XMP_KEY) != 0 && entry->language == NULL && entry->translated == NULL)
        status = latin1_from_utf8(entry->value, &latin1, error);
    const char *const value = latin1 == NULL ? entry->value : latin1;
    struct piece text = {value, strlen(value)};
    if (status == STATUS_OK && entry->compressed)
        status = deflate_piece(&text, &deflated, error);
    /* Layouts: see split_chunk in metadata_read.c. Compression method 0 is deflate; tEXt has no method. */
    if (status == STATUS_OK && latin1 != NULL) {
        const struct piece pieces[] = {piece_with_nul(keyword), {"\0", entry->compressed ? 1 : 0}, text};
        status = write_pieces(file, entry->compressed ? "zTXt" : "tEXt", pieces, 3, error);
    } else if (status == STATUS_OK) {
        const struct piece pieces[] = {piece_with_nul(keyword),
                                       {entry->compressed ? "\1\0" : "\0\0", 2},
                                       piece_with_nul(entry->language),
                                       piece_with_nul(entry->translated),
                                       text};
        status = write_pieces(file, "iTXt", pieces, 5, error);
    }
    free(latin1);
    free(deflated);
    return status;
}

/* ---------------------------------------------------------------- numbers */

/* Rounds to a number from `least` to the largest that a chunk can store. */
static png_uint_32 to_integer(double value, double least)
{
    return (png_uint_32)fmin(fmax(round(value), least), PNG_UINT_31_MAX);
}

/* True if pHYs can store the resolution, in whole pixels per metre. Below 1 it can store only the ratio. */
static bool holds_unit(const struct metadata *metadata)
{
    return metadata->resolution_unit == RESOLUTION_PER_METRE &&
           fmin(metadata->x_resolution, metadata->y_resolution) >= 1;
}

void png_note_left_out(struct image_info *info)
{
    if (info->metadata.resolution_unit == RESOLUTION_PER_METRE && !holds_unit(&info->metadata))
        metadata_note_left_out(&info->metadata, "the resolution but for its ratio");
}

enum status png_metadata_write(FILE *file, const struct image_info *info, struct error *error)
{
    const struct metadata *metadata = &info->metadata;
    const double x = metadata->x_resolution, y = metadata->y_resolution;
    unsigned char data[32], *deflated = NULL;
    enum status status = STATUS_OK;

    /* gAMA and cHRM, in units of 1/100000. */
    if (metadata->gamma > 0) {
        png_save_uint_32(data, to_integer(metadata->gamma * PNG_FP_1, 0));
        status = png_chunk_write(file, "gAMA", data, 4, error);
    }
    if (status == STATUS_OK && metadata->has_chromaticities) {
        for (int i = 0; i < 8; i++)
            png_save_uint_32(data + 4 * i, to_integer(metadata->chromaticities[i] * PNG_FP_1, 0));
        status = png_chunk_write(file, "cHRM", data, 32, error);
    }

    /* The ICC profile, if it fits the channels and programs that use libpng accept it; or sRGB: the
     * specification does not want both. */
    if (status == STATUS_OK && metadata->icc.data != NULL && png_holds_icc(&metadata->icc, info->channels)) {
        static const char name[] = "ICC profile\0"; /* the second NUL: deflate */
        struct piece pieces[] = {{name, sizeof name}, {metadata->icc.data, png_icc_size(&metadata->icc)}};
        status = deflate_piece(&pieces[1], &deflated, error);
        if (status == STATUS_OK)
            status = write_pieces(file, "iCCP", pieces, 2, error);
        free(deflated);
    } else if (status == STATUS_OK && metadata->srgb) {
        data[0] = (unsigned char)metadata->rendering_intent;
        status = png_chunk_write(file, "sRGB", data, 1, error);
    }
    if (status == STATUS_OK && metadata->has_cicp)
        status = png_chunk_write(file, "cICP", metadata->cicp, 4, error);

    /* pHYs: pixels per metre, or a ratio. A ratio that does not consist of whole numbers is scaled: the
     * smaller one becomes 1000. */
    if (status == STATUS_OK && metadata->resolution_unit != RESOLUTION_ABSENT && x > 0 && y > 0) {
        const bool metric = holds_unit(metadata);
        const double scale = metric || (x == round(x) && y == round(y)) ? 1 : 1000 / fmin(x, y);
        png_save_uint_32(data, to_integer(x * scale, 1));
        png_save_uint_32(data + 4, to_integer(y * scale, 1));
        data[8] = metric ? PNG_RESOLUTION_METER : PNG_RESOLUTION_UNKNOWN;
        status = png_chunk_write(file, "pHYs", data, 9, error);
    }

    /* EXIF with the metadata's orientation: a PNG can store the orientation only there. */
    struct blob exif = {NULL, 0};
    if (status == STATUS_OK)
        status = exif_with_orientation(metadata, true, &exif, error);
    if (status == STATUS_OK && exif.data != NULL)
        status = png_chunk_write(file, "eXIf", exif.data, exif.size, error);
    free(exif.data);
    for (size_t i = 0; status == STATUS_OK && i < metadata->text_count; i++)
        status = png_write_text(file, &metadata->texts[i], error);
    return status;
}

/* ---------------------------------------------------------------- ICC profiles
 *
 * A profile (ICC.1:2010, section 7) is written if it passes the checks of libpng 1.6.39 to 1.6.48
 * (png_icc_check_header and png_icc_check_tag_table), which programs built on libpng make when they read. */

enum {
    HEADER_SIZE = 132, /* bytes, with the number of tags at the end */
    TAG_SIZE = 12,     /* bytes: signature of a tag, offset and size of its data */
    VERSION_OFFSET = 8,
    CLASS_OFFSET = 12,
    COLOUR_OFFSET = 16,
    CONNECTION_OFFSET = 20,
    SIGNATURE_OFFSET = 36,
    INTENT_OFFSET = 64,
    TAGS_OFFSET = 128,
    INTENT_MAX = 0xfffe,
};

static uint32_t number_at(const struct blob *icc, size_t at)
{
    return png_get_uint_32(icc->data + at);
}

size_t png_icc_size(const struct blob *icc)
{
    const size_t stated = icc->size >= HEADER_SIZE ? number_at(icc, 0) : 0;
    return stated >= HEADER_SIZE && stated < icc->size ? stated : icc->size;
}

static bool has_signature(const struct blob *icc, size_t at, const char *signature)
{
    return memcmp(icc->data + at, signature, 4) == 0;
}

/* True if every tag's data are inside the profile. */
static bool has_whole_tags(const struct blob *icc, size_t size)
{
    const size_t count = number_at(icc, TAGS_OFFSET);
    if (count > (size - HEADER_SIZE) / TAG_SIZE)
        return false;
    for (size_t at = HEADER_SIZE; at < HEADER_SIZE + count * TAG_SIZE; at += TAG_SIZE) {
        const size_t start = number_at(icc, at + 4), length = number_at(icc, at + 8);
        if (start > size || length > size - start)
            return false;
    }
    return true;
}

bool png_holds_icc(const struct blob *icc, int channels)
{
    const size_t size = png_icc_size(icc);
    return size >= HEADER_SIZE && size <= PNG_UINT_31_MAX && number_at(icc, 0) == size &&
           (icc->data[VERSION_OFFSET] <= 3 || size % 4 == 0) && number_at(icc, INTENT_OFFSET) <= INTENT_MAX &&
           has_signature(icc, SIGNATURE_OFFSET, "acsp") && has_whole_tags(icc, size) &&
           !has_signature(icc, CLASS_OFFSET, "abst") && !has_signature(icc, CLASS_OFFSET, "link") &&
           has_signature(icc, COLOUR_OFFSET, channels <= 2 ? "GRAY" : "RGB ") &&
           (has_signature(icc, CONNECTION_OFFSET, "XYZ ") || has_signature(icc, CONNECTION_OFFSET, "Lab "));
}
