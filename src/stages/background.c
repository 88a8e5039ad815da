#include "filters/ball.h"
#include "filters/extrema.h"
#include "filters/gaussian.h"
#include "filters/missing.h"

enum { BALL, TOPHAT, DIVIDE };

struct background {
    struct gaussian gaussian; /* of DIVIDE */
    int radius, method;
    bool light;
    double counts;
};

static const char *needs_ball(const void *params)
{
    return ((const struct background *)params)->method == BALL ? NULL : "belongs to method=ball";
}

static const struct option options[] = {
    {.type = OPTION_INTEGER,
     .offset = offsetof(struct background, radius),
     .min = 1,
     .max = BALL_MOST_RADIUS,
     .value = "RADIUS",
     .help = "in pixels: at least the full width of the largest thing to keep (a cell 100 pixels wide: 100)"},
    {.name = "method",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct background, method),
     .fallback = "ball",
     .choices = "ball|tophat|divide",
     .help = "a rolling ball; the opening by a square; division by a Gaussian blur"},
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
     .unused = needs_ball,
     .help = "ball: full scale is N pixels high"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --background 50 objects.png",
     "what is brighter than its surroundings, on black"},
    {"climg samples/gradient16.png --background 15,method=tophat spots.png",
     "bright objects smaller than 31x31 pixels"},
    {"climg samples/scene.png --background 60,method=divide,light=yes page.png",
     "a page that is lit unevenly: paper becomes white"},
    {NULL, NULL},
};

static enum status background_check(void *params, struct error *error)
{
    struct background *background = params;
    background->gaussian.sigma = background->radius;
    return background->method == DIVIDE ? gaussian_make(params, error) : STATUS_OK;
}

static struct ball find_ball(const struct background *background)
{
    return (struct ball){background->radius, background->counts, background->light};
}

static struct rows background_rows(const void *params, const struct shape *in, struct rows out)
{
    const struct background *background = params;
    const struct ball ball = find_ball(background);
    if (background->method == BALL)
        return ball_source_rows(&ball, in->height, out);
    return background->method == TOPHAT ? extrema_source_rows(2 * background->radius, out)
                                        : gaussian_rows(params, in, out);
}

static struct stage_caps background_caps(const void *params)
{
    (void)params;
    return (struct stage_caps){.groups = true, .amplifies = true, .new_values = true};
}

static enum status subtract_opening(struct run *run, const struct background *background,
                                    const struct value *in, const struct value *out, struct error *error)
{
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    const cl_int light = background->light, alpha = shape_alpha(&out->shape);
    struct planes opened;
    if (extrema_open(run, background->radius, background->light, src, out->rows, &opened, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "point", "difference", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&opened), ARG_PLANES(dst),
                  ARG(light), ARG(alpha));
}

/* The picture divided by its blur. Missing values have no weight in it. */
static enum status divide(struct run *run, const struct background *background, const struct value *in,
                          const struct value *out, struct error *error)
{
    const struct planes *dst = &out->planes[0];
    const cl_float gain = background->light ? 1 : 0.5F;
    const cl_int alpha = shape_alpha(&out->shape);
    struct value filled = {.shape = in->shape}, weights = {.shape = in->shape},
                 blurred = {.shape = out->shape, .rows = out->rows}, blurred_weights = blurred;
    bool are_missing;
    enum status status =
        missing_count(run, background, in, rows_full(in->shape.width), out->rows, &are_missing, error);
    if (status == STATUS_OK && are_missing)
        status = missing_fill(run, in, 0, &filled, error);
    if (status == STATUS_OK)
        status = gaussian_blur(run, &background->gaussian, &finish_copy, are_missing ? &filled : in, &blurred,
                               error);
    if (status == STATUS_OK && are_missing)
        status = missing_weights(run, in, &weights, error);
    if (status == STATUS_OK && are_missing)
        status = gaussian_blur(run, &background->gaussian, &finish_copy, &weights, &blurred_weights, error);
    if (status == STATUS_OK) {
        struct work work = run_work(run, "point", are_missing ? "weighted_quotient" : "quotient", dst);
        status = are_missing ? LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]),
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

static enum status run_background(struct run *run, const void *params, const struct value *in,
                                  struct value *out, struct error *error)
{
    const struct background *background = params;
    const struct ball ball = find_ball(background);
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (background->method == BALL)
        return subtract_background(run, &ball, in, out, error);
    return background->method == TOPHAT ? subtract_opening(run, background, in, out, error)
                                        : divide(run, background, in, out, error);
}

const struct stage stage_background = {
    .name = "background",
    .brief = "remove an uneven background",
    .manual =
        "Removes what changes slowly and keeps what is smaller than RADIUS, channel by channel, so colours "
        "can shift: for stained tissue use method=divide, or --gray first. A dark background becomes "
        "black, with divide half of full scale; with light=yes a light background becomes white. Alpha is "
        "unchanged.\n\n"
        "ball: brightness is height, and a ball of radius RADIUS rolls along the underside of the picture. "
        "What the ball touches is background; the rest stays. The result equals ImageJ's \"Subtract "
        "Background\" with \"Disable smoothing\" and \"Separate colors\" to less than a count. A large "
        "ball rolls below a reduced copy of the picture. Full scale is 255 pixels high; to match ImageJ on "
        "16 bit give counts=65535, on floats counts=1.\n\n"
        "tophat: the picture minus its opening by a square of 2 * RADIUS + 1 pixels a side, as "
        "scipy.ndimage.white_tophat; with light=yes minus its closing. Pixels beyond the border follow "
        "--edge.\n\n"
        "divide: the picture divided by its Gaussian blur, whose standard deviation is RADIUS, against "
        "uneven light. Pixels as bright as their surroundings become half of full scale; with light=yes "
        "white.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct background),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = background_check,
    .release = gaussian_free,
    .rows = background_rows,
    .caps = background_caps,
    .run = run_background,
};
