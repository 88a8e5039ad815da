/* A level in one kernel: kernels/dtcwt_forward_grouped.cl and dtcwt_inverse_grouped.cl. */
#include "device/tuning.h"
#include "filters/dtcwt.h"
#include "filters/dtcwt_level.h"

/* The kernels' groups are rows of work-items. */
static const int groups[][2] = {{64, 1}, {128, 1}, {256, 1}, {0, 0}};

const struct tunable tunable_forward_1 = {.kernel = "forward_1",
                                          .wide_images = {4, {64, 1}},
                                          .grouped = {1, {128, 1}},
                                          .grouped_images = {4, {64, 1}},
                                          .groups = groups};
const struct tunable tunable_forward_2 = {.kernel = "forward_2",
                                          .wide_images = {2, {128, 1}},
                                          .grouped = {2, {128, 1}},
                                          .grouped_images = {2, {128, 1}},
                                          .groups = groups};
const struct tunable tunable_inverse_1 = {.kernel = "inverse_1",
                                          .wide_images = {4, {64, 1}},
                                          .grouped = {4, {128, 1}},
                                          .grouped_images = {4, {64, 1}},
                                          .groups = groups};
const struct tunable tunable_inverse_2 = {.kernel = "inverse_2",
                                          .wide_images = {2, {64, 1}},
                                          .grouped = {2, {128, 1}},
                                          .grouped_images = {2, {64, 1}},
                                          .groups = groups};

static int divided(int n, int by)
{
    return (n + by - 1) / by;
}

/* The launch of a kernel whose group keeps so many bytes of local memory for each item and output: a grid of
 * groups over `items` along x, which overlap by `halo` of their items on both sides, and over `rows` that are
 * divided into outputs. */
static struct work level_work(const struct run *run, const struct bank *bank, const char *file,
                              const struct tunable *tunable, size_t bytes, int halo, int items, int rows,
                              const struct planes *planes)
{
    enum { SPARE = 1024 }; /* for tables of rows */
    struct work work = run_tuned(run, file, tunable, planes);
    int lanes = launch_lanes(run->device, run->memory, work.grain); /* the launch divides by them */
    int *outputs = &work.form.outputs, group = work.form.group[0];
    while (*outputs > 1 && (size_t)(group * *outputs) * bytes + SPARE > run->device->local_memory)
        *outputs /= 2;
    define(&work.defines, "TAPS", bank->taps);
    if (bank->qshift)
        define(&work.defines, "QSHIFT", 1);
    define(&work.defines, "OUTPUTS", *outputs);
    define(&work.defines, "GROUP", group);
    work.width = divided(items, group - 2 * halo) * group * lanes;
    work.height = divided(rows, *outputs);
    work.depth = planes_layer_depth(planes);
    return work;
}

enum status forward_grouped(struct run *run, const struct bank *bank, const struct analysis *level,
                            struct error *error)
{
    const struct planes *src = level->src, *lowpass = level->lowpass, *subbands = level->subbands;
    int pixel =
        run->memory == MEMORY_IMAGE ? 1 : GROUPED_LANES; /* samples along x that an item has columns of */
    int unit = pixel > 2 ? pixel : 2, samples = (bank->qshift ? 4 : 2) * subbands->width;
    int halo = (bank->qshift ? bank->taps - 2 : divided(bank->taps / 2, unit) * unit) / pixel;
    struct work work =
        level_work(run, bank, "dtcwt_forward_grouped", bank->qshift ? &tunable_forward_2 : &tunable_forward_1,
                   16 * sizeof(float), halo, divided(samples, pixel), lowpass->rows / 2, lowpass);
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
    int texel = run->memory == MEMORY_IMAGE ? 4 : 1, rate = bank->qshift ? 4 : 2;
    int reach = bank->qshift ? bank->taps / 4 : (bank->taps / 2 + 1) / 2;
    struct rows rows = rows_aligned((struct rows){dst->first_row, dst->first_row + dst->rows}, rate);
    struct work work =
        level_work(run, bank, "dtcwt_inverse_grouped", bank->qshift ? &tunable_inverse_2 : &tunable_inverse_1,
                   (size_t)(4 * rate * texel) * sizeof(float), reach, subbands->width,
                   (rows.end - rows.begin) / rate, dst);
    cl_int2 crop = {
        {(lowpass->width - 2 * subbands->width) / 2, (lowpass->height - 2 * subbands->height) / 2}};
    return LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(dst),
                  ARG_FLOATS(bank->weights, bank->count), ARG(crop));
}
