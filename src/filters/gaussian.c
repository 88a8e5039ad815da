#include "filters/gaussian.h"

#include "base/exact.h"

#include <math.h>
#include <stdlib.h>

/* Standard deviations from the middle to half a pixel behind the last weight. */
static const double UNTRUNCATED = 4.75;

/* On GPUs smaller ones are faster as they are; on two cores of a CPU those below 4. */
static const double COARSE_MIN_SIGMA = 6;

/* Samples of the coarse grid for a standard deviation, and how many pixels they are apart at most: the rows
 * that one is made from should stay in a core's cache. */
enum { SAMPLES = 2, MAX_SPACING = 12 };

/* Samples beyond the border, where all others beyond it are like the last of them: as far as the Gaussian
 * that makes them reaches, and the one that interpolates. */
enum { MARGIN = 6 };

/* Standard deviation of the two that lead there and back, in samples of the coarse grid. */
static const double SIGMA = 0.93;

static double sigma_along(const struct gaussian *gaussian, int by)
{
    return gaussian->sigma / (by > 0 ? by : 1);
}

/* Normalised to sum 1; then its derivative, in correlation order: positive to the right, so that a rising
 * edge gives a positive value. */
static void fill_weights(double sigma, int taps, float *weights)
{
    const int radius = taps / 2;
    double sum = 0;
    for (int i = -radius; i <= radius; i++)
        sum += exact_exp(-0.5 * i * i / (sigma * sigma));
    for (int i = -radius; i <= radius; i++) {
        const double weight = exact_exp(-0.5 * i * i / (sigma * sigma)) / sum;
        weights[i + radius] = (float)weight;
        weights[taps + i + radius] = (float)(i / (sigma * sigma) * weight);
    }
}

static float *make_weights(double sigma, double truncate, int *taps, struct error *error)
{
    const int radius = (int)(truncate > 0 ? floor(truncate * sigma + 0.5) : ceil(UNTRUNCATED * sigma - 0.5));
    *taps = 2 * radius + 1;
    float *weights = allocate_zeroed(2 * (size_t)*taps, sizeof *weights, "filter weights", error);
    if (weights)
        fill_weights(sigma, *taps, weights);
    return weights;
}

enum status gaussian_make(void *params, struct error *error)
{
    struct gaussian *gaussian = params;
    const double x = sigma_along(gaussian, gaussian->across), y = sigma_along(gaussian, gaussian->down),
                 truncate = gaussian->truncate;
    gaussian->weights = gaussian->y_weights = NULL;
    if (truncate == 0 && fmax(x, y) >= COARSE_MIN_SIGMA && fmin(x, y) >= SAMPLES)
        return STATUS_OK; /* samples of the coarse grid are at least a pixel apart */
    gaussian->weights = make_weights(x, truncate, &gaussian->taps, error);
    if (gaussian->weights)
        gaussian->y_weights = make_weights(y, truncate, &gaussian->y_taps, error);
    return gaussian->y_weights ? STATUS_OK : STATUS_FAILED;
}

enum status gaussian_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct gaussian *gaussian = params;
    (void)error;
    gaussian->across = chroma->across;
    gaussian->down = chroma->down;
    return STATUS_OK;
}

void gaussian_free(void *params)
{
    const struct gaussian *gaussian = params;
    free(gaussian->weights);
    free(gaussian->y_weights);
}

static struct axis plain_axis(const float *weights, int taps, int n, enum edge edge)
{
    return axis_filtered(weights, taps, -(taps / 2), n, edge);
}

/* An axis by way of the coarse grid, onto it, on it, and back. The grid divides the axis evenly, so that
 * mirroring and wrapping it are the same on both. On it there is what the other two leave. */
struct coarse {
    struct axis onto, on, back;
};

static struct coarse coarse_axis(double sigma, int n, enum edge edge)
{
    const int grid = (int)ceil(n / fmin(sigma / SAMPLES, MAX_SPACING));
    const int margin = edge == EDGE_CLAMP || edge == EDGE_ZERO ? MARGIN : 0, count = grid + 2 * margin;
    const double whole = sigma * grid / n, left = sqrt(whole * whole - 2 * SIGMA * SIGMA);
    return (struct coarse){
        .onto = {.samples = n,
                 .outputs = count,
                 .edge = edge,
                 .resize = {RESIZE_GAUSSIAN, SIGMA, .from = n, .to = grid, .begin = -margin}},
        .on = {.samples = count,
               .outputs = count,
               .edge = edge,
               .resize = {RESIZE_GAUSSIAN, left, .from = count, .to = count}},
        .back = {.samples = count,
                 .outputs = n,
                 .edge = edge,
                 .resize = {RESIZE_GAUSSIAN, SIGMA, .from = grid, .to = n, .margin = margin}}};
}

static struct rows coarse_source_rows(double sigma, int height, enum edge edge, struct rows out)
{
    const struct coarse y = coarse_axis(sigma, height, edge);
    return axis_source_rows(&y.onto, axis_held_rows(&y.on, axis_held_rows(&y.back, out)));
}

struct rows gaussian_rows(const void *params, const struct shape *in, struct rows out)
{
    const struct gaussian *gaussian = params;
    if (gaussian->weights) {
        const struct axis y = plain_axis(gaussian->y_weights, gaussian->y_taps, in->height, EDGE_CLAMP);
        return axis_source_rows(&y, out);
    }
    const double sigma = sigma_along(gaussian, gaussian->down);
    /* Grids with a margin and without one have their blocks in different places. */
    return rows_union(coarse_source_rows(sigma, in->height, EDGE_CLAMP, out),
                      coarse_source_rows(sigma, in->height, EDGE_MIRROR, out));
}

/* A product whose result is scratch. */
static enum status to_scratch(struct run *run, struct product *product, struct rows rows, struct error *error)
{
    if (run_scratch(run, product->x.outputs, product->y.outputs, rows, 1, product->src.channels,
                    &product->dst, error) != STATUS_OK)
        return STATUS_FAILED;
    return product_run(run, product, error);
}

/* Smooths the source of a product on the coarse grid, from which the product then leads back. */
static enum status go_coarse(struct run *run, const struct gaussian *gaussian, struct product *product,
                             struct error *error)
{
    const struct planes *src = &product->src, *dst = &product->dst;
    const struct coarse x = coarse_axis(sigma_along(gaussian, gaussian->across), src->width, run->edge),
                        y = coarse_axis(sigma_along(gaussian, gaussian->down), src->height, run->edge);
    const struct rows out = {dst->first_row, dst->first_row + dst->rows},
                      smooth = axis_held_rows(&y.back, out);
    /* All three by one program, which may sharpen the samples in the end. */
    struct product onto = {
        x.onto, y.onto, epilogue_copy, .src = *src, .read = product->read, .write = product->write};
    if (to_scratch(run, &onto, axis_held_rows(&y.on, smooth), error) != STATUS_OK)
        return STATUS_FAILED;
    struct product on = {
        x.on, y.on, epilogue_copy, .src = onto.dst, .read = product->read, .write = product->write};
    if (to_scratch(run, &on, smooth, error) != STATUS_OK)
        return STATUS_FAILED;
    run_scratch_done(run, &onto.dst);
    product->x = x.back;
    product->y = y.back;
    product->src = on.dst;
    return STATUS_OK;
}

/* The product that gives the output; what comes before is done. */
static enum status gaussian_prepare(struct run *run, const struct gaussian *gaussian,
                                    const struct epilogue *epilogue, const struct value *in,
                                    struct value *out, struct product *product, struct error *error)
{
    if (!out->raster && run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    *product =
        (struct product){.x = plain_axis(gaussian->weights, gaussian->taps, in->shape.width, run->edge),
                         .y = plain_axis(gaussian->y_weights, gaussian->y_taps, in->shape.height, run->edge),
                         .epilogue = *epilogue,
                         .src = value_planes(in),
                         .dst = value_planes(out),
                         .other = in->planes[0],
                         .read = in->raster,
                         .write = out->raster};
    return gaussian->weights ? STATUS_OK : go_coarse(run, gaussian, product, error);
}

enum status gaussian_blur(struct run *run, const struct gaussian *gaussian, const struct epilogue *epilogue,
                          const struct value *in, struct value *out, struct error *error)
{
    struct product product;
    if (gaussian_prepare(run, gaussian, epilogue, in, out, &product, error) != STATUS_OK)
        return STATUS_FAILED;
    return product_run(run, &product, error);
}

/* That of the derivative. */
static void derive(struct axis *axis)
{
    if (axis->filter.weights)
        axis->filter.weights += axis->filter.taps;
    else
        axis->resize.filter = RESIZE_SLOPE;
}

enum status gaussian_gradient(struct run *run, const struct gaussian *gaussian, const struct value *in,
                              struct value *out, struct error *error)
{
    const struct epilogue epilogue = {.alpha_channel = shape_alpha(&in->shape)};
    struct product across, down;
    if (gaussian_prepare(run, gaussian, &epilogue, in, out, &across, error) != STATUS_OK)
        return STATUS_FAILED;
    down = across;
    derive(&across.x);
    derive(&down.y);
    return gradient_magnitude(run, &across, &down, error);
}
