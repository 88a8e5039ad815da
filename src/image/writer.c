/* Passes pages and rows from the chain to the format's writer, and refuses pages that the format cannot hold.
 *
 * The output is a temporary file until writer_commit renames it (image/output). Messages of formats get the
 * file's name here. */
#include "image/writer.h"

#include "base/threads.h"
#include "image/codec.h"
#include "image/reader.h"

#include <stdlib.h>

/* Adds the file's name to a format's message. */
static enum status named(const struct writer *writer, enum status status, struct error *error)
{
    if (status != STATUS_OK)
        error_name(error, writer->output.name);
    return status;
}

/* By default one thread for each processor. */
static void choose_jobs(struct writer_options *options)
{
    if (options->jobs == 0)
        options->jobs = workers_available();
}

uint64_t writer_memory(const struct writer_options *options, const struct image_info *info)
{
    const struct writer_class *class = options->format->writer;
    struct writer_options chosen = *options;
    choose_jobs(&chosen);
    return class->memory == NULL ? 0 : class->memory(&chosen, info);
}

bool writer_reads(const struct format *format)
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
    choose_jobs(&opened->options);
    enum status status = output_open(&opened->output, path, class->seeks ? options->spool : NULL, error);
    opened->output.durable = options->durable;
    if (status == STATUS_OK && class->open != NULL)
        status = named(opened, class->open(opened, error), error);
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
    const struct capacity page = {.types = 1u << info->type,
                                  .channels = video ? 0 : 1u << info->channels,
                                  .masks = mask && !video,
                                  .video = video,
                                  .pages = writer->begun};
    if (format_holds(format, &page))
        return STATUS_OK;
    if (page.masks > format->holds.masks)
        return fail(error, STATUS_FAILED,
                    "%s holds no channel beside colour but alpha, which this one is not; write %s",
                    format->name, format_names(&page, "or").text);
    if (page.pages > format->holds.pages)
        return fail(error, STATUS_FAILED, "%s holds one page; write %s to keep more", format->name,
                    format_names(&page, "or").text);
    return fail(error, STATUS_FAILED, "%s does not hold %s of %s samples; write %s", format->name,
                colours[info->channels - 1], sample_name(info->type), format_names(&page, "or").text);
}

enum status writer_begin_page(struct writer *writer, const struct image_info *info, struct error *error)
{
    enum status status = writer_check_page(writer, info, error);
    writer->info = *info; /* the caller still owns its metadata */
    if (status == STATUS_OK)
        status = writer->format->writer->begin_page(writer, info, error);
    writer->begun = writer->begun || status == STATUS_OK;
    return named(writer, status, error);
}

enum status writer_write(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error)
{
    return named(writer, writer->format->writer->write(writer, rows, pitch, count, error), error);
}

enum status writer_end_page(struct writer *writer, struct error *error)
{
    return named(writer, writer->format->writer->end_page(writer, error), error);
}

enum status writer_copy(struct writer *writer, struct reader *reader, struct error *error)
{
    writer->copied = true;
    return named(writer, reader_copy(reader, writer->output.file, error), error);
}

enum status writer_turn(struct writer *writer, struct reader *reader, const struct affine *places,
                        const struct image_info *info, struct lossless_move *move, struct error *error)
{
    *move = (struct lossless_move){.done = false};
    if (writer->format->turn == NULL || writer->format != reader->format)
        return STATUS_OK;
    enum status status = writer->format->turn(reader, writer, places, info, move, error);
    writer->copied = move->done;
    return named(writer, status, error);
}

enum status writer_commit(struct writer *writer, struct error *error)
{
    const struct writer_class *class = writer->format->writer;
    enum status status = STATUS_OK;
    if (!writer->begun && !writer->copied)
        status = fail(error, STATUS_FAILED, "nothing to write");
    else if (class->finish != NULL && !writer->copied)
        status = class->finish(writer, error);
    status = named(writer, status, error);
    return status == STATUS_OK ? output_commit(&writer->output, error) : status;
}

void writer_close(struct writer *writer)
{
    if (writer == NULL)
        return;
    writer->format->writer->close(writer);
    output_abandon(&writer->output);
    free(writer);
}
