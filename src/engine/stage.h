/* Stages: the steps of a chain.
 *
 * A stage is one file in src/stages that defines one `const struct stage`. The Makefile collects them;
 * parser, --help, manual page and completion read the struct. CONTRIBUTING.md lists the tests and pages that
 * name each stage.
 *
 * A stage transforms an image or a pyramid on the device, one slice (a range of rows) at a time. Before any
 * pixel exists, `shape` computes the shape of its output and `rows` the input rows that it needs; the planner
 * uses both to choose slices and memory. `run` then enqueues kernels; it waits only for counts.
 *
 * Thread safety: struct stage is constant. Parameters are read-only after prepare and prepare_series have
 * returned. Several workers call `shape`, `rows` and `run` of one step at the same time, each with its own
 * struct run. */
#ifndef CLIMG_ENGINE_STAGE_H
#define CLIMG_ENGINE_STAGE_H

#include "base/affine.h"
#include "base/error.h"
#include "image/image.h"
#include "settings/option.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct colour_space;

/* Kinds of values that stages process. */
enum kind { KIND_IMAGE, KIND_PYRAMID };

/* Pyramids: levels at most, subbands of a level, and layers of a level (real and imaginary parts). */
enum { MAX_LEVELS = 16, ORIENTATIONS = 6, SUBBAND_LAYERS = 2 * ORIENTATIONS };

/* Rules for samples beyond the border of an image, in scipy.ndimage's words: nearest, reflect (about the edge
 * of the last pixel), wrap, constant 0. */
enum edge { EDGE_CLAMP, EDGE_MIRROR, EDGE_WRAP, EDGE_ZERO };

/* The integers [begin, end): rows of an image, columns, or positions along an axis. */
struct interval {
    int begin, end;
};

/* n / by, rounded up. */
static inline int ceil_div(int n, int by)
{
    return (n + by - 1) / by;
}

/* A picture that was decoded at 1/2, 1/4 or 1/8 of its size. Column i is the mean of the columns
 * [(i - left) * factor, (i + 1 - left) * factor) of the full picture; likewise for rows and `top`. */
struct reduction {
    int factor;        /* 2, 4 or 8; 0: not reduced */
    int width, height; /* of the full picture */
    /* Share of the first column or row outside the full picture; 0 unless it was turned or cropped. */
    double left, top;
};

/* Properties of an image or pyramid that are known without its pixels. */
struct shape {
    enum kind kind;
    int width, height; /* in pixels; for a pyramid, of the image that it was computed from */
    int channels;      /* 1 to 4 */
    struct reduction reduced;
    int images;            /* images of a group, all of this shape; otherwise 1 */
    bool alpha;            /* the last channel is alpha; colours are premultiplied by it */
    bool is_float;         /* samples of the file are floats */
    bool may_have_missing; /* samples may be NaN or infinite */
    double zero, full;     /* sample values that become 0.0 and 1.0, such as 0 and 255 for 8 bit */
    double min_sample;     /* smallest sample value: `zero`, or of a signed type, such as -32768 */
    /* Colour space of the file; NULL if it names none. Read it with shape_space, which has defaults, and only
     * in stages with needs_colour_space. Belongs to the job or to a stage. */
    const struct colour_space *space;
    bool linear; /* samples are linear light: the curves of `space` were inverted */

    /* Pyramids only. */
    int levels;        /* 1 to MAX_LEVELS */
    int biort, qshift; /* filters of level 1 and of the others (wavelet/dtcwt.h) */
    bool pad_at_end;   /* pad odd sizes at the end only (wavelet/dtcwt_design.h) */
};

/* Returns the shape at full size: the picture in the file, if the reader reduced it. */
struct shape shape_full(const struct shape *shape);

/* Returns the number of planes in one layer: channels times images. */
static inline int shape_planes(const struct shape *shape)
{
    return shape->channels * shape->images;
}

/* True if there are three colour channels, with or without alpha. */
static inline bool shape_is_colour(const struct shape *shape)
{
    return shape->channels - shape->alpha == 3;
}

/* Returns the index of the alpha channel, or -1. */
static inline int shape_alpha(const struct shape *shape)
{
    return shape->alpha ? shape->channels - 1 : -1;
}

/* Returns the colour space of the file: shape->space, or a default if that is NULL. With `linear`, it is the
 * space before its curves were inverted. The default is sRGB, but linear sRGB for floats unless `linear` is
 * set. A space for one colour channel is gray. Returns NULL if out of memory. */
const struct colour_space *shape_space(const struct shape *shape);

/* Converts a sample value in file units (0..255, a float's own scale) to the chain's 0..1 scale. */
float shape_value(const struct shape *shape, double number);

/* Intersects an interval with [0, size). If they have nothing in common, returns the interval of the one
 * integer of [0, size) that is nearest. */
struct interval interval_clip(struct interval interval, int size);

/* Returns [0, height). */
static inline struct interval rows_full(int height)
{
    return (struct interval){0, height};
}

/* Extends an interval by `margin` at both ends. */
static inline struct interval interval_widen(struct interval interval, int margin)
{
    return (struct interval){interval.begin - margin, interval.end + margin};
}

/* Returns the smallest interval that contains both. */
struct interval interval_union(struct interval a, struct interval b);

/* Widens an interval so that both ends are multiples of `unit`. `begin` must not be negative. */
struct interval interval_align(struct interval interval, int unit);

/* Callbacks `rows`: the input rows are the output rows, or all rows. */
struct interval rows_same(const void *params, const struct shape *in, struct interval out);
struct interval rows_all(const void *params, const struct shape *in, struct interval out);

/* An example of use, printed by --help=STAGE and run as a test. */
struct example {
    const char *command; /* a command line that reads from samples/ and ends with its output file */
    const char *shows;   /* its purpose, one line */
};

struct run;
struct value;
struct settings;
struct reader;
struct merge_input;
struct merge_result;

/* Capabilities of a stage with given parameters. Zero is the usual case. */
struct stage_caps {
    /* File that the stage reads in addition to the image. No output may replace it. May be NULL. */
    const char *file;

    /* File that the stage writes in addition to the image. May be NULL. */
    const char *output_file;
    bool output_is_image; /* output_file is an image */

    /* Every output row depends on all input rows, although `rows` returns fewer. */
    bool needs_all_rows;

    /* The halo is large: process the image unsliced if memory allows. */
    bool large_halo;

    /* Loads only the input samples that the output needs, as a warp does, so the time depends on the size of
     * the output only. The input rows of slices may therefore overlap much. */
    bool gathers;

    /* Processes each plane independently of the others, so one launch can process all images of a group
     * (shape.images), which have no alpha. */
    bool groups;

    /* CPU devices: as the first stage it can read 8- or 16-bit samples without alpha (in->raster), as the
     * last stage it can write them (out->raster). Either saves a pass over memory. maps_samples: it can do
     * both at once, if it is the only stage and the types are equal. */
    bool reads_samples, writes_samples, maps_samples;

    /* CPU devices: works in tiles (filters/tiles.h). As the first or last stage it converts samples of
     * any type tile by tile (in->raster, out->raster), so no planes of all columns exist. */
    bool tiles;

    /* Only moves pixels; sample values stay unchanged. As the first stage it moves samples of any type before
     * they become planes (in->raster to out->raster), in groups and on all devices. */
    bool lossless_move;

    /* Works in luma and two colour differences if there are three colours. The first and last stage of a
     * chain may then receive and return these colours (value.opponent); unpacking and packing convert. */
    bool opponent;

    /* accepts_reduced: as the first stage it accepts a picture that the reader reduced (shape.reduced), as a
     * stage that shrinks averages over pixels anyway. The output has the same size and positions as for the
     * full picture. returns_reduced: may precede such a stage: accepts and returns reduced pictures. */
    bool accepts_reduced, returns_reduced;

    /* Time per sample relative to --blur 2, for the choice of the device (device/choose.h). 0 means 1. */
    double relative_cost;

    /* Output values may exceed the range of the input values, so clipping is counted. */
    bool amplifies;

    /* The smallest and the largest parameter in sample values of the file, as absolute values; 0: none.
     * Unless samples are floats, the user is warned of values that seem to be on another scale: if the
     * largest is at most 1 (a fraction of full scale?) or fits another number of bits, or if the smallest is
     * above full scale. */
    double smallest_value, largest_value;

    /* Results depend on the colour space of the file (shape.space). */
    bool needs_colour_space;

    /* RGB space that the stage converts to. If it is the first stage, CMYK files are read in this space. May
     * be NULL. */
    const struct colour_space *rgb_space;

    /* Parameters are positions, sizes or angles in the upright picture. The picture is turned upright before
     * the stage, unless --stored-orientation is given. */
    bool needs_upright;

    /* Only for stages that merge pictures. merges_pages: a file may have several pages, which are all merged.
     * merges_strictly: a picture that fails ends the merge, instead of being left out. */
    bool merges_pages, merges_strictly;

    /* Pixels of the output may be missing (NaN) if it is going to be merged. */
    bool leaves_missing;

    /* new_geometry: output positions do not correspond to input positions, so metadata about positions is
     * dropped. new_values: values have another meaning, such as gradients, so metadata about values is
     * dropped. */
    bool new_geometry, new_values;
};

struct analysis_result;

/* An analysis pass over the whole image, before its slices are processed: a histogram for Otsu's threshold,
 * the noise for --denoise. The pass has parts, which are consecutive ranges of the stage's input rows. The
 * result belongs to the run, where the stage's `run` finds it (run_analysis_result). Images that fit into one
 * slice, and groups, have no separate pass, as `run` gets all rows at once. */
struct analysis {
    /* True if slices of such an image need the pass. NULL: always. */
    bool (*needed)(const void *params, const struct shape *in);
    /* Returns the input rows that a part needs, before clipping to the image. */
    struct interval (*rows)(const void *params, const struct shape *in, struct interval part);
    /* Enqueue work before the first part, for a part whose rows are in `in`, and after the last part. Only
     * `end` may wait, for counts that determine the result. */
    enum status (*begin)(struct run *run, const void *params, const struct shape *in,
                         struct analysis_result *analysis_result, struct error *error);
    enum status (*add)(struct run *run, const void *params, const struct value *in, struct interval part,
                       struct analysis_result *analysis_result, struct error *error);
    enum status (*end)(struct run *run, const void *params, const struct shape *in,
                       struct analysis_result *analysis_result, struct error *error);
};

/* The stage that replaces a measured one, and the texts about it. */
struct replacement {
    const char *stage; /* its name, a string literal */
    char value[256];   /* its value, as on the command line */
    char found[64];    /* the finding, for -v and --report; may be empty */
    char warning[128]; /* may be empty */
};

/* A measurement of the stage's input that determines its parameters, such as the angle of --deskew. Before
 * the plan is computed, a separate pass runs the file through the steps before the stage (batch/measure.c).
 * Then a stage with numbers as parameters replaces this one. The stage's own `shape`, `rows` and `run` are
 * only used for estimates and --selftest; they return the input unchanged. */
struct measurement {
    /* True if the stage with these parameters needs the measurement. NULL: always. */
    bool (*needed)(const void *params);
    /* Pixels of the longer side that the measurement needs. If the stage is the first, the reader may reduce
     * the picture to that size. 0: the full size is needed. */
    int sufficient_side;
    /* For --warm, which compiles the programs of the usual replacement: its name and value. May be NULL. */
    const char *usual_stage, *usual_value;
    size_t size; /* bytes of the state, which is zeroed before `begin` */
    /* Starts the measurement of a picture; `info` describes its rows, `shape` the sample values of its file.
     * Samples of full scale, 1 in floats, are shape->full. */
    enum status (*begin)(void *state, const void *params, const struct shape *shape,
                         const struct image_info *info, struct error *error);
    /* Adds the next `count` rows, which are `pitch` bytes apart. */
    void (*add)(void *state, const void *rows, size_t pitch, uint32_t count);
    /* Computes the replacement after the last row. `written` is the stage's value as the user wrote it; may
     * be NULL. */
    enum status (*end)(void *state, const void *params, const char *written, struct replacement *replacement,
                       struct error *error);
    void (*release)(void *state); /* frees what `begin` allocated, also after a failure */
};

/* A merge of many pictures into one, for stages such as --stack. batch/stack.h sends each picture through the
 * steps before the stage, adds it to the merge, and sends the result through the steps after the stage.
 *
 *     begin ─▶ add, in the order of the inputs ─▶ finish ─▶ read, from the first row to the last ─▶ free
 *
 * Calls come from one thread at a time; `run` belongs to the calling worker. All pictures have the same size
 * and sample type. */
struct merge {
    /* Allocates *state. */
    enum status (*begin)(const void *params, const struct merge_input *input, void **state,
                         struct error *error);
    /* Adds a picture: rows of interleaved samples without padding, which belong to the caller. */
    enum status (*add)(void *state, struct run *run, const void *samples, struct error *error);
    /* Adds a picture of 8 or 16 bits without alpha, whose rows `read` reads from the reader, in order, and
     * once. The reader belongs to the caller and must stay open until the last call of `read`. May be NULL.
     */
    enum status (*add_reader)(void *state, struct reader *reader, struct error *error);
    /* Ends the merge and describes the result. At least one picture was added. */
    enum status (*finish)(void *state, struct run *run, struct merge_result *result, struct error *error);
    /* Computes the next `count` rows of the result: interleaved floats, 1 for full scale, colour not
     * multiplied by alpha. */
    enum status (*read)(void *state, float *rows, int count, struct error *error);
    /* Appends findings for reports to a text of `size` bytes, after the last row was read. May be NULL. */
    void (*describe)(const void *state, char *text, size_t size);
    /* Frees the state. */
    void (*free)(void *state);
};

/* Pictures that are going to be merged. */
struct merge_input {
    const struct image_info *info; /* size, channels, alpha and sample type of each picture */
    enum sample_type samples;      /* sample type of the files */
    const char *folder;            /* for temporary files */
    int jobs;                      /* threads that may be used */
};

/* The merged picture: a part of the pictures' area, which begins at left, top. */
struct merge_result {
    int left, top, width, height; /* pixels */
    int channels;
    bool alpha;
};

/* The inputs of a command. */
struct input_series {
    size_t count;
    const char *const *paths; /* in their order */
    bool has_pages;           /* all pages of an input are merged, not only its first one */
    bool is_merged;           /* a stage after this one merges them */
    bool is_moved;            /* a stage before this one moves pixels; set by chain_prepare_series */
};

/* Chroma planes of subsampled video, which have their own chain. A chroma pixel covers `across` x `down` luma
 * pixels. */
struct chroma {
    int across, down;
    double left, top; /* first chroma sample minus first luma sample, in luma pixels to the right and down */
    const struct shape *luma_in, *luma_out; /* luma shapes before and after the stage */
};

/* A stage. Constant; defined in src/stages. */
struct stage {
    const char *name;   /* the long option: "blur" */
    const char *brief;  /* one line for the list in --help */
    const char *manual; /* paragraphs for --help=STAGE and the man page, separated by blank lines */
    const struct example *examples; /* ends with a NULL command */
    const struct option *options;   /* the PRIMARY (name NULL) first, if any; ends with OPTION_END */
    size_t params_size;             /* bytes of the struct that `options` fills */
    enum kind in, out;              /* KIND_IMAGE if not set */

    /* Checks parameters together, after all were parsed and before any file is opened. May be NULL. */
    enum status (*check)(void *params, struct error *error);

    /* Loads host data such as a kernel file, after the whole chain was checked and before any image is
     * opened. May be NULL. */
    enum status (*prepare)(void *params, const struct settings *settings, struct error *error);

    /* Prepares a stage that depends on the inputs, after `prepare`. `series` is NULL if the stage is after a
     * merge. Its paths are valid during the call only, unless is_merged. May be NULL. */
    enum status (*prepare_series)(void *params, const struct settings *settings,
                                  const struct input_series *series, struct error *error);

    /* Writes the findings about all inputs of a merge, after the last one. May be NULL. */
    enum status (*end_series)(const void *params, const struct input_series *series, struct error *error);

    /* Frees what the functions above allocated in params. May be NULL. */
    void (*release)(void *params);

    /* Returns the capabilities for these parameters. NULL: they are fixed_caps. */
    struct stage_caps (*caps)(const void *params);
    struct stage_caps fixed_caps;

    /* Computes the output's shape. NULL: it is the input's. Fails if the input is not supported. */
    enum status (*shape)(const void *params, const struct shape *in, struct shape *out, struct error *error);

    /* Returns the input rows that the output rows `out` need, before clipping to the image; a part of `out`
     * needs no others. Required. Rows of a pyramid are counted in its image, which the inverse transform
     * returns. */
    struct interval (*rows)(const void *params, const struct shape *in, struct interval out);

    const struct analysis *analysis;       /* may be NULL */
    const struct measurement *measurement; /* may be NULL */

    /* Returns the merge of many pictures into one. NULL: the stage has a single picture as input. The `run`
     * of a stage that merges copies a picture; it is called only for pictures in memory, as in --selftest. */
    const struct merge *(*merge)(const void *params);

    /* Returns the affine map from output to input positions, in pixels from the top left corner; resolution
     * and geographic tags follow it. NULL: the map that scales one shape to the other. */
    struct affine (*inverse_map)(const void *params, const struct shape *in);

    /* Adapts parameters to a chroma plane, after parsing and before `check`, so that the stage has the same
     * effect as on luma: it divides a radius, for example. NULL: the stage refuses subsampled video.
     * adapt_nothing_to_chroma: no parameter is in pixels. */
    enum status (*adapt_to_chroma)(void *params, const struct chroma *chroma, struct error *error);

    /* Enqueues the work on one slice; waits only for counts that it needs or warns about. in->rows contains
     * at least the needed rows; out->shape and out->rows are set, and the stage allocates the planes
     * (run_output). On failure the caller releases them. */
    enum status (*run)(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error);
};

/* adapt_to_chroma of stages without parameters in pixels. */
enum status adapt_nothing_to_chroma(void *params, const struct chroma *chroma, struct error *error);

/* All stages sorted by name, ending with NULL. Generated by the Makefile from src/stages. */
extern const struct stage *const stages[];

/* Return the stage of that name, or NULL. */
const struct stage *stage_find(const char *name);
const struct stage *stage_find_word(struct word name);

#endif
