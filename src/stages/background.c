/* Removes a slowly varying background.
 *
 *   ball     S. Sternberg, "Biomedical image processing", IEEE Computer 16 (1983), in the form of ImageJ's
 *            "Subtract Background": brightness is height, and a ball rolls along the underside of the
 *            picture. The surface that it reaches is the background.
 *   tophat   the picture minus its opening by a square (filters/rank.h)
 *   divide   the picture divided by its Gaussian blur (filters/gaussian.h); missing values have weight 0. In
 *            slices a wide blur's coarse grid comes from an analysis pass: A4 at 600 dpi through --deskew,
 *            this stage and --threshold sauvola takes 0.73 s of processor time and 135 MB. Tried and
 *            lost: a halo for each slice, 0.59 s and 309 MB, or 0.89 s and 205 MB in slices of fewer rows
 *
 * With light=yes, brightness is negated first for ball; tophat uses the closing; divide maps equal brightness
 * to white instead of half of full scale.
 *
 * ball: a large ball rolls below a reduced copy of the picture, the minima of blocks of s x s pixels, with
 * its radius divided by s. Only the top of the ball is used: a square that is smaller than the ball by a
 * margin on each side. The table is ImageJ's, and results agree with ImageJ's to less than a count:
 *
 *     radius up to   10    30   100   more
 *     s               1     2     4      8
 *     cut off        24%   24%   32%    40%
 *
 *     src -> min_of_blocks         minima of blocks of s x s pixels
 *         -> roll                  height of the ball's centre for each position: an erosion
 *         -> roll                  upper envelope of all balls, the surface: a dilation
 *         -> subtract_background   bilinear interpolation between the centres of blocks, and subtraction
 *
 * Colours are processed independently, as by ImageJ with "Separate colors". NaN and infinities are ignored by
 * the minima and the interpolation of ball, and have weight 0 for divide. */
#include "filters/gaussian.h"
#include "filters/missing.h"
#include "filters/rank.h"

#include <math.h>
#include <stdlib.h>

enum method { BALL, TOPHAT, DIVIDE };

struct background {
    struct gaussian gaussian; /* for DIVIDE; must be first */
    int radius;               /* pixels; for DIVIDE the standard deviation */
    int method;               /* enum method */
    bool light;               /* the background is brighter than the objects */
    double counts;            /* for BALL: height of full scale in pixels */
};

/* The largest radius in pixels, as for --blur. A ball of this radius reaches 75 reduced pixels. */
enum { MAX_RADIUS = 1000 };

/* Returns why counts= has no effect, or NULL. */
static const char *counts_unused(const void *params)
{
    return ((const struct background *)params)->method == BALL ? NULL : "belongs to method=ball";
}

static const struct option options[] = {
    {.type = OPTION_INTEGER,
     .offset = offsetof(struct background, radius),
     .min = 1,
     .max = MAX_RADIUS,
     .value = "RADIUS",
     .help = "in pixels; ball, tophat: the full width of the largest thing to keep, or more (a cell 100 "
             "pixels wide: 100); divide: the standard deviation of the blur, 2 to 3 times the line spacing "
             "of a text",
     .hint = "--background removes an uneven background; a canvas colour is --extend WxH,color=white"},
    {.name = "method",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct background, method),
     .fallback = "ball",
     .choices = "ball|tophat|divide",
     .help = "ball: subtract a rolling ball; tophat: subtract the opening by a square; divide: by a Gaussian "
             "blur"},
    {.name = "light",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct background, light),
     .fallback = "no",
     .help = "the background is brighter than the objects, and becomes white"},
    {.name = "counts",
     .type = OPTION_REAL,
     .offset = offsetof(struct background, counts),
     .fallback = "255",
     .min = 1e-6,
     .max = 1e9,
     .value = "N",
     .unused = counts_unused,
     .help = "ball: height of white above black, in pixels (ImageJ: 255 for 8 bit, 65535 for 16 bit)"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/cells.png --background 50 nuclei.png", "bright nuclei on an even black ground"},
    {"climg samples/gradient16.png --background 15,method=tophat spots.png",
     "bright objects smaller than 31x31 pixels"},
    {"climg samples/page.jpg --background 40,method=divide,light=yes page.png",
     "a page that is lit unevenly: paper becomes white"},
    {NULL, NULL},
};

/* Computes the weights of the blur for DIVIDE. */
static enum status background_check(void *params, struct error *error)
{
    struct background *background = params;
    background->gaussian.sigma = background->radius;
    return background->method == DIVIDE ? gaussian_make(params, error) : STATUS_OK;
}

/* ---------------------------------------------------------------- rolling ball */

/* The top of the ball, which rolls below the reduced picture. */
struct ball {
    int shift;     /* log2 of factor */
    int factor;    /* side of a block in pixels */
    int reach;     /* half of the square's side, in reduced pixels */
    double radius; /* in reduced pixels */
};

/* Returns the ball for the radius, by the table at the top of this file. */
static struct ball ball_make(const struct background *background)
{
    static const struct {
        double max_radius;
        int percent;
    } sizes[] = {{10, 24}, {30, 24}, {100, 32}, {INFINITY, 40}};
    int i = 0;
    while (background->radius > sizes[i].max_radius)
        i++;
    const double radius = fmax(1, (double)background->radius / (1 << i));
    const int cut = (int)(sizes[i].percent * radius) / 100;
    return (struct ball){i, 1 << i, (int)floor(radius - cut + 0.5), radius};
}

/* Uploads the heights of the ball, row by row, as fractions of full scale. They count from its top: from its
 * centre they would be so large for small `counts` that floats lose the digits of the picture. */
static enum status upload_heights(struct run *run, const struct ball *ball, double counts, cl_mem *memory,
                                  struct error *error)
{
    const int reach = ball->reach;
    const size_t side = 2 * (size_t)reach + 1;
    float *heights = allocate_zeroed(side * side, sizeof *heights, "a ball", error);
    if (!heights)
        return STATUS_FAILED;
    size_t i = 0;
    for (int y = -reach; y <= reach; y++)
        for (int x = -reach; x <= reach; x++, i++) {
            const double square =
                ball->radius * ball->radius - x * x - y * y; /* 0 or less outside the ball */
            heights[i] = (float)((sqrt(fmax(square, 0)) - ball->radius) / counts);
        }
    const enum status status = run_constants(run, heights, side * side, memory, error);
    free(heights);
    return status;
}

/* Returns the rows of the reduced picture, of `height` rows, that output rows `out` need: for each row the
 * two rows whose centres are above and below it, or the outermost two. */
static struct interval reduced_rows(const struct ball *ball, int height, struct interval out)
{
    const int last = height > 1 ? height - 2 : 0;
    const int half = ball->factor / 2;
    const int first = (out.begin > half ? out.begin - half : 0) / ball->factor;
    const int end = (out.end - 1 > half ? out.end - 1 - half : 0) / ball->factor;
    return interval_clip((struct interval){first < last ? first : last, (end < last ? end : last) + 2},
                         height);
}

/* Enqueues one pass of kernels/ball.cl. The output is `margin` pixels larger on each side; a negative margin
 * makes it smaller. `ball_args` is the kernel's struct ball. */
static enum status ball_roll(struct run *run, const struct ball *ball, cl_mem heights, int margin,
                             const struct planes *src, struct interval rows, struct planes *dst,
                             struct error *error)
{
    const struct {
        cl_int reach, shift;
    } ball_args = {ball->reach, -margin};
    if (run_scratch(run, src->width + 2 * margin, src->height + 2 * margin, rows, 1, src->channels, dst,
                    error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "ball", "roll", dst);
    work.vector_width = VECTOR_WINDOW;
    work.calls_noinline = true;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(heights),
                  ARG(ball_args));
}

/* Enqueues the four steps of the rolling ball, with these rows:
 *
 *     reduced   rows of blocks, as many as `in` has
 *     centres   row 0 is row -reach of the reduced picture, because a ball that reaches into the picture
 *               may have its centre outside
 *     surface   the rows that interpolation needs for dst */
static enum status subtract_ball(struct run *run, const struct background *background, const struct value *in,
                                 const struct value *out, struct error *error)
{
    const struct ball ball = ball_make(background);
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    const struct interval block_rows = {src->first_row / ball.factor,
                                        ceil_div(src->first_row + src->rows, ball.factor)};
    const struct interval surface_rows =
        reduced_rows(&ball, ceil_div(src->height, ball.factor), planes_rows(dst));
    const struct interval centre_rows = {surface_rows.begin, surface_rows.end + 2 * ball.reach};
    const cl_int factor = ball.factor, shift = ball.shift, light = background->light,
                 alpha = shape_alpha(&out->shape);
    const cl_float sign = background->light ? -1 : 1;
    struct planes reduced, centres, surface;
    cl_mem heights;

    /* The minima of blocks; a light background is negated before. */
    if (run_scratch(run, ceil_div(src->width, factor), ceil_div(src->height, factor), block_rows, 1,
                    src->channels, &reduced, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "background", "min_of_blocks", &reduced);
    work.vector_width = VECTOR_SCALAR;
    if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&reduced), ARG(factor), ARG(sign)) !=
        STATUS_OK)
        return STATUS_FAILED;

    /* An erosion with the ball, then a dilation. */
    if (upload_heights(run, &ball, background->counts, &heights, error) != STATUS_OK ||
        ball_roll(run, &ball, heights, ball.reach, &reduced, centre_rows, &centres, error) != STATUS_OK)
        return STATUS_FAILED;
    run_scratch_release(run, &reduced); /* `surface` may use its memory */
    if (ball_roll(run, &ball, heights, -ball.reach, &centres, surface_rows, &surface, error) != STATUS_OK)
        return STATUS_FAILED;

    /* Interpolation and subtraction. */
    work = run_work(run, "background", "subtract_background", dst);
    work.vector_width = VECTOR_SCALAR;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&surface), ARG_PLANES(dst),
                  ARG(shift), ARG(sign), ARG(light), ARG(alpha));
}

/* ---------------------------------------------------------------- top-hat and division */

/* Divides the picture by its blur. If values are missing, they are filled with 0, and the blur is normalised
 * by the blur of the weights: alpha (1 without alpha), or 0 if the value is missing. */
static enum status divide_by_blur(struct run *run, const struct background *background,
                                  const struct value *in, const struct value *out, struct error *error)
{
    const struct planes *dst = &out->planes[0];
    const cl_float gain = background->light ? 1 : 0.5F;
    const cl_int alpha = shape_alpha(&out->shape);
    struct value filled = {.shape = in->shape}, weights = {.shape = in->shape},
                 blurred = {.shape = out->shape, .rows = out->rows}, blurred_weights = blurred;
    const struct analysis_result *grid = run_analysis_result(run, background);
    bool has_missing = false;
    enum status status = STATUS_OK;
    /* The blur of the picture, or if values are missing, of the filled picture and of its weights. */
    if (!grid)
        status =
            missing_count(run, background, in, rows_full(in->shape.width), out->rows, &has_missing, error);
    if (status == STATUS_OK && has_missing)
        status = missing_fill(run, in, 0, &filled, error);
    if (status == STATUS_OK && grid)
        status = gaussian_interpolate(run, &background->gaussian, &grid->planes[0], &blurred, error);
    else if (status == STATUS_OK)
        status = gaussian_blur(run, &background->gaussian, &epilogue_copy, has_missing ? &filled : in,
                               &blurred, error);
    if (status == STATUS_OK && has_missing)
        status = missing_weights(run, in, &weights, error);
    if (status == STATUS_OK && has_missing)
        status = gaussian_blur(run, &background->gaussian, &epilogue_copy, &weights, &blurred_weights, error);
    if (status == STATUS_OK) {
        struct kernel_launch work =
            run_work(run, "point", has_missing ? "weighted_quotient" : "quotient", dst);
        status = has_missing ? LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]),
                                      ARG_PLANES(&blurred.planes[0]), ARG_PLANES(&blurred_weights.planes[0]),
                                      ARG_PLANES(dst), ARG(gain), ARG(alpha))
                             : LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]),
                                      ARG_PLANES(&blurred.planes[0]), ARG_PLANES(dst), ARG(gain), ARG(alpha));
    }
    value_release(run, &filled);
    value_release(run, &weights);
    value_release(run, &blurred);
    value_release(run, &blurred_weights);
    return status;
}

/* ---------------------------------------------------------------- the stage */

/* True if slices need an analysis pass: for divide with a wide blur (x_weights is NULL), which has a coarse
 * grid. Without the pass each slice would need 5 RADIUS more rows on each side, also of the stages before.
 * Not if values may be missing, as they would change the weights of the grid. */
static bool background_needs_grid(const void *params, const struct shape *in)
{
    const struct background *background = params;
    return background->method == DIVIDE && background->gaussian.x_weights == NULL && !in->may_have_missing;
}

static const struct analysis background_analysis = {background_needs_grid, rows_same, gaussian_grid_begin,
                                                    gaussian_grid_add, gaussian_grid_end};

/* Returns the rows that the method needs around each row. */
static struct interval background_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct background *background = params;
    if (background->method == TOPHAT)
        return interval_widen(out, 2 * background->radius);
    if (background_needs_grid(background, in))
        return out;
    if (background->method == DIVIDE)
        return gaussian_rows(params, in, out);
    /* In rows of blocks. Dilation and erosion each need `reach` more rows on both sides. */
    const struct ball ball = ball_make(background);
    const int blocks = ceil_div(in->height, ball.factor);
    struct interval rows = reduced_rows(&ball, blocks, out);
    rows = interval_clip(interval_widen(rows, 2 * ball.reach), blocks);
    return interval_clip((struct interval){rows.begin * ball.factor, rows.end * ball.factor}, in->height);
}

/* Clipping is counted, except for a light background that becomes white: half of its pixels exceed white. */
static struct stage_caps background_caps(const void *params)
{
    const struct background *background = params;
    const bool is_white = background->method == DIVIDE && background->light;
    return (struct stage_caps){.groups = true, .amplifies = !is_white, .new_values = true};
}

static enum status run_background(struct run *run, const void *params, const struct value *in,
                                  struct value *out, struct error *error)
{
    const struct background *background = params;
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (background->method == BALL)
        return subtract_ball(run, background, in, out, error);
    if (background->method != TOPHAT)
        return divide_by_blur(run, background, in, out, error);

    /* Subtract the opening, or the closing if the background is light. */
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    const cl_int light = background->light, alpha = shape_alpha(&out->shape);
    struct planes opened;
    if (extrema_open(run, background->radius, background->light, src, out->rows, &opened, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "point", "difference", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&opened), ARG_PLANES(dst),
                  ARG(light), ARG(alpha));
}

const struct stage stage_background = {
    .name = "background",
    .brief = "remove an uneven background",
    .manual = "Removes what changes slowly and keeps what is smaller than RADIUS, channel by channel, so "
              "colours can shift: for stained tissue use method=divide, or --gray first. A dark background "
              "becomes black, with divide half of full scale; with light=yes a light background becomes "
              "white. Alpha is unchanged.\n\n"
              "ball: brightness is height, and a ball of radius RADIUS rolls along the underside of the "
              "picture. What the ball touches is background; the rest stays. The result equals ImageJ's "
              "\"Subtract Background\" with \"Disable smoothing\" and \"Separate colors\" to less than a "
              "count. A large ball rolls below a reduced copy of the picture. Full scale is 255 pixels high; "
              "to match ImageJ on 16 bit give counts=65535, on floats counts=1.\n\n"
              "tophat: the picture minus its opening by a square of 2 * RADIUS + 1 pixels a side, as "
              "scipy.ndimage.white_tophat; with light=yes minus its closing. Pixels beyond the border follow "
              "--edge.\n\n"
              "divide: the picture divided by its Gaussian blur, whose standard deviation is RADIUS, against "
              "uneven light. Pixels as bright as their surroundings become half of full scale; with "
              "light=yes white. Large pictures are read twice if RADIUS is 6 or more. First cut off what is "
              "not paper, also the black corners of --rotate (crop=inside there): they darken the blur.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct background),
    .check = background_check,
    .release = gaussian_free,
    .rows = background_rows,
    .analysis = &background_analysis,
    .caps = background_caps,
    .run = run_background,
};
