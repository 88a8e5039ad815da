/* A larger canvas around the picture, for --extend and --border.
 *
 * struct canvas is plain data, owns nothing, and is read-only once it was parsed. The functions are the
 * callbacks of a stage whose params are a struct canvas; canvas_image() only enqueues work. */
#ifndef CLIMG_FILTERS_CANVAS_H
#define CLIMG_FILTERS_CANVAS_H

#include "engine/run.h"
#include "filters/box.h"

enum fill_kind { FILL_ZERO, FILL_EDGE, FILL_TRANSPARENT, FILL_COLOUR };

/* The content of the canvas around the picture. */
struct fill {
    int kind;         /* enum fill_kind */
    double colour[3]; /* FILL_COLOUR: red, green and blue; 1 is full scale, with the curve of sRGB */
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
void canvas_print_fill(FILE *file, const void *params);

/* Computes the size of the canvas. Fails if it does not contain the picture, is larger than BOX_MAX_SIDE, or
 * would be transparent although there is no alpha. `what` names the stage in messages. */
enum status canvas_shape(const char *what, const void *params, const struct shape *in, struct shape *out,
                         struct error *error);

/* Returns the rows of the picture. Rows outside the picture are included only with color=edge. */
struct interval canvas_rows(const void *params, const struct shape *in, struct interval out);

/* Returns the shift from the canvas to the picture, in pixels. */
struct affine canvas_inverse_map(const void *params, const struct shape *in);

/* Returns the capabilities of a stage that only moves pixels (move_caps); with color=edge also
 * needs_all_rows. */
struct stage_caps canvas_caps(const void *params);

/* Fails unless color=edge (0 is not black in video), and if the picture would begin inside a chroma pixel. */
enum status canvas_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error);

/* Enqueues the move: of the file's samples if there is out->raster, otherwise of planes. Allocates the planes
 * of `out`. */
enum status canvas_image(struct run *run, const void *params, const struct value *in, struct value *out,
                         struct error *error);

#endif
