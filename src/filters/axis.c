#include "filters/axis.h"

#include "base/sums.h"

#include <stdlib.h>
#include <string.h>

/* Of a block in a table, and what the matrices begin at a multiple of: kernels/product.h. */
enum { BLOCK_INTS = 4, MATRIX_UNIT = 16 };

/* Of a table. Beside the border each output has weights of its own, so those of a filter grow with the square
 * of its length. A length that is reached by truncate= alone. */
enum { MAX_FLOATS = 1 << 27 };

/* Outputs of the largest blocks. */
enum { MAX_OUTPUTS = CPU_LANES };

/* Matrices that are compared with a new one: those of an axis come in turn. */
enum { COMPARED = 64 };

struct block {
    cl_int first, count, matrix, wraps;
};

/* A table while it is made. */
struct table {
    const struct axis *axis;
    struct blocking blocking;
    struct block *blocks;
    int made; /* blocks */
    float *values;
    size_t used, room; /* floats */
    double *weights;   /* of an output */
};

struct axis axis_filtered(const float *weights, int taps, int start, int samples, enum edge edge)
{
    return (struct axis){.samples = samples,
                         .outputs = samples,
                         .edge = edge,
                         .filter = {weights, taps, start, .step = 1, .period = 1}};
}

static struct rows filter_taps(const struct filter *filter, int o, double *weights)
{
    int begin = (o + filter->lead) / filter->period * filter->step + filter->start;
    const float *phase = filter->weights + (size_t)(o % filter->period) * (size_t)filter->taps;
    for (int k = 0; weights && k < filter->taps; k++)
        weights[k] = (double)phase[k];
    return (struct rows){begin, begin + filter->taps};
}

struct rows axis_taps(const struct axis *axis, int o, double *weights)
{
    if (axis->filter.weights)
        return filter_taps(&axis->filter, o, weights);
    return resize_weigh(&axis->resize, axis->cut, o, weights);
}

int axis_max_taps(const struct axis *axis)
{
    return axis->filter.weights ? axis->filter.taps : resize_max_taps(&axis->resize, axis->cut);
}

/* Whether windows go over the ends as they are. All of an axis do, or none, whatever its blocks: where they
 * do not, sums begin with another sample. */
static bool is_periodic(const struct axis *axis)
{
    double apart = (double)axis->samples / axis->outputs;
    return !axis->cut && axis->edge == EDGE_WRAP &&
           axis_max_taps(axis) + (MAX_OUTPUTS + 1) * apart + MATRIX_UNIT < axis->samples;
}

/* The sample that stands for i; -1: it is zero. */
static int sample_at(const struct axis *axis, int i)
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

/* The samples that stand for some. */
static struct rows map_border(const struct axis *axis, struct rows taps)
{
    int n = axis->samples;
    struct rows inside = rows_clip(taps, n);
    if (axis->edge == EDGE_WRAP && (taps.begin < 0 || taps.end > n))
        return rows_full(n);
    if (axis->edge == EDGE_MIRROR)
        for (int i = taps.begin; i < taps.end; i = i == -1 ? n : i + 1) {
            int at = sample_at(axis, i);
            inside = rows_union(inside, (struct rows){at, at + 1});
        }
    return inside;
}

/* Of which outputs `out` are made, before the border rule. */
static struct rows taps_of(const struct axis *axis, struct rows out)
{
    return rows_union(axis_taps(axis, out.begin, NULL), axis_taps(axis, out.end - 1, NULL));
}

/* The outputs of some blocks. */
static struct rows outputs_of(const struct axis *axis, int size, int begin, int end)
{
    const int after = end * size;
    return (struct rows){begin * size, after < axis->outputs ? after : axis->outputs};
}

static struct rows in_whole_blocks(const struct axis *axis, struct rows out)
{
    return outputs_of(axis, PRODUCT_ROWS, out.begin / PRODUCT_ROWS, ceil_div(out.end, PRODUCT_ROWS));
}

struct rows axis_source_rows(const struct axis *axis, struct rows out)
{
    return taps_of(axis, in_whole_blocks(axis, out));
}

struct rows axis_held_rows(const struct axis *axis, struct rows out)
{
    return map_border(axis, axis_source_rows(axis, out));
}

/* The window of a block. */
static struct rows block_window(const struct axis *axis, struct blocking by, int block)
{
    struct rows taps = taps_of(axis, outputs_of(axis, by.outputs, block, block + 1));
    const bool wraps = !axis->cut && axis->edge == EDGE_WRAP;
    if (!is_periodic(axis))
        taps = wraps && by.share ? rows_full(axis->samples) : map_border(axis, taps);
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

/* The weights of a block: a row for each sample, of a weight for each output. */
static void fill_matrix(struct table *table, int block, struct rows samples, float *matrix)
{
    const struct axis *axis = table->axis;
    const int outputs = table->blocking.outputs, begin = block * outputs;
    const bool round = is_periodic(axis);
    memset(matrix, 0, (size_t)(samples.end - samples.begin) * (size_t)outputs * sizeof *matrix);
    for (int r = 0; r < outputs && begin + r < axis->outputs; r++) {
        struct rows taps = axis_taps(axis, begin + r, table->weights);
        for (int i = taps.begin; i < taps.end; i++) {
            int at = round ? i : sample_at(axis, i);
            if (round || at >= 0)
                matrix[(size_t)(at - samples.begin) * (size_t)outputs + (size_t)r] +=
                    (float)table->weights[i - taps.begin];
        }
    }
}

/* Where a matrix like the new one, behind the others, begins; that one's own place if there is none. */
static size_t find_like(const struct table *table, size_t length)
{
    const float *made = table->values + table->used;
    int last = table->made > COMPARED ? table->made - COMPARED : 0;
    for (int i = table->made - 1; i >= last; i--) {
        const struct block *block = &table->blocks[i];
        if ((size_t)block->count * (size_t)table->blocking.outputs == length &&
            memcmp(table->values + block->matrix, made, length * sizeof *made) == 0)
            return (size_t)block->matrix;
    }
    return table->used;
}

static enum status make_room(struct table *table, size_t length, struct error *error)
{
    if (table->values && table->used + length <= table->room)
        return STATUS_OK;
    size_t room = 2 * table->room + length;
    room = room < MAX_FLOATS ? room : MAX_FLOATS;
    if (table->used + length > room) {
        fail(error, STATUS_FAILED,
             "the weights of a filter of %d taps along %d pixels take more than 512 MiB%s",
             axis_max_taps(table->axis), table->axis->samples,
             table->axis->filter.weights ? "; leave out truncate" : "");
        return STATUS_FAILED;
    }
    float *grown = realloc(table->values, room * sizeof *grown);
    if (!grown) {
        fail_memory(error, "out of memory for a table of weights");
        return STATUS_FAILED;
    }
    table->values = grown;
    table->room = room;
    return STATUS_OK;
}

static enum status add_block(struct table *table, struct error *error)
{
    const struct blocking by = table->blocking;
    struct rows samples = block_window(table->axis, by, table->made);
    cl_int count = samples.end - samples.begin;
    size_t length = (size_t)count * (size_t)by.outputs;
    if (make_room(table, length + MATRIX_UNIT, error) != STATUS_OK)
        return STATUS_FAILED;
    fill_matrix(table, table->made, samples, table->values + table->used);
    size_t at = find_like(table, length);
    table->blocks[table->made++] = (struct block){samples.begin, count, (cl_int)at, is_periodic(table->axis)};
    if (at == table->used)
        table->used += (length + MATRIX_UNIT - 1) / MATRIX_UNIT * MATRIX_UNIT;
    return STATUS_OK;
}

/* The blocks stand before the matrices. */
static enum status fill_table(struct table *table, int blocks, struct error *error)
{
    const size_t head = (size_t)ceil_div(blocks * BLOCK_INTS, MATRIX_UNIT) * MATRIX_UNIT;
    table->blocks = allocate_zeroed((size_t)blocks, sizeof *table->blocks, "a table of weights", error);
    table->weights =
        allocate((size_t)axis_max_taps(table->axis) * sizeof *table->weights, "a table of weights", error);
    if (!table->blocks || !table->weights || make_room(table, head, error) != STATUS_OK)
        return STATUS_FAILED;
    memset(table->values, 0, head * sizeof *table->values);
    table->used = head;
    while (table->made < blocks)
        if (add_block(table, error) != STATUS_OK)
            return STATUS_FAILED;
    memcpy(table->values, table->blocks, (size_t)blocks * sizeof *table->blocks);
    return STATUS_OK;
}

static enum status add_table(struct run *run, const struct axis *axis, struct blocking blocking,
                             const struct constant_key *key, cl_mem *memory, struct error *error)
{
    struct table table = {.axis = axis, .blocking = blocking};
    enum status status = fill_table(&table, ceil_div(axis->outputs, blocking.outputs), error);
    if (status == STATUS_OK)
        status = constants_add(&run->constants, run->device, key, table.values, table.used, memory, error);
    free(table.blocks);
    free(table.weights);
    free(table.values);
    return status;
}

enum status axis_table(struct run *run, const struct axis *axis, struct blocking blocking, cl_mem *table,
                       struct error *error)
{
    const struct resize *by = &axis->resize;
    const struct filter *filter = &axis->filter;
    const size_t bytes = (size_t)filter->taps * (size_t)filter->period * sizeof *filter->weights;
    const uint64_t hash = hash_bytes(HASH_START, filter->weights, bytes);
    const double values[] = {axis->samples,
                             axis->outputs,
                             axis->cut,
                             axis->edge,
                             blocking.outputs,
                             blocking.unit,
                             blocking.share,
                             by->filter,
                             by->sigma,
                             by->from,
                             by->to,
                             by->held,
                             by->begin,
                             by->margin,
                             filter->taps,
                             filter->start,
                             filter->step,
                             filter->period,
                             filter->lead,
                             (double)(hash >> 32),
                             (double)(uint32_t)hash};
    const struct constant_key key = {"a table of weights", values, sizeof values};
    *table = NULL;
    if (device_is_dry_run(run->device) || constants_find(&run->constants, &key, table))
        return STATUS_OK;
    return add_table(run, axis, blocking, &key, table, error);
}
