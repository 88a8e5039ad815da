/* State of the merges that need all pictures at the end and store them in a temporary file: merge_robust
 * (merge_store.c) and merge_focus (wavelet/merge_focus.c). Thread safety as for struct merge. */
#ifndef CLIMG_FILTERS_MERGE_STORE_H
#define CLIMG_FILTERS_MERGE_STORE_H

#include "base/threads.h"
#include "filters/merge.h"

#include <stdatomic.h>
#include <stdio.h>

struct merge_store {
    struct merge_base base; /* must be first */
    double sigma;           /* 0: the median */
    double noise;           /* with focus; full scale is 1; NAN: estimate it */
    const char *folder;
    FILE *file;           /* the pictures, one after the other */
    size_t picture_size;  /* bytes */
    size_t pixel_size;    /* bytes */
    unsigned char *piece; /* some pixels of all pictures; with focus rows of one */
    size_t piece_length;  /* pixels of a picture in `piece`; with focus rows */
    double *row;          /* samples of a row */
    struct thread_pool workers;
    bool has_workers;
    atomic_ullong tested, rejected; /* numbers of samples, with sigma=K */
    size_t covered, fullest;        /* largest number of covered pixels of a picture; index of that picture */

    /* Focus only. */
    struct focus_brightness *brightness; /* of each picture; owned */
    float *sharp;                        /* the result: all samples, colour multiplied by alpha */
    const char *depth_path;              /* path of the depth map; may be NULL */
    uint16_t *depth_map;                 /* its samples */

    /* The piece that is being merged. */
    size_t count;   /* number of pixels */
    double *pixels; /* the merged pixels */
};

/* Callbacks of struct merge. `params` begins with struct merge_options. */
enum status merge_store_begin(const void *params, const struct merge_input *input, void **state,
                              struct error *error);
enum status merge_store_add(void *state, struct run *run, const void *samples, struct error *error);
void merge_store_free(void *state);

/* Fails for all inputs, as they share the file. `what` is "read" or "write"; errno is the cause, 0 for a
 * short read. */
enum status merge_store_fail(const struct merge_store *store, const char *what, struct error *error);

#endif
