/* Shrinkage of a pyramid, in three ways.
 *
 * shrink_inverse shrinks a strip of a level when the inverse transform is about to read it, so that the
 * shrunk strip stays in the caches;
 * --denoise uses it. shrink_pyramid writes shrunk subbands, for --shrink; three colours are turned into
 * opponent colours level by level. Both call shrink_level, which has a form for CPUs (two passes with
 * energies between them) and one for GPUs. */
#include "wavelet/shrink.h"

#include "settings/option.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RADIUS = 2 }; /* of the neighbourhood whose strength counts: SIDE in kernels/shrink.h */

/* Groups are rows of work-items, because the kernel's text says so. */
static const struct kernel_configs tunable_shrink = {
    .kernel = "shrink", .cpu_images = {2, {64, 1}}, .gpu = {4, {64, 1}}, .gpu_images = {4, {128, 1}}};

enum status shrink_parse_sigma(const char *text, void *field, struct error *error)
{
    char *end;
    bool estimate = strcmp(text, "auto") == 0;
    double sigma = estimate ? NAN : strtod(text, &end);
    if (!estimate && (end == text || *end || !(sigma >= 0 && sigma <= 255)))
        return fail(error, STATUS_USAGE, "not a number from 0 to 255, nor auto");
    *(double *)field = sigma;
    return STATUS_OK;
}

void shrink_print_sigma(FILE *file, double sigma)
{
    if (isnan(sigma))
        fputs("auto", file);
    else
        print_real(file, sigma);
}

/* Rows of subbands, `height` of them, whose energies the rows `out` depend on. */
static struct rows neighbours(int height, struct rows out)
{
    return rows_clip((struct rows){out.begin - RADIUS, out.end + RADIUS}, height);
}

void shrink_rows(const struct shape *shape, struct dtcwt_rows *rows)
{
    for (int level = shape->levels; level >= 1; level--) {
        struct rows wanted = neighbours(dtcwt_lowpass_size(shape->height, level) / 2, rows->subbands[level]);
        if (level > 1) {
            struct rows children = rows_aligned(rows->subbands[level - 1], 2);
            wanted = rows_union(wanted, (struct rows){children.begin / 2, children.end / 2});
        }
        rows->subbands[level] = wanted;
    }
}

static enum status scratch_like(struct run *run, const struct planes *planes, struct rows rows, int layers,
                                struct planes *scratch, struct error *error)
{
    return run_scratch(run, planes->width, planes->height, rows, layers, planes->channels, scratch, error);
}

enum status opponent_colours(struct run *run, const struct shape *shape, float way,
                             const struct image_noise *images, bool separate, const struct planes *src,
                             const struct planes *dst, struct error *error)
{
    struct work work = run_work(run, "opponent", "opponent", dst);
    const cl_int channels = shape->channels, count = shape->images;
    float *ways = allocate((size_t)count * sizeof *ways, "colours", error);
    cl_mem memory;
    if (!ways)
        return STATUS_FAILED;
    for (int i = 0; i < count; i++)
        ways[i] = !images || images[i].is_separate == separate ? way : 0;
    enum status status = run_constants(run, ways, (size_t)count, &memory, error);
    free(ways);
    work.depth = dst->layers * count;
    return status == STATUS_OK ? LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst),
                                        ARG(channels), ARG(count), ARG_MEMORY(memory))
                               : status;
}

/* Shrinks one level into the rows of dst, in two passes: energies, then coefficients. `parents`: NULL on the
 * coarsest level. */
static enum status shrink_cpu(struct run *run, const struct noise *noise, int level,
                              const struct planes *subbands, const struct planes *parents,
                              const struct planes *dst, struct error *error)
{
    cl_int at = noise_at(noise, level), above = parents ? at + noise->above : -1;
    struct rows out = {dst->first_row, dst->first_row + dst->rows};
    struct planes energies;
    parents = parents ? parents : subbands;
    if (scratch_like(run, subbands, out, ORIENTATIONS, &energies, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "dtcwt_cpu", "shrink_energy", &energies);
    work.outlined = true;
    if (LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(&energies)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = "shrink";
    work.height = dst->rows;
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(parents), ARG_PLANES(&energies),
               ARG_PLANES(dst), ARG_MEMORY(noise->sigma), ARG(at), ARG(above));
    run_scratch_done(run, &energies);
    return status;
}

/* Shrinks one level in one kernel, which sums energies in local memory. */
static enum status shrink_gpu(struct run *run, const struct noise *noise, int level,
                              const struct planes *subbands, const struct planes *parents,
                              const struct planes *dst, struct error *error)
{
    bool images = run->memory == MEMORY_IMAGE;
    int pixel = images ? 1 : GPU_LANES, halo = images ? RADIUS : 1;
    int planes = planes_depth(dst) / 2; /* a subband has two layers */
    cl_int at = noise_at(noise, level), above = parents ? at + noise->above : -1;
    struct work work = run_configured(run, "shrink_gpu", &tunable_shrink, dst);
    parents = parents ? parents : subbands;
    work_groups(run, halo, (dst->width + pixel - 1) / pixel, dst->rows, 4 * sizeof(float), &work);
    int groups_of_rows = work.height;
    work.height = planes;
    work.depth = groups_of_rows;
    return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(parents), ARG_PLANES(dst),
                  ARG_MEMORY(noise->sigma), ARG(at), ARG(above));
}

static enum status shrink_level(struct run *run, const struct noise *noise, int level,
                                const struct planes *subbands, const struct planes *parents,
                                const struct planes *dst, struct error *error)
{
    return (run_is_cpu(run) ? shrink_cpu : shrink_gpu)(run, noise, level, subbands, parents, dst, error);
}

static enum status level_planes(struct run *run, const struct planes *like, struct rows rows,
                                struct planes *dst, struct error *error)
{
    return run_planes(run, like->width, like->height, rows, SUBBAND_LAYERS, like->channels, dst, error);
}

static enum status shrink_planes(struct run *run, const struct noise *noise, const struct value *in,
                                 struct value *out, struct error *error)
{
    int levels = in->shape.levels;
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(&in->shape, out->rows, &rows);
    for (int level = 1; level <= levels; level++) {
        const struct planes *subbands = &in->planes[level], *parents = level < levels ? subbands + 1 : NULL;
        struct planes *dst = &out->planes[level];
        if (level_planes(run, subbands, rows.subbands[level], dst, error) != STATUS_OK ||
            shrink_level(run, noise, level, subbands, parents, dst, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    out->planes[0] = in->planes[0];
    return STATUS_OK;
}

/* Shrinks the subband rows that a strip needs, and inverts the strip. */
static enum status shrink_strip(struct run *run, const struct noise *noise, const struct value *in, int level,
                                struct rows strip, const struct planes *lowpass, const struct planes *made,
                                struct error *error)
{
    const struct planes *noisy = &in->planes[level],
                        *parents = level < MAX_LEVELS && noisy[1].width > 0 ? noisy + 1 : NULL;
    struct rows wanted = dtcwt_subband_rows(&in->shape, level, strip);
    struct planes clean;
    enum status status = scratch_like(run, noisy, wanted, SUBBAND_LAYERS, &clean, error);
    if (status == STATUS_OK)
        status = shrink_level(run, noise, level, noisy, parents, &clean, error);
    if (status == STATUS_OK)
        status = dtcwt_inverse_strip(run, &in->shape, level, strip, lowpass, &clean, made, error);
    if (status == STATUS_OK)
        run_scratch_done(run, &clean);
    return status;
}

/* From the coarsest level to the lowpass of level `finest`; 0: to the image `out`. */
static enum status shrink_levels(struct run *run, const struct noise *noise, int finest,
                                 const struct value *in, struct planes *lowpass, const struct value *out,
                                 struct error *error)
{
    const struct shape *shape = &in->shape;
    struct dtcwt_rows rows;
    enum status status = STATUS_OK;
    dtcwt_inverse_rows(shape, out->rows, &rows);
    *lowpass = in->planes[0];
    for (int level = shape->levels; status == STATUS_OK && level > finest; level--) {
        struct rows strip = {0, 0};
        struct planes made;
        status = dtcwt_inverse_made(run, shape, &rows, level, out, &made, error);
        while (status == STATUS_OK && dtcwt_inverse_next(run, &made, &strip))
            status = shrink_strip(run, noise, in, level, strip, lowpass, &made, error);
        if (status == STATUS_OK && level < shape->levels)
            run_scratch_done(run, lowpass);
        *lowpass = made;
    }
    return status;
}

enum status shrink_inverse(struct run *run, const struct noise *noise, const struct value *in,
                           struct value *out, struct error *error)
{
    struct planes image;
    enum status status = run_output(run, out, error);
    return status == STATUS_OK ? shrink_levels(run, noise, 0, in, &image, out, error) : status;
}

enum status shrink_inverse_to(struct run *run, const struct noise *noise, int finest, const struct value *in,
                              struct planes *lowpass, struct error *error)
{
    const struct value all = {.rows = rows_full(in->shape.height)};
    return shrink_levels(run, noise, finest, in, lowpass, &all, error);
}

/* The subbands of a level in opponent colours, in scratch planes; images whose colours are separate stay. */
static enum status opponent_level(struct run *run, const struct value *in, int level,
                                  const struct image_noise *images, struct planes *changed,
                                  struct error *error)
{
    const struct planes *subbands = &in->planes[level];
    struct rows rows = {subbands->first_row, subbands->first_row + subbands->rows};
    if (scratch_like(run, subbands, rows, SUBBAND_LAYERS, changed, error) != STATUS_OK)
        return STATUS_FAILED;
    return opponent_colours(run, &in->shape, 1, images, false, subbands, changed, error);
}

/* Finds the noise of a pyramid that is not in opponent colours. */
static enum status shrink_find_noise(struct run *run, double sigma, const struct value *in,
                                     struct image_noise *images, struct error *error)
{
    const struct shape *shape = &in->shape;
    cl_mem words;
    if (!isnan(sigma)) {
        noise_white(shape, sigma, images);
        return STATUS_OK;
    }
    enum status status = run_counters(run, noise_words(shape), &words, error);
    for (int level = 1; status == STATUS_OK && level <= shape->levels; level++)
        status = noise_count(run, shape, words, level, &in->planes[level], false, NULL,
                             rows_full(in->planes[level].height), error);
    return status == STATUS_OK ? noise_find(run, shape, words, images, error) : status;
}

/* Shrinks the subbands of colour images. Two levels are in opponent colours at a time: children and parents.
 */
static enum status shrink_colours(struct run *run, const struct noise *noise,
                                  const struct image_noise *images, const struct value *in, struct value *out,
                                  struct error *error)
{
    int levels = in->shape.levels;
    struct planes noisy, parents, clean;
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(&in->shape, out->rows, &rows);
    if (opponent_level(run, in, 1, images, &noisy, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int level = 1; level <= levels; level++) {
        struct planes *dst = &out->planes[level];
        if ((level < levels && opponent_level(run, in, level + 1, images, &parents, error) != STATUS_OK) ||
            scratch_like(run, &noisy, rows.subbands[level], SUBBAND_LAYERS, &clean, error) != STATUS_OK ||
            shrink_level(run, noise, level, &noisy, level < levels ? &parents : NULL, &clean, error) !=
                STATUS_OK)
            return STATUS_FAILED;
        run_scratch_done(run, &noisy); /* whose memory may become dst's */
        if (level_planes(run, &clean, rows.subbands[level], dst, error) != STATUS_OK ||
            opponent_colours(run, &in->shape, -1, images, false, &clean, dst, error) != STATUS_OK)
            return STATUS_FAILED;
        run_scratch_done(run, &clean);
        noisy = parents;
    }
    out->planes[0] = in->planes[0];
    return STATUS_OK;
}

enum status shrink_pyramid(struct run *run, double sigma, const struct value *in, struct value *out,
                           struct error *error)
{
    struct noise noise;
    struct image_noise *images =
        allocate_zeroed((size_t)in->shape.images, sizeof *images, "the noise", error);
    enum status status = images ? shrink_find_noise(run, sigma, in, images, error) : STATUS_FAILED;
    if (status == STATUS_OK)
        status = noise_set(run, &in->shape, images, 1, &noise, error);
    if (status == STATUS_OK)
        status = shape_is_colour(&in->shape) ? shrink_colours(run, &noise, images, in, out, error)
                                             : shrink_planes(run, &noise, in, out, error);
    free(images);
    return status;
}
