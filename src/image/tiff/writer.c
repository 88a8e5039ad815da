#include "image/tiff/file.h"
#include "image/tiff/metadata.h"
#include "image/tiff/strips.h"
#include "image/tiff/tiff.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Bytes of a strip: few system calls where nothing is compressed; small enough for readers that hold one,
     * or decode several at the same time, where it is. */
    PLAIN_STRIP = 1 << 20,
    COMPRESSED_STRIP = 256 << 10,
    LZMA_MEMORY = 94 << 20, /* liblzma's manual, of its default */
};

/* Classic TIFF ends at 4 GiB, BigTIFF is read by fewer programs. Where the whole is not known beforehand, two
 * such pages still fit; more of them fail at 4 GiB. Room is left for what is not pixels. */
static const uint64_t LARGEST_CLASSIC_FILE = (uint64_t)3900 << 20;
static const uint64_t LARGEST_CLASSIC_PAGE = (uint64_t)1900 << 20;

struct tiff_writer {
    struct writer base; /* must be first */
    struct tiff_file file;
    uint32_t page;                  /* number of the page under way, from 0 */
    bool pending;                   /* it has all its pixels, but its directory is not written */
    size_t row_size;                /* bytes */
    uint32_t row;                   /* where `filled` begins */
    uint32_t filled;                /* rows in `strip` */
    uint32_t strip_height;          /* rows */
    unsigned char *strip;           /* rows that do not make a strip yet */
    bool stack;                     /* of ImageJ, as the first page says */
    struct tiff_strips *compressed; /* takes the rows of a page that is compressed; else NULL */
};

/* A directory waits for the next page or the end of the file, as only a page with others gets a number. */
static enum status write_directory(struct tiff_writer *writer, bool numbered, struct error *error)
{
    TIFF *tiff = writer->file.tiff;

    if (!writer->pending)
        return STATUS_OK;
    if (numbered && writer->page <= UINT16_MAX) {
        TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_PAGE);
        TIFFSetField(tiff, TIFFTAG_PAGENUMBER, writer->page, 0 /* of an unknown number */);
    }
    if (!TIFFWriteDirectory(tiff))
        return tiff_file_not_written(&writer->file, error);
    writer->pending = false;
    writer->page++;
    return STATUS_OK;
}

static uint16_t choose_compression(int preset, int input)
{
    if (preset != COMPRESSION_PRESET_DEFAULT)
        return preset == 0 ? COMPRESSION_NONE : COMPRESSION_ADOBE_DEFLATE;
    switch (input) {
    case 0:
    case COMPRESSION_NONE:
        return COMPRESSION_NONE;
    case COMPRESSION_LZW:
    case COMPRESSION_PACKBITS:
    case COMPRESSION_ZSTD:
    case COMPRESSION_LZMA:
        return TIFFIsCODECConfigured((uint16_t)input) ? (uint16_t)input : COMPRESSION_ADOBE_DEFLATE;
    default:
        /* Lossy ones would lose again, and fax codes have no gray. */
        return COMPRESSION_ADOBE_DEFLATE;
    }
}

static void set_compression(TIFF *tiff, int preset, const struct image_info *info)
{
    const uint16_t compression = choose_compression(preset, info->compression);

    TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
    if (preset > 0)
        TIFFSetField(tiff, TIFFTAG_ZIPQUALITY, preset);
    /* Differences of neighbours; libtiff has none for complex samples, and PackBits knows of no predictor. */
    if (compression == COMPRESSION_NONE || compression == COMPRESSION_PACKBITS ||
        info->type == SAMPLE_COMPLEX)
        return;
    bool is_float = info->type == SAMPLE_HALF || info->type == SAMPLE_FLOAT;
    TIFFSetField(tiff, TIFFTAG_PREDICTOR, is_float ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL);
}

static int sample_format(enum sample_type type)
{
    switch (type) {
    case SAMPLE_HALF:
    case SAMPLE_FLOAT:
        return SAMPLEFORMAT_IEEEFP;
    case SAMPLE_COMPLEX:
        return SAMPLEFORMAT_COMPLEXIEEEFP;
    case SAMPLE_INT8:
    case SAMPLE_INT16:
    case SAMPLE_INT32:
        return SAMPLEFORMAT_INT;
    default:
        return SAMPLEFORMAT_UINT;
    }
}

static void set_layout(TIFF *tiff, const struct image_info *info, uint32_t strip_height)
{
    const uint16_t alpha = !info->alpha          ? EXTRASAMPLE_UNSPECIFIED
                           : info->premultiplied ? EXTRASAMPLE_ASSOCALPHA
                                                 : EXTRASAMPLE_UNASSALPHA;

    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, info->width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, info->height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, (int)(8 * sample_size(info->type)));
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, info->channels);
    if (sample_format(info->type) != SAMPLEFORMAT_UINT) /* the default; baseline readers know no such tag */
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_format(info->type));
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, info->channels >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, strip_height);
    if (info->channels % 2 == 0)
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    if (info->page_name != NULL)
        TIFFSetField(tiff, TIFFTAG_PAGENAME, info->page_name);
}

/* libtiff's message would advise options of its own. */
static enum status strip_not_written(struct tiff_writer *writer, size_t size, struct error *error)
{
    if (writer->file.write_error == 0 && !TIFFIsBigTIFF(writer->file.tiff) &&
        writer->file.size + size > UINT32_MAX)
        return fail(error, STATUS_FAILED,
                    "pages of more than 4 GiB in all do not fit a classic TIFF; write fewer pages to a file");
    return tiff_file_not_written(&writer->file, error);
}

static void describe_strip(const void *context, TIFF *tiff, uint32_t height)
{
    const struct tiff_writer *writer = context;
    struct image_info info = writer->base.info;

    info.height = height;
    info.page_name = NULL;
    set_layout(tiff, &info, height);
    set_compression(tiff, writer->base.options.compression, &info);
}

static enum status emit_strip(void *context, uint32_t strip, const unsigned char *data, size_t size,
                              struct error *error)
{
    struct tiff_writer *writer = context;

    if (TIFFWriteRawStrip(writer->file.tiff, strip, (void *)(uintptr_t)data, (tmsize_t)size) !=
        (tmsize_t)size)
        return strip_not_written(writer, size, error);
    return STATUS_OK;
}

static uint32_t choose_height(const struct image_info *info, uint16_t compression)
{
    const size_t rows = (compression == COMPRESSION_NONE ? PLAIN_STRIP : COMPRESSED_STRIP) / row_size(info);

    return rows == 0 ? 1 : rows < info->height ? (uint32_t)rows : info->height;
}

static struct tiff_strips_options strips_options(const struct writer_options *options,
                                                 const struct image_info *info, uint16_t compression)
{
    return (struct tiff_strips_options){
        .row_size = row_size(info),
        .height = info->height,
        .strip_height = choose_height(info, compression),
        /* LZMA takes a hundred times the memory of the others. */
        .jobs = compression == COMPRESSION_LZMA ? 1 : options->jobs,
        .memory = options->memory,
    };
}

static uint64_t tiff_memory(const struct writer_options *options, const struct image_info *info)
{
    const uint16_t compression = choose_compression(options->compression, info->compression);
    const uint64_t lzma = compression == COMPRESSION_LZMA ? LZMA_MEMORY : 0;

    if (compression == COMPRESSION_NONE)
        return (uint64_t)choose_height(info, compression) * row_size(info);
    const struct tiff_strips_options strips = strips_options(options, info, compression);
    return tiff_strips_memory(&strips) + lzma;
}

static enum status open_compressed(struct tiff_writer *writer, uint16_t compression, struct error *error)
{
    struct tiff_strips_options options =
        strips_options(&writer->base.options, &writer->base.info, compression);

    options.describe = describe_strip;
    options.emit = emit_strip;
    options.context = writer;
    writer->compressed = tiff_strips_open(&options, error);
    return writer->compressed == NULL ? STATUS_FAILED : STATUS_OK;
}

/* A strip's height, and the buffer for one. */
static enum status begin_strips(struct tiff_writer *writer, const struct image_info *info,
                                struct error *error)
{
    const uint16_t compression = choose_compression(writer->base.options.compression, info->compression);
    const bool plain = compression == COMPRESSION_NONE;

    writer->row = writer->filled = 0;
    writer->row_size = row_size(info);
    writer->strip_height = choose_height(info, compression);
    writer->stack = writer->page == 0 ? description_is_stack(&info->metadata) : writer->stack;
    if (plain && writer->stack && writer->strip_height == info->height)
        writer->strip_height = (info->height + 1) / 2;
    if (!plain)
        return open_compressed(writer, compression, error);
    free(writer->strip);
    writer->strip = allocate(writer->strip_height * writer->row_size, "a TIFF strip", error);
    return writer->strip == NULL ? STATUS_FAILED : STATUS_OK;
}

static enum status tiff_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;
    const uint64_t page = (uint64_t)row_size(info) * info->height;
    const uint64_t expected = base->options.expected_bytes;
    const bool big = expected > 0 ? expected > LARGEST_CLASSIC_FILE : page > LARGEST_CLASSIC_PAGE;
    enum status status = STATUS_OK;

    if (writer->file.tiff == NULL)
        status = tiff_file_open(&writer->file, fileno(base->output.file), big ? "w8" : "w", error);
    if (status == STATUS_OK)
        status = write_directory(writer, true, error);
    if (status == STATUS_OK)
        status = begin_strips(writer, info, error);
    if (status != STATUS_OK)
        return status;
    set_layout(writer->file.tiff, info, writer->strip_height);
    set_compression(writer->file.tiff, base->options.compression, info);
    if (writer->file.message[0] != '\0') /* the strips must be what the tags say */
        return tiff_file_not_written(&writer->file, error);
    /* Before the pixels, as the metadata need not live until their end. */
    return tiff_metadata_write(&writer->file, &info->metadata, error);
}

static enum status write_strip(struct tiff_writer *writer, const void *rows, uint32_t count,
                               struct error *error)
{
    const tmsize_t size = (tmsize_t)(count * writer->row_size);
    const uint32_t strip = TIFFComputeStrip(writer->file.tiff, writer->row, 0);

    /* tifffile takes two images of an ImageJ stack whose first one lies in one piece for one piece, too. */
    if (writer->stack && strip == 1 && !tiff_file_write_at(&writer->file, writer->file.size, "\0", 2))
        return strip_not_written(writer, (size_t)size, error);
    /* libtiff changes the rows only where it swaps bytes, and a new file has the host's order. */
    if (TIFFWriteEncodedStrip(writer->file.tiff, strip, (void *)(uintptr_t)rows, size) != size)
        return strip_not_written(writer, (size_t)size, error);
    writer->row += count;
    return STATUS_OK;
}

static uint32_t rows_of_strip(const struct tiff_writer *writer)
{
    uint32_t left = writer->base.info.height - writer->row;

    return left < writer->strip_height ? left : writer->strip_height;
}

/* Adds at most what the strip still wants. */
static enum status fill_strip(struct tiff_writer *writer, const unsigned char *rows, size_t pitch,
                              uint32_t count, struct error *error)
{
    for (uint32_t y = 0; y < count; y++)
        memcpy(writer->strip + (writer->filled + y) * writer->row_size, rows + y * pitch, writer->row_size);
    writer->filled += count;
    if (writer->filled < rows_of_strip(writer))
        return STATUS_OK;
    count = writer->filled;
    writer->filled = 0;
    return write_strip(writer, writer->strip, count, error);
}

static enum status tiff_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                              struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;
    const unsigned char *from = rows;

    if (writer->compressed != NULL)
        return tiff_strips_write(writer->compressed, rows, pitch, count, error);
    while (count > 0) {
        const uint32_t wanted = rows_of_strip(writer) - writer->filled;
        const uint32_t some = count < wanted ? count : wanted;
        const bool whole = writer->filled == 0 && some == wanted && pitch == writer->row_size;
        enum status status =
            whole ? write_strip(writer, from, some, error) : fill_strip(writer, from, pitch, some, error);
        if (status != STATUS_OK)
            return status;
        from += some * pitch;
        count -= some;
    }
    return STATUS_OK;
}

static enum status tiff_end_page(struct writer *base, struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;

    enum status status =
        writer->compressed == NULL ? STATUS_OK : tiff_strips_finish(writer->compressed, error);

    tiff_strips_close(writer->compressed);
    writer->compressed = NULL;
    writer->pending = status == STATUS_OK;
    return status;
}

static enum status tiff_finish(struct writer *base, struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;
    enum status status = write_directory(writer, writer->page > 0, error);

    if (status != STATUS_OK)
        return status;
    tiff_file_close(&writer->file);
    return writer->file.write_error != 0 ? tiff_file_not_written(&writer->file, error) : STATUS_OK;
}

static void tiff_close(struct writer *base)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;

    tiff_strips_close(writer->compressed);
    tiff_file_abandon(&writer->file);
    free(writer->strip);
}

const struct writer_class tiff_writer_class = {
    .size = sizeof(struct tiff_writer),
    .memory = tiff_memory,
    .seeks = true,
    .begin_page = tiff_begin_page,
    .write = tiff_write,
    .end_page = tiff_end_page,
    .finish = tiff_finish,
    .close = tiff_close,
};
