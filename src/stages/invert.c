/* Negative:
 *
 *     dst = 1 + min_sample - src
 *
 * where `min_sample` is the smallest sample on the chain's scale: 0, but -1 - 1/32767 for signed 16 bit, so
 * that -32768 and 32767 exchange. It is the point operation `linear` (kernels/point.cl) with factor -1; with
 * alpha the kernel multiplies the offset by alpha, as colour is premultiplied.
 *
 * This is the smallest stage, and the example of CONTRIBUTING.md. */
#include "engine/run.h"

static const struct option options[] = {{.type = OPTION_END}};

static const struct example examples[] = {
    {"climg samples/scene.png --invert negative.png", "the negative of a picture"},
    {NULL, NULL},
};

static enum status run_invert(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    (void)params;
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct planes *dst = &out->planes[0];
    const cl_float factor = -1, offset = 1 + shape_value(&in->shape, in->shape.min_sample);
    const cl_int alpha = shape_alpha(&out->shape);
    struct kernel_launch work = run_work(run, "point", "linear", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(factor),
                  ARG(offset), ARG(alpha));
}

const struct stage stage_invert = {
    .name = "invert",
    .brief = "negative: 1 - value",
    .manual = "Replaces every colour value v by 1 - v, full scale being 1. 8-bit samples s become 255 - s, "
              "and signed samples -1 - s, so that the least becomes the largest. Alpha is unchanged.",
    .examples = examples,
    .options = options,
    .rows = rows_same,
    .fixed_caps = {.groups = true, .new_values = true},
    .adapt_to_chroma = adapt_nothing_to_chroma,
    .run = run_invert,
};
