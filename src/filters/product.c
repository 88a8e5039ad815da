/* Launches of the separable product, by one of three kernels:
 *
 *   product_cpu.cl   CPU devices: a work-item computes SEGMENT blocks with a tile in the cache
 *   product_gpu.cl   GPUs, and images: a group computes neighbouring blocks with a tile in local memory
 *   filter_gpu.cl    GPUs, buffers, filters of at most 129 taps: columns are filtered in registers
 *
 * product_cpu.cl also reads and writes rasters, which saves unpacking and packing. filter_gpu.cl exists
 * because product_gpu.cl takes an H200 1.46 times as long for 19 taps.
 *
 * All three add in the same order and take border weights from the same tables (filters/axis.h), so they give
 * the same bits. Weights are arguments: a new sigma or factor compiles nothing.
 *
 * Tried and lost:
 *   kernels with length or factor at build time   0.4 to 1.6 s per value to compile on an H100; on a CPU the
 *                                                 product takes 0.72 to 1.02 of their time
 *   a launch per axis                             17 taps on an H100: 2.05 times as long as copying the
 *                                                 planes; a probe with one launch 1.38
 *   the wavelet transform as a product            level 1 of four planes of 1024x1024 on two cores: 14.3 ms;
 *                                                 the transform's own kernels 6.6 */
#include "filters/product.h"

#include <stdlib.h>
#include <string.h>

/* Blocks along x per work-item of the CPU variant, as in kernels/product_cpu.cl. */
enum { SEGMENT = 64 };

/* Work-items of a group of the GPU variant, if local memory suffices for their tile. */
enum { GROUP = 128 };

/* Bytes of a vec in local memory. */
enum { VEC_BYTES = GPU_LANES * sizeof(float) };

const struct epilogue epilogue_copy = {.alpha_channel = -1};

struct stage_caps product_caps(const void *params)
{
    (void)params;
    return (struct stage_caps){.groups = true, .reads_samples = true, .writes_samples = true};
}

/* Tables of both axes, and the blocks that a launch computes. */
struct tables {
    cl_mem x, y;
    cl_int blocks_x; /* number of blocks along x */
    cl_int first_y;  /* first block along y */
    int blocks_y;    /* number of blocks along y */
};

/* Returns the tables of both axes and the range of blocks that covers the rows to compute. */
static enum status make_tables(struct run *run, const struct product *product, struct blocking across,
                               struct tables *tables, struct error *error)
{
    const struct planes *dst = &product->dst;
    const struct blocking down = {PRODUCT_ROWS, 1, false};
    const bool all = product->rows.end == product->rows.begin;
    const struct interval rows =
        all ? (struct interval){dst->first_row, dst->first_row + dst->rows} : product->rows;
    tables->blocks_x = ceil_div(product->x.outputs, across.outputs);
    tables->first_y = rows.begin / PRODUCT_ROWS;
    tables->blocks_y = ceil_div(rows.end, PRODUCT_ROWS) - tables->first_y;
    if (axis_table(run, &product->x, across, &tables->x, error) != STATUS_OK)
        return STATUS_FAILED;
    return axis_table(run, &product->y, down, &tables->y, error);
}

/* True if the epilogue reads `other`. */
static bool has_other(const struct product *product)
{
    return product->epilogue.op != EPILOGUE_COPY || product->epilogue.alpha_channel >= 0;
}

/* Enqueues kernels/product_cpu.cl. One program serves all combinations of planes and rasters. */
static enum status multiply_cpu(struct run *run, const struct product *product, struct error *error)
{
    const struct raster *read = product->read, *write = product->write;
    const struct planes *src = &product->src, *dst = &product->dst, *other = &product->other;
    const struct geometry other_at = planes_geometry(other), to = planes_geometry(dst);
    const cl_int channels = dst->channels; /* of an interleaved pixel */
    struct tables tables;
    struct kernel_launch work = run_work(run, "product_cpu", "product", dst);
    if (make_tables(run, product, (struct blocking){CPU_LANES, 1, true}, &tables, error) != STATUS_OK)
        return STATUS_FAILED;
    /* The grid's x counts blocks along y. */
    work.width = tables.blocks_y * CPU_LANES;
    work.height = ceil_div(tables.blocks_x, SEGMENT);
    work.config = (struct launch_config){1, {1, 1}};
    work.calls_noinline = true;
    work.bytes = read && !src->object ? raster_bytes(read, src->rows)
                                      : planes_bytes(src) * (has_other(product) ? 2 : 1);
    if (!read && !write)
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_MEMORY(other->object), ARG(other_at),
                      ARG_PLANES(dst), ARG_MEMORY(tables.y), ARG_MEMORY(tables.x), ARG(tables.blocks_x),
                      ARG(tables.first_y), ARG(product->epilogue), ARG(channels));
    struct raster input = read ? *read : (struct raster){0}, output = write ? *write : (struct raster){0};
    const struct geometry from = planes_geometry(src);
    struct geometry input_at = from; /* as if the interleaved channels were one plane */
    input_at.pitch = input.pitch * src->channels;
    input_at.first_row = input.first_row;
    if (dst->object)
        output.memory = NULL;
    else if (write)
        work.bytes += raster_bytes(write, dst->rows);
    work.depth = 1;
    define(&work.defines, "SAMPLES", 1);
    define(&work.defines, "SAMPLE", write ? output.sample : input.sample);
    if (read && write && input.sample != output.sample)
        define(&work.defines, "READ_SAMPLE", input.sample);
    return LAUNCH(run->device, &work, error, ARG_MEMORY(input.memory), ARG(input_at), ARG_MEMORY(src->object),
                  ARG(from), ARG_MEMORY(other->object), ARG(other_at), ARGS_WRITE_RASTER(&output),
                  ARG_MEMORY(dst->object), ARG(to), ARG_MEMORY(tables.y), ARG_MEMORY(tables.x),
                  ARG(tables.blocks_x), ARG(tables.first_y), ARG(product->epilogue), ARG(channels));
}

/* Returns the number of blocks of a group along x: as many as find their samples in one tile, but at least as
 * many as span one window. For wide windows the tile is then filled several times; with fewer blocks,
 * neighbouring groups would read mostly the same samples. */
static int blocks_of_group(const struct axis *axis, struct blocking by, int group)
{
    double step = (double)by.outputs * axis->samples / axis->outputs; /* samples from block to block */
    double window = axis_max_taps(axis), fitting = (group * by.unit - window - 2 * by.unit) / step;
    double across = fitting < window / step ? window / step : fitting;
    return across < 1 ? 1 : across < group ? (int)across : group;
}

/* Enqueues kernels/product_gpu.cl. */
static enum status multiply_gpu(struct run *run, const struct product *product, struct error *error)
{
    const struct planes *src = &product->src, *dst = &product->dst,
                        *other = has_other(product) ? &product->other : src;
    const struct geometry other_at = planes_geometry(other);
    const int lanes = launch_lanes(run->device, run->memory, VECTOR_FULL);
    const struct blocking by = {lanes, lanes, true};
    struct tables tables;
    /* Reserve memory for PRODUCT_ROWS + 1 rows: in images each row of the tile has one more vec. */
    const int group = run_fitting_outputs(run, GROUP, (size_t)(PRODUCT_ROWS + 1) * VEC_BYTES);
    cl_int across = blocks_of_group(&product->x, by, group);
    struct kernel_launch work = run_work(run, "product_gpu", "product", dst);
    if (make_tables(run, product, by, &tables, error) != STATUS_OK)
        return STATUS_FAILED;
    work.width = ceil_div(tables.blocks_x, across) * group * lanes;
    work.height = tables.blocks_y;
    work.config = (struct launch_config){1, {group, 1}};
    work.bytes = has_other(product) ? planes_bytes(other) : 0;
    define(&work.defines, "GROUP", group);
    if (axis_max_samples(&product->x, by, across) > group * lanes)
        define(&work.defines, "REFILL", 1);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_MEMORY(other->object), ARG(other_at),
                  ARG_PLANES(dst), ARG_MEMORY(tables.y), ARG_MEMORY(tables.x), ARG(tables.blocks_x),
                  ARG(tables.first_y), ARG(product->epilogue), ARG(across));
}

/* The same layouts as in kernels/filter_gpu.cl. */
struct window_x {
    cl_int before, reach;
};

struct window_y {
    cl_int start, taps;
};

/* Outputs per work-item along y, and group sizes. */
static const struct kernel_configs one_filter = {.kernel = "filter_both", .gpu = {8, {128, 1}}},
                                   two_filters = {.kernel = "filter_both", .gpu = {4, {64, 1}}};

/* Returns the window along x in vecs of four samples: reach + 1 vecs, which begin `before` vecs before the
 * outputs' own. The reach is at least 1: the kernel handles the first and the last vec separately. */
static struct window_x find_window_x(const struct filter *along_x)
{
    const int last = along_x->start + along_x->taps - 1, before = ceil_div(-along_x->start, GPU_LANES);
    const int reach = before + (last > 0 ? ceil_div(last, GPU_LANES) : 0);
    return (struct window_x){before, reach > 1 ? reach : 1};
}

/* True for a filter that keeps the size, with equal weights for all outputs. */
static bool axis_is_uniform(const struct axis *axis)
{
    return axis->filter.weights && axis->filter.step == 1 && axis->filter.period == 1 &&
           axis->filter.lead == 0;
}

/* Longest filter of kernels/filter_gpu.cl, in vecs: 129 taps. For longer ones product_gpu.cl is as fast. */
enum { MAX_REACH = 32 };

/* Samples that an axis must have in addition to the taps. They make a wrapped axis periodic (axis.c);
 * otherwise its table would extend over all samples, which are not in a tile. */
enum { BORDER_SAMPLES = 40 };

/* True if kernels/filter_gpu.cl can compute the product. */
static bool fits_filter_gpu(const struct run *run, const struct product *product)
{
    const int group = device_launch_config(run->device, run->memory, &two_filters).group[0];
    const struct filter *along_x = &product->x.filter;
    const int reach = find_window_x(along_x).reach;
    /* A tile near the border must contain the samples that replace those beyond the border. It does if the
     * filter is symmetric or has one tap more on one side, and the axis is longer than it. */
    const int left = -along_x->start, right = along_x->start + along_x->taps - 1;
    const bool border_fits = abs(left - right) <= 1 && product->x.samples >= along_x->taps + BORDER_SAMPLES;
    return !run_is_cpu(run) && run->memory == MEMORY_BUFFER && product->rows.end == product->rows.begin &&
           axis_is_uniform(&product->x) && axis_is_uniform(&product->y) &&
           product->epilogue.op != EPILOGUE_MAGNITUDE && reach <= MAX_REACH && reach <= group / 2 &&
           border_fits;
}

/* Uploads the weights of one or two filters, each padded with zeros to `length`: `before` zeros in front, the
 * rest at the end. `another` may be NULL. */
static enum status pad_weights(struct run *run, const struct filter *filter, const struct filter *another,
                               int before, int length, struct weights *weights, struct error *error)
{
    const size_t bytes = (size_t)filter->taps * sizeof(float), all = (size_t)length * (another ? 2 : 1);
    float *padded = allocate_zeroed(all, sizeof *padded, "filter weights", error);
    if (!padded)
        return STATUS_FAILED;
    memcpy(padded + before, filter->weights, bytes);
    if (another)
        memcpy(padded + length + before, another->weights, bytes);
    weights->count = all;
    enum status status = run_constants(run, padded, all, &weights->memory, error);
    free(padded);
    return status;
}

/* Enqueues kernels/filter_gpu.cl: a product, or, if `another` is given, the gradient magnitude of two. */
static enum status filter_gpu(struct run *run, const struct product *product, const struct product *another,
                              struct error *error)
{
    const int filters = another ? 2 : 1;
    const struct filter *along_x = &product->x.filter, *along_y = &product->y.filter;
    const struct planes *src = &product->src, *dst = &product->dst;
    const struct window_x window_x = find_window_x(along_x);
    struct kernel_launch work = run_configured(run, "filter_gpu", another ? &two_filters : &one_filter, dst);
    const int group = work.config.group[0];
    const int outputs = run_fitting_outputs(run, work.config.outputs, (size_t)(filters * group) * VEC_BYTES);
    /* The kernel needs at least OUTPUTS - 1 taps: zeros are appended. */
    const struct window_y window_y = {along_y->start,
                                      along_y->taps < outputs - 1 ? outputs - 1 : along_y->taps};
    const struct blocking by = {GPU_LANES, GPU_LANES, true};
    struct weights weights_x, weights_y;
    struct tables tables, tables2;
    work.width = ceil_div(dst->width, (group - window_x.reach) * GPU_LANES) * group * GPU_LANES;
    const cl_int first_group = dst->first_row / outputs;
    work.height = ceil_div(dst->first_row + dst->rows, outputs) - first_group;
    work.config = (struct launch_config){outputs, {group, 1}};
    define(&work.defines, "GROUP", group);
    define(&work.defines, "OUTPUTS", outputs);
    define(&work.defines, "FILTERS", filters);
    if (pad_weights(run, along_x, another ? &another->x.filter : NULL,
                    window_x.before * GPU_LANES + along_x->start, window_x.reach * GPU_LANES + 1, &weights_x,
                    error) != STATUS_OK ||
        pad_weights(run, along_y, another ? &another->y.filter : NULL, 0, window_y.taps, &weights_y, error) !=
            STATUS_OK ||
        make_tables(run, product, by, &tables, error) != STATUS_OK ||
        make_tables(run, another ? another : product, by, &tables2, error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights_x),
                  ARG(window_x), ARG_WEIGHTS(weights_y), ARG(window_y), ARG(product->epilogue),
                  ARG(first_group), ARG_MEMORY(tables.x), ARG_MEMORY(tables.y), ARG_MEMORY(tables2.x),
                  ARG_MEMORY(tables2.y));
}

enum status product_run(struct run *run, const struct product *product, struct error *error)
{
    if (fits_filter_gpu(run, product))
        return filter_gpu(run, product, NULL, error);
    return (run_is_cpu(run) ? multiply_cpu : multiply_gpu)(run, product, error);
}

enum status gradient_magnitude(struct run *run, const struct product *product, const struct product *another,
                               struct error *error)
{
    const struct planes *dst = &product->dst;
    struct product first = *product, second = *another;
    if (fits_filter_gpu(run, product))
        return filter_gpu(run, product, another, error);
    if (run_scratch(run, dst->width, dst->height,
                    (struct interval){dst->first_row, dst->first_row + dst->rows}, 1, dst->channels,
                    &first.dst, error) != STATUS_OK)
        return STATUS_FAILED;
    if (product_run(run, &first, error) != STATUS_OK)
        return STATUS_FAILED;
    /* The epilogue of the second product combines it with the first. */
    second.epilogue.op = EPILOGUE_MAGNITUDE;
    second.other = first.dst;
    return product_run(run, &second, error);
}

enum status product_image(struct run *run, const struct axis *x, const struct axis *y,
                          const struct epilogue *epilogue, const struct value *in, struct value *out,
                          struct error *error)
{
    if (!out->raster && run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct product product = {.x = *x,
                                    .y = *y,
                                    .epilogue = *epilogue,
                                    .src = value_planes(in),
                                    .dst = value_planes(out),
                                    .other = in->planes[0],
                                    .read = in->raster,
                                    .write = out->raster};
    return product_run(run, &product, error);
}
