/* The stage --denoise: puts transform, noise estimate and shrinkage together.
 *
 *     whole image    denoise_run ─▶ denoise_tile ─▶ denoise_planes ─▶ denoise_whole
 *     slices         analysis_begin, analysis_add …, analysis_end, then
 *                    denoise_run ─▶ denoise_tile … ─▶ denoise_planes ─▶ denoise_slice
 *
 * CPUs process a slice in tiles, as the memory of a slice grows with the width: 31623 x 3000 pixels take 0.52
 * GB instead of 1.13.
 *
 * Colour pictures are in opponent colours while the noise is unknown. If the estimate finds that red, green
 * and blue must be separate, the fine levels are transformed again from these, and the coarse levels, which
 * are small, are converted. Whole images and slices do the same, so their bits are equal. For the second
 * transform an input in red, green and blue is kept: converted to opponent colours and back it would have
 * other bits.
 *
 * Missing values (NaN, infinities) are replaced by the mean of their neighbours at the start and restored at
 * the end. */
#include "wavelet/denoise.h"

#include "filters/missing.h"
#include "filters/tiles.h"
#include "wavelet/cosines.h"

#include <math.h>
#include <stdlib.h>

/* Number of levels that slices transform; of pictures with more than LARGE_PICTURE pixels it is one more.
 * The lowpass of three levels takes 0.75 bytes a pixel of a colour picture, and three times as much memory
 * while the coarse levels are computed. A fourth level reduces this to a quarter, but doubles the halo. */
enum { FINE_LEVELS = 3, LARGE_PICTURE = 128 << 20 };

/* Planes of the analysis result: the lowpass of the last fine level (noisy until the analysis ends), the
 * noisy subbands of the next level, and the live cells (wavelet/noise.h) of the last fine level. */
enum { LOWPASS, PARENTS, CELLS };

/* True if the noise is estimated. */
static bool denoise_estimates(const struct denoise *denoise)
{
    return isnan(denoise->sigma);
}

/* Returns the shape of an image's pyramid, with the default filters of --wavelet. Odd sizes are padded at the
 * end, so that a parent covers exactly its children: 0.04 dB on BSD68 at sigma 25. */
static struct shape denoise_pyramid(const struct denoise *denoise, const struct shape *image)
{
    struct shape pyramid = *image;
    pyramid.kind = KIND_PYRAMID;
    pyramid.levels = denoise->levels;
    pyramid.biort = 0;
    pyramid.qshift = 0;
    pyramid.pad_at_end = true;
    return pyramid;
}

/* Returns the shape of the fine levels of the pyramid. */
static struct shape denoise_fine(const struct denoise *denoise, const struct shape *image)
{
    struct shape pyramid = denoise_pyramid(denoise, image);
    const int fine = (long long)image->width * image->height > LARGE_PICTURE ? FINE_LEVELS + 1 : FINE_LEVELS;
    pyramid.levels = pyramid.levels < fine ? pyramid.levels : fine;
    return pyramid;
}

/* Returns the rows of all levels and of the image that denoising rows `out` needs. */
static struct dtcwt_rows denoise_needed_rows(const struct shape *pyramid, struct interval out)
{
    struct dtcwt_rows needed = {.image = {0, 0}};
    dtcwt_inverse_rows(pyramid, out, &needed);
    shrink_add_halo(pyramid, &needed);
    dtcwt_forward_rows(pyramid, &needed);
    return needed;
}

/* Returns the rows of an image that are needed to replace missing values in `rows`. */
static struct interval denoise_filled_rows(const struct shape *image, struct interval rows)
{
    return interval_widen(rows, image->may_have_missing ? MISSING_RADIUS : 0);
}

struct interval denoise_rows(const void *params, const struct shape *image, struct interval out)
{
    const struct denoise *denoise = params;
    struct shape fine = denoise_fine(denoise, image);
    struct interval first = denoise->high ? cosines_rows(image->height, out) : out;
    return image->images > 1 ? rows_full(image->height)
                             : denoise_filled_rows(image, denoise_needed_rows(&fine, first).image);
}

/* Returns the columns that a tile's columns `out` need, as rows of the transposed image. */
static struct interval denoise_columns(const void *params, const struct shape *image, struct interval out)
{
    struct shape transposed = *image;
    transposed.width = image->height;
    transposed.height = image->width;
    return denoise_rows(params, &transposed, out);
}

/* True if something must be counted: energies, unless the noise is given or known from an earlier frame of
 * the video; or constant colours, if the noise of a colour picture is given. */
static bool denoise_needs_counts(const struct run *run, const struct denoise *denoise,
                                 const struct shape *image)
{
    const struct held_noise *held = run_held_noise(run, denoise);
    return denoise_estimates(denoise) ? !held || held->is_old : shape_is_colour(image);
}

/* Waits for the counts, and computes the noise of images. A frame of a video without an estimate, such as a
 * black one, gets the noise of earlier frames. */
static enum status denoise_find_noise(struct run *run, const struct denoise *denoise,
                                      const struct shape *pyramid, cl_mem counters,
                                      struct image_noise *images, struct error *error)
{
    const struct held_noise *held = run_held_noise(run, denoise);
    if (!denoise_estimates(denoise))
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

/* Sets the noise if it is known before the image is transformed: by SIGMA, or from an earlier frame.
 * Otherwise returns false, and denoise_needs_counts is true. */
static bool denoise_find_known_noise(struct run *run, const struct denoise *denoise,
                                     const struct shape *image, struct image_noise *images)
{
    const struct shape pyramid = denoise_pyramid(denoise, image);
    if (denoise_needs_counts(run, denoise, image))
        return false;
    if (denoise_estimates(denoise))
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

/* Sets *filled to the image without missing values, and *noisy to *filled in opponent colours, or in red,
 * green and blue if not `opponent`. The caller initialises both as copies of *image. A step with nothing to
 * change shares planes: *filled with *image, *noisy with *filled. So the caller releases both with
 * value_release_except, also after a failure. */
static enum status denoise_prepare(struct run *run, const struct value *image, bool has_missing,
                                   bool opponent, struct value *filled, struct value *noisy,
                                   struct error *error)
{
    enum status status = has_missing ? missing_fill(run, image, MISSING_RADIUS, filled, error) : STATUS_OK;
    *noisy = *filled;
    noisy->opponent = opponent;
    if (status == STATUS_OK && opponent != image->opponent)
        status = convert_colours(run, opponent ? 1 : -1, NULL, false, filled, noisy, error);
    return status;
}

/* Counts the energies of the levels of `noisy` from level `first` on, in the rows that belong to rows `part`
 * of the image. Only live cells count (wavelet/noise.h). Live cells of level 1 are found in `image`, on
 * coarser levels in the cells of the level before. `cells` are the cells of level first - 1 in all rows, or
 * zeroed if `first` is 1; they are released. Stores the cells of the last level in `last`, which may be NULL.
 */
static enum status denoise_count(struct run *run, const struct denoise *denoise, const struct value *image,
                                 struct interval part, int first, const struct value *noisy,
                                 struct planes *cells, struct planes *last, cl_mem counters,
                                 struct error *error)
{
    const struct shape pyramid = denoise_pyramid(denoise, &image->shape);
    const int levels = noisy->shape.levels < NOISE_LEVELS ? noisy->shape.levels : NOISE_LEVELS;
    struct interval own[1 + MAX_LEVELS], rows[1 + MAX_LEVELS];
    enum status status = STATUS_OK;
    /* The rows of live cells that each level needs: for counting, and as children of the coarser cells. */
    for (int level = levels; level >= first; level--) {
        const int height = noisy->planes[level].height;
        own[level] = dtcwt_part_rows(part, image->shape.height, height);
        rows[level] = noise_live_rows(height, own[level]);
        if (level < levels)
            rows[level] = interval_union(
                rows[level],
                interval_clip((struct interval){2 * rows[level + 1].begin, 2 * rows[level + 1].end}, height));
    }
    for (int level = first; status == STATUS_OK && level <= levels; level++) {
        struct planes live = {.object = NULL};
        const bool has_rows = own[level].begin < own[level].end;
        status = noise_live(run, image, cells, level, rows[level], &live, error);
        if (status == STATUS_OK && has_rows)
            status = noise_count(run, &pyramid, counters, level, &noisy->planes[level], true, &live,
                                 &image->planes[0], own[level], error);
        if (status == STATUS_OK && has_rows && level == levels && last)
            status = noise_live(run, image, cells, level, own[level], last, error);
        planes_release(&run->pool, cells);
        *cells = live;
    }
    planes_release(&run->pool, cells);
    return status;
}

/* True if any colour image has is_separate == `separate`. */
static bool denoise_has_separate(const struct shape *shape, const struct image_noise *images, bool separate)
{
    for (int i = 0; i < shape->images; i++)
        if (shape_is_colour(shape) && images[i].is_separate == separate)
            return true;
    return false;
}

/* Converts the levels after level `fine`, and the lowpass, to red, green and blue, for images whose colours
 * are separate. */
static enum status denoise_separate_coarse(struct run *run, const struct image_noise *images, int fine,
                                           struct value *pyramid, struct error *error)
{
    enum status status = STATUS_OK;
    for (int level = 0; status == STATUS_OK && level <= pyramid->shape.levels; level++) {
        struct planes *planes = &pyramid->planes[level], converted;
        if (level > 0 && level <= fine)
            continue;
        status = run_planes(run, planes->width, planes->height, planes_rows(planes), planes->layers,
                            planes->channels, &converted, error);
        if (status == STATUS_OK)
            status = opponent_colours(run, &pyramid->shape, -1, images, true, planes, &converted, error);
        planes_release(&run->pool, planes);
        *planes = converted;
    }
    return status;
}

/* Converts images whose colours are separate to red, green and blue, the others to opponent colours. `image`
 * has the colours that the stage received, as in slices: not converted to opponent colours and back. */
static enum status separate_colours(struct run *run, const struct image_noise *images,
                                    const struct value *image, struct value *out, struct error *error)
{
    return image->opponent ? convert_colours(run, -1, images, true, image, out, error)
                           : convert_colours(run, 1, images, false, image, out, error);
}

/* Replaces the pyramid of an image whose noise was found to be separate: transforms the fine levels again and
 * converts the coarse ones. Slices do the same; converting the fine levels would give other bits. `image` has
 * the colours that the stage received. */
static enum status separate_pyramid(struct run *run, const struct denoise *denoise,
                                    const struct image_noise *images, const struct value *image,
                                    struct interval out, struct value *pyramid, struct error *error)
{
    const int levels = pyramid->shape.levels;
    struct value converted = {.shape = image->shape, .rows = image->rows};
    struct value fine = {.shape = denoise_fine(denoise, &image->shape), .rows = out};
    struct dtcwt_rows needed = denoise_needed_rows(&fine.shape, rows_full(image->shape.height));
    /* Transform the fine levels of red, green and blue. */
    enum status status = separate_colours(run, images, image, &converted, error);
    for (int level = 1; level <= fine.shape.levels; level++)
        planes_release(&run->pool, &pyramid->planes[level]);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, &converted, &needed, &fine, error);
    planes_release(&run->pool, &converted.planes[0]);
    /* Move them into the pyramid, with their lowpass if there are no coarse levels. */
    for (int level = 1; level <= fine.shape.levels; level++) {
        pyramid->planes[level] = fine.planes[level];
        fine.planes[level] = (struct planes){.object = NULL};
    }
    if (status == STATUS_OK && levels > fine.shape.levels)
        status = denoise_separate_coarse(run, images, fine.shape.levels, pyramid, error);
    else if (status == STATUS_OK) {
        planes_release(&run->pool, &pyramid->planes[0]);
        pyramid->planes[0] = fine.planes[0];
        fine.planes[0] = (struct planes){.object = NULL};
    }
    value_release(run, &fine);
    return status;
}

/* Denoises a whole image. Unless the noise is `known`, it is estimated from the image's pyramid. `filled`:
 * the image before its conversion to opponent colours. */
static enum status denoise_whole(struct run *run, const struct denoise *denoise, bool known,
                                 const struct value *filled, const struct value *image,
                                 struct image_noise *images, struct noise *noise, struct value *out,
                                 struct error *error)
{
    struct value noisy = {.shape = denoise_pyramid(denoise, &image->shape), .rows = out->rows};
    struct dtcwt_rows needed =
        denoise_needed_rows(&noisy.shape, known ? out->rows : rows_full(image->shape.height));
    struct planes cells = {.object = NULL};
    cl_mem counters;
    enum status status = dtcwt_forward(run, image, &needed, &noisy, error);
    /* Count, and estimate the noise from the counts. */
    if (status == STATUS_OK && !known)
        status = run_counters(run, noise_counters(&noisy.shape), &counters, error);
    if (status == STATUS_OK && !known)
        status = denoise_estimates(denoise)
                     ? denoise_count(run, denoise, image, rows_full(image->shape.height), 1, &noisy, &cells,
                                     NULL, counters, error)
                     : noise_count_constant(run, &image->shape, counters, &image->planes[0], image->opponent,
                                            rows_full(image->shape.height), error);
    if (status == STATUS_OK && !known)
        status = denoise_find_noise(run, denoise, &noisy.shape, counters, images, error);
    if (status == STATUS_OK && !known && denoise_has_separate(&noisy.shape, images, true))
        status = separate_pyramid(run, denoise, images, filled, out->rows, &noisy, error);
    /* Shrink and invert. */
    if (status == STATUS_OK)
        status = noise_set(run, &noisy.shape, images, denoise->strength, noise, error);
    if (status == STATUS_OK)
        status = dtcwt_inverse(run, &(struct subband_filter){shrink_subbands, noise}, &noisy, out, error);
    value_release(run, &noisy);
    return status;
}

/* ---------------------------------------------------------------- slices */

/* Copies a tile's columns from the analysis result: overwrites the tile's lowpass by the denoised one, and
 * sets the parents of its last level. */
static enum status copy_coarse(struct run *run, const struct analysis_result *result, const struct tile *tile,
                               struct value *noisy, struct error *error)
{
    const int fine = noisy->shape.levels;
    const struct planes *lowpass = &noisy->planes[0], *last = &noisy->planes[fine];
    struct planes *parents = &noisy->planes[fine + 1];
    const struct interval rows = planes_rows(lowpass),
                          parent_rows = {last->first_row / 2, (last->first_row + last->rows + 1) / 2};
    const struct shape *shape = &noisy->shape;
    const int width = dtcwt_lowpass_size(shape->width, fine + 1) / 2;
    const struct columns lowpass_columns = {.from = tile->padded.begin >> (fine - 1),
                                            .count = lowpass->width},
                         parent_columns = {.from = tile->padded.begin >> (fine + 1), .count = width};
    enum status status = run_planes(run, width, result->planes[PARENTS].height, parent_rows, SUBBAND_LAYERS,
                                    shape_planes(shape), parents, error);
    if (status == STATUS_OK)
        status = tiles_copy(run, &result->planes[PARENTS], parent_rows, parent_columns, parents, error);
    return status == STATUS_OK
               ? tiles_copy(run, &result->planes[LOWPASS], rows, lowpass_columns, lowpass, error)
               : status;
}

/* Denoises a tile of a slice, after the analysis pass. */
static enum status denoise_slice(struct run *run, const struct denoise *denoise,
                                 const struct analysis_result *result, const struct tile *tile,
                                 const struct value *image, struct noise *noise, struct value *out,
                                 struct error *error)
{
    const struct shape pyramid = denoise_pyramid(denoise, &image->shape);
    struct value noisy = {.shape = pyramid, .rows = out->rows};
    noisy.shape.levels = denoise_fine(denoise, tile->image).levels; /* the whole image's, not the tile's */
    struct dtcwt_rows needed = denoise_needed_rows(&noisy.shape, out->rows);
    enum status status = noise_set(run, &pyramid, &result->noise, denoise->strength, noise, error);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, image, &needed, &noisy, error);
    if (status == STATUS_OK && pyramid.levels > noisy.shape.levels)
        status = copy_coarse(run, result, tile, &noisy, error);
    if (status == STATUS_OK)
        status = dtcwt_inverse(run, &(struct subband_filter){shrink_subbands, noise}, &noisy, out, error);
    value_release(run, &noisy);
    return status;
}

/* Denoises planes in opponent colours, or in red, green and blue if the noise is known to be separate.
 * `filled`: the planes before the conversion of colours. With quality=high the result becomes the pilot of a
 * second step. */
static enum status denoise_planes(struct run *run, const struct denoise *denoise, bool known,
                                  const struct tile *tile, const struct value *filled,
                                  const struct value *image, struct image_noise *images, struct value *out,
                                  struct error *error)
{
    const struct analysis_result *result = run_analysis_result(run, denoise);
    struct value pilot = {.shape = out->shape, .rows = out->rows};
    struct value noisy = {.shape = image->shape, .rows = image->rows};
    struct noise noise;
    if (denoise->high)
        pilot.rows = cosines_rows(out->shape.height, out->rows);
    struct value *first = denoise->high ? &pilot : out;
    enum status status =
        result ? denoise_slice(run, denoise, result, tile, image, &noise, first, error)
               : denoise_whole(run, denoise, known, filled, image, images, &noise, first, error);
    /* The second step needs separate colours, too, if they were found to be. */
    if (status == STATUS_OK && denoise->high && !known && denoise_has_separate(&image->shape, images, true)) {
        status = separate_colours(run, images, filled, &noisy, error);
        image = &noisy;
    }
    if (status == STATUS_OK && denoise->high)
        status = cosines_refine(run, &noise, image, &pilot, out, error);
    planes_release(&run->pool, &pilot.planes[0]);
    planes_release(&run->pool, &noisy.planes[0]);
    return status;
}

/* Denoises a tile (struct tiling's `run`). Input and output are in opponent colours if their `opponent` is
 * true. */
static enum status denoise_tile(struct run *run, const void *params, const struct tile *tile,
                                const struct value *image, struct value *out, struct error *error)
{
    const struct denoise *denoise = params;
    const struct shape *shape = &image->shape;
    const struct analysis_result *result = run_analysis_result(run, denoise);
    const struct interval columns = {tile->own.begin - tile->padded.begin,
                                     tile->own.end - tile->padded.begin};
    struct image_noise *images = allocate_zeroed((size_t)shape->images, sizeof *images, "the noise", error);
    if (!images)
        return STATUS_FAILED;
    struct value filled = *image, noisy = *image, clean = {.shape = out->shape, .rows = out->rows};
    /* Count missing values, unless the analysis pass did; numbers[0] is then 1 if it found some. */
    bool has_missing = result && result->numbers[0] > 0;
    enum status status =
        result ? STATUS_OK : missing_count(run, denoise, image, columns, out->rows, &has_missing, error);
    /* Convert to opponent colours, unless the noise was measured for red, green and blue. */
    if (result)
        *images = result->noise;
    const bool known = result || denoise_find_known_noise(run, denoise, shape, images),
               opponent = shape_is_colour(shape) && !(known && images->is_separate);
    if (status == STATUS_OK)
        status = denoise_prepare(run, image, has_missing, opponent, &filled, &noisy, error);
    if (status == STATUS_OK)
        status = denoise_planes(run, denoise, known, tile, &filled, &noisy, images, &clean, error);
    value_release_except(run, &noisy, &filled);
    value_release_except(run, &filled, image);
    /* Convert images that are not in the colours of the output. For an output in opponent colours these are
     * the separate ones, for red, green and blue the others. */
    if (status == STATUS_OK && denoise_has_separate(shape, images, out->opponent)) {
        status = convert_colours(run, out->opponent ? 1 : -1, images, out->opponent, &clean, out, error);
        planes_release(&run->pool, &clean.planes[0]);
    } else {
        out->planes[0] = clean.planes[0];
    }
    if (status == STATUS_OK && has_missing)
        status = missing_restore(run, image, out, error);
    free(images);
    return status;
}

/* ---------------------------------------------------------------- the analysis pass of slices
 *
 *     part of the rows ─▶ fine levels ─┬▶ counts
 *                                      └▶ lowpass ─▶ coarse levels ─▶ denoised lowpass, parents
 *
 * Without coarse levels only the counts are needed, with a known noise only the lowpass. Every row of a level
 * is counted in one part of the image's rows (dtcwt_part_rows), so counts do not depend on slices. */

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
    const bool keeps_cells = result->planes[CELLS].width > 0;
    struct planes cells = {.object = NULL};
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
                     ? denoise_count(run, denoise, &converted, part, 1, &noisy, &cells,
                                     keeps_cells ? &result->planes[CELLS] : NULL, result->words, error)
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
        status = denoise_count(run, denoise, &whole, noisy.rows, fine + 1, &noisy, &result->planes[CELLS],
                               NULL, result->words, error);
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

enum status denoise_run(struct run *run, const void *params, const struct value *in, struct value *out,
                        struct error *error)
{
    const struct tiling tiling = {params, denoise_columns, denoise_tile};
    /* If no analysis pass was made, though the stage needs one, the slice is the whole image. Then it is no
     * use to divide it into tiles: the noise needs all columns. */
    const bool whole = needs_analysis(params, &in->shape) && !run_analysis_result(run, params);
    return tiles_run(run, &tiling, whole, in, out, error);
}
