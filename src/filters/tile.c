#include "filters/tile.h"

#include <stdlib.h>
#include <string.h>

const int tile_groups[][2] = {{64, 1}, {128, 1}, {256, 1}, {0, 0}};

/* Samples along x that a column of a tile has. */
static int column_width(const struct run *run)
{
    return launch_lanes(run->device, run->memory, GRAIN_VECTOR);
}

/* The columns that the window of a column of outputs begins before it, and those that it covers beside one.
 */
static void find_span(const struct run *run, const struct filter *along_x, int outputs, struct tile *tile)
{
    int width = column_width(run), last = along_x->start + along_x->taps - 1;
    tile->span.before = divided(-along_x->start, width);
    tile->span.reach = tile->span.before + (last > 0 ? divided(last, width) : 0);
    if (tile->span.reach < 1)
        tile->span.reach = 1; /* kernels take the first column and the last one apart */
    /* Runs along x, too, have this many taps at least. */
    if (run->memory == MEMORY_IMAGE && tile->span.reach < outputs - 2)
        tile->span.reach = outputs - 2;
}

/* Beyond that, two passes are as fast, or faster. On an H100 in buffers, groups of 128: 65 taps 727 us at
 * once and 750 in two passes, 121 taps 1380 and 1283. */
static int longest_reach(const struct run *run, const struct form *form)
{
    int group = form->group[0] * form->group[1], most = 32;
    return run->memory == MEMORY_IMAGE || group / 2 < most ? group / 2 : most;
}

bool tile_suits(const struct run *run, const struct tunable *tunable, const struct filter *along_x)
{
    if (run_is_wide(run))
        return false;
    struct tile tile;
    struct form form = device_form(run->device, run->memory, tunable);
    find_span(run, along_x, form.outputs, &tile);
    return tile.span.reach <= longest_reach(run, &form);
}

/* Weights of `count` filters of `taps`, each with zeros before and behind it until there are `length`. */
static enum status pad_weights(struct run *run, const struct filter *filter, int count, int before,
                               int length, struct weights *weights, struct error *error)
{
    size_t taps = (size_t)filter->taps, all = (size_t)count * (size_t)length;
    float *padded = allocate_zeroed(all, sizeof *padded, "filter weights", error);
    if (!padded)
        return STATUS_FAILED;
    for (size_t i = 0; i < (size_t)count; i++)
        memcpy(padded + i * (size_t)length + before, filter->weights + i * taps, taps * sizeof *padded);
    enum status status = run_weights(run, padded, all, weights, error);
    free(padded);
    return status;
}

enum status tile_make(struct run *run, const char *file, const struct tunable *tunable, int count,
                      const struct filter *along_x, const struct filter *along_y, const struct planes *dst,
                      struct tile *tile, struct error *error)
{
    enum { PIXEL = 4 * sizeof(float) }; /* of local memory: four neighbours, or a texel */
    tile->work = run_tuned(run, file, tunable, dst);
    struct form *form = &tile->work.form;
    int group = form->group[0] * form->group[1], width = column_width(run);
    int outputs = run_fitting_outputs(run, form->outputs, (size_t)(count * (group + 1)) * PIXEL);
    find_span(run, along_x, outputs, tile);
    tile->window = filter_window(along_y);
    if (tile->window.taps < outputs - 1)
        tile->window.taps = outputs - 1;
    int across = group - tile->span.reach;
    if (run->memory == MEMORY_IMAGE)
        across -= across % outputs; /* runs */
    tile->work.width = divided(dst->width, across * width) * group * width;
    tile->work.height = divided(dst->rows, outputs);
    *form = (struct form){outputs, {group, 1}};
    define(&tile->work.defines, "GROUP", group);
    define(&tile->work.defines, "OUTPUTS", outputs);
    int before = tile->span.before * width + along_x->start, length = tile->span.reach * width + 1;
    if (pad_weights(run, along_x, count, before, length, &tile->weights_x, error) != STATUS_OK)
        return STATUS_FAILED;
    return pad_weights(run, along_y, count, 0, tile->window.taps, &tile->weights_y, error);
}
