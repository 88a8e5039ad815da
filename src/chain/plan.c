/* Row arithmetic of a plan: the rows of every value that a slice needs, from its output back to its input.
 *
 *     input   |-------------------|         stage->rows adds the halo of each stage,
 *     value      |-------------|            the border rule moves or clips rows outside of the image
 *     output        |-------|     slice
 *
 * Neighbouring slices need some of the same rows. Input rows are kept from one slice to the next; rows of
 * values between two stages are computed again, since storing them would take a buffer for each stage. */
#include "chain/plan.h"

#include <math.h>
#include <stdlib.h>

struct shape image_shape(const struct image_info *info)
{
    return (struct shape){.kind = KIND_IMAGE,
                          .width = (int)info->width,
                          .height = (int)info->height,
                          .channels = info->channels,
                          .images = 1,
                          .alpha = info->alpha,
                          .is_float = sample_is_float(info->type),
                          .may_have_missing = sample_is_float(info->type),
                          .full = sample_full_scale(info->type),
                          .min_sample = sample_is_signed(info->type) ? -sample_full_scale(info->type) - 1 : 0,
                          .reduced = {.factor = info->reduction,
                                      .width = (int)info->full_width,
                                      .height = (int)info->full_height}};
}

const struct shape *plan_output(const struct plan *plan)
{
    return &plan->shapes[plan->chain->count];
}

/* Replaces rows beyond the border by the rows that the border rule reads instead. */
static struct interval rows_with_border(struct interval rows, int height, enum edge edge)
{
    const int above = -rows.begin, below = rows.end - height;
    if (edge == EDGE_WRAP && (above > 0 || below > 0))
        return rows_full(height);
    if (edge == EDGE_MIRROR && below > 0 && height - below < rows.begin)
        rows.begin = height - below;
    if (edge == EDGE_MIRROR && above > rows.end)
        rows.end = above;
    return interval_clip(rows, height);
}

void plan_rows(const struct plan *plan, struct interval out, struct interval *rows)
{
    const struct step *analysis = plan->analysis;
    const struct shape *last = plan_output(plan);
    /* The pages of a coefficient file are read once, so no analysis pass can read them before. */
    const bool is_whole = plan->shapes[0].kind == KIND_PYRAMID && plan_may_need_analysis(plan);
    rows[plan->chain->count] =
        analysis ? rows_with_border(analysis->stage->analysis->rows(analysis->params, last, out),
                                    last->height, plan->edge)
                 : out;
    for (size_t i = plan->chain->count; i > 0; i--) {
        const struct step *step = &plan->chain->steps[i - 1];
        const struct shape *in = &plan->shapes[i - 1];
        /* The input of a first step that moves samples is read once, for all slices. */
        const bool is_moved = i == 1 && plan->raster_steps > 0;
        const struct interval needed = is_moved ? rows_full(plan->shapes[1].height) : rows[i];
        rows[i - 1] =
            is_whole ? rows_full(in->height)
                     : rows_with_border(step->stage->rows(step->params, in, needed), in->height, plan->edge);
    }
}

struct interval plan_slice(const struct plan *plan, int index)
{
    const int begin = index * plan->slice_rows, left = plan_output(plan)->height - begin;
    return (struct interval){begin, begin + (left < plan->slice_rows ? left : plan->slice_rows)};
}

struct interval plan_input(const struct plan *plan, struct interval out)
{
    struct interval rows[MAX_CHAIN + 1] = {{0, 0}};
    plan_rows(plan, out, rows);
    return rows[0];
}

/* True if the step needs an analysis pass when the image is sliced. Groups are never sliced. */
static bool may_need_analysis(const struct plan *plan, size_t step)
{
    const struct step *at = &plan->chain->steps[step];
    const struct shape *in = &plan->shapes[step];
    const struct analysis *analysis = at->stage->analysis;
    return analysis && in->images == 1 && (!analysis->needed || analysis->needed(at->params, in));
}

bool plan_may_need_analysis(const struct plan *plan)
{
    for (size_t i = 0; i < plan->chain->count; i++)
        if (may_need_analysis(plan, i))
            return true;
    return false;
}

bool plan_needs_analysis(const struct plan *plan, size_t step)
{
    struct interval rows[MAX_CHAIN + 1] = {{0, 0}};
    if (!may_need_analysis(plan, step))
        return false;
    plan_rows(plan, plan_slice(plan, 0), rows);
    return plan->slices > 1 || rows[step + 1].end - rows[step + 1].begin < plan->shapes[step + 1].height;
}

void plan_analysis(const struct plan *plan, size_t step, struct chain *chain, struct plan *analysis)
{
    const int height = plan->shapes[step].height;
    const double scale = (double)height / plan_output(plan)->height;
    *chain = *plan->chain;
    chain->count = step;
    *analysis = *plan;
    analysis->chain = chain;
    analysis->analysis = &plan->chain->steps[step];
    analysis->opponent_out = false;
    /* A part of the pass has about as many rows as a slice of the page, in proportion to the heights. At most
     * a third of the part's input is halo, unless the slices have a large halo. */
    const struct step *at = analysis->analysis;
    const struct interval middle = {height / 2, height / 2 + 1},
                          needed = at->stage->analysis->rows(at->params, &plan->shapes[step], middle);
    const int least = plan_has_large_halo(plan) ? 1 : 2 * (needed.end - needed.begin - 1);
    const double part_rows = fmin(fmax(ceil(plan->slice_rows * scale), least), height);
    plan_set_slice(analysis, plan->slices > 1 ? (int)part_rows : height);
}

bool plan_has_large_halo(const struct plan *plan)
{
    return plan->analysis || chain_caps(plan->chain).large_halo;
}

bool plan_outgrows(const struct plan *plan, const struct interval *rows, int *most)
{
    const int count = rows[plan->raster_steps].end - rows[plan->raster_steps].begin;
    const bool outgrows = *most > 0 && count > plan->headroom * *most;
    *most = count > *most ? count : *most;
    return outgrows;
}

void plan_set_slice(struct plan *plan, int slice_rows)
{
    /* Rows that enter the stages. */
    int first = 0, most = 0; /* number in the first slice, and largest number in a slice */
    int previous_end = 0;    /* end of the range in the previous slice */
    plan->slice_rows = slice_rows;
    plan->slices = ceil_div(plan_output(plan)->height, slice_rows);
    plan->input_rows = plan->overlap_rows = plan->tallest = 0;
    for (int i = 0; i < plan->slices; i++) {
        struct interval rows[MAX_CHAIN + 1] = {{0, 0}};
        plan_rows(plan, plan_slice(plan, i), rows);
        for (size_t k = plan->raster_steps; k <= plan->chain->count; k++)
            if (rows[k].end - rows[k].begin > plan->tallest)
                plan->tallest = rows[k].end - rows[k].begin;
        const struct interval entering = rows[plan->raster_steps];
        const int count = entering.end - entering.begin, overlap = previous_end - entering.begin;
        first = i == 0 ? count : first;
        most = count > most ? count : most;
        /* Samples that are moved are read once, for all slices. */
        plan->input_rows = plan->raster_steps > 0 ? rows[0].end - rows[0].begin : most;
        if (plan->raster_steps == 0 && overlap > plan->overlap_rows)
            plan->overlap_rows = overlap;
        previous_end = entering.end;
    }
    plan->headroom = plan->slices > 1 && plan_has_large_halo(plan) ? 1.01 : (double)most / first;
}

/* Returns the map from positions in the step's output to positions in its input: the stage's own, or a
 * scaling by the ratio of the sizes. If the output has the input's size times a power of two, rounded up, as
 * after --scale, the scaling is by that power: the ratio of rounded sizes would shift the last pixels. */
static struct affine step_inverse_map(const struct step *step, const struct shape *in,
                                      const struct shape *out)
{
    const int largest_exponent = 30;
    if (step->stage->inverse_map)
        return step->stage->inverse_map(step->params, in);
    for (int n = 0; n <= largest_exponent; n = n > 0 ? -n : 1 - n) { /* 0, 1, -1, 2, ... */
        const double factor = ldexp(1, n);
        if (ceil(in->width * factor) == out->width && ceil(in->height * factor) == out->height)
            return affine_scaling(1 / factor, 1 / factor);
    }
    return affine_scaling((double)in->width / out->width, (double)in->height / out->height);
}

int chain_reduction(const struct chain *chain, const struct shape *shape)
{
    struct shape in = *shape, out;
    struct error ignored;
    for (size_t i = 0; i < chain->count; i++, in = out) {
        const struct step *step = &chain->steps[i];
        const struct stage_caps caps = step_caps(step);
        out = in;
        if ((!caps.returns_reduced && !caps.accepts_reduced) ||
            step->stage->shape(step->params, &in, &out, &ignored) != STATUS_OK)
            return 1;
        if (caps.returns_reduced)
            continue;
        const struct affine map = step_inverse_map(step, &in, &out);
        const double factor = fmin(map.xx, map.yy);
        return factor >= 16 ? 8 : factor >= 8 ? 4 : factor >= 4 ? 2 : 1;
    }
    return 1;
}

bool plan_only_moves(const struct plan *plan)
{
    for (size_t i = 0; i < plan->chain->count; i++) {
        const struct shape *in = &plan->shapes[i], *out = &plan->shapes[i + 1];
        if (!step_caps(&plan->chain->steps[i]).lossless_move ||
            (i > 0 && (int64_t)in->width * in->height != (int64_t)out->width * out->height))
            return false;
    }
    return true;
}

struct affine plan_inverse_map(const struct plan *plan)
{
    struct affine all = affine_scaling(1, 1);
    for (size_t i = 0; i < plan->chain->count; i++) {
        const struct step *step = &plan->chain->steps[i];
        if (step_caps(step).new_geometry)
            continue;
        const struct shape in = shape_full(&plan->shapes[i]), out = shape_full(&plan->shapes[i + 1]);
        const struct affine one = step_inverse_map(step, &in, &out);
        all = affine_then(&one, &all);
    }
    return all;
}

/* Returns the number of samples of an image. */
static double shape_samples(const struct shape *shape)
{
    return (double)shape->width * shape->height * shape->channels;
}

struct workload chain_workload(const struct chain *chain, const struct shape *shape, int sample_size,
                               double images)
{
    struct workload work = {0};
    struct shape in = *shape;
    for (size_t i = 0; i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        struct error ignored = {.text = ""};
        struct shape out = in;
        const double cost = step_caps(step).relative_cost;
        /* If a stage refuses the shape, assume no change: the file contains coefficients, or the job will
         * fail. */
        if (step->stage->in != in.kind ||
            (step->stage->shape && step->stage->shape(step->params, &in, &out, &ignored) != STATUS_OK))
            out = in;
        work.stage_samples += (cost > 0 ? cost : 1) * images * fmax(shape_samples(&in), shape_samples(&out));
        in = out;
    }
    work.file_samples = images * (shape_samples(shape) + shape_samples(&in));
    work.file_bytes = work.file_samples * sample_size;
    return work;
}

void plan_free(struct plan *plan)
{
    free(plan->shapes);
    plan->shapes = NULL;
}
