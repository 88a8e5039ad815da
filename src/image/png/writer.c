/* Writes PNGs: rows are filtered and deflated in segments, on several threads.
 *
 *     rows ─▶ segments (image/strips.c) ─▶ threads: filter, deflate ─▶ in order ─▶ IDAT chunks
 *
 * The segments are sections of one zlib stream: all but the last end at a byte (Z_SYNC_FLUSH). The division
 * depends on the rows alone, so that a file is the same for any number of threads. */
#include "base/sums.h"
#include "image/png/png.h"

#include <endian.h>
#include <errno.h>
#include <isa-l.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- segments that become IDAT chunks */

enum {
    /* Bytes of filtered rows. Smaller segments make the stream longer (64 KiB by 0.1%), larger ones leave
     * processors idle if the image is small. */
    SEGMENT_SIZE = 256 << 10,
    MEMORY_MAX = 1 << 30, /* bytes for all segments, unless one takes more: rows may be very long */
    WINDOW_BITS = 15,
    MEMORY_LEVEL = 8,
    ZLIB_MEMORY = 1 << 18, /* bytes that deflate allocates for WINDOW_BITS and MEMORY_LEVEL (zconf.h) */
    ZLIB_HEADER_SIZE = 2,
    ADLER_SIZE = 4,
    DEFLATE_MAX = 1 << 30, /* bytes for one call of zlib, which counts in 32 bits */
    BITS_LEVEL = 6,        /* default level of 1-bit samples */
};

/* A segment: rows that are filtered and deflated without waiting for the rows before them. */
struct segment {
    struct strip strip;      /* must be first */
    unsigned char *filtered; /* filtered rows, each after the number of its filter */
    z_stream deflate;
    unsigned char *data; /* the deflated rows; NULL: not opened */
    size_t data_size;    /* bytes */
    uint32_t adler;      /* Adler-32 of the filtered rows */
};

/* Returns the encoder of the segment. */
static const struct png_encoder *segment_encoder(const struct segment *segment)
{
    return segment->strip.options->context;
}

/* Returns the number of rows of a segment, at least one. */
static size_t segment_rows(const struct png_encoder *encoder)
{
    const size_t size = encoder->segment_size > 0 ? encoder->segment_size : SEGMENT_SIZE;
    return size > encoder->row_size + 1 ? size / (encoder->row_size + 1) : 1;
}

/* Returns the bytes of that many filtered rows. */
static size_t filtered_size(const struct png_encoder *encoder, size_t rows)
{
    return rows * (encoder->row_size + 1);
}

/* Returns an upper bound of a segment's compressed size: fixed Huffman codes take at most 9 bits per byte,
 * and zlib uses them if dynamic codes would be longer. */
static size_t segment_capacity(const struct png_encoder *encoder)
{
    const size_t size = filtered_size(encoder, segment_rows(encoder));
    return ZLIB_HEADER_SIZE + size + size / 8 + 1024 + ADLER_SIZE;
}

static void close_segment(struct strip *strip)
{
    struct segment *segment = (struct segment *)strip;
    deflateEnd(&segment->deflate);
    free(segment->filtered);
    free(segment->data);
}

/* Deflates bytes and appends the result to the segment's data. False: zlib failed, which it should not. */
static bool deflate_bytes(struct segment *segment, const unsigned char *bytes, size_t size, int flush)
{
    z_stream *deflater = &segment->deflate;
    const size_t room = segment_capacity(segment_encoder(segment)) - ADLER_SIZE - segment->data_size;
    const uInt offered = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
    deflater->next_in = (Bytef *)bytes; /* zlib does not write there */
    deflater->avail_in = (uInt)size;
    deflater->next_out = segment->data + segment->data_size;
    deflater->avail_out = offered;
    const int result = deflate(deflater, flush);
    segment->data_size += offered - deflater->avail_out;
    return result == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && deflater->avail_in == 0 &&
           deflater->avail_out > 0;
}

/* Returns zlib's strategy for filtered rows. Photographs have hardly any repetitions to search for; flat
 * graphics have many, and searching long runs is as fast as coding them. Z_RLE searches for runs and adds
 * length codes to the Huffman tree, so it pays only if runs are common. If many bytes are zeros, their
 * Huffman code is one bit already, so the threshold is higher. docs/performance.md has the figures. */
static int choose_strategy(const unsigned char *bytes, size_t size)
{
    size_t zeros, runs;
    png_count_runs(bytes, size, &zeros, &runs);
    const double in_runs = 8.0 * (double)runs / (double)size, zero = (double)zeros / (double)size;
    return in_runs > 0.4 ? Z_FILTERED : in_runs > (zero > 0.4 ? 0.18 : 0.004) ? Z_RLE : Z_HUFFMAN_ONLY;
}

/* Filters and deflates a segment, in any thread. The data of all segments and the Adler-32 of all filtered
 * rows form one zlib stream. */
static enum status compress_segment(struct strip *strip, struct error *error)
{
    struct segment *segment = (struct segment *)strip;
    const struct png_encoder *encoder = segment_encoder(segment);
    size_t size = filtered_size(encoder, strip->count);

    /* At the first use allocate. Later uses have the same buffers and zlib state. */
    if (segment->data == NULL) {
        segment->filtered = allocate(filtered_size(encoder, segment_rows(encoder)), "PNG", error);
        segment->data = segment->filtered == NULL ? NULL : allocate(segment_capacity(encoder), "PNG", error);
        if (segment->data == NULL)
            return STATUS_FAILED;
        if (deflateInit2(&segment->deflate, encoder->level, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL,
                         encoder->strategy) != Z_OK)
            return fail_memory(error, "out of memory for PNG");
    }
    const unsigned char *bytes = segment->filtered;
    segment->data_size = 0;
    bool done = deflateReset(&segment->deflate) == Z_OK;

    /* The first segment begins with a zlib header (RFC 1950): deflate with a window of 32 KiB, a hint at the
     * level, and a check that makes the header a multiple of 31. */
    if (strip->number == 0) {
        const int hint = encoder->level < 2 ? 0 : encoder->level < 6 ? 1 : encoder->level == 6 ? 2 : 3;
        const int header = (WINDOW_BITS - 8) << 12 | Z_DEFLATED << 8 | hint << 6;
        png_save_uint_16(segment->data, (unsigned)(header + 31 - header % 31));
        segment->data_size = ZLIB_HEADER_SIZE;
    }

    /* Filter and deflate. */
    for (size_t i = 0; i < strip->count; i++) {
        const unsigned char *above = strip->rows + i * encoder->row_size - encoder->row_size;
        const struct png_row row = {above + encoder->row_size, above, encoder->row_size, encoder->pixel_size};
        png_filter_row(encoder->filter, &row, segment->filtered + filtered_size(encoder, i));
    }
    segment->adler = isal_adler32(1, bytes, size);
    avx_clear_upper();
    if (encoder->strategy == Z_RLE)
        done = done && deflateParams(&segment->deflate, encoder->level, choose_strategy(bytes, size)) == Z_OK;
    for (; done && size > DEFLATE_MAX; bytes += DEFLATE_MAX, size -= DEFLATE_MAX)
        done = deflate_bytes(segment, bytes, DEFLATE_MAX, Z_NO_FLUSH);
    /* A flush ends at a whole byte, where the next segment's data can continue. */
    done = done && deflate_bytes(segment, bytes, size, strip->last ? Z_FINISH : Z_SYNC_FLUSH);
    return done ? STATUS_OK : fail(error, STATUS_FAILED, "cannot encode as PNG: zlib failed");
}

/* Writes the data of the next segment, and after the last one the Adler-32 of all segments: adler32_combine
 * computes it from the sums of the segments. */
static enum status emit_segment(void *context, struct strip *strip, struct error *error)
{
    struct png_encoder *encoder = context;
    struct segment *segment = (struct segment *)strip;
    encoder->adler = (uint32_t)adler32_combine(encoder->adler, segment->adler,
                                               (z_off_t)filtered_size(encoder, strip->count));
    if (strip->last) {
        png_save_uint_32(segment->data + segment->data_size, encoder->adler);
        segment->data_size += ADLER_SIZE;
    }
    return encoder->emit(encoder->context, segment->data, segment->data_size, error);
}

static void swap_row(const void *context, const void *row, unsigned char *to)
{
    sample_swap(row, ((const struct png_encoder *)context)->row_size, to);
}

static struct strips_options choose_strips(const struct png_encoder *encoder)
{
    const size_t rows = segment_rows(encoder);
    return (struct strips_options){
        .row_size = encoder->row_size,
        .height = encoder->height,
        .strip_rows = (uint32_t)rows,
        .has_row_above = true,
        .strip_size = sizeof(struct segment),
        .strip_memory = (uint64_t)(rows + 1) * encoder->row_size + filtered_size(encoder, rows) +
                        segment_capacity(encoder) + ZLIB_MEMORY,
        .memory = encoder->memory > 0 && encoder->memory < MEMORY_MAX ? encoder->memory : MEMORY_MAX,
        .threads = encoder->jobs,
        .copy = encoder->swap ? swap_row : NULL,
        .encode = compress_segment,
        .emit = emit_segment,
        .close = close_segment,
    };
}

struct strips *png_encoder_open(struct png_encoder *encoder, struct error *error)
{
    struct strips_options options = choose_strips(encoder);
    options.context = encoder;
    encoder->adler = (uint32_t)adler32_z(0, NULL, 0);
    return strips_open(&options, error);
}

/* ---------------------------------------------------------------- the file */

const unsigned char png_signature[SIGNATURE_SIZE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

struct png_writer {
    struct writer base; /* must be first */
    struct png_encoder encoder;
    struct strips *strips; /* receives the rows */
};

/* Writes the data as IDAT chunks of at most CHUNK_SIZE_MAX bytes. */
static enum status write_idat(void *context, const unsigned char *data, size_t size, struct error *error)
{
    enum { CHUNK_SIZE_MAX = 1 << 30 }; /* PNG allows nearly twice as much */
    enum status status = STATUS_OK;
    for (; status == STATUS_OK && size > CHUNK_SIZE_MAX; data += CHUNK_SIZE_MAX, size -= CHUNK_SIZE_MAX)
        status = png_chunk_write(context, "IDAT", data, CHUNK_SIZE_MAX, error);
    return status == STATUS_OK ? png_chunk_write(context, "IDAT", data, size, error) : status;
}

/* Returns how rows are encoded. Level 0 only stores, so that filters would not help. Level 1 is the default,
 * with a strategy for each segment. Filters do not suit 1-bit samples; zlib's default strategy finds their
 * repetitions. */
static struct png_encoder choose_encoder(const struct writer_options *options, const struct image_info *info)
{
    const int preset = options->bilevel ? BITS_LEVEL : 1;
    const int level = options->compression == COMPRESSION_PRESET_DEFAULT ? preset : options->compression;
    return (struct png_encoder){.level = level,
                                .strategy = options->bilevel ? Z_DEFAULT_STRATEGY
                                            : level == 1     ? Z_RLE
                                                             : Z_FILTERED,
                                .filter = level == 0 || options->bilevel ? ROW_FILTER_NONE : ROW_FILTER_PAETH,
                                .row_size = writer_row_size(options, info),
                                .pixel_size = pixel_size(info),
                                .height = info->height,
                                .swap = BYTE_ORDER == LITTLE_ENDIAN && info->type == SAMPLE_UINT16,
                                .jobs = options->jobs,
                                .memory = options->memory};
}

static uint64_t png_memory(const struct writer_options *options, const struct image_info *info)
{
    const struct png_encoder chosen = choose_encoder(options, info);
    const struct strips_options strips = choose_strips(&chosen);
    return strips_memory(&strips);
}

static enum status png_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    static const unsigned char colour_types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                                 PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    struct png_writer *writer = (struct png_writer *)base;
    FILE *file = base->output.file;
    unsigned char header[13] = {[8] = base->options.bilevel         ? 1
                                      : info->type == SAMPLE_UINT16 ? 16
                                                                    : 8,
                                [9] = colour_types[info->channels - 1]};
    png_save_uint_32(header, info->width);
    png_save_uint_32(header + 4, info->height);
    if (fwrite(png_signature, 1, sizeof png_signature, file) != sizeof png_signature)
        return fail_writing(error, errno);
    if (png_chunk_write(file, "IHDR", header, sizeof header, error) != STATUS_OK ||
        png_metadata_write(file, info, error) != STATUS_OK)
        return STATUS_FAILED;
    writer->encoder = choose_encoder(&base->options, info);
    writer->encoder.emit = write_idat;
    writer->encoder.context = file;
    writer->strips = png_encoder_open(&writer->encoder, error);
    return writer->strips == NULL ? STATUS_FAILED : STATUS_OK;
}

static enum status png_put_rows(struct writer *base, const void *data, size_t pitch, uint32_t count,
                                struct error *error)
{
    return strips_write(((struct png_writer *)base)->strips, data, pitch, count, error);
}

static enum status png_end_page(struct writer *base, struct error *error)
{
    enum status status = strips_finish(((struct png_writer *)base)->strips, error);
    return status == STATUS_OK ? png_chunk_write(base->output.file, "IEND", "", 0, error) : status;
}

static void close_writer(struct writer *base)
{
    strips_close(((struct png_writer *)base)->strips);
}

static const struct writer_class writer_class = {
    .size = sizeof(struct png_writer),
    .memory = png_memory,
    .begin_page = png_begin_page,
    .write = png_put_rows,
    .end_page = png_end_page,
    .close = close_writer,
};

/* ---------------------------------------------------------------- the format */

static bool png_recognise(const unsigned char *head, size_t size)
{
    return size >= sizeof png_signature && memcmp(head, png_signature, sizeof png_signature) == 0;
}

const struct format format_png = {
    .name = "PNG",
    .extensions = (const char *const[]){"png", NULL},
    .coding = CODING_COMPRESSION,
    .holds = {.types = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16,
              .bits = true,
              .channels = CHANNELS_ALL,
              .texts = true,
              .cicp = true},
    .recognise = png_recognise,
    .examine = png_examine,
    .holds_text = png_holds_text,
    .holds_icc = png_holds_icc,
    .note_left_out = png_note_left_out,
    .reader = &png_reader_class,
    .writer = &writer_class,
};
