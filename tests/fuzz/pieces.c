/* libFuzzer's target for small parsers. The first byte chooses:
 * EXIF data, the description of a coefficient file, or the taps and files of --convolve. */
#include "chain/coefficients.h"
#include "filters/kernel.h"
#include "image/ifd.h"
#include "image/metadata/metadata.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tiffio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(bool holds)
{
    if (!holds)
        abort();
}

/* A failure says something, in one line. */
static bool worked(enum status status, const struct error *error)
{
    insist(status == STATUS_OK || (error->text[0] && !strchr(error->text, '\n')));
    return status == STATUS_OK;
}

static bool not_make(uint16_t tag)
{
    return tag != IFD_MAKE;
}

/* A copy can be read, and is not much larger than the source. */
static void copy_directories(const struct blob *exif, bool big)
{
    struct ifd ifd;
    struct ifd_sink sink = {.big = big, .base = 8};
    struct error error = {.text = ""};
    uint64_t offset;
    if (ifd_of_blob(exif, &ifd) &&
        worked(ifd_copy(&ifd, big ? NULL : not_make, &sink, &offset, &error), &error))
        insist(sink.bytes.size <= 3 * exif->size + (1 << 20));
    free(sink.bytes.data);
}

static void parse_exif(const uint8_t *data, size_t size)
{
    struct metadata metadata = {.orientation = 0};
    struct blob *exif = &metadata.exif;
    struct error error = {.text = ""};
    char *text = NULL;
    insist(metadata_set_blob(exif, data, size, &error) == STATUS_OK);
    int orientation = exif_orientation(exif);
    insist(orientation >= 0 && orientation <= 8);
    for (uint16_t tag = TIFFTAG_DOCUMENTNAME; tag <= TIFFTAG_ARTIST; tag++) {
        insist(exif_text(exif, tag, &text, &error) == STATUS_OK && (!text || text[0]));
        free(text);
    }
    copy_directories(exif, false);
    copy_directories(exif, true);
    exif_drop_thumbnail(exif);
    insist(!exif_has_thumbnail(exif));
    const struct affine maps[] = {
        {.xx = 2, .yy = 0.5}, {.xy = 1, .yx = -1}, {.xx = 0.6, .xy = 0.8, .yx = -0.8, .yy = 0.6}};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        const struct change change = {.out_width = 300, .out_height = 200, .from = maps[i]};
        exif_update(&metadata, &change);
    }
    for (int i = 1; i <= 8; i += 7)
        if (worked(exif_set_orientation(exif, i, &error), &error))
            insist(exif_orientation(exif) == i);
    exif_to_page(&metadata);
    copy_directories(exif, true);
    metadata_free(&metadata);
}

/* Whatever was read is written unchanged. */
static void parse_description(const uint8_t *data, size_t size)
{
    struct image_info info = {.width = 4, .height = 4, .channels = 1, .type = SAMPLE_FLOAT};
    struct error error = {.text = ""};
    struct coefficients first, second;
    insist(metadata_set_text(&info.metadata, "Description", (const char *)data, size, &error) == STATUS_OK);
    if (coefficients_recognise(&info) && worked(coefficients_read(&info, &first, &error), &error)) {
        for (int i = 0; i < coefficients_page_count(&first.shape); i++) {
            const struct coefficient_page page = coefficients_page(&first.shape, i);
            insist(page.width >= 1 && page.height >= 1 && page.name[0]);
        }
        insist(worked(coefficients_restore_description(&info.metadata, &error), &error) &&
               worked(coefficients_describe(&first, &info.metadata, &error), &error) &&
               coefficients_recognise(&info) && worked(coefficients_read(&info, &second, &error), &error));
        insist(first.shape.width == second.shape.width && first.shape.height == second.shape.height &&
               first.shape.channels == second.shape.channels && first.shape.levels == second.shape.levels &&
               first.shape.biort == second.shape.biort && first.shape.qshift == second.shape.qshift &&
               first.samples == second.samples && first.exponent == second.exponent);
    }
    metadata_free(&info.metadata);
}

static void check_kernel(enum status status, struct kernel *kernel, const struct error *error)
{
    if (!worked(status, error))
        return;
    insist(kernel->width >= 1 && kernel->height >= 1);
    kernel_hash(kernel);
    kernel_free(kernel);
}

static void parse_kernel(const uint8_t *data, size_t size, bool normalize)
{
    char path[32], *text = strndup((const char *)data, size);
    struct kernel kernel = {0};
    struct error error = {.text = ""};
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    insist(text && file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    check_kernel(kernel_parse(text, normalize, &kernel, &error), &kernel, &error);
    check_kernel(kernel_read(path, normalize, &kernel, &error), &kernel, &error);
    close(file);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    switch (data[0] % 4) {
    case 0:
        parse_exif(data + 1, size - 1);
        break;
    case 1:
        parse_description(data + 1, size - 1);
        break;
    default:
        parse_kernel(data + 1, size - 1, data[0] % 4 == 2);
    }
    return 0;
}
