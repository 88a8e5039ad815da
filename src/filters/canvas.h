/* A larger canvas around the picture, for --extend and --border. With a negative border it is smaller.
 *
 * struct canvas is plain data, owns nothing, and is read-only after parsing. Most functions are callbacks of
 * a stage whose params are a struct canvas; such a stage calls canvas_shape() in its callback `shape`. All
 * functions are reentrant; a struct run belongs to one thread. canvas_run() only enqueues work. */
#ifndef CLIMG_FILTERS_CANVAS_H
#define CLIMG_FILTERS_CANVAS_H

#include "engine/run.h"
#include "filters/box.h"

enum fill_kind { FILL_ZERO, FILL_EDGE, FILL_TRANSPARENT, FILL_COLOUR };

/* The content of the canvas around the picture. */
struct fill {
    int kind;         /* enum fill_kind */
    double colour[3]; /* FILL_COLOUR: red, green and blue as samples of the file, 0 to 1 */
};

struct canvas {
    struct box box; /* size of the canvas, and the picture's position on it; must be first */
    struct fill fill;
};

/* Row of the option table for color=. */
#define CANVAS_COLOUR                                                                                        \
    {                                                                                                        \
        .name = "color", .type = OPTION_CUSTOM, .offset = offsetof(struct canvas, fill), .fallback = "zero", \
        .value = "COLOR",                                                                                    \
        .help = "black, white, #rrggbb or transparent; edge: continues the picture as --edge says; zero: "   \
                "transparent if there is alpha, black otherwise",                                            \
        .parse = canvas_parse_fill, .print = canvas_print_fill                                               \
    }
enum status canvas_parse_fill(const char *text, void *field, struct error *error);
void canvas_print_fill(FILE *file, const void *field);

/* Sets the width and height of *out to the canvas's; the caller checks if the picture fits. Fails if a side
 * is longer than BOX_MAX_SIDE, or for color=transparent if the picture has no alpha. `what` names the stage
 * in messages. */
enum status canvas_shape(const char *what, const void *params, const struct shape *in, struct shape *out,
                         struct error *error);

/* Returns the rows of the picture that rows `out` of the canvas need. With color=edge they may be outside the
 * picture, as the border rule is not applied. */
struct interval canvas_rows(const void *params, const struct shape *in, struct interval out);

/* Returns the map from pixels of the canvas to pixels of the picture: a shift. */
struct affine canvas_inverse_map(const void *params, const struct shape *in);

/* Returns the capabilities of a stage that only moves pixels (move_caps); with color=edge also
 * needs_all_rows. */
struct stage_caps canvas_caps(const void *params);

/* Converts a canvas of luma pixels to one of chroma pixels, for subsampled video. Fails without color=edge if
 * there are new pixels, as 0 is not black in video, and if the picture would not begin at a chroma pixel. */
enum status canvas_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error);

/* Enqueues the copy of the picture to the canvas and the fill around it. Copies samples from in->raster to
 * out->raster, unless that is NULL; then it allocates the planes of `out` and copies planes. */
enum status canvas_run(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error);

#endif
