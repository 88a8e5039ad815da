#include "filters/ball.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_REACH = 80 }; /* as in kernels/ball.cl; that of BALL_MOST_RADIUS is 75 */

/* The part of the ball that rolls below the small picture. */
struct patch {
    int shift;  /* a block has so many pixels along either side, */
    int factor; /* 1 << shift */
    int reach;  /* from its middle to its sides, in small pixels */
    double radius;
};

static struct patch find_patch(const struct ball *ball)
{
    static const struct {
        double most;
        int percent;
    } sizes[] = {{10, 24}, {30, 24}, {100, 32}, {INFINITY, 40}};
    int i = 0;
    while (ball->radius > sizes[i].most)
        i++;
    const double radius = fmax(1, ball->radius / (1 << i));
    const int cut = (int)(sizes[i].percent * radius) / 100;
    return (struct patch){i, 1 << i, (int)floor(radius - cut + 0.5), radius};
}

/* Its heights above its middle's level, 1 being full scale. */
static enum status run_heights(struct run *run, const struct ball *ball, const struct patch *patch,
                               cl_mem *memory, struct error *error)
{
    const int reach = patch->reach;
    const size_t side = 2 * (size_t)reach + 1;
    float *heights = allocate_zeroed(side * side, sizeof *heights, "a ball", error);
    if (!heights)
        return STATUS_FAILED;
    size_t i = 0;
    for (int y = -reach; y <= reach; y++)
        for (int x = -reach; x <= reach; x++, i++) {
            const double square = patch->radius * patch->radius - x * x - y * y;
            heights[i] = (float)(square > 0 ? sqrt(square) / ball->counts : 0);
        }
    const enum status status = run_constants(run, heights, side * side, memory, error);
    free(heights);
    return status;
}

static struct rows blocks_of(const struct patch *patch, struct rows rows)
{
    return (struct rows){rows.begin / patch->factor, ceil_div(rows.end, patch->factor)};
}

/* The rows of the small picture, `height` of them, between which rows `out` lie. */
static struct rows small_rows(const struct patch *patch, int height, struct rows out)
{
    const int last = height > 1 ? height - 2 : 0;
    const int half = patch->factor / 2;
    const int first = (out.begin > half ? out.begin - half : 0) / patch->factor;
    const int end = (out.end - 1 > half ? out.end - 1 - half : 0) / patch->factor;
    return rows_clip((struct rows){first < last ? first : last, (end < last ? end : last) + 2}, height);
}

struct rows ball_source_rows(const struct ball *ball, int height, struct rows out)
{
    const struct patch patch = find_patch(ball);
    const int blocks = ceil_div(height, patch.factor);
    struct rows rows = small_rows(&patch, blocks, out);
    rows = rows_clip((struct rows){rows.begin - 2 * patch.reach, rows.end + 2 * patch.reach}, blocks);
    return rows_clip((struct rows){rows.begin * patch.factor, rows.end * patch.factor}, height);
}

static enum status find_small(struct run *run, const struct patch *patch, float sign,
                              const struct planes *src, struct planes *small, struct error *error)
{
    const struct rows rows = blocks_of(patch, (struct rows){src->first_row, src->first_row + src->rows});
    const cl_int factor = patch->factor;
    if (run_scratch(run, ceil_div(src->width, factor), ceil_div(src->height, factor), rows, 1, src->channels,
                    small, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "background", "least_of_blocks", small);
    work.grain = GRAIN_SINGLE;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(small), ARG(factor), ARG(sign));
}

/* The output is `more` pixels larger on each side. */
static enum status roll(struct run *run, const struct patch *patch, cl_mem heights, int more,
                        const struct planes *src, struct rows rows, struct planes *dst, struct error *error)
{
    const struct {
        cl_int reach, shift;
    } by = {patch->reach, -more};
    if (run_scratch(run, src->width + 2 * more, src->height + 2 * more, rows, 1, src->channels, dst, error) !=
        STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "ball", "roll", dst);
    work.grain = GRAIN_WINDOW;
    work.apart = true;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(heights), ARG(by));
}

/* The middles of balls lie beside the picture, too, as far as they reach into it. */
static enum status find_surface(struct run *run, const struct ball *ball, const struct patch *patch,
                                const struct planes *small, struct rows rows, struct planes *surface,
                                struct error *error)
{
    cl_mem heights;
    struct planes middles;
    const struct rows around = {rows.begin,
                                rows.end + 2 * patch->reach}; /* row 0 is row -reach of the small picture */
    if (run_heights(run, ball, patch, &heights, error) != STATUS_OK ||
        roll(run, patch, heights, patch->reach, small, around, &middles, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = roll(run, patch, heights, -patch->reach, &middles, rows, surface, error);
    run_scratch_done(run, &middles);
    return status;
}

enum status subtract_background(struct run *run, const struct ball *ball, const struct value *in,
                                const struct value *out, struct error *error)
{
    const struct patch patch = find_patch(ball);
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    const struct rows wanted = small_rows(&patch, ceil_div(src->height, patch.factor),
                                          (struct rows){dst->first_row, dst->first_row + dst->rows});
    const cl_int shift = patch.shift, light = ball->light, alpha = shape_alpha(&out->shape);
    const cl_float sign = ball->light ? -1 : 1;
    struct planes small, surface;
    if (find_small(run, &patch, sign, src, &small, error) != STATUS_OK ||
        find_surface(run, ball, &patch, &small, wanted, &surface, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "background", "above", dst);
    work.grain = GRAIN_SINGLE;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&surface), ARG_PLANES(dst),
                  ARG(shift), ARG(sign), ARG(light), ARG(alpha));
}
