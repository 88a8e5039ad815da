#include "filters/extrema.h"

/* Samples of a pass, each of which has the extreme of a run of as many from before. */
enum { RADIX = 8 };

/* As kernels/extremum.cl has it. */
struct window {
    cl_int down, first, step, count, last, largest, wraps, reach;
};

struct rows extrema_source_rows(int radius, struct rows out)
{
    return (struct rows){out.begin - radius, out.end + radius};
}

static enum status run_pass(struct run *run, const struct window *window, const struct planes *src,
                            struct rows rows, struct planes *dst, struct error *error)
{
    if (run_scratch(run, src->width, src->height, rows, src->layers, src->channels, dst, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "extremum", "extremum", dst);
    work.grain = GRAIN_WINDOW;
    work.apart = true;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(*window));
}

/* Along one axis. Runs that begin at a sample grow until two of them would reach beyond half of the window:
 * so those that begin at the border lie in the windows of all samples there, and what would begin before it
 * may be them. */
static enum status run_axis(struct run *run, int radius, const struct window *along, const struct planes *src,
                            struct rows rows, struct planes *dst, struct error *error)
{
    const struct rows held = {src->first_row, src->first_row + src->rows};
    struct planes at = *src, next;
    struct window window = *along;
    int length = 1;
    for (; length * RADIX <= radius + 1; length *= RADIX) {
        window.step = length;
        window.count = RADIX;
        window.last = (RADIX - 1) * length;
        if (run_pass(run, &window, &at, held, &next, error) != STATUS_OK)
            return STATUS_FAILED;
        if (length > 1)
            run_scratch_done(run, &at);
        at = next;
    }
    window.first = -radius;
    window.step = length;
    window.last = 2 * radius + 1 - length;
    window.count = divided(window.last, length) + 1;
    window.reach = run->edge == EDGE_ZERO ? radius : 0;
    const enum status status = run_pass(run, &window, &at, rows, dst, error);
    if (length > 1)
        run_scratch_done(run, &at);
    return status;
}

/* The extreme value of the 2 * radius + 1 by 2 * radius + 1 samples around each one, with the border rule, of
 * all planes of `src`, which holds the rows that `rows` need; into scratch planes. As many passes as the
 * radius has octal digits, along either axis. */
static enum status find_extrema(struct run *run, int radius, bool largest, const struct planes *src,
                                struct rows rows, struct planes *dst, struct error *error)
{
    const struct window across = {.largest = largest, .wraps = run->edge == EDGE_WRAP};
    struct window down = across;
    struct planes between;
    down.down = 1;
    const struct rows held = {src->first_row, src->first_row + src->rows};
    if (run_axis(run, radius, &across, src, held, &between, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = run_axis(run, radius, &down, &between, rows, dst, error);
    run_scratch_done(run, &between);
    return status;
}

enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src, struct rows rows,
                         struct planes *dst, struct error *error)
{
    const struct rows around = extrema_source_rows(radius, rows), clipped = rows_clip(around, src->height);
    const bool beyond = around.begin < 0 || around.end > src->height;
    const struct rows needed = beyond && run->edge == EDGE_WRAP ? rows_whole(src->height) : clipped;
    struct planes first;
    if (find_extrema(run, radius, closes, src, needed, &first, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = find_extrema(run, radius, !closes, &first, rows, dst, error);
    run_scratch_done(run, &first);
    return status;
}
