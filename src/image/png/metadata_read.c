/* Reads the header of a PNG: IHDR, and the chunks between it and the pixels, with one function for each type.
 *
 * A palette, and gray of few bits, become a table of pixels here. Metadata are copied as the file has them:
 * chunks are not derived from others, nor dropped if they contradict each other. */
#include "image/inflate.h"
#include "image/png/png.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Maximum bytes after inflating, of all chunks and of one. The largest real chunks are ICC profiles and
     * XMP of a few megabytes. */
    CHUNKS_SIZE_MAX = 32 << 20,
    CHUNK_SIZE_MAX = 16 << 20,
};

enum status png_inflate_chunk(struct png_header *header, const unsigned char *bytes, size_t size,
                              struct blob *inflated)
{
    enum { CAPACITY_MIN = 4096 };
    const size_t most = header->budget < CHUNK_SIZE_MAX ? header->budget : CHUNK_SIZE_MAX;
    struct inflate_state *stream = allocate(sizeof *stream, "metadata", header->error);
    enum status status = STATUS_OK;
    size_t capacity = 0, made = 1;
    bool is_whole = false;
    int damage = 0; /* ISA-L's code. After damage ISA-L must not continue: it reads beyond its buffers */
    *inflated = (struct blob){NULL, 0};
    if (stream == NULL)
        return STATUS_FAILED;
    inflate_begin(stream);
    inflate_feed(stream, bytes, size);
    while (damage == 0 && made > 0 && !is_whole && inflated->size <= most) {
        if (inflated->size == capacity) { /* grow, to at most one byte too many */
            capacity = capacity < CAPACITY_MIN ? CAPACITY_MIN : 2 * capacity;
            capacity = capacity < most + 1 ? capacity : most + 1;
            unsigned char *grown = realloc(inflated->data, capacity + 1 /* the NUL */);
            if (grown == NULL) {
                status = fail_memory(header->error, "out of memory for metadata");
                break;
            }
            inflated->data = grown;
        }
        damage = inflate_some(stream, inflated->data + inflated->size, capacity - inflated->size, &made);
        inflated->size += made;
        is_whole = damage == 0 && inflate_has_ended(stream) && inflated->size <= most;
    }
    free(stream);

    /* Discarded bytes count, too, as the time to inflate them must be bounded. */
    header->budget -= inflated->size < most ? inflated->size : most;
    if (inflated->size > most)
        png_header_reserve(header, SIZE_MAX);
    if (is_whole) {
        inflated->data[inflated->size] = '\0';
    } else {
        free(inflated->data);
        inflated->data = NULL;
    }
    return status;
}

/* Notes that a chunk is left out, which is no failure. */
static enum status leave_chunk_out(struct png_header *header, const char *what)
{
    metadata_leave_out(header->metadata, what);
    return STATUS_OK;
}

static enum status parse_gamma(struct png_header *header, const struct png_data *chunk)
{
    header->metadata->gamma = png_get_number(chunk->data) / PNG_FRACTION;
    return STATUS_OK;
}

static enum status parse_chromaticities(struct png_header *header, const struct png_data *chunk)
{
    header->metadata->has_chromaticities = true;
    for (int i = 0; i < 8; i++)
        header->metadata->chromaticities[i] = png_get_number(chunk->data + 4 * i) / PNG_FRACTION;
    return STATUS_OK;
}

static enum status parse_srgb(struct png_header *header, const struct png_data *chunk)
{
    if (chunk->data[0] > 3)
        return leave_chunk_out(header, "sRGB");
    header->metadata->srgb = true;
    header->metadata->rendering_intent = chunk->data[0];
    return STATUS_OK;
}

/* The chunk: a name and its NUL, the compression method 0, the profile as a zlib stream. */
static enum status parse_icc(struct png_header *header, const struct png_data *chunk)
{
    const size_t name = strnlen((const char *)chunk->data, chunk->size);
    const bool gray = (header->colour_type & PNG_COLOUR) == 0;
    struct blob icc = {NULL, 0};
    enum status status = STATUS_OK;
    if (chunk->size > name + 2 && chunk->data[name + 1] == 0)
        status = png_inflate_chunk(header, chunk->data + name + 2, chunk->size - name - 2, &icc);
    if (status == STATUS_OK && (icc.data == NULL || !png_holds_icc(&icc, gray ? 1 : 3)))
        metadata_leave_out(header->metadata, "the ICC profile, which is damaged or of other colours");
    else if (status == STATUS_OK)
        status = metadata_set_blob(&header->metadata->icc, icc.data, png_icc_size(&icc), header->error);
    free(icc.data);
    return status;
}

static enum status parse_exif(struct png_header *header, const struct png_data *chunk)
{
    if (chunk->size < 4 || (memcmp(chunk->data, "II*\0", 4) != 0 && memcmp(chunk->data, "MM\0*", 4) != 0))
        return leave_chunk_out(header, "EXIF, which is damaged");
    if (!png_header_reserve(header, chunk->size))
        return STATUS_OK;
    if (header->metadata->exif.data != NULL) { /* of a text, which is older than the chunk's specification */
        blob_free(&header->metadata->exif);
        metadata_leave_out(header->metadata, "a second EXIF");
    }
    return metadata_add_exif(header->metadata, chunk->data, chunk->size, header->error);
}

static enum status parse_resolution(struct png_header *header, const struct png_data *chunk)
{
    struct metadata *metadata = header->metadata;
    if (chunk->size != 9 || chunk->data[8] > PNG_PER_METRE)
        return leave_chunk_out(header, "the resolution, which is damaged");
    const uint32_t x = png_get_number(chunk->data), y = png_get_number(chunk->data + 4);
    const bool metric = chunk->data[8] == PNG_PER_METRE;
    if (x > 0 && y > 0) {
        metadata->resolution_unit = metric ? RESOLUTION_PER_METRE : RESOLUTION_RATIO;
        metadata->x_resolution = x;
        metadata->y_resolution = y;
    }
    return STATUS_OK;
}

static enum status parse_cicp(struct png_header *header, const struct png_data *chunk)
{
    header->metadata->has_cicp = true;
    memcpy(header->metadata->cicp, chunk->data, sizeof header->metadata->cicp);
    return STATUS_OK;
}

static enum status note_animation(struct png_header *header, const struct png_data *chunk)
{
    (void)chunk;
    metadata_warn(header->metadata, "is an animation, of which only the still picture is kept");
    return STATUS_OK;
}

/* Reads the palette, of which the pixels can use 1 << bits colours. In RGB files it is a suggestion for
 * displays of few colours, and ignored. */
static enum status parse_palette(struct png_header *header, const struct png_data *chunk)
{
    const unsigned most = 1u << header->bits, count = (unsigned)chunk->size / 3;
    if (header->colour_type != PNG_PALETTE)
        return STATUS_OK;
    if (count == 0 || chunk->size % 3 != 0)
        return fail(header->error, STATUS_FAILED, "damaged PNG: PLTE: invalid length");
    header->colours = count < most ? count : most;
    for (unsigned i = 0; i < header->colours; i++)
        memcpy(header->table[i], chunk->data + 3 * i, 3);
    return STATUS_OK;
}

/* Reads tRNS: alpha of the palette's first colours, or the colour of transparent pixels, of which only the
 * bits of a sample count. */
static enum status parse_transparency(struct png_header *header, const struct png_data *chunk)
{
    const size_t channels = (header->colour_type & PNG_COLOUR) != 0 ? 3 : 1;
    const bool is_palette = header->colour_type == PNG_PALETTE;
    if ((header->colour_type & PNG_ALPHA) != 0 ||
        (is_palette ? chunk->size == 0 || chunk->size > header->colours : chunk->size != 2 * channels))
        return leave_chunk_out(header, "tRNS");
    header->has_transparency = true;
    for (size_t i = 0; i < chunk->size && is_palette; i++)
        header->table[i][3] = chunk->data[i];
    for (size_t i = 0; i < channels && !is_palette; i++)
        header->transparent[i] =
            (uint16_t)((chunk->data[2 * i] << 8 | chunk->data[2 * i + 1]) & ((1u << header->bits) - 1));
    return STATUS_OK;
}

/* Chunks that climg knows. One of another size than `size` is damaged. */
static const struct chunk_type {
    char name[5];
    bool repeats;  /* a file may have several */
    unsigned size; /* bytes of data; 0: any */
    /* NULL: ignored */
    enum status (*parse)(struct png_header *header, const struct png_data *chunk);
} chunk_types[] = {
    {"PLTE", false, 0, parse_palette},  {"tRNS", false, 0, parse_transparency},
    {"gAMA", false, 4, parse_gamma},    {"cHRM", false, 32, parse_chromaticities},
    {"sRGB", false, 1, parse_srgb},     {"iCCP", false, 0, parse_icc},
    {"cICP", false, 4, parse_cicp},     {"pHYs", false, 0, parse_resolution},
    {"eXIf", false, 0, parse_exif},     {"tEXt", true, 0, png_parse_text},
    {"zTXt", true, 0, png_parse_text},  {"iTXt", true, 0, png_parse_text},
    {"acTL", false, 0, note_animation}, {"fcTL", true, 0, NULL},
};
enum { CHUNK_TYPES = sizeof chunk_types / sizeof chunk_types[0] };

void png_metadata_note_trailing(struct metadata *trailing, const char *name)
{
    if (strcmp(name, "eXIf") == 0) /* it may contain the orientation */
        metadata_warn(
            trailing,
            "has EXIF after its pixels, which is left out; exiftool -tagsfromfile @ -all:all FILE moves it");
    else if (strcmp(name, "fcTL") != 0 && strcmp(name, "fdAT") != 0) /* acTL has warned of the animation */
        metadata_leave_out(trailing, name);
}

bool png_header_reserve(struct png_header *header, size_t size)
{
    if (size <= header->budget) {
        header->budget -= size;
        return true;
    }
    header->has_error = header->has_memory_limit;
    if (header->has_memory_limit)
        fail_memory(header->error, "its metadata take more than --memory-limit leaves for them; raise it");
    else
        metadata_leave_out(header->metadata, "chunks beyond the limit");
    return false;
}

/* Reads a chunk and parses it, or notes that it is left out. The picture may be another one without tRNS. */
static enum status read_chunk(struct png_chunk *chunk, struct png_header *header, struct error *error)
{
    struct png_data data = {.name = chunk->name, .size = chunk->left};
    unsigned char *bytes = NULL;
    char note[64] = "";
    bool is_damaged;
    size_t i = 0;
    while (i < CHUNK_TYPES && strcmp(chunk_types[i].name, chunk->name) != 0)
        i++;
    const struct chunk_type *type = i < CHUNK_TYPES ? &chunk_types[i] : NULL;
    const uint64_t bit = UINT64_C(1) << i;
    const bool is_second = type != NULL && !type->repeats && (header->seen & bit) != 0,
               is_parsed = type != NULL && type->parse != NULL && !is_second &&
                           (type->size == 0 || type->size == data.size),
               is_too_large = is_parsed && (data.size > header->budget || data.size > CHUNK_SIZE_MAX);
    if (is_parsed && !is_too_large) {
        data.data = bytes = allocate(data.size + 1, "PNG", error); /* never 0 bytes */
        if (bytes == NULL || png_chunk_read(chunk, bytes, data.size, error) != STATUS_OK) {
            free(bytes);
            return STATUS_FAILED;
        }
    }
    enum status status = png_chunk_end(chunk, &is_damaged, error);
    if (status == STATUS_OK && is_damaged && strcmp(chunk->name, "tRNS") == 0) {
        status = png_chunk_fail(chunk, error);
    } else if (status == STATUS_OK && is_damaged) {
        snprintf(note, sizeof note, "the chunk %s is damaged and left out", chunk->name);
        metadata_warn(header->metadata, note);
    } else if (status == STATUS_OK && is_too_large) {
        png_header_reserve(header, SIZE_MAX);
    } else if (status == STATUS_OK && is_parsed) {
        header->seen |= bit;
        status = type->parse(header, &data);
    } else if (status == STATUS_OK && (type == NULL || type->parse != NULL)) {
        snprintf(note, sizeof note, "%s%s", is_second ? "a second " : "", chunk->name);
        metadata_leave_out(header->metadata, note);
    }
    free(bytes);
    return header->has_error ? STATUS_FAILED : status;
}

/* Reads IHDR: width, height, bits, colour type, and the methods of compression, filters and interlace. */
static enum status read_image_header(struct png_chunk *chunk, struct png_header *header, struct error *error)
{
    enum { SIZE = 13, COMPRESSION = 10, FILTER = 11, INTERLACE = 12, SIDE_MAX = 0x7fffffff };
    /* The numbers of bits that samples may have, by colour type. */
    static const unsigned bits[] = {[PNG_GRAY] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16,
                                    [PNG_RGB] = 1 << 8 | 1 << 16,
                                    [PNG_PALETTE] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
                                    [PNG_GRAY_ALPHA] = 1 << 8 | 1 << 16,
                                    [PNG_RGB_ALPHA] = 1 << 8 | 1 << 16};
    unsigned char data[SIZE];
    bool is_damaged;
    if (png_chunk_next(chunk, error) != STATUS_OK)
        return STATUS_FAILED;
    if (strcmp(chunk->name, "IHDR") != 0)
        return fail(error, STATUS_FAILED, "damaged PNG: %s: missing IHDR", chunk->name);
    if (chunk->left != SIZE)
        return fail(error, STATUS_FAILED, "damaged PNG: IHDR: invalid length");
    if (png_chunk_read(chunk, data, SIZE, error) != STATUS_OK ||
        png_chunk_end(chunk, &is_damaged, error) != STATUS_OK)
        return STATUS_FAILED;
    header->width = png_get_number(data);
    header->height = png_get_number(data + 4);
    header->bits = data[8];
    header->colour_type = data[9];
    header->is_interlaced = data[INTERLACE] == 1;
    if (header->width == 0 || header->width > SIDE_MAX || header->height == 0 || header->height > SIDE_MAX ||
        header->bits > 16 || header->colour_type >= (int)(sizeof bits / sizeof bits[0]) ||
        (bits[header->colour_type] >> header->bits & 1) == 0 || data[COMPRESSION] != 0 || data[FILTER] != 0 ||
        data[INTERLACE] > 1)
        return fail(error, STATUS_FAILED, "damaged PNG: invalid IHDR");
    return STATUS_OK;
}

/* Computes the table of a gray picture of at most 8 bits. */
static void compute_gray(struct png_header *header)
{
    const unsigned top = (1u << header->bits) - 1;
    for (unsigned value = 0; value <= top; value++) {
        memset(header->table[value], (int)(value * UINT8_MAX / top), 3);
        header->table[value][header->has_transparency ? 1 : 3] =
            header->has_transparency && value == header->transparent[0] ? 0 : UINT8_MAX;
    }
}

enum status png_header_read(struct png_chunk *chunk, struct png_header *header, uint64_t memory,
                            struct error *error)
{
    header->error = error;
    header->has_memory_limit = memory > 0 && memory < CHUNKS_SIZE_MAX;
    const size_t budget = header->has_memory_limit ? (size_t)memory : CHUNKS_SIZE_MAX;
    header->budget = budget;
    for (int i = 0; i < 256; i++)
        header->table[i][3] = UINT8_MAX;
    enum status status = read_image_header(chunk, header, error);
    while (status == STATUS_OK && (status = png_chunk_next(chunk, error)) == STATUS_OK &&
           strcmp(chunk->name, "IDAT") != 0)
        status = png_chunk_is_optional(chunk) || strcmp(chunk->name, "PLTE") == 0
                     ? read_chunk(chunk, header, error)
                     : fail(error, STATUS_FAILED, "damaged PNG: %s: out of place", chunk->name);
    header->used = budget - header->budget;
    if (status != STATUS_OK)
        return status;
    if (header->colour_type == PNG_PALETTE && header->colours == 0)
        return fail(error, STATUS_FAILED, "damaged PNG: no PLTE before IDAT");
    header->has_table = header->colour_type == PNG_PALETTE || header->bits < 8 ||
                        (header->colour_type == PNG_GRAY && header->bits == 8 && header->has_transparency);
    if (header->has_table && header->colour_type == PNG_GRAY)
        compute_gray(header);
    return STATUS_OK;
}
