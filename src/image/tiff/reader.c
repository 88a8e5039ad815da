#include "image/tiff/ahead.h"
#include "image/tiff/convert.h"
#include "image/tiff/file.h"
#include "image/tiff/layout.h"
#include "image/tiff/metadata.h"
#include "image/tiff/rows.h"
#include "image/tiff/texts.h"
#include "image/tiff/tiff.h"

#include <stdlib.h>
#include <string.h>

/* Rows that must be converted are decoded in pieces of about this size, so that they stay in the cache. */
enum { PACKED_SIZE = 256 << 10 };

/* A page takes a file 100 bytes and climg 0.1 ms, however small it is. */
enum { PAGES_MAX = 65536 };

struct tiff_reader {
    struct reader base; /* must be first */
    struct tiff_file file;
    struct tiff_layout layout; /* of the current page, as are the rest */
    struct tiff_table table;
    struct tiff_rows rows;
    struct tiff_ahead *ahead; /* decodes them on other threads; NULL where that does not pay */
    char *page_name;
    int page;              /* its number, from 1 */
    bool broken_link;      /* behind the last page */
    uint32_t others;       /* kinds of directories that are no pages */
    unsigned char *packed; /* rows before conversion; NULL while none is needed */
    uint32_t packed_rows;  /* how many fit */
    uint32_t row;          /* the next to be read */
};

static void end_page(struct tiff_reader *reader)
{
    tiff_ahead_close(reader->ahead);
    reader->ahead = NULL;
    tiff_rows_end(&reader->rows);
    metadata_free(&reader->base.info.metadata);
    free(reader->table.entries);
    free(reader->packed);
    free(reader->page_name);
    reader->table.entries = NULL;
    reader->packed = NULL;
    reader->page_name = NULL;
    reader->base.info = (struct image_info){.width = 0};
}

static enum status begin_conversion(struct tiff_reader *reader, struct error *error)
{
    const uint64_t row = reader->layout.row;

    if (tiff_row_is_final(&reader->layout, &reader->table))
        return STATUS_OK;
    reader->packed_rows = row < PACKED_SIZE ? (uint32_t)(PACKED_SIZE / row) : 1;
    reader->packed = allocate(reader->packed_rows * row, "TIFF rows", error);
    return reader->packed == NULL ? STATUS_FAILED : STATUS_OK;
}

/* ImageJ writes stacks beyond 4 GiB with one directory, for the first of images that follow each other. */
static enum status check_stack(const struct tiff_reader *reader, struct error *error)
{
    int images = description_image_count(&reader->base.info.metadata);

    if (images <= 1 || reader->base.page_count > 1 || reader_last_page(&reader->base) == 1)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "an ImageJ stack of %d images in one directory is not supported; read the first one with "
                "--page 1, or save it as an image sequence",
                images);
}

/* The current directory becomes the page that is read. */
static enum status begin_page(struct tiff_reader *reader, struct error *error)
{
    struct image_info *info = &reader->base.info;
    TIFF *tiff = reader->file.tiff;

    end_page(reader);
    reader->row = 0;
    enum status status = tiff_layout_read(tiff, &reader->base.options, &reader->layout, error);
    if (status == STATUS_OK)
        status = tiff_table_make(tiff, &reader->layout, &reader->table, error);
    if (status == STATUS_OK)
        status = tiff_rows_begin(&reader->rows, &reader->file, &reader->layout, error);
    if (status == STATUS_OK)
        status = tiff_ahead_open(&reader->rows, &reader->base.options, &reader->ahead, error);
    if (status == STATUS_OK)
        status = begin_conversion(reader, error);
    if (status == STATUS_OK)
        status = tiff_text_read(&reader->file, TIFFTAG_PAGENAME, &reader->page_name, error);
    if (status == STATUS_OK)
        status = tiff_metadata_read(&reader->file, &info->metadata, error);
    tiff_layout_describe(tiff, &reader->layout, reader->table.wide_palette, info);
    info->page_name = reader->page_name;
    if (status == STATUS_OK)
        status = tiff_file_trouble(&reader->file, error);
    if (status == STATUS_OK)
        status = check_stack(reader, error);
    const bool first = reader->page == 0 || reader->page + 1 == reader->base.options.page;
    reader->page++;
    if (first && reader->broken_link)
        metadata_warn(&info->metadata, "the link to a page behind the last readable one is broken");
    if (first && (reader->others & FILETYPE_MASK) != 0)
        metadata_leave_out(&info->metadata, "the mask of transparency");
    if (first && (reader->others & FILETYPE_REDUCEDIMAGE) != 0)
        metadata_leave_out(&info->metadata, "smaller copies");
    reader->base.plain = reader->layout.compression == COMPRESSION_NONE && !reader->layout.separate &&
                         !reader->layout.tiled && reader->packed == NULL;
    reader->base.memory = reader->rows.memory + tiff_ahead_memory(reader->ahead);
    return status;
}

/* Reduced copies and masks are no pages; but the first directory is what every program shows, whatever it
 * says. */
static bool is_page(TIFF *tiff, uint32_t *others)
{
    uint32_t kind = 0;

    TIFFGetFieldDefaulted(tiff, TIFFTAG_SUBFILETYPE, &kind);
    if (TIFFCurrentDirectory(tiff) == 0 || (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0)
        return true;
    *others |= kind;
    return false;
}

/* To the next directory that is a page; *more is false when there is none. */
static enum status advance(struct tiff_reader *reader, bool *more, struct error *error)
{
    struct tiff_file *file = &reader->file;

    *more = false;
    while (!*more && !TIFFLastDirectory(file->tiff)) {
        file->message[0] = '\0'; /* what was said of those before did not stop anything */
        if (!TIFFReadDirectory(file->tiff))
            return tiff_file_damaged(file, error);
        *more = is_page(file->tiff, &reader->others);
    }
    return STATUS_OK;
}

/* A link that leads nowhere ends the pages, and does not cost those before it. */
static enum status count_pages(struct tiff_reader *reader, struct error *error)
{
    bool more = true;

    for (reader->base.page_count = 0; more; reader->base.page_count++)
        if (advance(reader, &more, error) != STATUS_OK) {
            reader->broken_link = true;
            more = false;
        }
    reader->file.message[0] = '\0';
    if (reader->base.page_count > PAGES_MAX && reader->base.options.page == 0)
        return fail(error, STATUS_FAILED,
                    "has %d pages, more than the %d that are read; choose some with --page",
                    reader->base.page_count, PAGES_MAX);
    if (tiff_file_trouble(&reader->file, error) != STATUS_OK)
        return STATUS_FAILED;
    return TIFFCurrentDirectory(reader->file.tiff) == 0 || TIFFSetDirectory(reader->file.tiff, 0)
               ? STATUS_OK
               : tiff_file_damaged(&reader->file, error);
}

static enum status go_to_page(struct tiff_reader *reader, int page, struct error *error)
{
    bool more;

    if (page > reader->base.page_count)
        return fail(error, STATUS_FAILED, "there is no page %d; the file has %d", page,
                    reader->base.page_count);
    for (; reader->page + 1 < page; reader->page++) {
        enum status status = advance(reader, &more, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status fetch(struct tiff_reader *reader, uint32_t count, unsigned char *to, size_t pitch,
                         struct error *error)
{
    if (reader->ahead != NULL)
        return tiff_ahead_fetch(reader->ahead, reader->row, count, to, pitch, error);
    return tiff_rows_fetch(&reader->rows, reader->row, count, to, pitch, error);
}

static void note_rounding(struct tiff_reader *reader, const unsigned char *row)
{
    reader->base.rounded = reader->base.rounded || tiff_row_rounds(&reader->layout, row);
}

static enum status read_converted(struct tiff_reader *reader, unsigned char *to, size_t pitch, uint32_t count,
                                  struct error *error)
{
    const size_t row = reader->layout.row;

    while (count > 0) {
        uint32_t some = count < reader->packed_rows ? count : reader->packed_rows;
        enum status status = fetch(reader, some, reader->packed, row, error);
        if (status != STATUS_OK)
            return status;
        for (uint32_t y = 0; y < some; y++, to += pitch) {
            note_rounding(reader, reader->packed + y * row);
            tiff_row_convert(&reader->layout, &reader->table, &reader->base.info, reader->packed + y * row,
                             to);
        }
        reader->row += some;
        count -= some;
    }
    return STATUS_OK;
}

static enum status read_final(struct tiff_reader *reader, unsigned char *to, size_t pitch, uint32_t count,
                              struct error *error)
{
    enum status status = fetch(reader, count, to, pitch, error);

    if (status != STATUS_OK)
        return status;
    for (uint32_t y = 0; y < count; y++, to += pitch) {
        note_rounding(reader, to);
        if (reader->layout.inverted)
            tiff_row_convert(&reader->layout, &reader->table, &reader->base.info, to, to);
    }
    reader->row += count;
    return STATUS_OK;
}

static enum status tiff_read(struct reader *base, void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    return reader->packed != NULL ? read_converted(reader, rows, pitch, count, error)
                                  : read_final(reader, rows, pitch, count, error);
}

static enum status tiff_next_page(struct reader *base, bool *more, struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    *more = false;
    if (reader->page == base->page_count || reader->page >= reader_last_page(base))
        return STATUS_OK;
    enum status status = advance(reader, more, error);
    return status == STATUS_OK && *more ? begin_page(reader, error) : status;
}

static enum status tiff_open(struct reader *base, struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;
    enum status status = tiff_file_open(&reader->file, fileno(base->file), TIFF_FILE_READ, error);
    if (status == STATUS_OK)
        status = count_pages(reader, error);
    if (status == STATUS_OK)
        status = go_to_page(reader, base->options.page, error);
    return status == STATUS_OK ? begin_page(reader, error) : status;
}

static void tiff_close(struct reader *base)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    end_page(reader);
    tiff_file_close(&reader->file);
}

const struct reader_class tiff_reader_class = {
    .size = sizeof(struct tiff_reader),
    .seeks = true,
    .open = tiff_open,
    .read = tiff_read,
    .next_page = tiff_next_page,
    .close = tiff_close,
};
