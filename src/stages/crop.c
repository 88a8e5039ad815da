#include "filters/warp.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* A length in pixels, or in percent of the picture's. */
struct length {
    double number;
    bool percent;
};

struct box {
    struct length width, height;
    bool placed; /* x and y are given */
    int x, y;
};

enum gravity { CENTER, NORTH, NORTHEAST, EAST, SOUTHEAST, SOUTH, SOUTHWEST, WEST, NORTHWEST };

struct crop {
    struct box box;
    int gravity;
};

static bool read_length(const char **text, struct length *length)
{
    char *end;
    length->number = strtod(*text, &end);
    length->percent = *end == '%';
    const bool right = end != *text && length->number > 0 &&
                       length->number <= (length->percent ? 100 : INT_MAX) &&
                       (length->percent || length->number == floor(length->number));
    *text = end + length->percent;
    return right;
}

/* "+X+Y"; an empty text leaves the place open. */
static bool read_place(const char *text, struct box *box)
{
    int length = 0;
    box->placed = *text != '\0';
    return !box->placed || (sscanf(text, "+%9d+%9d%n", &box->x, &box->y, &length) == 2 && length > 0 &&
                            text[length] == '\0' && box->x >= 0 && box->y >= 0);
}

/* "200x150", "200x150+10+20", "50%", "50%x100". */
static enum status parse_box(const char *text, void *field, struct error *error)
{
    struct box box = {.placed = false};
    bool right = read_length(&text, &box.width);
    box.height = box.width;
    if (right && *text == 'x') {
        text++;
        right = read_length(&text, &box.height);
    } else {
        right = right && box.width.percent;
    }
    if (!right || !read_place(text, &box))
        return fail(
            error, STATUS_USAGE,
            "not a part of a picture; 200x150, 200x150+10+20 (from the left and the top) and 50%% are");
    *(struct box *)field = box;
    return STATUS_OK;
}

static void print_length(FILE *file, const struct length *length)
{
    print_real(file, length->number);
    if (length->percent)
        fputc('%', file);
}

static void print_box(FILE *file, const void *params)
{
    const struct box *box = &((const struct crop *)params)->box;
    print_length(file, &box->width);
    fputc('x', file);
    print_length(file, &box->height);
    if (box->placed)
        fprintf(file, "+%d+%d", box->x, box->y);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct crop, box),
     .value = "WxH[+X+Y]",
     .help = "the size that is kept, in pixels or percent, and where it begins, counted from the top left",
     .parse = parse_box,
     .print = print_box},
    {.name = "gravity",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct crop, gravity),
     .fallback = "center",
     .choices = "center|north|northeast|east|southeast|south|southwest|west|northwest",
     .help = "the side or corner at which the part lies where +X+Y is not given"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --crop 50% middle.png", "the middle of a picture"},
    {"climg samples/scene.png --crop 40x30+12+8 part.png",
     "a part, 12 pixels from the left and 8 from the top"},
    {"climg samples/scene.png --crop 30x30,gravity=southeast corner.png", "the lower right corner"},
    {NULL, NULL},
};

static int in_pixels(const struct length *length, int whole)
{
    return length->percent ? (int)fmax(1, round(whole * length->number / 100)) : (int)length->number;
}

/* Where `part` of `whole` begins: `side` is -1, 0 or 1, for the beginning, the middle and the end. */
static int begin_of(int part, int whole, int side)
{
    return (whole - part) * (side + 1) / 2;
}

static struct affine places_of_pixels(const struct crop *crop, const struct shape *in)
{
    static const int across[] = {0, 0, 1, 1, 1, 0, -1, -1, -1}, down[] = {0, -1, -1, 0, 1, 1, 1, 0, -1};
    const struct box *box = &crop->box;
    const int x = begin_of(in_pixels(&box->width, in->width), in->width, across[crop->gravity]),
              y = begin_of(in_pixels(&box->height, in->height), in->height, down[crop->gravity]);
    return (struct affine){1, 0, box->placed ? box->x : x, 0, 1, box->placed ? box->y : y};
}

static enum status shape(const void *params, const struct shape *in, struct shape *out, struct error *error)
{
    const struct crop *crop = params;
    const struct affine at = places_of_pixels(crop, in);
    out->width = in_pixels(&crop->box.width, in->width);
    out->height = in_pixels(&crop->box.height, in->height);
    if (at.x >= 0 && at.y >= 0 && at.x + out->width <= in->width && at.y + out->height <= in->height)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "--crop: the picture is %dx%d, which does not hold %dx%d from +%.0f+%.0f", in->width,
                in->height, out->width, out->height, fmax(at.x, 0), fmax(at.y, 0));
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    const int y = (int)places_of_pixels(params, in).y;
    return (struct rows){out.begin + y, out.end + y};
}

static struct affine places(const void *params, const struct shape *in)
{
    return places_of_pixels(params, in);
}

static enum status run_crop(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct affine affine = places_of_pixels(params, &in->shape);
    return move_image(run, &affine, in, out, error);
}

const struct stage stage_crop = {
    .name = "crop",
    .brief = "keep a part of the picture",
    .manual =
        "Keeps a part of WxH pixels, or of that many percent of the picture, and drops what lies around it. "
        "+X+Y says where it begins; without that it lies in the middle, or where gravity= says. The part "
        "must "
        "lie in the picture. Samples are copied unchanged, whatever their type.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct crop),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .shape = shape,
    .rows = rows,
    .places = places,
    .traits = move_traits,
    .run = run_crop,
};
