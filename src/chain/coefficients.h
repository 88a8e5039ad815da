/* Coefficient files: a pyramid as a TIFF with a page for the lowpass and a page for each subband.
 *
 *     page 0   lowpass, float                 description: JSON of the pyramid (docs/wavelet.md has all keys)
 *     page 1   level 1, first orientation, complex
 *     ...
 *     page 6n  level n, last orientation      description: JSON of the checksum
 *
 * Thread safety: any thread may call, with its own arguments. */
#ifndef CLIMG_CHAIN_COEFFICIENTS_H
#define CLIMG_CHAIN_COEFFICIENTS_H

#include "chain/page.h"
#include "image/image.h"

/* The description of a coefficient file. */
struct coefficients {
    struct shape shape;       /* of the pyramid */
    enum sample_type samples; /* of the image that was transformed; the default of --inverse-wavelet */
    bool linear;              /* the transform worked in linear light */
    double exponent; /* of the power law of the transfer curve; 0: sRGB's curve; -1: the ICC profile's */
};

/* A page of a coefficient file. */
struct coefficient_page {
    int level;             /* 0: the lowpass */
    int width, height;     /* pixels */
    enum sample_type type; /* SAMPLE_FLOAT for the lowpass, else SAMPLE_COMPLEX */
    char name[48];         /* "level 1, 15 degrees" */
};

/* True if `first` is the first page of a coefficient file; also if there is no memory to parse its
 * description, as coefficients_read then fails. */
bool coefficients_recognise(const struct image_info *first);

/* Parses the JSON. Fails if a key is missing or has another type, which the message names, if the values
 * describe no pyramid, or if it is not the pyramid of this page. */
enum status coefficients_read(const struct image_info *first, struct coefficients *coefficients,
                              struct error *error);

/* Replaces the JSON by the description of the image, which the JSON contains, or removes it. */
enum status coefficients_restore_description(struct metadata *metadata, struct error *error);

/* Replaces the description by the JSON, which contains it. */
enum status coefficients_describe(const struct coefficients *coefficients, struct metadata *metadata,
                                  struct error *error);

/* Checksum of a coefficient file, stored in the description of the last page: CRC-32 of the first page's
 * description and the samples of all pages. Begin with the first function and add the rows of each page.
 * coefficients_check compares it if there is one, and sets *is_compared. A file without checksum passes. */
uint32_t coefficients_sum_description(const struct metadata *first);
uint32_t coefficients_sum_rows(uint32_t sum, const struct image_info *info, const void *rows, size_t pitch);
enum status coefficients_check(uint32_t sum, const struct metadata *last, bool *is_compared,
                               struct error *error);

/* Return the number of pages for a pyramid, and a page by its index. */
int coefficients_page_count(const struct shape *shape);
struct coefficient_page coefficients_page(const struct shape *shape, int index);

/* Reads all pages of page->reader, which is at the first one, into pyramids whose shape is set: for page->run
 * and, with --verify, for its second run. Allocates their planes, which the caller releases, also after a
 * failure. Waits only for staging buffers, not for the conversion to planes. */
enum status pyramid_load(const struct page *page, struct value *pyramids, struct error *error);

/* Writes all pages of the first pyramid to page->writer, and waits for the device page by page. With --verify
 * compares each page with the second pyramid before. The first page gets the metadata of page->out. */
enum status pyramid_store(const struct page *page, const struct value *pyramids, struct error *error);

#endif
