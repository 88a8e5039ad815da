/* A level in two passes: kernels/dtcwt_forward_wide.cl and dtcwt_inverse_wide.cl. */
#include "filters/dtcwt_level.h"

#include <string.h>

/* What is between columns and rows is as large as two images: so small slices of it that the second pass
 * finds them in the caches. */
enum { SLICE_SIZE = 16 << 20, MIN_SLICE = 64 }; /* bytes, rows */

/* inverse_columns_1 wants zeros around each filter. */
enum { ZEROS = 2 };

static int slice_rows(int width, int channels)
{
    double row = 2.0 * sizeof(cl_float) * width * channels;
    int rows = (int)(SLICE_SIZE / row) / 2 * 2;
    return rows < MIN_SLICE ? MIN_SLICE : rows;
}

static enum status forward_slice(struct run *run, const struct bank *bank, const struct analysis *level,
                                 struct rows rows, struct error *error)
{
    const struct planes *src = level->src;
    struct planes half;
    cl_mem weights;
    cl_int taps = bank->taps, padded, length;
    if (run_constants(run, bank->weights, bank->count, &weights, error) != STATUS_OK ||
        run_scratch(run, src->width, level->lowpass->height, rows, 2, src->channels, &half, error) !=
            STATUS_OK)
        return STATUS_FAILED;
    struct work work =
        run_work(run, "dtcwt_wide", bank->qshift ? "forward_columns_2" : "forward_columns_1", src);
    work.height = half.rows / 2;
    work.apart = true;
    work.depth = planes_layer_depth(src);
    dtcwt_padding(src->height, level->level, &padded, &length);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG_MEMORY(weights), ARG(taps),
               ARG(padded), ARG(length)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = bank->qshift ? "forward_rows_2" : "forward_rows_1";
    work.width = 2 * level->subbands->width;
    dtcwt_padding(src->width, level->level, &padded, &length);
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(level->lowpass),
               ARG_PLANES(level->subbands), ARG_MEMORY(weights), ARG(taps), ARG(padded), ARG(length));
    run_scratch_done(run, &half);
    return status;
}

enum status forward_wide(struct run *run, const struct bank *bank, const struct analysis *level,
                         struct error *error)
{
    const struct planes *lowpass = level->lowpass;
    int end = lowpass->first_row + lowpass->rows, step = slice_rows(level->src->width, lowpass->channels);
    enum status status = STATUS_OK;
    for (int begin = lowpass->first_row; status == STATUS_OK && begin < end; begin += step) {
        struct rows rows = {begin, begin + step < end ? begin + step : end};
        status = forward_slice(run, bank, level, rows, error);
    }
    return status;
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

enum status inverse_wide(struct run *run, const struct bank *bank, const struct synthesis *level,
                         struct error *error)
{
    const struct planes *lowpass = level->lowpass, *subbands = level->subbands, *dst = level->dst;
    int width = 2 * subbands->width, height = 2 * subbands->height, rate = bank->qshift ? 4 : 2;
    struct rows rows = rows_aligned((struct rows){dst->first_row, dst->first_row + dst->rows}, rate);
    cl_int taps = bank->taps;
    cl_int2 crop = {{(lowpass->width - width) / 2, (lowpass->height - height) / 2}};
    cl_mem around, weights;
    struct planes half;
    if (column_weights(run, bank, &around, error) != STATUS_OK ||
        run_constants(run, bank->weights, bank->count, &weights, error) != STATUS_OK ||
        run_scratch(run, width, rate / 2 * height, rows, 2, dst->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work =
        run_work(run, "dtcwt_wide", bank->qshift ? "inverse_columns_2" : "inverse_columns_1", dst);
    work.width = width;
    work.height = half.rows / rate;
    work.apart = true;
    work.depth = planes_layer_depth(dst);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(&half),
               ARG_MEMORY(around), ARG(taps), ARG(crop)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = bank->qshift ? "inverse_rows_2" : "inverse_rows_1";
    work.height = dst->rows;
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(dst), ARG_MEMORY(weights), ARG(taps));
    run_scratch_done(run, &half);
    return status;
}
