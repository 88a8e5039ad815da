/* Coefficient files: a pyramid as a TIFF with a page for the lowpass and one for each subband.
 *
 * ImageDescription of the first page is JSON that describes the pyramid (docs/wavelet.md has all keys); that
 * of the last page has a checksum. */
#ifndef CLIMG_CHAIN_COEFFICIENTS_H
#define CLIMG_CHAIN_COEFFICIENTS_H

#include "chain/page.h"
#include "image/image.h"

struct coefficients {
    struct shape shape; /* of the pyramid */
    enum sample_type
        samples; /* of the image that was transformed; the inverse writes the same unless --depth is given */
    bool linear; /* the transform worked in linear light */
    double exponent; /* of the power law of the transfer curve; 0: sRGB's curve */
};

/* True for the first page of a coefficient file. */
bool coefficients_recognise(const struct image_info *first);

/* Parses the JSON. The error message names what is missing or impossible. */
enum status coefficients_read(const struct image_info *first, struct coefficients *coefficients,
                              struct error *error);

/* Replaces the JSON by the description of the image, which the JSON contains. */
enum status coefficients_restore_description(struct metadata *metadata, struct error *error);

/* Replaces the description by the JSON, which contains it. */
enum status coefficients_describe(const struct coefficients *coefficients, struct metadata *metadata,
                                  struct error *error);

/* Checksum of a coefficient file, stored in the description of the last page: CRC-32 of the first page's
 * description, then of the samples of all pages. coefficients_seal writes it, coefficients_check compares it.
 * A file without checksum passes. */
uint32_t coefficients_sum_description(const struct metadata *first);
uint32_t coefficients_sum_rows(uint32_t sum, const struct image_info *info, const void *rows, size_t pitch);
enum status coefficients_seal(uint32_t sum, struct metadata *last, struct error *error);
enum status coefficients_check(uint32_t sum, const struct metadata *last, struct error *error);

/* Pages of a coefficient file: page 0 is the lowpass; the six subbands of each level follow, level 1 first.
 * `name` has PAGE_NAME_SIZE bytes. */
enum { PAGE_NAME_SIZE = 48 };
int coefficients_page_count(const struct shape *shape);
void coefficients_page(const struct shape *shape, int page, int *width, int *height, char *name);

/* Reads all pages of page->reader, which is at the first one, into a pyramid whose shape is set. Allocates
 * its planes, which the caller releases. */
enum status pyramid_load(const struct page *page, struct value *pyramid, struct error *error);

/* Writes all pages. The first page gets the metadata of page->out. */
enum status pyramid_store(const struct page *page, const struct value *pyramid, struct error *error);

#endif
