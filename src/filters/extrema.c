/* Minimum and maximum of squares, by a running extreme along each axis (kernels/extremum.cl).
 *
 * Each pass combines RADIX samples that already have the extreme of a run of samples, so the cost grows with
 * the logarithm of the radius: 0.09 s for 2048x2048 at radius 127, where other ranks took 4.2 s. */
#include "filters/extrema.h"

/* Samples that a pass combines, each the extreme of a run of samples of the pass before. */
enum { RADIX = 8 };

/* The same layout as struct window of kernels/extremum.cl. */
struct window {
    cl_int down, first, step, count, reach, largest, wraps, zero_margin, alpha_channel;
};

struct rows extrema_source_rows(int radius, struct rows out)
{
    return (struct rows){out.begin - radius, out.end + radius};
}

/* Allocates planes like src for other rows. */
static enum status allocate_like(struct run *run, const struct planes *src, struct rows rows,
                                 struct planes *planes, struct error *error)
{
    return run_scratch(run, src->width, src->height, rows, src->layers, src->channels, planes, error);
}

/* Enqueues one pass. */
static enum status run_pass(struct run *run, const struct window *window, const struct planes *src,
                            const struct planes *dst, struct error *error)
{
    struct kernel_launch work = run_work(run, "extremum", "extremum", dst);
    work.vector_width = VECTOR_WINDOW;
    work.calls_noinline = true;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(*window));
}

/* Enqueues all passes along one axis. A run begins at its sample. Its length grows by a factor of RADIX while
 * it is at most radius + 1. A window that begins beyond the border therefore contains the whole run at the
 * border, so clamping the position of a run (map_index() of the kernel) adds no foreign sample. */
static enum status run_axis(struct run *run, int radius, const struct window *along, const struct planes *src,
                            const struct planes *dst, struct error *error)
{
    const struct rows held = {src->first_row, src->first_row + src->rows};
    struct planes at = *src, next;
    struct window window = *along;
    int length = 1;
    for (; length * RADIX <= radius + 1; length *= RADIX) {
        window.step = length;
        window.count = RADIX;
        window.reach = (RADIX - 1) * length;
        if (allocate_like(run, src, held, &next, error) != STATUS_OK ||
            run_pass(run, &window, &at, &next, error) != STATUS_OK)
            return STATUS_FAILED;
        if (length > 1)
            run_scratch_release(run, &at);
        at = next;
    }
    /* The last pass covers the window of 2 * radius + 1 samples; its last two runs may overlap. */
    window.first = -radius;
    window.step = length;
    window.reach = 2 * radius + 1 - length;
    window.count = ceil_div(window.reach, length) + 1;
    window.zero_margin = run->edge == EDGE_ZERO ? radius : 0;
    const enum status status = run_pass(run, &window, &at, dst, error);
    if (length > 1)
        run_scratch_release(run, &at);
    return status;
}

enum status extrema_find(struct run *run, int radius, bool largest, int alpha_channel,
                         const struct planes *src, const struct planes *dst, struct error *error)
{
    const struct window across = {
        .largest = largest, .wraps = run->edge == EDGE_WRAP, .alpha_channel = alpha_channel};
    struct window down = across;
    struct planes between;
    down.down = 1;
    const struct rows held = {src->first_row, src->first_row + src->rows};
    if (allocate_like(run, src, held, &between, error) != STATUS_OK ||
        run_axis(run, radius, &across, src, &between, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = run_axis(run, radius, &down, &between, dst, error);
    run_scratch_release(run, &between);
    return status;
}

enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src, struct rows rows,
                         struct planes *dst, struct error *error)
{
    /* The second operation needs the first one's result in more rows; in all rows if these wrap around. */
    const struct rows around = extrema_source_rows(radius, rows), clipped = rows_clip(around, src->height);
    const bool beyond = around.begin < 0 || around.end > src->height;
    const struct rows needed = beyond && run->edge == EDGE_WRAP ? rows_full(src->height) : clipped;
    struct planes first;
    if (allocate_like(run, src, needed, &first, error) != STATUS_OK ||
        extrema_find(run, radius, closes, -1, src, &first, error) != STATUS_OK ||
        allocate_like(run, src, rows, dst, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = extrema_find(run, radius, !closes, -1, &first, dst, error);
    run_scratch_release(run, &first);
    return status;
}
