/* Launches of the separable product, by one of three kernels. run_is_cpu() is true for CPU devices with
 * planes in buffers.
 *
 *   product_cpu.cl   CPU devices, buffers: a work-item computes SEGMENT blocks with a tile in the cache; each
 *                    axis by itself if a filter has more than 240 taps
 *   product_gpu.cl   GPUs, and images on any device: a group computes neighbouring blocks with a tile in
 *                    local memory
 *   filter_gpu.cl    GPUs, buffers, the same weights for every output (fits_filter_gpu), at most 129 taps
 *                    along x: columns are filtered in registers
 *
 * product_cpu.cl also reads and writes rasters, which saves unpacking and packing. filter_gpu.cl exists
 * because product_gpu.cl takes an H200 1.46 times as long for 19 taps.
 *
 * All three add in the same order and take border weights from the same tables (filters/axis.h), so they give
 * the same bits. Weights are arguments: a new sigma or factor compiles nothing.
 *
 * Tried and lost:
 *   kernels with the number of taps or the factor   each value takes 0.4 to 1.6 s to compile on an H100. On a
 *   as a build option                               CPU product_cpu.cl takes 0.72 to 1.02 of their time
 *   a launch per axis                               17 taps on an H100 take 2.05 times as long as copying the
 *                                                   planes; an experiment with one launch 1.38 times
 *   the wavelet transform as a product              level 1 of four planes of 1024x1024 takes two cores
 *                                                   14.3 ms; with the transform's own kernels 6.6 ms */
#include "filters/product.h"

#include <stdlib.h>
#include <string.h>

/* Blocks along x per work-item of the CPU variant, as in kernels/product_cpu.cl. */
enum { SEGMENT = 64 };

/* Positions in the tile of the CPU variant, as in kernels/product_cpu.cl. */
enum { SPAN = 512 };

/* Work-items of a group of the GPU variant; fewer if their tile does not fit into local memory. */
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
    cl_int blocks_x; /* number of blocks along x, of the whole axis */
    cl_int first_y;  /* first block along y */
    int blocks_y;    /* number of blocks along y, from first_y on */
};

/* Fills in *tables: finds or uploads the tables of both axes, and computes the blocks that contain the rows
 * to compute. The run owns the tables. */
static enum status make_tables(struct run *run, const struct product *product, struct blocking by_x,
                               struct tables *tables, struct error *error)
{
    const struct planes *dst = &product->dst;
    const struct blocking by_y = {PRODUCT_ROWS, 1, false};
    const bool is_whole = product->rows.end == product->rows.begin;
    const struct interval rows = is_whole ? planes_rows(dst) : product->rows;
    tables->blocks_x = ceil_div(product->x.outputs, by_x.outputs);
    tables->first_y = rows.begin / PRODUCT_ROWS;
    tables->blocks_y = ceil_div(rows.end, PRODUCT_ROWS) - tables->first_y;
    if (axis_table(run, &product->x, by_x, &tables->x, error) != STATUS_OK)
        return STATUS_FAILED;
    return axis_table(run, &product->y, by_y, &tables->y, error);
}

/* True if the epilogue has a second operand (struct product). */
static bool has_operand(const struct product *product)
{
    return product->epilogue.op != EPILOGUE_COPY || product->epilogue.alpha_channel >= 0;
}

/* Returns the bytes of the second operand, or 0 if it is the source, which counts once. */
static uint64_t operand_bytes(const struct product *product)
{
    const struct planes *src = &product->src, *other = &product->other;
    if (!has_operand(product))
        return 0;
    if (product->epilogue.op == EPILOGUE_SHARPEN && product->src_raster)
        return src->object ? raster_bytes(product->src_raster, product->dst.rows) : 0;
    return other->object != src->object ? planes_bytes(other) : 0;
}

/* Enqueues kernels/product_cpu.cl. One program serves all combinations of planes and rasters. */
static enum status multiply_cpu(struct run *run, const struct product *product, struct error *error)
{
    const struct raster *read = product->src_raster, *write = product->dst_raster;
    const struct planes *src = &product->src, *dst = &product->dst, *other = &product->other;
    const struct geometry other_at = planes_geometry(other), to = planes_geometry(dst);
    const cl_int channels = dst->channels; /* of an interleaved pixel */
    struct tables tables;
    struct kernel_launch work = run_work(run, "product_cpu", "product", dst);
    if (make_tables(run, product, (struct blocking){CPU_LANES, 1, true}, &tables, error) != STATUS_OK)
        return STATUS_FAILED;
    /* A work-item computes a block along y (the grid's x) and a segment (its y). work.width counts floats,
     * and CPU_LANES of them are a work-item. */
    work.width = tables.blocks_y * CPU_LANES;
    work.height = ceil_div(tables.blocks_x, SEGMENT);
    work.config = (struct launch_config){1, {1, 1}};
    work.calls_noinline = true;
    work.bytes = operand_bytes(product);
    if (!read && !write)
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_MEMORY(other->object), ARG(other_at),
                      ARG_PLANES(dst), ARG_MEMORY(tables.y), ARG_MEMORY(tables.x), ARG(tables.blocks_x),
                      ARG(tables.first_y), ARG(product->epilogue), ARG(channels));
    struct raster input = read ? *read : (struct raster){0}, output = write ? *write : (struct raster){0};
    const struct geometry from = planes_geometry(src);
    struct geometry input_at = from; /* of the raster, as one plane that has the samples of all channels */
    input_at.pitch = input.pitch * src->channels;
    input_at.first_row = input.first_row;
    work.bytes += src->object ? planes_bytes(src) : raster_bytes(&input, src->rows);
    work.bytes += dst->object ? planes_bytes(dst) : raster_bytes(&output, dst->rows);
    if (dst->object)
        output.memory = NULL;
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

/* Returns the number of blocks along x that a group of `group` work-items computes, 1 to `group`. Usually all
 * their samples fit into one tile. If a window is wide, the blocks together are at least as wide as the
 * window, and the tile is filled several times: with fewer blocks, neighbouring groups would read mostly the
 * same samples. */
static int blocks_of_group(const struct axis *axis, struct blocking by, int group)
{
    double step = (double)by.outputs * axis->samples / axis->outputs; /* samples from block to block */
    double window = axis_max_taps(axis), fitting = (group * by.unit - window - 2 * by.unit) / step;
    double blocks = fitting < window / step ? window / step : fitting;
    return blocks < 1 ? 1 : blocks < group ? (int)blocks : group;
}

/* Enqueues kernels/product_gpu.cl. */
static enum status multiply_gpu(struct run *run, const struct product *product, struct error *error)
{
    const struct planes *src = &product->src, *dst = &product->dst,
                        *other = has_operand(product) ? &product->other : src;
    const struct geometry other_at = planes_geometry(other);
    const int lanes = launch_lanes(run->device, run->memory, VECTOR_FULL);
    const struct blocking by = {lanes, lanes, true};
    struct tables tables;
    /* Reserve memory for PRODUCT_ROWS + 1 rows: in images each row of the tile has one more vec. With the
     * least memory of OpenCL all fit; in images the kernel needs at least PRODUCT_ROWS work-items. */
    const int group = run_fitting_outputs(run, GROUP, (size_t)(PRODUCT_ROWS + 1) * VEC_BYTES);
    const cl_int group_blocks = blocks_of_group(&product->x, by, group);
    struct kernel_launch work = run_work(run, "product_gpu", "product", dst);
    if (make_tables(run, product, by, &tables, error) != STATUS_OK)
        return STATUS_FAILED;
    work.width = ceil_div(tables.blocks_x, group_blocks) * group * lanes;
    work.height = tables.blocks_y;
    work.config = (struct launch_config){1, {group, 1}};
    work.bytes = operand_bytes(product);
    define(&work.defines, "GROUP", group);
    if (axis_max_samples(&product->x, by, group_blocks) > group * lanes)
        define(&work.defines, "REFILL", 1);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_MEMORY(other->object), ARG(other_at),
                  ARG_PLANES(dst), ARG_MEMORY(tables.y), ARG_MEMORY(tables.x), ARG(tables.blocks_x),
                  ARG(tables.first_y), ARG(product->epilogue), ARG(group_blocks));
}

/* The same layouts as in kernels/filter_gpu.cl, which explains them. */
struct window_x {
    cl_int before, reach;
};

struct window_y {
    cl_int start, taps;
};

/* Output rows per work-item, and group sizes. */
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

/* Largest reach (find_window_x) of kernels/filter_gpu.cl, in vecs: 129 taps along x. For longer filters
 * product_gpu.cl is as fast. */
enum { MAX_REACH = 32 };

/* An axis must have at least this many samples more than taps. Then a wrapped axis has wrapping windows
 * (axis.c). Otherwise the windows at its ends contain the whole axis, which does not fit into a tile. */
enum { BORDER_SAMPLES = 40 };

/* True if kernels/filter_gpu.cl can compute the product. */
static bool fits_filter_gpu(const struct run *run, const struct product *product)
{
    const int group = device_launch_config(run->device, run->memory, &two_filters).group[0];
    const struct filter *along_x = &product->x.filter;
    const int reach = find_window_x(along_x).reach;
    /* Near the border, a tile must contain the samples that replace samples beyond the border. It does if the
     * taps left and right of the output differ by at most one, and if the axis is longer than the filter. */
    const int left = -along_x->start, right = along_x->start + along_x->taps - 1;
    const bool border_fits = abs(left - right) <= 1 && product->x.samples >= along_x->taps + BORDER_SAMPLES;
    return !run_is_cpu(run) && run->memory == MEMORY_BUFFER && product->rows.end == product->rows.begin &&
           product->x.filter.weights && product->y.filter.weights &&
           product->epilogue.op != EPILOGUE_MAGNITUDE && reach <= MAX_REACH && reach <= group / 2 &&
           border_fits;
}

/* Uploads the weights of one or two filters with equally many taps. Each filter is padded with zeros to
 * `length` weights: `leading` zeros before it, the others after it. `second` may be NULL. The run owns
 * weights->memory. */
static enum status pad_weights(struct run *run, const struct filter *filter, const struct filter *second,
                               int leading, int length, struct weights *weights, struct error *error)
{
    const size_t bytes = (size_t)filter->taps * sizeof(float), count = (size_t)length * (second ? 2 : 1);
    float *padded = allocate_zeroed(count, sizeof *padded, "filter weights", error);
    if (!padded)
        return STATUS_FAILED;
    memcpy(padded + leading, filter->weights, bytes);
    if (second)
        memcpy(padded + length + leading, second->weights, bytes);
    weights->count = count;
    enum status status = run_constants(run, padded, count, &weights->memory, error);
    free(padded);
    return status;
}

/* Enqueues kernels/filter_gpu.cl: a product, or the gradient magnitude of two products of one image. `second`
 * may be NULL. */
static enum status filter_gpu(struct run *run, const struct product *product, const struct product *second,
                              struct error *error)
{
    const int filters = second ? 2 : 1;
    const struct filter *along_x = &product->x.filter, *along_y = &product->y.filter;
    const struct planes *src = &product->src, *dst = &product->dst;
    const struct window_x window_x = find_window_x(along_x);
    struct kernel_launch work = run_configured(run, "filter_gpu", second ? &two_filters : &one_filter, dst);
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
    if (pad_weights(run, along_x, second ? &second->x.filter : NULL,
                    window_x.before * GPU_LANES + along_x->start, window_x.reach * GPU_LANES + 1, &weights_x,
                    error) != STATUS_OK ||
        pad_weights(run, along_y, second ? &second->y.filter : NULL, 0, window_y.taps, &weights_y, error) !=
            STATUS_OK ||
        make_tables(run, product, by, &tables, error) != STATUS_OK ||
        make_tables(run, second ? second : product, by, &tables2, error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights_x),
                  ARG(window_x), ARG_WEIGHTS(weights_y), ARG(window_y), ARG(product->epilogue),
                  ARG(first_group), ARG_MEMORY(tables.x), ARG_MEMORY(tables.y), ARG_MEMORY(tables2.x),
                  ARG_MEMORY(tables2.y));
}

/* Enqueues kernels/product_cpu.cl for each axis by itself, first along y, with one weight along the other. */
static enum status multiply_axes(struct run *run, const struct product *product, struct error *error)
{
    static const float one = 1;
    struct product by_y = *product, by_x = *product;
    by_y.x = axis_filtered(&one, 1, product->x.samples, EDGE_CLAMP);
    by_y.epilogue = epilogue_copy;
    by_x.y = axis_filtered(&one, 1, product->y.outputs, EDGE_CLAMP);
    if (run_scratch_like(run, &product->dst, planes_rows(&product->dst), &by_y.dst, error) != STATUS_OK ||
        multiply_cpu(run, &by_y, error) != STATUS_OK)
        return STATUS_FAILED;
    by_x.src = by_y.dst;
    return multiply_cpu(run, &by_x, error);
}

enum status product_run(struct run *run, const struct product *product, struct error *error)
{
    if (fits_filter_gpu(run, product))
        return filter_gpu(run, product, NULL, error);
    if (!run_is_cpu(run))
        return multiply_gpu(run, product, error);
    /* The tile of a wide window is soon used up, and columns are computed again: 801 taps took 33 times as
     * long, 241 taps 1.15 times. */
    const bool is_wide =
        product->x.outputs == product->x.samples && axis_max_taps(&product->x) + CPU_LANES > SPAN / 2;
    return (is_wide ? multiply_axes : multiply_cpu)(run, product, error);
}

enum status gradient_magnitude(struct run *run, const struct product *a, const struct product *b,
                               struct error *error)
{
    const struct planes *dst = &a->dst;
    struct product first = *a, second = *b;
    if (fits_filter_gpu(run, a))
        return filter_gpu(run, a, b, error);
    if (run_scratch_like(run, dst, planes_rows(dst), &first.dst, error) != STATUS_OK ||
        product_run(run, &first, error) != STATUS_OK)
        return STATUS_FAILED;
    /* The epilogue of the second product combines it with the first. */
    second.epilogue.op = EPILOGUE_MAGNITUDE;
    second.other = first.dst;
    return product_run(run, &second, error);
}

struct product product_of(const struct axis *x, const struct axis *y, const struct epilogue *epilogue,
                          const struct value *in, const struct value *out)
{
    return (struct product){.x = *x,
                            .y = *y,
                            .epilogue = *epilogue,
                            .src = value_planes(in),
                            .dst = value_planes(out),
                            .other = in->planes[0],
                            .src_raster = in->raster,
                            .dst_raster = out->raster};
}

enum status product_image(struct run *run, const struct axis *x, const struct axis *y,
                          const struct epilogue *epilogue, const struct value *in, struct value *out,
                          struct error *error)
{
    if (!out->raster && run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct product product = product_of(x, y, epilogue, in, out);
    return product_run(run, &product, error);
}
