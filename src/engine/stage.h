/* What a stage is: one step of a chain, complete in one file of src/stages; and the shapes of its values. */
#ifndef CLIMG_ENGINE_STAGE_H
#define CLIMG_ENGINE_STAGE_H

#include "base/affine.h"
#include "base/error.h"
#include "settings/option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a value before it exists, and which of its rows are meant. */

enum kind { KIND_IMAGE, KIND_PYRAMID };

enum { MAX_LEVELS = 16, ORIENTATIONS = 6, SUBBAND_LAYERS = 2 * ORIENTATIONS };

enum edge { EDGE_CLAMP, EDGE_MIRROR, EDGE_WRAP, EDGE_ZERO };

/* Rows [begin, end) of an image. */
struct rows {
    int begin, end;
};

/* How many runs of `by` hold `n`. */
static inline int divided(int n, int by)
{
    return (n + by - 1) / by;
}

/* What is known of a value before it exists. */
struct shape {
    enum kind kind;
    int width, height; /* pixels; of a pyramid: the image that it came from */
    int channels;      /* 1 to 4 */
    int images;        /* of a group: they share all of this; else 1 */
    bool alpha;        /* the last channel is alpha; colour is premultiplied */
    bool floats;       /* samples may be NaN or infinite */
    double zero, full; /* the numbers of samples that are 0 and 1 here: 0 and 255 of 8 bit, or --range's */
    double least;      /* the least number of samples: `zero`, or -32768 of signed 16 bit */
    int levels;        /* pyramid: 1 to MAX_LEVELS */
    int biort, qshift; /* pyramid: its filters (wavelet/dtcwt.h) */
    bool at_end;       /* pyramid: how axes are padded (wavelet/dtcwt_design.h) */
};

/* The planes of a layer: the channels of all images. */
int shape_planes(const struct shape *shape);

/* Whether there are three colours. */
bool shape_is_colour(const struct shape *shape);

/* The alpha channel's index, or -1: what kernels call `keep`. */
int shape_alpha(const struct shape *shape);

/* What samples of that number are here. */
float shape_value(const struct shape *shape, double number);

/* Cuts rows off that lie beyond the image. A window wholly outside becomes the nearest border row. */
struct rows rows_clip(struct rows rows, int height);
struct rows rows_whole(int height);

/* All from the first to the last of two. */
struct rows rows_joined(struct rows a, struct rows b);

/* Rounds begin down and end up to multiples of `unit`. */
struct rows rows_aligned(struct rows rows, int unit);

/* Two functions that stages give as `rows`: the same rows as those of the output, and all rows. */
struct rows rows_same(const void *params, const struct shape *in, struct rows out);
struct rows rows_all(const void *params, const struct shape *in, struct rows out);

/* What a stage is: one step of a chain, complete in one file of src/stages. */

struct example {
    const char *command; /* a whole command line over samples/, run as a test; ends in its output file */
    const char *shows;   /* one line: what it is for */
};

struct run;
struct value;
struct settings;

/* What a stage does with some params, beyond planes in, planes out. */
struct traits {
    /* The file that it reads, so that nothing is written there; NULL: none. */
    const char *file;

    /* The file that it writes beside the output of one input; NULL: none. */
    const char *writes;

    /* Each output row needs all input rows, although `rows` says less. */
    bool all_rows;

    /* Slices need so many rows beside their own that the image goes through whole while memory allows. */
    bool deep;

    /* It works on a group: several images without alpha in the planes of one (`images` of the shape). That is
     * so where each plane is treated on its own, whatever their number. */
    bool groups;

    /* On CPU devices the first stage of a chain can read samples of 8 or 16 bit without alpha (in->raster),
     * or the last one write them (out->raster), which saves a pass over memory. A stage that maps samples
     * does both where it is a chain's only one and the types at both ends are the same. */
    bool reads_samples, writes_samples, maps_samples;

    /* On CPU devices it works in tiles (filters/tiles.h). As the first stage of a chain, or the last one, it
     * has each tile's samples of any type unpacked or packed (in->raster, out->raster), so that there are
     * never planes of all columns. */
    bool tiles;

    /* It puts pixels elsewhere and changes none. As the first stage it moves samples of any type (in->raster
     * to out->raster), in groups and on all devices, before there are planes. */
    bool moves_samples;

    /* It works in opponent colours where there are three. The planes that go into a chain's first stage and
     * come out of its last one may then be in them (value.opponent): unpacking and packing mix the colours.
     */
    bool opponent;

    /* Cost per sample relative to --blur 2, for the choice of the device (device/cost.h). 0 means 1. */
    double relative_cost;

    /* It amplifies: its values may leave the range of the input's, so that clipping is counted. */
    bool amplifies;

    /* It was given numbers from 0 to 1 for samples, not percent: a mistake unless samples are floats. */
    bool takes_fractions;

    /* It makes another picture, in which nothing lies where it was, or values that mean something else, as a
     * gradient does: what a file says of places, or of values, is dropped. */
    bool redraws, revalues;
};

struct finding;

/* A pass over the whole image before its slices go through, for what a stage must know of all of it. Parts,
 * which are runs of rows of the image that goes into the stage, are taken from the first to the last. What is
 * found belongs to the run (struct finding of engine/run.h), where the stage looks for it. An image that goes
 * through the stage whole is not surveyed, nor is a group. */
struct survey {
    /* Whether slices of such an image need it. */
    bool (*wanted)(const void *params, const struct shape *in);
    /* The rows that a part needs, before clipping to the image. */
    struct rows (*rows)(const void *params, const struct shape *in, struct rows part);
    /* These enqueue the work, and never wait: before the first part; a part, of which `in` has the rows that
     * it needs; behind the last part. */
    enum status (*begin)(struct run *run, const void *params, const struct shape *in, struct finding *finding,
                         struct error *error);
    enum status (*take)(struct run *run, const void *params, const struct value *in, struct rows part,
                        struct finding *finding, struct error *error);
    enum status (*end)(struct run *run, const void *params, const struct shape *in, struct finding *finding,
                       struct error *error);
};

/* The colour of video, whose planes go through a chain of their own: each pixel stands for `across` times
 * `down` of the brightness, which has these shapes before and behind the stage. */
struct chroma {
    int across, down;
    double left, top; /* position of the first sample of colour, in pixels right of and below the first of
                         brightness */
    const struct shape *in, *out;
};

struct stage {
    const char *name;   /* the long option: "blur" */
    const char *brief;  /* one line for the list in --help */
    const char *manual; /* paragraphs for --help=STAGE and the man page, separated by blank lines */
    const struct example *examples; /* ends with a NULL command */
    const struct option *options; /* the PRIMARY (name NULL) first where there is one; ends with OPTION_END */
    size_t params_size;           /* bytes of the struct that `options` fills */
    enum kind in, out;

    /* Checks what no single option can, after the options are parsed and before any file is opened. May be
     * NULL.
     */
    enum status (*check)(void *params, struct error *error);

    /* Reads what the stage needs from the host (a kernel file), after the whole chain was checked and before
     * any image is opened. May be NULL. */
    enum status (*prepare)(void *params, const struct settings *settings, struct error *error);

    /* Frees what `check` or `prepare` allocated inside params. May be NULL. */
    void (*release)(void *params);

    /* NULL: none of them. */
    struct traits (*traits)(const void *params);

    /* The shape that comes out for a shape that goes in. NULL: the same. */
    enum status (*shape)(const void *params, const struct shape *in, struct shape *out, struct error *error);

    /* The input rows that output rows `out` need, before clipping to the image: rows_same, rows_all or the
     * stage's own. The rows of a pyramid are those of the image that it can be turned back into. */
    struct rows (*rows)(const void *params, const struct shape *in, struct rows out);

    const struct survey *survey; /* NULL: none */

    /* The map from places of the output to those of the input, counted in pixels from their top left corners:
     * resolutions and places on earth follow it. NULL: it is scaled as the shapes have it. */
    struct affine (*places)(const void *params, const struct shape *in);

    /* For video, whose planes are brightness and two colour differences: changes params that were just
     * parsed, before `check`, so that the stage does to the colour what it does to the brightness. NULL: it
     * does not work on such planes. coarsen_nothing: what it does is not counted in pixels. */
    enum status (*coarsen)(void *params, const struct chroma *chroma, struct error *error);

    /* Enqueues the work; never waits. `out` has its shape set; its planes are allocated by the stage. */
    enum status (*run)(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error);
};

/* `coarsen` of stages that count nothing in pixels. */
enum status coarsen_nothing(void *params, const struct chroma *chroma, struct error *error);

struct traits stage_traits(const struct stage *stage, const void *params);

/* Every stage, sorted by name, ending with NULL; made by the Makefile from the files of src/stages. */
extern const struct stage *const stages[];

const struct stage *stage_find(const char *name);

#endif
