/* Gaussian filters.
 *
 *   sigma < 6, or truncate=   one product on the full grid with ceil(4.75 sigma - 0.5) taps on each side
 *   otherwise                 three products: reduce -> smooth on the coarse grid -> interpolate
 *
 * A Gaussian equals three successive Gaussians whose variances add up to its own. The first is evaluated only
 * every sigma / 2 pixels (at most 12), the second smooths these coarse samples, the third interpolates them.
 *
 * Aliasing: sampling mixes frequencies that differ by 1 per coarse sample. With standard deviations s, m and
 * s in coarse samples and S^2 = 2 s^2 + m^2, at most 2 exp(-2 (pi s)^2 (1 - (s / S)^2)) of an alias remains:
 * 3e-6 for s = 0.93 and S = 2, less for larger S. Truncation at 5 s adds the rest of gaussian.h's 5e-6.
 *
 * --blur 50 of 4096x4096 RGB takes 0.33 s of processor time (TIFF to TIFF), --blur 5 0.57.
 *
 * Tried and lost: a recursive filter. It costs as little per pixel, but in float its error on a constant
 * picture grows with sigma, to 4e-5 at 1000, and it must process each axis in order, without slices. */
#include "filters/gaussian.h"

#include "base/exact.h"

#include <math.h>
#include <stdlib.h>

/* Radius of a filter without truncate=, in standard deviations, to the outer edge of its last pixel. */
static const double FULL_RADIUS = 4.75;

/* Smallest sigma for the coarse grid. On GPUs the full grid is faster below 6; on two cores of a CPU,
 * below 4. One limit for both keeps results equal on all devices. */
static const double COARSE_MIN_SIGMA = 6;

/* Coarse samples per standard deviation, and the largest distance between them in pixels. The limit keeps the
 * source rows of a coarse row in a core's cache. */
enum { SAMPLES_PER_SIGMA = 2, MAX_SPACING = 12 };

/* Coarse samples computed beyond each border for clamp and zero: the reach of the Gaussians that reduce and
 * interpolate. All samples beyond this margin are equal. */
enum { MARGIN = 6 };

/* Standard deviation of the reducing and the interpolating Gaussian, in coarse samples: s above. */
static const double RESAMPLING_SIGMA = 0.93;

/* Returns sigma along an axis in pixels of the plane. `divisor` is gaussian->across or down. */
static double sigma_along(const struct gaussian *gaussian, int divisor)
{
    return gaussian->sigma / (divisor > 0 ? divisor : 1);
}

/* Returns 2 * *taps numbers: the Gaussian, with the sum 1, then its derivative. The derivative is positive on
 * the right, so that correlation with a rising edge gives a positive value. The caller frees them; NULL on
 * failure. */
static float *make_weights(double sigma, double truncate, int *taps, struct error *error)
{
    const int radius = (int)(truncate > 0 ? floor(truncate * sigma + 0.5) : ceil(FULL_RADIUS * sigma - 0.5));
    *taps = 2 * radius + 1;
    float *weights = allocate_zeroed(2 * (size_t)*taps, sizeof *weights, "filter weights", error);
    double sum = 0;
    for (int i = -radius; i <= radius; i++)
        sum += exact_exp(-0.5 * i * i / (sigma * sigma));
    for (int i = -radius; weights && i <= radius; i++) {
        const double weight = exact_exp(-0.5 * i * i / (sigma * sigma)) / sum;
        weights[i + radius] = (float)weight;
        weights[*taps + i + radius] = (float)(i / (sigma * sigma) * weight);
    }
    return weights;
}

enum status gaussian_make(void *params, struct error *error)
{
    struct gaussian *gaussian = params;
    const double x = sigma_along(gaussian, gaussian->across), y = sigma_along(gaussian, gaussian->down),
                 truncate = gaussian->truncate;
    gaussian->x_weights = gaussian->y_weights = NULL;
    /* The coarse grid has no weights. Its samples must be at least a pixel apart on both axes. */
    if (truncate == 0 && fmax(x, y) >= COARSE_MIN_SIGMA && fmin(x, y) >= SAMPLES_PER_SIGMA)
        return STATUS_OK;
    gaussian->x_weights = make_weights(x, truncate, &gaussian->x_taps, error);
    if (gaussian->x_weights)
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
    free(gaussian->x_weights);
    free(gaussian->y_weights);
}

/* An axis in the three products: from pixels to the coarse grid, on the grid, back to pixels. */
struct coarse {
    struct axis reduce, smooth, interpolate;
};

/* Divides the axis evenly into coarse samples, so that the grid can be mirrored and wrapped like the picture.
 * The Gaussian on the grid has the variance that the other two leave. */
static struct coarse coarse_axis(double sigma, int n, enum edge edge)
{
    const int grid = (int)ceil(n / fmin(sigma / SAMPLES_PER_SIGMA, MAX_SPACING));
    const int margin = edge == EDGE_CLAMP || edge == EDGE_ZERO ? MARGIN : 0, count = grid + 2 * margin;
    const double total = sigma * grid / n,
                 rest = sqrt(total * total - 2 * RESAMPLING_SIGMA * RESAMPLING_SIGMA);
    return (struct coarse){
        .reduce = {.samples = n,
                   .outputs = count,
                   .edge = edge,
                   .resize = {RESIZE_GAUSSIAN, RESAMPLING_SIGMA, .from = n, .to = grid, .begin = -margin}},
        .smooth = {.samples = count,
                   .outputs = count,
                   .edge = edge,
                   .resize = {RESIZE_GAUSSIAN, rest, .from = count, .to = count}},
        .interpolate = {
            .samples = count,
            .outputs = n,
            .edge = edge,
            .resize = {RESIZE_GAUSSIAN, RESAMPLING_SIGMA, .from = grid, .to = n, .margin = margin}}};
}

/* Sets the axes of a picture of width x height. */
static void coarse_axes(const struct gaussian *gaussian, int width, int height, enum edge edge,
                        struct coarse *x, struct coarse *y)
{
    *x = coarse_axis(sigma_along(gaussian, gaussian->across), width, edge);
    *y = coarse_axis(sigma_along(gaussian, gaussian->down), height, edge);
}

static struct interval coarse_source_rows(double sigma, int height, enum edge edge, struct interval out)
{
    const struct coarse y = coarse_axis(sigma, height, edge);
    return axis_source_rows(&y.reduce, axis_inside_rows(&y.smooth, axis_inside_rows(&y.interpolate, out)));
}

struct interval gaussian_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct gaussian *gaussian = params;
    if (gaussian->x_weights) {
        const struct axis y = axis_filtered(gaussian->y_weights, gaussian->y_taps, in->height, EDGE_CLAMP);
        return axis_source_rows(&y, out);
    }
    const double sigma = sigma_along(gaussian, gaussian->down);
    /* The border rule, unknown here, decides about the margin, which moves the blocks of PRODUCT_ROWS: return
     * the rows for both cases. */
    return interval_union(coarse_source_rows(sigma, in->height, EDGE_CLAMP, out),
                          coarse_source_rows(sigma, in->height, EDGE_MIRROR, out));
}

/* Enqueues a product whose dst becomes scratch planes. */
static enum status product_to_scratch(struct run *run, struct product *product, struct interval rows,
                                      struct error *error)
{
    if (run_scratch(run, product->x.outputs, product->y.outputs, rows, 1, product->src.channels,
                    &product->dst, error) != STATUS_OK)
        return STATUS_FAILED;
    return product_run(run, product, error);
}

/* Allocates `out`, and enqueues all products but the last one, which becomes *product. */
static enum status gaussian_prepare(struct run *run, const struct gaussian *gaussian,
                                    const struct epilogue *epilogue, const struct value *in,
                                    struct value *out, struct product *product, struct error *error)
{
    if (!out->raster && run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Without weights, these axes are replaced below. */
    const struct axis x = axis_filtered(gaussian->x_weights, gaussian->x_taps, in->shape.width, run->edge),
                      y = axis_filtered(gaussian->y_weights, gaussian->y_taps, in->shape.height, run->edge);
    *product = product_of(&x, &y, epilogue, in, out);
    if (gaussian->x_weights)
        return STATUS_OK;

    /* On a coarse grid: enqueue the first two of three products. */
    const struct planes *src = &product->src, *dst = &product->dst;
    struct coarse across, down;
    coarse_axes(gaussian, src->width, src->height, run->edge, &across, &down);
    const struct interval needed = axis_inside_rows(&down.interpolate, planes_rows(dst));
    /* Planes are read and written here, but equal rasters select the same program (product.h). */
    struct product reduced = {across.reduce,
                              down.reduce,
                              epilogue_copy,
                              .src = *src,
                              .src_raster = product->src_raster,
                              .dst_raster = product->dst_raster};
    if (product_to_scratch(run, &reduced, axis_inside_rows(&down.smooth, needed), error) != STATUS_OK)
        return STATUS_FAILED;
    struct product smoothed = {across.smooth,
                               down.smooth,
                               epilogue_copy,
                               .src = reduced.dst,
                               .src_raster = product->src_raster,
                               .dst_raster = product->dst_raster};
    if (product_to_scratch(run, &smoothed, needed, error) != STATUS_OK)
        return STATUS_FAILED;
    run_scratch_release(run, &reduced.dst);
    product->x = across.interpolate;
    product->y = down.interpolate;
    product->src = smoothed.dst;
    return STATUS_OK;
}

enum status gaussian_blur(struct run *run, const struct gaussian *gaussian, const struct epilogue *epilogue,
                          const struct value *in, struct value *out, struct error *error)
{
    struct product product;
    if (gaussian_prepare(run, gaussian, epilogue, in, out, &product, error) != STATUS_OK)
        return STATUS_FAILED;
    return product_run(run, &product, error);
}

/* ---------------------------------------------------------------- the coarse grid of a whole picture
 *
 *     part ─▶ sums along y (accumulate.cl) ─▶ rows whose sums are complete ─▶ product along x ─▶ grid
 *                 ▲                    │
 *                 └── sums of the other rows, for the next part
 *
 * So no row of the picture is read twice. With a product for each part, which has a halo, the stages before
 * the blur computed half of the rows of a page twice: 36 ms of processor time for a rotation of 35
 * megapixels. */

enum status gaussian_grid_begin(struct run *run, const void *params, const struct shape *in,
                                struct analysis_result *result, struct error *error)
{
    const struct gaussian *gaussian = params;
    struct coarse x, y;
    coarse_axes(gaussian, in->width, in->height, run->edge, &x, &y);
    return run_planes(run, x.smooth.samples, y.smooth.samples, rows_full(y.smooth.samples), 1, in->channels,
                      &result->planes[1], error);
}

/* result->planes[2] has the sums of the grid rows that earlier parts have begun. */
enum status gaussian_grid_add(struct run *run, const void *params, const struct value *in,
                              struct interval part, struct analysis_result *result, struct error *error)
{
    static const float one = 1;
    const struct gaussian *gaussian = params;
    const struct planes *src = &in->planes[0];
    const struct planes *before = part.begin > 0 ? &result->planes[2] : src; /* src is not read */
    const cl_int2 range = {{part.begin, part.end}};
    struct coarse x, y;
    struct planes sums;
    cl_mem table;
    coarse_axes(gaussian, in->shape.width, in->shape.height, run->edge, &x, &y);

    /* Find the grid rows, in whole blocks, whose windows have rows of the part, and grid rows whose windows
     * end in it. */
    struct interval touched = {y.reduce.outputs, 0}, complete = touched;
    for (int o = 0; o < y.reduce.outputs; o += PRODUCT_ROWS) {
        const struct interval block = interval_clip((struct interval){o, o + PRODUCT_ROWS}, y.reduce.outputs),
                              window = axis_inside_rows(&y.reduce, block);
        if (window.begin < part.end && window.end > part.begin)
            touched = interval_union(touched, block);
        if (window.end <= part.end && window.end > part.begin)
            complete = interval_union(complete, block);
    }

    /* Add the part. */
    if (axis_table(run, &y.reduce, (struct blocking){PRODUCT_ROWS, 1, false}, &table, error) != STATUS_OK ||
        run_planes(run, src->width, y.reduce.outputs, touched, 1, src->channels, &sums, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "accumulate", "accumulate", &sums);
    const cl_int first_block = touched.begin / PRODUCT_ROWS;
    work.height = ceil_div(touched.end, PRODUCT_ROWS) - first_block;
    work.calls_noinline = true;
    enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(before),
                                ARG_PLANES(&sums), ARG_MEMORY(table), ARG(range), ARG(first_block));

    /* Reduce complete rows along x. Along y the product copies them. */
    const struct product across = {x.reduce,
                                   axis_filtered(&one, 1, y.reduce.outputs, run->edge),
                                   epilogue_copy,
                                   .src = sums,
                                   .dst = result->planes[1],
                                   .rows = complete};
    if (status == STATUS_OK && complete.end > complete.begin)
        status = product_run(run, &across, error);
    planes_release(&run->pool, &result->planes[2]);
    result->planes[2] = sums;
    return status;
}

enum status gaussian_grid_end(struct run *run, const void *params, const struct shape *in,
                              struct analysis_result *result, struct error *error)
{
    const struct gaussian *gaussian = params;
    struct coarse x, y;
    coarse_axes(gaussian, in->width, in->height, run->edge, &x, &y);
    /* planes[1] is the reduced picture, filled part by part; planes[0] becomes the smoothed grid. */
    struct product smooth = {x.smooth, y.smooth, epilogue_copy, .src = result->planes[1]};
    if (run_planes(run, x.smooth.samples, y.smooth.samples, rows_full(y.smooth.samples), 1, in->channels,
                   &result->planes[0], error) != STATUS_OK)
        return STATUS_FAILED;
    smooth.dst = result->planes[0];
    const enum status status = product_run(run, &smooth, error);
    planes_release(&run->pool, &result->planes[1]);
    planes_release(&run->pool, &result->planes[2]);
    return status;
}

enum status gaussian_interpolate(struct run *run, const struct gaussian *gaussian, const struct planes *grid,
                                 struct value *out, struct error *error)
{
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    struct coarse x, y;
    coarse_axes(gaussian, out->shape.width, out->shape.height, run->edge, &x, &y);
    const struct product interpolate = {x.interpolate, y.interpolate, epilogue_copy, .src = *grid,
                                        .dst = out->planes[0]};
    return product_run(run, &interpolate, error);
}

/* ---------------------------------------------------------------- gradients */

/* Changes an axis to the derivative of its Gaussian. */
static void derive(struct axis *axis)
{
    if (axis->filter.weights)
        axis->filter.weights += axis->filter.taps;
    else
        axis->resize.filter = RESIZE_SLOPE;
}

enum status gaussian_gradient(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct epilogue epilogue = {.alpha_channel = shape_alpha(&in->shape)};
    struct product across, down;
    if (gaussian_prepare(run, params, &epilogue, in, out, &across, error) != STATUS_OK)
        return STATUS_FAILED;
    down = across;
    derive(&across.x);
    derive(&down.y);
    return gradient_magnitude(run, &across, &down, error);
}
