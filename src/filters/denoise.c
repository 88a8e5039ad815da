#include "filters/denoise.h"

#include "filters/cosines.h"

#include <math.h>

/* The lowpass of three levels takes 0.75 bytes a pixel of a colour picture, and three times that while
 * coarser levels are made of it. Where that would be much, four levels: a quarter, and twice the rows beside
 * a slice. */
enum { FINE_LEVELS = 3, MANY_PIXELS = 128 << 20 };

/* Of a finding's planes: the lowpass of the last fine level, noisy before the survey's end, and the noisy
 * subbands of the level after it. */
enum { LOWPASS, PARENTS };

static bool finds_noise(const struct denoise *denoise)
{
    return isnan(denoise->sigma);
}

/* With --wavelet's own filters, whichever an inverse transform came from before, and parents over their
 * children: 0.04 dB on BSD68 at sigma 25. */
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

/* The levels that slices have. */
static struct shape fine_shape(const struct denoise *denoise, const struct shape *image)
{
    struct shape pyramid = pyramid_shape(denoise, image);
    int most = (long long)image->width * image->height > MANY_PIXELS ? FINE_LEVELS + 1 : FINE_LEVELS;
    pyramid.levels = pyramid.levels < most ? pyramid.levels : most;
    return pyramid;
}

static struct dtcwt_rows needed_rows(const struct shape *pyramid, struct rows out)
{
    struct dtcwt_rows needed = {.image = {0, 0}};
    dtcwt_inverse_rows(pyramid, out, &needed);
    shrink_rows(pyramid, &needed);
    dtcwt_forward_rows(pyramid, &needed);
    return needed;
}

struct rows denoise_rows(const struct denoise *denoise, const struct shape *image, struct rows out)
{
    struct shape fine = fine_shape(denoise, image);
    struct rows first = denoise->high ? cosines_rows(image->height, out) : out;
    return image->images > 1 ? rows_whole(image->height) : needed_rows(&fine, first).image;
}

struct rows denoise_columns(const struct denoise *denoise, const struct shape *image, struct rows out)
{
    struct shape turned = *image;
    turned.width = image->height;
    turned.height = image->width;
    return denoise_rows(denoise, &turned, out);
}

/* Whether that is still to be done: of a video it was found in an earlier frame. */
static bool counts_noise(const struct run *run, const struct denoise *denoise)
{
    return finds_noise(denoise) && !run_held_noise(run, denoise);
}

/* The noise that was given or is held, or else what is found in all rows of the pyramid. */
static enum status find_noise(struct run *run, const struct denoise *denoise, const struct value *noisy,
                              struct noise *noise, struct error *error)
{
    const struct shape *shape = &noisy->shape;
    noise->strength = (float)denoise->strength;
    if (!finds_noise(denoise))
        return noise_give(run, denoise->sigma / 255, shape, noise, error);
    if (!counts_noise(run, denoise)) {
        *noise = noise_in(shape, run_held_noise(run, denoise));
        noise->strength = (float)denoise->strength;
        return STATUS_OK;
    }
    enum status status = noise_begin(run, shape, noise, error);
    for (int level = 1; status == STATUS_OK && level <= shape->levels; level++)
        status = noise_count(run, noise, level, &noisy->planes[level],
                             rows_whole(noisy->planes[level].height), error);
    if (status == STATUS_OK)
        status = noise_end(run, shape, noise, error);
    if (status == STATUS_OK)
        run_hold_noise(run, denoise, noise->sigma);
    return status;
}

static enum status denoise_at_once(struct run *run, const struct denoise *denoise, const struct value *image,
                                   struct noise *noise, struct value *out, struct error *error)
{
    struct value noisy = {.shape = pyramid_shape(denoise, &image->shape), .rows = out->rows};
    struct dtcwt_rows needed =
        needed_rows(&noisy.shape, counts_noise(run, denoise) ? rows_whole(image->shape.height) : out->rows);
    enum status status = dtcwt_forward(run, image, &needed, &noisy, error);
    if (status == STATUS_OK)
        status = find_noise(run, denoise, &noisy, noise, error);
    if (status == STATUS_OK)
        status = shrink_inverse(run, noise, &noisy, out, error);
    value_release(run, &noisy);
    return status;
}

/* ---------------------------------------------------------------- slices */

/* What the survey found, or is finding. */
static enum status known_noise(struct run *run, const struct denoise *denoise, const struct shape *pyramid,
                               const struct finding *finding, struct noise *noise, struct error *error)
{
    enum status status = STATUS_OK;
    if (finds_noise(denoise))
        *noise = noise_in(pyramid, finding->words);
    noise->strength = (float)denoise->strength;
    if (!finds_noise(denoise))
        status = noise_give(run, denoise->sigma / 255, pyramid, noise, error);
    return status;
}

/* A tile's part of what was found: into its lowpass, and as the parents of its last level. */
static enum status take_coarse(struct run *run, const struct finding *finding, const struct tile *tile,
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
    enum status status = run_planes(run, width, finding->planes[PARENTS].height, above, SUBBAND_LAYERS,
                                    shape_planes(shape), parents, error);
    if (status == STATUS_OK)
        status = tiles_copy(run, &finding->planes[PARENTS], above, of_parents, parents, error);
    return status == STATUS_OK ? tiles_copy(run, &finding->planes[LOWPASS], rows, some, lowpass, error)
                               : status;
}

static enum status denoise_slice(struct run *run, const struct denoise *denoise,
                                 const struct finding *finding, const struct tile *tile,
                                 const struct value *image, struct noise *noise, struct value *out,
                                 struct error *error)
{
    const struct shape pyramid = pyramid_shape(denoise, &image->shape);
    struct value noisy = {.shape = pyramid, .rows = out->rows};
    noisy.shape.levels = fine_shape(denoise, tile->image).levels;
    struct dtcwt_rows needed = needed_rows(&noisy.shape, out->rows);
    enum status status = known_noise(run, denoise, &pyramid, finding, noise, error);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, image, &needed, &noisy, error);
    if (status == STATUS_OK && pyramid.levels > noisy.shape.levels)
        status = take_coarse(run, finding, tile, &noisy, error);
    if (status == STATUS_OK)
        status = shrink_inverse(run, noise, &noisy, out, error);
    value_release(run, &noisy);
    return status;
}

/* The transform's result; `noise` becomes what it was shrunk by. */
static enum status denoise_first(struct run *run, const struct denoise *denoise, const struct tile *tile,
                                 const struct value *image, struct noise *noise, struct value *out,
                                 struct error *error)
{
    const struct finding *finding = run_finding(run, denoise);
    return finding ? denoise_slice(run, denoise, finding, tile, image, noise, out, error)
                   : denoise_at_once(run, denoise, image, noise, out, error);
}

enum status denoise_image(struct run *run, const struct denoise *denoise, const struct tile *tile,
                          const struct value *image, struct value *out, struct error *error)
{
    struct value pilot = {.shape = out->shape, .rows = cosines_rows(out->shape.height, out->rows)};
    struct noise noise;
    if (!denoise->high)
        return denoise_first(run, denoise, tile, image, &noise, out, error);
    enum status status = denoise_first(run, denoise, tile, image, &noise, &pilot, error);
    if (status == STATUS_OK)
        status = cosines_refine(run, &noise, denoise->levels, image, &pilot, out, error);
    planes_release(&run->pool, &pilot.planes[0]);
    return status;
}

/* ---------------------------------------------------------------- the survey */

bool denoise_wants_survey(const struct denoise *denoise, const struct shape *image)
{
    return finds_noise(denoise) || denoise->levels > fine_shape(denoise, image).levels;
}

/* Rows of a level of `height` that are a part's own, so that all parts have all of them. */
static struct rows own_rows(struct rows part, int image, int height)
{
    return (struct rows){(int)((long long)part.begin * height / image),
                         (int)((long long)part.end * height / image)};
}

/* Those of the fine levels that a part of the survey needs: no subbands where nobody counts their energies.
 */
static struct dtcwt_rows survey_rows(const struct denoise *denoise, const struct shape *fine,
                                     struct rows part)
{
    struct dtcwt_rows needed = {.image = {0, 0}};
    int size = 0;
    for (int level = 1; level <= fine->levels; level++) {
        size = dtcwt_lowpass_size(fine->height, level);
        struct rows own = own_rows(part, fine->height, size / 2);
        needed.subbands[level] = finds_noise(denoise)
                                     ? noise_neighbours(size / 2, own)
                                     : rows_clip((struct rows){own.begin, own.begin + 1}, size / 2);
    }
    needed.lowpass[fine->levels] = rows_aligned(own_rows(part, fine->height, size), 2);
    needed.places = finds_noise(denoise) ? NOISE_PLACES : 0;
    dtcwt_forward_rows(fine, &needed);
    return needed;
}

struct rows denoise_survey_rows(const struct denoise *denoise, const struct shape *image, struct rows part)
{
    struct shape fine = fine_shape(denoise, image);
    return survey_rows(denoise, &fine, part).image;
}

enum status denoise_survey_begin(struct run *run, const struct denoise *denoise, const struct shape *image,
                                 struct finding *finding, struct error *error)
{
    const struct shape pyramid = pyramid_shape(denoise, image), fine = fine_shape(denoise, image);
    int width = dtcwt_lowpass_size(image->width, fine.levels),
        height = dtcwt_lowpass_size(image->height, fine.levels);
    enum status status = STATUS_OK;
    if (counts_noise(run, denoise))
        status = counters_acquire(run->device, noise_words(&pyramid), &finding->words, error);
    else if (finds_noise(denoise)) {
        finding->words = run_held_noise(run, denoise);
        finding->borrowed = true;
    }
    if (status == STATUS_OK && pyramid.levels > fine.levels)
        status = run_planes(run, width, height, rows_whole(height), 1, shape_planes(image),
                            &finding->planes[LOWPASS], error);
    return status;
}

enum status denoise_survey_take(struct run *run, const struct denoise *denoise, const struct value *image,
                                struct rows part, struct finding *finding, struct error *error)
{
    const struct shape pyramid = pyramid_shape(denoise, &image->shape);
    struct value noisy = {.shape = fine_shape(denoise, &image->shape), .rows = part};
    struct dtcwt_rows needed = survey_rows(denoise, &noisy.shape, part);
    struct noise noise;
    const int fine = noisy.shape.levels;
    enum status status = known_noise(run, denoise, &pyramid, finding, &noise, error);
    if (status == STATUS_OK)
        status = dtcwt_forward(run, image, &needed, &noisy, error);
    for (int level = 1; status == STATUS_OK && counts_noise(run, denoise) && level <= fine; level++) {
        const struct planes *subbands = &noisy.planes[level];
        struct rows own = own_rows(part, image->shape.height, subbands->height);
        if (own.begin < own.end)
            status = noise_count(run, &noise, level, subbands, own, error);
    }
    struct rows own = own_rows(part, image->shape.height, noisy.planes[0].height);
    if (status == STATUS_OK && pyramid.levels > fine && own.begin < own.end)
        status = tiles_copy(run, &noisy.planes[0], own, (struct columns){.count = noisy.planes[0].width},
                            &finding->planes[LOWPASS], error);
    value_release(run, &noisy);
    return status;
}

/* Levels from the one after `fine` on, shrunk: what comes of the lowpass, and the parents. */
static enum status shrink_coarse(struct run *run, const struct noise *noise, int fine, struct value *noisy,
                                 struct finding *finding, struct error *error)
{
    struct planes clean;
    enum status status = shrink_inverse_to(run, noise, fine, noisy, &clean, error);
    if (status != STATUS_OK)
        return status;
    planes_release(&run->pool, &finding->planes[LOWPASS]);
    run_scratch_keep(run, &clean);
    finding->planes[LOWPASS] = clean;
    finding->planes[PARENTS] = noisy->planes[fine + 1];
    noisy->planes[fine + 1] = (struct planes){.object = NULL};
    return STATUS_OK;
}

enum status denoise_survey_end(struct run *run, const struct denoise *denoise, const struct shape *image,
                               struct finding *finding, struct error *error)
{
    const int fine = fine_shape(denoise, image).levels;
    struct value noisy = {.shape = pyramid_shape(denoise, image), .rows = rows_whole(image->height)};
    const struct shape *pyramid = &noisy.shape;
    const bool coarse = pyramid->levels > fine;
    struct dtcwt_rows needed = needed_rows(pyramid, noisy.rows);
    struct noise noise;
    enum status status = known_noise(run, denoise, pyramid, finding, &noise, error);
    if (status == STATUS_OK && coarse)
        status = dtcwt_forward_from(run, fine, &finding->planes[LOWPASS], &needed, &noisy, error);
    const bool counts = counts_noise(run, denoise);
    for (int level = fine + 1; status == STATUS_OK && counts && level <= pyramid->levels; level++)
        status = noise_count(run, &noise, level, &noisy.planes[level], rows_whole(noisy.planes[level].height),
                             error);
    if (status == STATUS_OK && counts)
        status = noise_end(run, pyramid, &noise, error);
    if (status == STATUS_OK && counts)
        run_hold_noise(run, denoise, noise.sigma);
    if (status == STATUS_OK && coarse)
        status = shrink_coarse(run, &noise, fine, &noisy, finding, error);
    value_release(run, &noisy);
    return status;
}
