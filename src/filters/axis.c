/* Tables of weights for separable products.
 *
 *   struct axis -> taps of an output -> window of a block -> matrix of the block -> table on the device
 *
 * axis_taps() returns the samples and weights of one output as if the axis had no ends. block_window() is the
 * union of these ranges over a block, after the border rule and rounded to blocking.unit. fill_matrix()
 * applies the border rule: it adds the weight of a sample beyond an end to the sample that replaces it. CLAMP
 * adds them all to the sample at that end, ZERO drops them. So kernels know no border rule.
 *
 * The exception is an axis with edge WRAP that is longer than its filter and a block together
 * (has_wrapping_windows). Its windows extend beyond the ends, and the kernel wraps them: otherwise every
 * block at an end would have the whole axis as its window.
 *
 * Blocks with equal matrices share one: a blur and an enlargement by 2 have one matrix for their interior and
 * some at each end. In an experiment with --blur 2 on an H200, sharing saved 91 of 481 us. */
#include "filters/axis.h"

#include "base/sums.h"

#include <stdlib.h>
#include <string.h>

/* Size of struct block, and alignment of the matrices, in 4-byte words (kernels/product.h). */
enum { BLOCK_INTS = 4, MATRIX_UNIT = 16 };

/* Largest size of a table. Near the border each output has its own weights, so the size grows with the square
 * of the filter's length. Only a large truncate= reaches this limit. */
enum { MAX_FLOATS = 1 << 27 };

/* Outputs of the largest block of any kernel. */
enum { MAX_OUTPUTS = CPU_LANES };

/* Number of earlier matrices that a new one is compared with. Matrices of a resizing repeat in a cycle. */
enum { COMPARED = 64 };

/* The same layout as in kernels/product.h: window, offset of the matrix in floats, and
 * has_wrapping_windows(). */
struct block {
    cl_int first, count, matrix, wraps;
};

/* A table under construction. */
struct table {
    const struct axis *axis;
    struct blocking blocking;
    struct block *blocks;
    int complete; /* number of blocks that are complete */
    float *values;
    size_t used, capacity; /* number of floats in `values`, used and allocated */
    double *weights;       /* of one output, or of as many as axis_period() returns */
};

struct axis axis_filtered(const float *weights, int taps, int samples, enum edge edge)
{
    return (struct axis){.samples = samples,
                         .outputs = samples,
                         .edge = edge,
                         .filter = {weights, taps, .start = -(taps / 2)}};
}

void axis_reduce(struct axis *axis, int samples, int factor, double offset)
{
    if (factor == 0)
        return;
    axis->samples = axis->resize.sample_count = samples;
    axis->resize.to *= factor;
    axis->resize.shift = offset;
}

struct interval axis_taps(const struct axis *axis, int o, double *weights)
{
    const struct filter *filter = &axis->filter;
    if (!filter->weights)
        return resize_weigh(&axis->resize, axis->ends_at_border, o, weights);
    for (int k = 0; weights && k < filter->taps; k++)
        weights[k] = (double)filter->weights[k];
    return (struct interval){o + filter->start, o + filter->start + filter->taps};
}

int axis_max_taps(const struct axis *axis)
{
    return axis->filter.weights ? axis->filter.taps : resize_max_taps(&axis->resize, axis->ends_at_border);
}

/* True if windows may extend beyond the ends, where the kernel wraps them. Requires more samples than the
 * longest window of any blocking has: taps, outputs and rounding. Wrapping changes the order of summation, so
 * this must not depend on the blocks. */
static bool has_wrapping_windows(const struct axis *axis)
{
    double step = (double)axis->samples / axis->outputs; /* samples from output to output */
    return !axis->ends_at_border && axis->edge == EDGE_WRAP &&
           axis_max_taps(axis) + (MAX_OUTPUTS + 1) * step + MATRIX_UNIT < axis->samples;
}

/* Returns the sample that replaces position i by the border rule, or -1 for a zero. */
static int map_sample(const struct axis *axis, int i)
{
    int n = axis->samples, period = axis->edge == EDGE_MIRROR ? 2 * n : n, at = i % period;
    at += at < 0 ? period : 0;
    if (i >= 0 && i < n)
        return i;
    if (axis->edge == EDGE_ZERO)
        return -1;
    if (axis->edge == EDGE_CLAMP)
        return i < 0 ? 0 : n - 1;
    return at < n ? at : period - 1 - at;
}

/* Returns the range of the samples that replace `taps` by the border rule. */
static struct interval map_border(const struct axis *axis, struct interval taps)
{
    int n = axis->samples;
    struct interval inside = interval_clip(taps, n);
    if (axis->edge == EDGE_WRAP && (taps.begin < 0 || taps.end > n))
        return rows_full(n);
    /* Add the mirrored samples. From -1 the loop skips to n, as `inside` has the samples in between. */
    if (axis->edge == EDGE_MIRROR)
        for (int i = taps.begin; i < taps.end; i = i == -1 ? n : i + 1) {
            int at = map_sample(axis, i);
            inside = interval_union(inside, (struct interval){at, at + 1});
        }
    return inside;
}

/* Returns the samples of outputs `out`, before the border rule. */
static struct interval taps_of_outputs(const struct axis *axis, struct interval out)
{
    return interval_union(axis_taps(axis, out.begin, NULL), axis_taps(axis, out.end - 1, NULL));
}

struct interval axis_source_rows(const struct axis *axis, struct interval out)
{
    return taps_of_outputs(axis, interval_clip(interval_align(out, PRODUCT_ROWS), axis->outputs));
}

struct interval axis_inside_rows(const struct axis *axis, struct interval out)
{
    return map_border(axis, axis_source_rows(axis, out));
}

/* Returns the window of a block: the samples of its matrix. With edge WRAP but without wrapping
 * windows, that is the whole axis if blocks share tiles. */
static struct interval block_window(const struct axis *axis, struct blocking by, int block)
{
    const struct interval outputs = {block * by.outputs, (block + 1) * by.outputs};
    struct interval taps = taps_of_outputs(axis, interval_clip(outputs, axis->outputs));
    const bool wraps = !axis->ends_at_border && axis->edge == EDGE_WRAP;
    if (!has_wrapping_windows(axis))
        taps = wraps && by.shares_tile ? rows_full(axis->samples) : map_border(axis, taps);
    int before = taps.begin % by.unit;
    taps.begin -= before < 0 ? before + by.unit : before;
    taps.end = taps.begin + ceil_div(taps.end - taps.begin, by.unit) * by.unit;
    return taps;
}

int axis_max_samples(const struct axis *axis, struct blocking blocking, int count)
{
    const int blocks = ceil_div(axis->outputs, blocking.outputs);
    int most = 0;
    for (int i = 0; i < blocks; i += count) {
        int last = i + count < blocks ? i + count - 1 : blocks - 1;
        int samples = block_window(axis, blocking, last).end - block_window(axis, blocking, i).begin;
        most = samples > most ? samples : most;
    }
    return most;
}

/* Returns the number of outputs after which the weights repeat, or 0 if they may all be different. */
static int axis_period(const struct axis *axis)
{
    return axis->filter.weights ? 1 : resize_period(&axis->resize, axis->ends_at_border);
}

/* Stores the matrix of a block: a row per sample, a column per output. Weights that repeat are computed once,
 * for the first outputs of the axis, so blocks must be stored in order. */
static void fill_matrix(struct table *table, int block, struct interval samples, float *matrix)
{
    const struct axis *axis = table->axis;
    const int outputs = table->blocking.outputs, begin = block * outputs, period = axis_period(axis);
    const bool periodic = has_wrapping_windows(axis), repeats = period > 0;
    memset(matrix, 0, (size_t)(samples.end - samples.begin) * (size_t)outputs * sizeof *matrix);
    for (int r = 0; r < outputs && begin + r < axis->outputs; r++) {
        const int o = begin + r;
        double *weights = table->weights + (size_t)(repeats ? o % period : 0) * (size_t)axis_max_taps(axis);
        const struct interval taps = axis_taps(axis, o, repeats && o >= period ? NULL : weights);
        for (int i = taps.begin; i < taps.end; i++) {
            int at = periodic ? i : map_sample(axis, i);
            if (periodic || at >= 0)
                matrix[(size_t)(at - samples.begin) * (size_t)outputs + (size_t)r] +=
                    (float)weights[i - taps.begin];
        }
    }
}

/* Returns the offset of an earlier matrix equal to the newest one (at `used`), or `used`. */
static size_t find_equal_matrix(const struct table *table, size_t length)
{
    const float *newest = table->values + table->used;
    int last = table->complete > COMPARED ? table->complete - COMPARED : 0;
    for (int i = table->complete - 1; i >= last; i--) {
        const struct block *block = &table->blocks[i];
        if ((size_t)block->count * (size_t)table->blocking.outputs == length &&
            memcmp(table->values + block->matrix, newest, length * sizeof *newest) == 0)
            return (size_t)block->matrix;
    }
    return table->used;
}

/* Reserves `length` more floats of `values`. Returns the first, or NULL on failure. */
static float *table_reserve(struct table *table, size_t length, struct error *error)
{
    size_t capacity = 2 * table->capacity + length;
    capacity = capacity < MAX_FLOATS ? capacity : MAX_FLOATS;
    if (table->used + length > capacity) {
        fail(error, STATUS_FAILED,
             "the weights of a filter of %d taps along %d pixels take more than 512 MiB%s",
             axis_max_taps(table->axis), table->axis->samples,
             table->axis->filter.weights ? "; leave out truncate" : "");
        return NULL;
    }
    if (table->used + length > table->capacity) {
        float *grown = realloc(table->values, capacity * sizeof *grown);
        if (!grown) {
            fail_memory(error, "out of memory for a table of weights");
            return NULL;
        }
        table->values = grown;
        table->capacity = capacity;
    }
    return table->values + table->used;
}

/* Builds the table: reserves the space of the blocks, appends their matrices and copies the blocks. */
static enum status fill_table(struct table *table, struct error *error)
{
    const struct axis *axis = table->axis;
    const struct blocking by = table->blocking;
    const int blocks = ceil_div(axis->outputs, by.outputs), period = axis_period(axis);
    const size_t weights = (size_t)axis_max_taps(axis) * (size_t)(period > 0 ? period : 1);
    const size_t head = (size_t)ceil_div(blocks * BLOCK_INTS, MATRIX_UNIT) * MATRIX_UNIT;
    table->blocks = allocate_zeroed((size_t)blocks, sizeof *table->blocks, "a table of weights", error);
    table->weights = allocate(weights * sizeof *table->weights, "a table of weights", error);
    float *const first = table->blocks && table->weights ? table_reserve(table, head, error) : NULL;
    if (!first)
        return STATUS_FAILED;
    memset(first, 0, head * sizeof *first);
    table->used = head;
    while (table->complete < blocks) {
        const struct interval samples = block_window(axis, by, table->complete);
        const cl_int count = samples.end - samples.begin;
        const size_t length = (size_t)count * (size_t)by.outputs;
        float *const matrix = table_reserve(table, length + MATRIX_UNIT, error);
        if (!matrix)
            return STATUS_FAILED;
        fill_matrix(table, table->complete, samples, matrix);
        /* Append the new matrix, unless an earlier one is equal. */
        const size_t at = find_equal_matrix(table, length);
        if (at == table->used)
            table->used += (length + MATRIX_UNIT - 1) / MATRIX_UNIT * MATRIX_UNIT;
        table->blocks[table->complete++] =
            (struct block){samples.begin, count, (cl_int)at, has_wrapping_windows(axis)};
    }
    memcpy(table->values, table->blocks, (size_t)blocks * sizeof *table->blocks);
    return STATUS_OK;
}

enum status axis_table(struct run *run, const struct axis *axis, struct blocking blocking, cl_mem *memory,
                       struct error *error)
{
    /* The key has all members that determine the table, and a hash of the weights. */
    const struct resize *by = &axis->resize;
    const struct filter *filter = &axis->filter;
    const size_t bytes = (size_t)filter->taps * sizeof *filter->weights;
    const uint64_t hash = hash_bytes(HASH_START, filter->weights, bytes);
    const double values[] = {axis->samples,
                             axis->outputs,
                             axis->ends_at_border,
                             axis->edge,
                             blocking.outputs,
                             blocking.unit,
                             blocking.shares_tile,
                             by->filter,
                             by->sigma,
                             by->from,
                             by->to,
                             by->sample_count,
                             by->aliases,
                             by->corners,
                             by->begin,
                             by->margin,
                             by->shift,
                             filter->taps,
                             filter->start,
                             (double)(hash >> 32),
                             (double)(uint32_t)hash};
    const struct constant_key key = {"a table of weights", values, sizeof values};
    *memory = NULL;
    if (device_is_dry_run(run->device) || constants_find(&run->constants, &key, memory))
        return STATUS_OK;
    struct table table = {.axis = axis, .blocking = blocking};
    enum status status = fill_table(&table, error);
    if (status == STATUS_OK)
        status = constants_add(&run->constants, run->device, &key, table.values, table.used, memory, error);
    free(table.blocks);
    free(table.weights);
    free(table.values);
    return status;
}
