/* Rectangles for --crop (a part of the picture), and --extend and --border (a canvas that contains the
 * picture). The user gives the size, and either the position +X+Y or a gravity such as "north".
 *
 * struct box is plain data, owns nothing, and is read-only after parsing. All functions are reentrant. */
#ifndef CLIMG_FILTERS_BOX_H
#define CLIMG_FILTERS_BOX_H

#include "engine/stage.h"

/* A length in pixels, or in percent of the picture's width or height. */
struct length {
    double number;
    bool is_percent;
    int margin; /* pixels that are added at each end; may be negative */
};

/* Must be the first member of the params of a stage that uses BOX_SIZE and BOX_GRAVITY. */
struct box {
    struct length width, height;
    int ratio; /* -1, 1: the largest part, the smallest canvas with sides like width:height; 0: neither */
    bool has_position; /* +X+Y was given */
    int x, y;          /* position of the part's top left pixel in the whole; valid if has_position */
    int gravity;       /* index into the choices of BOX_GRAVITY; used if not has_position */
};

enum { BOX_MAX_SIDE = 1 << 20, BOX_MAX_PERCENT = 1000000 };

/* Callback `unused` of gravity=: returns a message if +X+Y was given, otherwise NULL. */
const char *box_gravity_unused(const void *params);

/* Rows of the option table. */
#define BOX_SIZE(parser, text)                                                                               \
    {                                                                                                        \
        .type = OPTION_CUSTOM, .value = "WxH[+X+Y]|W:H", .help = (text), .parse = (parser),                  \
        .print = box_print                                                                                   \
    }
#define BOX_GRAVITY(text)                                                                                    \
    {                                                                                                        \
        .name = "gravity", .type = OPTION_CHOICE, .offset = offsetof(struct box, gravity),                   \
        .fallback = "center",                                                                                \
        .choices = "center|north|northeast|east|southeast|south|southwest|west|northwest", .help = (text),   \
        .hint = "top is north, left is west", .unused = box_gravity_unused                                   \
    }

/* Parse "200x150", "200x150+10+20", "50%", "50%x100" or "16:9" into a struct box. A part is limited to 100
 * percent of the picture, a canvas to BOX_MAX_PERCENT and BOX_MAX_SIDE pixels a side. */
enum status box_parse_part(const char *text, void *field, struct error *error);
enum status box_parse_canvas(const char *text, void *field, struct error *error);
void box_print(FILE *file, const void *field);

/* Sets width and height of `out` for a picture of shape `in`. */
void box_set_size(const struct box *box, const struct shape *in, struct shape *out);

/* A pixel, counted from the top left. */
struct point {
    int x, y;
};

/* Returns the pixel of `whole` that is the top left pixel of `part`. */
struct point box_position(const struct box *box, const struct shape *part, const struct shape *whole);

/* Converts a box of luma pixels to one of chroma pixels, for subsampled video. `whole` and `part` are luma
 * shapes. Fails if the part begins between two chroma pixels. */
enum status box_adapt_to_chroma(struct box *box, const struct shape *whole, const struct shape *part,
                                const struct chroma *chroma, struct error *error);

#endif
