/* Reads TIFFs page by page: finds the directories that are pages, refuses raw files of cameras, and converts
 * rows.
 *
 * The first directory is a page; later ones are unless they say that they are smaller copies or masks. */
#include "image/tiff/tiff.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the directories that are pages */

/* The directories in the order of their links. */
struct chain {
    uint64_t *offsets;
    size_t count, room;
    size_t mark; /* each new offset is compared with this one, which moves on at 1, 3, 7, ... (Brent's cycle
                    detection) */
};

static enum status append(struct chain *chain, uint64_t offset, struct error *error)
{
    if (chain->count == chain->room) {
        const size_t room = 2 * chain->room + 16;
        uint64_t *offsets = realloc(chain->offsets, room * sizeof *offsets);
        if (offsets == NULL)
            return fail_memory(error, "out of memory for the pages of a TIFF");
        chain->offsets = offsets;
        chain->room = room;
    }
    if (chain->count == 2 * chain->mark + 1)
        chain->mark = chain->count;
    chain->offsets[chain->count++] = offset;
    return STATUS_OK;
}

/* The number of different offsets, when the next one would be the mark's again. */
static size_t count_different(const struct chain *chain)
{
    const size_t round = chain->count - chain->mark;
    size_t first = 0;

    while (first < chain->mark && chain->offsets[first] != chain->offsets[first + round])
        first++;
    return first + round;
}

/* The last link is 0. A link is broken if it leads to no readable directory, or back to an earlier one. */
static enum status follow_links(const struct ifd_source *source, struct chain *chain, bool *broken,
                                struct error *error)
{
    uint64_t offset = 0, next = 0;

    *broken = !ifd_first(source, &offset);
    while (!*broken && offset != 0) {
        const bool back = chain->count > 0 && offset == chain->offsets[chain->mark];
        *broken = back || !ifd_next(source, offset, &next);
        if (back)
            chain->count = count_different(chain);
        else if (!*broken && append(chain, offset, error) != STATUS_OK)
            return STATUS_FAILED;
        offset = next;
    }
    return STATUS_OK;
}

/* FILETYPE_ bits of a directory that is no page; 0 for a page. */
static uint32_t other_kind(const struct ifd_source *source, uint64_t directory)
{
    struct ifd_entry entry;
    uint64_t kind = 0;

    if (ifd_find(source, directory, TIFFTAG_SUBFILETYPE, &entry) && ifd_unsigned(source, &entry, &kind))
        return (uint32_t)kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK);
    if (ifd_find(source, directory, TIFFTAG_OSUBFILETYPE, &entry) && ifd_unsigned(source, &entry, &kind))
        return kind == OFILETYPE_REDUCEDIMAGE ? FILETYPE_REDUCEDIMAGE : 0;
    return 0;
}

/* The first directory is always a page, as every program shows it. */
static void keep_pages(const struct ifd_source *source, const struct chain *chain, struct tiff_pages *pages)
{
    for (size_t i = 0; i < chain->count; i++) {
        const uint32_t kind = i == 0 ? 0 : other_kind(source, chain->offsets[i]);
        pages->others |= kind;
        if (kind == 0)
            pages->directories[pages->count++] = chain->offsets[i];
    }
}

enum status tiff_pages_find(struct tiff_file *file, struct tiff_pages *pages, struct error *error)
{
    struct ifd_source source;
    struct chain chain = {.offsets = NULL};
    uint64_t none;

    tiff_file_ifd(file, &source, &none);
    enum status status = follow_links(&source, &chain, &pages->broken, error);
    pages->directories = chain.offsets;
    if (status == STATUS_OK)
        status = tiff_file_io_error(file, error);
    if (status != STATUS_OK)
        return status;
    if (chain.count == 0 || chain.count > INT_MAX)
        return fail(error, STATUS_FAILED, "damaged TIFF: its first directory cannot be read");
    keep_pages(&source, &chain, pages);
    return tiff_file_io_error(file, error);
}

/* Fails if a broken link hides a page up to the number `last`. */
static enum status check_pages(const struct tiff_pages *pages, int last, struct error *error)
{
    if (!pages->broken || last <= pages->count)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "damaged TIFF: the link after page %d leads to no page, as where a file lost its end; "
                "--page 1-%d reads what is before it",
                pages->count, pages->count);
}

/* ---------------------------------------------------------------- raw files of cameras
 *
 * NEF, DNG, ARW, PEF and their like are TIFFs. Mostly the first directory is a preview of 160x120 pixels, and
 * the sensor's data are in a SubIFD, sometimes in a later directory. A reader that takes the first directory
 * makes a stamp of a photograph. */

static bool number_is(const struct ifd_source *source, uint64_t directory, uint16_t tag,
                      const uint16_t *numbers, size_t count)
{
    struct ifd_entry entry;
    uint64_t number;
    if (!ifd_find(source, directory, tag, &entry) || !ifd_unsigned(source, &entry, &number))
        return false;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* True if the directory holds sensor data: by its colours, by a colour filter array (TIFF/EP), or by a
 * compression of Kodak, Sony, Samsung, Nikon or Pentax. */
static bool is_sensor_data(const struct ifd_source *source, uint64_t directory)
{
    enum { LINEAR_RAW = 34892, CFA_REPEAT = 33421, CFA_PATTERN = 33422 };
    static const uint16_t colours[] = {PHOTOMETRIC_CFA, LINEAR_RAW};
    static const uint16_t codecs[] = {262, 32767, 32769, 32770, 34713, 65000, 65535};
    struct ifd_entry entry;
    return number_is(source, directory, TIFFTAG_PHOTOMETRIC, colours, sizeof colours / sizeof colours[0]) ||
           number_is(source, directory, TIFFTAG_COMPRESSION, codecs, sizeof codecs / sizeof codecs[0]) ||
           ifd_find(source, directory, CFA_REPEAT, &entry) ||
           ifd_find(source, directory, CFA_PATTERN, &entry);
}

/* True if a directory that the tag SubIFDs points to holds sensor data. */
static bool has_sensor_data_below(const struct ifd_source *source, const struct ifd_entry *links)
{
    enum { SUB_IFDS_MAX = 16 };
    for (uint64_t i = 0; i < links->count && i < SUB_IFDS_MAX; i++) {
        struct ifd_entry link = *links;
        uint64_t directory;
        link.offset += i * (links->size / links->count);
        if (ifd_unsigned(source, &link, &directory) && is_sensor_data(source, directory))
            return true;
    }
    return false;
}

static bool is_camera_raw(struct tiff_file *file, const struct tiff_pages *pages)
{
    enum { CANON_AT = 8, PREVIEWS_MAX = 4 };
    const uint64_t first = pages->directories != NULL ? pages->directories[0] : 0;
    struct ifd_source source;
    struct ifd_entry links;
    uint64_t none;
    char canon[3];
    tiff_file_ifd(file, &source, &none);
    if (!source.big && tiff_file_read_at(file, CANON_AT, canon, sizeof canon) &&
        memcmp(canon, "CR\2", 3) == 0)
        return true;
    for (int i = 0; i < pages->count && i < PREVIEWS_MAX; i++)
        if (is_sensor_data(&source, pages->directories[i]))
            return true;
    if (!ifd_find(&source, first, TIFFTAG_SUBIFD, &links))
        return false;
    return (other_kind(&source, first) & FILETYPE_REDUCEDIMAGE) != 0 ||
           has_sensor_data_below(&source, &links);
}

void tiff_pages_free(struct tiff_pages *pages)
{
    free(pages->directories);
    pages->directories = NULL;
}

/* ---------------------------------------------------------------- a page after the other */

/* Bytes of rows that are decoded and then converted, few enough to stay in the cache. */
enum { PACKED_SIZE = 256 << 10 };

/* The smallest page takes 100 bytes of a file and 0.1 ms. */
enum { PAGES_MAX = 65536 };

struct tiff_reader {
    struct reader base; /* must be first */
    struct tiff_file file;
    struct tiff_pages pages;
    struct tiff_layout layout; /* of the current page, as are the rest */
    struct tiff_table table;
    struct tiff_rows rows;
    struct tiff_prefetch *prefetch; /* decodes on other threads; NULL: the reader decodes itself */
    char *page_name;
    int page;              /* its number, from 1 */
    unsigned char *packed; /* rows before conversion; NULL while none is needed */
    uint32_t packed_rows;  /* number that fits */
    uint32_t row;          /* the next to be read */
};

static void tiff_end_page(struct tiff_reader *reader)
{
    tiff_prefetch_close(reader->prefetch);
    reader->prefetch = NULL;
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

/* ImageJ writes stacks beyond 4 GiB with a directory for the first image only. */
static enum status check_stack(const struct tiff_reader *reader, struct error *error)
{
    int images = description_image_count(&reader->base.info.metadata);
    if (description_is_truncated(&reader->base.info.metadata) && reader->base.page_count == 1 &&
        reader_last_page(&reader->base) != 1)
        return fail(
            error, STATUS_FAILED,
            "several images in one directory, as tifffile writes them with truncate=True, are not supported; "
            "read the first one with --page 1, or write the file without that");

    if (images <= 1 || reader->base.page_count > 1 || reader_last_page(&reader->base) == 1)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "an ImageJ stack of %d images in one directory is not supported; read the first one with "
                "--page 1, or save it as an image sequence",
                images);
}

static enum status tiff_begin_page(struct tiff_reader *reader, int page, struct error *error)
{
    struct image_info *info = &reader->base.info;
    TIFF *tiff = reader->file.tiff;

    tiff_end_page(reader);
    reader->page = page;
    reader->row = 0;
    reader->file.message[0] = '\0';
    enum status status = tiff_file_set_directory(&reader->file, reader->pages.directories[page - 1], error);
    if (status == STATUS_OK)
        status = tiff_layout_read(&reader->file, &reader->base.options, &reader->layout, error);
    if (status == STATUS_OK)
        status = tiff_table_make(tiff, &reader->layout, &reader->table, error);
    if (status == STATUS_OK)
        status = tiff_rows_begin(&reader->rows, &reader->file, &reader->layout, error);
    if (status == STATUS_OK)
        status = tiff_prefetch_open(&reader->rows, &reader->base.options, &reader->prefetch, error);
    if (status == STATUS_OK)
        status = begin_conversion(reader, error);
    if (status == STATUS_OK)
        status = tiff_text_read(&reader->file, TIFFTAG_PAGENAME, &reader->page_name, &info->metadata, error);
    if (status == STATUS_OK)
        status = tiff_metadata_read(&reader->file, &info->metadata, error);
    tiff_layout_describe(tiff, &reader->layout, reader->table.wide_palette, info);
    info->page_name = reader->page_name;
    if (status == STATUS_OK)
        status = tiff_file_io_error(&reader->file, error);
    if (status == STATUS_OK)
        status = check_stack(reader, error);
    if (reader->layout.separate || description_is_truncated(&info->metadata))
        description_drop_tifffile(&info->metadata);
    if (page == 1 || page == reader->base.options.page) {
        if ((reader->pages.others & FILETYPE_MASK) != 0)
            metadata_leave_out(&info->metadata, "the mask of transparency");
        if ((reader->pages.others & FILETYPE_REDUCEDIMAGE) != 0)
            metadata_leave_out(&info->metadata, "smaller copies");
    }
    reader->base.plain = reader->layout.compression == COMPRESSION_NONE && !reader->layout.separate &&
                         !reader->layout.tiled && reader->packed == NULL;
    reader->base.memory = reader->rows.memory + tiff_prefetch_memory(reader->prefetch);
    return status;
}

static enum status find_pages(struct tiff_reader *reader, struct error *error)
{
    const struct reader_options *options = &reader->base.options;
    const int last = reader_last_page(&reader->base);

    enum status status = tiff_pages_find(&reader->file, &reader->pages, error);
    if (status != STATUS_OK)
        return status;
    if (options->page <= 1 && is_camera_raw(&reader->file, &reader->pages))
        return fail(
            error, STATUS_FAILED,
            "is a raw file of a camera, whose first directory is at most a preview; convert it first, "
            "as with dcraw: dcraw -T IN");
    const int count = reader->base.page_count = reader->pages.count;
    if (count > PAGES_MAX && options->page == 0)
        return fail(error, STATUS_FAILED,
                    "has %d pages, more than the %d that are read; choose some with --page", count,
                    PAGES_MAX);
    status = check_pages(&reader->pages, last, error);
    if (status == STATUS_OK && options->page > count)
        status = fail(error, STATUS_FAILED, "there is no page %d; the file has %d", options->page, count);
    return status;
}

static enum status fetch(struct tiff_reader *reader, uint32_t count, unsigned char *to, size_t pitch,
                         struct error *error)
{
    enum status status = reader->prefetch != NULL
                             ? tiff_prefetch_fetch(reader->prefetch, reader->row, count, to, pitch, error)
                             : tiff_rows_fetch(&reader->rows, reader->row, count, to, pitch, error);
    if (reader->file.broken_lines)
        metadata_warn(&reader->base.trailing,
                      "has broken lines of a fax, which are blank where they could not be read");
    return status;
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

static bool tiff_skip(struct reader *base, uint32_t count)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    if (reader->rows.way == TIFF_ROWS_IN_TURN)
        return false;
    reader->row += count;
    return true;
}

static bool tiff_go_back(struct reader *base)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    if (reader->rows.way != TIFF_ROWS_RAW)
        return false;
    reader->row = 0;
    return true;
}

static enum status tiff_next_page(struct reader *base, bool *more, struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    *more = reader->page < base->page_count && reader->page < reader_last_page(base);
    return *more ? tiff_begin_page(reader, reader->page + 1, error) : STATUS_OK;
}

static enum status tiff_open(struct reader *base, struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;
    enum status status = tiff_file_open(&reader->file, fileno(base->file), TIFF_FILE_READ, error);
    if (status == STATUS_OK)
        status = find_pages(reader, error);
    return status == STATUS_OK
               ? tiff_begin_page(reader, base->options.page == 0 ? 1 : base->options.page, error)
               : status;
}

static void tiff_close(struct reader *base)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    tiff_end_page(reader);
    tiff_pages_free(&reader->pages);
    tiff_file_close(&reader->file);
}

const struct reader_class tiff_reader_class = {
    .size = sizeof(struct tiff_reader),
    .seeks = true,
    .open = tiff_open,
    .read = tiff_read,
    .skip = tiff_skip,
    .go_back = tiff_go_back,
    .next_page = tiff_next_page,
    .close = tiff_close,
};
