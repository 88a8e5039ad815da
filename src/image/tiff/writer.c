/* Writes TIFFs: strips of pages, compressed on several threads, each by a libtiff of its own in memory.
 *
 * A directory is written after its page, as only one of several pages gets a number. Files that may exceed 4
 * GiB are BigTIFFs. */
#include "image/tiff/tiff.h"

#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum {
    /* Bytes of a strip. Large uncompressed strips need few system calls; small compressed ones suit readers
       that hold one strip or decode several at a time. */
    PLAIN_STRIP = 1 << 20,
    COMPRESSED_STRIP = 256 << 10,
    LZMA_MEMORY = 94 << 20, /* liblzma's manual, of its default */
    HEADER_SIZE = 16,       /* of a BigTIFF; libtiff writes it before the strip */
};

/* A classic TIFF ends at 4 GiB; fewer programs read BigTIFF. Where the number of pages is unknown, the file
 * is a BigTIFF. The rest of the 4 GiB is for tags and metadata. */
static const uint64_t LARGEST_CLASSIC_FILE = (uint64_t)3900 << 20;

struct tiff_writer {
    struct writer base; /* must be first */
    struct tiff_file file;
    uint32_t page;        /* number of the page under way, from 0 */
    bool pending;         /* its pixels are written, its directory is not */
    bool split_stack;     /* an uncompressed stack, by the first page's description */
    struct parts *strips; /* takes the page's rows; NULL between pages */
};

/* A directory is written with the next page, or at the end: only one page of several gets a number. */
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
        /* Lossy codecs would lose more, and fax codes have no gray. */
        return COMPRESSION_ADOBE_DEFLATE;
    }
}

/* The input's predictor, if it goes with the samples. Otherwise differences of integers, which every reader
 * knows, and none for floats: few readers know that one (tifffile without imagecodecs does not), and it saves
 * 10 to 30%. */
static uint16_t choose_predictor(uint16_t compression, const struct image_info *info)
{
    const bool is_float = info->type == SAMPLE_HALF || info->type == SAMPLE_FLOAT;
    /* libtiff has no predictor for complex samples, nor for PackBits. */
    if (compression == COMPRESSION_NONE || compression == COMPRESSION_PACKBITS ||
        info->type == SAMPLE_COMPLEX)
        return PREDICTOR_NONE;
    if (info->predictor == PREDICTOR_NONE ||
        info->predictor == (is_float ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL))
        return (uint16_t)info->predictor;
    return is_float ? PREDICTOR_NONE : PREDICTOR_HORIZONTAL;
}

static void set_compression(TIFF *tiff, int preset, const struct image_info *info)
{
    const uint16_t compression = choose_compression(preset, info->compression);

    TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
    if (preset > 0)
        TIFFSetField(tiff, TIFFTAG_ZIPQUALITY, preset);
    const uint16_t predictor = choose_predictor(compression, info);
    if (predictor != PREDICTOR_NONE)
        TIFFSetField(tiff, TIFFTAG_PREDICTOR, predictor);
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
    if (sample_format(info->type) !=
        SAMPLEFORMAT_UINT) /* the default, and simple readers do not know the tag */
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_format(info->type));
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, info->channels >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, strip_height);
    if (info->channels % 2 == 0)
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
    if (info->page_name != NULL)
        TIFFSetField(tiff, TIFFTAG_PAGENAME, info->page_name);
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

/* Replaces libtiff's message, which recommends options that climg does not have. */
static enum status strip_not_written(const struct tiff_writer *writer, size_t size, struct error *error)
{
    if (writer->file.write_error == 0 && !TIFFIsBigTIFF(writer->file.tiff) &&
        writer->file.size + size > UINT32_MAX)
        return fail(error, STATUS_FAILED,
                    "pages of more than 4 GiB in all do not fit a classic TIFF; write fewer pages to a file");
    return tiff_file_not_written(&writer->file, error);
}

/* A part of the page. Strips that are compressed are made on several threads: libtiff encodes each into a
 * TIFF of its own in memory, of which only the strip is taken. */
struct strip {
    struct part part;
    struct tiff_file file;
    struct tiff_memory memory;
};

static enum status encode_strip(struct part *part, struct error *error)
{
    struct strip *strip = (struct strip *)part;
    const tmsize_t size = (tmsize_t)(part->count * part->options->row_size);
    enum status status = tiff_file_open_memory(&strip->file, &strip->memory, "w8", error);

    if (status != STATUS_OK)
        return status;
    describe_strip(part->options->context, strip->file.tiff, part->count);
    if (TIFFWriteEncodedStrip(strip->file.tiff, 0, part->rows, size) != size ||
        strip->file.message[0] != '\0')
        status = tiff_file_not_written(&strip->file, error);
    tiff_file_abandon(&strip->file); /* writes no directory */
    return status;
}

static enum status leave_plain(struct part *part, struct error *error)
{
    (void)part;
    (void)error;
    return STATUS_OK;
}

static void close_strip(struct part *part)
{
    free(((struct strip *)part)->memory.bytes);
}

/* If the first image of a stack that ImageJ or tifffile described is contiguous, tifffile reads the whole
 * stack as contiguous. A gap in the first image prevents that. */
static enum status emit_strip(void *context, struct part *part, struct error *error)
{
    struct tiff_writer *writer = context;
    const struct strip *strip = (struct strip *)part;
    const bool plain = strip->memory.bytes == NULL;
    unsigned char *data = plain ? part->rows : strip->memory.bytes + HEADER_SIZE;
    const size_t size = plain ? part->count * part->options->row_size : strip->memory.size - HEADER_SIZE;

    if (writer->split_stack && part->number == 1 &&
        !tiff_file_write_at(&writer->file, writer->file.size, "\0", 2))
        return strip_not_written(writer, size, error);
    if (TIFFWriteRawStrip(writer->file.tiff, part->number, data, (tmsize_t)size) != (tmsize_t)size)
        return strip_not_written(writer, size, error);
    return STATUS_OK;
}

static struct parts_options strips_of(const struct writer_options *options, const struct image_info *info)
{
    const uint16_t compression = choose_compression(options->compression, info->compression);
    const bool plain = compression == COMPRESSION_NONE;
    const size_t rows = (plain ? PLAIN_STRIP : COMPRESSED_STRIP) / row_size(info);
    const uint32_t height = rows == 0 ? 1 : rows < info->height ? (uint32_t)rows : info->height;
    const uint64_t size = (uint64_t)row_size(info) * height;

    return (struct parts_options){
        .row_size = row_size(info),
        .height = info->height,
        .part_rows = height,
        .part_size = sizeof(struct strip),
        .part_memory = plain ? size : 7 * size / 2, /* the file in memory, and libtiff's buffer for it */
        .memory = options->memory,
        /* LZMA takes a hundred times the memory of the others. */
        .jobs = plain || compression == COMPRESSION_LZMA ? 1 : options->jobs,
        .encode = plain ? leave_plain : encode_strip,
        .emit = emit_strip,
        .close = close_strip,
    };
}

static uint64_t tiff_memory(const struct writer_options *options, const struct image_info *info)
{
    const uint16_t compression = choose_compression(options->compression, info->compression);
    const struct parts_options strips = strips_of(options, info);

    return parts_memory(&strips) + (compression == COMPRESSION_LZMA ? LZMA_MEMORY : 0);
}

static enum status begin_strips(struct tiff_writer *writer, const struct image_info *info,
                                uint32_t *strip_height, struct error *error)
{
    struct parts_options options = strips_of(&writer->base.options, info);

    if (writer->page == 0)
        writer->split_stack = options.encode == leave_plain && description_is_stack(&info->metadata) &&
                              writer->base.options.expected_bytes > (uint64_t)row_size(info) * info->height;
    if (writer->split_stack && options.part_rows == info->height)
        options.part_rows = (info->height + 1) / 2;
    options.context = writer;
    *strip_height = options.part_rows;
    writer->strips = parts_open(&options, error);
    return writer->strips == NULL ? STATUS_FAILED : STATUS_OK;
}

static enum status tiff_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;
    const uint64_t expected = base->options.expected_bytes;
    const bool big = expected == 0 || expected > LARGEST_CLASSIC_FILE;
    uint32_t strip_height = 0;
    enum status status = STATUS_OK;

    if (writer->file.tiff == NULL)
        status = tiff_file_open(&writer->file, fileno(base->output.file), big ? "w8" : "w", error);
    if (status == STATUS_OK)
        status = write_directory(writer, true, error);
    if (status == STATUS_OK)
        status = begin_strips(writer, info, &strip_height, error);
    if (status != STATUS_OK)
        return status;
    set_layout(writer->file.tiff, info, strip_height);
    set_compression(writer->file.tiff, base->options.compression, info);
    if (writer->file.message[0] != '\0') /* the strips must agree with the tags */
        return tiff_file_not_written(&writer->file, error);
    /* Before the pixels: the caller may free the metadata meanwhile. */
    return tiff_metadata_write(&writer->file, &info->metadata, error);
}

static enum status tiff_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                              struct error *error)
{
    return parts_write(((struct tiff_writer *)base)->strips, rows, pitch, count, error);
}

static enum status tiff_end_page(struct writer *base, struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;
    enum status status = parts_finish(writer->strips, error);

    parts_close(writer->strips);
    writer->strips = NULL;
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

    parts_close(writer->strips);
    tiff_file_abandon(&writer->file);
}

static const struct writer_class tiff_writer_class = {
    .size = sizeof(struct tiff_writer),
    .memory = tiff_memory,
    .seeks = true,
    .begin_page = tiff_begin_page,
    .write = tiff_write,
    .end_page = tiff_end_page,
    .finish = tiff_finish,
    .close = tiff_close,
};

/* ---------------- the format */

static const char *const extensions[] = {"tif", "tiff", NULL};

static bool tiff_recognise(const unsigned char *head, size_t size)
{
    static const unsigned char kinds[][4] = {
        {'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43} /* 43: BigTIFF */};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (size >= sizeof kinds[i] && memcmp(head, kinds[i], sizeof kinds[i]) == 0)
            return true;
    return false;
}

static const char *compression_name(const struct image_info *info)
{
    const TIFFCodec *codec = TIFFFindCODEC((uint16_t)info->compression);
    return codec ? codec->name : NULL;
}

static void tiff_leave_out(struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    metadata_leave_out_languages(metadata);
    if (metadata->gamma > 0 && !metadata->srgb)
        metadata_leave_out(metadata, "gAMA");
    exif_leave_out(metadata);
}

const struct format format_tiff = {
    .name = "TIFF",
    .extensions = extensions,
    .holds = {.types = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16 | 1u << SAMPLE_UINT32 | 1u << SAMPLE_HALF |
                       1u << SAMPLE_FLOAT | 1u << SAMPLE_COMPLEX | 1u << SAMPLE_INT8 | 1u << SAMPLE_INT16 |
                       1u << SAMPLE_INT32,
              .channels = CHANNELS_ALL,
              .masks = true,
              .pages = true,
              .texts = true,
              .tags = true},
    .recognise = tiff_recognise,
    .compression = compression_name,
    .leave_out = tiff_leave_out,
    .reader = &tiff_reader_class,
    .writer = &tiff_writer_class,
};
