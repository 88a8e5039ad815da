/* Tables of experiments of which every form has the same five arguments. */
#ifndef CLIMG_BENCH_EXPERIMENTS_ROWS_H
#define CLIMG_BENCH_EXPERIMENTS_ROWS_H

#include "lab.h"

enum { SYSTEM_ROWS = 6 };

/* Arguments of a variant: KERNEL(in, more, out, width and height of out, width of in). */
struct material {
    struct picture in, more, out; /* more: a second input, or room where it has no pixels */
    struct picture truth;         /* the expected output is computed from this */
    struct expectation expected;
    int value; /* the column's */
};

/* A condition under which all forms of a table are tried. */
struct column {
    const char *name;
    int value;
    const char *options; /* of the compiler; NULL: -DN=value */
    double tolerance;    /* where it is larger */
    bool denormals;      /* the device has to know them */
};

enum launch_grid { ITEM_A_PIXEL, ITEM_A_SIXTEEN, ITEM_A_ROW, GROUP_A_ROW };

/* A form: a kernel, a loop on the host or climg's own. */
struct row {
    const char *name, *kernel, *options;
    enum launch_grid grid;
    int group[2]; /* work-items; 0: the column's value */
    host_function *host;
    produce_function *produce;
    bool images, turned; /* turned: rows and columns of `in` are exchanged */
    double tolerance;    /* where it is larger */
    double then;         /* microseconds in 2011 */
};

struct table {
    const char *title, *file; /* kernels/FILE */
    int size;
    double tolerance;
    /* Fills in all but expected.tolerance for size x size of what the title says. */
    void (*prepare)(struct material *material, int value, int size);
    const struct row *rows; /* up to one without a name, as are */
    const struct column *columns;
};

/* Data of the tables: experiments_material.c. */
void prepare_vector(struct material *material, int value, int size);
void prepare_systems(struct material *material, int value, int size);
void prepare_sorting(struct material *material, int value, int size);
void prepare_recurrence(struct material *material, int value, int size);
void prepare_impulses(struct material *material, int value, int size);
void prepare_taps(struct material *material, int value, int size);
void prepare_warp(struct material *material, int value, int size);

/* The same work on the processors, by OpenMP. */
host_function host_multiply, host_convolve, host_follow;

/* ... and by climg; the context is the expectation. */
produce_function produce_taps, produce_warp;

#endif
