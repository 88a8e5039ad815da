/* A picture and its reference: computing how much they differ, and printing it. For compare.c.
 *
 * Thread safety: main thread. */
#ifndef CLIMG_CLI_COMPARISON_H
#define CLIMG_CLI_COMPARISON_H

#include "batch/command.h"
#include "image/difference.h"
#include "image/reader.h"

#include <stdio.h>

/* One of the two pictures. */
struct side {
    const char *name;
    struct reader *reader;    /* NULL: not open */
    struct image_info info;   /* of the first page; width 0: the file was not read. Without metadata */
    unsigned char *rows;      /* a block; owned */
    double *values, *channel; /* a row of all channels, and one channel of it; owned with `rows` */
};

enum { COMPARISON_CHANNELS = 4 }; /* at most */

/* A picture and its reference. */
struct comparison {
    struct side sides[2]; /* the input, then the reference */
    struct difference channels[COMPARISON_CHANNELS];
    int channel_count;
    char why[160]; /* why they cannot be compared; empty: they were. Contains no names of files */
};

/* The figures of all channels. */
struct figures {
    bool is_equal, passes;
    double psnr, ssim; /* the lowest channel's, and the mean of the channels; NaN: none */
    int largest;       /* channel with the largest difference */
};

/* Compares all pages of a picture and its reference, until some cannot be compared (pair->why), and writes
 * diff=FILE. The names of both sides are set. Call comparison_free, also after a failure. */
enum status comparison_make(struct comparison *pair, const struct command *command, const char *path,
                            const char *reference, struct error *error);

void comparison_free(struct comparison *pair);

/* Returns the figures of all channels, and whether they pass. */
struct figures comparison_figures(const struct comparison *pair, const struct compare_option *option);

/* Prints the lines of one pair. */
void comparison_print(FILE *out, const struct comparison *pair, const struct figures *figures);

/* Prints a row of a table; the first one with a heading. */
void comparison_print_row(FILE *out, const struct comparison *pair, const struct figures *figures,
                          bool is_first);

/* Prints a line with one object of JSON. Keys are never left out; a figure that does not exist is null. */
void comparison_print_json(FILE *file, const struct comparison *pair, const struct figures *figures);

#endif
