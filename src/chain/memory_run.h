/* Runs of a chain on samples in memory, with the code that processes files. --selftest compares the output
 * with known answers, and --warm compiles programs by such runs.
 *
 * Callers own input pages and sample arrays, and free them. Thread safety: a run belongs to its worker's
 * thread. */
#ifndef CLIMG_CHAIN_MEMORY_RUN_H
#define CLIMG_CHAIN_MEMORY_RUN_H

#include "chain/page.h"

/* An input page. */
struct input_page {
    struct image_info info; /* without metadata */
    unsigned char *samples; /* rows without padding */
};

/* Allocates the samples. Fails only if out of memory. input_page_free is safe after a failure and on a zeroed
 * page. */
enum status input_page_init(struct input_page *input, const struct image_info *info, struct error *error);
void input_page_free(struct input_page *input);

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
 * are one image, or all pages of a file of coefficients. `name` begins messages. */
enum status run_in_memory(const char *name, const struct page *page, const struct input_page *inputs,
                          size_t count, struct sample_array *values, struct error *error);

/* Sends a pixel through an empty chain. True if it is unchanged: the device works. */
bool transfer_works(struct run *run);

#endif
