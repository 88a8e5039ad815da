/* Reads PBM, PGM, PPM, PAM and PFM, plain or raw, and consecutive images as pages.
 *
 *     base.head, then the file ─▶ header ─▶ image_info
 *                              ─▶ rows: raw, expanded from bits, parsed from digits, or floats
 *
 * A header is parsed byte by byte, as a pipe cannot seek back. Samples are scaled if maxval is not 255 or
 * 65535. A PFM stores rows from bottom to top: in a file the reader seeks to each row; from a pipe it reads
 * the whole image before the first row. */
#include "image/netpbm/netpbm.h"

#include "base/text.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MAXVAL_LIMIT = UINT16_MAX, /* of netpbm */
    WORD_SIZE = 32,            /* bytes of a word of a header, with its NUL */
    LINE_SIZE = 128            /* bytes of a line of PAM's header, with its NUL */
};

struct netpbm_reader {
    struct reader base; /* must be first */
    size_t head_used;   /* bytes of base.head that are consumed */
    int page;           /* number of the current page, from 1 */

    /* The current page. */
    char kind;               /* the second byte of its header: '1' to '7', 'f' or 'F' */
    uint32_t maxval;         /* the sample value at full scale; 1 for PBM and PFM */
    bool swapped;            /* PFM: not in the host's byte order */
    uint32_t row;            /* the next row to read */
    off_t start;             /* offset of the first row in the file; -1 in a pipe */
    unsigned char *pfm_rows; /* PFM in a pipe: all rows, in the file's order; owned; NULL before the first */
};

/* ---------------------------------------------------------------- bytes and words of the header */

/* Returns the next byte, or EOF. */
static int next_byte(struct netpbm_reader *reader)
{
    if (reader->head_used < reader->base.head_size)
        return reader->base.head[reader->head_used++];
    return getc_unlocked(reader->base.file);
}

/* Reads `size` bytes: the rest of the head, then from the file. */
static enum status netpbm_read_bytes(struct netpbm_reader *reader, void *to, size_t size, struct error *error)
{
    size_t left = reader->base.head_size - reader->head_used, some = left < size ? left : size;
    memcpy(to, reader->base.head + reader->head_used, some);
    reader->head_used += some;
    some += fread((unsigned char *)to + some, 1, size - some, reader->base.file);
    return some == size ? STATUS_OK : fail_damaged(&reader->base, "the file ends too early", error);
}

/* Returns the next byte of a header, or EOF. Returns a comment as its newline. */
static int header_byte(struct netpbm_reader *reader)
{
    int byte = next_byte(reader);
    if (byte == '#')
        while (byte != '\n' && byte != EOF)
            byte = next_byte(reader);
    return byte;
}

/* Reads the next word and the one white space after it, as raw samples may follow. */
static enum status read_word(struct netpbm_reader *reader, char word[WORD_SIZE], struct error *error)
{
    int byte = header_byte(reader), length = 0;
    while (byte != EOF && isspace(byte))
        byte = header_byte(reader);
    for (; byte != EOF && !isspace(byte) && length < WORD_SIZE - 1; byte = header_byte(reader))
        word[length++] = (char)byte;
    word[length] = '\0';
    if (length == 0)
        return fail_damaged(&reader->base, "the file ends too early", error);
    return length < WORD_SIZE - 1 ? STATUS_OK : fail_damaged(&reader->base, "its header is broken", error);
}

/* Parses a decimal number up to UINT32_MAX. */
static enum status parse_number(const struct netpbm_reader *reader, const char *word, uint32_t *number,
                                struct error *error)
{
    long long value = 0;
    if (!isdigit((unsigned char)word[0]) || !text_to_integer(word, &value) || value > UINT32_MAX)
        return fail_damaged(&reader->base, "invalid number in the header", error);
    *number = (uint32_t)value;
    return STATUS_OK;
}

static enum status read_number(struct netpbm_reader *reader, uint32_t *number, struct error *error)
{
    char word[WORD_SIZE];
    enum status status = read_word(reader, word, error);
    return status == STATUS_OK ? parse_number(reader, word, number, error) : status;
}

/* ---------------------------------------------------------------- headers */

/* Reads PAM's header after "P7": keys and values in any order. */
static enum status read_pam_header(struct netpbm_reader *reader, struct error *error)
{
    static const struct {
        const char *type;
        uint32_t depth;
    } tuples[] = {{"BLACKANDWHITE", 1},   {"GRAYSCALE", 1}, {"BLACKANDWHITE_ALPHA", 2},
                  {"GRAYSCALE_ALPHA", 2}, {"RGB", 3},       {"RGB_ALPHA", 4}};
    struct image_info *info = &reader->base.info;
    uint32_t depth = 0;
    char line[LINE_SIZE], type[LINE_SIZE] = "";
    const struct {
        const char *key;
        uint32_t *number;
    } numbers[] = {
        {"WIDTH", &info->width}, {"HEIGHT", &info->height}, {"DEPTH", &depth}, {"MAXVAL", &reader->maxval}};

    for (;;) {
        int byte = header_byte(reader), length = 0;
        for (; byte != EOF && byte != '\n' && length < LINE_SIZE - 1; byte = header_byte(reader))
            line[length++] = (char)byte;
        line[length] = '\0';
        enum status status =
            byte == '\n' ? STATUS_OK : fail_damaged(&reader->base, "its header is broken", error);
        char *rest = NULL, *key = strtok_r(line, " \t\r", &rest), *value = strtok_r(NULL, " \t\r", &rest);
        if (status == STATUS_OK && key != NULL && strcmp(key, "ENDHDR") == 0)
            break;
        if (status == STATUS_OK && key != NULL && value != NULL && strcmp(key, "TUPLTYPE") == 0)
            memcpy(type, value, strlen(value) + 1);
        for (size_t i = 0; status == STATUS_OK && key != NULL && i < sizeof numbers / sizeof numbers[0]; i++)
            if (strcmp(key, numbers[i].key) == 0)
                status = parse_number(reader, value != NULL ? value : "", numbers[i].number, error);
        if (status != STATUS_OK)
            return status;
    }
    info->channels = (int)depth;

    /* Without TUPLTYPE the number of channels decides. */
    bool known = type[0] == '\0' && depth >= 1 && depth <= 4;
    for (size_t i = 0; !known && i < sizeof tuples / sizeof tuples[0]; i++)
        known = strcmp(type, tuples[i].type) == 0 && depth == tuples[i].depth;
    return known ? STATUS_OK
                 : fail(error, STATUS_FAILED, "%s of %u samples a pixel and type \"%s\" is not supported",
                        reader->base.format->name, (unsigned)depth, type);
}

static bool kind_is_pfm(const struct netpbm_reader *reader)
{
    return reader->kind == 'f' || reader->kind == 'F';
}

static bool kind_is_plain(const struct netpbm_reader *reader)
{
    return reader->kind >= '1' && reader->kind <= '3';
}

static bool kind_is_pbm(const struct netpbm_reader *reader)
{
    return reader->kind == '1' || reader->kind == '4';
}

/* Returns the bytes of a raw row in the file. */
static size_t raw_row_size(const struct netpbm_reader *reader)
{
    return reader->kind == '4' ? (reader->base.info.width + 7) / 8 : row_size(&reader->base.info);
}

/* Reads the header of PBM, PGM, PPM or PFM after its first two bytes. */
static enum status read_numbers(struct netpbm_reader *reader, struct error *error)
{
    struct image_info *info = &reader->base.info;
    char word[WORD_SIZE];
    double scale = 0;
    info->channels = strchr("36F", reader->kind) != NULL ? 3 : 1;
    enum status status = read_number(reader, &info->width, error);
    if (status == STATUS_OK)
        status = read_number(reader, &info->height, error);
    if (status != STATUS_OK || kind_is_pbm(reader))
        return status;
    if (!kind_is_pfm(reader))
        return read_number(reader, &reader->maxval, error);

    /* PFM's scale: negative means little-endian. Its magnitude is ignored, as programs differ in its use. */
    status = read_word(reader, word, error);
    if (status != STATUS_OK)
        return status;
    if (!text_to_real(word, &scale) || scale == 0)
        return fail_damaged(&reader->base, "its scale is no number", error);
    reader->swapped = (scale < 0) != (BYTE_ORDER == LITTLE_ENDIAN);
    if (fabs(scale) != 1)
        metadata_note_left_out(&info->metadata, "the scale of the samples");
    return STATUS_OK;
}

/* After the header: sets the sample type, the offset of the samples, memory, and the page count. */
static enum status netpbm_describe(struct netpbm_reader *reader, struct error *error)
{
    struct image_info *info = &reader->base.info;
    if (reader->maxval < 1 || reader->maxval > MAXVAL_LIMIT)
        return fail_damaged(&reader->base, "its largest value is not 1 to 65535", error);
    enum status status = check_image_size(info->width, info->height, reader->base.options.max_pixels, error);
    if (status != STATUS_OK)
        return status;
    info->alpha = info->channels % 2 == 0;
    info->type = kind_is_pfm(reader) ? SAMPLE_FLOAT : reader->maxval > 255 ? SAMPLE_UINT16 : SAMPLE_UINT8;
    int bits = 1; /* of maxval */
    while (reader->maxval >> bits != 0)
        bits++;
    info->bits = kind_is_pfm(reader) || bits % 8 == 0 ? 0 : bits;
    reader->row = 0;
    const off_t position = ftello(reader->base.file);
    reader->start = position < 0 ? -1 : position - (off_t)(reader->base.head_size - reader->head_used);
    const uint64_t size = (uint64_t)raw_row_size(reader) * info->height;
    reader->base.memory = kind_is_pfm(reader) && reader->start < 0 ? size : 0;
    reader->base.uncompressed = !kind_is_plain(reader) && !kind_is_pbm(reader) && !kind_is_pfm(reader);

    /* A file that ends with the raw samples of its first page has one page; otherwise their number is
     * unknown. */
    struct stat file_stat;
    bool is_only_page = reader->page == 1 && !kind_is_plain(reader) &&
                        fstat(fileno(reader->base.file), &file_stat) == 0 && S_ISREG(file_stat.st_mode) &&
                        (uint64_t)reader->start + size >= (uint64_t)file_stat.st_size;
    reader->base.page_count = is_only_page ? 1 : 0;
    return STATUS_OK;
}

/* Reads the header of the next image, after white space. *more is false at the end of the file. */
static enum status netpbm_read_header(struct netpbm_reader *reader, bool *more, struct error *error)
{
    int byte = next_byte(reader);
    while (byte != EOF && isspace(byte))
        byte = next_byte(reader);
    *more = byte != EOF;
    if (!*more)
        return ferror(reader->base.file) ? fail_reading(error) : STATUS_OK;
    int kind = byte == 'P' ? next_byte(reader) : EOF;
    if (kind <= 0 || strchr("1234567fF", kind) == NULL) /* strchr would find a NUL; EOF is negative */
        return fail_damaged(&reader->base, "unexpected data after the image", error);
    reader->base.info = (struct image_info){.channels = 1};
    reader->kind = (char)kind;
    reader->page++;
    reader->maxval = 1;
    enum status status = STATUS_OK;
    if (kind == '7')
        status = read_pam_header(reader, error);
    else
        status = read_numbers(reader, error);
    return status == STATUS_OK ? netpbm_describe(reader, error) : status;
}

/* ---------------------------------------------------------------- samples */

/* Stores sample number `index` of a row, scaled from maxval to full scale; in a PBM 1 is black. False if it
 * exceeds maxval. */
static bool store_sample(const struct netpbm_reader *reader, uint32_t value, size_t index, unsigned char *row)
{
    const uint32_t maxval = reader->maxval;
    if (value > maxval)
        return false;
    if (reader->base.info.type == SAMPLE_UINT8) {
        uint32_t brightness = kind_is_pbm(reader) ? 1 - value : value;
        row[index] = (unsigned char)((brightness * UINT8_MAX + maxval / 2) / maxval);
    } else {
        const uint16_t wide = (uint16_t)((value * UINT16_MAX + maxval / 2) / maxval);
        memcpy(row + 2 * index, &wide, sizeof wide);
    }
    return true;
}

static enum status read_plain_row(struct netpbm_reader *reader, unsigned char *row, struct error *error)
{
    const size_t count = (size_t)reader->base.info.width * (size_t)reader->base.info.channels;
    for (size_t i = 0; i < count; i++) {
        uint32_t value = 0;
        if (reader->kind == '1') { /* needs no white space between digits */
            int byte = header_byte(reader);
            while (byte != EOF && isspace(byte))
                byte = header_byte(reader);
            if (byte != '0' && byte != '1')
                return fail_damaged(&reader->base,
                                    byte == EOF ? "the file ends too early" : "a bit that is neither 0 nor 1",
                                    error);
            value = (uint32_t)(byte - '0');
        } else if (read_number(reader, &value, error) != STATUS_OK) {
            return STATUS_FAILED;
        }
        if (!store_sample(reader, value, i, row))
            return fail_damaged(&reader->base, "a sample is larger than its largest value", error);
    }
    return STATUS_OK;
}

/* Reads a raw row and scales its samples in place. Bits are expanded from the last to the first. */
static enum status read_raw_row(struct netpbm_reader *reader, unsigned char *row, struct error *error)
{
    const struct image_info *info = &reader->base.info;
    const size_t count = (size_t)info->width * (size_t)info->channels;
    bool fits = true;
    enum status status = netpbm_read_bytes(reader, row, raw_row_size(reader), error);
    if (status != STATUS_OK)
        return status;
    if (reader->kind == '4')
        for (size_t i = info->width; i-- > 0;)
            store_sample(reader, row[i / 8] >> (7 - i % 8) & 1, i, row);
    else if (reader->maxval != UINT8_MAX)
        for (size_t i = 0; fits && i < count; i++) {
            bool wide = info->type == SAMPLE_UINT16;
            uint32_t value = wide ? (uint32_t)row[2 * i] << 8 | row[2 * i + 1] : row[i];
            fits = store_sample(reader, value, i, row);
        }
    return fits ? STATUS_OK : fail_damaged(&reader->base, "a sample is larger than its largest value", error);
}

/* Reads a row of a PFM, which begins with the bottom row. */
static enum status read_float_row(struct netpbm_reader *reader, unsigned char *row, struct error *error)
{
    const size_t size = raw_row_size(reader), height = reader->base.info.height;
    const size_t below = height - 1 - reader->row; /* number of rows before it in the file */
    enum status status = STATUS_OK;
    if (reader->start >= 0) {
        reader->head_used = reader->base.head_size;
        if (fseeko(reader->base.file, reader->start + (off_t)(below * size), SEEK_SET) != 0)
            return fail_reading(error);
        status = netpbm_read_bytes(reader, row, size, error);
    } else {
        if (reader->pfm_rows == NULL) {
            reader->pfm_rows = allocate(size * height, "a PFM that cannot be sought in", error);
            status = reader->pfm_rows != NULL
                         ? netpbm_read_bytes(reader, reader->pfm_rows, size * height, error)
                         : STATUS_FAILED;
        }
        if (status == STATUS_OK)
            memcpy(row, reader->pfm_rows + below * size, size);
    }
    for (size_t i = 0; status == STATUS_OK && reader->swapped && i < size; i += sizeof(uint32_t)) {
        uint32_t word;
        memcpy(&word, row + i, sizeof word);
        word = __builtin_bswap32(word);
        memcpy(row + i, &word, sizeof word);
    }
    return status;
}

static enum status netpbm_read(struct reader *base, void *rows, size_t pitch, uint32_t count,
                               struct error *error)
{
    struct netpbm_reader *reader = (struct netpbm_reader *)base;
    enum status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++, reader->row++) {
        unsigned char *row = (unsigned char *)rows + i * pitch;
        status = kind_is_plain(reader) ? read_plain_row(reader, row, error)
                 : kind_is_pfm(reader) ? read_float_row(reader, row, error)
                                       : read_raw_row(reader, row, error);
    }
    return status;
}

/* Sets the next row to read. False for plain samples and pipes, which cannot seek. */
static bool seek_row(struct netpbm_reader *reader, uint32_t row)
{
    if (kind_is_plain(reader) || reader->start < 0)
        return false;
    reader->row = row;
    reader->head_used = reader->base.head_size;
    return kind_is_pfm(reader) ||
           fseeko(reader->base.file, reader->start + (off_t)(row * raw_row_size(reader)), SEEK_SET) == 0;
}

static bool netpbm_skip(struct reader *base, uint32_t count)
{
    struct netpbm_reader *reader = (struct netpbm_reader *)base;
    return seek_row(reader, reader->row + count);
}

static bool netpbm_rewind_page(struct reader *base)
{
    return seek_row((struct netpbm_reader *)base, 0);
}

/* After all rows of an image: reads the next header, after seeking to the end of a PFM. */
static enum status next_image(struct netpbm_reader *reader, bool *more, struct error *error)
{
    const off_t size = (off_t)(raw_row_size(reader) * reader->base.info.height);
    free(reader->pfm_rows);
    reader->pfm_rows = NULL;
    if (kind_is_pfm(reader) && reader->start >= 0 &&
        fseeko(reader->base.file, reader->start + size, SEEK_SET) != 0)
        return fail_reading(error);
    return netpbm_read_header(reader, more, error);
}

static enum status netpbm_next_page(struct reader *base, bool *more, struct error *error)
{
    *more = false;
    struct netpbm_reader *reader = (struct netpbm_reader *)base;
    return reader->page < reader_last_page(base) ? next_image(reader, more, error) : STATUS_OK;
}

/* Reads the header of the first requested page. Rows of earlier images are read, as a pipe cannot seek. */
static enum status netpbm_open(struct reader *base, struct error *error)
{
    struct netpbm_reader *reader = (struct netpbm_reader *)base;
    bool more;
    enum status status = netpbm_read_header(reader, &more, error);
    while (status == STATUS_OK && reader->page < base->options.page) {
        unsigned char *row = allocate(row_size(&base->info), "an image that is skipped", error);
        status = row != NULL ? STATUS_OK : STATUS_FAILED;
        if (status == STATUS_OK && (!kind_is_pfm(reader) || reader->start < 0))
            status = netpbm_read(base, row, 0, base->info.height, error);
        free(row);
        if (status == STATUS_OK)
            status = next_image(reader, &more, error);
        if (status == STATUS_OK && !more)
            return fail(error, STATUS_FAILED, "there is no page %d; the file has %d", base->options.page,
                        reader->page);
    }
    return status;
}

static void netpbm_close(struct reader *base)
{
    free(((struct netpbm_reader *)base)->pfm_rows);
}

const struct reader_class netpbm_reader_class = {
    .size = sizeof(struct netpbm_reader),
    .open = netpbm_open,
    .read = netpbm_read,
    .skip = netpbm_skip,
    .rewind_page = netpbm_rewind_page,
    .next_page = netpbm_next_page,
    .close = netpbm_close,
};
