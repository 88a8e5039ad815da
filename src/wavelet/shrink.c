/* Shrinks the coefficients of a pyramid.
 *
 *     --denoise   shrink_subbands   each strip of a level, before it is inverted
 *     --shrink    shrink_pyramid    each level: opponent colours ─▶ shrink ─▶ red, green, blue
 *
 * shrink_level shrinks some rows of a level, by one of two variants. On CPUs there are two kernels: the first
 * stores the sums of energies down the five rows of a column, the second one adds five columns and shrinks.
 * On GPUs one kernel has the sums in local memory. */
#include "wavelet/shrink.h"

#include "settings/option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Radius of the 5 x 5 neighbours whose energies are averaged (NEIGHBOURS in kernels/shrink.h). The paper has
 * 7 x 7. 5 x 5, together with parents that cover exactly their children, gains 0.09 dB on BSD68 at sigma 25.
 */
enum { RADIUS = 2 };

/* Work-groups are one row of work-items, as the kernel assumes. */
static const struct kernel_configs shrink_configs = {
    .kernel = "shrink", .cpu_images = {2, {64, 1}}, .gpu = {4, {64, 1}}, .gpu_images = {4, {128, 1}}};

enum status shrink_parse_sigma(const char *text, void *field, struct error *error)
{
    double sigma = NAN;
    if (strcmp(text, "auto") != 0 && (!text_to_real(text, &sigma) || !(sigma >= 0 && sigma <= 255)))
        return fail(error, STATUS_USAGE, "not a number from 0 to 255, nor auto");
    *(double *)field = sigma;
    return STATUS_OK;
}

void shrink_print_sigma(FILE *file, const void *field)
{
    const double sigma = *(const double *)field;
    if (isnan(sigma))
        fputs("auto", file);
    else
        print_real(file, sigma);
}

void shrink_add_halo(const struct shape *shape, struct dtcwt_rows *rows)
{
    for (int level = shape->levels; level >= 1; level--) {
        /* Add the halo of the neighbours, and the parents of the next finer level, whose rows have no halo
         * yet. */
        const struct interval own = rows->subbands[level];
        struct interval wanted =
            interval_clip(interval_widen(own, RADIUS), dtcwt_lowpass_size(shape->height, level) / 2);
        if (level > 1) {
            struct interval children = interval_align(rows->subbands[level - 1], 2);
            wanted = interval_union(wanted, (struct interval){children.begin / 2, children.end / 2});
        }
        rows->subbands[level] = wanted;
    }
}

enum status opponent_colours(struct run *run, const struct shape *shape, float direction,
                             const struct image_noise *images, bool separate, const struct planes *src,
                             const struct planes *dst, struct error *error)
{
    struct kernel_launch work = run_work(run, "opponent", "opponent", dst);
    const cl_int channels = shape->channels, count = shape->images;
    float *directions = allocate((size_t)count * sizeof *directions, "colours", error);
    cl_mem memory;
    if (!directions)
        return STATUS_FAILED;
    /* Direction 0 copies an image. */
    for (int i = 0; i < count; i++)
        directions[i] = !images || images[i].is_separate == separate ? direction : 0;
    enum status status = run_constants(run, directions, (size_t)count, &memory, error);
    free(directions);
    work.depth = dst->layers * count;
    return status == STATUS_OK ? LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst),
                                        ARG(channels), ARG(count), ARG_MEMORY(memory))
                               : status;
}

/* Shrinks the rows of a level that dst has. `parents` and `tones` may be NULL; the kernel then gets other
 * planes, which it does not read. */
static enum status shrink_level(struct run *run, const struct noise *noise, int level,
                                const struct planes *subbands, const struct planes *parents,
                                const struct planes *tones, const struct planes *dst, struct error *error)
{
    const cl_int noise_at = noise_level_offset(noise, level), has_parents = parents != NULL,
                 by_tone = tones != NULL;
    parents = parents ? parents : subbands;
    tones = tones ? tones : subbands;
    if (!run_is_cpu(run)) {
        const bool is_image = run->memory == MEMORY_IMAGE;
        /* Columns of a vec, and vecs on each side of a group that only supply neighbours. */
        const int vec_columns = is_image ? 1 : GPU_LANES, halo = is_image ? RADIUS : 1;
        struct kernel_launch work = run_configured(run, "shrink_gpu", &shrink_configs, dst);
        work_groups(run, halo, ceil_div(dst->width, vec_columns), dst->rows, 4 * sizeof(float), &work);
        work.depth = work.height;            /* groups of rows */
        work.height = planes_depth(dst) / 2; /* a subband has two layers */
        return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(parents), ARG_PLANES(dst),
                      ARG_MEMORY(noise->levels), ARG(noise_at), ARG(noise->pitch), ARG(has_parents),
                      ARG(noise->channels), ARG_PLANES(tones), ARG(by_tone));
    }
    struct planes energies;
    if (run_scratch(run, subbands->width, subbands->height, planes_rows(dst), ORIENTATIONS,
                    subbands->channels, &energies, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "dtcwt_cpu", "shrink_energy", &energies);
    work.calls_noinline = true;
    enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(&energies));
    work.kernel = "shrink";
    if (status == STATUS_OK)
        status = LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(parents),
                        ARG_PLANES(&energies), ARG_PLANES(dst), ARG_MEMORY(noise->levels), ARG(noise_at),
                        ARG(noise->pitch), ARG(has_parents), ARG(noise->channels), ARG_PLANES(tones),
                        ARG(by_tone));
    run_scratch_release(run, &energies);
    return status;
}

/* Allocates subband planes for `rows` of a level. */
static enum status level_planes(struct run *run, const struct planes *like, struct interval rows,
                                struct planes *dst, struct error *error)
{
    return run_planes(run, like->width, like->height, rows, SUBBAND_LAYERS, like->channels, dst, error);
}

enum status shrink_subbands(struct run *run, const void *context, const struct value *in, int level,
                            struct interval rows, const struct planes *lowpass, struct planes *clean,
                            struct error *error)
{
    const struct noise *noise = context;
    const struct planes *noisy = &in->planes[level],
                        *parents = level < MAX_LEVELS && noisy[1].width > 0 ? noisy + 1 : NULL;
    const bool by_tone = noise->by_tone != 0;
    struct planes
        tones; /* the factors by which brightness changes the noise, for each image (kernels/tones.h) */
    enum status status = run_scratch_like(run, noisy, rows, clean, error);
    if (status == STATUS_OK && by_tone)
        status = run_scratch(run, noisy->width, noisy->height, rows, 1, lowpass->channels / noise->channels,
                             &tones, error);
    if (status == STATUS_OK && by_tone) {
        /* White in the lowpass: sqrt(3) in opponent colours, times the DC gain of the levels, 2 for each
         * after the first. `scale` converts the sum of 2 x 2 lowpass samples to brightness, 0 to 1. */
        const double white = 1.7320508075688772 * (1 << (level - 1));
        const cl_float scale = (cl_float)(0.25 / white);
        struct kernel_launch work =
            run_work(run, run_is_cpu(run) ? "dtcwt_cpu" : "shrink_gpu", "shrink_tones", &tones);
        work.calls_noinline = run_is_cpu(run);
        status = LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(&tones), ARG(scale),
                        ARG(noise->channels), ARG_MEMORY(noise->tones));
    }
    if (status == STATUS_OK)
        status = shrink_level(run, noise, level, noisy, parents, by_tone ? &tones : NULL, clean, error);
    if (status == STATUS_OK && by_tone)
        run_scratch_release(run, &tones);
    return status;
}

/* Converts the subbands of a level to opponent colours, in scratch planes *converted. Copies images whose
 * colours are separate. */
static enum status opponent_level(struct run *run, const struct value *in, int level,
                                  const struct image_noise *images, struct planes *converted,
                                  struct error *error)
{
    const struct planes *subbands = &in->planes[level];
    if (run_scratch_like(run, subbands, planes_rows(subbands), converted, error) != STATUS_OK)
        return STATUS_FAILED;
    return opponent_colours(run, &in->shape, 1, images, false, subbands, converted, error);
}

/* Shrinks all levels: colour images in opponent colours, others plane by plane. Only two converted levels are
 * in memory at a time, children and parents, and not a second pyramid. */
static enum status shrink_levels(struct run *run, const struct noise *noise, const struct image_noise *images,
                                 const struct value *in, struct value *out, struct error *error)
{
    const bool is_colour = shape_is_colour(&in->shape);
    const int levels = in->shape.levels;
    struct planes noisy = in->planes[1], parents = noisy, converted = {.object = NULL};
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(&in->shape, out->rows, &rows);
    if (is_colour && opponent_level(run, in, 1, images, &noisy, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int level = 1; level <= levels; level++) {
        const struct interval own = rows.subbands[level];
        struct planes *dst = &out->planes[level], *clean = is_colour ? &converted : dst;
        if (level < levels)
            parents = in->planes[level + 1];
        if (is_colour && level < levels &&
            opponent_level(run, in, level + 1, images, &parents, error) != STATUS_OK)
            return STATUS_FAILED;
        if ((is_colour ? run_scratch_like(run, &noisy, own, clean, error)
                       : level_planes(run, &noisy, own, clean, error)) != STATUS_OK ||
            shrink_level(run, noise, level, &noisy, level < levels ? &parents : NULL, NULL, clean, error) !=
                STATUS_OK)
            return STATUS_FAILED;
        if (is_colour) {
            run_scratch_release(run, &noisy); /* before dst is allocated, which may use its memory */
            if (level_planes(run, clean, own, dst, error) != STATUS_OK ||
                opponent_colours(run, &in->shape, -1, images, false, clean, dst, error) != STATUS_OK)
                return STATUS_FAILED;
            run_scratch_release(run, clean);
        }
        noisy = parents;
    }
    out->planes[0] = in->planes[0];
    return STATUS_OK;
}

enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *out,
                           struct error *error)
{
    struct noise noise;
    cl_mem counters;
    struct image_noise *images =
        allocate_zeroed((size_t)in->shape.images, sizeof *images, "the noise", error);
    enum status status = images ? STATUS_OK : STATUS_FAILED;
    if (images && !isnan(sigma)) {
        noise_white(&in->shape, sigma, images);
    } else if (images) {
        /* There is no image in which clipped and constant pixels could be found, so all coefficients
         * that are not 0 count. */
        status = run_counters(run, noise_counters(&in->shape), &counters, error);
        for (int level = 1; status == STATUS_OK && level <= in->shape.levels; level++)
            status = noise_count(run, &in->shape, counters, level, &in->planes[level], false, NULL, NULL,
                                 rows_full(in->planes[level].height), error);
        if (status == STATUS_OK)
            status = noise_find(run, &in->shape, counters, images, error);
    }
    if (status == STATUS_OK)
        status = noise_set(run, &in->shape, images, 1, &noise, error);
    if (status == STATUS_OK)
        status = shrink_levels(run, &noise, images, in, out, error);
    free(images);
    return status;
}
