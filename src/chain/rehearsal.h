/* The chain on samples in memory: --selftest compares what comes out with known answers, --verify with what
 * was written, and --warm has programs built that way. */
#ifndef CLIMG_CHAIN_REHEARSAL_H
#define CLIMG_CHAIN_REHEARSAL_H

#include "chain/page.h"

/* Rows of a page that goes in, without padding. */
struct sheet {
    struct image_info info; /* without metadata */
    struct rows rows;
    unsigned char *samples;
};

/* STATUS_FAILED without memory; sheet_free is safe even so. */
enum status sheet_make(struct sheet *sheet, const struct image_info *info, struct rows rows,
                       struct error *error);
void sheet_free(struct sheet *sheet);

/* Numbers in a row of the page: a complex sample is two. */
size_t sheet_row(const struct image_info *info);

/* The numbers of all pages that came out, one after the other. */
struct numbers {
    enum sample_type type; /* of complex samples SAMPLE_FLOAT */
    unsigned char *bytes;
    size_t count, room; /* room in bytes */
};

enum status numbers_add(struct numbers *numbers, enum sample_type type, const void *rows, size_t count,
                        struct error *error);

/* Full scale of integers is 1. */
double numbers_value(const struct numbers *numbers, size_t place);
void numbers_free(struct numbers *numbers);

/* The page that flows where samples of these types go in and come out: as files' would, without ranges. */
struct page rehearsal_page(struct run *run, const struct plan *plan, struct timing *timing, bool linear,
                           double exponent);

/* Sends the sheets, all pages that go in, through page->plan and adds what comes out to `numbers`. Rows that
 * a sheet does not hold are not defined. `name` begins messages. */
enum status rehearse(const char *name, const struct page *page, const struct sheet *sheets, size_t count,
                     struct numbers *numbers, struct error *error);

#endif
