#include "filters/coarse.h"

#include "filters/gaussian.h"
#include "filters/separable.h"

#include <math.h>
#include <stdlib.h>

/* Samples of the coarse grid for a standard deviation, and how many pixels they are apart at most: the rows
 * that one is made from should stay in a core's cache. */
enum { SAMPLES = 4, MOST_APART = 12 };

/* Samples beyond the border, where all others beyond it are like the last of them: as far as the Gaussian
 * that makes them reaches, and the one that interpolates. */
enum { MARGIN = 5 };

/* Onto the coarse grid. It divides the axis evenly, so that mirroring and wrapping it are the same on both.
 */
static struct resize_axis reducing(double sigma, int n, enum edge edge)
{
    double apart = fmin(sigma / SAMPLES, MOST_APART);
    int to = (int)ceil(n / apart), margin = edge == EDGE_CLAMP || edge == EDGE_ZERO ? MARGIN : 0;
    return (struct resize_axis){.filter = RESIZE_GAUSSIAN,
                                .from = n,
                                .to = to,
                                .begin = -margin,
                                .count = to + 2 * margin,
                                .extended = true,
                                .edge = edge};
}

static struct resize_axis enlarging(const struct resize_axis *reducing)
{
    return (struct resize_axis){.filter = RESIZE_GAUSSIAN,
                                .from = reducing->to,
                                .to = reducing->from,
                                .count = reducing->from,
                                .margin = -reducing->begin,
                                .extended = true,
                                .edge = reducing->edge};
}

/* The standard deviation on the coarse grid that the other two leave. */
static double inner_sigma(double sigma, const struct resize_axis *reducing)
{
    double apart = (double)reducing->from / reducing->to, whole = sigma / apart;
    return sqrt(whole * whole - 2 * RESIZE_GAUSSIAN_SIGMA * RESIZE_GAUSSIAN_SIGMA);
}

static int inner_radius(double sigma, const struct resize_axis *reducing)
{
    return (int)ceil(5 * inner_sigma(sigma, reducing) - 0.5);
}

struct rows coarse_source_rows(double sigma, const struct shape *in, struct rows out)
{
    struct resize_axis axis = reducing(sigma, in->height, EDGE_CLAMP);
    double apart = (double)axis.from / axis.to;
    int reach = (int)ceil((2 * RESIZE_GAUSSIAN_SUPPORT + inner_radius(sigma, &axis) + 1) * apart) + 2;
    return (struct rows){out.begin - reach, out.end + reach};
}

static enum status make_filter(double sigma, const struct resize_axis *reducing, struct filter *filter,
                               float **weights, struct error *error)
{
    int radius = inner_radius(sigma, reducing);
    *weights = allocate_zeroed(2 * (size_t)radius + 1, sizeof **weights, "filter weights", error);
    if (!*weights)
        return STATUS_FAILED;
    gaussian_weights(inner_sigma(sigma, reducing), radius, *weights);
    *filter = (struct filter){*weights, 2 * radius + 1, -radius};
    return STATUS_OK;
}

static enum status filter_grid(struct run *run, double sigma, const struct resize_axis *reducing,
                               enum status (*pass)(struct run *, const struct filter *, int,
                                                   const struct planes *, const struct planes *,
                                                   struct error *),
                               const struct planes *src, const struct planes *dst, struct error *error)
{
    struct filter filter;
    float *weights;
    if (make_filter(sigma, reducing, &filter, &weights, error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = pass(run, &filter, -1, src, dst, error);
    free(weights);
    return status;
}

/* Rows of the coarse grid that rows of the smoothed one are made from. */
static struct rows inner_rows(double sigma, const struct resize_axis *reducing, struct rows rows)
{
    int radius = inner_radius(sigma, reducing);
    return rows_with_border((struct rows){rows.begin - radius, rows.end + radius}, reducing->count,
                            reducing->edge);
}

static enum status reduce_columns(struct run *run, const struct resize_axis *axis, const struct value *in,
                                  const struct planes *dst, struct error *error)
{
    return in->raster ? resize_unpack_columns(run, axis, in->raster, dst, error)
                      : resize_columns(run, axis, &in->planes[0], dst, error);
}

enum status coarse_smooth(struct run *run, double sigma, const struct value *in, struct rows out,
                          struct coarse *coarse, struct error *error)
{
    const struct shape *shape = &in->shape;
    int planes = shape_planes(shape);
    struct resize_axis x = reducing(sigma, shape->width, run->edge),
                       y = reducing(sigma, shape->height, run->edge);
    coarse->x = enlarging(&x);
    coarse->y = enlarging(&y);
    struct rows wanted = rows_clip(resize_source_rows(&coarse->y, out), y.count),
                rows = inner_rows(sigma, &y, wanted);
    struct planes columns, grid, half, *smooth = &coarse->planes;
    if (run_scratch(run, shape->width, y.count, rows, 1, planes, &columns, error) != STATUS_OK ||
        reduce_columns(run, &y, in, &columns, error) != STATUS_OK ||
        run_scratch(run, x.count, y.count, rows, 1, planes, &grid, error) != STATUS_OK ||
        resize_rows(run, &x, &columns, &grid, error) != STATUS_OK ||
        run_scratch(run, x.count, y.count, rows, 1, planes, &half, error) != STATUS_OK ||
        filter_grid(run, sigma, &x, filter_rows, &grid, &half, error) != STATUS_OK ||
        run_scratch(run, x.count, y.count, wanted, 1, planes, smooth, error) != STATUS_OK ||
        filter_grid(run, sigma, &y, filter_columns, &half, smooth, error) != STATUS_OK)
        return STATUS_FAILED;
    run_scratch_done(run, &columns);
    run_scratch_done(run, &grid);
    run_scratch_done(run, &half);
    return STATUS_OK;
}

enum status coarse_rows(struct run *run, const struct coarse *coarse, enum resize_filter filter,
                        struct planes *rows, struct error *error)
{
    const struct planes *src = &coarse->planes;
    struct resize_axis x = coarse->x;
    x.filter = filter;
    if (run_scratch(run, x.to, src->height, (struct rows){src->first_row, src->first_row + src->rows}, 1,
                    src->channels, rows, error) != STATUS_OK)
        return STATUS_FAILED;
    return resize_rows(run, &x, src, rows, error);
}

enum status coarse_blur(struct run *run, double sigma, const struct value *in, const struct planes *dst,
                        const struct raster *raster, struct error *error)
{
    struct coarse coarse;
    struct planes rows;
    struct rows wanted = {dst->first_row, dst->first_row + dst->rows};
    if (coarse_smooth(run, sigma, in, wanted, &coarse, error) != STATUS_OK ||
        coarse_rows(run, &coarse, RESIZE_GAUSSIAN, &rows, error) != STATUS_OK)
        return STATUS_FAILED;
    return raster ? resize_columns_pack(run, &coarse.y, &rows, dst, raster, error)
                  : resize_columns(run, &coarse.y, &rows, dst, error);
}
