/* Writes TIFFs page by page, in strips:
 *
 *     rows ─▶ strips (image/strips.c) ─▶ threads: compressed into a TIFF in memory ─┐
 *     file ◀─ TIFFWriteRawStrip ◀─ strips in their order ◀─ bytes of the strip ◀───┘
 *
 * A libtiff handle compresses on one thread, so each strip has its own handle, on a file in memory. Only the
 * strip's bytes of that file are used. The caller's thread writes uncompressed strips.
 *
 * The directory of a page is written when the next page begins or the file ends: only then it is known if the
 * file has several pages, which get numbers. Files that may exceed 4 GiB are BigTIFFs. */
#include "image/tiff/tiff.h"

#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

enum {
    /* Bytes of a strip. Large uncompressed strips need few system calls; small compressed ones suit readers
       that decode one strip at a time, or several on threads. */
    UNCOMPRESSED_STRIP = 1 << 20,
    COMPRESSED_STRIP = 256 << 10,
    /* A whole page of fax codes of up to 134 megapixels: programs that embed them in PDF want one strip. 35
       megapixels take 13 ms. */
    FAX_STRIP = 16 << 20,
    LZMA_MEMORY = 94 << 20, /* bytes of an encoder at the default preset (manual of xz) */
    HEADER_SIZE = 16,       /* bytes of a BigTIFF's header, which libtiff writes before the strip */
};

/* Maximum bytes of pixels of a classic TIFF, whose offsets have 32 bits; the rest of the 4 GiB is for tags
 * and metadata. Fewer programs read BigTIFF, so it is used only for larger files, and if the number of
 * pages is unknown. */
static const uint64_t LARGEST_CLASSIC_FILE = (uint64_t)3900 << 20;

struct tiff_writer {
    struct writer base; /* must be first */
    struct tiff_file file;
    uint32_t page;         /* number of the current page, from 0 */
    bool pending;          /* the page's pixels are written, its directory is not */
    bool split_stack;      /* each image gets a gap after its first strip (emit_strip) */
    struct strips *strips; /* receives the page's rows; NULL between pages */
};

/* Writes the directory of the last page, if it is pending. `numbered`: the file has several pages. */
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
        return tiff_file_fail_writing(&writer->file, error);
    writer->pending = false;
    writer->page++;
    return STATUS_OK;
}

/* Returns the compression by --compression (0: none, 1 to 9: deflate). Default: CCITT G4 of a bilevel page;
 * of other pages the input's, if it is lossless, no fax code, and compiled into libtiff. `input` is 0 if the
 * input is no TIFF. */
static uint16_t choose_compression(const struct writer_options *options, int input)
{
    const int preset = options->compression;
    if (preset != COMPRESSION_PRESET_DEFAULT)
        return preset == 0 ? COMPRESSION_NONE : COMPRESSION_ADOBE_DEFLATE;
    if (options->bilevel)
        return TIFFIsCODECConfigured(COMPRESSION_CCITTFAX4) ? COMPRESSION_CCITTFAX4
                                                            : COMPRESSION_ADOBE_DEFLATE;
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

/* Sets the tags of the compression and its predictor. */
static void set_compression(TIFF *tiff, const struct writer_options *options, const struct image_info *info)
{
    const int preset = options->compression;
    const uint16_t compression = choose_compression(options, info->compression);
    const bool is_float = info->type == SAMPLE_HALF || info->type == SAMPLE_FLOAT;

    TIFFSetField(tiff, TIFFTAG_COMPRESSION, compression);
    if (preset > 0)
        TIFFSetField(tiff, TIFFTAG_ZIPQUALITY, preset);

    /* libtiff has no predictor for complex samples and bits, nor for PackBits. */
    if (compression == COMPRESSION_NONE || compression == COMPRESSION_PACKBITS || options->bilevel ||
        info->type == SAMPLE_COMPLEX)
        return;
    /* The input's predictor, if it suits the samples. Otherwise the horizontal one for integers, which every
       reader knows, and none for floats: the floating-point predictor saves 10 to 30%, but few readers know
       it (tifffile without imagecodecs does not). */
    const int suitable = is_float ? PREDICTOR_FLOATINGPOINT : PREDICTOR_HORIZONTAL;
    int predictor = is_float ? PREDICTOR_NONE : PREDICTOR_HORIZONTAL;
    if (info->predictor == PREDICTOR_NONE || info->predictor == suitable)
        predictor = info->predictor;
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

/* Sets the tags of the layout. In 1-bit samples 0 is white, as fax codes and their readers expect. */
static void set_layout(TIFF *tiff, const struct writer_options *options, const struct image_info *info,
                       uint32_t strip_height)
{
    const uint16_t extra = !info->alpha          ? EXTRASAMPLE_UNSPECIFIED
                           : info->premultiplied ? EXTRASAMPLE_ASSOCALPHA
                                                 : EXTRASAMPLE_UNASSALPHA;

    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, info->width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, info->height);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, options->bilevel ? 1 : (int)(8 * sample_size(info->type)));
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, info->channels);
    if (sample_format(info->type) != SAMPLEFORMAT_UINT) /* the default; simple readers do not know the tag */
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_format(info->type));
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
                 options->bilevel      ? PHOTOMETRIC_MINISWHITE
                 : info->channels >= 3 ? PHOTOMETRIC_RGB
                                       : PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, strip_height);
    if (info->channels % 2 == 0) /* one more than gray or RGB */
        TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &extra);
    if (info->page_name != NULL)
        TIFFSetField(tiff, TIFFTAG_PAGENAME, info->page_name);
}

/* Fails after a strip was not written. If a classic TIFF would exceed 4 GiB, replaces libtiff's message,
 * which recommends options that climg does not have. */
static enum status strip_not_written(const struct tiff_writer *writer, size_t size, struct error *error)
{
    if (writer->file.write_error == 0 && !TIFFIsBigTIFF(writer->file.tiff) &&
        writer->file.size + size > UINT32_MAX)
        return fail(error, STATUS_FAILED,
                    "pages of more than 4 GiB in all do not fit a classic TIFF; write fewer pages to a file");
    return tiff_file_fail_writing(&writer->file, error);
}

/* A strip of the page; image/strips.h reuses it for later strips. */
struct encoded_strip {
    struct strip strip; /* must be first */
    struct tiff_file file;
    struct tiff_memory memory; /* a TIFF: header and compressed strip. No bytes: the strip is uncompressed */
};

/* Compresses a strip into a TIFF in memory, in any thread. */
static enum status encode_strip(struct strip *strip, struct error *error)
{
    struct encoded_strip *encoded = (struct encoded_strip *)strip;
    const struct tiff_writer *writer = strip->options->context;
    const tmsize_t size = (tmsize_t)(strip->count * strip->options->row_size);
    enum status status = tiff_file_open_memory(&encoded->file, &encoded->memory, "w8", error);

    if (status != STATUS_OK)
        return status;
    /* The page's tags, but the height of the strip. */
    struct image_info info = writer->base.info;
    info.height = strip->count;
    info.page_name = NULL;
    set_layout(encoded->file.tiff, &writer->base.options, &info, strip->count);
    set_compression(encoded->file.tiff, &writer->base.options, &info);
    if (TIFFWriteEncodedStrip(encoded->file.tiff, 0, strip->rows, size) != size ||
        encoded->file.message[0] != '\0')
        status = tiff_file_fail_writing(&encoded->file, error);
    tiff_file_abandon(&encoded->file); /* writes no directory */
    return status;
}

static void close_strip(struct strip *strip)
{
    free(((struct encoded_strip *)strip)->memory.bytes);
}

static enum status emit_strip(void *context, struct strip *strip, struct error *error)
{
    struct tiff_writer *writer = context;
    const struct encoded_strip *encoded = (struct encoded_strip *)strip;
    const bool is_uncompressed = encoded->memory.bytes == NULL;
    unsigned char *data = is_uncompressed ? strip->rows : encoded->memory.bytes + HEADER_SIZE;
    const size_t size =
        is_uncompressed ? strip->count * strip->options->row_size : (size_t)encoded->file.size - HEADER_SIZE;

    /* If the first image of a stack that ImageJ or tifffile described is contiguous, tifffile reads the whole
       stack as contiguous. A gap after the first strip prevents that. */
    if (writer->split_stack && strip->number == 1 &&
        !tiff_file_write_at(&writer->file, writer->file.size, "\0", 2))
        return strip_not_written(writer, size, error);
    if (TIFFWriteRawStrip(writer->file.tiff, strip->number, data, (tmsize_t)size) != (tmsize_t)size)
        return strip_not_written(writer, size, error);
    return STATUS_OK;
}

/* Returns the division of a page into strips, and the functions that process them. */
static struct strips_options strip_options(const struct writer_options *options,
                                           const struct image_info *info)
{
    const uint16_t compression = choose_compression(options, info->compression);
    const bool is_uncompressed = compression == COMPRESSION_NONE;
    const size_t row = writer_row_size(options, info),
                 strip = is_uncompressed                        ? UNCOMPRESSED_STRIP
                         : compression == COMPRESSION_CCITTFAX4 ? FAX_STRIP
                                                                : COMPRESSED_STRIP,
                 rows = strip / row;
    const uint32_t height = rows == 0 ? 1 : rows < info->height ? (uint32_t)rows : info->height;
    const uint64_t size = (uint64_t)row * height;

    return (struct strips_options){
        .row_size = row,
        .height = info->height,
        .strip_rows = height,
        .strip_size = sizeof(struct encoded_strip),
        /* Compressed: the rows, the file in memory (which grows by half), and libtiff's buffer for it. */
        .strip_memory = is_uncompressed ? size : 7 * size / 2,
        .memory = options->memory,
        /* LZMA takes a hundred times the memory of other codecs. */
        .threads = is_uncompressed || compression == COMPRESSION_LZMA ? 1 : options->jobs,
        .encode = is_uncompressed ? NULL : encode_strip,
        .emit = emit_strip,
        .close = close_strip,
    };
}

static uint64_t tiff_memory(const struct writer_options *options, const struct image_info *info)
{
    const uint16_t compression = choose_compression(options, info->compression);
    const struct strips_options strips = strip_options(options, info);

    return strips_memory(&strips) + (compression == COMPRESSION_LZMA ? LZMA_MEMORY : 0);
}

static enum status tiff_begin_page(struct writer *base, const struct image_info *info, struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;
    const uint64_t expected = base->options.expected_bytes;
    const char *mode = expected == 0 || expected > LARGEST_CLASSIC_FILE ? "w8" : "w"; /* w8: BigTIFF */

    /* Open the file, or write the directory of the page before. */
    if ((writer->file.tiff == NULL &&
         tiff_file_open(&writer->file, fileno(base->output.file), mode, error) != STATUS_OK) ||
        write_directory(writer, true, error) != STATUS_OK)
        return STATUS_FAILED;

    /* Strips. An image of an uncompressed stack has at least two, for the gap (emit_strip). */
    struct strips_options strips = strip_options(&base->options, info);
    if (writer->page == 0)
        writer->split_stack = strips.encode == NULL && description_is_stack(&info->metadata) &&
                              expected > (uint64_t)row_size(info) * info->height;
    if (writer->split_stack && strips.strip_rows == info->height)
        strips.strip_rows = (info->height + 1) / 2;
    strips.context = writer;
    writer->strips = strips_open(&strips, error);
    if (writer->strips == NULL)
        return STATUS_FAILED;

    /* Tags are set before the pixels are written, as the caller may free the metadata meanwhile. encode_strip
       sets the same ones. */
    set_layout(writer->file.tiff, &base->options, info, strips.strip_rows);
    set_compression(writer->file.tiff, &base->options, info);
    if (writer->file.message[0] != '\0')
        return tiff_file_fail_writing(&writer->file, error);
    return tiff_metadata_write(&writer->file, &info->metadata, error);
}

static enum status tiff_write(struct writer *base, const void *rows, size_t pitch, uint32_t count,
                              struct error *error)
{
    return strips_write(((struct tiff_writer *)base)->strips, rows, pitch, count, error);
}

/* Writes all strips, and leaves the directory pending. */
static enum status tiff_end_page(struct writer *base, struct error *error)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;
    enum status status = strips_finish(writer->strips, error);

    strips_close(writer->strips);
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
    return writer->file.write_error != 0 ? tiff_file_fail_writing(&writer->file, error) : STATUS_OK;
}

static void tiff_close_writer(struct writer *base)
{
    struct tiff_writer *writer = (struct tiff_writer *)base;

    strips_close(writer->strips);
    tiff_file_abandon(&writer->file);
}

static const struct writer_class tiff_writer_class = {
    .size = sizeof(struct tiff_writer),
    .memory = tiff_memory,
    .seeks = true,
    .black_is_one = true,
    .begin_page = tiff_begin_page,
    .write = tiff_write,
    .end_page = tiff_end_page,
    .finish = tiff_finish,
    .close = tiff_close_writer,
};

/* ---------------- the format */

/* True for a byte order followed by 42 or, of BigTIFF, 43. */
static bool tiff_recognise(const unsigned char *head, size_t size)
{
    static const unsigned char kinds[][4] = {
        {'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (size >= sizeof kinds[i] && memcmp(head, kinds[i], sizeof kinds[i]) == 0)
            return true;
    return false;
}

/* TIFF has a tag for cHRM's chromaticities, but none for gAMA. */
static void tiff_note_left_out(struct image_info *info)
{
    struct metadata *metadata = &info->metadata;
    metadata_note_languages(metadata);
    if (metadata->gamma > 0 && !metadata->srgb)
        metadata_note_left_out(metadata, "gAMA");
    exif_to_page(metadata);
}

const struct format format_tiff = {
    .name = "TIFF",
    .extensions = (const char *const[]){"tif", "tiff", NULL},
    .coding = CODING_COMPRESSION,
    .holds = {.types = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16 | 1u << SAMPLE_UINT32 | 1u << SAMPLE_HALF |
                       1u << SAMPLE_FLOAT | 1u << SAMPLE_COMPLEX | 1u << SAMPLE_INT8 | 1u << SAMPLE_INT16 |
                       1u << SAMPLE_INT32,
              .channels = CHANNELS_ALL,
              .bits = true,
              .masks = true,
              .pages = true,
              .texts = true,
              .tags = true},
    .recognise = tiff_recognise,
    .note_left_out = tiff_note_left_out,
    .reader = &tiff_reader_class,
    .writer = &tiff_writer_class,
};
