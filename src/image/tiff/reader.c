/* Reads TIFFs page by page.
 *
 *     open: links of the file ─▶ directories ─▶ those that are pages (a raw file of a camera is refused)
 *     page: layout ─▶ table, rows ─▶ metadata
 *     rows: rows.c ─▶ rows of the caller, or unconverted rows ─▶ convert ─▶ rows of the caller
 *
 * The first directory is a page, as every program shows it. Later ones are pages unless their tags say that
 * they are smaller copies or masks. */
#include "image/tiff/tiff.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- the directories that are pages */

/* Sets pages->directories to the offsets of all directories, in the order of their links, and *count to their
 * number. The last link should be 0; pages->broken is true if it leads to no readable directory, or back to
 * an earlier one. A cycle is found with Brent's algorithm: each offset is compared with one earlier offset,
 * at `mark`, which moves forward at the counts 1, 3, 7, ... */
static enum status follow_links(struct ifd ifd, struct tiff_pages *pages, size_t *count, struct error *error)
{
    uint64_t next = 0;
    size_t mark = 0;

    pages->broken = !ifd_first(&ifd);
    for (*count = 0; !pages->broken && ifd.at != 0; ifd.at = next) {
        /* The link leads back to the mark: the cycle has `length` directories. Its first directory is the
           first one in the list whose offset appears again `length` places later. Drop the repetitions. */
        if (*count > 0 && ifd.at == pages->directories[mark]) {
            const size_t length = *count - mark;
            size_t first = 0;
            while (first < mark && pages->directories[first] != pages->directories[first + length])
                first++;
            *count = first + length;
            pages->broken = true;
            return STATUS_OK;
        }
        pages->broken = !ifd_next(&ifd, &next);
        if (pages->broken)
            return STATUS_OK;
        uint64_t *offsets =
            array_grow(pages->directories, *count, sizeof *offsets, "the pages of a TIFF", error);
        if (offsets == NULL)
            return STATUS_FAILED;
        pages->directories = offsets;
        if (*count == 2 * mark + 1)
            mark = *count;
        offsets[(*count)++] = ifd.at;
    }
    return STATUS_OK;
}

/* Returns the FILETYPE_... bits of a directory that is no page; 0 for a page. */
static uint32_t non_page_type(const struct ifd *ifd)
{
    uint64_t type;

    if (ifd_find_unsigned(ifd, TIFFTAG_SUBFILETYPE, &type))
        return (uint32_t)type & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK);
    if (ifd_find_unsigned(ifd, TIFFTAG_OSUBFILETYPE, &type))
        return type == OFILETYPE_REDUCEDIMAGE ? FILETYPE_REDUCEDIMAGE : 0;
    return 0;
}

/* Sets *sub to SubIFD number `index`, from 0, of a directory. Returns false if it is missing. Only the first
 * SUB_IFDS_MAX are found. */
static bool find_sub_ifd(const struct ifd *ifd, uint64_t index, struct ifd *sub)
{
    enum { SUB_IFDS_MAX = 16 };
    struct ifd_entry link;

    if (index >= SUB_IFDS_MAX || !ifd_find(ifd, TIFFTAG_SUBIFD, &link) || index >= link.count)
        return false;
    link.offset += index * (link.size / link.count);
    *sub = *ifd;
    return ifd_unsigned(ifd, &link, &sub->at);
}

enum status tiff_pages_find(struct tiff_file *file, struct tiff_pages *pages, struct error *error)
{
    struct ifd ifd = tiff_file_ifd(file);
    size_t count;

    if (follow_links(ifd, pages, &count, error) != STATUS_OK ||
        tiff_file_check_reading(file, error) != STATUS_OK)
        return STATUS_FAILED;
    if (count == 0 || count > INT_MAX)
        return fail(error, STATUS_FAILED, "damaged TIFF: its first directory cannot be read");

    /* Keep only the pages, in place. */
    for (size_t i = 0; i < count; i++) {
        ifd.at = pages->directories[i];
        const uint32_t type = i == 0 ? 0 : non_page_type(&ifd);
        pages->non_page_types |= type;
        if (type == 0)
            pages->directories[pages->count++] = ifd.at;
    }
    return tiff_file_check_reading(file, error);
}

/* ---------------------------------------------------------------- raw files of cameras
 *
 * NEF, DNG, ARW, PEF and their like are TIFFs. In most of them the first directory is a preview of 160x120
 * pixels, and the sensor's data are in a SubIFD, sometimes in a later directory. Reading the first directory
 * would turn a photograph into its thumbnail. */

/* True if the tag's value is one of the numbers. */
static bool has_number_in(const struct ifd *ifd, uint16_t tag, const uint16_t *numbers, size_t count)
{
    uint64_t number;
    return ifd_find_unsigned(ifd, tag, &number) && ifd_tag_is_in(number, numbers, count);
}

/* True if the directory contains sensor data: by its PhotometricInterpretation, by a colour filter array
 * (TIFF/EP), or by a compression of Kodak, Sony, Samsung, Nikon or Pentax. */
static bool is_sensor_data(const struct ifd *ifd)
{
    enum { LINEAR_RAW = 34892, CFA_REPEAT = 33421, CFA_PATTERN = 33422 };
    static const uint16_t colours[] = {PHOTOMETRIC_CFA, LINEAR_RAW};
    static const uint16_t codecs[] = {262, 32767, 32769, 32770, 34713, 65000, 65535};
    struct ifd_entry entry;
    return has_number_in(ifd, TIFFTAG_PHOTOMETRIC, colours, sizeof colours / sizeof colours[0]) ||
           has_number_in(ifd, TIFFTAG_COMPRESSION, codecs, sizeof codecs / sizeof codecs[0]) ||
           ifd_find(ifd, CFA_REPEAT, &entry) || ifd_find(ifd, CFA_PATTERN, &entry);
}

/* True if the file is a raw file of a camera, by any of four signs. */
static bool is_camera_raw(struct tiff_file *file, const struct tiff_pages *pages)
{
    enum { CANON_AT = 8, PREVIEWS_MAX = 4 };
    struct ifd ifd = tiff_file_ifd(file), sub;
    char canon[3];

    /* Canon's CR2 says so after the header. */
    if (!ifd.big && tiff_file_read_at(file, CANON_AT, canon, sizeof canon) && memcmp(canon, "CR\2", 3) == 0)
        return true;
    /* Sensor data in one of the first pages. */
    for (int i = 0; i < pages->count && i < PREVIEWS_MAX; i++) {
        ifd.at = pages->directories[i];
        if (is_sensor_data(&ifd))
            return true;
    }
    /* SubIFDs of a first directory that is a preview, or with sensor data in one of them. */
    ifd.at = pages->directories[0];
    for (uint64_t i = 0; find_sub_ifd(&ifd, i, &sub); i++)
        if ((non_page_type(&ifd) & FILETYPE_REDUCEDIMAGE) != 0 || is_sensor_data(&sub))
            return true;
    return false;
}

void tiff_pages_free(struct tiff_pages *pages)
{
    free(pages->directories);
    pages->directories = NULL;
}

/* ---------------------------------------------------------------- one page after another */

enum {
    UNCONVERTED_SIZE =
        256 << 10,     /* bytes of rows between decoding and conversion: few enough for the cache */
    PAGES_MAX = 65536, /* bounds the time: the smallest page takes 100 bytes of a file and 0.1 ms */
};

struct tiff_reader {
    struct reader base; /* must be first */
    struct tiff_file file;
    struct tiff_pages pages;

    /* The current page. */
    int page; /* its number, from 1 */
    struct tiff_layout layout;
    struct tiff_table table;
    struct tiff_rows *rows;
    char *page_name;            /* the PageName tag, owned; may be NULL */
    unsigned char *unconverted; /* some decoded rows; owned. NULL: rows are decoded to their final type */
    uint32_t unconverted_rows;  /* capacity of `unconverted`, in rows */
};

static void close_page(struct tiff_reader *reader)
{
    tiff_rows_close(reader->rows);
    reader->rows = NULL;
    metadata_free(&reader->base.info.metadata);
    free(reader->table.entries);
    free(reader->unconverted);
    free(reader->page_name);
    reader->table.entries = NULL;
    reader->unconverted = NULL;
    reader->page_name = NULL;
    reader->base.info = (struct image_info){.width = 0};
}

/* Fails if one directory describes several images and more than the first one is asked for. ImageJ writes
 * stacks beyond 4 GiB that way. */
static enum status check_stack(const struct tiff_reader *reader, struct error *error)
{
    const int images = description_image_count(&reader->base.info.metadata);
    if (reader->base.page_count > 1 || reader_last_page(&reader->base) == 1)
        return STATUS_OK;
    if (description_is_truncated(&reader->base.info.metadata))
        return fail(
            error, STATUS_FAILED,
            "several images in one directory, as tifffile writes them with truncate=True, are not supported; "
            "read the first one with --page 1, or write the file without that");
    if (images > 1)
        return fail(error, STATUS_FAILED,
                    "an ImageJ stack of %d images in one directory is not supported; read the first one with "
                    "--page 1, or save it as an image sequence",
                    images);
    return STATUS_OK;
}

/* True if Photoshop's ImageSourceData has layers. After a text it has blocks of a signature, a key and a size
 * in the file's byte order, and data that are padded to a multiple of 4 bytes. The data of layers begin with
 * the number of layers. */
static bool has_layers(const struct ifd *ifd)
{
    const uint32_t signature = 0x3842494d /* 8BIM */;
    const uint32_t keys[] = {0x4c617972 /* Layr */, 0x4c723136 /* Lr16 */, 0x4c723332 /* Lr32 */};
    struct ifd_entry entry;
    uint32_t block[3] = {0}; /* signature, key, size */
    uint16_t count;

    if (!ifd_find(ifd, TIFFTAG_IMAGESOURCEDATA, &entry))
        return false;
    for (uint64_t at = sizeof "Adobe Photoshop Document Data Block";
         at + sizeof block + sizeof count <= entry.size;
         at += sizeof block + ((uint64_t)block[2] + 3) / 4 * 4) {
        if (!ifd->read(ifd->context, entry.offset + at, block, sizeof block) ||
            !ifd->read(ifd->context, entry.offset + at + sizeof block, &count, sizeof count))
            return false;
        if (ifd->swapped)
            TIFFSwabArrayOfLong(block, 3);
        if (block[0] != signature)
            return false;
        if ((block[1] == keys[0] || block[1] == keys[1] || block[1] == keys[2]) && block[2] > 0 && count != 0)
            return true;
    }
    return false;
}

/* Warns of pictures that the output will not have: Photoshop's layers and the pictures in the page's SubIFDs;
 * for the first page also the pictures in all directories that are no pages. Smaller copies are only noted.
 */
static void note_other_pictures(struct tiff_reader *reader, struct metadata *metadata)
{
    const bool is_first = reader->page == 1 || reader->page == reader->base.options.page;
    const struct ifd ifd = tiff_file_ifd(&reader->file);
    uint32_t types = is_first ? reader->pages.non_page_types : 0;
    struct ifd sub;

    for (uint64_t i = 0; find_sub_ifd(&ifd, i, &sub); i++) {
        types |= non_page_type(&sub);
        if (non_page_type(&sub) != 0 || ifd_entry_count(&sub) == 0)
            continue;
        metadata_warn(metadata, "has further pictures in SubIFDs, which are left out");
        reader->base.unread = "the pictures in SubIFDs"; /* also of earlier pages */
    }
    if (has_layers(&ifd)) {
        metadata_warn(metadata, "has layers, which are left out");
        reader->base.unread = "the layers";
    }
    if ((types & FILETYPE_MASK) != 0) {
        metadata_warn(metadata, "has a mask of transparency, which is left out");
        reader->base.unread = "the mask of transparency";
    }
    if ((types & FILETYPE_REDUCEDIMAGE) != 0)
        metadata_note_left_out(metadata, "smaller copies");
}

/* Opens a page, counted from 1: reads its layout and metadata, and opens its decoders. */
static enum status open_page(struct tiff_reader *reader, int page, struct error *error)
{
    struct metadata *metadata = &reader->base.info.metadata;
    TIFF *tiff = reader->file.tiff;

    close_page(reader);
    reader->page = page;
    reader->file.message[0] = '\0';
    if (tiff_file_set_directory(&reader->file, reader->pages.directories[page - 1], error) != STATUS_OK ||
        tiff_layout_read(&reader->file, &reader->base.options, &reader->layout, error) != STATUS_OK ||
        tiff_table_make(tiff, &reader->layout, &reader->table, error) != STATUS_OK ||
        tiff_rows_open(&reader->file, &reader->layout, &reader->base.options, &reader->rows, error) !=
            STATUS_OK)
        return STATUS_FAILED;
    if (!tiff_row_is_final(&reader->layout, &reader->table)) {
        const uint64_t row = reader->layout.row_size;
        reader->unconverted_rows = row < UNCONVERTED_SIZE ? (uint32_t)(UNCONVERTED_SIZE / row) : 1;
        reader->unconverted = allocate(reader->unconverted_rows * row, "TIFF rows", error);
        if (reader->unconverted == NULL)
            return STATUS_FAILED;
    }
    reader->base.uncompressed = reader->layout.compression == COMPRESSION_NONE && !reader->layout.separate &&
                                !reader->layout.tiled && reader->unconverted == NULL;
    reader->base.memory = tiff_rows_memory(reader->rows);

    /* Metadata and description. */
    if (tiff_text_read(&reader->file, TIFFTAG_PAGENAME, &reader->page_name, metadata, error) != STATUS_OK ||
        tiff_metadata_read(&reader->file, metadata, error) != STATUS_OK ||
        tiff_file_check_reading(&reader->file, error) != STATUS_OK || check_stack(reader, error) != STATUS_OK)
        return STATUS_FAILED;
    /* GDAL's nodata of doubles, often -DBL_MAX: beyond the range of floats it becomes infinite, as the
     * samples do. */
    const struct blob *nodata = metadata_tag(metadata, TAG_NODATA);
    const double value = nodata != NULL ? strtod((const char *)nodata->data, NULL) : 0;
    const char *infinite = value < 0 ? "-inf" : "inf";
    if (reader->layout.format == SAMPLEFORMAT_IEEEFP && reader->layout.bits == 64 && isfinite(value) &&
        fabs(value) > FLT_MAX &&
        metadata_set_tag(metadata, TAG_NODATA, infinite, strlen(infinite) + 1, error) != STATUS_OK)
        return STATUS_FAILED;
    tiff_layout_describe(tiff, &reader->layout, reader->table.wide_palette, &reader->base.info);
    reader->base.info.page_name = reader->page_name;
    const bool has_other_channels = reader->layout.palette || reader->layout.colour_model != COLOUR_MODEL_RGB;
    description_check_decoded(
        metadata, has_other_channels || reader->layout.separate || description_is_truncated(metadata),
        has_other_channels || reader->unconverted != NULL);
    note_other_pictures(reader, metadata);
    if (reader->layout.photometric == PHOTOMETRIC_MINISWHITE && !reader->layout.inverted)
        metadata_warn(metadata,
                      "is min-is-white with signed or float samples; they stay, so 0 becomes black");
    return STATUS_OK;
}

/* Decodes and converts rows. Rows that are decoded to their final type are decoded all at once and converted
 * in place; of others a few at a time are decoded to `unconverted`. */
static enum status tiff_read(struct reader *base, void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;
    const bool is_final = reader->unconverted == NULL;
    const size_t from_pitch = is_final ? pitch : reader->layout.row_size;
    enum status status = STATUS_OK;
    unsigned char *to = rows;

    while (status == STATUS_OK && count > 0) {
        unsigned char *from = is_final ? to : reader->unconverted;
        const uint32_t some = is_final || count < reader->unconverted_rows ? count : reader->unconverted_rows;
        status = tiff_rows_fetch(reader->rows, some, from, from_pitch, error);
        for (uint32_t y = 0; status == STATUS_OK && y < some; y++, from += from_pitch, to += pitch) {
            base->rounded = base->rounded || tiff_row_rounds(&reader->layout, from);
            tiff_row_convert(&reader->layout, &reader->table, &base->info, from, to);
        }
        count -= some;
    }
    if (reader->file.broken_lines)
        metadata_warn(&base->trailing,
                      "has broken lines of a fax, which are blank where they could not be read");
    return status;
}

static bool tiff_skip(struct reader *base, uint32_t count)
{
    return tiff_rows_skip(((struct tiff_reader *)base)->rows, count);
}

static bool tiff_rewind_page(struct reader *base)
{
    return tiff_rows_rewind(((struct tiff_reader *)base)->rows);
}

/* Compares the offsets and sizes of the strips with the size of the file. */
static bool tiff_is_complete(const struct reader *base)
{
    const struct tiff_reader *reader = (const struct tiff_reader *)base;
    TIFF *tiff = reader->file.tiff;
    const uint32_t height = reader->layout.height;
    uint32_t strip_height = height;

    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &strip_height);
    for (uint32_t i = 0, first = 0; first < height; i++, first += strip_height) {
        const uint64_t offset = TIFFGetStrileOffset(tiff, i), rows = height - first,
                       size = (rows < strip_height ? rows : strip_height) * reader->layout.row_size;
        if (offset == 0 || TIFFGetStrileByteCount(tiff, i) < size || offset > reader->file.size ||
            reader->file.size - offset < size)
            return false;
        if (rows <= strip_height) /* first may overflow */
            break;
    }
    return true;
}

static enum status tiff_next_page(struct reader *base, bool *more, struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    *more = reader->page < base->page_count && reader->page < reader_last_page(base);
    return *more ? open_page(reader, reader->page + 1, error) : STATUS_OK;
}

/* Finds the pages, and opens the first one that is asked for. */
static enum status tiff_open_reader(struct reader *base, struct error *error)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;
    const struct tiff_pages *pages = &reader->pages;
    const int page = base->options.page; /* 0: all pages */

    enum status status = tiff_file_open(&reader->file, fileno(base->file), TIFF_FILE_READ, error);
    if (status == STATUS_OK)
        status = tiff_pages_find(&reader->file, &reader->pages, error);
    if (status != STATUS_OK)
        return status;
    if (page <= 1 && is_camera_raw(&reader->file, pages))
        return fail(error, STATUS_FAILED, "%s", foreign_hint(foreign_camera_raw, base->name, false).text);
    base->page_count = pages->count;
    if (pages->count > PAGES_MAX && page == 0)
        return fail(error, STATUS_FAILED,
                    "has %d pages, more than the %d that are read; choose some with --page", pages->count,
                    PAGES_MAX);
    /* A broken link may hide a page that is asked for. */
    if (pages->broken && reader_last_page(base) > pages->count)
        return fail(error, STATUS_FAILED,
                    "damaged TIFF: the link after page %d leads to no page, as where a file lost its end; "
                    "--page 1-%d reads what is before it",
                    pages->count, pages->count);
    if (page > pages->count)
        return fail(error, STATUS_FAILED, "there is no page %d; the file has %d", page, pages->count);
    return open_page(reader, page == 0 ? 1 : page, error);
}

static void tiff_close_reader(struct reader *base)
{
    struct tiff_reader *reader = (struct tiff_reader *)base;

    close_page(reader);
    tiff_pages_free(&reader->pages);
    tiff_file_close(&reader->file);
}

const struct reader_class tiff_reader_class = {
    .size = sizeof(struct tiff_reader),
    .seeks = true,
    .open = tiff_open_reader,
    .read = tiff_read,
    .skip = tiff_skip,
    .rewind_page = tiff_rewind_page,
    .is_complete = tiff_is_complete,
    .next_page = tiff_next_page,
    .close = tiff_close_reader,
};
