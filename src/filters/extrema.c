/* Minimum and maximum of squares (kernels/extremum.cl): passes along x, then along y.
 *
 * Each pass combines RADIX samples, which are already the extremes of runs of samples: of 1, 8, 64, ... So an
 * axis takes as many passes as the radius has octal digits: 0.09 s for 2048x2048 at radius 127, where other
 * ranks took 4.2 s. */
#include "filters/extrema.h"

/* Number of samples that a pass combines. */
enum { RADIX = 8 };

/* The same layout as struct window of kernels/extremum.cl. */
struct window {
    cl_int along_y, first, step, count, reach, largest, wraps, zero_margin, alpha_channel;
};

/* Enqueues one pass. */
static enum status extrema_pass(struct run *run, const struct window *window, const struct planes *src,
                                const struct planes *dst, struct error *error)
{
    struct kernel_launch work = run_work(run, "extremum", "extremum", dst);
    work.vector_width = VECTOR_WINDOW;
    work.calls_noinline = true;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(*window));
}

/* Enqueues all passes along one axis. A run begins at its sample. Its length grows by a factor of RADIX while
 * it is at most radius + 1, so a window that begins beyond the border contains the whole run at the border.
 * Therefore the kernel may clamp the position of a run (map_index()). */
static enum status extrema_along(struct run *run, int radius, const struct window *along,
                                 const struct planes *src, const struct planes *dst, struct error *error)
{
    const struct interval rows = planes_rows(src);
    struct planes from = *src, next;
    struct window window = *along;
    int length = 1;
    for (; length * RADIX <= radius + 1; length *= RADIX) {
        window.step = length;
        window.count = RADIX;
        window.reach = (RADIX - 1) * length;
        if (run_scratch_like(run, src, rows, &next, error) != STATUS_OK ||
            extrema_pass(run, &window, &from, &next, error) != STATUS_OK)
            return STATUS_FAILED;
        if (length > 1)
            run_scratch_release(run, &from);
        from = next;
    }
    /* The last pass covers the window of 2 * radius + 1 samples; its last two runs may overlap. */
    window.first = -radius;
    window.step = length;
    window.reach = 2 * radius + 1 - length;
    window.count = ceil_div(window.reach, length) + 1;
    window.zero_margin = run->edge == EDGE_ZERO ? radius : 0;
    const enum status status = extrema_pass(run, &window, &from, dst, error);
    if (length > 1)
        run_scratch_release(run, &from);
    return status;
}

enum status extrema_find(struct run *run, int radius, bool largest, int alpha_channel,
                         const struct planes *src, const struct planes *dst, struct error *error)
{
    const struct window across = {
        .largest = largest, .wraps = run->edge == EDGE_WRAP, .alpha_channel = alpha_channel};
    struct window down = across;
    struct planes between;
    down.along_y = 1;
    const struct interval rows = planes_rows(src);
    if (run_scratch_like(run, src, rows, &between, error) != STATUS_OK ||
        extrema_along(run, radius, &across, src, &between, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = extrema_along(run, radius, &down, &between, dst, error);
    run_scratch_release(run, &between);
    return status;
}

enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src,
                         struct interval rows, struct planes *dst, struct error *error)
{
    /* The second operation needs more rows of the first one's result; all rows if they wrap around. */
    struct interval needed = interval_widen(rows, radius);
    if (run->edge == EDGE_WRAP && (needed.begin < 0 || needed.end > src->height))
        needed = rows_full(src->height);
    needed = interval_clip(needed, src->height);
    struct planes first;
    if (run_scratch_like(run, src, needed, &first, error) != STATUS_OK ||
        extrema_find(run, radius, closes, -1, src, &first, error) != STATUS_OK ||
        run_scratch_like(run, src, rows, dst, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = extrema_find(run, radius, !closes, -1, &first, dst, error);
    run_scratch_release(run, &first);
    return status;
}
