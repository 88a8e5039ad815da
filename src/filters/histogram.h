/* Sample values of --levels, --threshold and --negative: given by the user, or found in the picture's
 * histogram.
 *
 * A stage that searches histograms has struct histogram_search_params first in its params, and
 * histogram_analysis. It calls histogram_search() in `run`. Pictures that are processed in slices were
 * counted by the analysis pass before; others are counted in that call.
 *
 * Counts are integers, so results do not depend on slices or devices. Params are read-only; a struct run
 * belongs to one thread. Counters on the device belong to the analysis result or to the call. */
#ifndef CLIMG_FILTERS_HISTOGRAM_H
#define CLIMG_FILTERS_HISTOGRAM_H

#include "engine/run.h"
#include "engine/stage.h"

/* A sample value, such as 128 for 8 bit, or a percentage of full scale. */
struct amount {
    double number;
    bool is_percent;
};

/* Parses "128" or "50%" and advances *text past it. Returns false if there is no number up to 1e30. */
bool amount_parse(const char **text, struct amount *amount);

/* Prints a struct amount. */
void amount_print(FILE *file, const void *field);

/* Amounts separated by commas, or auto. */
struct amounts {
    int count; /* 0: auto */
    struct amount items[6];
};

/* Parses "auto" or up to 6 amounts. Returns false for any other text. */
bool amounts_parse(const char *text, struct amounts *amounts);

/* Converts an amount to the 0..1 scale of the chain. Samples may be a few ulp above their exact value, so a
 * stage that compares them with the result must increase it: stages/threshold.c does, by 4 to 8 ulp. */
float amount_value(const struct shape *shape, const struct amount *amount);

/* The histogram of one colour channel, or of all together.
 *
 *     integers   up to twice full scale, bins are 1/65535 of full scale wide; beyond, values whose first 11
 *                significant bits are equal share a bin
 *     floats     values share a bin if the first 11 significant bits of value - origin are equal. The origin
 *                is the median of 31 samples of the first row
 *
 * Fully transparent pixels, NaN and infinities are not counted. */
struct histogram {
    const uint64_t *counts; /* per bin, in ascending order of values */
    int bins;
    uint64_t total; /* sum of counts */
    bool is_float;
    float origin; /* if is_float */
};

/* Returns the number n of copies of each histogram on the device; reasons are in histogram.c. Copy i counts
 * rows i, i + n, i + 2 n, ... */
int histogram_copies(const struct shape *shape);

/* Returns the value of a bin on the 0..1 scale. */
double histogram_value(const struct histogram *histogram, int bin);

/* Finds two values: at most `percent` of the samples are below the first, and at most as many above the
 * second, as in Pillow's ImageOps.autocontrast. Both are 0 if nothing was counted. */
void histogram_ends(const struct histogram *histogram, double percent, float found[2]);

/* Must be the first member of the params of a stage that searches histograms. */
struct histogram_search_params {
    int per_channel; /* 1: one histogram per colour channel; 0: one for all together */
    /* Computes one or two numbers from a histogram. NULL: the user gave the numbers, nothing is counted. */
    void (*find)(const void *params, const struct histogram *histogram, float found[2]);
    struct amounts given; /* for histogram_print_given */
    struct amount clip;   /* for histogram_find_ends: percent of the samples that it ignores at each end */
};

/* Callback option.print: prints the amounts in `given`. */
void histogram_print_given(FILE *file, const void *field);

/* Callback histogram_search_params.find: calls histogram_ends with `clip`. */
void histogram_find_ends(const void *params, const struct histogram *histogram, float found[2]);

/* Fields of the row for `given`. */
#define HISTOGRAM_GIVEN                                                                                      \
    .type = OPTION_CUSTOM, .offset = offsetof(struct histogram_search_params, given), .choices = "auto",     \
    .print = histogram_print_given

/* Row of the option table for channels=. `unused_callback` is its option.unused. */
#define HISTOGRAM_CHANNELS(unused_callback)                                                                  \
    {                                                                                                        \
        .name = "channels", .type = OPTION_CHOICE,                                                           \
        .offset = offsetof(struct histogram_search_params, per_channel), .fallback = "together",             \
        .choices = "together|each",                                                                          \
        .help = "together: the same limits for all colours; each: each colour has its own",                  \
        .unused = (unused_callback)                                                                          \
    }

/* Callback stage.caps: sets only the capabilities that depend on `find` and `given`. */
struct stage_caps histogram_caps(const void *params);

/* Set as `analysis` of a stage that searches histograms. */
extern const struct analysis histogram_analysis;

/* Returns the number of histograms: one, or one for each colour channel. */
int histogram_count(const struct histogram_search_params *search, const struct shape *shape);

/* Adds `option`, such as "--levels ", and `count` values to the text of -v and --report, once per page. The
 * values, on the 0..1 scale, are printed as sample values of the file. */
void histogram_report(struct run *run, const char *option, const struct shape *shape, const float *values,
                      int count);

/* Rounds a value to the six digits that histogram_report prints. */
float histogram_round(const struct shape *shape, float value);

/* First part of a stage's `run`. Stores the two numbers of `find` for each channel c at found[2 * c], unless
 * `find` is NULL, and allocates the output. The numbers come from the analysis pass. Without such a pass `in`
 * is the whole picture: counts it and waits for the device. */
enum status histogram_search(struct run *run, const void *params, const struct value *in, struct value *out,
                             float found[8], struct error *error);

#endif
