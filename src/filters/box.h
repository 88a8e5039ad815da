/* Boxes: a part of a picture (--crop), or a canvas that the picture is a part of (--extend). A user gives the
 * size and the place, or the side at which the part lies. */
#ifndef CLIMG_FILTERS_BOX_H
#define CLIMG_FILTERS_BOX_H

#include "engine/stage.h"

/* A length in pixels, or in percent of the picture's. */
struct length {
    double number;
    bool percent;
};

/* The first field of the params of a stage that has BOX_OPTIONS. */
struct box {
    struct length width, height;
    bool placed; /* x and y are given: where the part begins in the whole */
    int x, y;
    int gravity; /* where it lies without them */
};

enum { BOX_MAX_SIDE = 1 << 20, BOX_MAX_PERCENT = 1000000 };

/* Why gravity= is unused: the place is given. */
const char *box_placed(const void *params);

#define BOX_SIZE(parser, text)                                                                               \
    {                                                                                                        \
        .type = OPTION_CUSTOM, .value = "WxH[+X+Y]", .help = (text), .parse = (parser), .print = box_print   \
    }
#define BOX_GRAVITY(text)                                                                                    \
    {                                                                                                        \
        .name = "gravity", .type = OPTION_CHOICE, .offset = offsetof(struct box, gravity),                   \
        .fallback = "center",                                                                                \
        .choices = "center|north|northeast|east|southeast|south|southwest|west|northwest", .help = (text),   \
        .unused = box_placed                                                                                 \
    }

/* "200x150", "200x150+10+20", "50%", "50%x100". A part has at most 100 percent of the picture, a canvas at
 * most BOX_MAX_PERCENT and BOX_MAX_SIDE pixels a side. */
enum status box_parse_part(const char *text, void *field, struct error *error);
enum status box_parse_canvas(const char *text, void *field, struct error *error);
void box_print(FILE *file, const void *params);

/* Sets the width and the height of `out` for a picture of that shape. */
void box_set_size(const struct box *box, const struct shape *in, struct shape *out);

/* The pixel of the whole at which a part of that size begins. */
struct place {
    int x, y;
};
struct place box_place(const struct box *box, const struct shape *part, const struct shape *whole);

/* For video: the same box for its colour, of which `whole` and `part` have so many pixels of brightness; one
 * of them goes into the stage. The part must begin with a pixel of colour. */
enum status box_adapt_to_chroma(struct box *box, const struct shape *whole, const struct shape *part,
                                const struct chroma *chroma, struct error *error);

#endif
