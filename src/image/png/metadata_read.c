/* Parses the chunks before the pixels, with one function for each type.
 *
 * libpng checks the CRCs and passes the chunks to on_chunk (png_set_read_user_chunk_fn). Its getters are not
 * used: libpng would derive some chunks from others and drop chunks that contradict each other, and its
 * versions differ in this. */
#include "base/text.h"
#include "image/ifd.h"
#include "image/inflate.h"
#include "image/png/png.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Maximum bytes after inflating, of all chunks and of one. The largest real chunks are ICC profiles and
     * XMP of a few megabytes. */
    CHUNKS_SIZE_MAX = 32 << 20,
    CHUNK_SIZE_MAX = 16 << 20,
};

/* Inflates the zlib stream in a chunk, within the budget, and appends a NUL, which inflated->size does not
 * count. The caller frees inflated->data. It is NULL if the stream is damaged, or too large, which is noted.
 */
static enum status inflate_chunk(struct png_session *session, const unsigned char *bytes, size_t size,
                                 struct blob *inflated)
{
    enum { CAPACITY_MIN = 4096 };
    const size_t most = session->budget < CHUNK_SIZE_MAX ? session->budget : CHUNK_SIZE_MAX;
    struct inflate_state *stream = allocate(sizeof *stream, "metadata", session->error);
    enum status status = STATUS_OK;
    size_t capacity = 0, produced = 1;
    bool is_whole = false;
    int damage = 0; /* ISA-L's code. After damage ISA-L must not continue: it reads beyond its buffers */
    *inflated = (struct blob){NULL, 0};
    if (stream == NULL)
        return STATUS_FAILED;
    inflate_begin(stream);
    inflate_feed(stream, bytes, size);
    while (damage == 0 && produced > 0 && !is_whole && inflated->size <= most) {
        if (inflated->size == capacity) { /* grow, to at most one byte too many */
            capacity = capacity < CAPACITY_MIN ? CAPACITY_MIN : 2 * capacity;
            capacity = capacity < most + 1 ? capacity : most + 1;
            unsigned char *grown = realloc(inflated->data, capacity + 1 /* the NUL */);
            if (grown == NULL) {
                status = fail_memory(session->error, "out of memory for metadata");
                break;
            }
            inflated->data = grown;
        }
        damage = inflate_some(stream, inflated->data + inflated->size, capacity - inflated->size, &produced);
        inflated->size += produced;
        is_whole = damage == 0 && inflate_has_ended(stream) && inflated->size <= most;
    }
    free(stream);

    /* Discarded bytes count, too, as the time to inflate them must be bounded. */
    // cppcheck-suppress knownConditionTrueFalse
    session->budget -= inflated->size < most ? inflated->size : most;
    if (inflated->size > most)
        png_session_reserve_budget(session, SIZE_MAX);
    if (is_whole) {
        inflated->data[inflated->size] = '\0';
    } else {
        free(inflated->data);
        inflated->data = NULL;
    }
    return status;
}

/* ---------------------------------------------------------------- tEXt, zTXt, iTXt
 *
 * PNG had no chunk for EXIF before 2017. ImageMagick, exiv2 and programs that use them write EXIF and XMP as
 * raw profiles: texts of hexadecimal digits, with the keyword "Raw profile type exif", "... xmp" or, for
 * either, "... APP1":
 *
 *     line feed, "exif", line feed, "     1234", line feed, 2468 digits in lines
 *
 * The data may begin with the identifier of the segment that they would be in a JPEG. Such texts become EXIF
 * and XMP. */

/* Decodes hexadecimal digits to `size` bytes, which are zero before. False: the text has other characters, or
 * more or fewer digits. */
static bool read_digits(const char *text, unsigned char *bytes, size_t size)
{
    size_t done = 0;
    for (; *text != '\0'; text++) {
        if (isspace((unsigned char)*text))
            continue;
        if (!isxdigit((unsigned char)*text) || done == 2 * size)
            return false;
        const int digit =
            isdigit((unsigned char)*text) ? *text - '0' : tolower((unsigned char)*text) - 'a' + 10;
        bytes[done / 2] = (unsigned char)(bytes[done / 2] << 4 | digit);
        done++;
    }
    return done == 2 * size;
}

/* Decodes the text of a raw profile, and appends a NUL that bytes->size does not count. bytes->data stays
 * NULL if the text has another form. */
static enum status decode_profile(const char *text, struct blob *bytes, struct error *error)
{
    const char *name = text + strspn(text, "\n"), *number = strchr(name, '\n');
    char *digits;
    const unsigned long size = number != NULL ? strtoul(number, &digits, 10) : 0;
    if (size == 0 || size > strlen(digits) / 2)
        return STATUS_OK;
    unsigned char *data = allocate_zeroed(size + 1, 1, "metadata", error);
    if (data == NULL)
        return STATUS_FAILED;
    if (read_digits(digits, data, size))
        *bytes = (struct blob){data, size};
    else
        free(data);
    return STATUS_OK;
}

/* Skips the identifier, `size` bytes, at the start of the bytes. False: they begin otherwise. */
static bool skip_identifier(struct blob *bytes, const char *identifier, size_t size)
{
    if (bytes->size < size || memcmp(bytes->data, identifier, size) != 0)
        return false;
    bytes->data += size;
    bytes->size -= size;
    return true;
}

/* Adds the EXIF or XMP of a raw profile, unless the metadata have it already. *is_profile is false if the
 * text contains neither. */
static enum status add_raw_profile(const struct text_entry *entry, struct metadata *metadata,
                                   bool *is_profile, struct error *error)
{
    static const char prefix[] = "Raw profile type ";
    static const char exif_identifier[] = "Exif\0", xmp_identifier[] = "http://ns.adobe.com/xap/1.0/";
    struct ifd ifd;
    *is_profile = false;
    if (strncmp(entry->key, prefix, strlen(prefix)) != 0)
        return STATUS_OK;
    const char *type = entry->key + strlen(prefix);
    if (strcmp(type, "exif") != 0 && strcmp(type, "xmp") != 0 && strcmp(type, "APP1") != 0)
        return STATUS_OK;
    struct blob decoded = {NULL, 0};
    enum status status = decode_profile(entry->value, &decoded, error);
    if (decoded.data == NULL)
        return status;

    struct blob bytes = decoded; /* after the identifier */
    const bool is_xmp =
        skip_identifier(&bytes, xmp_identifier, sizeof xmp_identifier) || strcmp(type, "xmp") == 0;
    skip_identifier(&bytes, exif_identifier, sizeof exif_identifier);
    *is_profile = is_xmp || ifd_of_blob(&bytes, &ifd);
    const struct text_entry xmp = {
        .key = (char *)(uintptr_t)XMP_KEY, .value = (char *)bytes.data, .compressed = entry->compressed};
    if (is_xmp)
        status = metadata_add_text(metadata, &xmp, error);
    else if (*is_profile)
        status = metadata_add_exif(metadata, bytes.data, bytes.size, error);
    free(decoded.data);
    return status;
}

/* A chunk's parts. All but the text end in NUL. iTXt alone has a language and a translated keyword. */
struct text_parts {
    const char *key, *language, *translated, *text;
    size_t size; /* bytes of the text */
    bool is_itxt, is_compressed;
};

/* Returns in *part the next part, up to its NUL, and moves *left past it. False: the NUL is missing. */
static bool next_part(const char **left, size_t *size, const char **part)
{
    const size_t length = strnlen(*left, *size);
    if (length == *size)
        return false;
    *part = *left;
    *left += length + 1;
    *size -= length + 1;
    return true;
}

/* Finds the parts of a chunk (ISO/IEC 15948, 11.3.4):
 *
 *     tEXt  keyword NUL text
 *     zTXt  keyword NUL method text
 *     iTXt  keyword NUL flag method language NUL translated NUL text
 *
 * False: the chunk is damaged. */
static bool split_chunk(const png_unknown_chunk *chunk, struct text_parts *parts)
{
    const char *left = (const char *)chunk->data;
    size_t size = chunk->size;
    *parts = (struct text_parts){.is_itxt = chunk->name[0] == 'i', .is_compressed = chunk->name[0] == 'z'};
    if (!next_part(&left, &size, &parts->key) || parts->key[0] == '\0')
        return false;
    if (parts->is_itxt) {
        if (size < 1 || (unsigned char)left[0] > 1)
            return false;
        parts->is_compressed = left[0] == 1;
        left++, size--;
    }
    if (parts->is_itxt || parts->is_compressed) { /* the compression method; 0: deflate */
        if (size < 1 || (parts->is_compressed && left[0] != 0))
            return false;
        left++, size--;
    }
    if (parts->is_itxt &&
        (!next_part(&left, &size, &parts->language) || !next_part(&left, &size, &parts->translated)))
        return false;
    parts->text = left;
    parts->size = size;
    return true;
}

static const char *unless_empty(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* Adds a text: a tEXt or zTXt is in Latin-1, an iTXt in UTF-8. */
static enum status add_text(struct png_session *session, const struct text_parts *parts, const char *text,
                            struct error *error)
{
    struct text_entry entry = {.compressed = parts->is_compressed,
                               .language = (char *)(uintptr_t)unless_empty(parts->language),
                               .translated = (char *)(uintptr_t)unless_empty(parts->translated)};
    entry.key = utf8_from_latin1(parts->key, strlen(parts->key), error);
    char *value = NULL;
    if (parts->is_itxt)
        entry.value = (char *)(uintptr_t)text;
    else
        entry.value = value = utf8_from_latin1(text, strlen(text), error);
    enum status status = STATUS_FAILED;
    bool is_profile = false;
    if (entry.key != NULL && entry.value != NULL)
        status = add_raw_profile(&entry, session->metadata, &is_profile, error);
    if (status == STATUS_OK && !is_profile)
        status = metadata_add_text(session->metadata, &entry, error);
    free(entry.key);
    free(value);
    return status;
}

/* Adds the text of a tEXt, zTXt or iTXt chunk. A chunk that is damaged or too large is left out and noted. */
static enum status parse_text(struct png_session *session, const png_unknown_chunk *chunk)
{
    struct error *error = session->error;
    struct text_parts parts;
    struct blob text = {NULL, 0};
    enum status status = STATUS_OK;
    if (!png_session_reserve_budget(session, chunk->size))
        return STATUS_OK;
    const bool is_whole = split_chunk(chunk, &parts);
    if (is_whole && parts.is_compressed)
        status = inflate_chunk(session, (const unsigned char *)parts.text, parts.size, &text);
    else if (is_whole) {
        text.data = (unsigned char *)strndup(parts.text, parts.size);
        status = text.data == NULL ? fail_memory(error, "out of memory for metadata") : STATUS_OK;
    }
    if (text.data != NULL)
        status = add_text(session, &parts, (const char *)text.data, error);
    else if (status == STATUS_OK)
        metadata_note_left_out(session->metadata, "texts that are damaged or too many");
    free(text.data);
    return status;
}

/* ---------------------------------------------------------------- other chunks */

/* Notes that a chunk is left out, which is no failure. */
static enum status leave_chunk_out(struct png_session *session, const char *what)
{
    metadata_note_left_out(session->metadata, what);
    return STATUS_OK;
}

static enum status parse_gamma(struct png_session *session, const png_unknown_chunk *chunk)
{
    session->metadata->gamma = png_get_uint_32(chunk->data) / (double)PNG_FP_1;
    return STATUS_OK;
}

static enum status parse_chromaticities(struct png_session *session, const png_unknown_chunk *chunk)
{
    session->metadata->has_chromaticities = true;
    for (int i = 0; i < 8; i++)
        session->metadata->chromaticities[i] = png_get_uint_32(chunk->data + 4 * i) / (double)PNG_FP_1;
    return STATUS_OK;
}

static enum status parse_srgb(struct png_session *session, const png_unknown_chunk *chunk)
{
    if (chunk->data[0] > 3)
        return leave_chunk_out(session, "sRGB");
    session->metadata->srgb = true;
    session->metadata->rendering_intent = chunk->data[0];
    return STATUS_OK;
}

/* The chunk: a name and its NUL, the compression method 0, the profile as a zlib stream. */
static enum status parse_icc(struct png_session *session, const png_unknown_chunk *chunk)
{
    const size_t name = strnlen((const char *)chunk->data, chunk->size);
    const bool gray = (png_get_color_type(session->png, session->info) & PNG_COLOR_MASK_COLOR) == 0;
    struct blob icc = {NULL, 0};
    enum status status = STATUS_OK;
    if (chunk->size > name + 2 && chunk->data[name + 1] == 0)
        status = inflate_chunk(session, chunk->data + name + 2, chunk->size - name - 2, &icc);
    if (status == STATUS_OK && (icc.data == NULL || !png_holds_icc(&icc, gray ? 1 : 3)))
        metadata_note_left_out(session->metadata, "the ICC profile, which is damaged or of other colours");
    else if (status == STATUS_OK)
        status = metadata_set_blob(&session->metadata->icc, icc.data, png_icc_size(&icc), session->error);
    free(icc.data);
    return status;
}

static enum status parse_exif(struct png_session *session, const png_unknown_chunk *chunk)
{
    if (!exif_has_header(chunk->data, chunk->size))
        return leave_chunk_out(session, "EXIF, which is damaged");
    if (!png_session_reserve_budget(session, chunk->size))
        return STATUS_OK;
    if (session->metadata->exif.data != NULL) { /* a raw profile's (add_raw_profile): the chunk replaces it */
        blob_free(&session->metadata->exif);
        metadata_note_left_out(session->metadata, "a second EXIF");
    }
    return metadata_add_exif(session->metadata, chunk->data, chunk->size, session->error);
}

static enum status parse_resolution(struct png_session *session, const png_unknown_chunk *chunk)
{
    struct metadata *metadata = session->metadata;
    if (chunk->size != 9 || chunk->data[8] >= PNG_RESOLUTION_LAST)
        return leave_chunk_out(session, "the resolution, which is damaged");
    const uint32_t x = png_get_uint_32(chunk->data), y = png_get_uint_32(chunk->data + 4);
    const bool metric = chunk->data[8] == PNG_RESOLUTION_METER;
    if (x > 0 && y > 0) {
        metadata->resolution_unit = metric ? RESOLUTION_PER_METRE : RESOLUTION_RATIO;
        metadata->x_resolution = x;
        metadata->y_resolution = y;
    }
    return STATUS_OK;
}

static enum status parse_cicp(struct png_session *session, const png_unknown_chunk *chunk)
{
    session->metadata->has_cicp = true;
    memcpy(session->metadata->cicp, chunk->data, sizeof session->metadata->cicp);
    return STATUS_OK;
}

static enum status note_animation(struct png_session *session, const png_unknown_chunk *chunk)
{
    (void)chunk;
    session->reader->unread = "the animation";
    metadata_warn(session->metadata, "is an animation, of which only the still picture is kept");
    return STATUS_OK;
}

/* Passes the palette to libpng. In RGB files it is a suggestion for displays of few colours, and ignored. */
static enum status parse_palette(struct png_session *session, const png_unknown_chunk *chunk)
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
static const struct chunk_type {
    char name[5];
    bool repeats;  /* a file may have several */
    unsigned size; /* bytes of data; 0: any */
    enum status (*parse)(struct png_session *session, const png_unknown_chunk *chunk); /* NULL: ignored */
} chunk_types[] = {
    {"PLTE", false, 0, parse_palette},
    {"gAMA", false, 4, parse_gamma},
    {"cHRM", false, 32, parse_chromaticities},
    {"sRGB", false, 1, parse_srgb},
    {"iCCP", false, 0, parse_icc},
    {"cICP", false, 4, parse_cicp},
    {"pHYs", false, 0, parse_resolution},
    {"eXIf", false, 0, parse_exif},
    {"tEXt", true, 0, parse_text},
    {"zTXt", true, 0, parse_text},
    {"iTXt", true, 0, parse_text},
    {"acTL", false, 0, note_animation},
    {"fcTL", true, 0, NULL},
};
enum { CHUNK_TYPES = sizeof chunk_types / sizeof chunk_types[0] };

void png_metadata_note_trailing(struct metadata *trailing, const char *name)
{
    if (strcmp(name, "eXIf") == 0) /* it may contain the orientation */
        metadata_warn(
            trailing,
            "has EXIF after its pixels, which is left out; exiftool -tagsfromfile @ -all:all FILE moves it");
    else if (strcmp(name, "fcTL") != 0 && strcmp(name, "fdAT") != 0) /* acTL has warned of the animation */
        metadata_note_left_out(trailing, name);
}

/* Parses a chunk, or notes that it is left out. */
static enum status parse_chunk(struct png_session *session, const png_unknown_chunk *chunk)
{
    const char *name = (const char *)chunk->name;
    size_t i = 0;
    while (i < CHUNK_TYPES && strcmp(chunk_types[i].name, name) != 0)
        i++;
    if (i == CHUNK_TYPES)
        return leave_chunk_out(session, name);
    const struct chunk_type *type = &chunk_types[i];
    const uint64_t bit = UINT64_C(1) << i;
    if ((session->seen & bit) != 0 && !type->repeats) {
        char what[32];
        snprintf(what, sizeof what, "a second %s", name);
        return leave_chunk_out(session, what);
    }
    session->seen |= bit;
    if (type->size > 0 && chunk->size != type->size)
        return leave_chunk_out(session, name);
    return type->parse == NULL ? STATUS_OK : type->parse(session, chunk);
}

/* libpng's callback for each chunk that it does not parse itself. Returns 0, which is an error, if the chunk
 * is critical and not known. */
static int on_chunk(png_structp png, png_unknown_chunkp chunk)
{
    struct png_session *session = png_get_user_chunk_ptr(png);
    const char *name = (const char *)chunk->name;
    const bool damaged = session->has_wrong_crc;
    png_byte nothing;
    png_unknown_chunk known = *chunk;
    if (known.data == NULL) /* a chunk of no bytes */
        known.data = &nothing;
    session->has_wrong_crc = false;
    if ((chunk->name[0] & 0x20) == 0 && strcmp(name, "PLTE") != 0)
        return 0;
    if (png_get_image_width(png, session->info) == 0)
        png_chunk_error(png, "missing IHDR");
    if ((chunk->location & PNG_AFTER_IDAT) != 0)
        png_metadata_note_trailing(&session->reader->trailing, name);
    else if (!damaged && (parse_chunk(session, &known) != STATUS_OK || session->has_error)) {
        session->has_error = true;
        png_error(png, "a chunk");
    }
    return 1;
}

void png_metadata_register(struct png_session *session, struct reader *reader)
{
    const uint64_t memory = reader->options.memory;
    session->reader = reader;
    session->metadata = &reader->info.metadata;
    session->has_memory_limit = memory > 0 && memory < CHUNKS_SIZE_MAX;
    session->budget = session->has_memory_limit ? (size_t)memory : CHUNKS_SIZE_MAX;
    png_set_chunk_malloc_max(session->png,
                             session->budget < CHUNK_SIZE_MAX ? session->budget : CHUNK_SIZE_MAX);
    png_set_keep_unknown_chunks(session->png, PNG_HANDLE_CHUNK_ALWAYS, NULL, -1);
    png_set_keep_unknown_chunks(session->png, PNG_HANDLE_CHUNK_ALWAYS, (png_const_bytep) "PLTE", 1);
    png_set_read_user_chunk_fn(session->png, session, on_chunk);
}
