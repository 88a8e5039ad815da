/* Runs kernels that climg does not use: compiles them from tests/bench/kernels, compares them with a
 * reference in double precision, and measures them. */
#ifndef CLIMG_BENCH_LAB_H
#define CLIMG_BENCH_LAB_H

#include "bench.h"
#include "filters/axis.h"

enum verdict { MEASURED, SKIPPED, WRONG };

/* One figure of a table: a variant (the row) under one condition (the column). */
struct cell {
    const char *table, *variant, *column;
    double then;  /* seconds in 2011 for the same number of pixels; 0: not measured */
    double now;   /* median seconds */
    double first; /* of the table's first variant in this column; 0: not compared with */
    double error;
    int size, runs;
    enum verdict verdict;
    char note[200]; /* why it was skipped or is wrong */
};

struct built; /* programs: lab.c */

struct lab {
    struct bench bench;
    const char *folder; /* of the kernels' texts */
    int size;           /* of all pictures; 0: as in 2011, but smaller for slow work on CPU devices */
    struct cell *cells;
    size_t count, reported;
    void (*report)(const struct lab *lab, const struct cell *cell); /* as soon as a cell is complete */
    struct built *built;
};

/* Pixels on the host: `layers` images of height rows of width pixels of `channels` floats. */
struct picture {
    float *pixels;
    int width, height, channels, layers;
};

/* Pixels on the device in the same order: an array, or an array of images whose texels have `channels`
 * floats. */
struct surface {
    cl_mem object;
    bool image;
    int width, height, channels, layers;
};

/* Expected output. */
struct expectation {
    double (*at)(const struct expectation *expected, int x, int y, int z, int channel);
    const struct picture *in;
    const float *weights;
    int taps;    /* along an axis */
    int variant; /* of the caller's choosing */
    double tolerance;
};

/* One launch of a form. */
struct trial {
    const char *header, *file; /* kernels/FILE; the header may be NULL */
    const char *kernel;
    const char *options;
    size_t grid[3], group[3];
    const struct argument *arguments;
    size_t count;
};

void lab_open(struct lab *lab, const char *folder, int size);
void lab_close(struct lab *lab);

/* A new cell at the end of the list: valid until the next one, and then complete. */
struct cell *lab_cell(struct lab *lab, const char *table, const char *variant, const char *column);

/* Reports the cells that are complete: all of them. */
void lab_report(struct lab *lab);

/* A figure of 2011 in seconds, `then` of `size` squared pixels, for the cell's own size; 0 stays 0. */
void cell_compare(struct cell *cell, double then, int size);

void cell_skip(struct cell *cell, const char *why);

struct picture picture_noise(int width, int height, int channels, int layers);

/* The pixel at a place, edges clamped. */
double picture_at(const struct picture *picture, int x, int y, int z, int channel);

/* False where the device has no such images; *why says so. */
bool surface_make(struct lab *lab, const struct picture *picture, bool image, struct surface *surface,
                  const char **why);
void surface_free(struct surface *surface);

/* Runs the trials one after the other (their times add up), the last of which fills `out`. */
void lab_try(struct lab *lab, struct cell *cell, const struct trial *trials, size_t count,
             const struct surface *out, const struct expectation *expected);

/* climg's own kernels for the same work: `produce` enqueues them and allocates out->planes[0]. */
typedef enum status produce_function(struct run *run, const void *context, const struct value *in,
                                     struct value *out, struct error *error);
void lab_try_production(struct lab *lab, struct cell *cell, enum memory memory, produce_function *produce,
                        const void *context, const struct value *shapes, const struct expectation *expected);

/* For a produce_function: the first or the second of the two passes of climg's separable filters. */
enum status produce_pass(struct run *run, const struct filter *filter, bool along_y, const struct value *in,
                         struct value *out, struct error *error);

/* A loop on the host, by the wall clock: `work` fills in `out`. */
struct material;
typedef void host_function(const struct material *material);
void lab_try_host(struct cell *cell, host_function *work, const struct material *material,
                  struct picture *out, const struct expectation *expected);

/* The tables: experiments_*.c. */
void separable_experiments(struct lab *lab);
void enlarge_experiments(struct lab *lab);
void matrix_experiments(struct lab *lab);
void vector_experiments(struct lab *lab);
void systems_experiments(struct lab *lab);
void sorting_experiments(struct lab *lab);
void recurrence_experiments(struct lab *lab);
void taps_experiments(struct lab *lab);
void warp_experiments(struct lab *lab);

#endif
