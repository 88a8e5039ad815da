/* Rotates by any angle around the centre, clockwise as y points down:
 *
 *     multiples of 90   a move: samples of any type are copied (filters/warp.h)
 *     other angles      a warp, on a canvas that contains the whole picture, or with crop=inside on the
 *                       largest one that the picture fills
 *
 * The map from an output position q to a position p of the input has the centres of both at one place:
 *
 *     p - (in - 1) / 2 = [ cos  sin; -sin  cos ] (q - (out - 1) / 2)
 *
 * A rotated slice may need all rows of the input, if the map leads upwards (caps.needs_all_rows). Chroma
 * planes are rotated by a map that preserves their siting, which needs square chroma pixels, except for
 * half turns. Four planes of 4096x4096 by 30 degrees: 695 us on an H200 in buffers, 623 in images.
 *
 * Tried and lost: the texture unit's bilinear filter. Its weights have 8 bits, off by 4e-3 of full scale, and
 * it is no faster than four loads. */
#include "base/exact.h"
#include "filters/warp.h"
#include "register/page_angle.h"

#include <math.h>
#include <string.h>

enum crop { CROP_NOT_GIVEN, CROP_INSIDE, CROP_SAME };

/* The primary value. */
struct angle {
    double degrees; /* clockwise; any finite number */
    bool automatic; /* measured; `degrees` is 0 until then */
};

struct rotate {
    struct warp_options options;
    struct angle angle;
    int crop;          /* enum crop */
    bool is_chroma;    /* a chroma plane: `map` replaces the angle */
    struct affine map; /* from the output's chroma positions to the input's */
};

/* Returns why crop= cannot be used, or NULL. */
static const char *crop_unused(const void *params)
{
    const struct rotate *rotate = params;
    return rotate->crop != CROP_NOT_GIVEN && rotate->options.size.width > 0
               ? "and size= both set the size; leave one out"
               : NULL;
}

/* Returns why outside= has no effect, or NULL: crop= sets it (rotate_check). */
static const char *outside_unused(const void *params)
{
    const struct rotate *rotate = params;
    return rotate->crop != CROP_NOT_GIVEN && rotate->options.outside == OUTSIDE_ZERO
               ? "is edge with crop=; for empty corners add --edge zero"
               : NULL;
}

/* Parses "3.2" or "auto". */
static enum status parse_angle(const char *text, void *field, struct error *error)
{
    struct angle angle = {.automatic = strcmp(text, "auto") == 0};
    enum status status = angle.automatic ? STATUS_OK : option_parse_number(text, &angle.degrees, error);
    if (status != STATUS_OK && strcmp(error->text, "not a number") == 0)
        return fail(error, STATUS_USAGE, "not an angle, nor auto; did you mean 90 (right) or -90 (left)?");
    if (status == STATUS_OK)
        *(struct angle *)field = angle;
    return status;
}

static void print_angle(FILE *file, const void *field)
{
    const struct angle *angle = field;
    if (angle->automatic)
        fputs("auto", file);
    else
        print_real(file, angle->degrees);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct rotate, angle),
     .choices = "auto",
     .value = "DEGREES|auto",
     .help = "clockwise; any number, negative ones counterclockwise; auto makes the lines of a page level",
     .parse = parse_angle,
     .print = print_angle},
    {.name = "crop",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct rotate, crop),
     .choices = "|inside|same",
     .unused = crop_unused,
     .help = "cut to the largest rectangle without empty corners, or to the size of the picture; sets "
             "outside=edge"},
    WARP_OPTIONS(outside_unused),
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --rotate 90 turned.png", "a quarter to the right; no sample changes"},
    {"climg samples/scene.png --rotate -3.5 level.png", "a slanting horizon made level, on a larger canvas"},
    {"climg samples/tilted.png --rotate 3.2,crop=inside straight.png",
     "straightened, and the empty corners cut off"},
    {"climg samples/page.jpg --rotate auto,crop=inside level.jpg",
     "a page with level lines, without its corners"},
    {"climg samples/tilted.png --rotate 3.2,filter=lanczos sharp.png", "sharper than the bicubic filter"},
    {"climg samples/soft-alpha.png --rotate 30,size=200x160 tilted.png",
     "the middle of it, transparent around the picture"},
    {NULL, NULL},
};

/* Returns the number of clockwise quarter turns, 0 to 3, or -1 for other angles. */
static int quarter_turns(const struct rotate *rotate)
{
    double turn = fmod(rotate->angle.degrees, 360);
    turn += turn < 0 ? 360 : 0;
    return fmod(turn, 90) == 0 ? (int)(turn / 90) % 4 : -1;
}

/* Computes cosine and sine of the angle, exact for quarter turns: 90 degrees in radians are rounded. */
static void rotate_direction(const struct rotate *rotate, double *cosine, double *sine)
{
    static const int cosines[] = {1, 0, -1, 0};
    static const double PI = 3.14159265358979323846;
    double angle = fmod(rotate->angle.degrees, 360) * PI / 180;
    int quarter = quarter_turns(rotate);
    *cosine = quarter >= 0 ? cosines[quarter] : exact_cos(angle);
    *sine = quarter >= 0 ? cosines[(quarter + 3) % 4] : exact_sin(angle);
}

/* Computes the largest axis-parallel rectangle W x H inside a rotated picture of w x h, for the cosine c and
 * the sine s of the angle, both made positive. Seen from the picture, the rectangle is rotated, and its
 * bounding box must fit:
 *
 *     W c + H s <= w,    W s + H c <= h
 *
 * The area W H is largest where both limits are reached (by Cramer's rule, below), unless the picture is so
 * long that only its shorter side is a limit. If that side is h, W s = H c = h / 2, as two numbers of a given
 * sum have the largest product if they are equal. This W and H must satisfy the other limit, which
 * becomes h / (2 s c) <= w. */
static void largest_inside(double w, double h, double c, double s, double *width, double *height)
{
    const double determinant = c * c - s * s; /* 0 only at 45 degrees, which the first two cases include */
    const double rounding = 1 + 1e-9;
    if (h <= w && h <= 2 * s * c * w * rounding) {
        *width = h / (2 * s);
        *height = h / (2 * c);
    } else if (w <= h && w <= 2 * s * c * h * rounding) {
        *width = w / (2 * c);
        *height = w / (2 * s);
    } else {
        *width = (w * c - h * s) / determinant;
        *height = (h * c - w * s) / determinant;
    }
}

/* Computes the size of the canvas: size=, the largest rectangle inside the rotated picture, rounded down, or
 * its bounding box, rounded up. A thousandth of a pixel is a rounding error. */
static void rotate_size(const struct rotate *rotate, const struct shape *in, double *width, double *height)
{
    double cosine, sine;
    rotate_direction(rotate, &cosine, &sine);
    const double c = fabs(cosine), s = fabs(sine);
    if (rotate->options.size.width > 0) {
        *width = rotate->options.size.width;
        *height = rotate->options.size.height;
    } else if (rotate->crop == CROP_INSIDE) {
        largest_inside(in->width, in->height, c, s, width, height);
        *width = fmax(floor(*width + 1e-3), 1);
        *height = fmax(floor(*height + 1e-3), 1);
    } else if (rotate->crop == CROP_SAME) {
        *width = in->width;
        *height = in->height;
    } else {
        *width = ceil(in->width * c + in->height * s - 1e-3);
        *height = ceil(in->width * s + in->height * c - 1e-3);
    }
}

/* Returns the map from the output to the input, which maps one centre to the other. */
static struct affine rotate_map(const struct rotate *rotate, const struct shape *in)
{
    double cosine, sine, width, height;
    if (rotate->is_chroma)
        return rotate->map;
    rotate_direction(rotate, &cosine, &sine);
    rotate_size(rotate, in, &width, &height);
    double x = (width - 1) / 2, y = (height - 1) / 2;
    return (struct affine){cosine, sine,   (in->width - 1) / 2.0 - cosine * x - sine * y,
                           -sine,  cosine, (in->height - 1) / 2.0 + sine * x - cosine * y};
}

/* Returns the warp's options. Quarter turns copy samples, unless size= moves the centre by half a pixel. */
static struct warp_options rotate_warp_options(const struct rotate *rotate, const struct affine *affine)
{
    struct warp_options warping = rotate->options;
    if (quarter_turns(rotate) >= 0 && affine->x == floor(affine->x) && affine->y == floor(affine->y))
        warping.resampler = RESAMPLE_NEAREST;
    return warping;
}

/* With crop=inside only the filter reaches beyond the picture, by a pixel or two, where zero would darken the
 * border; with crop=same its corners do. */
static enum status rotate_check(void *params, struct error *error)
{
    struct rotate *rotate = params;
    (void)error;
    if (rotate->crop != CROP_NOT_GIVEN)
        rotate->options.outside = OUTSIDE_EDGE;
    return STATUS_OK;
}

/* Sets the size of the canvas. Fails if it, or the work, is beyond the limits of filters/warp.h. */
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

/* Returns the rows under the rotated slice, which is as wide as the canvas. If positions beyond the border
 * are mirrored, a picture that is much wider than high may need any of its rows. */
static struct interval rotate_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct rotate *rotate = params;
    struct affine affine = rotate_map(rotate, in);
    struct warp_options warping = rotate_warp_options(rotate, &affine);
    double width, height;
    if (rotate->options.outside == OUTSIDE_EDGE && in->width * fabs(affine.yx) > in->height)
        return rows_full(in->height);
    rotate_size(rotate, in, &width, &height);
    return warp_source_rows(&affine, &warping, (int)width, in, out);
}

static struct affine rotate_inverse_map(const void *params, const struct shape *in)
{
    const struct affine affine = rotate_map(params, in);
    return affine_move_origin(&affine, 0.5);
}

/* A turn by 90 or 270 degrees is a lossless move unless size= or crop=same is given, one by 0 or 180 degrees
 * unless size= is given: a move has no pixels beyond the picture. */
static struct stage_caps rotate_caps(const void *params)
{
    const struct rotate *rotate = params;
    double cosine, sine;
    rotate_direction(rotate, &cosine, &sine);
    const struct affine linear = {cosine, sine, 0, -sine, cosine, 0}; /* the map without its offset */
    const int turns = quarter_turns(rotate);
    const bool is_known = !rotate->angle.automatic;
    const bool is_whole = !rotate->is_chroma || warp_is_whole(&rotate->map);
    const bool is_inside = rotate->options.size.width == 0 && (rotate->crop != CROP_SAME || turns % 2 == 0);
    /* A cropped slice has more of the picture inside than beyond the border, so slices read downwards. */
    const bool advances = linear.yy > 0 && rotate->crop != CROP_NOT_GIVEN;
    return (struct stage_caps){.needs_all_rows = !advances && warp_needs_all_rows(&linear, &rotate->options),
                               .lossless_move = turns >= 0 && is_inside && is_whole && is_known,
                               .groups = is_known,
                               .gathers = true,
                               .needs_upright = true,
                               .leaves_missing = rotate->options.outside == OUTSIDE_ZERO,
                               .relative_cost = turns >= 0 && is_whole ? 1 : 6};
}

/* Half turns work with any subsampling, other angles if chroma pixels are square. After a quarter turn of
 * 4:2:2 the planes have sizes that no Y4M has, and the writer fails. */
static enum status rotate_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct rotate *rotate = params;
    rotate_check(rotate, error);
    const struct affine luma = rotate_map(rotate, chroma->luma_in);
    rotate->map = warp_chroma_map(&luma, chroma);
    rotate->is_chroma = true;
    if (quarter_turns(rotate) >= 0 && rotate->options.size.width == 0) {
        rotate->options.outside = OUTSIDE_EDGE; /* chroma between samples is interpolated */
        return STATUS_OK;
    }
    if (chroma->across != chroma->down)
        return fail(error, STATUS_FAILED,
                    "works on video whose colour is as wide as high, 4:2:0 or 4:4:4; convert it first, as "
                    "with ffmpeg -pix_fmt yuv444p");
    return warp_adapt_options_to_chroma(&rotate->options, chroma, error);
}

/* Enqueues a move of samples if the stage is the first and a lossless move, else a warp. */
static enum status run_rotate(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct rotate *rotate = params;
    struct affine affine = rotate_map(rotate, &in->shape);
    if (out->raster)
        return move_pixels(run, &affine, in, out, error);
    struct warp_options warping = rotate_warp_options(rotate, &affine);
    return warp_image(run, &affine, &warping, in, out, error);
}

/* ---------------------------------------------------------------- --rotate auto */

static bool rotate_is_automatic(const void *params)
{
    return ((const struct rotate *)params)->angle.automatic;
}

/* Replaces "auto" in the value by the angle. */
static enum status rotate_end(void *context, const void *params, const char *written,
                              struct replacement *replacement, struct error *error)
{
    static const double MAX_DEGREES = 15; /* degrees, as --deskew */
    double degrees;
    (void)params;
    if (page_angle_find(context, MAX_DEGREES, &degrees, replacement, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Keys may precede "auto". */
    const char *at = written;
    while (strncmp(at, "auto", 4) != 0 || (at[4] != ',' && at[4] != '\0'))
        at = strchr(at, ',') + 1;
    const int length = snprintf(replacement->value, sizeof replacement->value, "%.*s%.3f%s",
                                (int)(at - written), written, degrees, at + strlen("auto"));
    return length < (int)sizeof replacement->value
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "--rotate: its value is too long");
}

static const struct measurement rotate_measurement = {.needed = rotate_is_automatic,
                                                      .sufficient_side = PAGE_ANGLE_SIDE,
                                                      .usual_stage = "rotate",
                                                      .usual_value = "1",
                                                      .size = sizeof(struct page_angle),
                                                      .begin = page_angle_begin,
                                                      .add = page_angle_add,
                                                      .end = rotate_end,
                                                      .release = page_angle_release};

const struct stage stage_rotate = {
    .name = "rotate",
    .brief = "rotate by any angle",
    .manual =
        "Rotates the picture clockwise around its centre. The canvas grows to hold all of it; size=WxH crops "
        "or extends the result around its centre. Multiples of 90 copy the samples unchanged, also 16 bit "
        "and float; a JPEG of whole blocks is turned without coding it again, which -v says. Other angles "
        "interpolate as --warp does. Beyond the picture everything is 0: black, or "
        "transparent if the picture has alpha; with outside=edge the rule of --edge applies.\n\n"
        "auto finds the angle, as --deskew does, of at most 15 degrees; a page without a clear angle is not "
        "turned, and a warning says so.\n\n"
        "crop=inside cuts the result to the rectangle of the largest area that has no empty corner: a "
        "picture of 4000x3000, rotated by 3.2 degrees, is 3850x2789 then. At its border the filter follows "
        "--edge. crop=same keeps the size of the picture.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct rotate),
    .check = rotate_check,
    .shape = rotate_shape,
    .rows = rotate_rows,
    .measurement = &rotate_measurement,
    .caps = rotate_caps,
    .inverse_map = rotate_inverse_map,
    .adapt_to_chroma = rotate_adapt_to_chroma,
    .run = run_rotate,
};
