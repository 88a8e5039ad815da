/* libFuzzer's target for the readers: any bytes are a file, which is decoded to its end, twice, and once more
 * by libpng or libtiff alone: what both of them take must have the same samples.
 *
 * The rows are in memory that is filled with another byte each time, and fresh memory is, too: a sample that
 * differs was never written, and would have shown what was there before. The mutator mends the checksums of
 * PNG, so that the code after their check is reached. */
#include "fuzz.h"
#include "image/image.h"
#include "image/reader.h"

#include <endian.h>
#include <malloc.h>
#include <png.h>
#include <string.h>
#include <tiffio.h>
#include <zlib.h>

enum { MAX_PIXELS = 1 << 18, MAX_PAGES = 8, ROWS_AT_ONCE = 7 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

/* Result of decoding a file: status and a checksum of its samples. */
struct decoded {
    enum status status;
    uint64_t rows;
    uLong samples;
};

static enum status decode_page(struct reader *reader, int fill, struct decoded *decoded, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    enum status status = STATUS_OK;
    size_t pitch = (size_t)info->width * pixel_size(info);
    unsigned char *rows = malloc(pitch * ROWS_AT_ONCE);
    for (uint32_t row = 0; rows && status == STATUS_OK && row < info->height; row += ROWS_AT_ONCE) {
        uint32_t count = info->height - row < ROWS_AT_ONCE ? info->height - row : ROWS_AT_ONCE;
        memset(rows, fill, pitch * ROWS_AT_ONCE);
        status = reader_read(reader, rows, pitch, count, error);
        if (status == STATUS_OK) {
            decoded->samples = crc32(decoded->samples, rows, (uInt)(pitch * count));
            decoded->rows += count;
        }
    }
    free(rows);
    return status;
}

static struct decoded decode(const char *path, int fill)
{
    const struct reader_options options = {.max_pixels = MAX_PIXELS, .jobs = 1};
    struct decoded decoded = {.status = STATUS_OK};
    struct error error = {.text = ""};
    struct reader *reader = NULL;
    bool more = true;
    mallopt(M_PERTURB, fill);
    decoded.status = reader_open(path, &options, &reader, &error);
    for (int page = 0; decoded.status == STATUS_OK && more && page < MAX_PAGES; page++) {
        decoded.status = decode_page(reader, fill, &decoded, &error);
        if (decoded.status == STATUS_OK)
            decoded.status = reader_next_page(reader, &more, &error);
    }
    reader_close(reader);
    if (decoded.status != STATUS_OK && (!error.text[0] || strchr(error.text, '\n')))
        abort(); /* a failure is one line */
    return decoded;
}

/* The first page as climg decodes it; NULL: it does not. */
static unsigned char *decode_first(const char *path, struct image_info *info, const char **format)
{
    const struct reader_options options = {.page = 1, .max_pixels = MAX_PIXELS, .jobs = 1};
    struct error error = {.text = ""};
    struct reader *reader = NULL;
    if (reader_open(path, &options, &reader, &error) != STATUS_OK)
        return NULL;
    *info = *reader_info(reader);
    *format = reader_format(reader)->name;
    size_t pitch = row_size(info);
    unsigned char *rows = malloc(pitch * info->height);
    if (rows && reader_read(reader, rows, pitch, info->height, &error) != STATUS_OK) {
        free(rows);
        rows = NULL;
    }
    reader_close(reader);
    return rows;
}

static void ignore_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static _Noreturn void ignore_error(png_structp png, png_const_charp text)
{
    (void)text;
    png_longjmp(png, 1);
}

static void read_all_rows(png_structp png, png_infop info, const struct image_info *wanted,
                          unsigned char *rows)
{
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(png, info);
    if (png_get_color_type(png, info) == PNG_COLOR_TYPE_RGB &&
        png_get_valid(png, info, PNG_INFO_PLTE | PNG_INFO_tRNS) == (PNG_INFO_PLTE | PNG_INFO_tRNS))
        png_error(png, "libpng ignores tRNS before PLTE, climg does not");
    png_set_expand(png);
    if (BYTE_ORDER == LITTLE_ENDIAN && png_get_bit_depth(png, info) == 16)
        png_set_swap(png);
    int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) != row_size(wanted) || png_get_image_height(png, info) != wanted->height)
        abort(); /* the sizes differ */
    for (int pass = 0; pass < passes; pass++)
        for (uint32_t y = 0; y < wanted->height; y++)
            png_read_row(png, rows + y * row_size(wanted), NULL);
}

/* False where libpng does not take the file. */
static bool decode_with_libpng(const char *path, const struct image_info *wanted, unsigned char *rows)
{
    FILE *file = fopen(path, "rb");
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, ignore_error, ignore_warning);
    png_infop info = png_create_info_struct(png);
    volatile bool done = false;
    if (setjmp(png_jmpbuf(png)) == 0) {
        png_init_io(png, file);
        read_all_rows(png, info, wanted, rows);
        done = true;
    }
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    return done;
}

/* True if samples are passed on unchanged. */
static bool is_simple(TIFF *tiff, const struct image_info *info)
{
    uint16_t compression = 0, bits = 0, samples = 0, format = 0, planar = 0, photometric = 0;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    bool told = TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    return !TIFFIsTiled(tiff) && (bits == 8 || bits == 16) && samples == info->channels &&
           format == SAMPLEFORMAT_UINT && planar == PLANARCONFIG_CONTIG && told &&
           (photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_RGB) &&
           (compression == COMPRESSION_NONE || compression == COMPRESSION_LZW ||
            compression == COMPRESSION_PACKBITS || compression == COMPRESSION_ADOBE_DEFLATE);
}

static bool decode_with_libtiff(const char *path, const struct image_info *wanted, unsigned char *rows)
{
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
    TIFF *tiff = TIFFOpen(path, "rm");
    bool done = tiff && is_simple(tiff, wanted);
    uint32_t height = wanted->height;
    uint16_t compression = 0;
    if (done) {
        TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &height);
        TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    }
    if (compression == COMPRESSION_ADOBE_DEFLATE) /* libdeflate gives nothing of a strip that has more */
        TIFFSetField(tiff, TIFFTAG_DEFLATE_SUBCODEC, DEFLATE_SUBCODEC_ZLIB);
    for (uint32_t y = 0; done && y < wanted->height; y += height) {
        uint32_t left = wanted->height - y, count = left < height ? left : height;
        tmsize_t size = (tmsize_t)(count * row_size(wanted));
        done = TIFFReadEncodedStrip(tiff, y / height, rows + y * row_size(wanted), size) == size;
        height = count < height ? left : height;
    }
    if (tiff)
        TIFFClose(tiff);
    return done;
}

static void compare(const char *path)
{
    struct image_info info;
    const char *format = "";
    unsigned char *rows = decode_first(path, &info, &format);
    size_t size = rows ? row_size(&info) * info.height : 0;
    unsigned char *others = calloc(size + 1, 1);
    bool both = rows && others &&
                ((strcmp(format, "PNG") == 0 && decode_with_libpng(path, &info, others)) ||
                 (strcmp(format, "TIFF") == 0 && decode_with_libtiff(path, &info, others)));
    if (both && memcmp(rows, others, size) != 0)
        abort(); /* other samples than the library alone gives */
    free(rows);
    free(others);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_SIZE];
    const int file = fuzz_file(data, size, path);
    struct decoded one = decode(path, 0x55), other = decode(path, 0xaa);
    compare(path);
    close(file);
    if (one.status != other.status || one.rows != other.rows || one.samples != other.samples)
        abort(); /* samples that were never written */
    return 0;
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void mend_checksums(uint8_t *data, size_t size)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (size < sizeof signature || memcmp(data, signature, sizeof signature) != 0)
        return;
    for (size_t at = sizeof signature; size - at >= 12;) {
        size_t length = big_endian(data + at);
        if (length > size - at - 12)
            return;
        uLong sum = crc32(0, data + at + 4, (uInt)(length + 4));
        for (int i = 0; i < 4; i++)
            data[at + 8 + length + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    size_t mutated = LLVMFuzzerMutate(data, size, room);
    if (seed % 8 != 0) /* a wrong checksum must be met, too */
        mend_checksums(data, mutated);
    return mutated;
}
