/* A level in one kernel: kernels/dtcwt_forward_grouped.cl and dtcwt_inverse_grouped.cl. */
#include "filters/dtcwt.h"
#include "filters/dtcwt_level.h"

/* Groups are rows of work-items, because the kernels' text says so. */

const struct tunable tunable_forward_1 = {.kernel = "forward_1",
                                          .wide_images = {4, {64, 1}},
                                          .grouped = {1, {128, 1}},
                                          .grouped_images = {4, {64, 1}}};
const struct tunable tunable_forward_2 = {.kernel = "forward_2",
                                          .wide_images = {2, {128, 1}},
                                          .grouped = {2, {128, 1}},
                                          .grouped_images = {2, {128, 1}}};
const struct tunable tunable_inverse_1 = {.kernel = "inverse_1",
                                          .wide_images = {4, {64, 1}},
                                          .grouped = {4, {128, 1}},
                                          .grouped_images = {4, {64, 1}}};
const struct tunable tunable_inverse_2 = {.kernel = "inverse_2",
                                          .wide_images = {2, {64, 1}},
                                          .grouped = {2, {128, 1}},
                                          .grouped_images = {2, {64, 1}}};

/* What a level's grid is made of. */
struct layout {
    int halo, items; /* items of a group that overlap with the next on either side; items that have work */
    int rows;        /* to be divided into groups' outputs */
    int item_rows;   /* of a group */
    size_t output;   /* bytes of local memory of an item's output */
};

static struct work level_work(const struct run *run, const struct bank *bank, const char *file,
                              const struct tunable *tunable, const struct layout *layout,
                              const struct planes *planes)
{
    struct work work = run_tuned(run, file, tunable, planes);
    work.depth = planes_layer_depth(planes);
    define(&work.defines, "TAPS", bank->taps);
    if (bank->qshift)
        define(&work.defines, "QSHIFT", 1);
    work.form.group[1] = layout->item_rows;
    if (work.form.group[0] > 1 &&
        (size_t)work.form.group[0] * (size_t)layout->item_rows > run->device->group_size)
        work.form.group[0] /= layout->item_rows;
    work_groups(run, layout->halo, layout->items, layout->rows, layout->output, &work);
    work.height *= layout->item_rows;
    return work;
}

enum status forward_grouped(struct run *run, const struct bank *bank, const struct analysis *level,
                            struct error *error)
{
    const struct planes *src = level->src, *lowpass = level->lowpass, *subbands = level->subbands;
    int pixel =
        run->memory == MEMORY_IMAGE ? 1 : GROUPED_LANES; /* samples along x whose columns an item has */
    int unit = pixel > 2 ? pixel : 2, samples = (bank->qshift ? 4 : 2) * subbands->width;
    int beside = bank->qshift ? bank->taps - 2 : divided(bank->taps / 2, unit) * unit;
    int padding = bank->qshift && pixel > 1 ? 1 : 0; /* PADDING_PIXELS in kernels/border_grouped.h */
    struct layout layout = {.halo = beside / pixel + padding,
                            .items = divided(samples, pixel),
                            .rows = lowpass->rows / 2,
                            .item_rows = 1,
                            .output = 16 * sizeof(float)};
    struct work work = level_work(run, bank, "dtcwt_forward_grouped",
                                  bank->qshift ? &tunable_forward_2 : &tunable_forward_1, &layout, lowpass);
    cl_int2 padded, length;
    dtcwt_padding(src->width, level->level, &padded.s[0], &length.s[0]);
    dtcwt_padding(src->height, level->level, &padded.s[1], &length.s[1]);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(lowpass), ARG_PLANES(subbands),
                  ARG_FLOATS(bank->weights, bank->count), ARG(padded), ARG(length));
}

enum status inverse_grouped(struct run *run, const struct bank *bank, const struct synthesis *level,
                            struct error *error)
{
    const struct planes *lowpass = level->lowpass, *subbands = level->subbands, *dst = level->dst;
    size_t single = run->memory == MEMORY_IMAGE ? 4 : 1; /* floats */
    int reach = bank->qshift ? bank->taps / 4 : (bank->taps / 2 + 1) / 2, rate = bank->qshift ? 4 : 2;
    struct rows rows = rows_aligned((struct rows){dst->first_row, dst->first_row + dst->rows}, rate);
    struct layout layout = {.halo = reach,
                            .items = subbands->width,
                            .rows = (rows.end - rows.begin) / rate,
                            .item_rows = run->memory == MEMORY_BUFFER ? 2 : 1, /* ITEM_ROWS in the kernel */
                            .output = 4 * (size_t)rate * single * sizeof(float)};
    struct work work = level_work(run, bank, "dtcwt_inverse_grouped",
                                  bank->qshift ? &tunable_inverse_2 : &tunable_inverse_1, &layout, dst);
    cl_int2 crop = {
        {(lowpass->width - 2 * subbands->width) / 2, (lowpass->height - 2 * subbands->height) / 2}};
    return LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(dst),
                  ARG_FLOATS(bank->weights, bank->count), ARG(crop));
}
