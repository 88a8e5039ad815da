#include "base/utf8.h"
#include "image/metadata/exif.h"
#include "image/png/metadata.h"

#include <stdlib.h>
#include <string.h>

static void take_chromaticities(const unsigned char *data, struct metadata *metadata)
{
    metadata->has_chromaticities = true;
    for (int i = 0; i < 8; i++)
        metadata->chromaticities[i] = png_get_uint_32(data + 4 * i) / (double)PNG_FP_1;
}

/* A chunk that libpng does not know, or was told not to know. Returns 1: it was dealt with. */
static int take_chunk(png_structp png, png_unknown_chunkp chunk)
{
    struct metadata *metadata = png_get_user_chunk_ptr(png);
    const char *name = (const char *)chunk->name;
    if (strcmp(name, "gAMA") == 0 && chunk->size == 4)
        metadata->gamma = png_get_uint_32(chunk->data) / (double)PNG_FP_1;
    else if (strcmp(name, "cHRM") == 0 && chunk->size == 32)
        take_chromaticities(chunk->data, metadata);
    else if (strcmp(name, "sRGB") == 0 && chunk->size == 1 && chunk->data[0] <= 3) {
        metadata->srgb = true;
        metadata->rendering_intent = chunk->data[0];
    }
    return 1;
}

void png_metadata_expect(struct png_session *session, struct metadata *metadata)
{
    /* libpng infers these from each other and from the ICC profile, drops those that contradict each other,
     * and does not tell what the file said. So it is told not to know them. */
    static const png_byte own[] = "gAMA\0cHRM\0sRGB";
    png_set_keep_unknown_chunks(session->png, PNG_HANDLE_CHUNK_ALWAYS, own, 3);
    png_set_read_user_chunk_fn(session->png, metadata, take_chunk);
}

static enum status take_icc(struct png_session *session, struct metadata *metadata, struct error *error)
{
    png_charp name;
    int method;
    png_bytep profile;
    png_uint_32 size;
    if (png_get_iCCP(session->png, session->info, &name, &method, &profile, &size) == 0)
        return STATUS_OK;
    return metadata_set_blob(&metadata->icc, profile, size, error);
}

static enum status take_exif(struct png_session *session, struct metadata *metadata, struct error *error)
{
    png_bytep exif;
    png_uint_32 size;
    if (png_get_eXIf_1(session->png, session->info, &size, &exif) == 0)
        return STATUS_OK;
    enum status status = metadata_set_blob(&metadata->exif, exif, size, error);
    if (status == STATUS_OK)
        metadata->orientation = exif_orientation(&metadata->exif);
    return status;
}

static void take_resolution(struct png_session *session, struct metadata *metadata)
{
    png_uint_32 x, y;
    int unit;
    if (png_get_pHYs(session->png, session->info, &x, &y, &unit) == 0 || x == 0 || y == 0)
        return;
    metadata->resolution_unit = unit == PNG_RESOLUTION_METER ? RESOLUTION_PER_METRE : RESOLUTION_RATIO;
    metadata->x_resolution = x;
    metadata->y_resolution = y;
}

static enum status take_text(const png_text *text, struct metadata *metadata, struct error *error)
{
    bool international = text->compression >= PNG_ITXT_COMPRESSION_NONE;
    size_t size = international ? text->itxt_length : text->text_length;
    bool utf8 = international && utf8_is_valid(text->text, size);

    enum status status = STATUS_FAILED;
    char *key = utf8_from_latin1(text->key, strlen(text->key), error);
    char *value = utf8 || key == NULL ? NULL : utf8_from_latin1(text->text, size, error);
    if (key != NULL && utf8)
        status = metadata_set_text(metadata, key, text->text, size, error);
    else if (key != NULL && value != NULL)
        status = metadata_set_text(metadata, key, value, strlen(value), error);
    free(key);
    free(value);
    return status;
}

enum status png_metadata_take(struct png_session *session, struct metadata *metadata, struct error *error)
{
    take_resolution(session, metadata);
    enum status status = take_icc(session, metadata, error);
    if (status == STATUS_OK)
        status = take_exif(session, metadata, error);

    png_textp texts = NULL;
    int count = png_get_text(session->png, session->info, &texts, NULL);
    for (int i = 0; status == STATUS_OK && i < count; i++)
        status = take_text(&texts[i], metadata, error);
    return status;
}
