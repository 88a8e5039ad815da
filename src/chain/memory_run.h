/* Runs of a chain on samples in memory, with the code that processes files. --selftest compares the output
 * with known answers, --verify compares it with the rows that are about to be written, and --warm compiles
 * programs by such runs.
 *
 * Callers own input pages and sample arrays, and free them. Thread safety: a run belongs to its worker's
 * thread. */
#ifndef CLIMG_CHAIN_MEMORY_RUN_H
#define CLIMG_CHAIN_MEMORY_RUN_H

#include "chain/page.h"

/* Some rows of an input page, without padding. */
struct input_page {
    struct image_info info; /* without metadata */
    struct interval rows;   /* rows that are present */
    unsigned char *samples; /* row_size(&info) bytes for each of them */
};

/* Allocates the samples. Fails only if out of memory. input_page_free is safe after a failure and on a zeroed
 * page. */
enum status input_page_init(struct input_page *input, const struct image_info *info, struct interval rows,
                            struct error *error);
void input_page_free(struct input_page *input);

/* Returns the number of values in a row of a page; a complex sample is two values. */
size_t row_values(const struct image_info *info);

/* Values of all output pages, one page after the other. */
struct sample_array {
    enum sample_type type; /* SAMPLE_FLOAT for complex samples */
    unsigned char *bytes;
    size_t count;    /* number of values */
    size_t capacity; /* bytes */
};

void samples_free(struct sample_array *values);

/* Returns a page for a run in memory with this plan. Samples are converted as in files without --range.
 * `exponent` is of the power law of the transfer curve; 0 means sRGB's curve. */
struct page memory_page(struct run *run, const struct plan *plan, bool linear, double exponent);

/* Runs page->plan on `count` input pages and appends the values of all output pages to `values`. The pages
 * are one image, or all pages of a file of coefficients. They must have all rows that the plan needs. `name`
 * begins messages. */
enum status run_in_memory(const char *name, const struct page *page, const struct input_page *inputs,
                          size_t count, struct sample_array *values, struct error *error);

/* Sends a pixel through an empty chain. True if it is unchanged: the device works. */
bool transfer_works(struct run *run);

#endif
