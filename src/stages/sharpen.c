#include "engine/run.h"
#include "filters/coarse.h"
#include "filters/gaussian.h"
#include "filters/tile.h"

#include <stdlib.h>

struct sharpen {
    double amount, sigma, threshold, truncate;
    struct filter filter;
    float *weights;
};

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct sharpen, amount),
     .min = 0,
     .max = 1000,
     .value = "AMOUNT",
     .help = "how much of the detail is added; 0.5 to 1.5 is usual"},
    {.name = "sigma",
     .type = OPTION_REAL,
     .offset = offsetof(struct sharpen, sigma),
     .fallback = "1",
     .min = 0.05,
     .max = 1000,
     .value = "SIGMA",
     .help = "standard deviation of the blur that separates detail, in pixels"},
    {.name = "threshold",
     .type = OPTION_REAL,
     .offset = offsetof(struct sharpen, threshold),
     .fallback = "0",
     .min = 0,
     .max = 1,
     .value = "T",
     .help = "leave detail smaller than T alone; full scale is 1"},
    {.name = "truncate",
     .type = OPTION_REAL,
     .offset = offsetof(struct sharpen, truncate),
     .fallback = "0",
     .max = 20,
     .value = "N",
     .help = "cut the blur's filter off at N standard deviations; 0: nowhere"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --sharpen 0.8 crisp.png", "the everyday unsharp mask"},
    {"climg samples/gradient16.png --sharpen 1.5,sigma=2,threshold=0.02 crisp.png",
     "wide, and not on the noise of flat areas"},
    {NULL, NULL},
};

static enum status check(void *params, struct error *error)
{
    struct sharpen *sharpen = params;
    if (gaussian_is_coarse(sharpen->sigma, sharpen->truncate))
        return STATUS_OK;
    int radius = gaussian_radius(sharpen->sigma, sharpen->truncate);
    sharpen->weights =
        allocate_zeroed(2 * (size_t)radius + 1, sizeof *sharpen->weights, "filter weights", error);
    if (!sharpen->weights)
        return STATUS_FAILED;
    gaussian_weights(sharpen->sigma, radius, sharpen->weights);
    sharpen->filter = (struct filter){sharpen->weights, 2 * radius + 1, -radius};
    return STATUS_OK;
}

static void release(void *params)
{
    free(((struct sharpen *)params)->weights);
}

static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    const struct sharpen *sharpen = params;
    return sharpen->weights ? filter_source_rows(&sharpen->filter, out)
                            : coarse_source_rows(sharpen->sigma, in, out);
}

static const struct tunable sharpen_rows = {.kernel = "sharpen_rows", FILTER_ROWS_FORMS},
                            sharpen_columns = {.kernel = "sharpen_columns", FILTER_COLUMNS_FORMS},
                            sharpen_both = {.kernel = "sharpen", TILE_FORMS(8, 64)};
static const struct tunable *const tunables[] = {&sharpen_both, &sharpen_rows, &sharpen_columns, NULL};
static const struct tuning tunings[] = {{{{"sharpen", "1,sigma=2"}}, 1, tunables}, {.tunables = NULL}};

static enum status sharpen_at_once(struct run *run, const struct sharpen *sharpen, const struct value *in,
                                   struct value *out, struct error *error)
{
    struct tile tile;
    cl_float amount = (cl_float)sharpen->amount, threshold = (cl_float)sharpen->threshold;
    cl_int keep = shape_alpha(&in->shape);
    const struct filter *filter = &sharpen->filter;
    if (tile_make(run, "sharpen_grouped", &sharpen_both, 1, filter, filter, &out->planes[0], &tile, error) !=
        STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &tile.work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(&out->planes[0]),
                  ARGS_TILE(tile), ARG(amount), ARG(threshold), ARG(keep));
}

static const struct filter_passes passes = {"sharpen", &sharpen_rows, &sharpen_columns};

/* `rows` is blurred along x, and the filter does the rest. */
static enum status sharpen_by(struct run *run, const struct sharpen *sharpen, const struct filter *filter,
                              const struct value *in, const struct planes *rows, const struct planes *dst,
                              struct error *error)
{
    struct window window = filter_window(filter);
    struct weights weights;
    cl_float amount = (cl_float)sharpen->amount, threshold = (cl_float)sharpen->threshold;
    cl_int keep = shape_alpha(&in->shape);
    struct work work = filter_columns_work(run, &passes, dst);
    if (run_weights(run, filter->weights, (size_t)filter->taps, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(rows), ARG_PLANES(dst),
                  ARG_WEIGHTS(weights), ARG(window), ARG(amount), ARG(threshold), ARG(keep));
}

static enum status sharpen_twice(struct run *run, const struct sharpen *sharpen, const struct value *in,
                                 struct value *out, struct error *error)
{
    const struct planes *src = &in->planes[0];
    struct rows held = {src->first_row, src->first_row + src->rows};
    struct window window = filter_window(&sharpen->filter);
    struct planes half;
    struct weights weights;
    if (run_weights(run, sharpen->weights, (size_t)sharpen->filter.taps, &weights, error) != STATUS_OK ||
        run_scratch(run, src->width, src->height, held, 1, src->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = filter_rows_work(run, &passes, &half);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_WEIGHTS(weights),
               ARG(window)) != STATUS_OK)
        return STATUS_FAILED;
    return sharpen_by(run, sharpen, &sharpen->filter, in, &half, &out->planes[0], error);
}

static enum status sharpen_coarse(struct run *run, const struct sharpen *sharpen, const struct value *in,
                                  struct value *out, struct error *error)
{
    static const float one = 1;
    static const struct filter nothing = {&one, 1, 0};
    struct planes blurred;
    if (run_scratch(run, out->shape.width, out->shape.height, out->rows, 1, out->planes[0].channels, &blurred,
                    error) != STATUS_OK ||
        coarse_blur(run, sharpen->sigma, in, &blurred, NULL, error) != STATUS_OK)
        return STATUS_FAILED;
    return sharpen_by(run, sharpen, &nothing, in, &blurred, &out->planes[0], error);
}

static enum status run_sharpen(struct run *run, const void *params, const struct value *in, struct value *out,
                               struct error *error)
{
    const struct sharpen *sharpen = params;
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!sharpen->weights)
        return sharpen_coarse(run, sharpen, in, out, error);
    if (tile_suits(run, &sharpen_both, &sharpen->filter))
        return sharpen_at_once(run, sharpen, in, out, error);
    return sharpen_twice(run, sharpen, in, out, error);
}

const struct stage stage_sharpen = {
    .name = "sharpen",
    .brief = "unsharp mask",
    .manual =
        "Adds AMOUNT times the detail, which is the difference between the picture and its Gaussian blur, "
        "wherever that difference is at least T. Alpha is left as it is.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct sharpen),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = check,
    .release = release,
    .rows = rows,
    .groups = true,
    .tunings = tunings,
    .run = run_sharpen,
};
