/* Operands: read on the host, copied to the device slice by slice.
 *
 * The copies are constants of the run, whose key is the operand's hash and the rows. So an operand that fits
 * into that cache is copied once, a larger one for each picture. */
#include "filters/operand.h"

#include "base/sums.h"
#include "image/colour/colour.h"
#include "image/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void operand_print(FILE *file, const void *params)
{
    fprintf(file, "fnv1a:%016llx", (unsigned long long)((const struct operand *)params)->hash);
}

enum status operand_check(void *params, struct error *error)
{
    const struct operand *operand = params;
    double number;
    if (operand->path[0] == '\0' || strcmp(operand->path, "-") == 0)
        return fail(error, STATUS_USAGE, "wants the name of a file");
    if (text_to_real(operand->path, &number) && access(operand->path, F_OK) != 0)
        return fail(error, STATUS_USAGE, "there is no such file; --levels BLACK,WHITE works with numbers");
    return STATUS_OK;
}

void operand_release(void *params)
{
    struct operand *operand = params;
    free(operand->values);
    operand->values = NULL;
}

enum status operand_shape(const void *params, const struct shape *in, struct shape *out, struct error *error)
{
    const struct operand *operand = params;
    out->may_have_missing = in->may_have_missing || operand->has_missing;
    if (in->width != operand->width || in->height != operand->height)
        return fail(error, STATUS_FAILED, "is %dx%d here, but %s is %dx%d; both must have the same size",
                    in->width, in->height, operand->path, operand->width, operand->height);
    if (in->linear && !operand->is_linear)
        return fail(error, STATUS_FAILED,
                    "was transformed in linear light, and %s is not decoded; add --linear", operand->path);
    if (operand->colours > 1 && operand->colours != in->channels - in->alpha)
        return fail(error, STATUS_FAILED,
                    in->channels == 4 ? "has a fourth channel that is not alpha, and %s is RGB"
                                      : "is gray, and %s has colours",
                    operand->path);
    return STATUS_OK;
}

/* Fills the planes from stored rows with values of the chain: light, if there is a `space`. `map` is the map
 * from upright to stored pixels. */
static void fill_values(struct operand *operand, const struct image_info *info, const unsigned char *stored,
                        const struct affine *map, const struct colour_space *space,
                        const struct settings *settings)
{
    const size_t channels = (size_t)info->channels;
    const double unit = sample_full_scale(info->type);
    const double low = settings->range.low / unit, span = (settings->range.high - settings->range.low) / unit;
    for (int y = 0; y < operand->height; y++)
        for (int x = 0; x < operand->width; x++) {
            const size_t column = (size_t)(map->xx * x + map->xy * y + map->x),
                         stored_row = (size_t)(map->yx * x + map->yy * y + map->y);
            double pixel[4];
            sample_values(info->type, stored, (stored_row * info->width + column) * channels, channels,
                          pixel);
            const double alpha = info->premultiplied ? pixel[channels - 1] : 1;
            for (int c = 0; info->premultiplied && c < operand->colours; c++)
                pixel[c] = alpha > 0 ? pixel[c] / alpha : 0;
            for (int c = 0; c < operand->colours; c++) {
                const size_t row = (size_t)c * (size_t)operand->height + (size_t)y;
                const double sample = settings->range.given ? (pixel[c] - low) / span : pixel[c];
                const float value = (float)(space ? colour_space_light(space, c, sample) : sample);
                operand->values[row * operand->pitch + (size_t)x] = value;
                operand->has_missing |= !isfinite(value);
            }
        }
}

struct stage_caps operand_caps(const void *params)
{
    const struct operand *operand = params;
    return (struct stage_caps){.file = operand->path,
                               .needs_upright = true,
                               .amplifies = true,
                               .new_values = true,
                               .relative_cost = 0.2};
}

enum status operand_read(void *params, const struct settings *settings, struct error *error)
{
    struct operand *operand = params;
    struct reader_options options = settings_reader_options(settings);
    options.page = 1;
    options.last_page = 0;
    struct reader *reader;
    if (settings->range.given && settings->range.automatic)
        return fail(error, STATUS_USAGE, "wants a range for both pictures: --range MIN,MAX instead of auto");
    if (reader_open(operand->path, &options, &reader, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct image_info *info = reader_info(reader);
    const bool needs_turn = !settings->stored_orientation && info->metadata.orientation > 1;
    const int orientation = needs_turn ? info->metadata.orientation : 1;
    const bool swaps_axes = orientation_swaps_axes(orientation);
    /* orientation_map counts from pixel corners, fill_values from pixel centres. */
    const struct affine corners = orientation_map(orientation, info->width, info->height);
    const struct affine map = affine_move_origin(&corners, -0.5);
    operand->width = (int)(swaps_axes ? info->height : info->width);
    operand->height = (int)(swaps_axes ? info->width : info->height);
    operand->colours = info->channels - info->alpha == 3 ? 3 : 1;
    operand->is_linear = settings->linear;
    operand->pitch = (size_t)ceil_div(operand->width, PITCH_UNIT) * PITCH_UNIT;
    const size_t rows = (size_t)operand->colours * (size_t)operand->height, count = rows * operand->pitch;
    const struct colour_space *space = NULL;
    unsigned char *stored = NULL;
    if (info->type == SAMPLE_COMPLEX || info->video.parts > 1 || reader_has_coefficients(reader)) {
        fail(error, STATUS_FAILED, "%s: is not a picture", operand->path);
        goto done;
    }
    if ((info->channels - info->alpha) % 2 == 0) {
        fail(error, STATUS_FAILED, "%s: has a %s channel that is not alpha", operand->path,
             info->channels == 2 ? "second" : "fourth");
        goto done;
    }
    stored = allocate(row_size(info) * info->height, operand->path, error);
    /* The space whose curves --linear inverts, unless samples are linear light already. */
    if (settings->linear &&
        colour_space_of_file(&info->metadata, info->channels - info->alpha, &space, error) != STATUS_OK)
        goto done;
    if (settings->linear && space == NULL && !sample_is_float(info->type))
        space = colour_space_builtin(operand->colours == 1 ? COLOUR_GRAY : COLOUR_SRGB);
    if (!stored || reader_read(reader, stored, row_size(info), info->height, error) != STATUS_OK)
        goto done;
    operand->values = allocate_zeroed(count, sizeof *operand->values, operand->path, error);
    if (operand->values) {
        fill_values(operand, info, stored, &map, space, settings);
        operand->hash = hash_bytes(HASH_START, operand->values, count * sizeof *operand->values);
    }
done:
    colour_space_release(space);
    free(stored);
    reader_close(reader);
    return operand->values ? STATUS_OK : STATUS_FAILED;
}

double operand_mean(const struct operand *operand, int colour)
{
    const size_t plane = (size_t)operand->height * operand->pitch;
    double sum = 0, count = 0;
    for (int y = 0; y < operand->height; y++)
        for (int x = 0; x < operand->width; x++) {
            const double value =
                (double)operand->values[(size_t)colour * plane + (size_t)y * operand->pitch + (size_t)x];
            sum += isfinite(value) ? value : 0;
            count += isfinite(value);
        }
    return count > 0 ? sum / count : 0;
}

enum status operand_combine(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct operand *operand = params;
    cl_mem memory = NULL;
    enum status status = run_output(run, out, error);
    /* Copy the rows of all colours to the device. */
    const struct interval rows = out->rows;
    const size_t size = (size_t)(rows.end - rows.begin) * operand->pitch, colours = (size_t)operand->colours;
    const uint64_t values_and_rows[] = {operand->hash, (uint64_t)rows.begin, (uint64_t)rows.end};
    const struct constant_key key = {"a second picture", values_and_rows, sizeof values_and_rows};
    if (status == STATUS_OK && !device_is_dry_run(run->device) &&
        !constants_find(&run->constants, &key, &memory)) {
        float *values = allocate(colours * size * sizeof *values, "a part of the second picture", error);
        for (size_t c = 0; values && c < colours; c++)
            memcpy(values + c * size,
                   operand->values + (c * (size_t)operand->height + (size_t)rows.begin) * operand->pitch,
                   size * sizeof *values);
        status =
            values ? constants_add(&run->constants, run->device, &key, values, colours * size, &memory, error)
                   : STATUS_FAILED;
        free(values);
    }
    if (status != STATUS_OK)
        return status;
    const struct planes *dst = &out->planes[0];
    const cl_int alpha = shape_alpha(&out->shape), pitch = (cl_int)operand->pitch,
                 plane = operand->colours > 1 ? (cl_int)size : 0, product = operand->multiplies;
    struct kernel_launch work = run_work(run, "point", "combine", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG_MEMORY(memory),
                  ARG(pitch), ARG(plane), ARG(product), ARG(alpha));
}
