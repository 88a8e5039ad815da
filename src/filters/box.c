/* Parsing, printing and placement of the rectangles of --crop and --extend.
 *
 * The text becomes a struct box once, before any picture is open. box_set_size() and box_position() then
 * compute pixels for each picture, as percentages and gravity depend on its size. Lengths round to the
 * nearest pixel, at least one. With center, an odd difference leaves the extra pixel at the end. */
#include "filters/box.h"

#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Parses a length at *text and advances *text past it. Pixels must be whole numbers. */
static bool read_length(const char **text, double most_percent, double most, struct length *length)
{
    if (!text_parse_real(text, &length->number))
        return false;
    length->is_percent = **text == '%';
    *text += length->is_percent;
    return length->number > 0 && length->number <= (length->is_percent ? most_percent : most) &&
           (length->is_percent || length->number == floor(length->number));
}

/* Parses "W:H". */
static bool read_ratio(const char *text, struct box *box)
{
    enum { RATIO_MAX = 1000 };
    double *width = &box->width.number, *height = &box->height.number;
    return text_parse_real(&text, width) && *text++ == ':' && text_parse_real(&text, height) &&
           *text == '\0' && *width > 0 && *height > 0 && *width <= RATIO_MAX * *height &&
           *height <= RATIO_MAX * *width;
}

/* Parses "W:H", and sets box->ratio to `ratio`; or "WxH" or "P%", and "+X+Y" if it follows. A single length
 * must be a percentage. */
static bool read_box(const char *text, double most_percent, double most, int ratio, struct box *box)
{
    int end = 0;
    if (read_ratio(text, box)) {
        box->ratio = ratio;
        return true;
    }
    if (!read_length(&text, most_percent, most, &box->width))
        return false;
    box->height = box->width;
    if (*text == 'x') {
        text++;
        if (!read_length(&text, most_percent, most, &box->height))
            return false;
    } else if (!box->width.is_percent) {
        return false;
    }
    box->has_position = *text != '\0';
    return !box->has_position || (sscanf(text, "+%9d+%9d%n", &box->x, &box->y, &end) == 2 && end > 0 &&
                                  text[end] == '\0' && box->x >= 0 && box->y >= 0);
}

enum status box_parse_part(const char *text, void *field, struct error *error)
{
    if (read_box(text, 100, INT_MAX, -1, field))
        return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "expected WxH, WxH+X+Y (where it begins, from the left and the top), P%% or W:H, as in "
                "200x150+10+20, 50%% or 16:9");
}

enum status box_parse_canvas(const char *text, void *field, struct error *error)
{
    const char *rest = text, *comma = strchr(text, ',');
    struct length pixels;
    if (read_box(text, BOX_MAX_PERCENT, BOX_MAX_SIDE, 1, field))
        return STATUS_OK;
    if (read_length(&rest, 0, BOX_MAX_SIDE, &pixels) && *rest == '\0')
        return fail(error, STATUS_USAGE, "not a size; --border %s adds pixels on every side", text);
    if (comma != NULL && isalpha((unsigned char)comma[1]))
        return fail(error, STATUS_USAGE, "did you mean %.*s,color=%s?", (int)(comma - text), text, comma + 1);
    return fail(error, STATUS_USAGE,
                "expected WxH, WxH+X+Y (where the picture begins, from the left and the top), P%% or W:H, as "
                "in 800x600+10+20, 120%% or 16:9, with sides up to %d",
                BOX_MAX_SIDE);
}

const char *box_gravity_unused(const void *params)
{
    return ((const struct box *)params)->has_position ? "and +X+Y both say where; leave one out" : NULL;
}

static void print_length(FILE *file, const struct length *length)
{
    print_real(file, length->number);
    if (length->is_percent)
        fputc('%', file);
}

void box_print(FILE *file, const void *field)
{
    const struct box *box = field;
    print_length(file, &box->width);
    fputc(box->ratio != 0 ? ':' : 'x', file);
    print_length(file, &box->height);
    if (box->has_position)
        fprintf(file, "+%d+%d", box->x, box->y);
}

/* Rounds a side of a ratio to pixels, at least one. */
static int round_side(double pixels)
{
    return (int)fmin(fmax(1, round(pixels)), INT_MAX);
}

/* Converts a length to pixels, at least one. */
static int length_pixels(const struct length *length, int whole)
{
    const double pixels = length->is_percent ? fmax(1, round(whole * length->number / 100)) : length->number;
    return (int)fmin(pixels + 2.0 * length->margin, INT_MAX);
}

void box_set_size(const struct box *box, const struct shape *in, struct shape *out)
{
    if (box->ratio != 0) {
        /* One side is the picture's. The other side is at most the picture's for a part, and at least the
         * picture's for a canvas. */
        const double ratio = box->width.number / box->height.number, width = in->height * ratio;
        const bool keeps_height = box->ratio < 0 ? width < in->width : width > in->width;
        out->width = keeps_height ? round_side(width) : in->width;
        out->height = keeps_height ? in->height : round_side(in->width / ratio);
        return;
    }
    out->width = length_pixels(&box->width, in->width);
    out->height = length_pixels(&box->height, in->height);
}

/* Returns the first pixel of a part along one axis. `side` is -1, 0 or 1: at the start, centre, or end. */
static int aligned_begin(int part, int whole, int side)
{
    return (int)(((long long)whole - part) * (side + 1) / 2);
}

struct point box_position(const struct box *box, const struct shape *part, const struct shape *whole)
{
    /* Indexed by the choices of BOX_GRAVITY. */
    static const int across[] = {0, 0, 1, 1, 1, 0, -1, -1, -1}, down[] = {0, -1, -1, 0, 1, 1, 1, 0, -1};
    if (box->has_position)
        return (struct point){box->x, box->y};
    return (struct point){aligned_begin(part->width, whole->width, across[box->gravity]),
                          aligned_begin(part->height, whole->height, down[box->gravity])};
}

enum status box_adapt_to_chroma(struct box *box, const struct shape *whole, const struct shape *part,
                                const struct chroma *chroma, struct error *error)
{
    const struct point at = box_position(box, part, whole);
    /* A chroma pixel cannot be split between the part and the rest. */
    if (at.x % chroma->across != 0 || at.y % chroma->down != 0)
        return fail(error, STATUS_FAILED,
                    "the part begins at %+d%+d, between two pixels of the video's colour; begin it at "
                    "multiples of %d and %d",
                    abs(at.x), abs(at.y), chroma->across, chroma->down);
    box->width = (struct length){.number = ceil_div(chroma->luma_out->width, chroma->across)};
    box->height = (struct length){.number = ceil_div(chroma->luma_out->height, chroma->down)};
    box->ratio = 0;
    box->has_position = true;
    box->x = at.x / chroma->across;
    box->y = at.y / chroma->down;
    return STATUS_OK;
}
