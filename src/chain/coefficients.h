/* What a coefficient file says about its pyramid: the JSON in ImageDescription of its first page. */
#ifndef CLIMG_CHAIN_COEFFICIENTS_H
#define CLIMG_CHAIN_COEFFICIENTS_H

#include "engine/run.h"
#include "image/image.h"

struct coefficients {
    struct shape shape;       /* of the pyramid */
    enum sample_type samples; /* of the image it came from: what the inverse writes by default */
    bool linear;              /* transformed in linear light */
    double exponent;          /* of the transfer curve's power law, 0: sRGB's */
};

/* Whether the first page of a file is that of a coefficient file. */
bool coefficients_recognise(const struct image_info *first);

/* Reads the JSON of a recognised page. Says what is missing or impossible in it. */
enum status coefficients_read(const struct image_info *first, struct coefficients *coefficients,
                              struct error *error);

/* Puts the image's own description back into metadata that has the JSON in its place. */
enum status coefficients_restore_description(struct metadata *metadata, struct error *error);

/* Puts the JSON into the metadata's Description, with the description that was there inside it. */
enum status coefficients_describe(const struct coefficients *coefficients, struct metadata *metadata,
                                  struct error *error);

/* Pages of a coefficient file: 0 is the lowpass, then six subbands a level, level 1 first. Their size and
 * name. `name` has room for PAGE_NAME_SIZE bytes. */
enum { PAGE_NAME_SIZE = 48 };
int coefficients_page_count(const struct shape *shape);
void coefficients_page(const struct shape *shape, int page, int *width, int *height, char *name);

#endif
