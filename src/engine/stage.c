/* Shapes, row ranges and the lookup of stages. */
#include "engine/stage.h"

#include "image/colour/colour.h"

#include <string.h>

struct shape shape_full(const struct shape *shape)
{
    struct shape full = *shape;
    full.reduced = (struct reduction){.by = 0};
    if (shape->reduced.by > 0) {
        full.width = shape->reduced.width;
        full.height = shape->reduced.height;
    }
    return full;
}

int shape_planes(const struct shape *shape)
{
    return shape->channels * shape->images;
}

bool shape_is_colour(const struct shape *shape)
{
    return shape->channels - shape->alpha == 3;
}

int shape_alpha(const struct shape *shape)
{
    return shape->alpha ? shape->channels - 1 : -1;
}

const struct colour_space *shape_space(const struct shape *shape)
{
    const struct colour_space *space = shape->space;
    const int colours = shape->channels - shape->alpha;
    if (space != NULL && space->channels == 3 && colours == 1)
        space = space->gray;
    if (space != NULL && space->channels == colours)
        return space;
    /* Floats without a space are linear light. With --linear the curves were undone, so the space is the one
     * before: sRGB. */
    if (shape->floats && !shape->linear)
        return colour_space_builtin(colours == 1 ? COLOUR_LINEAR_GRAY : COLOUR_LINEAR);
    return colour_space_builtin(colours == 1 ? COLOUR_GRAY : COLOUR_SRGB);
}

/* Same formula as samples.cl. With zero == 0 also the same rounding, so a parameter compares equal to the
 * pixels of its value. */
float shape_value(const struct shape *shape, double number)
{
    if (shape->zero == 0)
        return (float)number * (1 / (float)shape->full);
    return (float)((number - shape->zero) / (shape->full - shape->zero));
}

struct interval interval_clip(struct interval rows, int height)
{
    int begin = rows.begin < 0 ? 0 : rows.begin, end = rows.end > height ? height : rows.end;

    /* A range beyond the border has become empty: use the row at the border. */
    begin = begin > height - 1 ? height - 1 : begin;
    end = end < 1 ? 1 : end;
    return (struct interval){begin, end > begin ? end : begin + 1};
}

struct interval rows_full(int height)
{
    return (struct interval){0, height};
}

struct interval interval_union(struct interval a, struct interval b)
{
    return (struct interval){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

struct interval interval_align(struct interval rows, int unit)
{
    return (struct interval){rows.begin / unit * unit, (rows.end + unit - 1) / unit * unit};
}

struct interval rows_same(const void *params, const struct shape *in, struct interval out)
{
    (void)params;
    (void)in;
    return out;
}

struct interval rows_all(const void *params, const struct shape *in, struct interval out)
{
    (void)params;
    (void)out;
    return rows_full(in->height);
}

const struct stage *stage_find(const char *name)
{
    for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
        if (strcmp((*stage)->name, name) == 0)
            return *stage;
    }
    return NULL;
}

struct stage_caps stage_get_caps(const struct stage *stage, const void *params)
{
    return stage->caps ? stage->caps(params) : stage->fixed_caps;
}

enum status adapt_nothing_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    (void)params;
    (void)chroma;
    (void)error;
    return STATUS_OK;
}
