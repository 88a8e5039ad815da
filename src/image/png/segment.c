#include "image/png/segment.h"

#include "image/png/inflate.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW_BITS = 15,
    WINDOW_SIZE = 1 << WINDOW_BITS,
    MEMORY_LEVEL = 8,
    ZLIB_MEMORY = 1 << 18, /* as zconf.h says of these two */
    ZLIB_HEADER_SIZE = 2,
    ADLER_SIZE = 4,
    PIECE_SIZE = 1 << 30, /* zlib counts in 32 bits */
};

/* Run lengths look back one byte, and stored bytes not at all. The few bytes that a segment's first run costs
 * are less than what it takes to filter the rows before. */
static bool looks_back(const struct png_encoding *encoding)
{
    return encoding->level > 0 && encoding->strategy != Z_RLE && encoding->strategy != Z_HUFFMAN_ONLY;
}

void png_segment_plan(struct png_segment_plan *plan, const struct png_encoding *encoding, size_t row_size,
                      size_t pixel_size, size_t size)
{
    size_t filtered = row_size + 1;
    size_t dictionary = looks_back(encoding) ? (WINDOW_SIZE + filtered - 1) / filtered : 0;
    *plan = (struct png_segment_plan){.encoding = *encoding,
                                      .row_size = row_size,
                                      .pixel_size = pixel_size,
                                      .rows = size > filtered ? size / filtered : 1,
                                      .rows_before = dictionary + 1}; /* its first row needs one above */
}

/* In fixed codes a byte takes 9 bits at most, and zlib takes the smaller of these and others. */
static size_t data_capacity(const struct png_segment_plan *plan)
{
    size_t size = plan->rows * (plan->row_size + 1);
    return ZLIB_HEADER_SIZE + size + size / 8 + 1024 + ADLER_SIZE;
}

static size_t rows_capacity(const struct png_segment_plan *plan)
{
    return (plan->rows_before + plan->rows) * plan->row_size;
}

size_t png_segment_memory(const struct png_segment_plan *plan)
{
    return rows_capacity(plan) + data_capacity(plan) + (plan->rows + 1) * (plan->row_size + 1) + ZLIB_MEMORY;
}

enum status png_segment_open(struct png_segment *segment, const struct png_segment_plan *plan,
                             struct error *error)
{
    const struct png_encoding *encoding = &plan->encoding;
    segment->plan = plan;
    segment->rows = allocate(rows_capacity(plan), "PNG", error);
    segment->filtered = allocate(plan->rows * (plan->row_size + 1), "PNG", error);
    segment->trial = allocate(plan->row_size + 1, "PNG", error);
    segment->data = allocate(data_capacity(plan), "PNG", error);
    if (segment->rows == NULL || segment->filtered == NULL || segment->trial == NULL || segment->data == NULL)
        return STATUS_FAILED;
    if (deflateInit2(&segment->deflate, encoding->level, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL,
                     encoding->strategy) != Z_OK)
        return fail_memory(error, "out of memory for PNG");
    return STATUS_OK;
}

void png_segment_close(struct png_segment *segment)
{
    deflateEnd(&segment->deflate);
    free(segment->rows);
    free(segment->filtered);
    free(segment->trial);
    free(segment->data);
    *segment = (struct png_segment){0};
}

void png_segment_begin(struct png_segment *segment, const struct png_segment *previous)
{
    const struct png_segment_plan *plan = segment->plan;
    segment->first = previous == NULL;
    segment->last = false;
    if (previous == NULL) {
        /* PNG takes the row above the first one for zeros. */
        memset(segment->rows, 0, plan->row_size);
        segment->before = 1;
    } else {
        size_t there = previous->before + previous->count;
        size_t before = there < plan->rows_before ? there : plan->rows_before;
        memmove(segment->rows, previous->rows + (there - before) * plan->row_size, before * plan->row_size);
        segment->before = before;
    }
    segment->count = 0;
}

static unsigned char *row_at(const struct png_segment *segment, size_t index)
{
    return segment->rows + index * segment->plan->row_size;
}

unsigned char *png_segment_next_row(struct png_segment *segment)
{
    return row_at(segment, segment->before + segment->count);
}

/* One row, filtered, at `to`. */
static void filter(struct png_segment *segment, size_t index, unsigned char *to)
{
    const struct png_segment_plan *plan = segment->plan;
    struct png_row row = {.bytes = row_at(segment, index),
                          .above = row_at(segment, index - 1),
                          .size = plan->row_size,
                          .step = plan->pixel_size};
    if (plan->encoding.filter != PNG_ROW_CHOSEN)
        png_filter_row(plan->encoding.filter, &row, to);
    else if (png_filter_choose(&row, to, segment->trial) != to)
        memcpy(to, segment->trial, plan->row_size + 1);
}

/* What the search for repetitions would find before the segment, had it begun with the image. */
static void prime(struct png_segment *segment)
{
    size_t size = segment->plan->row_size + 1;
    for (size_t index = 1; index < segment->before; index++) {
        filter(segment, index, segment->filtered);
        size_t tail = size < WINDOW_SIZE ? size : WINDOW_SIZE;
        if (deflateSetDictionary(&segment->deflate, segment->filtered + size - tail, (uInt)tail) != Z_OK)
            segment->failed = true;
    }
}

static void compress_piece(struct png_segment *segment, const unsigned char *bytes, size_t size, int flush)
{
    z_stream *deflater = &segment->deflate;
    size_t room = data_capacity(segment->plan) - ADLER_SIZE - segment->data_size;
    uInt offered = room < UINT32_MAX ? (uInt)room : UINT32_MAX;
    deflater->next_in = (Bytef *)bytes; /* zlib does not write there */
    deflater->avail_in = (uInt)size;
    deflater->next_out = segment->data + segment->data_size;
    deflater->avail_out = offered;
    int result = deflate(deflater, flush);
    segment->data_size += offered - deflater->avail_out;
    if (result != (flush == Z_FINISH ? Z_STREAM_END : Z_OK) || deflater->avail_in > 0 ||
        deflater->avail_out == 0)
        segment->failed = true;
}

static void compress_bytes(struct png_segment *segment, const unsigned char *bytes, size_t size, int flush)
{
    for (; size > PIECE_SIZE; bytes += PIECE_SIZE, size -= PIECE_SIZE)
        compress_piece(segment, bytes, PIECE_SIZE, Z_NO_FLUSH);
    compress_piece(segment, bytes, size, flush);
}

/* Codes for run lengths take time, and room from those for bytes. They are worth it where runs are long or
 * bytes are not all alike anyway: where most bytes are zeros, in one bit each, a run must be longer. With run
 * lengths throughout, whole commands took a tenth to a fifth more processor time, for files of about the same
 * size (docs/performance.md). */
static int choose_strategy(const unsigned char *bytes, size_t size)
{
    size_t zeros, eights;
    png_count_runs(bytes, size, &zeros, &eights);
    double in_runs = 8.0 * (double)eights / (double)size, zero = (double)zeros / (double)size;
    return in_runs > (zero > 0.4 ? 0.18 : 0.004) ? Z_RLE : Z_HUFFMAN_ONLY;
}

/* RFC 1950: deflate with a window of 32 KiB, roughly how much was tried, and a number that makes the two
 * bytes a multiple of 31. */
static void add_zlib_header(struct png_segment *segment)
{
    int level = segment->plan->encoding.level;
    bool hurried = level < 2 || segment->plan->encoding.strategy >= Z_HUFFMAN_ONLY;
    int effort = hurried ? 0 : level < 6 ? 1 : level == 6 ? 2 : 3;
    int header = (WINDOW_BITS - 8) << 12 | Z_DEFLATED << 8 | effort << 6;
    header += 31 - header % 31;
    segment->data[0] = (unsigned char)(header >> 8);
    segment->data[1] = (unsigned char)header;
    segment->data_size = ZLIB_HEADER_SIZE;
}

void png_segment_compress(void *context)
{
    struct png_segment *segment = context;
    const struct png_segment_plan *plan = segment->plan;
    segment->data_size = 0;
    segment->failed = deflateReset(&segment->deflate) != Z_OK;
    if (segment->first)
        add_zlib_header(segment);
    if (looks_back(&plan->encoding))
        prime(segment);
    for (size_t i = 0; i < segment->count; i++)
        filter(segment, segment->before + i, segment->filtered + i * (plan->row_size + 1));
    size_t size = segment->count * (plan->row_size + 1);
    segment->adler = png_adler32(segment->filtered, size);
    if (plan->encoding.strategy == Z_RLE && deflateParams(&segment->deflate, plan->encoding.level,
                                                          choose_strategy(segment->filtered, size)) != Z_OK)
        segment->failed = true;

    /* A flush ends at a whole byte, which is where the next segment's data goes on. */
    compress_bytes(segment, segment->filtered, size, segment->last ? Z_FINISH : Z_SYNC_FLUSH);
}
