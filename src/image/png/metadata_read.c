/* Reads the chunks before the pixels, one function for each kind.
 *
 * libpng checks the CRCs and hands the chunks over as they are (png_set_read_user_chunk_fn). Its getters are
 * not used: libpng would derive some chunks from others, drop those that contradict each other, and each of
 * its versions would do so differently. */
#include "image/inflate.h"
#include "image/png/png.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Bounds: of what all chunks together unpack to, and of one. The largest real ones are ICC profiles and
     * XMP of a few megabytes. */
    CHUNKS_SIZE_MAX = 32 << 20,
    CHUNK_SIZE_MAX = 16 << 20,
};

/* Inflates a zlib stream and appends a NUL. unpacked->data, which the caller frees, is NULL if the stream is
 * damaged or longer than `most`. unpacked->size is the number of bytes that were inflated; larger than `most`
 * if the stream is longer. */
static enum status unpack(const unsigned char *bytes, size_t size, size_t most, struct blob *unpacked,
                          struct error *error)
{
    enum { CAPACITY_MIN = 4096 };
    struct inflate_state *stream = allocate(sizeof *stream, "metadata", error);
    enum status status = stream == NULL ? STATUS_FAILED : STATUS_OK;
    size_t capacity = 0, made = 1;
    bool whole = false, damaged = false; /* after damage ISA-L must not go on: it reads beyond its buffers */
    *unpacked = (struct blob){NULL, 0};
    if (stream != NULL) {
        inflate_begin(stream);
        inflate_feed(stream, bytes, size);
    }
    while (status == STATUS_OK && made > 0 && !whole && !damaged && unpacked->size <= most) {
        if (unpacked->size == capacity) { /* for at least one more byte, and the NUL */
            capacity = capacity < CAPACITY_MIN ? CAPACITY_MIN : 2 * capacity;
            capacity = capacity < most + 1 ? capacity : most + 1;
            unsigned char *grown = realloc(unpacked->data, capacity + 1);
            if (grown == NULL) {
                status = fail_memory(error, "out of memory for metadata");
                break;
            }
            unpacked->data = grown;
        }
        damaged =
            inflate_some(stream, unpacked->data + unpacked->size, capacity - unpacked->size, &made) != 0;
        whole = !damaged && inflate_has_ended(stream);
        unpacked->size += made;
    }
    free(stream);
    if (whole && unpacked->size <= most) {
        unpacked->data[unpacked->size] = '\0';
        return STATUS_OK;
    }
    free(unpacked->data);
    unpacked->data = NULL;
    return status;
}

enum status png_metadata_unpack(struct png_session *session, const unsigned char *bytes, size_t size,
                                struct blob *unpacked)
{
    const size_t most = session->room < CHUNK_SIZE_MAX ? session->room : CHUNK_SIZE_MAX;
    enum status status = unpack(bytes, size, most, unpacked, session->error);
    if (unpacked->size > most) {
        session->room -= most; /* the time that it took must be bounded, too */
        png_session_reserve_budget(session, SIZE_MAX);
    } else
        session->room -= unpacked->size;
    return status;
}

/* Notes a chunk that is damaged or unknown. */
static enum status png_leave_out(struct png_session *session, const char *what)
{
    metadata_leave_out(session->metadata, what);
    return STATUS_OK;
}

static enum status take_gamma(struct png_session *session, const png_unknown_chunk *chunk)
{
    session->metadata->gamma = png_get_uint_32(chunk->data) / (double)PNG_FP_1;
    return STATUS_OK;
}

static enum status take_chromaticities(struct png_session *session, const png_unknown_chunk *chunk)
{
    session->metadata->has_chromaticities = true;
    for (int i = 0; i < 8; i++)
        session->metadata->chromaticities[i] = png_get_uint_32(chunk->data + 4 * i) / (double)PNG_FP_1;
    return STATUS_OK;
}

static enum status take_srgb(struct png_session *session, const png_unknown_chunk *chunk)
{
    if (chunk->data[0] > 3)
        return png_leave_out(session, "sRGB");
    session->metadata->srgb = true;
    session->metadata->rendering_intent = chunk->data[0];
    return STATUS_OK;
}

/* The chunk: a name and its NUL, the compression method 0, the profile as a zlib stream. */
static enum status take_icc(struct png_session *session, const png_unknown_chunk *chunk)
{
    const size_t name = strnlen((const char *)chunk->data, chunk->size);
    const bool gray = (png_get_color_type(session->png, session->info) & PNG_COLOR_MASK_COLOR) == 0;
    struct blob icc = {NULL, 0};
    enum status status = STATUS_OK;
    if (chunk->size > name + 2 && chunk->data[name + 1] == 0)
        status = png_metadata_unpack(session, chunk->data + name + 2, chunk->size - name - 2, &icc);
    if (status == STATUS_OK && (icc.data == NULL || !png_icc_is_valid(&icc, gray ? 1 : 3)))
        metadata_leave_out(session->metadata, "the ICC profile, which is damaged or of other colours");
    else if (status == STATUS_OK)
        status = metadata_set_blob(&session->metadata->icc, icc.data, png_icc_size(&icc), session->error);
    free(icc.data);
    return status;
}

static enum status take_exif(struct png_session *session, const png_unknown_chunk *chunk)
{
    struct metadata *metadata = session->metadata;
    if (chunk->size < 4 || (memcmp(chunk->data, "II*\0", 4) != 0 && memcmp(chunk->data, "MM\0*", 4) != 0))
        return png_leave_out(session, "EXIF, which is damaged");
    if (metadata->exif.data != NULL) /* from a text */
        return png_leave_out(session, "a second EXIF");
    if (!png_session_reserve_budget(session, chunk->size))
        return STATUS_OK;
    enum status status = metadata_set_blob(&metadata->exif, chunk->data, chunk->size, session->error);
    if (status == STATUS_OK)
        metadata->orientation = exif_orientation(&metadata->exif);
    return status;
}

static enum status take_resolution(struct png_session *session, const png_unknown_chunk *chunk)
{
    struct metadata *metadata = session->metadata;
    if (chunk->size != 9 || chunk->data[8] >= PNG_RESOLUTION_LAST)
        return png_leave_out(session, "the resolution, which is damaged");
    const uint32_t x = png_get_uint_32(chunk->data), y = png_get_uint_32(chunk->data + 4);
    const bool metric = chunk->data[8] == PNG_RESOLUTION_METER;
    if (x > 0 && y > 0) {
        metadata->resolution_unit = metric ? RESOLUTION_PER_METRE : RESOLUTION_RATIO;
        metadata->x_resolution = x;
        metadata->y_resolution = y;
    }
    return STATUS_OK;
}

static enum status take_cicp(struct png_session *session, const png_unknown_chunk *chunk)
{
    session->metadata->has_cicp = true;
    memcpy(session->metadata->cicp, chunk->data, sizeof session->metadata->cicp);
    return STATUS_OK;
}

static enum status note_animation(struct png_session *session, const png_unknown_chunk *chunk)
{
    (void)chunk;
    metadata_warn(session->metadata, "is an animation, of which only the still picture is kept");
    return STATUS_OK;
}

/* In RGB files the palette is a suggestion for displays of few colours, and ignored. */
static enum status take_palette(struct png_session *session, const png_unknown_chunk *chunk)
{
    const int most = 1 << png_get_bit_depth(session->png, session->info), count = (int)(chunk->size / 3);
    png_color colours[256];
    if (png_get_color_type(session->png, session->info) != PNG_COLOR_TYPE_PALETTE)
        return STATUS_OK;
    if (count == 0 || chunk->size % 3 != 0)
        png_chunk_error(session->png, "invalid length");
    for (int i = 0; i < count && i < most; i++)
        colours[i] = (png_color){chunk->data[3 * i], chunk->data[3 * i + 1], chunk->data[3 * i + 2]};
    png_set_PLTE(session->png, session->info, colours, count < most ? count : most);
    return STATUS_OK;
}

/* Chunks that climg knows. A chunk of another size than `size` is damaged. */
static const struct kind {
    char name[5];
    bool repeats;  /* a file may have several */
    unsigned size; /* bytes of data; 0: any */
    enum status (*take)(struct png_session *session, const png_unknown_chunk *chunk); /* NULL: ignored */
} kinds[] = {
    {"PLTE", false, 0, take_palette},
    {"gAMA", false, 4, take_gamma},
    {"cHRM", false, 32, take_chromaticities},
    {"sRGB", false, 1, take_srgb},
    {"iCCP", false, 0, take_icc},
    {"cICP", false, 4, take_cicp},
    {"pHYs", false, 0, take_resolution},
    {"eXIf", false, 0, take_exif},
    {"tEXt", true, 0, png_text_take},
    {"zTXt", true, 0, png_text_take},
    {"iTXt", true, 0, png_text_take},
    {"acTL", false, 0, note_animation},
    {"fcTL", true, 0, NULL},
};

/* Returns NULL if climg does not know the chunk. */
static const struct kind *kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

void png_metadata_note_trailing(struct metadata *trailing, const char *name)
{
    if (strcmp(name, "eXIf") == 0) /* it may say how the picture is to be turned */
        metadata_warn(
            trailing,
            "has EXIF after its pixels, which is left out; exiftool -tagsfromfile @ -all:all FILE moves it");
    else if (strcmp(name, "fcTL") != 0 && strcmp(name, "fdAT") != 0) /* an animation's, of which it is said */
        metadata_leave_out(trailing, name);
}

/* Reads a chunk, or notes that it is left out. */
static enum status take(struct png_session *session, const png_unknown_chunk *chunk)
{
    const struct kind *kind = kind_of((const char *)chunk->name);
    if (kind == NULL)
        return png_leave_out(session, (const char *)chunk->name);
    const uint64_t bit = UINT64_C(1) << (kind - kinds);
    if ((session->seen & bit) != 0 && !kind->repeats) {
        char what[32];
        snprintf(what, sizeof what, "a second %s", kind->name);
        return png_leave_out(session, what);
    }
    session->seen |= bit;
    if (kind->size > 0 && chunk->size != kind->size)
        return png_leave_out(session, kind->name);
    return kind->take == NULL ? STATUS_OK : kind->take(session, chunk);
}

/* libpng's callback for each chunk that it does not read itself. Returns 0, which is an error, if the picture
 * cannot be understood without the chunk. */
static int take_chunk(png_structp png, png_unknown_chunkp chunk)
{
    struct png_session *session = png_get_user_chunk_ptr(png);
    const char *name = (const char *)chunk->name;
    const bool damaged = session->damaged;
    png_byte nothing;
    png_unknown_chunk known = *chunk;
    if (known.data == NULL) /* libpng gives a chunk of no bytes no address */
        known.data = &nothing;
    session->damaged = false;
    if ((chunk->name[0] & 0x20) == 0 && strcmp(name, "PLTE") != 0)
        return 0;
    if (png_get_image_width(png, session->info) == 0)
        png_chunk_error(png, "missing IHDR");
    if ((chunk->location & PNG_AFTER_IDAT) != 0)
        png_metadata_note_trailing(session->trailing, name);
    else if (!damaged && (take(session, &known) != STATUS_OK || session->failed)) {
        session->failed = true;
        png_error(png, "a chunk");
    }
    return 1;
}

void png_metadata_expect(struct png_session *session, struct metadata *metadata, struct metadata *trailing,
                         uint64_t memory)
{
    session->metadata = metadata;
    session->trailing = trailing;
    session->short_of_memory = memory > 0 && memory < CHUNKS_SIZE_MAX;
    session->room = session->short_of_memory ? (size_t)memory : CHUNKS_SIZE_MAX;
    png_set_chunk_malloc_max(session->png, session->room < CHUNK_SIZE_MAX ? session->room : CHUNK_SIZE_MAX);
    png_set_keep_unknown_chunks(session->png, PNG_HANDLE_CHUNK_ALWAYS, NULL, -1);
    png_set_keep_unknown_chunks(session->png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep) "PLTE", 1);
    png_set_read_user_chunk_fn(session->png, session, take_chunk);
}
