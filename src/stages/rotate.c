#include "filters/warp.h"

#include <math.h>
#include <stdlib.h>

struct rotate {
    struct warp_options options;
    double degrees;
};

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct rotate, degrees),
     .value = "DEGREES",
     .help = "clockwise; any number, negative ones counterclockwise"},
    WARP_OPTIONS,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --rotate 90 turned.png", "a quarter to the right; no sample changes"},
    {"climg samples/scene.png --rotate -3.5 level.png", "a slanting horizon made level, on a larger canvas"},
    {"climg samples/soft-alpha.png --rotate 30,size=200x160 tilted.png",
     "the middle of it, transparent around the picture"},
    {NULL, NULL},
};

/* Quarters of a turn, 0 to 3; -1 for other angles. */
static int quarters(const struct rotate *rotate)
{
    double turn = fmod(rotate->degrees, 360);
    turn += turn < 0 ? 360 : 0;
    return fmod(turn, 90) == 0 ? (int)(turn / 90) % 4 : -1;
}

/* Exact for quarters of a turn. */
static void find_direction(const struct rotate *rotate, double *cosine, double *sine)
{
    static const int cosines[] = {1, 0, -1, 0};
    static const double PI = 3.14159265358979323846;
    double angle = fmod(rotate->degrees, 360) * PI / 180;
    int quarter = quarters(rotate);
    *cosine = quarter >= 0 ? cosines[quarter] : cos(angle);
    *sine = quarter >= 0 ? cosines[(quarter + 3) % 4] : sin(angle);
}

/* The size that holds all of the picture, but for what is less than a thousandth of a pixel. */
static void find_size(const struct rotate *rotate, const struct shape *in, double *width, double *height)
{
    double cosine, sine;
    find_direction(rotate, &cosine, &sine);
    *width = ceil(in->width * fabs(cosine) + in->height * fabs(sine) - 1e-3);
    *height = ceil(in->width * fabs(sine) + in->height * fabs(cosine) - 1e-3);
    if (rotate->options.size.width > 0) {
        *width = rotate->options.size.width;
        *height = rotate->options.size.height;
    }
}

/* Back from the output, around both centres. */
static struct affine find_affine(const struct rotate *rotate, const struct shape *in)
{
    double cosine, sine, width, height;
    find_direction(rotate, &cosine, &sine);
    find_size(rotate, in, &width, &height);
    double x = (width - 1) / 2, y = (height - 1) / 2;
    return (struct affine){cosine, sine,   (in->width - 1) / 2.0 - cosine * x - sine * y,
                           -sine,  cosine, (in->height - 1) / 2.0 + sine * x - cosine * y};
}

/* Quarters copy samples; where the centres are half a pixel apart, as size may put them, those interpolate
 * too. */
static struct warp_options find_options(const struct rotate *rotate, const struct affine *affine)
{
    struct warp_options found = rotate->options;
    found.copies = quarters(rotate) >= 0 && affine->x == floor(affine->x) && affine->y == floor(affine->y);
    return found;
}

static enum status shape(const void *params, const struct shape *in, struct shape *out, struct error *error)
{
    const struct rotate *rotate = params;
    double width, height;
    find_size(rotate, in, &width, &height);
    if (width > WARP_MOST_SIDE || height > WARP_MOST_SIDE)
        return fail(error, STATUS_FAILED,
                    "--rotate would make %.0fx%.0f pixels of %dx%d; a side is at most %d", width, height,
                    in->width, in->height, WARP_MOST_SIDE);
    out->width = (int)fmax(width, 1);
    out->height = (int)fmax(height, 1);
    struct affine affine = find_affine(rotate, in);
    return warp_check("--rotate", &affine, &rotate->options, out, error);
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    const struct rotate *rotate = params;
    struct affine affine = find_affine(rotate, in);
    struct warp_options found = find_options(rotate, &affine);
    double width, height;
    find_size(rotate, in, &width, &height);
    return warp_source_rows(&affine, &found, (int)width, in, out);
}

static bool sees_all(const void *params)
{
    const struct rotate *rotate = params;
    struct affine linear = {0};
    find_direction(rotate, &linear.yy, &linear.xy);
    return warp_sees_all(&linear, &rotate->options);
}

static struct affine places(const void *params, const struct shape *in)
{
    const struct affine affine = find_affine(params, in);
    return affine_counted(&affine, 0.5);
}

/* Where nothing is cut off and nothing added. */
static bool moves_samples(const void *params)
{
    const struct rotate *rotate = params;
    return quarters(rotate) > 0 && rotate->options.size.width == 0;
}

/* On CPU devices a work-item has a square of pixels, of which both the rows that it writes and those that it
 * crosses in the source stay in the cache. */
static const struct tunable tunable_turn = {
    .kernel = "turn_samples", .wide = {1, {1, 1}}, .grouped = {1, {16, 16}}};

enum { TILE = 64, LARGEST_UNIT = 16 };

/* As kernels/turn_samples.cl knows it. */
struct turn {
    cl_int xx, xy, x, yx, yy, y, width, first_row, rows;
};

/* From samples to samples, which are moved in the largest units that a pixel has. */
static enum status turn_samples(struct run *run, const struct affine *affine, const struct value *in,
                                const struct value *out, struct error *error)
{
    const struct planes dst = value_planes(out);
    const struct turn by = {(cl_int)affine->xx, (cl_int)affine->xy, (cl_int)affine->x,
                            (cl_int)affine->yx, (cl_int)affine->yy, (cl_int)affine->y,
                            dst.width,          dst.first_row,      dst.rows};
    int pixel = (int)out->raster->pixel, unit = pixel & -pixel;
    int tile = run->device->class == DEVICE_WIDE ? TILE : 1;
    unit = unit < LARGEST_UNIT ? unit : LARGEST_UNIT;
    struct work work = run_work(run, "turn_samples", "turn_samples", &dst);
    work.memory = MEMORY_BUFFER;
    work.form = device_form(run->device, MEMORY_BUFFER, &tunable_turn);
    work.grain = GRAIN_SINGLE;
    work.width = divided(dst.width, tile);
    work.height = divided(dst.rows, tile);
    work.depth = out->shape.images;
    work.bytes = 2 * raster_bytes(out->raster, dst.rows);
    define(&work.defines, "UNIT", unit);
    define(&work.defines, "UNITS", pixel / unit);
    define(&work.defines, "TILE", tile);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(in->raster), ARGS_RASTER(out->raster), ARG(by));
}

static enum status run_rotate(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct rotate *rotate = params;
    struct affine affine = find_affine(rotate, &in->shape);
    if (out->raster)
        return turn_samples(run, &affine, in, out, error);
    struct warp_options found = find_options(rotate, &affine);
    return warp_image(run, &affine, &found, in, out, error);
}

const struct stage stage_rotate = {
    .name = "rotate",
    .brief = "rotate by any angle",
    .manual = "Turns the picture clockwise around its centre. The canvas grows to hold all of it; size=WxH "
              "takes so much of the "
              "middle instead. Multiples of 90 copy the samples as they are, 16 bit and float too. Other "
              "angles interpolate "
              "as --warp does. Beyond the picture all is 0: black, transparent where the picture has alpha; "
              "with outside=edge "
              "it is what --edge says.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct rotate),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .shape = shape,
    .rows = rows,
    .sees_all = sees_all,
    .moves_samples = moves_samples,
    .groups = true,
    .places = places,
    .run = run_rotate,
};
