/* Parses chains and resolves them for an input.
 *
 *     --wavelet --gain 1:2 --blur 1            written
 *     --wavelet --gain 1:2 --mosaic --blur 1   resolved for an image
 *
 * A resolved chain borrows the parameters of the written chain; it owns only the steps that were inserted. A
 * chain for chroma owns all its steps, as their parameters differ. */
#include "chain/chain.h"

#include "base/text.h"
#include "base/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = 256 }; /* bytes of the start of a message, "--NAME VALUE" */

/* Frees a step, also if its parameters were parsed only in part: the rest of them is zero. */
static void step_free(struct step *step)
{
    if (step->borrowed)
        return;
    if (step->params != NULL && step->stage->release != NULL)
        step->stage->release(step->params);
    free(step->params);
    free(step->text);
}

/* Parses the value of a step, adapts it to `chroma`, which may be NULL, and checks it. */
static enum status step_parse(struct step *step, const char *value, const struct chroma *chroma,
                              struct error *error)
{
    const struct stage *stage = step->stage;
    char label[LABEL_SIZE];
    snprintf(label, sizeof label, "--%s", stage->name);
    step->params = allocate_zeroed(1, stage->params_size, label, error);
    if (step->params == NULL)
        return STATUS_FAILED;
    enum status status = options_parse_value(stage->options, label, value, step->params, &step->text, error);
    if (status != STATUS_OK)
        return status;
    if (chroma != NULL)
        status = stage->adapt_to_chroma(step->params, chroma, error);
    if (status == STATUS_OK && stage->check != NULL)
        status = stage->check(step->params, error);
    if (status != STATUS_OK) {
        if (value != NULL)
            text_append(label, sizeof label, " %s", value);
        error_prefix(error, label);
    }
    return status;
}

/* Inserts a step at `index`. The chain owns it after success. */
static enum status insert_step(struct chain *chain, size_t index, struct step step, struct error *error)
{
    struct step *steps = realloc(chain->steps, (chain->count + 1) * sizeof *steps);
    if (steps == NULL)
        return fail_memory(error, "out of memory for the chain");
    memmove(steps + index + 1, steps + index, (chain->count - index) * sizeof *steps);
    steps[index] = step;
    chain->steps = steps;
    chain->count++;
    return STATUS_OK;
}

/* Inserts a stage with its value at `index`. */
static enum status insert_stage(struct chain *chain, size_t index, const struct stage *stage,
                                const char *value, const struct chroma *chroma, struct error *error)
{
    struct step step = {.stage = stage, .written = value};
    enum status status = step_parse(&step, value, chroma, error);
    if (status == STATUS_OK)
        status = insert_step(chain, index, step, error);
    if (status != STATUS_OK)
        step_free(&step);
    return status;
}

enum status chain_add(struct chain *chain, const struct stage *stage, const char *value, struct error *error)
{
    if (!stage->rows)
        return fail(error, STATUS_FAILED, "--%s does not say which rows it needs", stage->name);
    return insert_stage(chain, chain->count, stage, value, NULL, error);
}

enum kind chain_output(const struct chain *chain, enum kind input)
{
    return chain->count > 0 ? chain->steps[chain->count - 1].stage->out : input;
}

struct stage_caps step_caps(const struct step *step)
{
    return step->stage->caps ? step->stage->caps(step->params) : step->stage->fixed_caps;
}

size_t chain_find_merge(const struct chain *chain, size_t first)
{
    while (first < chain->count && !chain->steps[first].stage->merge)
        first++;
    return first;
}

struct stage_caps chain_caps(const struct chain *chain)
{
    struct stage_caps all = {.lossless_move = true};
    for (size_t i = 0; i < chain->count; i++) {
        const struct stage_caps caps = step_caps(&chain->steps[i]);
        all.new_geometry |= caps.new_geometry;
        all.new_values |= caps.new_values;
        all.amplifies |= caps.amplifies;
        all.needs_colour_space |= caps.needs_colour_space;
        all.needs_upright |= caps.needs_upright;
        all.large_halo |= caps.large_halo;
        all.lossless_move &= caps.lossless_move;
    }
    return all;
}

bool chain_has(const struct chain *chain, const char *stage)
{
    for (size_t i = 0; i < chain->count; i++)
        if (strcmp(chain->steps[i].stage->name, stage) == 0)
            return true;
    return false;
}

bool step_is_measured(const struct step *step)
{
    const struct measurement *measurement = step->stage->measurement;
    return measurement && (!measurement->needed || measurement->needed(step->params));
}

/* Fails, as the pyramid stage at `index` would get an image. The message names the earlier stage that turned
 * a pyramid into an image, or else advises to use --wavelet. */
static enum status reject_image(const struct chain *chain, size_t index, struct error *error)
{
    const char *name = chain->steps[index].stage->name, *image_stage = NULL;
    for (size_t i = 0; i < index; i++) {
        const struct step *step = &chain->steps[i];
        /* The user's own mosaic is borrowed. Another one was inserted because of the stage after it. */
        const size_t cause = step->borrowed ? i : i + 1;
        if (strcmp(step->stage->name, "mosaic") == 0)
            image_stage = chain->steps[cause].stage->name;
    }
    if (image_stage == NULL)
        return fail(error, STATUS_USAGE,
                    "--%s needs a wavelet transform: put --wavelet before it, or read the TIFF that "
                    "--wavelet wrote; a PNG or JPEG is only a picture of it",
                    name);
    return fail(error, STATUS_USAGE,
                "--%s works on a pyramid, and --%s before it made a picture of that; put --%s before --%s",
                name, image_stage, name, image_stage);
}

/* Inserts a mosaic before each image stage that would get a pyramid, and at the end unless `keep_pyramid`. */
static enum status insert_mosaics(struct chain *chain, enum kind input, bool keep_pyramid,
                                  struct error *error)
{
    enum kind kind = input;
    for (size_t i = 0; i < chain->count; i++) {
        const struct stage *stage = chain->steps[i].stage;
        if (kind == KIND_IMAGE && stage->in == KIND_PYRAMID)
            return reject_image(chain, i, error);
        if (kind == KIND_PYRAMID && stage->in == KIND_IMAGE) {
            enum status status = insert_stage(chain, i, stage_find("mosaic"), NULL, NULL, error);
            if (status != STATUS_OK)
                return status;
            stage = chain->steps[i].stage; /* the mosaic; the image stage comes next */
        }
        kind = stage->out;
    }
    if (kind == KIND_PYRAMID && !keep_pyramid)
        return insert_stage(chain, chain->count, stage_find("mosaic"), NULL, NULL, error);
    return STATUS_OK;
}

enum status chain_resolve(const struct chain *written, enum kind input, bool keep_pyramid,
                          struct chain *resolved, struct error *error)
{
    enum status status = STATUS_OK;
    *resolved = (struct chain){0};
    for (size_t i = 0; status == STATUS_OK && i < written->count; i++) {
        struct step step = written->steps[i];
        step.borrowed = true;
        status = insert_step(resolved, i, step, error);
    }
    if (status == STATUS_OK)
        status = insert_mosaics(resolved, input, keep_pyramid, error);
    if (status != STATUS_OK)
        chain_free(resolved);
    return status;
}

enum status chain_auto_orient(struct chain *chain, enum kind input, int *orientation, struct error *error)
{
    static const char *const values[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
    size_t index = 0;
    for (; input == KIND_PYRAMID && index < chain->count; index++)
        input = chain->steps[index].stage->out;
    if (input == KIND_IMAGE && (index == 0 || !step_caps(&chain->steps[index - 1]).new_geometry))
        return insert_stage(chain, index, &stage_auto_orient, values[*orientation], NULL, error);
    *orientation = 0;
    return STATUS_OK;
}

enum status chain_replace(struct chain *chain, size_t index, const struct stage *stage, const char *value,
                          struct error *error)
{
    struct step step = {.stage = stage};
    if (step_parse(&step, value, NULL, error) != STATUS_OK) {
        step_free(&step);
        return STATUS_FAILED;
    }
    step_free(&chain->steps[index]);
    chain->steps[index] = step;
    return STATUS_OK;
}

/* Prefixes the message with the stage's name if `status` is a failure. Returns `status`. */
static enum status prefix_stage(const struct step *step, enum status status, struct error *error)
{
    char label[LABEL_SIZE];
    snprintf(label, sizeof label, "--%s", step->stage->name);
    if (status != STATUS_OK)
        error_prefix(error, label);
    return status;
}

enum status chain_prepare(struct chain *chain, const struct settings *settings, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        if (step->stage->prepare == NULL)
            continue;
        const double since = clock_seconds();
        status = prefix_stage(step, step->stage->prepare(step->params, settings, error), error);
        chain->prepare_seconds += clock_seconds() - since;
    }
    return status;
}

enum status chain_prepare_series(struct chain *chain, const struct settings *settings,
                                 const struct input_series *series, struct error *error)
{
    enum status status = STATUS_OK;
    struct input_series inputs = series ? *series : (struct input_series){.count = 0};
    for (size_t i = 0; status == STATUS_OK && i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        if (step->stage->prepare_series != NULL) {
            const double since = clock_seconds();
            status = step->stage->prepare_series(step->params, settings, series ? &inputs : NULL, error);
            if (status != STATUS_OK && !error->has_name) /* else the message names an input */
                status = prefix_stage(step, status, error);
            chain->prepare_seconds += clock_seconds() - since;
        }
        /* --scale moves pixels, too, but has no map of its own (step_inverse_map in plan.c). */
        inputs.is_moved |= step->stage->inverse_map || step_is_measured(step) ||
                           step_caps(step).new_geometry || step->stage == stage_find("scale");
    }
    return status;
}

enum status chain_end_series(const struct chain *chain, const struct input_series *series,
                             struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        if (step->stage->end_series)
            status = prefix_stage(step, step->stage->end_series(step->params, series, error), error);
    }
    return status;
}

enum status chain_make_chroma(const struct chain *chain, const struct chroma *chroma,
                              const struct shape *shapes, const struct settings *settings,
                              struct chain *chroma_chain, struct error *error)
{
    enum status status = STATUS_OK;
    *chroma_chain = (struct chain){0};
    for (size_t i = 0; status == STATUS_OK && i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        struct chroma step_chroma = *chroma;
        step_chroma.luma_in = &shapes[i];
        step_chroma.luma_out = &shapes[i + 1];
        status =
            step->stage->adapt_to_chroma != NULL
                ? insert_stage(chroma_chain, i, step->stage, step->written, &step_chroma, error)
                : fail(error, STATUS_FAILED,
                       "--%s does not work on Y, Cb and Cr, as video has them; convert it to RGB first, as "
                       "with ffmpeg -f image2pipe -c:v ppm",
                       step->stage->name);
    }
    if (status == STATUS_OK)
        status = chain_prepare(chroma_chain, settings, error);
    if (status != STATUS_OK)
        chain_free(chroma_chain);
    return status;
}

void chain_free(struct chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        step_free(&chain->steps[i]);
    free(chain->steps);
    *chain = (struct chain){0};
}
