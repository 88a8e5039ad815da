/* The analysis pass of --denoise (wavelet/denoise.h): counts the fine levels slice by slice, and denoises the
 * coarse ones.
 *
 *     part of the rows ─▶ fine levels ─┬▶ counts
 *                                      └▶ lowpass ─▶ coarse levels ─▶ denoised lowpass, parents
 *
 * Without coarse levels only the counts are needed, with a known noise only the lowpass.
 *
 * Every row of a level is counted in one part of the image's rows (dtcwt_part_rows), so counts do not depend
 * on slices. */
#include "filters/missing.h"
#include "wavelet/denoise.h"

/* True if an analysis pass is needed: for the noise, for constant colours, or for coarse levels. */
static bool needs_analysis(const void *params, const struct shape *image)
{
    const struct denoise *denoise = params;
    return denoise_estimates(denoise) || shape_is_colour(image) ||
           denoise->levels > denoise_fine(denoise, image).levels;
}

static struct interval analysis_rows(const void *params, const struct shape *image, struct interval part)
{
    const struct denoise *denoise = params;
    struct shape fine = denoise_fine(denoise, image);
    return denoise_filled_rows(image, noise_part_rows(&fine, part, denoise_estimates(denoise)).image);
}

/* Allocates the counters and planes of the result, or sets the noise if it is known. */
static enum status analysis_begin(struct run *run, const void *params, const struct shape *image,
                                  struct analysis_result *result, struct error *error)
{
    const struct denoise *denoise = params;
    const struct shape pyramid = denoise_pyramid(denoise, image), fine = denoise_fine(denoise, image);
    int width = dtcwt_lowpass_size(image->width, fine.levels),
        height = dtcwt_lowpass_size(image->height, fine.levels);
    enum status status = STATUS_OK;
    const bool counts = !denoise_find_known_noise(run, denoise, image, &result->noise);
    if (counts)
        status = counters_create(run->device, noise_counters(&pyramid), &result->words, error);
    if (status == STATUS_OK && pyramid.levels > fine.levels)
        status = run_planes(run, width, height, rows_full(height), 1, shape_planes(image),
                            &result->planes[LOWPASS], error);
    if (status == STATUS_OK && counts && denoise_estimates(denoise) && pyramid.levels > fine.levels) {
        struct planes *cells = &result->planes[CELLS];
        *cells = (struct planes){.memory = MEMORY_BUFFER,
                                 .width = width / 2,
                                 .height = height / 2,
                                 .rows = height / 2,
                                 .layers = 1,
                                 .channels = 1};
        status = planes_acquire(&run->pool, cells, error);
    }
    return status;
}

/* Counts a part of the fine levels. */
static enum status count_part(struct run *run, const struct denoise *denoise, const struct value *image,
                              struct interval part, const struct value *noisy, struct analysis_result *result,
                              struct error *error)
{
    const struct shape pyramid = denoise_pyramid(denoise, &image->shape);
    const int levels = noisy->shape.levels;
    struct interval own[1 + MAX_LEVELS], rows[1 + MAX_LEVELS];
    struct planes finer = {.object = NULL};
    enum status status = STATUS_OK;
    /* The rows of live cells that each level needs: for counting, and as children of the coarser cells. */
    for (int level = levels; level >= 1; level--) {
        const int height = noisy->planes[level].height;
        own[level] = dtcwt_part_rows(part, image->shape.height, height);
        rows[level] = noise_live_rows(height, own[level]);
        if (level < levels)
            rows[level] = interval_union(
                rows[level],
                interval_clip((struct interval){2 * rows[level + 1].begin, 2 * rows[level + 1].end}, height));
    }
    for (int level = 1; status == STATUS_OK && level <= levels; level++) {
        struct planes cells = {.object = NULL};
        status = noise_live(run, image, &finer, level, rows[level], &cells, error);
        if (status == STATUS_OK && own[level].begin < own[level].end)
            status = noise_count(run, &pyramid, result->words, level, &noisy->planes[level], true, &cells,
                                 &image->planes[0], own[level], error);
        if (status == STATUS_OK && level == levels && result->planes[CELLS].width > 0 &&
            own[level].begin < own[level].end)
            status = noise_live(run, image, &finer, level, own[level], &result->planes[CELLS], error);
        planes_release(&run->pool, &finer);
        finer = cells;
    }
    planes_release(&run->pool, &finer);
    return status;
}

/* Counts a part of the rows, and copies its lowpass to the result. */
static enum status analysis_add(struct run *run, const void *params, const struct value *image,
                                struct interval part, struct analysis_result *result, struct error *error)
{
    const struct denoise *denoise = params;
    const struct shape *shape = &image->shape;
    const bool counts = denoise_needs_counts(run, denoise, shape),
               opponent = shape_is_colour(shape) && (counts || !result->noise.is_separate);
    struct value filled = *image, converted = *image,
                 noisy = {.shape = denoise_fine(denoise, shape), .rows = part};
    struct dtcwt_rows needed = noise_part_rows(&noisy.shape, part, denoise_estimates(denoise));
    bool has_missing = false;
    enum status status =
        missing_count(run, denoise, image, rows_full(shape->width), part, &has_missing, error);
    if (has_missing)
        result->numbers[0] = 1;
    if (status == STATUS_OK)
        status = denoise_prepare(run, image, has_missing, opponent, &filled, &converted, error);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, &converted, &needed, &noisy, error);
    if (status == STATUS_OK && counts)
        status = denoise_estimates(denoise)
                     ? count_part(run, denoise, &converted, part, &noisy, result, error)
                     : noise_count_constant(run, shape, result->words, &filled.planes[0], filled.opponent,
                                            part, error);
    struct interval own = dtcwt_part_rows(part, shape->height, noisy.planes[0].height);
    if (status == STATUS_OK && result->planes[LOWPASS].width > 0 && own.begin < own.end)
        status = tiles_copy(run, &noisy.planes[0], own, (struct columns){.count = noisy.planes[0].width},
                            &result->planes[LOWPASS], error);
    value_release(run, &noisy);
    value_release_except(run, &converted, &filled);
    value_release_except(run, &filled, image);
    return status;
}

/* Estimates the noise, and denoises the coarse levels. */
static enum status analysis_end(struct run *run, const void *params, const struct shape *image,
                                struct analysis_result *result, struct error *error)
{
    const struct denoise *denoise = params;
    const int fine = denoise_fine(denoise, image).levels;
    const struct value whole = {.shape = *image};
    struct value noisy = {.shape = denoise_pyramid(denoise, image), .rows = rows_full(image->height)};
    const struct shape *pyramid = &noisy.shape;
    const bool coarse = pyramid->levels > fine, counts = denoise_needs_counts(run, denoise, image);
    struct dtcwt_rows needed = denoise_needed_rows(pyramid, noisy.rows);
    struct noise noise;
    struct planes clean = {.object = NULL};
    enum status status = STATUS_OK;
    if (coarse)
        status = dtcwt_forward_from(run, fine, &result->planes[LOWPASS], &needed, &noisy, error);
    if (status == STATUS_OK && counts && coarse && denoise_estimates(denoise))
        status =
            denoise_count_levels(run, &whole, fine + 1, &noisy, &result->planes[CELLS], result->words, error);
    if (status == STATUS_OK && counts)
        status = denoise_find_noise(run, denoise, pyramid, result->words, &result->noise, error);
    if (status == STATUS_OK && coarse && counts && denoise_has_separate(pyramid, &result->noise, true))
        status = denoise_separate_coarse(run, &result->noise, fine, &noisy, error);
    if (status == STATUS_OK && coarse)
        status = noise_set(run, pyramid, &result->noise, denoise->strength, &noise, error);
    if (status == STATUS_OK && coarse)
        status = dtcwt_inverse_to(run, fine, &(struct subband_filter){shrink_subbands, &noise}, &noisy,
                                  &clean, error);
    /* Replace the noisy lowpass by the denoised one, and keep the parents. */
    if (status == STATUS_OK && coarse) {
        planes_release(&run->pool, &result->planes[LOWPASS]);
        run_scratch_keep(run, &clean);
        result->planes[LOWPASS] = clean;
        result->planes[PARENTS] = noisy.planes[fine + 1];
        noisy.planes[fine + 1] = (struct planes){.object = NULL};
    }
    value_release(run, &noisy);
    return status;
}

const struct analysis denoise_analysis = {needs_analysis, analysis_rows, analysis_begin, analysis_add,
                                          analysis_end};
