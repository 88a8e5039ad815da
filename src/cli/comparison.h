/* Compares a picture with its reference, for compare.c.
 *
 * The caller owns struct comparison and ends with comparison_free. Thread safety: main thread. */
#ifndef CLIMG_CLI_COMPARISON_H
#define CLIMG_CLI_COMPARISON_H

#include "batch/command.h"
#include "image/difference.h"
#include "image/reader.h"

/* One of the two pictures. */
struct side {
    const char *name;
    struct reader *reader;  /* NULL: not open */
    struct image_info info; /* of the first page, without metadata; width 0: the file was not read */
    double *values;         /* a row of all channels' samples, as fractions of full scale; owned */
    double *channel;        /* a row of one channel; in the same allocation */
    unsigned char *rows;    /* a block of rows as read; in the same allocation */
};

enum { COMPARISON_CHANNELS = 4 }; /* maximum number of channels */

/* A picture and its reference. */
struct comparison {
    struct side sides[2]; /* the input, then the reference */
    struct difference channels[COMPARISON_CHANNELS];
    int channel_count;
    struct image_info widest;   /* of the input's page with the most channels, which names them */
    struct writer *diff;        /* of diff=FILE; NULL: not open */
    enum sample_type diff_type; /* samples of diff=FILE */
    double diff_scale;          /* multiplies the differences, fractions of the input's full scale */
    char why[160]; /* the reason if they cannot be compared, without names of files; else empty */
};

/* Figures of the whole picture. */
struct figures {
    bool is_equal;
    bool passes;       /* is_equal, or min-psnr= is given and reached */
    double psnr;       /* dB, the lowest of the channels; infinite if no sample differs */
    double ssim;       /* mean of the channels; NaN if a plane is smaller than the window */
    int worst_channel; /* index of the channel with the largest difference */
};

/* Compares all pages of a picture and its reference, until two pages cannot be compared (pair->why), and
 * writes diff=FILE. The caller has set the names of both sides, and calls comparison_free, also after a
 * failure. */
enum status comparison_run(struct comparison *pair, const struct command *command, const char *path,
                           const char *reference, struct error *error);

void comparison_free(struct comparison *pair);

/* Computes the figures of a pair. */
struct figures comparison_figures(const struct comparison *pair, const struct compare_option *option);

#endif
