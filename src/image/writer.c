/* Passes pages and rows from the chain to the format's writer, and refuses pages that the format cannot hold.
 *
 * The output is a temporary file until writer_commit renames it (image/output). Messages of formats get the
 * file's name here. */
#include "image/writer.h"

#include "base/threads.h"
#include "image/codec.h"
#include "image/reader.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Prefixes a format's message with the file's name unless `status` is STATUS_OK. Returns `status`. */
static enum status prefix_name(const struct writer *writer, enum status status, struct error *error)
{
    if (status != STATUS_OK)
        error_prefix_once(error, writer->output.name);
    return status;
}

uint64_t writer_memory(const struct writer_options *options, const struct image_info *info)
{
    const struct writer_class *class = options->format->writer;
    return class->memory == NULL ? 0 : class->memory(options, info);
}

bool writer_seeks(const struct format *format)
{
    return format->writer->seeks;
}

enum status writer_open(const char *path, const struct writer_options *options, struct writer **writer,
                        struct error *error)
{
    const struct writer_class *class = options->format->writer;
    *writer = NULL;
    struct writer *opened = allocate_zeroed(1, class->size, "the output", error);
    if (opened == NULL)
        return STATUS_FAILED;
    opened->format = options->format;
    opened->options = *options;
    opened->options.jobs = options->jobs > 0 ? options->jobs : processors_available();
    enum status status =
        output_open(&opened->output, path, class->seeks ? options->spool_folder : NULL, error);
    opened->output.durable = options->durable;
    if (status == STATUS_OK)
        *writer = opened;
    else
        writer_close(opened);
    return status;
}

/* Fails if the format cannot hold the page; the message names formats that can. */
static enum status writer_check_page(const struct writer *writer, const struct image_info *info,
                                     struct error *error)
{
    static const char *const colours[] = {"gray", "gray with alpha", "RGB", "RGB with alpha"};
    const struct format *format = writer->format;
    const bool video = info->video.parts > 1, mask = info->channels % 2 == 0 && !info->alpha;
    const bool bilevel = writer->options.bilevel;
    const struct capacity page = {.types = bilevel ? 0 : 1u << info->type,
                                  .channels = video ? 0 : 1u << info->channels,
                                  .bits = bilevel,
                                  .masks = mask && !video,
                                  .video = video,
                                  .pages = writer->begun};
    if (bilevel && !video && info->channels > 1)
        return fail(error, STATUS_FAILED, "%s holds 1-bit samples of gray only; %s", format->name,
                    info->alpha ? "write PNM first, which puts the picture on white"
                                : "end the chain with --gray --threshold otsu or, in uneven light, --gray "
                                  "--threshold sauvola");
    if (format_holds(format, &page))
        return STATUS_OK;
    if (page.masks > format->holds.masks)
        return fail(
            error, STATUS_FAILED,
            "%s holds colour and alpha only, and the last channel of this picture is not alpha; write %s",
            format->name, format_names(&page, "or").text);
    if (page.pages > format->holds.pages)
        return fail(error, STATUS_FAILED, "%s holds one page; write %s to keep more", format->name,
                    format_names(&page, "or").text);
    return fail(error, STATUS_FAILED, "%s does not hold %s of %s samples; write %s", format->name,
                colours[info->channels - 1], sample_name(info->type), format_names(&page, "or").text);
}

/* Returns the number of rows that write_converted converts at once: about 64 KiB of converted rows. */
static size_t rows_at_once(const struct writer *writer)
{
    return 1 + ((size_t)64 << 10) / writer_row_size(&writer->options, &writer->info);
}

/* Packs samples of 0 and 255 to bits. `flip` is 0 for formats in which white is 1, and 255 for formats in
 * which black is 1. Returns false if there are other samples. */
static bool pack_bits(const unsigned char *samples, uint32_t width, unsigned char flip, unsigned char *bits)
{
    uint64_t difference = 0; /* bits in which samples differ from 0 and 255 */
    for (uint32_t x = 0; x < width; x += 8) {
        uint64_t eight;
        memset(&eight, flip, sizeof eight); /* bits after the width become 0 */
        memcpy(&eight, samples + x, width - x < sizeof eight ? width - x : sizeof eight);
        const uint64_t ones = le64toh(eight) >> 7 & 0x0101010101010101;
        difference |= le64toh(eight) ^ ones * 255;
        /* The product moves bit 8 i to bit 63 - i. */
        *bits++ = (unsigned char)(ones * 0x8040201008040201 >> 56) ^ flip;
    }
    return difference == 0;
}

/* Blends a row with white: colour * alpha + white * (1 - alpha), integers rounded. `info` describes the
 * result, `to`, so its channels do not count alpha. */
static void blend_with_white(const struct image_info *info, const unsigned char *row, unsigned char *to)
{
    const size_t colours = (size_t)info->channels;
    for (size_t x = 0; x < info->width; x++)
        for (size_t c = 0; c < colours; c++) {
            const size_t from = x * (colours + 1) + c, alpha = x * (colours + 1) + colours,
                         i = x * colours + c;
            if (info->type == SAMPLE_FLOAT) {
                const float *v = (const void *)row;
                ((float *)(void *)to)[i] = v[from] * v[alpha] + (1 - v[alpha]);
            } else if (info->type == SAMPLE_UINT16) {
                const uint16_t *v = (const uint16_t *)row;
                const uint32_t full = UINT16_MAX;
                ((uint16_t *)to)[i] =
                    (uint16_t)((v[from] * (uint32_t)v[alpha] + full * (full - v[alpha]) + full / 2) / full);
            } else {
                const uint32_t full = UINT8_MAX;
                to[i] = (unsigned char)((row[from] * (uint32_t)row[alpha] + full * (full - row[alpha]) +
                                         full / 2) /
                                        full);
            }
        }
}

/* Packs rows to bits or blends them with white, and writes them. */
static enum status write_converted(struct writer *writer, const unsigned char *rows, size_t pitch,
                                   uint32_t count, struct error *error)
{
    const struct writer_class *class = writer->format->writer;
    const size_t size = writer_row_size(&writer->options, &writer->info), room = rows_at_once(writer);
    enum status status = STATUS_OK;
    for (uint32_t some; status == STATUS_OK && count > 0; count -= some) {
        some = count < room ? count : (uint32_t)room;
        for (uint32_t y = 0; y < some; y++, rows += pitch) {
            unsigned char *to = writer->rows + y * size;
            if (writer->blends_alpha)
                blend_with_white(&writer->info, rows, to);
            else if (!pack_bits(rows, writer->info.width, class->black_is_one ? 255 : 0, to))
                return fail(
                    error, STATUS_FAILED,
                    "has values between black and white, which 1-bit samples do not hold; end the chain "
                    "with --threshold otsu or, in uneven light, --threshold sauvola");
        }
        status = class->write(writer, writer->rows, size, some, error);
    }
    return status;
}

enum status writer_begin_page(struct writer *writer, const struct image_info *info, struct error *error)
{
    enum status status = writer_check_page(writer, info, error);
    writer->info = *info; /* borrows the metadata */
    writer->blends_alpha = info->alpha && writer->format->holds.opaque && !writer->options.bilevel;
    if (writer->blends_alpha) {
        writer->info.channels--;
        writer->info.alpha = false;
    }
    free(writer->rows);
    writer->rows = NULL;
    if (status == STATUS_OK && (writer->options.bilevel || writer->blends_alpha)) {
        writer->rows =
            allocate(rows_at_once(writer) * writer_row_size(&writer->options, &writer->info), "a row", error);
        status = writer->rows != NULL ? STATUS_OK : STATUS_FAILED;
    }
    if (status == STATUS_OK)
        status = writer->format->writer->begin_page(writer, &writer->info, error);
    writer->begun = writer->begun || status == STATUS_OK;
    return prefix_name(writer, status, error);
}

enum status writer_write(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error)
{
    return prefix_name(writer,
                       writer->rows != NULL
                           ? write_converted(writer, rows, pitch, count, error)
                           : writer->format->writer->write(writer, rows, pitch, count, error),
                       error);
}

enum status writer_end_page(struct writer *writer, struct error *error)
{
    return prefix_name(writer, writer->format->writer->end_page(writer, error), error);
}

enum status writer_copy(struct writer *writer, struct reader *reader, struct error *error)
{
    writer->copied = true;
    return prefix_name(writer, reader_copy(reader, writer->output.file, error), error);
}

enum status writer_transform(struct writer *writer, struct reader *reader, const struct affine *inverse_map,
                             const struct image_info *info, struct lossless_move *move, struct error *error)
{
    *move = (struct lossless_move){.done = false};
    if (writer->format->transform == NULL || writer->format != reader->format)
        return STATUS_OK;
    enum status status = writer->format->transform(reader, writer, inverse_map, info, move, error);
    writer->copied = move->done;
    return prefix_name(writer, status, error);
}

enum status writer_commit(struct writer *writer, struct error *error)
{
    const struct writer_class *class = writer->format->writer;
    enum status status = STATUS_OK;
    if (!writer->begun && !writer->copied)
        status = fail(error, STATUS_FAILED, "nothing to write");
    else if (class->finish != NULL && !writer->copied)
        status = class->finish(writer, error);
    status = prefix_name(writer, status, error);
    return status == STATUS_OK ? output_commit(&writer->output, error) : status;
}

void writer_close(struct writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->format->writer->close != NULL)
        writer->format->writer->close(writer);
    output_abandon(&writer->output);
    free(writer->rows);
    free(writer);
}
