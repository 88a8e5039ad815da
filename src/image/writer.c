#include "image/writer.h"

#include "base/workers.h"
#include "image/format.h"

#include <stdlib.h>

static const struct writer_class *class_of(enum file_format format)
{
    switch (format) {
    case FORMAT_PNG:
        return &png_writer_class;
    case FORMAT_TIFF:
        return &tiff_writer_class;
    }
    return NULL;
}

/* The formats' messages do not say which file they are about. */
static enum status named(const struct writer *writer, enum status status, struct error *error)
{
    if (status != STATUS_OK)
        error_prefix(error, writer->output.name);
    return status;
}

enum status writer_open(const char *path, const struct writer_options *options, struct writer **writer,
                        struct error *error)
{
    *writer = NULL;
    const struct writer_class *class = class_of(options->format);
    if (class == NULL)
        return fail(error, STATUS_FAILED, "%s: unknown output format %d", path, (int)options->format);

    struct writer *opened = allocate_zeroed(1, class->size, "the output", error);
    if (opened == NULL)
        return STATUS_FAILED;
    opened->class = class;
    opened->options = *options;
    if (opened->options.jobs == 0)
        opened->options.jobs = workers_available();
    enum status status = output_open(&opened->output, path, class->seeks, error);
    if (status == STATUS_OK)
        status = named(opened, class->open(opened, error), error);
    if (status == STATUS_OK)
        *writer = opened;
    else
        writer_close(opened);
    return status;
}

enum status writer_begin_page(struct writer *writer, const struct image_info *info, struct error *error)
{
    writer->info = *info; /* its metadata still belongs to the caller */
    return named(writer, writer->class->begin_page(writer, info, error), error);
}

enum status writer_write(struct writer *writer, const void *rows, size_t pitch, uint32_t count,
                         struct error *error)
{
    return named(writer, writer->class->write(writer, rows, pitch, count, error), error);
}

enum status writer_end_page(struct writer *writer, struct error *error)
{
    return named(writer, writer->class->end_page(writer, error), error);
}

enum status writer_commit(struct writer *writer, struct error *error)
{
    enum status status = named(writer, writer->class->finish(writer, error), error);
    return status == STATUS_OK ? output_commit(&writer->output, error) : status;
}

void writer_close(struct writer *writer)
{
    if (writer == NULL)
        return;
    writer->class->close(writer);
    output_abandon(&writer->output);
    free(writer);
}
