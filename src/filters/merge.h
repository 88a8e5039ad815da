/* Merges of many pictures into one (struct merge of engine/stage.h). All merges share the functions below:
 * they find the covered pixels, compute statistics of samples, and read the rows of the result.
 *
 * The state of a merge begins with a struct merge_base. Sample values are doubles: 1 is full scale, and
 * colour is multiplied by alpha. All functions run on the host.
 * Thread safety: a struct merge_base belongs to the thread that merges; the statistics may be called by any
 * thread. */
#ifndef CLIMG_FILTERS_MERGE_H
#define CLIMG_FILTERS_MERGE_H

#include "engine/stage.h"

/* Pixels that no picture covers are transparent (NaN in floats without alpha), or cut off. */
enum merge_edges { MERGE_EDGES_FILL, MERGE_EDGES_CROP };

#define MERGE_EDGES_CHOICES "fill|crop"

enum merge_method { MERGE_MEAN, MERGE_MEDIAN, MERGE_MAX, MERGE_MIN, MERGE_SUM, MERGE_FOCUS };

#define MERGE_METHOD_CHOICES "mean|median|max|min|sum|focus"

struct merge_options {
    int method;   /* enum merge_method */
    double sigma; /* mean: samples more than `sigma` standard deviations from the median do not count; 0: all
                   * count */
    double noise; /* focus: standard deviation of the noise in 8-bit counts; NAN: estimate it */
    const char *depth_path; /* focus: output path of the sharpest picture of each pixel; may be NULL */
    int edges;              /* enum merge_edges */
};

/* A picture that stays in its file until the result is read. */
struct merge_file {
    size_t picture; /* its index */
    struct reader *reader;
};

/* merge_sums: mean, sum, maximum, minimum. merge_robust: median, and the mean if sigma is not 0. Their
 * `params` begin with struct merge_options. */
extern const struct merge merge_sums, merge_robust;

/* Stores the merged values of `count` pixels of the pictures, from pixel `first` on, row after row. */
typedef enum status merge_pixels(void *state, size_t first, size_t count, double *pixels,
                                 struct error *error);

struct merge_base {
    /* The pictures. */
    size_t width, height, channels; /* pixels; channels include alpha */
    bool alpha;
    enum sample_type type;      /* of the samples that are added */
    enum sample_type file_type; /* of the files */
    int edges;                  /* enum merge_edges */
    bool needs_finite;          /* pixels with an infinite sample are missing: a transform would spread it */
    uint32_t pictures;          /* number so far */
    uint32_t *coverage;         /* for each pixel: number of pictures that cover it; NULL: all do. Owned */

    struct merge_file *files; /* in the order of the pictures; owned */
    size_t file_count;

    /* The result, after merge_base_finish. */
    size_t left, top;     /* position in the pictures of its top left pixel */
    size_t columns, rows; /* size in pixels */
    size_t next_row;      /* the next row to read */
    merge_pixels *compute;
    bool adds_alpha; /* the result has an alpha channel that the pictures do not have */
    double *pixels;  /* rows that are being computed; owned */
};

/* Initialises the base for pictures like `input`. merge_base_free frees it, also after a failure. */
enum status merge_base_make(struct merge_base *base, const struct merge_input *input, int edges,
                            struct error *error);
void merge_base_free(struct merge_base *base);

/* Callback `add_reader`: appends a picture to base->files and increments base->pictures. */
enum status merge_add_file(void *state, struct reader *reader, struct error *error);

/* Converts `count` pixels of a picture, from pixel `first` on, to sample values. */
void merge_values(const struct merge_base *base, const void *samples, size_t first, size_t count,
                  double *values);

/* True if a picture covers this pixel: no channel is NaN (or infinite, with needs_finite), and alpha is above
 * 0. Pixels that it does not cover are missing. */
bool merge_is_covered(const struct merge_base *base, const double *pixel);

/* Increments base->coverage for the covered pixels of row `y`. Returns their number. */
size_t merge_count_row(struct merge_base *base, const double *row, size_t y);

/* Chooses the result's size and channels by the coverage. `compute` is called by merge_base_read. Fails if no
 * pixel is covered and edges are cropped, or if alpha would be the third or the fifth channel. */
enum status merge_base_finish(struct merge_base *base, merge_pixels *compute, struct merge_result *result,
                              struct error *error);

/* Callback `read`: computes the next `row_count` rows of the result by base->compute. */
enum status merge_base_read(void *state, float *out, int row_count, struct error *error);

/* Returns the median; for an even count the mean of the two middle values, for 0 NaN. Reorders the values. */
double merge_median(double *values, size_t count);

/* Returns the mean, for a count of 0 NaN. Adds the values in their order. */
double merge_mean(const double *values, size_t count);

/* Removes values further than `sigma` standard deviations from the median, in two passes; a pass over fewer
 * than three values, or one that would remove all, removes none. Keeps the order of the others and returns
 * their number. `scratch` has room for all values. */
size_t merge_reject(double *values, size_t count, double sigma, double *scratch);

#endif
