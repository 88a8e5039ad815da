/* Numbers of samples that a user gives, or that are found in the histogram of a whole picture: see
 * kernels/point.cl. */
#ifndef CLIMG_FILTERS_HISTOGRAM_H
#define CLIMG_FILTERS_HISTOGRAM_H

#include "engine/run.h"
#include "engine/stage.h"

/* A number as samples have it, 128 of 8 bit, or percent of full scale. */
struct amount {
    double number;
    bool percent;
};

/* Reads "128" or "50%" and moves *text behind it; false: there is none, or it is beyond 1e30. */
bool amount_parse(const char **text, struct amount *amount);

/* True for a number from 0 to 1 that is not percent: of integers it is next to nothing. */
bool amount_is_fraction(const struct amount *amount);

void amount_print(FILE *file, const struct amount *amount);

/* What it is in the stages of such a picture. */
float amount_value(const struct shape *shape, const struct amount *amount);

/* The number of samples of each value among a picture's colours. Values of integers are rounded to 16 bits.
 * Floats are counted from an origin, a sample in the middle of those of the first row, and their distances
 * from it are rounded to 11 significant bits. Fully transparent pixels, NaN and infinities are left out. */
struct histogram {
    const uint64_t *counts; /* of each bin, from small values to large ones */
    int bins;
    uint64_t total;
    bool floats;
    float origin;
};

/* Number of histograms, each of every nth row, that a picture is counted in: none counts 2^32 samples. */
int histogram_copies(const struct shape *shape);

/* The value that a bin stands for. */
double histogram_value(const struct histogram *histogram, int bin);

/* What a stage finds in histograms; the first member of its params. */
struct histogram_search_params {
    int each; /* in that of each colour, not in that of all together */
    /* Finds two numbers; NULL: the user gave them. */
    void (*find)(const void *params, const struct histogram *histogram, float found[2]);
};

/* The row of that stage's option table; `why` says why it is unused. */
#define HISTOGRAM_CHANNELS(why)                                                                              \
    {                                                                                                        \
        .name = "channels", .type = OPTION_CHOICE, .offset = offsetof(struct histogram_search_params, each), \
        .fallback = "together", .choices = "together|each",                                                  \
        .help = "what is found is the same for all colours, or each has its own", .unused = (why)            \
    }

/* Its survey. */
extern const struct analysis histogram_analysis;

/* Has -v and --report say that the stage found so many numbers for each histogram, 1 or 2: once a page. */
void histogram_report(struct run *run, const char *stage, const struct histogram_search_params *search,
                      const struct value *in, const float found[8], int numbers);

/* Two numbers for each channel, the third and fourth being those of channel 1: what the survey found, or what
 * there is in a picture that is here as a whole. Waits for the device where it counts. */
enum status histogram_search(struct run *run, const void *params, const struct value *in, float found[8],
                             struct error *error);

#endif
