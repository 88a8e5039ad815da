/* Shapes, intervals of rows, and the lookup of stages. */
#include "engine/stage.h"

#include "image/colour/colour.h"

#include <string.h>

struct shape shape_full(const struct shape *shape)
{
    struct shape full = *shape;
    full.reduced = (struct reduction){.factor = 0};
    if (shape->reduced.factor > 0) {
        full.width = shape->reduced.width;
        full.height = shape->reduced.height;
    }
    return full;
}

const struct colour_space *shape_space(const struct shape *shape)
{
    const struct colour_space *space = shape->space;
    const int colours = shape->channels - shape->alpha;
    if (space != NULL && space->channels == 3 && colours == 1)
        space = space->gray;
    if (space != NULL && space->channels == colours)
        return space;
    /* Floats without a space are linear light, unless --linear inverted curves: then these were sRGB's. */
    if (shape->is_float && !shape->linear)
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

struct interval interval_clip(struct interval interval, int size)
{
    const int last = size - 1, begin = interval.begin < 0 ? 0 : interval.begin > last ? last : interval.begin;
    const int end = interval.end > size ? size : interval.end;
    return (struct interval){begin, end > begin ? end : begin + 1};
}

struct interval interval_union(struct interval a, struct interval b)
{
    return (struct interval){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

struct interval interval_align(struct interval interval, int unit)
{
    return (struct interval){interval.begin / unit * unit, ceil_div(interval.end, unit) * unit};
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

const struct stage *stage_find_word(struct word name)
{
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        if (word_equals(name, (*stage)->name))
            return *stage;
    return NULL;
}

const struct stage *stage_find(const char *name)
{
    return stage_find_word((struct word){name, strlen(name)});
}

enum status adapt_nothing_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    (void)params;
    (void)chroma;
    (void)error;
    return STATUS_OK;
}
