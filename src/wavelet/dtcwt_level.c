/* One level of the transform or of its inverse, as launches of kernels.
 *
 * CPUs take two passes, kernels/dtcwt_forward_cpu.cl and dtcwt_inverse_cpu.cl: along columns into planes of
 * half the height, then along rows, strip by strip, so that the second pass finds what the first one wrote in
 * the caches. GPUs take one kernel a level, with both axes in local memory. */
#include "wavelet/dtcwt_level.h"

#include <string.h>

/* Strips between the pass along columns and the pass along rows: small enough that the second pass finds them
 * in the caches. */
enum { STRIP_SIZE = 16 << 20, MIN_STRIP = 64 }; /* bytes, rows */

/* Columns that the inverse processes at once: 60 rows of half as many floats take a quarter of a cache of 1
 * MB. */
enum { BLOCK = 2048 };

/* Zeros around each filter, which inverse_columns_1 needs. */
enum { ZEROS = 2 };

int wide_strip(const struct planes *planes)
{
    double row = 2.0 * sizeof(cl_float) * planes->width * planes->channels;
    int rows = (int)(STRIP_SIZE / row) / 4 * 4;
    return rows < MIN_STRIP ? MIN_STRIP : rows;
}

static enum status forward_strip(struct run *run, const struct bank *bank, const struct dtcwt_analysis *level,
                                 struct rows rows, struct error *error)
{
    const struct planes *src = level->src;
    struct planes half;
    cl_mem weights;
    const struct planes *subbands = level->subbands;
    const cl_int places = level->places < subbands->height ? level->places : subbands->height;
    const cl_int4 wanted = {
        {subbands->first_row, subbands->first_row + subbands->rows, places, subbands->height}};
    cl_int taps = bank->taps, padded, length;
    if (run_constants(run, bank->weights, bank->count, &weights, error) != STATUS_OK ||
        run_scratch(run, src->width, level->lowpass->height, rows, 2, src->channels, &half, error) !=
            STATUS_OK)
        return STATUS_FAILED;
    struct work work =
        run_work(run, "dtcwt_cpu", bank->qshift ? "forward_columns_2" : "forward_columns_1", src);
    work.height = half.rows / 2;
    work.outlined = true;
    work.depth = planes_layer_depth(src);
    dtcwt_padding(src->height, level->level, level->at_end, &padded, &length);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_MEMORY(weights), ARG(taps),
               ARG(padded), ARG(length), ARG(wanted)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = bank->qshift ? "forward_rows_2" : "forward_rows_1";
    work.width = 2 * subbands->width;
    dtcwt_padding(src->width, level->level, level->at_end, &padded, &length);
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(level->lowpass), ARG_PLANES(subbands),
               ARG_MEMORY(weights), ARG(taps), ARG(padded), ARG(length), ARG(wanted));
    run_scratch_done(run, &half);
    return status;
}

enum status forward_cpu(struct run *run, const struct bank *bank, const struct dtcwt_analysis *level,
                        struct error *error)
{
    const struct planes *lowpass = level->lowpass;
    int end = lowpass->first_row + lowpass->rows, step = wide_strip(level->src);
    enum status status = STATUS_OK;
    for (int begin = lowpass->first_row; status == STATUS_OK && begin < end; begin += step) {
        struct rows rows = {begin, begin + step < end ? begin + step : end};
        status = forward_strip(run, bank, level, rows, error);
    }
    return status;
}

/* Number of padding samples at the start of the lowpass, along x and y. */
static cl_int2 cropped(const struct synthesis *level)
{
    const struct planes *lowpass = level->lowpass, *subbands = level->subbands;
    return level->at_end ? (cl_int2){{0, 0}}
                         : (cl_int2){{(lowpass->width - 2 * subbands->width) / 2,
                                      (lowpass->height - 2 * subbands->height) / 2}};
}

static enum status column_weights(struct run *run, const struct bank *bank, cl_mem *weights,
                                  struct error *error)
{
    float around[2 * (MAX_BIORT_TAPS + 2 * ZEROS)] = {0};
    int taps = bank->taps, stride = taps + 2 * ZEROS;
    if (bank->qshift)
        return run_constants(run, bank->weights, bank->count, weights, error);
    memcpy(around + ZEROS, bank->weights, (size_t)taps * sizeof *around);
    memcpy(around + stride + ZEROS, bank->weights + taps, (size_t)taps * sizeof *around);
    return run_constants(run, around, 2 * (size_t)stride, weights, error);
}

enum status inverse_cpu(struct run *run, const struct bank *bank, const struct synthesis *level,
                        struct error *error)
{
    const struct planes *lowpass = level->lowpass, *subbands = level->subbands, *dst = level->dst;
    int width = 2 * subbands->width, height = 2 * subbands->height, rate = bank->qshift ? 4 : 2;
    struct rows rows = rows_aligned(level->rows, rate);
    cl_int taps = bank->taps;
    cl_int2 crop = cropped(level);
    cl_mem around, weights;
    struct planes half;
    if (column_weights(run, bank, &around, error) != STATUS_OK ||
        run_constants(run, bank->weights, bank->count, &weights, error) != STATUS_OK ||
        run_scratch(run, width, rate / 2 * height, rows, 2, dst->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work =
        run_work(run, "dtcwt_cpu", bank->qshift ? "inverse_columns_2" : "inverse_columns_1", dst);
    const int blocks = (width - 1) / BLOCK + 1;
    work.width = (width - 1) / blocks + 1;
    work.height = half.rows / rate;
    work.outlined = true;
    work.depth = planes_layer_depth(dst) * blocks;
    if (LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(&half),
               ARG_MEMORY(around), ARG(taps), ARG(crop)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = bank->qshift ? "inverse_rows_2" : "inverse_rows_1";
    work.width = width;
    work.height = half.rows;
    work.depth = planes_layer_depth(dst);
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(dst), ARG_MEMORY(weights), ARG(taps));
    run_scratch_done(run, &half);
    return status;
}

/* ---------------------------------------------------------------- grouped
 *
 * A level in one kernel: kernels/dtcwt_forward_gpu.cl and dtcwt_inverse_gpu.cl. Groups are rows of
 * work-items, because the kernels' text says so. */

static const struct kernel_configs tunable_forward_1 = {
    .kernel = "forward_1", .cpu_images = {4, {64, 1}}, .gpu = {1, {128, 1}}, .gpu_images = {4, {64, 1}}};
static const struct kernel_configs tunable_forward_2 = {
    .kernel = "forward_2", .cpu_images = {2, {128, 1}}, .gpu = {2, {128, 1}}, .gpu_images = {2, {128, 1}}};
static const struct kernel_configs tunable_inverse_1 = {
    .kernel = "inverse_1", .cpu_images = {4, {64, 1}}, .gpu = {4, {128, 1}}, .gpu_images = {4, {64, 1}}};
static const struct kernel_configs tunable_inverse_2 = {
    .kernel = "inverse_2", .cpu_images = {2, {64, 1}}, .gpu = {2, {128, 1}}, .gpu_images = {2, {64, 1}}};

/* The grid of a level. */
struct layout {
    int halo, items; /* items of a group that overlap with the next on either side; items that have work */
    int rows;        /* to be divided into groups' outputs */
    int item_rows;   /* of a group */
    size_t output;   /* bytes of local memory of an item's output */
};

static struct work level_work(const struct run *run, const struct bank *bank, const char *file,
                              const struct kernel_configs *kernel_configs, const struct layout *layout,
                              const struct planes *planes)
{
    struct work work = run_configured(run, file, kernel_configs, planes);
    work.depth = planes_layer_depth(planes);
    define(&work.defines, "TAPS", bank->taps);
    if (bank->qshift)
        define(&work.defines, "QSHIFT", 1);
    work.config.group[1] = layout->item_rows;
    if (work.config.group[0] > 1 &&
        (size_t)work.config.group[0] * (size_t)layout->item_rows > run->device->group_size)
        work.config.group[0] /= layout->item_rows;
    work_groups(run, layout->halo, layout->items, layout->rows, layout->output, &work);
    work.height *= layout->item_rows;
    return work;
}

enum status forward_gpu(struct run *run, const struct bank *bank, const struct dtcwt_analysis *level,
                        struct error *error)
{
    const struct planes *src = level->src, *lowpass = level->lowpass, *subbands = level->subbands;
    int pixel = run->memory == MEMORY_IMAGE ? 1 : GPU_LANES; /* samples along x whose columns an item has */
    int unit = pixel > 2 ? pixel : 2, samples = (bank->qshift ? 4 : 2) * subbands->width;
    int beside = bank->qshift ? bank->taps - 2 : ceil_div(bank->taps / 2, unit) * unit;
    int padding = bank->qshift && pixel > 1 ? 1 : 0; /* PADDING_PIXELS in kernels/border_gpu.h */
    struct layout layout = {.halo = beside / pixel + padding,
                            .items = ceil_div(samples, pixel),
                            .rows = lowpass->rows / 2,
                            .item_rows = 1,
                            .output = 16 * sizeof(float)};
    struct work work = level_work(run, bank, "dtcwt_forward_gpu",
                                  bank->qshift ? &tunable_forward_2 : &tunable_forward_1, &layout, lowpass);
    cl_int2 padded, length;
    dtcwt_padding(src->width, level->level, level->at_end, &padded.s[0], &length.s[0]);
    dtcwt_padding(src->height, level->level, level->at_end, &padded.s[1], &length.s[1]);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(lowpass), ARG_PLANES(subbands),
                  ARG_FLOATS(bank->weights, bank->count), ARG(padded), ARG(length));
}

enum status inverse_gpu(struct run *run, const struct bank *bank, const struct synthesis *level,
                        struct error *error)
{
    const struct planes *lowpass = level->lowpass, *subbands = level->subbands, *dst = level->dst;
    size_t single = run->memory == MEMORY_IMAGE ? 4 : 1; /* floats */
    int reach = bank->qshift ? bank->taps / 4 : (bank->taps / 2 + 1) / 2, rate = bank->qshift ? 4 : 2;
    struct rows rows = rows_aligned((struct rows){dst->first_row, dst->first_row + dst->rows}, rate);
    struct layout layout = {.halo = reach,
                            .items = subbands->width,
                            .rows = (rows.end - rows.begin) / rate,
                            .item_rows = run->memory == MEMORY_BUFFER ? 2 : 1, /* ITEM_ROWS in the kernel */
                            .output = 4 * (size_t)rate * single * sizeof(float)};
    struct work work = level_work(run, bank, "dtcwt_inverse_gpu",
                                  bank->qshift ? &tunable_inverse_2 : &tunable_inverse_1, &layout, dst);
    cl_int2 crop = cropped(level);
    return LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(dst),
                  ARG_FLOATS(bank->weights, bank->count), ARG(crop));
}
