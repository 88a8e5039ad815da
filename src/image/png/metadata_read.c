#include "base/utf8.h"
#include "image/png/metadata.h"
#include "image/png/profile.h"

#include <stdlib.h>
#include <string.h>

static void take_chromaticities(const unsigned char *data, struct metadata *metadata)
{
    metadata->has_chromaticities = true;
    for (int i = 0; i < 8; i++)
        metadata->chromaticities[i] = png_get_uint_32(data + 4 * i) / (double)PNG_FP_1;
}

static uint32_t name_of(const png_byte *name)
{
    return png_get_uint_32(name);
}

/* bKGD is of the file's colour type and depth; it becomes red, green and blue of 16 bits. */
static bool take_background(const struct png_session *session, const png_unknown_chunk *chunk,
                            unsigned char rgb[6])
{
    int colours = 0;
    png_colorp palette;
    unsigned depth = png_get_bit_depth(session->png, session->info);
    if (chunk->size == 1 && png_get_PLTE(session->png, session->info, &palette, &colours) != 0 &&
        chunk->data[0] < colours) {
        const png_color *colour = &palette[chunk->data[0]];
        const png_byte values[3] = {colour->red, colour->green, colour->blue};
        for (int c = 0; c < 3; c++)
            rgb[2 * c] = rgb[2 * c + 1] = values[c];
        return true;
    }
    for (int c = 0; c < 3 && (chunk->size == 2 || chunk->size == 6); c++) {
        uint32_t value = png_get_uint_16(chunk->data + (chunk->size == 6 ? 2 * c : 0));
        uint32_t full = (1u << depth) - 1;
        png_save_uint_16(rgb + 2 * c, (value > full ? full : value) * UINT16_MAX / full);
    }
    return chunk->size == 2 || chunk->size == 6;
}

/* sBIT says it for the file's channels; it becomes red, green, blue and alpha, 0 where there is none. */
static bool take_significant_bits(const png_unknown_chunk *chunk, unsigned char rgba[4])
{
    if (chunk->size < 1 || chunk->size > 4)
        return false;
    bool gray = chunk->size <= 2;
    for (int c = 0; c < 3; c++)
        rgba[c] = chunk->data[gray ? 0 : c];
    rgba[3] = chunk->size % 2 == 0 ? chunk->data[chunk->size - 1] : 0;
    return true;
}

/* Chunks that are kept as they are, where nothing makes them false. */
static bool is_kept(uint32_t name)
{
    static const uint32_t kept[] = {CHUNK_NAME('t', 'I', 'M', 'E'), CHUNK_NAME('c', 'I', 'C', 'P'),
                                    CHUNK_NAME('m', 'D', 'C', 'V'), CHUNK_NAME('c', 'L', 'L', 'I'),
                                    CHUNK_NAME('o', 'F', 'F', 's'), CHUNK_NAME('s', 'C', 'A', 'L'),
                                    CHUNK_NAME('p', 'C', 'A', 'L')};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (kept[i] == name)
            return true;
    return false;
}

static enum status take_extra(const struct png_session *session, const png_unknown_chunk *chunk,
                              struct error *error)
{
    struct metadata *metadata = session->metadata;
    uint32_t name = name_of(chunk->name);
    unsigned char normal[6];
    if (name == CHUNK_NAME('b', 'K', 'G', 'D') && take_background(session, chunk, normal))
        return metadata_set_extra(metadata, EXTRA_CHUNK, name, normal, 6, error);
    if (name == CHUNK_NAME('s', 'B', 'I', 'T') && take_significant_bits(chunk, normal))
        return metadata_set_extra(metadata, EXTRA_CHUNK, name, normal, 4, error);
    if (is_kept(name))
        return metadata_set_extra(metadata, EXTRA_CHUNK, name, chunk->data, chunk->size, error);
    metadata_leave_out(metadata, (const char *)chunk->name);
    return STATUS_OK;
}

/* A chunk that libpng does not know, or was told not to know. Returns 1: it was dealt with; 0: it was not,
 * which is an error where the chunk's name says that the picture cannot be understood without it. */
static int take_chunk(png_structp png, png_unknown_chunkp chunk)
{
    struct png_session *session = png_get_user_chunk_ptr(png);
    struct metadata *metadata = session->metadata;
    const char *name = (const char *)chunk->name;
    if ((chunk->name[0] & 0x20) == 0)
        return 0;
    if (strcmp(name, "gAMA") == 0 && chunk->size == 4)
        metadata->gamma = png_get_uint_32(chunk->data) / (double)PNG_FP_1;
    else if (strcmp(name, "cHRM") == 0 && chunk->size == 32)
        take_chromaticities(chunk->data, metadata);
    else if (strcmp(name, "sRGB") == 0 && chunk->size == 1 && chunk->data[0] <= 3) {
        metadata->srgb = true;
        metadata->rendering_intent = chunk->data[0];
    } else if (strcmp(name, "acTL") == 0)
        metadata_warn(metadata, "is an animation, of which only the still picture is kept");
    else if (strcmp(name, "fcTL") != 0 && strcmp(name, "fdAT") != 0 &&
             take_extra(session, chunk, session->error) != STATUS_OK)
        session->out_of_memory = true;
    return 1;
}

void png_metadata_expect(struct png_session *session, struct metadata *metadata)
{
    /* libpng infers the first three from each other and from the ICC profile, drops those that contradict
     * each other, and does not tell what the file said. So it is told not to know them. The others are kept
     * as they are, and newer libpngs know more of them; the last two are named as left out. */
    static const png_byte own[] =
        "gAMA\0cHRM\0sRGB\0bKGD\0sBIT\0tIME\0cICP\0mDCV\0cLLI\0oFFs\0sCAL\0pCAL\0sPLT\0hIST";
    session->metadata = metadata;
    png_set_keep_unknown_chunks(session->png, PNG_HANDLE_CHUNK_ALWAYS, own, sizeof own / 5);
    png_set_read_user_chunk_fn(session->png, session, take_chunk);
}

/* Notes that libpng did not take a chunk. */
static void note_refused(const struct png_session *session, struct metadata *metadata, const char *chunk,
                         const char *what)
{
    if (png_session_doubts(session, chunk))
        metadata_leave_out(metadata, what);
}

static enum status take_icc(struct png_session *session, struct metadata *metadata, struct error *error)
{
    png_charp name;
    int method;
    png_bytep profile;
    png_uint_32 size;
    if (png_get_iCCP(session->png, session->info, &name, &method, &profile, &size) == 0) {
        note_refused(session, metadata, "iCCP", "the ICC profile, which is damaged or of other colours");
        return STATUS_OK;
    }
    return metadata_set_blob(&metadata->icc, profile, size, error);
}

static enum status take_exif(struct png_session *session, struct metadata *metadata, struct error *error)
{
    png_bytep exif;
    png_uint_32 size;
    if (png_get_eXIf_1(session->png, session->info, &size, &exif) == 0) {
        note_refused(session, metadata, "eXIf", "EXIF, which is damaged");
        return STATUS_OK;
    }
    enum status status = metadata_set_blob(&metadata->exif, exif, size, error);
    if (status == STATUS_OK)
        metadata->orientation = exif_orientation(&metadata->exif);
    return status;
}

static void take_resolution(struct png_session *session, struct metadata *metadata)
{
    png_uint_32 x, y;
    int unit;
    if (png_get_pHYs(session->png, session->info, &x, &y, &unit) == 0)
        note_refused(session, metadata, "pHYs", "the resolution, which is damaged");
    else if (x > 0 && y > 0) {
        metadata->resolution_unit = unit == PNG_RESOLUTION_METER ? RESOLUTION_PER_METRE : RESOLUTION_RATIO;
        metadata->x_resolution = x;
        metadata->y_resolution = y;
    }
}

static enum status take_text(const png_text *text, struct metadata *metadata, struct error *error)
{
    bool international = text->compression >= PNG_ITXT_COMPRESSION_NONE;
    size_t size = international ? text->itxt_length : text->text_length;
    bool utf8 = international && utf8_is_valid(text->text, size);

    struct text_entry entry = {.compressed = text->compression == PNG_TEXT_COMPRESSION_zTXt ||
                                             text->compression == PNG_ITXT_COMPRESSION_zTXt};
    if (international && text->lang != NULL && text->lang[0] != '\0')
        entry.language = text->lang;
    if (international && text->lang_key != NULL && text->lang_key[0] != '\0' &&
        utf8_is_valid(text->lang_key, strlen(text->lang_key)))
        entry.translated = text->lang_key;
    enum status status = STATUS_FAILED;
    entry.key = utf8_from_latin1(text->key, strlen(text->key), error);
    char *value = utf8 || entry.key == NULL ? NULL : utf8_from_latin1(text->text, size, error);
    entry.value = utf8 ? text->text : value;
    bool taken = false;
    if (entry.key != NULL && entry.value != NULL)
        status = png_profile_take(&entry, metadata, &taken, error);
    if (status == STATUS_OK && !taken)
        status = metadata_add_text(metadata, &entry, error);
    free(entry.key);
    free(value);
    return status;
}

static enum status take_texts(struct png_session *session, struct metadata *metadata, struct error *error)
{
    png_textp texts = NULL;
    int count = png_get_text(session->png, session->info, &texts, NULL);
    enum status status = STATUS_OK;
    note_refused(session, metadata, "Xt:" /* of tEXt, zTXt and iTXt */, "texts that are damaged or too many");
    for (int i = 0; status == STATUS_OK && i < count; i++)
        status = take_text(&texts[i], metadata, error);
    return status;
}

void png_metadata_forget(struct png_session *session, struct metadata *late)
{
    session->metadata = late;
    png_free_data(session->png, session->info, PNG_FREE_TEXT | PNG_FREE_EXIF, -1);
}

enum status png_metadata_take_late(struct png_session *session, struct metadata *late, struct error *error)
{
    enum status status = take_exif(session, late, error);
    return status == STATUS_OK ? take_texts(session, late, error) : status;
}

enum status png_metadata_take(struct png_session *session, struct metadata *metadata, struct error *error)
{
    take_resolution(session, metadata);
    enum status status = take_icc(session, metadata, error);
    if (status == STATUS_OK)
        status = take_exif(session, metadata, error);
    return status == STATUS_OK ? take_texts(session, metadata, error) : status;
}
