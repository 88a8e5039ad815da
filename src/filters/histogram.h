/* Sample values for --levels and --threshold: given by the user, or found in the histogram of the picture.
 *
 * A stage that searches histograms puts struct histogram_search_params first in its params and uses
 * histogram_analysis. A large picture is then counted slice by slice, before its slices are processed; other
 * pictures are counted inside `run`. Both ways histogram_search() returns the result.
 *
 * Counting is exact, so that results do not depend on slices or devices. Params are read-only; a struct run
 * belongs to one thread. Counters on the device belong to the analysis result or to the call. */
#ifndef CLIMG_FILTERS_HISTOGRAM_H
#define CLIMG_FILTERS_HISTOGRAM_H

#include "engine/run.h"
#include "engine/stage.h"

/* A sample value, such as 128 for 8 bit, or a percentage of full scale. */
struct amount {
    double number;
    bool percent;
};

/* Parses "128" or "50%" and advances *text past it. Returns false if there is no number up to 1e30. */
bool amount_parse(const char **text, struct amount *amount);

/* True for a number from 0 to 1 without a percent sign, probably a mistake if samples are integers. */
bool amount_is_fraction(const struct amount *amount);

void amount_print(FILE *file, const struct amount *amount);

/* Amounts divided by commas, or auto. */
struct amounts {
    int count; /* 0: auto */
    struct amount items[6];
};

/* Parses "auto" or up to 6 amounts. Returns false for any other text. */
bool amounts_parse(const char *text, struct amounts *amounts);

/* Returns the largest number that is no percentage, or 0. */
double amounts_largest(const struct amounts *amounts);

void amounts_print(FILE *file, const struct amounts *amounts);

/* Converts an amount to the 0..1 scale of the chain. Computed samples may be a few ulp above their exact
 * value. So a stage that compares samples with the result must increase it slightly: stages/threshold.c by
 * 2^-21 of its value, which is 4 to 8 ulp. */
float amount_value(const struct shape *shape, const struct amount *amount);

/* The histogram of one colour channel, or of all together. A bin of integers is a value in 16 bits. A bin of
 * floats is value - origin in 11 significant bits; the origin is the median of 31 samples of the first row.
 * Fully transparent pixels, NaN and infinities are not counted. */
struct histogram {
    const uint64_t *counts; /* per bin, in ascending order of values */
    int bins;
    uint64_t total; /* sum of counts */
    bool floats;
    float origin; /* floats only */
};

/* Returns the number n of copies of each histogram; copy i counts rows i, i + n, and so on. So no 32-bit
 * count overflows, and in large pictures fewer work-items wait for each other. */
int histogram_copies(const struct shape *shape);

/* Returns the value of a bin on the 0..1 scale. */
double histogram_value(const struct histogram *histogram, int bin);

/* Finds two values with at most `percent` of the samples below the first and as many above the second: the
 * rule of Pillow's ImageOps.autocontrast. Both are 0 if nothing was counted. */
void histogram_ends(const struct histogram *histogram, double percent, float found[2]);

/* Must be the first member of the params of a stage that searches histograms. */
struct histogram_search_params {
    int each; /* 1: one histogram per colour channel; 0: one for all together */
    /* Computes one or two numbers from a histogram. NULL: the user gave the numbers, nothing is counted. */
    void (*find)(const void *params, const struct histogram *histogram, float found[2]);
};

/* Row of the option table for channels=. `unused_callback` is its option.unused. */
#define HISTOGRAM_CHANNELS(unused_callback)                                                                  \
    {                                                                                                        \
        .name = "channels", .type = OPTION_CHOICE, .offset = offsetof(struct histogram_search_params, each), \
        .fallback = "together", .choices = "together|each",                                                  \
        .help = "together: the same values for all colours; each: each colour has its own",                  \
        .unused = (unused_callback)                                                                          \
    }

/* Set as `analysis` of a stage that searches histograms. */
extern const struct analysis histogram_analysis;

/* Adds the result to the text of -v and --report, once per page. `numbers` is 1 or 2 per histogram. */
void histogram_report(struct run *run, const char *stage, const struct histogram_search_params *search,
                      const struct value *in, const float found[8], int numbers);

/* Stores two numbers per channel: found[2 * c] and found[2 * c + 1]. They come from the analysis, or, if `in`
 * is the whole picture, are computed here, which waits for the device. */
enum status histogram_search(struct run *run, const void *params, const struct value *in, float found[8],
                             struct error *error);

#endif
