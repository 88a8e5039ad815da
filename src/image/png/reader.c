/* Reads PNGs. libpng reads the chunks before the pixels. pixels.c decodes the pixels, but libpng decodes
 * pixels that need conversion or are interlaced.
 *
 * libpng reports an error by a callback that must not return. So it runs in steps: the callback leaves the
 * step by longjmp, and png_session_run returns STATUS_FAILED. As the local variables of the step are lost, a
 * step stores the memory that it allocates in structs that are freed later.
 *
 * An interlaced image is decoded whole before its first row is returned. Chunks after the pixels are checked,
 * but not parsed: they are reported as left out. */
#include "base/sums.h"
#include "image/png/png.h"

#include <ctype.h>
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- libpng in steps */

/* Fills in the error, unless a callback has done so, and leaves libpng. */
static _Noreturn void on_error(png_structp png, png_const_charp text)
{
    struct png_session *session = png_get_error_ptr(png);
    if (session->out_of_memory)
        fail_memory(session->error, "out of memory for PNG");
    else if (!session->has_error)
        fail(session->error, STATUS_FAILED, "damaged PNG: %s", text);
    png_longjmp(png, 1);
}

bool png_session_reserve_budget(struct png_session *session, size_t size)
{
    if (size <= session->budget) {
        session->budget -= size;
        return true;
    }
    if (session->has_memory_limit) {
        session->has_error = true;
        fail_memory(session->error, "its metadata take more than --memory-limit leaves for them; raise it");
    } else
        metadata_note_left_out(session->metadata, "chunks beyond the limit");
    return false;
}

/* Handles libpng's warnings about an optional chunk, which begin with the chunk's name. libpng leaves the
 * chunk out:
 *
 *     the CRC is wrong                    warn; for tRNS fail, as the picture looks different without it
 *     tRNS does not fit the picture       note that it is left out
 *     the chunk is too long               as png_session_reserve_budget does */
static void on_warning(png_structp png, png_const_charp text)
{
    struct png_session *session = png_get_error_ptr(png);
    const bool is_trns = strncmp(text, "tRNS", 4) == 0;
    if (strlen(text) < 5 || text[4] != ':' || !islower((unsigned char)text[0]))
        return;
    session->has_wrong_crc = strcmp(text + 4, ": CRC error") == 0;
    if (session->has_wrong_crc && is_trns)
        on_error(png, text);
    if (session->has_wrong_crc) {
        char what[64];
        snprintf(what, sizeof what, "the chunk %.4s is damaged and left out", text);
        metadata_warn(session->metadata, what);
    } else if (is_trns)
        metadata_note_left_out(session->metadata, "tRNS");
    else if (!png_session_reserve_budget(session, SIZE_MAX) && session->has_error)
        png_longjmp(png, 1);
}

/* Allocates for libpng, which skips a chunk if this fails: png_session_run makes that an error. */
static png_voidp on_allocate(png_structp png, png_alloc_size_t size)
{
    struct png_session *session = png_get_mem_ptr(png);
    void *memory = malloc(size);
    session->out_of_memory = session->out_of_memory || memory == NULL;
    return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
    (void)png;
    free(memory);
}

/* Reads for libpng. Keeps a copy of the last read of eight bytes: libpng reads chunk headers at once. */
static void on_read(png_structp png, png_bytep data, size_t size)
{
    FILE *file = png_get_io_ptr(png);
    struct png_session *session = png_get_error_ptr(png);
    session->is_beyond_limit = size > session->read_limit;
    if (session->is_beyond_limit)
        png_longjmp(png, 1);
    session->read_limit -= size;
    if (fread(data, 1, size, file) == size) {
        if (size == sizeof session->last_header)
            memcpy(session->last_header, data, size);
        return;
    }
    if (ferror(file)) {
        fail_reading(session->error);
        png_longjmp(png, 1);
    }
    png_error(png, "the file ends too early");
}

/* Opens a session, which must not move afterwards. Call png_session_close also after a failure. */
static enum status png_session_open(struct png_session *session, FILE *file, struct error *error)
{
    *session = (struct png_session){.error = error, .read_limit = SIZE_MAX};
    session->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, session, on_error, on_warning, session,
                                            on_allocate, on_free);
    if (session->png != NULL)
        session->info = png_create_info_struct(session->png);
    if (session->info == NULL)
        return fail_memory(error, "out of memory for PNG");
    /* libpng would refuse more than a million pixels a row. The reader checks the number of pixels. */
    png_set_user_limits(session->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_benign_errors(session->png, 1);
    png_set_read_fn(session->png, file, on_read);
    png_set_crc_action(session->png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    return STATUS_OK;
}

/* Runs a step and returns its status. Every call of libpng that can fail belongs in a step. */
typedef enum status (*png_step)(void *context, struct error *error);

static enum status png_session_run(struct png_session *session, png_step step, void *context,
                                   struct error *error)
{
    session->error = error;
    if (setjmp(png_jmpbuf(session->png)) != 0)
        return STATUS_FAILED;
    enum status status = step(context, error);
    if (status == STATUS_OK && session->out_of_memory)
        return fail_memory(error, "out of memory for PNG");
    return status;
}

/* ---------------------------------------------------------------- the reader */

enum {
    ROW_BUFFERS = 2, /* the next row, filtered, and the one above */
    /* Bytes of memory for each byte of metadata: the reader's copy, the output's copy, and a third one in
     * UTF-8 or deflated, which may have twice the size. */
    METADATA_COPIES = 4,
};

struct png_reader {
    struct reader base; /* must be first */
    struct png_session session;
    struct png_pixels *pixels; /* NULL: libpng decodes the pixels */
    bool interlaced;
    unsigned char *whole; /* the interlaced image; NULL before the first row is asked for */
    uint32_t next_row;    /* to be read */
};

/* Step of png_session_run: reads the file up to the first IDAT, describes the picture and computes the memory
 * for decoding. */
static enum status png_read_header(void *context, struct error *error)
{
    struct png_reader *reader = context;
    struct png_session *session = &reader->session;
    struct image_info *info = &reader->base.info;
    png_set_sig_bytes(session->png, SIGNATURE_SIZE);
    png_metadata_register(session, &reader->base);
    const size_t budget = session->budget;
    png_read_info(session->png, session->info);

    info->width = png_get_image_width(session->png, session->info);
    info->height = png_get_image_height(session->png, session->info);
    if (check_image_size(info->width, info->height, reader->base.options.max_pixels, error) != STATUS_OK)
        return STATUS_FAILED;

    /* Ask for whole bytes, alpha instead of tRNS, and the host's byte order. */
    const int depth = png_get_bit_depth(session->png, session->info);
    const png_byte type = png_get_color_type(session->png, session->info);
    const bool has_trns = png_get_valid(session->png, session->info, PNG_INFO_tRNS) != 0;
    png_set_expand(session->png);
    if (BYTE_ORDER == LITTLE_ENDIAN && depth == 16)
        png_set_swap(session->png);
    reader->interlaced = png_set_interlace_handling(session->png) > 1;
    /* Describe the expanded picture. libpng could do so only after png_read_update_info, which allocates
     * rows; they may be long, and the plan has not counted their memory yet. */
    info->bits = depth < 8 ? depth : 0;
    info->palette = type == PNG_COLOR_TYPE_PALETTE;
    info->alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 || has_trns;
    info->channels = ((type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + info->alpha;
    snprintf(info->coding, sizeof info->coding, "Deflate");
    info->checksums = "CRC-32 and Adler-32";
    info->type = depth == 16 ? SAMPLE_UINT16 : SAMPLE_UINT8;
    reader->base.memory = ((reader->interlaced ? (uint64_t)info->height : 0) + ROW_BUFFERS) * row_size(info) +
                          (uint64_t)METADATA_COPIES * (budget - session->budget);

    /* Let pixels.c read samples that need no conversion. libpng has read the header of the first IDAT. */
    if (info->palette || depth < 8 || reader->interlaced || has_trns)
        return STATUS_OK;
    reader->pixels = png_pixels_open(&reader->base, png_get_uint_32(session->last_header), error);
    return reader->pixels == NULL ? STATUS_FAILED : STATUS_OK;
}

/* Arguments of decode_rows: rows to decode, or the whole image if it is interlaced. */
struct row_request {
    struct png_reader *reader;
    unsigned char *data; /* of the first row */
    size_t pitch;        /* bytes from row to row */
    uint32_t first;      /* number of the first row */
    uint32_t count;      /* rows */
};

/* Step of png_session_run: decodes rows, and after the last one reads the rest of the file, as a file that
 * ends early is damaged, too. */
static enum status decode_rows(void *context, struct error *error)
{
    enum { SLACK = 64 << 10 };
    const struct row_request *rows = context;
    struct png_session *session = &rows->reader->session;
    const size_t size = row_size(&rows->reader->base.info);
    const uint32_t height = rows->reader->base.info.height, end = rows->first + rows->count;
    const int passes = rows->reader->interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1;
    (void)error;
    if (rows->first == 0) /* makes libpng allocate its rows */
        png_read_update_info(session->png, session->info);
    if (png_get_rowbytes(session->png, session->info) != size)
        png_error(session->png, "rows of an unexpected size");
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = rows->first; y < end; y++) {
            /* Limit the bytes that libpng may read: after the last row it would otherwise inflate any amount
             * of surplus image data. A compressed row is hardly larger than a row, unless chunks are absurdly
             * small. */
            if (pass == passes - 1 && y == height - 1)
                session->read_limit = SLACK + 2 * size;
            png_read_row(session->png, rows->data + (y - rows->first) * rows->pitch, NULL);
        }
    if (end == height) {
        session->read_limit = SIZE_MAX;
        png_read_end(session->png, session->info);
    }
    return STATUS_OK;
}

/* Runs decode_rows. Image data beyond its limit are an error, but only a warning if all rows were decoded. */
static enum status run_decode_rows(struct row_request *rows, struct error *error)
{
    struct png_reader *reader = rows->reader;
    png_structp png = reader->session.png;
    enum status status = png_session_run(&reader->session, decode_rows, rows, error);
    if (!reader->session.is_beyond_limit)
        return status;
    if (reader->interlaced ? png_get_current_pass_number(png) != PNG_INTERLACE_ADAM7_PASSES
                           : png_get_current_row_number(png) != reader->base.info.height)
        return fail(error, STATUS_FAILED, "damaged PNG: its image data are in chunks that are far too small");
    metadata_warn(&reader->base.trailing, PNG_SURPLUS);
    return STATUS_OK;
}

static enum status png_read(struct reader *base, void *data, size_t pitch, uint32_t count,
                            struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    const uint32_t first = reader->next_row, height = base->info.height;
    const size_t size = row_size(&base->info);
    enum status status = STATUS_OK;
    if (reader->pixels != NULL) {
        status = png_pixels_read(reader->pixels, data, pitch, count, error);
        if (status == STATUS_OK && first + count == height)
            status = png_pixels_end(reader->pixels, error);
    } else if (!reader->interlaced) {
        status = run_decode_rows(&(struct row_request){reader, data, pitch, first, count}, error);
    } else if (reader->whole == NULL) {
        /* The first row of an interlaced image is complete only after the last pass. */
        reader->whole = allocate_zeroed(height, size, "an interlaced PNG", error);
        status = reader->whole == NULL
                     ? STATUS_FAILED
                     : run_decode_rows(&(struct row_request){reader, reader->whole, size, 0, height}, error);
    }
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; reader->interlaced && i < count; i++)
        memcpy((unsigned char *)data + i * pitch, reader->whole + (first + i) * size, size);
    reader->next_row += count;
    return STATUS_OK;
}

/* Replaces the pipe by /dev/null, so that the stream ends after the bytes in its buffer. */
static bool end_after_buffer(FILE *file)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    bool done = nothing >= 0 && dup3(nothing, fileno(file), O_CLOEXEC) >= 0;
    if (nothing >= 0)
        close(nothing);
    return done;
}

/* Warns if another PNG follows, as in `cat a.png b.png`. Other bytes are ignored: no program reads them, and
 * many cameras and editors leave some. Does not wait for a pipe, which may stay open without more data. */
static void png_check_trailing_data(struct reader *base)
{
    const struct png_reader *reader = (struct png_reader *)base;
    unsigned char after[SIGNATURE_SIZE];
    struct pollfd pipe = {.fd = fileno(base->file), .events = POLLIN};
    if (reader->next_row < base->info.height || reader->session.is_beyond_limit)
        return;
    for (size_t i = 0; i < sizeof after; i++) {
        if (poll(&pipe, 1, 0) <= 0 && !end_after_buffer(base->file))
            return;
        int byte = getc(base->file);
        if (byte == EOF)
            return;
        after[i] = (unsigned char)byte;
    }
    if (memcmp(after, png_signature, sizeof after) != 0)
        return;
    base->unread = "the picture after the first one";
    metadata_warn(&base->trailing, "is followed by another picture, which is left out");
}

static void png_close_reader(struct reader *base)
{
    struct png_reader *reader = (struct png_reader *)base;
    png_destroy_read_struct(&reader->session.png, &reader->session.info, NULL);
    png_pixels_close(reader->pixels);
    free(reader->whole);
}

static enum status png_open_reader(struct reader *base, struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    enum status status = png_session_open(&reader->session, base->file, error);
    if (status == STATUS_OK)
        status = png_session_run(&reader->session, png_read_header, reader, error);
    return status;
}

const struct reader_class png_reader_class = {
    .size = sizeof(struct png_reader),
    .open = png_open_reader,
    .read = png_read,
    .check_trailing_data = png_check_trailing_data,
    .close = png_close_reader,
};

/* ---------------------------------------------------------------- --check */

/* Compares the CRCs of all chunks, while the reader ignores the CRCs of optional chunks after the pixels, and
 * warns of bytes after the last chunk. */
enum status png_examine(FILE *file, struct metadata *trailing, struct error *error)
{
    unsigned char bytes[16 << 10], head[8], sum[4];
    if (png_read_bytes(file, bytes, SIGNATURE_SIZE, error) != STATUS_OK)
        return STATUS_FAILED;
    do {
        /* A chunk: length, name, data, and the CRC of name and data. */
        if (png_read_bytes(file, head, sizeof head, error) != STATUS_OK)
            return STATUS_FAILED;
        uint32_t left = png_get_uint_32(head), crc = isal_crc32(0, head + 4, 4);
        while (left > 0) {
            const uint32_t piece = left < sizeof bytes ? left : (uint32_t)sizeof bytes;
            if (png_read_bytes(file, bytes, piece, error) != STATUS_OK)
                return STATUS_FAILED;
            crc = isal_crc32(crc, bytes, piece);
            left -= piece;
        }
        if (png_read_bytes(file, sum, sizeof sum, error) != STATUS_OK)
            return STATUS_FAILED;
        if (png_get_uint_32(sum) != crc)
            return fail(error, STATUS_FAILED, "damaged PNG: %.4s: CRC error", (const char *)head + 4);
    } while (memcmp(head + 4, "IEND", 4) != 0);

    uint64_t surplus = 0;
    for (size_t more; (more = fread(bytes, 1, sizeof bytes, file)) > 0;)
        surplus += more;
    format_warn_surplus(trailing, surplus);
    return STATUS_OK;
}
