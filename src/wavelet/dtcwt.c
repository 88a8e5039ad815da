/* The dual-tree transform: one level as launches of kernels, then the levels from the finest to the coarsest
 * and back. Only two lowpasses exist at a time, the source and the result of a level.
 *
 *     CPU   image ─▶ columns ─▶ two layers (low, high) ─▶ rows ─▶ lowpass, subbands     (a strip at a time)
 *     GPU   image ─▶ both axes in local memory ─▶ lowpass, subbands
 *
 * Both variants compute the same bits. Buffers on CPU devices use kernels/dtcwt_forward_cpu.cl and
 * dtcwt_inverse_cpu.cl. The pass along rows finds the strip of the pass along columns in the caches. GPUs,
 * and images on any device, use dtcwt_forward_gpu.cl and dtcwt_inverse_gpu.cl: a second kernel would write
 * and read all data once more.
 *
 * Tried and lost: the separable product of blurs and resampling (kernels/product.h). For level 1 alone it
 * takes 14.3 ms of four planes of 1024 x 1024 on two cores, without complex subbands; the whole transform
 * takes 6.6 with them. */
#include "wavelet/dtcwt.h"

#include <string.h>

/* Size of a strip of both layers in bytes, and its smallest number of rows, as neighbouring strips both
 * compute the rows of their halo. Strips of the inverse begin at multiples of STRIP_UNIT. */
enum { STRIP_SIZE = 16 << 20, MIN_STRIP = 64, STRIP_UNIT = 4 };

/* Columns that the inverse's pass along columns processes at once. Its 60 input rows of BLOCK / 2 floats
 * then take a quarter of a 1 MB cache. */
enum { BLOCK = 2048 };

/* Zeros at each end of a filter: inverse_columns_1 loads rows in pairs, and multiplies some that its filter
 * does not reach. */
enum { ZEROS = 2 };

/* A step of the transform. */
struct forward_step {
    int level;
    bool pad_at_end;                         /* padding, see struct shape */
    const struct planes *src;                /* image or finer lowpass */
    const struct planes *lowpass, *subbands; /* results; their rows are computed */
    int positions;                           /* see struct dtcwt_rows; GPUs compute all rows */
};

/* A step of the inverse. */
struct inverse_step {
    bool pad_at_end;                         /* padding, see struct shape */
    const struct planes *lowpass, *subbands; /* the lowpass may have a padding sample on each side */
    const struct planes *dst;                /* the finer lowpass with its padding, or the image */
    struct interval rows;                    /* of dst, to be computed; GPUs compute all rows of dst */
};

/* ---------------------------------------------------------------- buffers on CPUs */

/* Returns the number of rows of a strip, a multiple of STRIP_UNIT. */
static int strip_rows(const struct planes *planes)
{
    double row = 2.0 * sizeof(cl_float) * planes->width * planes->channels;
    int rows = (int)(STRIP_SIZE / row) / STRIP_UNIT * STRIP_UNIT;
    return rows < MIN_STRIP ? MIN_STRIP : rows;
}

/* Transforms a level strip by strip. A strip is rows of the lowpass, and of the subbands half as many. */
static enum status forward_cpu(struct run *run, const struct bank *bank, const struct forward_step *step,
                               struct error *error)
{
    const struct planes *lowpass = step->lowpass;
    int end = lowpass->first_row + lowpass->rows, height = strip_rows(step->src);
    enum status status = STATUS_OK;
    for (int begin = lowpass->first_row; status == STATUS_OK && begin < end; begin += height) {
        struct interval rows = {begin, begin + height < end ? begin + height : end};
        const struct planes *src = step->src;
        struct planes half;
        cl_mem weights;
        const struct planes *subbands = step->subbands;
        const cl_int positions = step->positions < subbands->height ? step->positions : subbands->height;
        const cl_int4 wanted = {
            /* struct needed_rows of the kernel */
            {subbands->first_row, subbands->first_row + subbands->rows, positions, subbands->height}};
        cl_int taps = bank->taps, is_first = !bank->qshift, pad, length;
        if (run_constants(run, bank->weights, bank->count, &weights, error) != STATUS_OK ||
            run_scratch(run, src->width, step->lowpass->height, rows, 2, src->channels, &half, error) !=
                STATUS_OK)
            return STATUS_FAILED;
        /* Columns: low and high as two layers of `half`. */
        struct kernel_launch work = run_work(run, "dtcwt_cpu", "forward_columns", src);
        work.height = half.rows / 2;
        work.calls_noinline = true;
        work.depth = planes_layer_depth(src);
        dtcwt_padding(src->height, step->level, step->pad_at_end, &pad, &length);
        if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_MEMORY(weights),
                   ARG(taps), ARG(pad), ARG(length), ARG(wanted), ARG(is_first)) != STATUS_OK)
            return STATUS_FAILED;
        /* Rows: low-low becomes the lowpass, the other three become pairs of subbands. */
        work.kernel = "forward_rows";
        work.width = 2 * subbands->width;
        dtcwt_padding(src->width, step->level, step->pad_at_end, &pad, &length);
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(step->lowpass),
                        ARG_PLANES(subbands), ARG_MEMORY(weights), ARG(taps), ARG(pad), ARG(length),
                        ARG(wanted), ARG(is_first));
        run_scratch_release(run, &half);
    }
    return status;
}

/* Returns the number of padding samples at the start of the lowpass, along x and y. */
static cl_int2 crop_offset(const struct inverse_step *step)
{
    const struct planes *lowpass = step->lowpass, *subbands = step->subbands;
    return step->pad_at_end ? (cl_int2){{0, 0}}
                            : (cl_int2){{(lowpass->width - 2 * subbands->width) / 2,
                                         (lowpass->height - 2 * subbands->height) / 2}};
}

/* Inverts a strip of a level: a kernel for columns, then one for rows. */
static enum status inverse_cpu(struct run *run, const struct bank *bank, const struct inverse_step *step,
                               struct error *error)
{
    const struct planes *lowpass = step->lowpass, *subbands = step->subbands, *dst = step->dst;
    int width = 2 * subbands->width, height = 2 * subbands->height, rate = bank->qshift ? 4 : 2;
    struct interval rows = interval_align(step->rows, rate);
    cl_int taps = bank->taps;
    cl_int2 crop = crop_offset(step);
    cl_mem column_weights, weights;
    struct planes half;
    /* On level 1 the pass along columns reads each filter with zeros around it. */
    const float *columns = bank->weights;
    size_t count = bank->count;
    float padded_weights[2 * (MAX_BIORT_TAPS + 2 * ZEROS)] = {0};
    if (!bank->qshift) {
        memcpy(padded_weights + ZEROS, bank->weights, (size_t)taps * sizeof *padded_weights);
        memcpy(padded_weights + taps + 3 * ZEROS, bank->weights + taps,
               (size_t)taps * sizeof *padded_weights);
        columns = padded_weights;
        count = 2 * ((size_t)taps + 2 * ZEROS);
    }
    if (run_constants(run, columns, count, &column_weights, error) != STATUS_OK ||
        run_constants(run, bank->weights, bank->count, &weights, error) != STATUS_OK ||
        run_scratch(run, width, rate / 2 * height, rows, 2, dst->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Columns, in blocks of about BLOCK columns along z. */
    struct kernel_launch work =
        run_work(run, "dtcwt_cpu", bank->qshift ? "inverse_columns_2" : "inverse_columns_1", dst);
    const int blocks = (width - 1) / BLOCK + 1;
    work.width = (width - 1) / blocks + 1;
    work.height = half.rows / rate;
    work.calls_noinline = true;
    work.depth = planes_layer_depth(dst) * blocks;
    if (LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(&half),
               ARG_MEMORY(column_weights), ARG(taps), ARG(crop)) != STATUS_OK)
        return STATUS_FAILED;
    /* Rows, into dst. */
    work.kernel = bank->qshift ? "inverse_rows_2" : "inverse_rows_1";
    work.width = width;
    work.height = half.rows;
    work.depth = planes_layer_depth(dst);
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(dst), ARG_MEMORY(weights), ARG(taps));
    run_scratch_release(run, &half);
    return status;
}

/* ---------------------------------------------------------------- GPUs and images
 *
 * A level in one kernel. In the configurations, work-groups are one row of work-items; level_work adds rows.
 */

static const struct kernel_configs forward_1_configs = {
    .kernel = "forward_1", .cpu_images = {4, {64, 1}}, .gpu = {1, {128, 1}}, .gpu_images = {4, {64, 1}}};
static const struct kernel_configs forward_2_configs = {
    .kernel = "forward_2", .cpu_images = {2, {128, 1}}, .gpu = {2, {128, 1}}, .gpu_images = {2, {128, 1}}};
static const struct kernel_configs inverse_1_configs = {
    .kernel = "inverse_1", .cpu_images = {4, {64, 1}}, .gpu = {4, {128, 1}}, .gpu_images = {4, {64, 1}}};
static const struct kernel_configs inverse_2_configs = {
    .kernel = "inverse_2", .cpu_images = {2, {64, 1}}, .gpu = {2, {128, 1}}, .gpu_images = {2, {64, 1}}};

/* The work-items of a level. */
struct level_layout {
    int halo;      /* work-items at each end of a group that only load samples */
    int items;     /* work-items along x, without halos */
    int rows;      /* of positions along y, see work_groups */
    int item_rows; /* rows of work-items in a group */
    size_t output; /* bytes of local memory for an output */
};

/* Returns the launch of a level's kernel. If `item_rows` rows of items exceed the device's largest group,
 * the rows become shorter. */
static struct kernel_launch level_work(const struct run *run, const struct bank *bank, const char *file,
                                       const struct kernel_configs *kernel_configs,
                                       const struct level_layout *layout, const struct planes *planes)
{
    struct kernel_launch work = run_configured(run, file, kernel_configs, planes);
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

static enum status forward_gpu(struct run *run, const struct bank *bank, const struct forward_step *step,
                               struct error *error)
{
    const struct planes *src = step->src, *lowpass = step->lowpass, *subbands = step->subbands;
    int pixel = run->memory == MEMORY_IMAGE ? 1 : GPU_LANES; /* columns of an item */
    int unit = pixel > 2 ? pixel : 2, samples = (bank->qshift ? 4 : 2) * subbands->width;
    int halo = bank->qshift ? bank->taps - 2 : ceil_div(bank->taps / 2, unit) * unit; /* samples */
    int padding = bank->qshift && pixel > 1 ? 1 : 0; /* PADDING_PIXELS in kernels/border_gpu.h */
    struct level_layout layout = {.halo = halo / pixel + padding,
                                  .items = ceil_div(samples, pixel),
                                  .rows = lowpass->rows / 2,
                                  .item_rows = 1,
                                  .output = 16 * sizeof(float)};
    struct kernel_launch work =
        level_work(run, bank, "dtcwt_forward_gpu", bank->qshift ? &forward_2_configs : &forward_1_configs,
                   &layout, lowpass);
    cl_int2 pad, length;
    dtcwt_padding(src->width, step->level, step->pad_at_end, &pad.s[0], &length.s[0]);
    dtcwt_padding(src->height, step->level, step->pad_at_end, &pad.s[1], &length.s[1]);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(lowpass), ARG_PLANES(subbands),
                  ARG_FLOATS(bank->weights, bank->count), ARG(pad), ARG(length));
}

static enum status inverse_gpu(struct run *run, const struct bank *bank, const struct inverse_step *step,
                               struct error *error)
{
    const struct planes *lowpass = step->lowpass, *subbands = step->subbands, *dst = step->dst;
    size_t floats = run->memory == MEMORY_IMAGE ? 4 : 1;                 /* of a sample or texel */
    int halo = bank->qshift ? bank->taps / 4 : (bank->taps / 2 + 1) / 2; /* coefficients */
    int rate = bank->qshift ? 4 : 2; /* outputs per coefficient and axis */
    struct interval rows = interval_align(planes_rows(dst), rate);
    struct level_layout layout = {.halo = halo,
                                  .items = subbands->width,
                                  .rows = (rows.end - rows.begin) / rate,
                                  .item_rows =
                                      run->memory == MEMORY_BUFFER ? 2 : 1, /* ITEM_ROWS in the kernel */
                                  .output = 4 * (size_t)rate * floats * sizeof(float)};
    struct kernel_launch work = level_work(
        run, bank, "dtcwt_inverse_gpu", bank->qshift ? &inverse_2_configs : &inverse_1_configs, &layout, dst);
    cl_int2 crop = crop_offset(step);
    return LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(dst),
                  ARG_FLOATS(bank->weights, bank->count), ARG(crop));
}

/* ---------------------------------------------------------------- all levels */

enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error)
{
    return dtcwt_forward_from(run, 0, &in->planes[0], rows, out, error);
}

enum status dtcwt_forward_from(struct run *run, int finer, const struct planes *lowpass,
                               const struct dtcwt_rows *rows, struct value *out, struct error *error)
{
    const struct shape *shape = &out->shape;
    struct planes src = *lowpass;
    for (int level = finer + 1; level <= shape->levels; level++) {
        int width = dtcwt_lowpass_size(shape->width, level),
            height = dtcwt_lowpass_size(shape->height, level);
        /* Allocate this level's lowpass and subbands. */
        struct planes next, *subbands = &out->planes[level];
        struct forward_step step = {level, shape->pad_at_end, &src, &next, subbands, rows->positions};
        struct bank bank;
        if (run_scratch(run, width, height, rows->lowpass[level], 1, shape_planes(shape), &next, error) !=
                STATUS_OK ||
            run_planes(run, width / 2, height / 2, rows->subbands[level], SUBBAND_LAYERS, shape_planes(shape),
                       subbands, error) != STATUS_OK)
            return STATUS_FAILED;
        /* Compute both, and release the finer lowpass, unless it is the caller's. */
        bank_forward(shape, level, &bank);
        if ((run_is_cpu(run) ? forward_cpu : forward_gpu)(run, &bank, &step, error) != STATUS_OK)
            return STATUS_FAILED;
        if (level > finer + 1)
            run_scratch_release(run, &src);
        src = next;
    }
    out->planes[0] = src;
    run_scratch_keep(run, &src);
    return STATUS_OK;
}

/* Inverts the levels from the coarsest one to `finest` + 1, for rows `out->rows` of the image. Sets *lowpass
 * to the result: the lowpass of level `finest`, in scratch planes; or if `finest` is 0, the planes of `out`.
 * CPUs compute a level in strips, from the last to the first; GPUs all rows at once. */
static enum status invert_levels(struct run *run, int finest, const struct subband_filter *filter,
                                 const struct value *in, const struct value *out, struct planes *lowpass,
                                 struct error *error)
{
    const struct shape *shape = &in->shape;
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(shape, out->rows, &rows);
    *lowpass = in->planes[0];
    for (int level = shape->levels; level > finest; level--) {
        struct planes output = out->planes[0], filtered;
        struct bank bank;
        bank_inverse(shape, level, &bank);
        /* Allocate the finer lowpass, with the rows that are cropped later. */
        if (level > 1) {
            const struct interval finer = rows.lowpass[level - 1];
            const int crop = dtcwt_crop(shape, level), width = 2 * dtcwt_lowpass_size(shape->width, level),
                      height = 2 * dtcwt_lowpass_size(shape->height, level);
            if (run_scratch(run, width, height, (struct interval){finer.begin + crop, finer.end + crop}, 1,
                            shape_planes(shape), &output, error) != STATUS_OK)
                return STATUS_FAILED;
        }
        const int strip_height = strip_rows(&output);
        for (int begin, end = output.first_row + output.rows; end > output.first_row; end = begin) {
            begin = run_is_cpu(run) ? (end - strip_height) / STRIP_UNIT * STRIP_UNIT : 0;
            begin = begin > output.first_row ? begin : output.first_row;
            const struct interval strip = {begin, end};
            const struct planes *subbands = filter ? &filtered : &in->planes[level];
            const struct inverse_step step = {shape->pad_at_end, lowpass, subbands, &output, strip};
            if (filter &&
                filter->run(run, filter->context, in, level, dtcwt_subband_rows(shape, level, strip), lowpass,
                            &filtered, error) != STATUS_OK)
                return STATUS_FAILED;
            if ((run_is_cpu(run) ? inverse_cpu : inverse_gpu)(run, &bank, &step, error) != STATUS_OK)
                return STATUS_FAILED;
            if (filter)
                run_scratch_release(run, &filtered);
        }
        if (level < shape->levels) /* the coarsest one belongs to `in` */
            run_scratch_release(run, lowpass);
        *lowpass = output;
    }
    return STATUS_OK;
}

enum status dtcwt_inverse_to(struct run *run, int finest, const struct subband_filter *filter,
                             const struct value *in, struct planes *lowpass, struct error *error)
{
    const struct value all = {.rows = rows_full(in->shape.height)};
    return invert_levels(run, finest, filter, in, &all, lowpass, error);
}

enum status dtcwt_inverse(struct run *run, const struct subband_filter *filter, const struct value *in,
                          struct value *out, struct error *error)
{
    struct planes image;
    const enum status status = run_output(run, out, error);
    return status == STATUS_OK ? invert_levels(run, 0, filter, in, out, &image, error) : status;
}
