/* What a stage is: one step of a chain, complete in one file of src/stages. */
#ifndef CLIMG_ENGINE_STAGE_H
#define CLIMG_ENGINE_STAGE_H

#include "base/affine.h"
#include "base/error.h"
#include "engine/shape.h"
#include "settings/option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct example {
    const char *command; /* a whole command line over samples/, run as a test; ends in its output file */
    const char *shows;   /* one line: what it is for */
};

struct tunable;

/* A small problem on which --tune tries the forms of the stage's kernels: a chain with the stage in it, on a
 * picture whose width and height are a part of the usual ones. */
struct tuning {
    const char *stages[2][2]; /* name and value of each */
    int part;
    const struct tunable *const *tunables; /* ends with NULL; NULL: no more tunings */
};

struct run;
struct value;
struct settings;

struct stage {
    const char *name;   /* the long option: "blur" */
    const char *brief;  /* one line for the list in --help */
    const char *manual; /* paragraphs for --help=STAGE and the man page, separated by blank lines */
    const struct example *examples; /* ends with a NULL command */
    const struct option *options; /* the PRIMARY (name NULL) first where there is one; ends with OPTION_END */
    size_t params_size;           /* bytes of the struct that `options` fills */
    enum kind in, out;

    /* After the options are parsed, before any file is opened: what no single row can check. May be NULL. */
    enum status (*check)(void *params, struct error *error);

    /* Frees what `check` or `prepare` allocated inside params. May be NULL. */
    void (*release)(void *params);

    /* Reads what the stage needs from the host (a kernel file), after the whole chain was checked and before
     * any image is opened. May be NULL. */
    enum status (*prepare)(void *params, const struct settings *settings, struct error *error);

    /* The file that it reads, where nothing is to be written; NULL: none. May be NULL. */
    const char *(*file)(const void *params);

    /* The shape that comes out for a shape that goes in. NULL: the same. */
    enum status (*shape)(const void *params, const struct shape *in, struct shape *out, struct error *error);

    /* The input rows that output rows `out` need, before clipping to the image: rows_same, rows_all or the
     * stage's own. The rows of a pyramid are those of the image that it can be turned back into. */
    struct rows (*rows)(const void *params, const struct shape *in, struct rows out);

    /* Whether these params need all rows although others do not. May be NULL. */
    bool (*sees_all)(const void *params);

    /* Slices need so many rows beside their own that the image goes through at once while memory allows. */
    bool deep;

    /* Whether the first stage of a chain, or the last, can do without planes: on CPU devices it then reads
     * samples of 8 or 16 bit without alpha (in->raster) or writes them (out->raster), which saves a pass. May
     * be NULL. */
    bool (*reads_samples)(const void *params);
    bool (*writes_samples)(const void *params);

    /* Whether it does both at once where it is a chain's only stage and the samples at both ends are of one
     * type. May be NULL. */
    bool (*maps_samples)(const void *params);

    /* Whether these params put pixels elsewhere and change none. As the first stage of a chain it then moves
     * samples (in->raster, out->raster), of any type, in groups and on all devices, before there are planes;
     * slices of the rest are made of all of them. May be NULL. */
    bool (*moves_samples)(const void *params);

    /* Works in opponent colours where there are three, so that the planes that go into a chain's first stage
     * and come out of its last one may be in them (value.opponent): mixed where samples are unpacked and
     * packed. */
    bool opponent;

    /* Works on a group: several images without alpha in the planes of one (`images` of the shape). So it is
     * where each plane is treated on its own, whatever their number. */
    bool groups;

    /* Whether these params make another picture, in which nothing lies where it was: what a file says of
     * places is dropped. May be NULL. */
    bool (*redraws)(const void *params);

    /* Whether these params make values that mean something else, as a gradient does: what a file says of
     * values is dropped. May be NULL. */
    bool (*revalues)(const void *params);

    /* The map from places of the output to those of the input, counted in pixels from their top left corners:
     * resolutions and places on earth follow it. NULL: it is scaled as the shapes have it. */
    struct affine (*places)(const void *params, const struct shape *in);

    const struct tuning *tunings; /* NULL: its kernels have no forms, or are tried elsewhere */

    /* Enqueues the work; never waits. `out` has its shape set; its planes are allocated by the stage. */
    enum status (*run)(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error);
};

/* Every stage, sorted by name, ending with NULL; made by the Makefile from the files of src/stages. */
extern const struct stage *const stages[];

const struct stage *stage_find(const char *name);

#endif
