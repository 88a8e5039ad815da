/* Computes a piece of an output again, in another way, and compares it bit by bit. kernels/exact.h
 * explains why both ways give the same bits.
 *
 * Exception: values that are not finite may spread differently, as one way multiplies them by a weight
 * of 0 that another way leaves out. So a difference that involves NaN or infinity only counts if all
 * inputs of its row are finite. */
#include "chain/coefficients.h"
#include "chain/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void piece_clear(struct piece *piece)
{
    for (size_t i = 0; i < piece->input_count; i++)
        input_page_free(&piece->inputs[i]);
    free(piece->inputs);
    samples_free(&piece->output);
    piece->inputs = NULL;
    piece->input_count = 0;
}

/* A piece, and the result of the second computation. */
struct recheck {
    struct verifier *verifier;
    const struct page *page; /* the page with the verifier's run and plan */
    const struct piece *piece;
    size_t row; /* values in a row of an image; of a pyramid, all */
    struct sample_array again;
};

/* True if all samples of the row are finite. */
static bool row_is_finite(const struct input_page *input, int row)
{
    const unsigned char *samples =
        input->samples + row_size(&input->info) * (size_t)(row - input->rows.begin);
    for (size_t i = 0; i < input_page_row(&input->info); i++)
        if (!isfinite(sample_value(input->info.type, samples, i)))
            return false;
    return true;
}

/* True if one of these rows of an image, or any row of a pyramid, has a sample that is not finite. */
static bool has_nonfinite(const struct piece *piece, struct rows rows)
{
    for (size_t k = 0; k < piece->input_count; k++) {
        const struct input_page *input = &piece->inputs[k];
        struct rows of = piece->input_count > 1 ? input->rows : rows;
        for (int y = of.begin; y < of.end; y++)
            if (y >= input->rows.begin && y < input->rows.end && !row_is_finite(input, y))
                return true;
    }
    return false;
}

/* True if an input of output row y is not finite, so that the row's non-finite values may differ. */
static bool is_unpredictable(const struct recheck *state, int y)
{
    const struct plan *plan = state->page->plan;
    struct rows rows[MAX_CHAIN + 1] = {{0, 0}}, out = state->piece->out;
    if (plan_output(plan)->kind == KIND_IMAGE)
        out = (struct rows){out.begin + y, out.begin + y + 1};
    plan_rows(plan, out, rows);
    return has_nonfinite(state->piece, rows[0]);
}

/* Returns the index of the first difference, or else the number of values. */
static size_t find_difference(const struct recheck *state)
{
    const struct sample_array *one = &state->piece->output, *other = &state->again;
    const size_t size = sample_size(one->type);
    size_t unsure = SIZE_MAX; /* last row that was found unpredictable */
    for (size_t i = 0; i < one->count; i++) {
        const double got = samples_value(one, i), again = samples_value(other, i);
        if (memcmp(one->bytes + i * size, other->bytes + i * size, size) == 0 || (isnan(got) && isnan(again)))
            continue;
        const bool finite = isfinite(got) && isfinite(again);
        if (!finite && unsure != i / state->row && is_unpredictable(state, (int)(i / state->row)))
            unsure = i / state->row;
        if (finite || unsure != i / state->row)
            return i;
    }
    return one->count;
}

/* Describes memory and kernel variant for a message. */
static const char *way_name(const struct run *run)
{
    bool is_cpu = run->device->class == DEVICE_CPU, images = run->memory == MEMORY_IMAGE;
    return images ? "images" : is_cpu ? "buffers, kernels for CPUs" : "buffers, kernels for GPUs";
}

/* Fails with the position of the difference: "row 3, column 4, channel 0", for a pyramid also the page. */
static enum status fail_difference(const struct recheck *state, const struct run *first, size_t position,
                                   struct error *error)
{
    const struct shape *shape = plan_output(state->page->plan);
    int width = shape->width, height = shape->height, index = 0;
    size_t at = position, channels = (size_t)shape->channels, parts = 1;
    char where[80] = "";
    for (; shape->kind == KIND_PYRAMID; index++) {
        char name[PAGE_NAME_SIZE];
        parts = index > 0 ? 2 : 1;
        coefficients_page(shape, index, &width, &height, name);
        snprintf(where, sizeof where, "%s, ", name);
        if (at < (size_t)width * (size_t)height * channels * parts)
            break;
        at -= (size_t)width * (size_t)height * channels * parts;
    }
    size_t row = (size_t)width * channels * parts;
    size_t y = at / row + (shape->kind == KIND_IMAGE ? (size_t)state->piece->out.begin : 0);
    double scale = sample_full_scale(state->piece->output.type);
    return fail(error, STATUS_FAILED,
                "--verify: %srow %zu, column %zu, channel %zu is %.9g (%s, %s), and %.9g when it is computed "
                "again (%s, %s); one of them is wrong: see climg --selftest",
                where, y, at % row / channels / parts, at / parts % channels,
                samples_value(&state->piece->output, position) * scale, first->device->name, way_name(first),
                samples_value(&state->again, position) * scale, state->verifier->device.name,
                way_name(&state->verifier->run));
}

enum status recheck(struct verifier *verifier, const struct page *page, const struct plan *plan,
                    const struct piece *piece, struct error *error)
{
    const struct shape *out = plan_output(plan);
    struct plan part = *plan;
    struct page again = *page;
    struct recheck state = {.verifier = verifier, .page = &again, .piece = piece};
    state.row = out->kind == KIND_IMAGE ? (size_t)out->width * (size_t)out->channels : piece->output.count;
    plan_set_part(&part, piece->out);
    again.run = &verifier->run;
    again.plan = &part;
    again.timing = &verifier->timing;
    again.to.counted = false;
    enum status status =
        run_in_memory("--verify", &again, piece->inputs, piece->input_count, &state.again, error);
    if (status == STATUS_OK && state.again.count != piece->output.count)
        status = fail(error, STATUS_FAILED, "--verify: other sizes came out");
    const size_t position = status == STATUS_OK ? find_difference(&state) : piece->output.count;
    if (position < piece->output.count)
        status = fail_difference(&state, page->run, position, error);
    samples_free(&state.again);
    return status;
}
