/* Runs of a chain on samples in memory, through the same code as files. --selftest compares the output
 * with known answers, --verify with the rows that are about to be written, and --warm compiles programs
 * this way.
 *
 * Callers own input pages and sample arrays and free them; a run only reads the inputs. Thread safety:
 * as flow_page, a run belongs to its worker's thread. */
#ifndef CLIMG_CHAIN_MEMORY_RUN_H
#define CLIMG_CHAIN_MEMORY_RUN_H

#include "chain/page.h"

/* Rows of an input page, without padding. */
struct input_page {
    struct image_info info; /* without metadata */
    struct rows rows;       /* rows that are present */
    unsigned char *samples;
};

/* Allocates the samples. Fails if memory runs out; input_page_free is safe even then. */
enum status input_page_init(struct input_page *input, const struct image_info *info, struct rows rows,
                            struct error *error);
void input_page_free(struct input_page *input);

/* Returns the number of values in a row; a complex sample is two. */
size_t input_page_row(const struct image_info *info);

/* Values of all output pages, one page after the other. */
struct sample_array {
    enum sample_type type; /* SAMPLE_FLOAT for complex samples */
    unsigned char *bytes;
    size_t count, room; /* count in values, room in bytes */
};

/* Appends `count` values. */
enum status samples_add(struct sample_array *numbers, enum sample_type type, const void *rows, size_t count,
                        struct error *error);

/* Returns a value; full scale of integers is 1. */
double samples_value(const struct sample_array *numbers, size_t index);
void samples_free(struct sample_array *numbers);

/* Returns a page for a run in memory with this plan. Samples are converted as in files without --range. */
struct page memory_page(struct run *run, const struct plan *plan, struct timing *timing, bool linear,
                        double exponent);

/* Runs the inputs, all pages, through page->plan and appends the output to `numbers`. Rows that an input
 * does not have are undefined. `name` begins messages. */
enum status run_in_memory(const char *name, const struct page *page, const struct input_page *inputs,
                          size_t count, struct sample_array *numbers, struct error *error);

#endif
