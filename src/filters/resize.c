#include "filters/resize.h"

#include <stdlib.h>
#include <string.h>

/* As in the kernels: rows of a work-item of the passes along y, vectors side by side there on CPU devices,
 * work-items of a strip, samples in the line of resize_rows there, rows of a work-item of resize_rows
 * elsewhere. */
enum { ROWS_OUT = 4, WIDE_COLUMNS = 2, STRIP = 64, WIDE_LINE = 256, GROUPED_ROWS = 8 };

/* Of a row of the table: TABLE in kernels/resize_table.h. */
enum { TABLE_HEAD = 2 };

static enum status add_table(struct run *run, const struct resize_axis *axis, bool turned,
                             const struct constant_key *key, cl_mem *memory, struct error *error)
{
    size_t outputs = (size_t)axis->count, length = (size_t)resize_most_taps(axis) + TABLE_HEAD;
    float *values = allocate_zeroed((outputs + 1) * length, sizeof *values, key->what, error);
    if (!values)
        return STATUS_FAILED;
    float *row = values + outputs * length;
    for (size_t i = 0; i < outputs; i++) {
        cl_int window[TABLE_HEAD];
        window[1] = resize_taps(axis, (int)i, &window[0]);
        memset(row, 0, length * sizeof *row);
        memcpy(row, window, sizeof window);
        resize_weights(axis, (int)i, row + TABLE_HEAD);
        for (size_t j = 0; j < length; j++)
            values[turned ? j * outputs + i : i * length + j] = row[j];
    }
    enum status status =
        constants_add(&run->constants, run->device, key, values, outputs * length, memory, error);
    free(values);
    return status;
}

static enum status find_table(struct run *run, const struct resize_axis *axis, bool turned,
                              struct resize_table *table, struct error *error)
{
    const double key_values[] = {axis->filter, axis->sigma,  axis->from,     axis->to,   axis->begin,
                                 axis->count,  axis->margin, axis->extended, axis->edge, turned};
    struct constant_key key = {"a table of weights", key_values, sizeof key_values};
    *table = (struct resize_table){.pitch = turned ? axis->count : resize_most_taps(axis) + TABLE_HEAD};
    if (device_is_imaginary(run->device) || constants_find(&run->constants, &key, &table->memory))
        return STATUS_OK;
    return add_table(run, axis, turned, &key, &table->memory, error);
}

enum status resize_table(struct run *run, const struct resize_axis *axis, struct resize_table *table,
                         struct error *error)
{
    return find_table(run, axis, false, table, error);
}

static const char *file(const struct run *run)
{
    return run_is_wide(run) ? "resize_wide" : "resize_grouped";
}

enum status resize_columns(struct run *run, const struct resize_axis *axis, const struct planes *src,
                           const struct planes *dst, struct error *error)
{
    struct resize_table table;
    struct work work = run_work(run, file(run), "resize_columns", dst);
    if (resize_table(run, axis, &table, error) != STATUS_OK)
        return STATUS_FAILED;
    work.apart = true;
    work.height = divided(dst->rows, ROWS_OUT);
    if (run_is_wide(run))
        work.width = divided(dst->width, WIDE_COLUMNS * WIDE_LANES) * WIDE_LANES;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARGS_RESIZE_TABLE(table));
}

/* A launch over strips: kernels/resize_samples.cl. */
static struct work samples_work(const struct run *run, const char *kernel, const struct planes *dst,
                                const struct raster *raster)
{
    struct work work = run_work(run, "resize_samples", kernel, dst);
    work.apart = true;
    work.width = STRIP * WIDE_LANES;
    work.height = divided(dst->rows, ROWS_OUT);
    work.depth = divided(dst->width, STRIP * WIDE_LANES);
    define_all(&work.defines, &raster->defines);
    return work;
}

enum status resize_unpack_columns(struct run *run, const struct resize_axis *axis,
                                  const struct raster *raster, const struct planes *dst, struct error *error)
{
    struct resize_table table;
    cl_int height = axis->from;
    struct rows wanted = {dst->first_row, dst->first_row + dst->rows},
                read = rows_clip(resize_source_rows(axis, wanted), height);
    struct work work = samples_work(run, "unpack_resize_columns", dst, raster);
    if (resize_table(run, axis, &table, error) != STATUS_OK)
        return STATUS_FAILED;
    work.bytes = raster_bytes(raster, read.end - read.begin);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(raster), ARG(height), ARG_PLANES(dst),
                  ARGS_RESIZE_TABLE(table));
}

enum status resize_columns_pack(struct run *run, const struct resize_axis *axis, const struct planes *src,
                                const struct planes *dst, const struct raster *raster, struct error *error)
{
    struct geometry at = planes_geometry(dst);
    struct resize_table table;
    struct work work = samples_work(run, "resize_columns_pack", dst, raster);
    if (resize_table(run, axis, &table, error) != STATUS_OK)
        return STATUS_FAILED;
    work.bytes = raster_bytes(raster, dst->rows);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARGS_RASTER(raster), ARG(at),
                  ARGS_RESIZE_TABLE(table));
}

/* Runs of outputs whose samples fit into a line, wherever in a vector they begin. */
static int count_runs(const struct resize_axis *axis)
{
    double apart = (double)axis->from / axis->to;
    int room = WIDE_LINE - WIDE_LANES - resize_most_taps(axis),
        runs = room > 0 ? (int)(room / apart) / WIDE_LANES : 1;
    int all = divided(axis->count, WIDE_LANES);
    return runs < 1 ? 1 : runs < all ? runs : all;
}

enum status resize_rows(struct run *run, const struct resize_axis *axis, const struct planes *src,
                        const struct planes *dst, struct error *error)
{
    struct resize_table table;
    struct work work = run_work(run, file(run), "resize_rows", dst);
    if (find_table(run, axis, !run_is_wide(run), &table, error) != STATUS_OK)
        return STATUS_FAILED;
    if (run_is_wide(run)) {
        cl_int runs = count_runs(axis);
        work.apart = true;
        work.width = divided(dst->width, runs * WIDE_LANES) * WIDE_LANES;
        work.height = divided(dst->rows, WIDE_LANES);
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARGS_RESIZE_TABLE(table),
                      ARG(runs));
    }
    work.width =
        dst->width * launch_lanes(run->device, run->memory, GRAIN_VECTOR); /* an item has one sample */
    work.height = divided(dst->rows, GROUPED_ROWS);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARGS_RESIZE_TABLE(table));
}

/* Whether the pass along y is the first one: so there is less to do. That goes by the whole image, as its
 * slices must not differ. */
static bool begins_with_columns(const struct resize_axis *x, const struct resize_axis *y)
{
    double along_x = (double)x->count * resize_most_taps(x), along_y = (double)y->count * resize_most_taps(y);
    return y->count * along_x + x->from * along_y <= y->from * along_x + x->count * along_y;
}

enum status resize_image(struct run *run, const struct resize_axis *along_x,
                         const struct resize_axis *along_y, const struct value *in, struct value *out,
                         struct error *error)
{
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    bool columns_first = begins_with_columns(along_x, along_y);
    int width = columns_first ? src->width : out->shape.width;
    int height = columns_first ? out->shape.height : src->height;
    struct rows rows = columns_first ? out->rows : (struct rows){src->first_row, src->first_row + src->rows};
    struct planes half;
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (along_x->from == along_x->to && along_x->count == along_x->to)
        return resize_columns(run, along_y, src, dst, error);
    if (run_scratch(run, width, height, rows, 1, src->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    if (!columns_first)
        return resize_rows(run, along_x, src, &half, error) == STATUS_OK
                   ? resize_columns(run, along_y, &half, dst, error)
                   : STATUS_FAILED;
    return resize_columns(run, along_y, src, &half, error) == STATUS_OK
               ? resize_rows(run, along_x, &half, dst, error)
               : STATUS_FAILED;
}
