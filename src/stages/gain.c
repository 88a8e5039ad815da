/* Multiplies levels of a pyramid by factors: subbands of level n by factors[n], the lowpass by factors[0].
 *
 *     check           "1:1.5,low:0" -> factors: 1.5 for level 1, 0 for the lowpass, else 1
 *     run, by level   factor 1: `in` and `out` share the planes
 *                     other factors: the point operation `linear` (kernels/point.cl), to new planes
 *
 * Alpha is copied. A factor other than 1 for a missing level is an error, as it would have no effect. Real
 * and imaginary parts are multiplied alike, so phases, and thus the positions of edges, do not change. */
#include "base/text.h"
#include "engine/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gain {
    const char *text;              /* as typed, for messages */
    float factors[1 + MAX_LEVELS]; /* [0]: the lowpass, [n]: level n; 1 leaves it unchanged */
};

static const struct option options[] = {
    {.type = OPTION_TEXT,
     .offset = offsetof(struct gain, text),
     .value = "LEVEL:FACTOR[,...]",
     .help = "what to multiply: level 1 is the finest, low the lowpass"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --wavelet --gain 1:1.5,2:1.2 --inverse-wavelet crisp.png",
     "strengthen fine detail"},
    {"climg samples/scene.png --wavelet=5 --gain low:0,1:0 --inverse-wavelet --convolve 1,bias=0.5 "
     "middle.png",
     "only the middle scales, around gray"},
    {NULL, NULL},
};

/* Parses one pair, "1:1.5" or "low:0", and modifies its text. Sets seen[level], to detect repetitions. */
static enum status gain_parse_pair(struct gain *gain, char *pair, bool *seen, struct error *error)
{
    char *text = pair;
    const char *name = strsep(&text, ":");
    long long level = 0;
    double factor;
    if (!text ||
        (strcmp(name, "low") != 0 && (!text_to_integer(name, &level) || level < 1 || level > MAX_LEVELS)))
        return fail(error, STATUS_USAGE,
                    "'%s%s%s': expected LEVEL:FACTOR, as in 1:1.5 or low:0, with levels from 1 to %d", name,
                    text ? ":" : "", text ? text : "", MAX_LEVELS);
    if (!text_to_real(text, &factor) || fabs(factor) > 1e6)
        return fail(error, STATUS_USAGE, "'%s' is not a number from -1e6 to 1e6", text);
    if (seen[level])
        return fail(error, STATUS_USAGE, "level %s is there twice", name);
    seen[level] = true;
    gain->factors[level] = (float)factor;
    return STATUS_OK;
}

/* Parses the list. The option parser leaves the commas of a TEXT option to the stage. */
static enum status gain_check(void *params, struct error *error)
{
    struct gain *gain = params;
    bool seen[1 + MAX_LEVELS] = {false};
    char *rest = copy_text(gain->text, error), *list = rest;
    enum status status = list ? STATUS_OK : STATUS_FAILED;
    for (int i = 0; i <= MAX_LEVELS; i++)
        gain->factors[i] = 1;
    while (status == STATUS_OK && rest)
        status = gain_parse_pair(gain, strsep(&rest, ","), seen, error);
    free(list);
    return status;
}

/* Fails if a factor is for a level that the pyramid does not have. */
static enum status gain_shape(const void *params, const struct shape *in, struct shape *out,
                              struct error *error)
{
    const struct gain *gain = params;
    (void)out;
    for (int level = in->levels + 1; level <= MAX_LEVELS; level++)
        if (gain->factors[level] != 1)
            return fail(error, STATUS_FAILED, "--gain %s: level %d is missing; the pyramid has %d levels",
                        gain->text, level, in->levels);
    return STATUS_OK;
}

static enum status run_gain(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct gain *gain = params;
    const cl_float offset = 0;
    const cl_int alpha = shape_alpha(&in->shape);
    for (int i = 0; i <= in->shape.levels; i++) {
        const struct planes *src = &in->planes[i];
        struct planes *dst = &out->planes[i];
        const cl_float factor = gain->factors[i];
        if (factor == 1) {
            *dst = *src;
            continue;
        }
        if (run_planes(run, src->width, src->height, planes_rows(src), src->layers, src->channels, dst,
                       error) != STATUS_OK)
            return STATUS_FAILED;
        struct kernel_launch work = run_work(run, "point", "linear", src);
        if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(factor), ARG(offset),
                   ARG(alpha)) != STATUS_OK)
            return STATUS_FAILED;
    }
    return STATUS_OK;
}

/* A factor for the lowpass changes the mean, so values have another meaning (new_values). Any factor, also 0,
 * may cause overshoot at edges (amplifies). */
static struct stage_caps gain_caps(const void *params)
{
    return (struct stage_caps){
        .groups = true, .amplifies = true, .new_values = ((const struct gain *)params)->factors[0] != 1};
}

const struct stage stage_gain = {
    .name = "gain",
    .brief = "multiply levels of a pyramid",
    .manual = "Multiplies all subbands of a level, or the lowpass, by a factor: above 1 strengthens the "
              "detail of that size (level 1 about two pixels, level 2 four, and so on), below 1 weakens it, "
              "0 removes it. Other levels, and alpha, are unchanged.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct gain),
    .in = KIND_PYRAMID,
    .out = KIND_PYRAMID,
    .check = gain_check,
    .shape = gain_shape,
    .rows = rows_same,
    .caps = gain_caps,
    .run = run_gain,
};
