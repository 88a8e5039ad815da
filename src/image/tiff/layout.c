#include "image/tiff/layout.h"

#define MAGICK ", as with ImageMagick: convert IN -colorspace sRGB OUT"
#define DCRAW  ", as with dcraw: dcraw -T IN"

/* What a user can do about colour that climg does not read. */
static enum status refuse_photometric(uint16_t photometric, struct error *error)
{
    static const struct {
        uint16_t photometric;
        const char *name, *command;
    } names[] = {
        {PHOTOMETRIC_SEPARATED, "CMYK", MAGICK},
        {PHOTOMETRIC_CIELAB, "CIE L*a*b*", MAGICK},
        {PHOTOMETRIC_ICCLAB, "ICC L*a*b*", MAGICK},
        {PHOTOMETRIC_ITULAB, "ITU L*a*b*", MAGICK},
        {PHOTOMETRIC_LOGL, "LogL", ""},
        {PHOTOMETRIC_LOGLUV, "LogLuv", ""},
        {PHOTOMETRIC_CFA, "raw sensor", DCRAW},
        {34892, "raw sensor", DCRAW}, /* LinearRaw of DNG */
        {PHOTOMETRIC_MASK, "transparency mask", ""},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].photometric == photometric)
            return fail(error, STATUS_FAILED, "%s data is not supported; convert it to RGB first%s",
                        names[i].name, names[i].command);
    return fail(error, STATUS_FAILED, "unknown PhotometricInterpretation %u; convert it to RGB first",
                photometric);
}

static enum status check_codec(uint16_t compression, struct error *error)
{
    if (TIFFIsCODECConfigured(compression))
        return STATUS_OK;
    const TIFFCodec *codec = TIFFFindCODEC(compression);
    return fail(error, STATUS_FAILED,
                "compression %u%s%s is not supported by the installed libtiff; recompress it elsewhere first",
                compression, codec != NULL ? ", " : "", codec != NULL ? codec->name : "");
}

static bool integer_bits(uint16_t bits)
{
    return (bits >= 1 && bits <= 16) || bits == 32;
}

static enum status check_samples(const struct tiff_layout *layout, struct error *error)
{
    const unsigned bits = layout->bits;

    switch (layout->format) {
    case SAMPLEFORMAT_UINT:
    case SAMPLEFORMAT_VOID:
        if (integer_bits(layout->bits))
            return STATUS_OK;
        return fail(error, STATUS_FAILED,
                    "%u-bit integer samples are not supported; convert them to 32-bit float "
                    "first",
                    bits);
    case SAMPLEFORMAT_IEEEFP:
        if (bits == 16 || bits == 32 || bits == 64)
            return STATUS_OK;
        return fail(error, STATUS_FAILED,
                    "%u-bit float samples are not supported; convert them to 32-bit float "
                    "first",
                    bits);
    case SAMPLEFORMAT_INT:
        if (bits == 8 || bits == 16 || bits == 32)
            return STATUS_OK;
        return fail(error, STATUS_FAILED,
                    "signed samples of %u bits are not supported; convert them to 16-bit signed or to float "
                    "first",
                    bits);
    case SAMPLEFORMAT_COMPLEXIEEEFP:
        if (bits == 64)
            return STATUS_OK;
        return fail(error, STATUS_FAILED,
                    "%u-bit complex samples are not supported; convert them to 64-bit complex first", bits);
    default:
        return fail(error, STATUS_FAILED,
                    "samples of format %u are not supported; convert them to float first, as with GDAL: "
                    "gdal_translate -ot Float32 IN OUT",
                    layout->format);
    }
}

/* How libtiff is to decode. Of a strip that unpacks to more than its size libdeflate leaves the last bytes
 * unwritten, and libtiff calls it decoded all the same. zlib writes all of them. */
static void prepare(TIFF *tiff, const struct tiff_layout *layout)
{
    if (layout->compression == COMPRESSION_ADOBE_DEFLATE || layout->compression == COMPRESSION_DEFLATE)
        TIFFSetField(tiff, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    if (layout->photometric == PHOTOMETRIC_YCBCR && !layout->rgba)
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
}

/* Files without the tag exist; the number of samples tells what was meant. */
static uint16_t photometric_of(TIFF *tiff, uint16_t samples)
{
    uint16_t photometric;

    if (TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric))
        return photometric;
    return samples >= 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK;
}

/* Whether libtiff's rows of this YCbCr are whole bytes. A unit holds its pixels of Y, then Cb and Cr (TIFF
 * 6.0, section 21); libtiff counts a row of units as so many equal rows of pixels, and rounds each down.
 * Units of 4x4 pixels, 18 bytes, in an odd number lose their ends that way: the colours come wrong, without a
 * warning. Tiles are multiples of 16 pixels wide. */
static bool ycbcr_rows_are_whole(TIFF *tiff, const struct tiff_layout *layout)
{
    uint16_t across = 1, down = 1;

    TIFFGetFieldDefaulted(tiff, TIFFTAG_YCBCRSUBSAMPLING, &across, &down);
    if (layout->tiled || across == 0 || down == 0)
        return true;
    const uint64_t units = ((uint64_t)layout->width + across - 1) / across;
    return units * (across * down + 2u) % down == 0;
}

/* YCbCr comes as RGB from the JPEG codec itself; anything else needs libtiff's RGBA interface. */
static enum status choose_ycbcr_way(TIFF *tiff, struct tiff_layout *layout, struct error *error)
{
    if (layout->bits != 8 || layout->samples != 3)
        return fail(error, STATUS_FAILED,
                    "YCbCr of %u samples of %u bits is not supported; convert it to RGB first",
                    layout->samples, layout->bits);
    layout->rgba = layout->compression != COMPRESSION_JPEG || layout->separate;
    if (layout->rgba && !ycbcr_rows_are_whole(tiff, layout))
        return fail(error, STATUS_FAILED,
                    "YCbCr of 4x4 pixels a colour at this width is not supported by libtiff; "
                    "convert it to RGB first");
    return STATUS_OK;
}

static enum status choose_colour(TIFF *tiff, struct tiff_layout *layout, int *colours, struct error *error)
{
    *colours = 1;
    switch (layout->photometric) {
    case PHOTOMETRIC_MINISBLACK:
        return STATUS_OK;
    case PHOTOMETRIC_MINISWHITE:
        /* Only unsigned integers have a white to count from. */
        layout->inverted = layout->format == SAMPLEFORMAT_UINT || layout->format == SAMPLEFORMAT_VOID;
        return STATUS_OK;
    case PHOTOMETRIC_PALETTE:
        layout->palette = true;
        if (layout->bits <= 16 && layout->samples == 1 && layout->format != SAMPLEFORMAT_IEEEFP)
            return STATUS_OK;
        return fail(error, STATUS_FAILED,
                    "a palette with %u samples of %u bits is not supported; convert it to RGB "
                    "first",
                    layout->samples, layout->bits);
    case PHOTOMETRIC_RGB:
        *colours = 3;
        return STATUS_OK;
    case PHOTOMETRIC_YCBCR:
        *colours = 3;
        return choose_ycbcr_way(tiff, layout, error);
    default:
        return refuse_photometric(layout->photometric, error);
    }
}

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
                    "separate planes of %u-bit samples are not supported; convert them to 8 or "
                    "16 bit first",
                    layout->bits);
    return STATUS_OK;
}

/* A tile is padded to its size, so a tiny file can ask for a huge one. Honest tiles are not much larger than
 * the image, or not large at all. */
static enum status check_tile(TIFF *tiff, const struct tiff_layout *layout, struct error *error)
{
    const uint64_t always_fine = 16 << 20;
    uint64_t tile = layout->tiled ? TIFFTileSize64(tiff) : 0;

    if (layout->tiled && tile == 0)
        return fail(error, STATUS_FAILED, "damaged TIFF: tiles without size");
    if (tile > always_fine && tile / 4 > layout->row * layout->height)
        return fail(error, STATUS_FAILED, "damaged TIFF: tiles of %llu bytes in an image of %llu",
                    (unsigned long long)tile, (unsigned long long)layout->row * layout->height);
    return STATUS_OK;
}

enum status tiff_layout_read(TIFF *tiff, const struct reader_options *options, struct tiff_layout *layout,
                             struct error *error)
{
    uint16_t planar;
    int colours = 0;

    *layout = (struct tiff_layout){.tiled = TIFFIsTiled(tiff)};
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &layout->width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &layout->height);
    enum status status = check_image_size(layout->width, layout->height, options->max_pixels, error);
    if (status != STATUS_OK)
        return status;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &layout->bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &layout->samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &layout->format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &layout->compression);
    layout->photometric = photometric_of(tiff, layout->samples);
    layout->separate = planar == PLANARCONFIG_SEPARATE && layout->samples > 1;
    layout->row = ((uint64_t)layout->width * layout->samples * layout->bits + 7) / 8;

    status = check_codec(layout->compression, error);
    if (status == STATUS_OK)
        status = choose_colour(tiff, layout, &colours, error);
    if (status == STATUS_OK)
        status = check_samples(layout, error);
    prepare(tiff, layout);
    if (status == STATUS_OK)
        status = check_channels(tiff, layout, colours, error);
    return status == STATUS_OK ? check_tile(tiff, layout, error) : status;
}

enum status tiff_layout_reopen(struct tiff_file *file, const struct tiff_file *of,
                               const struct tiff_layout *layout, struct error *error)
{
    uint32_t width = 0, height = 0;
    enum status status = tiff_file_open(file, of->descriptor, TIFF_FILE_READ, error);

    if (status != STATUS_OK)
        return status;
    if (!TIFFSetSubDirectory(file->tiff, TIFFCurrentDirOffset(of->tiff)))
        return tiff_file_damaged(file, error);
    TIFFGetField(file->tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(file->tiff, TIFFTAG_IMAGELENGTH, &height);
    if (width != layout->width || height != layout->height || TIFFIsTiled(file->tiff) != layout->tiled)
        return fail(error, STATUS_FAILED, "damaged TIFF: it is being changed while it is read");
    prepare(file->tiff, layout);
    return STATUS_OK;
}

static enum sample_type type_of(const struct tiff_layout *layout, bool wide_palette)
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

/* One sample more than the colours is alpha that is not multiplied in where no tag says what it is (old
 * writers). Where the tag says that it is none, a mask or near infrared, it is a channel like others. */
void tiff_layout_describe(TIFF *tiff, const struct tiff_layout *layout, bool wide_palette,
                          struct image_info *info)
{
    uint16_t extras = 0, *types;

    info->width = layout->width;
    info->height = layout->height;
    info->channels = layout->palette ? 3 : layout->samples;
    bool told = TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extras, &types) && extras > 0;
    info->alpha = info->channels % 2 == 0 && (!told || types[0] != EXTRASAMPLE_UNSPECIFIED);
    info->premultiplied = info->alpha && told && types[0] == EXTRASAMPLE_ASSOCALPHA;
    info->type = type_of(layout, wide_palette);
    info->bits = layout->bits % 8 != 0 ? layout->bits : 0;
    info->palette = layout->palette;
    info->inverted = layout->inverted;
    info->compression = layout->compression;
}
