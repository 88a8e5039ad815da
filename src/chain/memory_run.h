/* The chain on samples in memory: --selftest compares what comes out with known answers, --verify with what
 * was written, and --warm has programs built that way. */
#ifndef CLIMG_CHAIN_MEMORY_RUN_H
#define CLIMG_CHAIN_MEMORY_RUN_H

#include "chain/page.h"

/* Rows of a page that goes in, without padding. */
struct input_page {
    struct image_info info; /* without metadata */
    struct rows rows;
    unsigned char *samples;
};

/* STATUS_FAILED without memory; input_page_free is safe even so. */
enum status input_page_init(struct input_page *input, const struct image_info *info, struct rows rows,
                            struct error *error);
void input_page_free(struct input_page *input);

/* Numbers in a row of the page: a complex sample is two. */
size_t input_page_row(const struct image_info *info);

/* The numbers of all pages that came out, one after the other. */
struct sample_array {
    enum sample_type type; /* of complex samples SAMPLE_FLOAT */
    unsigned char *bytes;
    size_t count, room; /* room in bytes */
};

enum status samples_add(struct sample_array *numbers, enum sample_type type, const void *rows, size_t count,
                        struct error *error);

/* Full scale of integers is 1. */
double samples_value(const struct sample_array *numbers, size_t place);
void samples_free(struct sample_array *numbers);

/* The page that flows where samples of these types go in and come out: as files' would, without ranges. */
struct page memory_page(struct run *run, const struct plan *plan, struct timing *timing, bool linear,
                        double exponent);

/* Sends the inputs, all pages that go in, through page->plan and adds what comes out to `numbers`. Rows that
 * a input does not hold are not defined. `name` begins messages. */
enum status run_in_memory(const char *name, const struct page *page, const struct input_page *inputs,
                          size_t count, struct sample_array *numbers, struct error *error);

#endif
