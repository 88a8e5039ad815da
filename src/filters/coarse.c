#include "filters/coarse.h"

#include <math.h>

/* Samples of the coarse grid for a standard deviation, and how many pixels they are apart at most: the rows
 * that one is made from should stay in a core's cache. */
enum { SAMPLES = 2, MOST_APART = 12 };

/* Samples beyond the border, where all others beyond it are like the last of them: as far as the Gaussian
 * that makes them reaches, and the one that interpolates. */
enum { MARGIN = 6 };

/* Standard deviation of the two that lead there and back, in samples of the coarse grid. */
static const double SIGMA = 0.93;

/* Onto the coarse grid. It divides the axis evenly, so that mirroring and wrapping it are the same on both.
 */
static struct resize_axis reducing(double sigma, int n, enum edge edge)
{
    double apart = fmin(sigma / SAMPLES, MOST_APART);
    int to = (int)ceil(n / apart), margin = edge == EDGE_CLAMP || edge == EDGE_ZERO ? MARGIN : 0;
    return (struct resize_axis){.filter = RESIZE_GAUSSIAN,
                                .sigma = SIGMA,
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
                                .sigma = SIGMA,
                                .from = reducing->to,
                                .to = reducing->from,
                                .count = reducing->from,
                                .margin = -reducing->begin,
                                .extended = true,
                                .edge = reducing->edge};
}

/* On the coarse grid: what the other two leave. */
static struct resize_axis smoothing(double sigma, const struct resize_axis *reducing)
{
    double apart = (double)reducing->from / reducing->to, whole = sigma / apart;
    return (struct resize_axis){.filter = RESIZE_GAUSSIAN,
                                .sigma = sqrt(whole * whole - 2 * SIGMA * SIGMA),
                                .from = reducing->count,
                                .to = reducing->count,
                                .count = reducing->count,
                                .extended = true,
                                .edge = reducing->edge};
}

struct rows coarse_source_rows(double sigma, const struct shape *in, struct rows out)
{
    struct resize_axis axis = reducing(sigma, in->height, EDGE_CLAMP);
    double apart = (double)axis.from / axis.to, all = 2 * SIGMA + smoothing(sigma, &axis).sigma;
    int reach = (int)ceil((RESIZE_GAUSSIAN_CUT * all + 2) * apart) + 2;
    return (struct rows){out.begin - reach, out.end + reach};
}

/* The coarse grid's rows that those of its output need: of an axis that wraps, the other end's, too. */
static struct rows rows_read(const struct resize_axis *axis, struct rows out, int count)
{
    struct rows rows = resize_source_rows(axis, out);
    bool wraps = axis->edge == EDGE_WRAP && (rows.begin < 0 || rows.end > count);
    return wraps ? rows_whole(count) : rows_clip(rows, count);
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
    struct resize_axis inner_x = smoothing(sigma, &x), inner_y = smoothing(sigma, &y);
    coarse->x = enlarging(&x);
    coarse->y = enlarging(&y);
    struct rows wanted = rows_read(&coarse->y, out, y.count), rows = rows_read(&inner_y, wanted, y.count);
    struct planes columns, grid, half, *smooth = &coarse->planes;
    if (run_scratch(run, shape->width, y.count, rows, 1, planes, &columns, error) != STATUS_OK ||
        reduce_columns(run, &y, in, &columns, error) != STATUS_OK ||
        run_scratch(run, x.count, y.count, rows, 1, planes, &grid, error) != STATUS_OK ||
        resize_rows(run, &x, &columns, &grid, error) != STATUS_OK ||
        run_scratch(run, x.count, y.count, rows, 1, planes, &half, error) != STATUS_OK ||
        resize_rows(run, &inner_x, &grid, &half, error) != STATUS_OK ||
        run_scratch(run, x.count, y.count, wanted, 1, planes, smooth, error) != STATUS_OK ||
        resize_columns(run, &inner_y, &half, smooth, error) != STATUS_OK)
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
