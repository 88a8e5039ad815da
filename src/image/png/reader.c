/* Reads PNGs: the header and metadata, then rows. An interlaced image is decoded whole before its first row
 * is returned. Chunks after the pixels are checked and noted, not parsed. */
#include "image/png/png.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ROW_BUFFERS = 2, /* the next row, filtered, and the one above */
    /* The reader's, the output's, and one in UTF-8 or deflated, of up to twice the size. */
    METADATA_COPIES = 4,
};

struct png_reader {
    struct reader base; /* must be first */
    struct png_chunk chunk;
    struct png_header header;
    struct png_pixels *pixels;
    unsigned char *whole; /* the interlaced image; NULL before the first row is asked for */
    uint32_t next_row;    /* to be read */
};

/* Reads the file up to the first IDAT, describes the picture and computes the memory for decoding. */
static enum status png_open_reader(struct reader *base, struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    struct png_header *header = &reader->header;
    struct image_info *info = &base->info;
    reader->chunk.file = base->file;
    header->metadata = &info->metadata;
    if (png_header_read(&reader->chunk, header, base->options.memory, error) != STATUS_OK ||
        check_image_size(header->width, header->height, base->options.max_pixels, error) != STATUS_OK)
        return STATUS_FAILED;
    info->width = header->width;
    info->height = header->height;
    info->bits = header->bits < 8 ? header->bits : 0;
    info->palette = header->colour_type == PNG_PALETTE;
    info->alpha = (header->colour_type & PNG_ALPHA) != 0 || header->has_transparency;
    info->channels = ((header->colour_type & PNG_COLOUR) != 0 ? 3 : 1) + info->alpha;
    snprintf(info->coding, sizeof info->coding, "Deflate");
    info->checksums = "CRC-32 and Adler-32";
    info->type = header->bits == 16 ? SAMPLE_UINT16 : SAMPLE_UINT8;
    base->memory = ((header->is_interlaced ? (uint64_t)info->height + 1 : 0) + ROW_BUFFERS) * row_size(info) +
                   (uint64_t)METADATA_COPIES * header->used;
    reader->pixels = png_pixels_open(header, &reader->chunk, error);
    return reader->pixels == NULL ? STATUS_FAILED : STATUS_OK;
}

/* Decodes an interlaced image, which consists of seven smaller pictures (Adam7): pixels whose x and y are a
 * first one plus multiples of a step. */
static enum status read_interlaced(struct png_reader *reader, struct error *error)
{
    static const struct {
        uint32_t first_x, first_y, step_x, step_y;
    } passes[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                  {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    const struct image_info *info = &reader->base.info;
    const size_t size = row_size(info), pixel = pixel_size(info);
    /* The image, and a row of a pass. */
    reader->whole = allocate_zeroed((size_t)info->height + 1, size, "an interlaced PNG", error);
    if (reader->whole == NULL)
        return STATUS_FAILED;
    unsigned char *row = reader->whole + info->height * size;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        const uint32_t x = passes[i].first_x, y = passes[i].first_y;
        if (x >= info->width || y >= info->height)
            continue;
        const uint32_t width = (info->width - x - 1) / passes[i].step_x + 1,
                       height = (info->height - y - 1) / passes[i].step_y + 1;
        png_pixels_begin(reader->pixels, width, height);
        for (uint32_t j = 0; j < height; j++) {
            unsigned char *to = reader->whole + (y + j * passes[i].step_y) * size + x * pixel;
            if (png_pixels_read(reader->pixels, row, size, 1, error) != STATUS_OK)
                return STATUS_FAILED;
            for (size_t k = 0; k < width; k++)
                memcpy(to + k * passes[i].step_x * pixel, row + k * pixel, pixel);
        }
    }
    return png_pixels_end(reader->pixels, &reader->base.trailing, error);
}

static enum status png_read_some(struct reader *base, void *data, size_t pitch, uint32_t count,
                                 struct error *error)
{
    struct png_reader *reader = (struct png_reader *)base;
    const size_t size = row_size(&base->info);
    if (!reader->header.is_interlaced) {
        enum status status = png_pixels_read(reader->pixels, data, pitch, count, error);
        reader->next_row += count;
        return status == STATUS_OK && reader->next_row == base->info.height
                   ? png_pixels_end(reader->pixels, &base->trailing, error)
                   : status;
    }
    if (reader->whole == NULL && read_interlaced(reader, error) != STATUS_OK)
        return STATUS_FAILED;
    for (uint32_t i = 0; i < count; i++)
        memcpy((unsigned char *)data + i * pitch, reader->whole + (reader->next_row + i) * size, size);
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
    if (reader->next_row < base->info.height)
        return;
    for (size_t i = 0; i < sizeof after; i++) {
        if (poll(&pipe, 1, 0) <= 0 && !end_after_buffer(base->file))
            return;
        int byte = getc(base->file);
        if (byte == EOF)
            return;
        after[i] = (unsigned char)byte;
    }
    if (memcmp(after, png_signature, sizeof after) == 0)
        metadata_warn(&base->trailing, "is followed by another picture, which is left out");
}

static void png_close_reader(struct reader *base)
{
    struct png_reader *reader = (struct png_reader *)base;
    png_pixels_close(reader->pixels);
    free(reader->whole);
}

const struct reader_class png_reader_class = {
    .size = sizeof(struct png_reader),
    .open = png_open_reader,
    .read = png_read_some,
    .check_trailing_data = png_check_trailing_data,
    .close = png_close_reader,
};
