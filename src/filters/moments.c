/* Launches of kernels/moments.cl: one pass along y and one along x, each of which transposes.
 *
 *     src        W columns, rows of the slice and its halo
 *     columns    transposed: moments of 2 r + 1 rows; as many columns as the slice has rows, W rows
 *     moments    transposed back: moments of the windows
 *
 * A pass that stores without transposing would need a second kernel for x, whose vectors run along the axis
 * that is summed. */
#include "filters/moments.h"

/* Blocks of a work-item. On CPUs more blocks mean fewer work-items whose last outputs, fewer than 16, are
 * stored one by one. Each work-item reuses its runs for the next block, so they stay in a cache. */
enum { CPU_BLOCKS = 8, GPU_BLOCKS = 1 };

/* The same layout as struct window of kernels/moments.cl. */
struct window {
    cl_int radius, first_block, blocks, first, count, samples;
};

/* Returns `width`, rounded up to an odd number of cache lines. The kernel stores columns, and rows that are a
 * power of two apart share few sets of a cache. */
static int pad_width(int width)
{
    return (ceil_div(width, PITCH_UNIT) | 1) * PITCH_UNIT;
}

/* Returns the block of `side` rows that contains row y, which may be negative. */
static int block_of(int y, int side)
{
    return y >= 0 ? y / side : -ceil_div(-y, side);
}

/* Enqueues one pass, for rows `rows` of src. An element of src consists of `samples` samples of the image. */
static enum status moments_pass(struct run *run, int radius, int samples, const struct planes *src,
                                struct interval rows, const struct planes *dst, struct error *error)
{
    const int side = 2 * radius + 1, first_block = block_of(rows.begin - radius, side),
              blocks = run_is_cpu(run) ? CPU_BLOCKS : GPU_BLOCKS,
              items = ceil_div(block_of(rows.end - 1 - radius, side) + 1 - first_block, blocks);
    const struct window window = {radius, first_block, blocks, rows.begin, rows.end - rows.begin, samples};
    struct planes suffixes;
    if (run_scratch(run, src->width, items * side, rows_full(items * side), 2, src->channels, &suffixes,
                    error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "moments", "moments", src);
    work.height = items;
    work.depth = planes_layer_depth(src);
    work.calls_noinline = true;
    const enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&suffixes),
                                      ARG_PLANES(dst), ARG(window));
    run_scratch_release(run, &suffixes);
    return status;
}

enum status moments_find(struct run *run, int radius, const struct planes *src, struct interval rows,
                         struct planes *moments, struct error *error)
{
    struct planes columns;
    if (run_scratch(run, pad_width(rows.end - rows.begin), src->width, rows_full(src->width), 2,
                    src->channels, &columns, error) != STATUS_OK ||
        run_scratch(run, pad_width(src->width), src->height, rows, 2, src->channels, moments, error) !=
            STATUS_OK)
        return STATUS_FAILED;
    if (moments_pass(run, radius, 1, src, rows, &columns, error) != STATUS_OK)
        return STATUS_FAILED;
    columns.width = rows.end - rows.begin;
    const enum status status =
        moments_pass(run, radius, 2 * radius + 1, &columns, rows_full(src->width), moments, error);
    run_scratch_release(run, &columns);
    return status;
}
