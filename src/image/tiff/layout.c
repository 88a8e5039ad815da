/* Reads how a TIFF page stores its samples (struct tiff_layout), and refuses layouts that climg does not
 * read, with a command that converts them.
 *
 *     samples     unsigned of 1 to 16 and 32 bits, signed of 8, 16 and 32, floats of 16, 32 and 64,
 *                 complex of two floats of 32
 *     channels    1 to 4: gray, RGB, a palette or JPEG's YCbCr; with or without alpha
 *     storage     strips or tiles, planes interleaved or separate, every codec of the installed libtiff
 *     colours     CMYK and L*a*b* of 8 and 16 bits, which the caller converts
 *     refused     sensor data, other YCbCr, more channels, pages with depth
 *
 * libtiff corrects some tags and ignores others. If that could give wrong pixels, the page is refused:
 * read_tag returns the number that is in the file. */
#include "image/tiff/tiff.h"

#include "image/codec.h"

#define MAGICK ", as with ImageMagick: convert IN -colorspace sRGB OUT"
#define DCRAW  ", as with dcraw: dcraw -T IN"

/* Fails for colours that climg does not read, with advice. */
static enum status refuse_photometric(uint16_t photometric, struct error *error)
{
    static const struct {
        uint16_t photometric;
        const char *name, *command;
    } kinds[] = {
        {PHOTOMETRIC_SEPARATED, "this kind of CMYK", MAGICK},
        {PHOTOMETRIC_CIELAB, "this kind of L*a*b*", MAGICK},
        {PHOTOMETRIC_ICCLAB, "this kind of L*a*b*", MAGICK},
        {PHOTOMETRIC_ITULAB, "ITU L*a*b*", MAGICK},
        {PHOTOMETRIC_LOGL, "LogL", ""},
        {PHOTOMETRIC_LOGLUV, "LogLuv", ""},
        {PHOTOMETRIC_CFA, "raw sensor", DCRAW},
        {34892, "raw sensor", DCRAW}, /* LinearRaw of DNG */
        {PHOTOMETRIC_MASK, "transparency mask", ""},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i].photometric == photometric)
            return fail(error, STATUS_FAILED, "%s data is not supported; convert it to RGB first%s",
                        kinds[i].name, kinds[i].command);
    return fail(error, STATUS_FAILED, "unknown PhotometricInterpretation %u; convert it to RGB first",
                photometric);
}

/* Fails for sample types that climg does not read. SAMPLEFORMAT_VOID counts as unsigned, as in libtiff. */
static enum status check_samples(const struct tiff_layout *layout, struct error *error)
{
    const unsigned bits = layout->bits;
    const char *kind = "integer", *other = "32-bit float";
    bool is_supported;

    switch (layout->format) {
    case SAMPLEFORMAT_UINT:
    case SAMPLEFORMAT_VOID:
        is_supported = (bits >= 1 && bits <= 16) || bits == 32;
        break;
    case SAMPLEFORMAT_INT:
        is_supported = bits == 8 || bits == 16 || bits == 32;
        kind = "signed";
        other = "16-bit signed or to float";
        break;
    case SAMPLEFORMAT_IEEEFP:
        is_supported = bits == 16 || bits == 32 || bits == 64;
        kind = "float";
        break;
    case SAMPLEFORMAT_COMPLEXIEEEFP:
        is_supported = bits == 64;
        kind = "complex";
        other = "64-bit complex";
        break;
    default:
        return fail(error, STATUS_FAILED,
                    "samples of format %u are not supported; convert them to float first, as with GDAL: "
                    "gdal_translate -ot Float32 IN OUT",
                    layout->format);
    }
    return is_supported
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "%u-bit %s samples are not supported; convert them to %s first",
                      bits, kind, other);
}

/* Makes libtiff's JPEG codec convert YCbCr to RGB. */
static void set_jpeg_colours(TIFF *tiff, const struct tiff_layout *layout)
{
    if (layout->photometric == PHOTOMETRIC_YCBCR && !layout->needs_rgba)
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
}

/* Reads a tag's number from the file, as libtiff may return a corrected one. False if the tag is missing. */
static bool read_tag(struct tiff_file *file, uint16_t tag, uint64_t *number)
{
    const struct ifd ifd = tiff_file_ifd(file);

    return ifd_find_unsigned(&ifd, tag, number);
}

/* True for the codecs that have a predictor. Of others libtiff must not be asked for it: it would read a
 * number from the codec's own data. */
static bool has_predictor(uint16_t compression)
{
    return compression == COMPRESSION_LZW || compression == COMPRESSION_ADOBE_DEFLATE ||
           compression == COMPRESSION_DEFLATE || compression == COMPRESSION_ZSTD ||
           compression == COMPRESSION_LZMA;
}

/* True if the page has a Predictor that libtiff ignores, as its type, count or offset is wrong. */
static bool is_predictor_ignored(struct tiff_file *file)
{
    const struct ifd ifd = tiff_file_ifd(file);
    struct ifd_entry entry = {.tag = 0};
    uint64_t number = 0;
    uint16_t predictor;

    TIFFGetFieldDefaulted(file->tiff, TIFFTAG_PREDICTOR, &predictor);
    /* Not by ifd_find, which skips an entry that cannot be read. */
    for (uint32_t i = ifd_entry_count(&ifd); i-- > 0;) {
        const bool readable = ifd_entry_at(&ifd, i, &entry);
        if (entry.tag == TIFFTAG_PREDICTOR)
            return !(readable && ifd_unsigned(&ifd, &entry, &number) && number == predictor);
    }
    return false;
}

/* True for the codecs of CCITT T.4 and T.6, which have one bit per pixel. */
static bool is_fax(uint16_t compression)
{
    return compression == COMPRESSION_CCITTRLE || compression == COMPRESSION_CCITTRLEW ||
           compression == COMPRESSION_CCITTFAX3 || compression == COMPRESSION_CCITTFAX4;
}

/* Returns PhotometricInterpretation. Some files lack it: then 0 is white in a fax; four samples or more are
 * CMYK (and alpha) if InkSet says so and ExtraSamples is absent; in other files the number of samples
 * decides. */
static uint16_t read_photometric(struct tiff_file *file, const struct tiff_layout *layout)
{
    uint16_t photometric, extras, *types;
    uint64_t inks;

    if (TIFFGetField(file->tiff, TIFFTAG_PHOTOMETRIC, &photometric))
        return photometric;
    if (is_fax(layout->compression))
        return PHOTOMETRIC_MINISWHITE;
    if (layout->samples >= 4 && read_tag(file, TIFFTAG_INKSET, &inks) && inks == INKSET_CMYK &&
        !TIFFGetField(file->tiff, TIFFTAG_EXTRASAMPLES, &extras, &types))
        return PHOTOMETRIC_SEPARATED;
    return layout->samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
}

/* Fails for tags that libtiff ignores or corrects, so that it would return wrong pixels. */
static enum status check_ignored_tags(struct tiff_file *file, const struct tiff_layout *layout,
                                      struct error *error)
{
    const bool can_have_predictor = has_predictor(layout->compression);
    uint64_t number = 0;

    if ((read_tag(file, TIFFTAG_IMAGEDEPTH, &number) && number > 1) ||
        (read_tag(file, TIFFTAG_TILEDEPTH, &number) && number > 1))
        return fail(error, STATUS_FAILED,
                    "pages of %llu layers in depth are not supported; write a page for each layer first",
                    (unsigned long long)number);
    if (layout->photometric == PHOTOMETRIC_SEPARATED && read_tag(file, TIFFTAG_INKSET, &number) &&
        number != INKSET_CMYK)
        return refuse_photometric(layout->photometric, error);
    /* Without a ColorMap of the right length, libtiff reports RGB or gray instead of a palette. */
    if (read_tag(file, TIFFTAG_PHOTOMETRIC, &number) && number == PHOTOMETRIC_PALETTE &&
        layout->photometric != PHOTOMETRIC_PALETTE)
        return fail(error, STATUS_FAILED, "damaged TIFF: ColorMap does not have 2^%u entries per channel",
                    layout->bits);
    if (can_have_predictor && is_predictor_ignored(file))
        return fail(error, STATUS_FAILED, "damaged TIFF: its Predictor cannot be read");
    if (is_fax(layout->compression) && layout->samples != 1)
        return fail(error, STATUS_FAILED, "damaged TIFF: fax compression of %u samples a pixel",
                    layout->samples);
    if (!can_have_predictor && read_tag(file, TIFFTAG_PREDICTOR, &number) && number > PREDICTOR_NONE)
        return fail(
            error, STATUS_FAILED,
            "a predictor with this compression is not supported, as programs differ in what they make of it; "
            "write the file without it first");
    return STATUS_OK;
}

/* Sets colour_model, palette, inverted and needs_rgba. *colours receives the number of samples per pixel
 * without alpha. */
static enum status choose_colour(struct tiff_layout *layout, int *colours, struct error *error)
{
    const bool is_jpeg = layout->compression == COMPRESSION_JPEG || layout->compression == COMPRESSION_OJPEG;
    const bool is_integer = layout->format == SAMPLEFORMAT_UINT || layout->format == SAMPLEFORMAT_VOID;
    const bool is_lab =
        layout->photometric == PHOTOMETRIC_CIELAB || layout->photometric == PHOTOMETRIC_ICCLAB;
    *colours = 1;
    if ((is_integer || (is_lab && layout->format == SAMPLEFORMAT_INT)) &&
        (layout->bits == 8 || layout->bits == 16) &&
        (is_lab ? layout->samples == 3
                : layout->photometric == PHOTOMETRIC_SEPARATED && layout->samples == 4)) {
        layout->colour_model = !is_lab                                     ? COLOUR_MODEL_CMYK
                               : layout->photometric == PHOTOMETRIC_CIELAB ? COLOUR_MODEL_CIELAB
                                                                           : COLOUR_MODEL_ICCLAB;
        *colours = layout->samples;
        return STATUS_OK;
    }
    switch (layout->photometric) {
    case PHOTOMETRIC_MINISBLACK:
        return STATUS_OK;
    case PHOTOMETRIC_MINISWHITE:
        /* Signed and float samples are not inverted: they have no largest value that would be black. */
        layout->inverted = is_integer;
        return STATUS_OK;
    case PHOTOMETRIC_PALETTE:
        layout->palette = true;
        if (layout->bits <= 16 && layout->samples == 1 && layout->format != SAMPLEFORMAT_IEEEFP)
            return STATUS_OK;
        return fail(error, STATUS_FAILED,
                    "a palette with %u samples of %u bits is not supported; convert it to RGB first",
                    layout->samples, layout->bits);
    case PHOTOMETRIC_RGB:
        *colours = 3;
        return STATUS_OK;
    case PHOTOMETRIC_YCBCR:
        *colours = 3;
        if (!is_jpeg || layout->bits != 8 || layout->samples != 3)
            return fail(
                error, STATUS_FAILED,
                "YCbCr that is not JPEG is not supported; convert it to RGB first, as with libtiff's tools: "
                "tiff2rgba -n IN OUT");
        /* The JPEG codec returns RGB, except for old-style JPEG and for separate planes. */
        layout->needs_rgba = layout->compression == COMPRESSION_OJPEG || layout->separate;
        return STATUS_OK;
    default:
        return refuse_photometric(layout->photometric, error);
    }
}

/* Fails for numbers and kinds of channels that climg does not read. */
static enum status check_channels(TIFF *tiff, const struct tiff_layout *layout, int colours,
                                  struct error *error)
{
    uint16_t extras = 0, *types;

    if (layout->samples < colours)
        return fail(error, STATUS_FAILED, "damaged TIFF: RGB with %u samples a pixel", layout->samples);
    if (layout->samples > colours + 1)
        return fail(error, STATUS_FAILED,
                    "%u samples a pixel are not supported; keep %s, as with GDAL: gdal_translate %s IN OUT%s",
                    layout->samples, colours == 1 ? "one" : "RGB", colours == 1 ? "-b 1" : "-b 1 -b 2 -b 3",
                    colours == 1 ? " (three as colours: -b 1 -b 2 -b 3 -co PHOTOMETRIC=RGB)" : "");
    if (layout->inverted && TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extras, &types) && extras > 0 &&
        types[0] == EXTRASAMPLE_ASSOCALPHA)
        return fail(
            error, STATUS_FAILED,
            "min-is-white gray with associated alpha is not supported; convert it to min-is-black first");
    if (layout->separate && layout->samples > 1 && layout->bits % 8 != 0)
        return fail(error, STATUS_FAILED,
                    "separate planes of %u-bit samples are not supported; convert them to 8 or 16 bit first",
                    layout->bits);
    return STATUS_OK;
}

enum status tiff_layout_read(struct tiff_file *file, const struct reader_options *options,
                             struct tiff_layout *layout, struct error *error)
{
    TIFF *tiff = file->tiff;
    uint16_t planar;
    int colours = 0;

    /* Tags. */
    *layout = (struct tiff_layout){.tiled = TIFFIsTiled(tiff)};
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &layout->width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &layout->height);
    if (check_image_size(layout->width, layout->height, options->max_pixels, error) != STATUS_OK)
        return STATUS_FAILED;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &layout->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &layout->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &layout->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &layout->compression);
    layout->photometric = read_photometric(file, layout);
    layout->separate = planar == PLANARCONFIG_SEPARATE && layout->samples > 1;
    layout->row_size = ((uint64_t)layout->width * layout->samples * layout->bits + 7) / 8;

    /* Checks. set_jpeg_colours must precede the check of tiles: the JPEG codec's colour mode changes
     * TIFFTileSize. */
    if (!TIFFIsCODECConfigured(layout->compression)) {
        const TIFFCodec *codec = TIFFFindCODEC(layout->compression);
        return fail(
            error, STATUS_FAILED,
            "compression %u%s%s is not supported by the installed libtiff; recompress it elsewhere first",
            layout->compression, codec != NULL ? ", " : "", codec != NULL ? codec->name : "");
    }
    if (check_ignored_tags(file, layout, error) != STATUS_OK ||
        choose_colour(layout, &colours, error) != STATUS_OK || check_samples(layout, error) != STATUS_OK ||
        check_channels(tiff, layout, colours, error) != STATUS_OK)
        return STATUS_FAILED;
    set_jpeg_colours(tiff, layout);

    /* Tiles much larger than the image would be allocated, and a tiny file can claim them. Real tiles are
     * small, or not much larger than the image. */
    const uint64_t always_allowed = 16 << 20;
    uint64_t tile = layout->tiled ? TIFFTileSize64(tiff) : 0;

    if (layout->tiled && tile == 0)
        return fail(error, STATUS_FAILED, "damaged TIFF: tiles without size");
    if (tile > always_allowed && tile / 4 > layout->row_size * layout->height)
        return fail(error, STATUS_FAILED, "damaged TIFF: tiles of %llu bytes in an image of %llu",
                    (unsigned long long)tile, (unsigned long long)layout->row_size * layout->height);
    return STATUS_OK;
}

enum status tiff_layout_reopen(struct tiff_file *file, const struct tiff_file *opened,
                               const struct tiff_layout *layout, struct error *error)
{
    uint32_t width = 0, height = 0;
    enum status status = tiff_file_open(file, opened->descriptor, TIFF_FILE_READ, error);

    if (status == STATUS_OK)
        status = tiff_file_set_directory(file, opened->directory, error);
    if (status != STATUS_OK)
        return status;
    TIFFGetField(file->tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(file->tiff, TIFFTAG_IMAGELENGTH, &height);
    if (width != layout->width || height != layout->height || TIFFIsTiled(file->tiff) != layout->tiled)
        return fail(error, STATUS_FAILED, "damaged TIFF: it is being changed while it is read");
    set_jpeg_colours(file->tiff, layout);
    return STATUS_OK;
}

void tiff_layout_swap(const struct tiff_layout *layout, unsigned char *samples, size_t size)
{
    /* A complex sample of 64 bits is two floats. */
    const int bits = layout->format == SAMPLEFORMAT_COMPLEXIEEEFP ? 32 : layout->bits;

    if (bits == 16)
        TIFFSwabArrayOfShort((uint16_t *)samples, (tmsize_t)(size / 2));
    else if (bits == 32)
        TIFFSwabArrayOfLong((uint32_t *)samples, (tmsize_t)(size / 4));
    else if (bits == 64)
        TIFFSwabArrayOfLong8((uint64_t *)samples, (tmsize_t)(size / 8));
}

/* Returns the type of converted samples: the smallest one of image.h that has at least the file's bits. */
static enum sample_type choose_type(const struct tiff_layout *layout, bool wide_palette)
{
    if (layout->palette)
        return wide_palette ? SAMPLE_UINT16 : SAMPLE_UINT8;
    if (layout->format == SAMPLEFORMAT_COMPLEXIEEEFP)
        return SAMPLE_COMPLEX;
    if (layout->format == SAMPLEFORMAT_IEEEFP)
        return layout->bits == 16 ? SAMPLE_HALF : SAMPLE_FLOAT;
    if (layout->format == SAMPLEFORMAT_INT)
        return layout->bits == 8 ? SAMPLE_INT8 : layout->bits == 16 ? SAMPLE_INT16 : SAMPLE_INT32;
    if (layout->bits <= 8)
        return SAMPLE_UINT8;
    return layout->bits <= 16 ? SAMPLE_UINT16 : SAMPLE_UINT32;
}

void tiff_layout_describe(TIFF *tiff, const struct tiff_layout *layout, bool wide_palette,
                          struct image_info *info)
{
    const uint16_t compression = layout->compression;
    const TIFFCodec *codec = TIFFFindCODEC(compression);
    uint16_t extras = 0, *types, predictor;
    const float *white;

    info->width = layout->width;
    info->height = layout->height;
    info->channels = layout->palette ? 3 : layout->samples;

    /* The sample after the colours is alpha, in old files without ExtraSamples unassociated alpha. If the tag
       says "unspecified" (a mask, near infrared), the sample is an ordinary channel. */
    const bool has_extras = TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extras, &types) && extras > 0;
    info->alpha = info->channels % 2 == 0 && (!has_extras || types[0] != EXTRASAMPLE_UNSPECIFIED);
    info->premultiplied = info->alpha && has_extras && types[0] == EXTRASAMPLE_ASSOCALPHA;
    info->type = choose_type(layout, wide_palette);
    info->bits = layout->bits % 8 != 0 ? layout->bits : 0;
    info->colour_model = layout->colour_model;
    if (layout->colour_model != COLOUR_MODEL_RGB) {
        info->alpha = info->premultiplied = false;
        info->type = layout->bits == 8 ? SAMPLE_UINT8 : SAMPLE_UINT16;
        if (TIFFGetField(tiff, TIFFTAG_WHITEPOINT, &white) && white[0] > 0 && white[1] > 0 &&
            white[0] + white[1] < 1) {
            info->white[0] = white[0];
            info->white[1] = white[1];
        }
    }
    info->palette = layout->palette;
    info->inverted = layout->inverted;
    info->compression = compression;
    snprintf(info->coding, sizeof info->coding, "%s", codec != NULL ? codec->name : "");
    /* Deflate is the only codec with a checksum. */
    info->checksums =
        compression == COMPRESSION_ADOBE_DEFLATE || compression == COMPRESSION_DEFLATE ? "Adler-32" : NULL;

    if (has_predictor(compression) && TIFFGetFieldDefaulted(tiff, TIFFTAG_PREDICTOR, &predictor))
        info->predictor = predictor;
}
