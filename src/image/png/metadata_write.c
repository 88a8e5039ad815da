#include "base/utf8.h"
#include "image/png/metadata.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* libpng's calls that may fail, each with what it is given: a step of its own, so that the callers may own
 * memory. */
struct gift {
    struct png_session *session;
    const struct blob *blob;
    png_text text;
    int colour_type;
};

enum { ICC_SIZE_MIN = 132 /* header and number of tags; the profile's size stands first (ICC.1, 7.2) */ };

static enum status set_icc(void *context, struct error *error)
{
    (void)error;
    const struct gift *gift = context;
    png_structp png = gift->session->png;
    png_infop info = gift->session->info;
    const png_uint_32 size = (png_uint_32)gift->blob->size, said = png_get_uint_32(gift->blob->data);
    const bool padded = said >= ICC_SIZE_MIN && said < size;
    png_set_iCCP(png, info, "ICC profile", PNG_COMPRESSION_TYPE_BASE, gift->blob->data, padded ? said : size);
    /* What libpng infers from the profile; png_metadata_write_chunks writes what was said. */
    png_set_invalid(png, info, PNG_INFO_gAMA | PNG_INFO_cHRM | PNG_INFO_sRGB);
    return STATUS_OK;
}

static enum status set_exif(void *context, struct error *error)
{
    (void)error;
    const struct gift *gift = context;
    png_set_eXIf_1(gift->session->png, gift->session->info, (png_uint_32)gift->blob->size, gift->blob->data);
    return STATUS_OK;
}

static enum status set_text(void *context, struct error *error)
{
    (void)error;
    struct gift *gift = context;
    png_set_text(gift->session->png, gift->session->info, &gift->text, 1);
    return STATUS_OK;
}

static bool is_size_of_icc(const struct blob *icc)
{
    return icc->data != NULL && icc->size >= ICC_SIZE_MIN && icc->size <= PNG_UINT_31_MAX;
}

static enum status try_icc(void *context, struct error *error)
{
    const struct gift *gift = context;
    png_set_IHDR(gift->session->png, gift->session->info, 1, 1, 8, gift->colour_type, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    return set_icc(context, error);
}

/* libpng passes over a profile that is damaged, or of other colours than the file. */
bool png_metadata_holds_icc(const struct blob *icc, int channels)
{
    struct error ignored; /* writing it will say that memory ran out */
    struct png_session session;
    struct gift gift = {.session = &session,
                        .blob = icc,
                        .colour_type = channels <= 2 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB};
    if (!is_size_of_icc(icc))
        return false;
    const bool held = png_session_open_write(&session, NULL, &ignored) != STATUS_OK ||
                      png_session_run(&session, try_icc, &gift, &ignored) != STATUS_OK ||
                      png_get_valid(session.png, session.info, PNG_INFO_iCCP) != 0;
    png_session_close_write(&session);
    return held;
}

static enum status give_icc(struct png_session *session, const struct blob *icc, struct error *error)
{
    struct gift gift = {.session = session, .blob = icc};
    return is_size_of_icc(icc) ? png_session_run(session, set_icc, &gift, error) : STATUS_OK;
}

/* EXIF is PNG's only place for the orientation. */
static enum status give_exif(struct png_session *session, const struct metadata *metadata,
                             struct error *error)
{
    struct blob exif = {NULL, 0};
    struct gift gift = {.session = session, .blob = &exif};
    enum status status = STATUS_OK;
    if (metadata->exif.data != NULL)
        status = metadata_set_blob(&exif, metadata->exif.data, metadata->exif.size, error);

    int said = exif.data == NULL ? 0 : exif_orientation(&exif);
    int upright = 1; /* what nothing said means */
    int wanted = metadata->orientation == 0 ? said : metadata->orientation;
    if (status == STATUS_OK && wanted > 0 && wanted != (said == 0 ? upright : said))
        status = exif_set_orientation(&exif, wanted, error);
    if (status == STATUS_OK && exif.data != NULL && exif.size <= PNG_UINT_31_MAX)
        status = png_session_run(session, set_exif, &gift, error);
    free(exif.data);
    return status;
}

/* A keyword without a visible character is an error to libpng, and one that is too long it cuts off; anything
 * else it puts right. */
static bool is_keyword(const char *latin1)
{
    enum { KEYWORD_MAX = 79 };
    if (strlen(latin1) > KEYWORD_MAX)
        return false;
    for (; *latin1 != '\0'; latin1++) {
        unsigned char character = (unsigned char)*latin1;
        if ((character > 0x20 && character < 0x7f) || character > 0xa0)
            return true;
    }
    return false;
}

bool png_metadata_holds(const struct text_entry *text)
{
    struct error ignored; /* writing it will say that memory ran out */
    char *latin1 = NULL;
    if (text->item != NULL) /* it tells of a channel, or of what only GDAL knows */
        return false;
    const bool holds =
        latin1_from_utf8(text->key, &latin1, &ignored) != STATUS_OK || (latin1 != NULL && is_keyword(latin1));
    free(latin1);
    return holds;
}

static enum status give_text(struct png_session *session, const struct text_entry *entry, struct error *error)
{
    char *key = NULL;
    char *value = NULL;
    enum status status = latin1_from_utf8(entry->key, &key, error);
    if (status != STATUS_OK || key == NULL || entry->item != NULL || !is_keyword(key))
        goto out; /* PNG has no way to write such a keyword */

    /* XMP is looked for in iTXt only. */
    if (strcmp(key, XMP_KEY) != 0 && entry->language == NULL && entry->translated == NULL)
        status = latin1_from_utf8(entry->value, &value, error);
    if (status != STATUS_OK)
        goto out;
    struct gift gift = {.session = session};
    if (value == NULL)
        gift.text.compression = entry->compressed ? PNG_ITXT_COMPRESSION_zTXt : PNG_ITXT_COMPRESSION_NONE;
    else
        gift.text.compression = entry->compressed ? PNG_TEXT_COMPRESSION_zTXt : PNG_TEXT_COMPRESSION_NONE;
    gift.text.lang = entry->language;
    gift.text.lang_key = entry->translated;
    gift.text.key = key;
    gift.text.text = value == NULL ? entry->value : value;
    status = png_session_run(session, set_text, &gift, error);
out:
    free(key);
    free(value);
    return status;
}

static png_uint_32 whole_number(double value)
{
    return (png_uint_32)fmin(fmax(round(value), 1), PNG_UINT_31_MAX);
}

static void give_resolution(struct png_session *session, const struct metadata *metadata)
{
    double x = metadata->x_resolution;
    double y = metadata->y_resolution;
    if (metadata->resolution_unit == RESOLUTION_ABSENT || !(x > 0) || !(y > 0))
        return;
    bool metric = metadata->resolution_unit == RESOLUTION_PER_METRE;
    /* A ratio need not be one of whole numbers yet. */
    double scale = metric || (x == round(x) && y == round(y)) ? 1 : 1000 / fmin(x, y);
    png_set_pHYs(session->png, session->info, whole_number(x * scale), whole_number(y * scale),
                 metric ? PNG_RESOLUTION_METER : PNG_RESOLUTION_UNKNOWN);
}

enum status png_metadata_give(struct png_session *session, const struct image_info *info, struct error *error)
{
    const struct metadata *metadata = &info->metadata;
    give_resolution(session, metadata);
    enum status status = give_icc(session, &metadata->icc, error);
    if (status == STATUS_OK)
        status = give_exif(session, metadata, error);
    for (size_t i = 0; status == STATUS_OK && i < metadata->text_count; i++)
        status = give_text(session, &metadata->texts[i], error);
    return status;
}

static png_uint_32 to_fixed_point(double value)
{
    return (png_uint_32)fmin(fmax(round(value * PNG_FP_1), 0), PNG_UINT_31_MAX);
}

static void write_background(png_structp png, const struct image_info *info, const unsigned char rgb[6])
{
    unsigned char data[6];
    bool wide = info->type == SAMPLE_UINT16, gray = info->channels <= 2;
    if (gray && (memcmp(rgb, rgb + 2, 2) != 0 || memcmp(rgb, rgb + 4, 2) != 0))
        return;
    for (int c = 0; c < 3; c++) {
        unsigned value = png_get_uint_16(rgb + 2 * c);
        png_save_uint_16(data + 2 * c, wide ? value : (value + 128) / 257);
    }
    png_write_chunk(png, (png_const_bytep) "bKGD", data, gray ? 2 : 6);
}

static void write_significant_bits(png_structp png, const struct image_info *info,
                                   const unsigned char rgba[4])
{
    unsigned char data[4];
    const unsigned char depth = info->type == SAMPLE_UINT16 ? 16 : 8;
    const int channels = info->channels, colours = channels <= 2 ? 1 : 3;
    for (int c = 0; c < channels; c++) {
        unsigned char bits = rgba[c < colours ? c : 3];
        data[c] = bits == 0 || bits > depth ? depth : bits;
    }
    png_write_chunk(png, (png_const_bytep) "sBIT", data, (size_t)channels);
}

/* All of them may stand here: there is no palette, which some have to precede and others to follow. */
static void write_extras(png_structp png, const struct image_info *info)
{
    for (size_t i = 0; i < info->metadata.extra_count; i++) {
        const struct extra *extra = &info->metadata.extras[i];
        unsigned char name[4];
        png_save_uint_32(name, extra->name);
        if (extra->place != EXTRA_CHUNK)
            continue;
        if (memcmp(name, "bKGD", 4) == 0)
            write_background(png, info, extra->data.data);
        else if (memcmp(name, "sBIT", 4) == 0)
            write_significant_bits(png, info, extra->data.data);
        else
            png_write_chunk(png, name, extra->data.data, extra->data.size);
    }
}

void png_metadata_write_chunks(struct png_session *session, const struct image_info *info)
{
    const struct metadata *metadata = &info->metadata;
    unsigned char data[32];
    if (metadata->gamma > 0) {
        png_save_uint_32(data, to_fixed_point(metadata->gamma));
        png_write_chunk(session->png, (png_const_bytep) "gAMA", data, 4);
    }
    if (metadata->has_chromaticities) {
        for (int i = 0; i < 8; i++)
            png_save_uint_32(data + 4 * i, to_fixed_point(metadata->chromaticities[i]));
        png_write_chunk(session->png, (png_const_bytep) "cHRM", data, 32);
    }
    /* The specification wants sRGB or iCCP, not both. */
    if (metadata->srgb && png_get_valid(session->png, session->info, PNG_INFO_iCCP) == 0) {
        data[0] = (unsigned char)metadata->rendering_intent;
        png_write_chunk(session->png, (png_const_bytep) "sRGB", data, 1);
    }
    write_extras(session->png, info);
}
