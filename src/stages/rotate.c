/* Rotates by any angle.
 *
 *   multiples of 90   a move: samples of any type are copied (filters/warp.h)
 *   other angles      a warp around the centre, on a canvas that contains the whole picture
 *
 * A rotated slice may need all rows of the input, if the map leads upwards (caps.needs_all_rows). Chroma
 * planes are rotated by a map that preserves their siting. Four planes of 4096x4096 by 30 degrees: 695 us on
 * an H200 in buffers, 623 in images. */
#include "base/exact.h"
#include "filters/warp.h"

#include <math.h>
#include <stdlib.h>

struct rotate {
    struct warp_options options;
    double degrees;
    bool is_chroma;    /* a chroma plane: `map` replaces the angle */
    struct affine map; /* from the output's chroma positions to the input's */
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

/* Returns the number of quarter turns, 0 to 3, or -1 for other angles. */
static int quarter_turns(const struct rotate *rotate)
{
    double turn = fmod(rotate->degrees, 360);
    turn += turn < 0 ? 360 : 0;
    return fmod(turn, 90) == 0 ? (int)(turn / 90) % 4 : -1;
}

/* Computes cosine and sine, exact for quarter turns. */
static void find_direction(const struct rotate *rotate, double *cosine, double *sine)
{
    static const int cosines[] = {1, 0, -1, 0};
    static const double PI = 3.14159265358979323846;
    double angle = fmod(rotate->degrees, 360) * PI / 180;
    int quarter = quarter_turns(rotate);
    *cosine = quarter >= 0 ? cosines[quarter] : exact_cos(angle);
    *sine = quarter >= 0 ? cosines[(quarter + 3) % 4] : exact_sin(angle);
}

/* Computes the size of the canvas: size=, or the bounding box of the rotated picture. The box is rounded up,
 * but an excess of a thousandth of a pixel, which is rounding, does not add a pixel. */
static void rotate_size(const struct rotate *rotate, const struct shape *in, double *width, double *height)
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

/* Returns the map from the output to the input, which maps one centre to the other. */
static struct affine rotate_map(const struct rotate *rotate, const struct shape *in)
{
    double cosine, sine, width, height;
    if (rotate->is_chroma)
        return rotate->map;
    find_direction(rotate, &cosine, &sine);
    rotate_size(rotate, in, &width, &height);
    double x = (width - 1) / 2, y = (height - 1) / 2;
    return (struct affine){cosine, sine,   (in->width - 1) / 2.0 - cosine * x - sine * y,
                           -sine,  cosine, (in->height - 1) / 2.0 + sine * x - cosine * y};
}

/* Quarter turns copy samples, unless size= puts the centres half a pixel apart. */
static struct warp_options rotate_warp_options(const struct rotate *rotate, const struct affine *affine)
{
    struct warp_options found = rotate->options;
    found.copies =
        quarter_turns(rotate) >= 0 && affine->x == floor(affine->x) && affine->y == floor(affine->y);
    return found;
}

static enum status rotate_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    const struct rotate *rotate = params;
    double width, height;
    rotate_size(rotate, in, &width, &height);
    if (width > WARP_MAX_SIDE || height > WARP_MAX_SIDE)
        return fail(error, STATUS_FAILED,
                    "--rotate would make %.0fx%.0f pixels of %dx%d; a side is at most %d", width, height,
                    in->width, in->height, WARP_MAX_SIDE);
    out->width = (int)fmax(width, 1);
    out->height = (int)fmax(height, 1);
    struct affine affine = rotate_map(rotate, in);
    return warp_check("--rotate", &affine, &rotate->options, out, error);
}

static struct rows rotate_rows(const void *params, const struct shape *in, struct rows out)
{
    const struct rotate *rotate = params;
    struct affine affine = rotate_map(rotate, in);
    struct warp_options found = rotate_warp_options(rotate, &affine);
    double width, height;
    rotate_size(rotate, in, &width, &height);
    return warp_source_rows(&affine, &found, (int)width, in, out);
}

static struct affine rotate_inverse_map(const void *params, const struct shape *in)
{
    const struct affine affine = rotate_map(params, in);
    return affine_counted(&affine, 0.5);
}

/* A quarter turn is a lossless move if size= neither crops nor extends the picture. */
static struct stage_caps rotate_caps(const void *params)
{
    const struct rotate *rotate = params;
    struct affine linear = {0};
    find_direction(rotate, &linear.yy, &linear.xy);
    const bool is_whole = !rotate->is_chroma || warp_is_whole(&rotate->map);
    return (struct stage_caps){.needs_all_rows = warp_needs_all_rows(&linear, &rotate->options),
                               .lossless_move =
                                   quarter_turns(rotate) > 0 && rotate->options.size.width == 0 && is_whole,
                               .groups = true,
                               .needs_upright = true,
                               .relative_cost = quarter_turns(rotate) >= 0 && is_whole ? 1 : 6};
}

/* Quarter turns work for all subsampling, other angles if across and down are equal. */
static enum status rotate_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct rotate *rotate = params;
    const struct affine luma = rotate_map(rotate, chroma->in);
    rotate->map = warp_chroma_map(&luma, chroma);
    rotate->is_chroma = true;
    if (quarter_turns(rotate) >= 0 && rotate->options.size.width == 0) {
        rotate->options.outside = OUTSIDE_EDGE; /* chroma between samples is interpolated */
        return STATUS_OK;
    }
    if (chroma->across != chroma->down)
        return fail(
            error, STATUS_FAILED,
            "works on video whose colour is as wide as high, 4:2:0 or 4:4:4; convert it first, as with "
            "ffmpeg -pix_fmt yuv444p");
    return warp_adapt_options_to_chroma(&rotate->options, chroma, error);
}

static enum status run_rotate(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct rotate *rotate = params;
    struct affine affine = rotate_map(rotate, &in->shape);
    if (out->raster)
        return move_pixels(run, &affine, in, out, error);
    struct warp_options found = rotate_warp_options(rotate, &affine);
    return warp_image(run, &affine, &found, in, out, error);
}

const struct stage stage_rotate = {
    .name = "rotate",
    .brief = "rotate by any angle",
    .manual =
        "Rotates the picture clockwise around its centre. The canvas grows to hold all of it; size=WxH "
        "crops or extends the result around its centre. Multiples of 90 copy the samples unchanged, also "
        "16 bit and float. Other angles interpolate as --warp does. Beyond the picture everything is 0: "
        "black, or transparent if the picture has alpha; with outside=edge the rule of --edge applies.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct rotate),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .shape = rotate_shape,
    .rows = rotate_rows,
    .caps = rotate_caps,
    .inverse_map = rotate_inverse_map,
    .adapt_to_chroma = rotate_adapt_to_chroma,
    .run = run_rotate,
};
