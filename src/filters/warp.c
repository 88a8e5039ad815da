/* Launches of warps (kernels/warp.cl) and moves.
 *
 * The kernel computes positions in integers of 2^-40 pixels: float would err by 0.001 pixels in the middle of
 * a large picture. Cubics follow D. Mitchell and A. Netravali (SIGGRAPH 1988): (B, C) = (0, 0.5) is Keys'
 * with a = -0.5, (1, 0) the B-spline. They are arguments, as polynomials, so one program serves both. If the
 * picture shrinks, the kernel warp_shrinking stretches the filter along x and y.
 *
 * On CPU devices sixteen neighbours of an output row are computed at once if they come from few rows, as in
 * rotations of gray by up to 48 degrees and of RGB by up to 23 (kernels/warp_rows_cpu.cl). Processor time,
 * without reading and writing: 35 MP gray by 2, 10, 20 and 30 degrees 0.05, 0.07, 0.16 and 0.32 s (with a
 * work-item for each pixel 0.53 to 0.72); 17 MP RGB by 3, 10 and 20 degrees 0.1, 0.17 and 0.4 s (0.36 to
 * 0.49). */
#include "filters/warp.h"

#include "base/exact.h"

#include <math.h>
#include <string.h>

/* Fractional bits of positions. */
enum { FRACTION_BITS = 40 };

/* Groups are squares: a rotated row of the output crosses many rows of the source, and neighbouring rows of
 * the output cross the same ones. */
static const struct kernel_configs warp_configs = {.kernel = "warp",
                                                   .cpu = {1, {16, 16}},
                                                   .gpu = {1, {16, 8}}},
                                   warp_shrinking_configs = {
                                       .kernel = "warp_shrinking", .cpu = {1, {16, 16}}, .gpu = {1, {16, 8}}};

/* Largest tile of a group in bytes of local memory. Without a tile, samples are read from global memory. */
enum { MAX_TILE = 32 << 10 };

/* The same layout as struct warp of kernels/warp.h. */
struct warp_argument {
    cl_long xx, xy, x, yx, yy, y;
    cl_float cubic[4][4], near[4], far[4];
    cl_float stretch_x, stretch_y;
    cl_float fill[4];
    cl_int nearest, missing;
    cl_int columns, rows, pitch, left, top; /* tile of a group */
};

enum status warp_parse_size(const char *text, void *field, struct error *error)
{
    struct warp_size *size = field;
    char end;
    if (sscanf(text, "%7dx%7d%c", &size->width, &size->height, &end) == 2 && size->width > 0 &&
        size->height > 0 && size->width <= WARP_MAX_SIDE && size->height <= WARP_MAX_SIDE)
        return STATUS_OK;
    return fail(error, STATUS_USAGE, "expected WxH, as in 640x480, with sides up to %d", WARP_MAX_SIDE);
}

void warp_print_size(FILE *file, const void *field)
{
    const struct warp_size *size = field;
    if (size->width > 0)
        fprintf(file, "%dx%d", size->width, size->height);
}

/* True if samples are copied instead of interpolated. */
static bool is_copy(const struct warp_options *options)
{
    return options->copies || options->resampler == RESAMPLE_NEAREST;
}

/* Returns the taps of the filter along an axis, before stretching. */
static int count_taps(const struct warp_options *options)
{
    return options->resampler == RESAMPLE_BILINEAR ? 2 : options->resampler == RESAMPLE_LANCZOS ? 6 : 4;
}

/* Stores the coefficients of p(at + sign * t), a polynomial in t, as a column of `to`. */
static void substitute(const double *p, double at, int sign, int column, cl_float (*to)[4])
{
    to[0][column] = (float)(((p[3] * at + p[2]) * at + p[1]) * at + p[0]);
    to[1][column] = (float)(sign * ((3 * p[3] * at + 2 * p[2]) * at + p[1]));
    to[2][column] = (float)(3 * p[3] * at + p[2]);
    to[3][column] = (float)(sign * p[3]);
}

/* Returns the factor by which the filter is widened along a source axis, on which steps along x and y of the
 * output have lengths x and y. An output pixel is a parallelogram of the source, whose shear is ignored. */
static double find_stretch(const struct warp_options *options, double x, double y)
{
    const double length = exact_hypot(x, y);
    return options->antialias && !is_copy(options) && length > 1 + 1e-9 ? length : 1;
}

/* Converts pixels to units of 2^-FRACTION_BITS. */
static cl_long to_units(double value)
{
    return llrint(ldexp(value, FRACTION_BITS));
}

/* Computes the kernel's arguments, except for the tile. For copies, which round to the nearest pixel, half a
 * pixel is added to positions, and the kernel rounds down. Moves by whole pixels copy, too, as samples of
 * weight 0 may be NaN; but not with the B-spline, which smooths. */
static struct warp_argument find_argument(const struct affine *affine, const struct warp_options *options)
{
    bool nearest = is_copy(options) || (options->resampler != RESAMPLE_BSPLINE && warp_is_whole(affine));
    double half = nearest ? 0.5 : 0;
    struct warp_argument argument = {.xx = to_units(affine->xx),
                                     .xy = to_units(affine->xy),
                                     .x = to_units(affine->x + half),
                                     .yx = to_units(affine->yx),
                                     .yy = to_units(affine->yy),
                                     .y = to_units(affine->y + half),
                                     .nearest = nearest};
    memcpy(argument.fill, options->fill, sizeof argument.fill);
    /* The cubic of Mitchell and Netravali with parameters B and C. */
    const double b = options->resampler == RESAMPLE_BSPLINE ? 1 : 0, c = b > 0 ? 0 : 0.5;
    const double near[] = {(6 - 2 * b) / 6, 0, (-18 + 12 * b + 6 * c) / 6, (12 - 9 * b - 6 * c) / 6};
    const double far[] = {(8 * b + 24 * c) / 6, (-12 * b - 48 * c) / 6, (6 * b + 30 * c) / 6,
                          (-b - 6 * c) / 6};
    for (int i = 0; i < 4; i++) {
        argument.near[i] = (float)near[i];
        argument.far[i] = (float)far[i];
    }
    substitute(far, 1, 1, 0, argument.cubic);
    substitute(near, 0, 1, 1, argument.cubic);
    substitute(near, 1, -1, 2, argument.cubic);
    substitute(far, 2, -1, 3, argument.cubic);
    argument.stretch_x = (float)find_stretch(options, affine->xx, affine->xy);
    argument.stretch_y = (float)find_stretch(options, affine->yx, affine->yy);
    return argument;
}

struct affine warp_chroma_map(const struct affine *luma, const struct chroma *chroma)
{
    const double across = chroma->across, down = chroma->down;
    /* From chroma to luma positions, through the map, and back to chroma. */
    const struct affine to = {.xx = across, .x = chroma->left, .yy = down, .y = chroma->top},
                        back = {.xx = 1 / across,
                                .x = -chroma->left / across,
                                .yy = 1 / down,
                                .y = -chroma->top / down};
    const struct affine map = affine_then(&to, luma);
    return affine_then(&map, &back);
}

bool warp_is_whole(const struct affine *affine)
{
    const bool is_turn = affine_swaps_axes(affine) ? fabs(affine->xy) == 1 && fabs(affine->yx) == 1
                                                   : affine->xy == 0 && affine->yx == 0 &&
                                                         fabs(affine->xx) == 1 && fabs(affine->yy) == 1;
    return is_turn && affine->x == floor(affine->x) && affine->y == floor(affine->y);
}

enum status warp_adapt_options_to_chroma(struct warp_options *options, const struct chroma *chroma,
                                         struct error *error)
{
    if (options->outside == OUTSIDE_ZERO)
        return fail(error, STATUS_FAILED, "needs outside=edge on video, whose black is not 0");
    options->size = (struct warp_size){ceil_div(chroma->luma_out->width, chroma->across),
                                       ceil_div(chroma->luma_out->height, chroma->down)};
    return STATUS_OK;
}

enum status warp_check(const char *what, const struct affine *affine, const struct warp_options *options,
                       const struct shape *out, struct error *error)
{
    /* Bounds of the distance of any position from the origin, along x and along y. */
    double x = fabs(affine->xx) * out->width + fabs(affine->xy) * out->height + fabs(affine->x);
    double y = fabs(affine->yx) * out->width + fabs(affine->yy) * out->height + fabs(affine->y);
    /* Samples that all outputs read. */
    double taps = is_copy(options) ? 1 : count_taps(options);
    double samples = taps * find_stretch(options, affine->xx, affine->xy) * taps *
                     find_stretch(options, affine->yx, affine->yy) * out->width * out->height;
    if (!(x < WARP_MAX_POSITION && y < WARP_MAX_POSITION))
        return fail(error, STATUS_FAILED, "%s to %dx%d pixels reaches beyond %d pixels from the picture",
                    what, out->width, out->height, WARP_MAX_POSITION);
    if (samples > WARP_MAX_SAMPLES)
        return fail(
            error, STATUS_FAILED,
            "%s to %dx%d pixels takes %.2g samples, more than %.2g; --resize makes a picture smaller, "
            "antialias=no reads %d per pixel",
            what, out->width, out->height, samples, WARP_MAX_SAMPLES,
            count_taps(options) * count_taps(options));
    return STATUS_OK;
}

/* Returns the number of samples on each side of a position. */
static int find_reach(int taps, float stretch)
{
    const int half = taps / 2;
    return (int)ceilf((float)half * stretch);
}

struct interval warp_source_rows(const struct affine *affine, const struct warp_options *options, int width,
                                 const struct shape *in, struct interval out)
{
    /* The integers of the kernel, so that both arrive at the same rows. */
    const struct warp_argument argument = find_argument(affine, options);
    const int reach = find_reach(count_taps(options), argument.stretch_y);
    cl_long across = argument.yx * (width - 1), down = argument.yy * (out.end - 1 - out.begin);
    cl_long low = argument.yy * out.begin + argument.y, high = low;
    *(across < 0 ? &low : &high) += across;
    *(down < 0 ? &low : &high) += down;
    const int begin = (int)(low >> FRACTION_BITS), last = (int)(high >> FRACTION_BITS);
    const struct interval window = argument.nearest ? (struct interval){begin, last + 1}
                                                    : (struct interval){begin - reach + 1, last + reach + 1};
    return options->outside == OUTSIDE_ZERO ? interval_clip(window, in->height) : window;
}

bool warp_needs_all_rows(const struct affine *affine, const struct warp_options *options)
{
    return affine->yy <= 0 || options->outside == OUTSIDE_EDGE;
}

/* Returns the number of source samples that a group of `pixels` needs along one axis. Sets *first to the
 * first of them, relative to the sample at the group's first pixel. A step along x or y of the output is
 * `across` or `down` units long on that axis. */
static int find_span(cl_long across, cl_long down, const int *pixels, int reach, int *first)
{
    cl_long low = 0, high = 0;
    *(across < 0 ? &low : &high) += across * (pixels[0] - 1);
    *(down < 0 ? &low : &high) += down * (pixels[1] - 1);
    *first = (int)(low >> FRACTION_BITS) - reach + 1;
    return (int)(high >> FRACTION_BITS) + 1 + reach - *first + 1;
}

/* Computes the tile of the source that contains all samples of a group. Returns its size in bytes, with
 * `planes` planes. A stretched filter reads several samples along x at once, which rounds the columns up. */
static size_t find_tile(struct warp_argument *argument, const int *pixels, int taps, bool shrinks, int planes)
{
    int at_once = taps > 2 ? 8 : 4, reach_x = find_reach(taps, argument->stretch_x);
    argument->columns = find_span(argument->xx, argument->xy, pixels, reach_x, &argument->left);
    argument->rows =
        find_span(argument->yx, argument->yy, pixels, find_reach(taps, argument->stretch_y), &argument->top);
    if (shrinks)
        argument->columns += ceil_div(2 * reach_x, at_once) * at_once - 2 * reach_x;
    argument->pitch = (argument->columns + 7) / 8 * 8 + 3; /* rows begin at different banks of local memory */
    return (size_t)argument->pitch * (size_t)argument->rows * (planes == 3 ? 4 : (size_t)planes) *
           sizeof(cl_float);
}

enum status warp_image(struct run *run, const struct affine *affine, const struct warp_options *options,
                       const struct value *in, struct value *out, struct error *error)
{
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    struct warp_argument argument = find_argument(affine, options);
    bool shrinks = argument.stretch_x > 1 || argument.stretch_y > 1;
    struct kernel_launch work =
        run_configured(run, "warp", shrinks ? &warp_shrinking_configs : &warp_configs, &out->planes[0]);
    const int planes = run->memory == MEMORY_BUFFER ? out->shape.channels : 1;
    /* The pixels of a group in the output. Positions of other pixels may exceed WARP_MAX_POSITION. */
    const int *group = work.config.group;
    const int width = out->shape.width, height = out->shape.height,
              pixels[] = {group[0] < width ? group[0] : width, group[1] < height ? group[1] : height};
    const size_t tile = find_tile(&argument, pixels, count_taps(options), shrinks, planes);
    work.vector_width = VECTOR_SCALAR;
    argument.missing =
        run->is_merged && options->outside == OUTSIDE_ZERO && !options->copies && !in->shape.alpha;
    if (options->outside == OUTSIDE_ZERO)
        work.edge = argument.missing ? EDGE_CLAMP : EDGE_ZERO;
    define(&work.defines, "TAPS", count_taps(options));
    if (run->memory == MEMORY_BUFFER)
        define(&work.defines, "PLANES", planes);
    work.depth /= planes;
    /* kernels/warp_rows_cpu.cl is for neighbours along x that come from few rows. For one plane these are the
     * bounds of its TILE_COLUMNS and TILE_ROWS, for more the slopes up to which it is the faster kernel (RGB
     * by 30 degrees: 1.1 times the time). */
    const bool by_rows = !argument.nearest && !shrinks && fabs(affine->xx - 1) <= (planes == 1 ? 0.5 : 0.2) &&
                         fabs(affine->yx) <= (planes == 1 ? 0.75 : 0.4);
    /* A dry run collects the programs of both ways, so that another angle compiles nothing. */
    if (run_is_cpu(run) && (by_rows || device_is_dry_run(run->device))) {
        struct kernel_launch rows = work;
        rows.file = "warp_rows_cpu";
        rows.kernel = "warp_rows";
        rows.config = (struct launch_config){0};
        rows.vector_width = VECTOR_FULL;
        rows.calls_noinline = true;
        const enum status status = LAUNCH(run->device, &rows, error, ARG_PLANES(&in->planes[0]),
                                          ARG_PLANES(&out->planes[0]), ARG(argument));
        if (status != STATUS_OK || !device_is_dry_run(run->device))
            return status;
    }
    /* Images have a texture cache, copies read each sample once, and a large tile does not fit. */
    if (run->memory == MEMORY_IMAGE || argument.nearest || tile > MAX_TILE ||
        tile > run->device->local_memory)
        return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(&out->planes[0]),
                      ARG(argument));
    work.kernel = shrinks ? "warp_shrinking_tiled" : "warp_tiled";
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(&out->planes[0]),
                  ARG(argument), ARG_LOCAL(tile));
}

/* ---------------------------------------------------------------- moves */

static const struct kernel_configs move_configs = {
    .kernel = "move_samples", .cpu = {1, {1, 1}}, .gpu = {1, {16, 16}}};

/* On CPU devices a work-item copies a square of TILE x TILE pixels, so that source and destination rows stay
 * in the cache. */
enum { TILE = 64, MAX_UNIT = 16 /* bytes */ };

/* The same layout as struct move of kernels/move_samples.cl. */
struct move {
    cl_int xx, xy, x, yx, yy, y, width, first_row, rows;
};

struct kernel_launch move_work(const struct run *run, const char *file, const struct value *out,
                               cl_int *units)
{
    const struct planes dst = value_planes(out);
    const int pixel = (int)out->raster->pixel, power = pixel & -pixel; /* the largest that divides a pixel */
    const int unit = power < MAX_UNIT ? power : MAX_UNIT,
              tile = run->device->variant == VARIANT_CPU ? TILE : 1;
    struct kernel_launch work = run_work(run, file, file, &dst);
    work.memory = MEMORY_BUFFER;
    work.config = device_launch_config(run->device, MEMORY_BUFFER, &move_configs);
    work.vector_width = VECTOR_SCALAR;
    work.width = ceil_div(dst.width, tile);
    work.height = ceil_div(dst.rows, tile);
    work.depth = out->shape.images;
    work.bytes = 2 * raster_bytes(out->raster, dst.rows);
    define(&work.defines, "UNIT", unit);
    define(&work.defines, "TILE", tile);
    *units = pixel / unit;
    return work;
}

enum status move_pixels(struct run *run, const struct affine *affine, const struct value *in,
                        const struct value *out, struct error *error)
{
    const struct planes dst = value_planes(out);
    const struct move by = {(cl_int)affine->xx, (cl_int)affine->xy, (cl_int)affine->x,
                            (cl_int)affine->yx, (cl_int)affine->yy, (cl_int)affine->y,
                            dst.width,          dst.first_row,      dst.rows};
    cl_int units;
    struct kernel_launch work = move_work(run, "move_samples", out, &units);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(in->raster), ARGS_WRITE_RASTER(out->raster),
                  ARG(units), ARG(by));
}

enum status move_image(struct run *run, const struct affine *affine, const struct value *in,
                       struct value *out, struct error *error)
{
    static const struct warp_options copying = {.copies = true};
    return out->raster ? move_pixels(run, affine, in, out, error)
                       : warp_image(run, affine, &copying, in, out, error);
}

enum status copy_image(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error)
{
    const struct affine same = affine_scaling(1, 1);
    (void)params;
    return move_image(run, &same, in, out, error);
}

struct stage_caps move_caps(const void *params)
{
    (void)params;
    return (struct stage_caps){.lossless_move = true, .groups = true, .needs_upright = true};
}
