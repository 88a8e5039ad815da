/* The stage --denoise: puts transform, noise estimate and shrinkage together.
 *
 *     whole image    denoise_run ─▶ denoise_tile ─▶ denoise_planes ─▶ denoise_at_once
 *     slices         analysis_begin, analysis_add …, analysis_end
 *                    denoise_run ─▶ denoise_tile … ─▶ denoise_planes ─▶ denoise_slice
 *
 * On CPUs a slice is processed in tiles, as its memory would else grow with the width. 31623 x 3000 pixels
 * take 0.52 GB instead of 1.13.
 *
 * Three colours are in opponent colours while the noise is unknown. If it turns out that they must be
 * separate, the fine levels are transformed again from red, green and blue, and the coarse levels, which are
 * small, are converted. Whole images and slices do the same, so their bits are equal.
 *
 * Missing values (NaN, infinities) are replaced by the mean of their neighbours at the start and restored at
 * the end. */
#include "wavelet/denoise.h"

#include "filters/missing.h"
#include "wavelet/cosines.h"

#include <math.h>
#include <stdlib.h>

/* Number of levels that slices transform, and the size of pictures with one more. The lowpass of three levels
 * takes 0.75 bytes a pixel of a colour picture, and three times that while the coarse levels are computed. A
 * fourth fine level takes a quarter of the memory, but has twice the halo. */
enum { FINE_LEVELS = 3, MANY_PIXELS = 128 << 20 };

/* Planes of the analysis result: the lowpass of the last fine level (noisy until the analysis ends), the
 * noisy subbands of the next level, and the live cells (wavelet/noise.h) of the last fine level. */
enum { LOWPASS, PARENTS, CELLS };

static bool estimates_noise(const struct denoise *denoise)
{
    return isnan(denoise->sigma);
}

/* Returns the shape of an image's pyramid, with the default filters of --wavelet. It is padded at the end, so
 * that a parent covers its children exactly: 0.04 dB on BSD68 at sigma 25. */
static struct shape pyramid_shape(const struct denoise *denoise, const struct shape *image)
{
    struct shape pyramid = *image;
    pyramid.kind = KIND_PYRAMID;
    pyramid.levels = denoise->levels;
    pyramid.biort = 0;
    pyramid.qshift = 0;
    pyramid.at_end = true;
    return pyramid;
}

/* Returns the shape of the pyramid of the fine levels. */
static struct shape fine_shape(const struct denoise *denoise, const struct shape *image)
{
    struct shape pyramid = pyramid_shape(denoise, image);
    int most = (long long)image->width * image->height > MANY_PIXELS ? FINE_LEVELS + 1 : FINE_LEVELS;
    pyramid.levels = pyramid.levels < most ? pyramid.levels : most;
    return pyramid;
}

/* Returns the rows of all levels and of the image that denoising rows `out` needs. */
static struct dtcwt_rows needed_rows(const struct shape *pyramid, struct rows out)
{
    struct dtcwt_rows needed = {.image = {0, 0}};
    dtcwt_inverse_rows(pyramid, out, &needed);
    shrink_rows(pyramid, &needed);
    dtcwt_forward_rows(pyramid, &needed);
    return needed;
}

static struct rows wider(struct rows rows, int by)
{
    return (struct rows){rows.begin - by, rows.end + by};
}

struct rows denoise_rows(const void *params, const struct shape *image, struct rows out)
{
    const struct denoise *denoise = params;
    struct shape fine = fine_shape(denoise, image);
    struct rows first = denoise->high ? cosines_rows(image->height, out) : out;
    const int radius = image->floats ? MISSING_RADIUS : 0;
    return image->images > 1 ? rows_full(image->height) : wider(needed_rows(&fine, first).image, radius);
}

/* Returns the columns that a tile's columns `out` need: as many as rows of the transposed image. */
static struct rows denoise_columns(const void *params, const struct shape *image, struct rows out)
{
    struct shape transposed = *image;
    transposed.width = image->height;
    transposed.height = image->width;
    return denoise_rows(params, &transposed, out);
}

/* True if something must be counted: energies, if the noise is estimated and not known from an earlier frame
 * of the video; or constant colours, if the noise is given. */
static bool needs_counts(const struct run *run, const struct denoise *denoise, const struct shape *image)
{
    const struct held_noise *held = run_held_noise(run, denoise);
    return estimates_noise(denoise) ? !held || held->is_old : shape_is_colour(image);
}

/* Computes the noise of images from the counts. A frame of a video without an estimate, such as a black one,
 * keeps the noise of the frames before it. */
static enum status estimate_noise(struct run *run, const struct denoise *denoise, const struct shape *pyramid,
                                  cl_mem counters, struct image_noise *images, struct error *error)
{
    const struct held_noise *held = run_held_noise(run, denoise);
    if (!estimates_noise(denoise))
        return noise_find_constant(run, pyramid, counters, pyramid->width, pyramid->height,
                                   denoise->sigma / 255, images, error);
    if (noise_find(run, pyramid, counters, images, error) != STATUS_OK)
        return STATUS_FAILED;
    if (held && !images->is_found)
        *images = held->noise;
    else
        run_hold_noise(run, denoise, images);
    return STATUS_OK;
}

/* Copies the noise that is known before the image is transformed: given, found by the analysis pass, or of an
 * earlier frame. Returns false if it must be estimated. */
static bool copy_known_noise(struct run *run, const struct denoise *denoise, const struct shape *image,
                             struct image_noise *images)
{
    const struct shape pyramid = pyramid_shape(denoise, image);
    const struct analysis_result *result = run_analysis_result(run, denoise);
    if (result)
        *images = result->noise;
    else if (needs_counts(run, denoise, image))
        return false;
    else if (estimates_noise(denoise))
        *images = run_held_noise(run, denoise)->noise;
    else
        noise_white(&pyramid, denoise->sigma / 255, images);
    return true;
}

/* Allocates the planes of `out` and converts `in` to or from opponent colours (opponent_colours). */
static enum status convert_colours(struct run *run, float direction, const struct image_noise *images,
                                   bool separate, const struct value *in, struct value *out,
                                   struct error *error)
{
    enum status status = run_output(run, out, error);
    if (status == STATUS_OK)
        status = opponent_colours(run, &in->shape, direction, images, separate, &in->planes[0],
                                  &out->planes[0], error);
    return status;
}

/* Counts the energies of whole levels, from level `first` on. `cells` are the live cells of the finer level,
 * which are released. If `first` is 1, `cells` is zeroed, and level 1's come from the image. */
static enum status count_levels(struct run *run, const struct value *image, int first,
                                const struct value *pyramid, struct planes *cells, cl_mem counters,
                                struct error *error)
{
    enum status status = STATUS_OK;
    for (int level = first; status == STATUS_OK && level <= pyramid->shape.levels && level <= NOISE_LEVELS;
         level++) {
        const struct planes *subbands = &pyramid->planes[level];
        const struct rows all = rows_full(subbands->height);
        struct planes coarser = {.object = NULL};
        status = noise_live(run, image, cells, level, all, &coarser, error);
        if (status == STATUS_OK)
            status = noise_count(run, &pyramid->shape, counters, level, subbands, true, &coarser,
                                 level == 1 ? &image->planes[0] : NULL, all, error);
        planes_release(&run->pool, cells);
        *cells = coarser;
    }
    planes_release(&run->pool, cells);
    return status;
}

/* True if an image in colour has is_separate == `separate`. */
static bool has_separate(const struct shape *shape, const struct image_noise *images, bool separate)
{
    for (int i = 0; i < shape->images; i++)
        if (shape_is_colour(shape) && images[i].is_separate == separate)
            return true;
    return false;
}

/* Converts the levels after level `fine`, and the lowpass, to red, green and blue, for images whose colours
 * are separate. */
static enum status separate_coarse(struct run *run, const struct image_noise *images, int fine,
                                   struct value *pyramid, struct error *error)
{
    enum status status = STATUS_OK;
    for (int level = 0; status == STATUS_OK && level <= pyramid->shape.levels; level++) {
        struct planes *planes = &pyramid->planes[level], changed;
        if (level > 0 && level <= fine)
            continue;
        const struct rows rows = {planes->first_row, planes->first_row + planes->rows};
        status = run_planes(run, planes->width, planes->height, rows, planes->layers, planes->channels,
                            &changed, error);
        if (status == STATUS_OK)
            status = opponent_colours(run, &pyramid->shape, -1, images, true, planes, &changed, error);
        planes_release(&run->pool, planes);
        *planes = changed;
    }
    return status;
}

/* Replaces the pyramid of an image whose colours turned out to be separate: the fine levels are transformed
 * again, the coarse ones converted, as slices do it. Converting the fine levels, too, would round
 * differently. */
static enum status separate_pyramid(struct run *run, const struct denoise *denoise,
                                    const struct image_noise *images, const struct value *image,
                                    const struct rows *out, struct value *pyramid, struct error *error)
{
    const int levels = pyramid->shape.levels;
    struct value changed = {.shape = image->shape, .rows = image->rows};
    struct value fine = {.shape = fine_shape(denoise, &image->shape), .rows = *out};
    struct dtcwt_rows needed = needed_rows(&fine.shape, rows_full(image->shape.height));
    /* Transform the fine levels of red, green and blue. */
    enum status status = convert_colours(run, -1, images, true, image, &changed, error);
    for (int level = 1; level <= fine.shape.levels; level++)
        planes_release(&run->pool, &pyramid->planes[level]);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, &changed, &needed, &fine, error);
    planes_release(&run->pool, &changed.planes[0]);
    /* Move them into the pyramid; their lowpass, too, if it has no coarse levels. */
    for (int level = 1; level <= fine.shape.levels; level++) {
        pyramid->planes[level] = fine.planes[level];
        fine.planes[level] = (struct planes){.object = NULL};
    }
    if (status == STATUS_OK && levels > fine.shape.levels)
        status = separate_coarse(run, images, fine.shape.levels, pyramid, error);
    else if (status == STATUS_OK) {
        planes_release(&run->pool, &pyramid->planes[0]);
        pyramid->planes[0] = fine.planes[0];
        fine.planes[0] = (struct planes){.object = NULL};
    }
    value_release(run, &fine);
    return status;
}

/* Denoises a whole image. Unless the noise is `known`, it is estimated from the image's pyramid. */
static enum status denoise_at_once(struct run *run, const struct denoise *denoise, bool known,
                                   const struct value *image, struct image_noise *images, struct noise *noise,
                                   struct value *out, struct error *error)
{
    struct value noisy = {.shape = pyramid_shape(denoise, &image->shape), .rows = out->rows};
    struct dtcwt_rows needed = needed_rows(&noisy.shape, known ? out->rows : rows_full(image->shape.height));
    struct planes cells = {.object = NULL};
    cl_mem counters;
    enum status status = dtcwt_forward(run, image, &needed, &noisy, error);
    /* Count, and estimate the noise from the counts. */
    if (status == STATUS_OK && !known)
        status = run_counters(run, noise_counters(&noisy.shape), &counters, error);
    if (status == STATUS_OK && !known)
        status = estimates_noise(denoise)
                     ? count_levels(run, image, 1, &noisy, &cells, counters, error)
                     : noise_count_constant(run, &image->shape, counters, &image->planes[0], image->opponent,
                                            rows_full(image->shape.height), error);
    if (status == STATUS_OK && !known)
        status = estimate_noise(run, denoise, &noisy.shape, counters, images, error);
    if (status == STATUS_OK && !known && has_separate(&noisy.shape, images, true))
        status = separate_pyramid(run, denoise, images, image, &out->rows, &noisy, error);
    /* Shrink and invert. */
    if (status == STATUS_OK)
        status = noise_set(run, &noisy.shape, images, denoise->strength, noise, error);
    if (status == STATUS_OK)
        status = shrink_inverse(run, noise, &noisy, out, error);
    value_release(run, &noisy);
    return status;
}

/* ---------------------------------------------------------------- slices */

/* Copies a tile's part of the coarse levels from the analysis result: the denoised lowpass over the tile's
 * noisy one, and the parents of its last level. */
static enum status copy_coarse(struct run *run, const struct analysis_result *result, const struct tile *tile,
                               struct value *noisy, struct error *error)
{
    const int fine = noisy->shape.levels;
    const struct planes *lowpass = &noisy->planes[0], *last = &noisy->planes[fine];
    struct planes *parents = &noisy->planes[fine + 1];
    const struct rows rows = {lowpass->first_row, lowpass->first_row + lowpass->rows},
                      above = {last->first_row / 2, (last->first_row + last->rows + 1) / 2};
    const struct shape *shape = &noisy->shape;
    const int width = dtcwt_lowpass_size(shape->width, fine + 1) / 2;
    const struct columns some = {.from = tile->held.begin >> (fine - 1), .count = lowpass->width},
                         of_parents = {.from = tile->held.begin >> (fine + 1), .count = width};
    enum status status = run_planes(run, width, result->planes[PARENTS].height, above, SUBBAND_LAYERS,
                                    shape_planes(shape), parents, error);
    if (status == STATUS_OK)
        status = tiles_copy(run, &result->planes[PARENTS], above, of_parents, parents, error);
    return status == STATUS_OK ? tiles_copy(run, &result->planes[LOWPASS], rows, some, lowpass, error)
                               : status;
}

/* Denoises a tile of a slice, after the analysis pass. */
static enum status denoise_slice(struct run *run, const struct denoise *denoise,
                                 const struct analysis_result *result, const struct tile *tile,
                                 const struct value *image, struct noise *noise, struct value *out,
                                 struct error *error)
{
    const struct shape pyramid = pyramid_shape(denoise, &image->shape);
    struct value noisy = {.shape = pyramid, .rows = out->rows};
    noisy.shape.levels = fine_shape(denoise, tile->image).levels;
    struct dtcwt_rows needed = needed_rows(&noisy.shape, out->rows);
    enum status status = noise_set(run, &pyramid, &result->noise, denoise->strength, noise, error);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, image, &needed, &noisy, error);
    if (status == STATUS_OK && pyramid.levels > noisy.shape.levels)
        status = copy_coarse(run, result, tile, &noisy, error);
    if (status == STATUS_OK)
        status = shrink_inverse(run, noise, &noisy, out, error);
    value_release(run, &noisy);
    return status;
}

/* Denoises planes in opponent colours, or in red, green and blue if these are known to be separate. With
 * quality=high the result becomes the pilot of a second step. */
static enum status denoise_planes(struct run *run, const struct denoise *denoise, bool known,
                                  const struct tile *tile, const struct value *image,
                                  struct image_noise *images, struct value *out, struct error *error)
{
    const struct analysis_result *result = run_analysis_result(run, denoise);
    struct value pilot = {.shape = out->shape, .rows = out->rows};
    struct value noisy = {.shape = image->shape, .rows = image->rows};
    struct noise noise;
    if (denoise->high)
        pilot.rows = cosines_rows(out->shape.height, out->rows);
    struct value *first = denoise->high ? &pilot : out;
    enum status status = result ? denoise_slice(run, denoise, result, tile, image, &noise, first, error)
                                : denoise_at_once(run, denoise, known, image, images, &noise, first, error);
    /* If the colours turned out to be separate, the second step needs them so, too. */
    if (status == STATUS_OK && denoise->high && !known && has_separate(&image->shape, images, true)) {
        status = convert_colours(run, -1, images, true, image, &noisy, error);
        image = &noisy;
    }
    if (status == STATUS_OK && denoise->high)
        status = cosines_refine(run, &noise, image, &pilot, out, error);
    planes_release(&run->pool, &pilot.planes[0]);
    planes_release(&run->pool, &noisy.planes[0]);
    return status;
}

/* Replaces missing values. The analysis pass found whether there are any; without one they are counted here.
 * `filled` becomes the image itself, or if *are_missing a copy, which the caller releases. */
static enum status fill_missing(struct run *run, const struct denoise *denoise, const struct tile *tile,
                                const struct value *image, struct rows rows, struct value *filled,
                                bool *are_missing, struct error *error)
{
    const struct analysis_result *result = run_analysis_result(run, denoise);
    const struct rows columns = {tile->own.begin - tile->held.begin, tile->own.end - tile->held.begin};
    *are_missing = result && result->numbers[0] > 0;
    if (!result && missing_count(run, denoise, image, columns, rows, are_missing, error) != STATUS_OK)
        return STATUS_FAILED;
    *filled = *image;
    return *are_missing ? missing_fill(run, image, MISSING_RADIUS, filled, error) : STATUS_OK;
}

/* Denoises a tile (tiling.run). A colour picture is in opponent colours if image->opponent is true, and the
 * result must be if out->opponent is. */
static enum status denoise_tile(struct run *run, const void *params, const struct tile *tile,
                                const struct value *image, struct value *out, struct error *error)
{
    const struct denoise *denoise = params;
    const struct shape *shape = &image->shape;
    struct image_noise *images = allocate_zeroed((size_t)shape->images, sizeof *images, "the noise", error);
    struct value filled, clean = {.shape = out->shape, .rows = out->rows};
    bool are_missing = false;
    if (!images ||
        fill_missing(run, denoise, tile, image, out->rows, &filled, &are_missing, error) != STATUS_OK) {
        free(images);
        return STATUS_FAILED;
    }
    /* Convert to the colours in which the noise is known, or opponent colours while it is unknown. */
    const bool known = copy_known_noise(run, denoise, shape, images),
               opponent = shape_is_colour(shape) && !(known && images->is_separate),
               changes = shape_is_colour(shape) && opponent != image->opponent;
    struct value noisy = filled;
    noisy.opponent = opponent;
    enum status status =
        changes ? convert_colours(run, opponent ? 1 : -1, NULL, false, &filled, &noisy, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = denoise_planes(run, denoise, known, tile, &noisy, images, &clean, error);
    if (changes)
        planes_release(&run->pool, &noisy.planes[0]);
    if (are_missing)
        planes_release(&run->pool, &filled.planes[0]);
    /* Convert to the colours of the output, if an image of the group is in others. */
    if (status == STATUS_OK && has_separate(shape, images, out->opponent)) {
        status = convert_colours(run, out->opponent ? 1 : -1, images, out->opponent, &clean, out, error);
        planes_release(&run->pool, &clean.planes[0]);
    } else {
        out->planes[0] = clean.planes[0];
    }
    if (status == STATUS_OK && are_missing)
        status = missing_restore(run, image, out, error);
    free(images);
    return status;
}

/* True if an analysis pass is needed: for the noise, for constant colours, or for coarse levels. */
static bool needs_analysis(const void *params, const struct shape *image)
{
    const struct denoise *denoise = params;
    return estimates_noise(denoise) || shape_is_colour(image) ||
           denoise->levels > fine_shape(denoise, image).levels;
}

enum status denoise_run(struct run *run, const void *params, const struct value *in, struct value *out,
                        struct error *error)
{
    const struct tiling tiling = {params, denoise_columns, denoise_tile};
    const bool at_once = needs_analysis(params, &in->shape) && !run_analysis_result(run, params);
    return tiles_run(run, &tiling, at_once, in, out, error);
}

/* ---------------------------------------------------------------- the analysis pass */

/* Returns the rows of a level of `height` rows that belong to a part of the image's rows. Each row belongs to
 * exactly one part. `image` is the image's number of rows. */
static struct rows own_rows(struct rows part, int image, int height)
{
    return (struct rows){(int)((long long)part.begin * height / image),
                         (int)((long long)part.end * height / image)};
}

/* Returns the rows of the fine levels that a part of the analysis needs. Without an estimate only the lowpass
 * is needed; subbands then have one row, as planes cannot be empty. */
static struct dtcwt_rows fine_rows(const struct denoise *denoise, const struct shape *fine, struct rows part)
{
    struct dtcwt_rows needed = {.image = {0, 0}};
    int size = 0;
    for (int level = 1; level <= fine->levels; level++) {
        size = dtcwt_lowpass_size(fine->height, level);
        struct rows own = own_rows(part, fine->height, size / 2);
        needed.subbands[level] = estimates_noise(denoise)
                                     ? noise_neighbours(size / 2, own)
                                     : rows_clip((struct rows){own.begin, own.begin + 1}, size / 2);
    }
    needed.lowpass[fine->levels] = rows_aligned(own_rows(part, fine->height, size), 2);
    needed.places = estimates_noise(denoise) ? NOISE_PLACES : 0;
    dtcwt_forward_rows(fine, &needed);
    return needed;
}

static struct rows analysis_rows(const void *params, const struct shape *image, struct rows part)
{
    const struct denoise *denoise = params;
    struct shape fine = fine_shape(denoise, image);
    return wider(fine_rows(denoise, &fine, part).image, image->floats ? MISSING_RADIUS : 0);
}

/* Allocates the counters and planes of the result, or sets the noise if it is known. */
static enum status analysis_begin(struct run *run, const void *params, const struct shape *image,
                                  struct analysis_result *result, struct error *error)
{
    const struct denoise *denoise = params;
    const struct shape pyramid = pyramid_shape(denoise, image), fine = fine_shape(denoise, image);
    int width = dtcwt_lowpass_size(image->width, fine.levels),
        height = dtcwt_lowpass_size(image->height, fine.levels);
    enum status status = STATUS_OK;
    if (needs_counts(run, denoise, image))
        status = counters_create(run->device, noise_counters(&pyramid), &result->words, error);
    else if (estimates_noise(denoise))
        result->noise = run_held_noise(run, denoise)->noise;
    else
        noise_white(&pyramid, denoise->sigma / 255, &result->noise);
    if (status == STATUS_OK && pyramid.levels > fine.levels)
        status = run_planes(run, width, height, rows_full(height), 1, shape_planes(image),
                            &result->planes[LOWPASS], error);
    if (status == STATUS_OK && needs_counts(run, denoise, image) && estimates_noise(denoise) &&
        pyramid.levels > fine.levels) {
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
                              struct rows part, const struct value *noisy, struct analysis_result *result,
                              struct error *error)
{
    const struct shape pyramid = pyramid_shape(denoise, &image->shape);
    const int most = noisy->shape.levels;
    struct rows own[1 + MAX_LEVELS], rows[1 + MAX_LEVELS];
    struct planes finer = {.object = NULL};
    enum status status = STATUS_OK;
    /* The rows of live cells of each level: those that counting it needs, and the children of the coarser
     * ones. */
    for (int level = most; level >= 1; level--) {
        const int height = noisy->planes[level].height;
        own[level] = own_rows(part, image->shape.height, height);
        rows[level] = noise_live_rows(height, own[level]);
        if (level < most)
            rows[level] = rows_union(
                rows[level],
                rows_clip((struct rows){2 * rows[level + 1].begin, 2 * rows[level + 1].end}, height));
    }
    for (int level = 1; status == STATUS_OK && level <= most; level++) {
        struct planes cells = {.object = NULL};
        status = noise_live(run, image, &finer, level, rows[level], &cells, error);
        if (status == STATUS_OK && own[level].begin < own[level].end)
            status = noise_count(run, &pyramid, result->words, level, &noisy->planes[level], true, &cells,
                                 &image->planes[0], own[level], error);
        if (status == STATUS_OK && level == most && result->planes[CELLS].width > 0 &&
            own[level].begin < own[level].end)
            status = noise_live(run, image, &finer, level, own[level], &result->planes[CELLS], error);
        planes_release(&run->pool, &finer);
        finer = cells;
    }
    planes_release(&run->pool, &finer);
    return status;
}

/* Analyses a part of the rows: counts it, and copies its lowpass to the result. */
static enum status analysis_add(struct run *run, const void *params, const struct value *image,
                                struct rows part, struct analysis_result *result, struct error *error)
{
    const struct denoise *denoise = params;
    const struct shape *shape = &image->shape;
    const bool counts = needs_counts(run, denoise, shape), colour = shape_is_colour(shape),
               opponent = colour && (counts || !result->noise.is_separate),
               changes = colour && opponent != image->opponent;
    struct value filled = {.shape = *shape}, changed,
                 noisy = {.shape = fine_shape(denoise, shape), .rows = part};
    struct dtcwt_rows needed = fine_rows(denoise, &noisy.shape, part);
    bool are_missing;
    if (missing_count(run, denoise, image, rows_full(shape->width), part, &are_missing, error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = STATUS_OK;
    if (are_missing) {
        result->numbers[0] = 1;
        status = missing_fill(run, image, MISSING_RADIUS, &filled, error);
        image = &filled;
    }
    changed = *image;
    changed.opponent = opponent;
    if (status == STATUS_OK && changes)
        status = convert_colours(run, opponent ? 1 : -1, NULL, false, image, &changed, error);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, &changed, &needed, &noisy, error);
    if (status == STATUS_OK && counts)
        status = estimates_noise(denoise) ? count_part(run, denoise, &changed, part, &noisy, result, error)
                                          : noise_count_constant(run, shape, result->words, &image->planes[0],
                                                                 image->opponent, part, error);
    struct rows own = own_rows(part, shape->height, noisy.planes[0].height);
    if (status == STATUS_OK && result->planes[LOWPASS].width > 0 && own.begin < own.end)
        status = tiles_copy(run, &noisy.planes[0], own, (struct columns){.count = noisy.planes[0].width},
                            &result->planes[LOWPASS], error);
    value_release(run, &noisy);
    if (changes)
        planes_release(&run->pool, &changed.planes[0]);
    planes_release(&run->pool, &filled.planes[0]);
    return status;
}

/* Estimates the noise, and denoises the coarse levels. */
static enum status analysis_end(struct run *run, const void *params, const struct shape *image,
                                struct analysis_result *result, struct error *error)
{
    const struct denoise *denoise = params;
    const int fine = fine_shape(denoise, image).levels;
    const struct value whole = {.shape = *image};
    struct value noisy = {.shape = pyramid_shape(denoise, image), .rows = rows_full(image->height)};
    const struct shape *pyramid = &noisy.shape;
    const bool coarse = pyramid->levels > fine, counts = needs_counts(run, denoise, image);
    struct dtcwt_rows needed = needed_rows(pyramid, noisy.rows);
    struct noise noise;
    struct planes clean = {.object = NULL};
    enum status status = STATUS_OK;
    if (coarse)
        status = dtcwt_forward_from(run, fine, &result->planes[LOWPASS], &needed, &noisy, error);
    if (status == STATUS_OK && counts && coarse && estimates_noise(denoise))
        status = count_levels(run, &whole, fine + 1, &noisy, &result->planes[CELLS], result->words, error);
    if (status == STATUS_OK && counts)
        status = estimate_noise(run, denoise, pyramid, result->words, &result->noise, error);
    if (status == STATUS_OK && coarse && counts && has_separate(pyramid, &result->noise, true))
        status = separate_coarse(run, &result->noise, fine, &noisy, error);
    if (status == STATUS_OK && coarse)
        status = noise_set(run, pyramid, &result->noise, denoise->strength, &noise, error);
    if (status == STATUS_OK && coarse)
        status = shrink_inverse_to(run, &noise, fine, &noisy, &clean, error);
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
