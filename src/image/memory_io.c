/* A reader and a writer whose rows are supplied and received by callbacks: for images in memory
 * (chain/memory_run.c), stacks, measurements such as that for --deskew (batch/measure.c), and
 * passes over a page whose rows are in a temporary file. They belong to a format, as all readers and writers
 * do, so the chain needs no special case. */
#include "image/memory_io.h"

#include "image/codec.h"

struct memory_reader {
    struct reader base; /* must be first */
    struct memory_source source;
};

struct memory_writer {
    struct writer base; /* must be first */
    struct memory_sink sink;
};

static enum status memory_read(struct reader *base, void *rows, size_t pitch, uint32_t count,
                               struct error *error)
{
    const struct memory_source *source = &((struct memory_reader *)base)->source;
    return source->read(source->context, rows, pitch, count, error);
}

static enum status memory_next_page(struct reader *base, bool *more, struct error *error)
{
    const struct memory_source *source = &((struct memory_reader *)base)->source;
    return source->next_page ? source->next_page(source->context, &base->info, more, error) : STATUS_OK;
}

static enum status memory_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    const struct memory_sink *sink = &((struct memory_writer *)base)->sink;
    return sink->begin_page(sink->context, info, error);
}

static enum status memory_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                                struct error *error)
{
    const struct memory_sink *sink = &((struct memory_writer *)base)->sink;
    return sink->write(sink->context, rows, pitch, count, error);
}

static enum status memory_end_page(struct writer *base, struct error *error)
{
    const struct memory_sink *sink = &((struct memory_writer *)base)->sink;
    return sink->end_page != NULL ? sink->end_page(sink->context, error) : STATUS_OK;
}

static const struct reader_class reader_class = {
    .size = sizeof(struct memory_reader), .read = memory_read, .next_page = memory_next_page};

static const struct writer_class writer_class = {.size = sizeof(struct memory_writer),
                                                 .begin_page = memory_begin_page,
                                                 .write = memory_write,
                                                 .end_page = memory_end_page};

const struct format memory_io = {.name = "rows in memory",
                                 .holds = {.types = ~0u,
                                           .channels = CHANNELS_ALL,
                                           .masks = true,
                                           .pages = true,
                                           .video = true,
                                           .texts = true,
                                           .tags = true,
                                           .cicp = true},
                                 .reader = &reader_class,
                                 .writer = &writer_class};

enum status memory_reader(const char *name, const struct image_info *first,
                          const struct memory_source *source, struct reader **reader, struct error *error)
{
    struct memory_reader *opened = allocate_zeroed(1, sizeof *opened, "the input", error);
    *reader = NULL;
    if (opened == NULL)
        return STATUS_FAILED;
    opened->source = *source;
    opened->base = (struct reader){.format = &memory_io, .info = *first, .page_count = 1};
    opened->base.info.metadata = (struct metadata){0}; /* the caller owns first->metadata */
    opened->base.name = copy_text(name, error);
    *reader = &opened->base;
    if (opened->base.name != NULL)
        return STATUS_OK;
    reader_close(*reader);
    *reader = NULL;
    return STATUS_FAILED;
}

enum status memory_reader_describe(struct reader *reader, const struct metadata *metadata,
                                   struct error *error)
{
    return metadata_copy(&reader->info.metadata, metadata, error);
}

enum status memory_writer(const char *name, const struct memory_sink *sink, struct writer **writer,
                          struct error *error)
{
    struct memory_writer *opened = allocate_zeroed(1, sizeof *opened, "the output", error);
    *writer = NULL;
    if (opened == NULL)
        return STATUS_FAILED;
    opened->sink = *sink;
    opened->base = (struct writer){.format = &memory_io, .output.copy_to = -1};
    opened->base.output.name = copy_text(name, error);
    *writer = &opened->base;
    if (opened->base.output.name != NULL)
        return STATUS_OK;
    writer_close(*writer);
    *writer = NULL;
    return STATUS_FAILED;
}
