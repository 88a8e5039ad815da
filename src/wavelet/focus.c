/* Merging pictures of different focus.
 *
 *     pass 1, each picture     rows ─▶ fine levels ─▶ lowpass ─▶ coarse levels ─▶ sums ─▶ merged lowpass
 *     pass 2, some rows        rows of each picture ─▶ fine levels ─▶ sums ┬─▶ inverse ─▶ rows of the result
 *                                                          merged lowpass ─┘
 *
 * One estimate of the noise is used for all pictures, as different ones would favour one picture. The
 * picture with the least detail is measured, as texture looks like noise.
 *
 * Figures are the mean PSNR of 15 stacks of seven pictures, blurred by up to 8 pixels, without noise and with
 * noise of 3 counts. Tried and lost:
 * - The coefficient with the largest energy alone (44.3 and 37.5 dB); weights E^4 (42.6 and 37.8), which need
 * no noise. The weights of focus.h, with windows of (1 5 1): 44.6 and 39.4.
 * - Windows with equal weights lose 0.3 dB without noise, 0.2 with it. Larger ones lose more. (1 8 1) gains
 * 0.03 dB without noise, and loses 0.2 to 0.3 with moving hairs.
 * - Each orientation alone: 0.08 dB less without noise, 0.05 with it. All orientations alike: 0.02 and 0.1.
 * - The energy of the parent in addition: 0.6 dB less without noise.
 * - The noise of the first picture: up to 7 dB less without noise if it is one with much texture. The
 * smallest estimate of all pictures has the same PSNR as the estimate of the smoothest one.
 * - The whole estimate, without subtracting INVISIBLE_SIGMA: 0.5 dB less without noise, 0.02 more with 1
 * count.
 * - The energy of red, green and blue instead of brightness: 0.1 dB less with noise. Without noise it is
 * equal, but estimates of weak noise are better for brightness.
 * - Levels 2 and 3 with only their own energy: dark hairs that move by 2 pixels from shot to shot lose 0.2 to
 * 0.4 dB, as blurred ones remain next to the sharp one; other stacks gain 0.02.
 * - Pixels of the inputs nearest to the result: 0.25 dB more without noise, 1 to 2 less with it.
 * - Levels above 4 with their own energy, and the mean of the lowpasses: 0.04 dB less without noise, 2.4 dB
 * less with clipped highlights. There blurred pictures have more energy on coarse levels, which made halos.
 */
#include "wavelet/focus.h"

#include "device/event_log.h"
#include "filters/tiles.h"
#include "wavelet/dtcwt.h"
#include "wavelet/noise.h"

#include <math.h>
#include <stdlib.h>

enum {
    FINE_LEVELS = 3,   /* of pass 2, at most */
    ENERGY_LEVELS = 4, /* levels whose energy is computed; coarser ones have the mean energies of level 4 */
    COARSEST_SIDE = 4, /* about the smallest side of the coarsest lowpass: 0.2 dB more than with 8 */
    ROWS_BYTES = 1 << 27, /* about the size of all planes for the rows of pass 2 */
    MIN_ROWS = 64         /* of pass 2 at a time */
};

/* Least noise, so that energies in units of the noise are finite: a tenth of an 8-bit count, and 2^-24 of the
 * pictures' detail. */
static const double MIN_SIGMA = 0.1 / 255, MIN_SIGMA_OF_DETAIL = 1.0 / (1 << 24);

/* Part of an estimate of the noise that is ignored, half an 8-bit count: it is invisible, and the estimate
 * contains texture. */
static const double INVISIBLE_SIGMA = 0.5 / 255;

/* Sum of the weights of the window, (1 + 5 + 1)^2. */
static const double WINDOW_SUM = 49;

/* A weight is exp(E / (SOFTNESS s^2)), see focus.h. */
static const double SOFTNESS = 3;

struct focus {
    struct run *run;
    const struct focus_pictures *pictures;
    struct shape fine, whole;              /* pyramids of the fine levels, and of all */
    struct image_noise noise;              /* of all pictures */
    struct staging *staging;               /* rows of a picture that the device is reading */
    struct planes lowpass;                 /* of a picture's fine levels; after pass 1 the merged one */
    struct value merged;                   /* pyramid of weighted sums, then of means */
    struct planes weights[1 + MAX_LEVELS]; /* sums of weights; [0]: of the lowpass (kernels/focus.cl) */
    struct planes energies;                /* of a picture's last level so far */
    struct planes measures;                /* detail of a picture, for each coefficient of level 1 */
    struct planes sharpest;                /* largest measure and its picture (kernels/focus.cl) */
};

/* ---------------------------------------------------------------- sums of subbands */

/* Adds a level of a picture to `rows` of the sums, which are allocated for the first picture. */
static enum status add_level(struct focus *focus, bool is_first_picture, int level,
                             const struct planes *subbands, struct interval rows, struct error *error)
{
    struct run *run = focus->run;
    struct planes *sums = &focus->merged.planes[level], *weights = &focus->weights[level], energies;
    const int width = subbands->width, height = subbands->height;
    const struct interval own_rows = planes_rows(subbands);
    const cl_int is_first = is_first_picture, colours = shape_is_colour(&focus->whole) ? 3 : 1;
    /* The variance of the noise of the brightness. */
    const float *sigma = focus->noise.sigma[level - 1];
    double variance = (double)sigma[0] * (double)sigma[0];
    if (colours > 1 && focus->noise.is_separate)
        variance = (variance + (double)sigma[1] * (double)sigma[1] + (double)sigma[2] * (double)sigma[2]) / 3;
    if (isnan(focus->pictures->noise))
        variance -= INVISIBLE_SIGMA * INVISIBLE_SIGMA;
    const double least = fmax(MIN_SIGMA, MIN_SIGMA_OF_DETAIL * focus->pictures->detail);
    const double factor = 1 / (SOFTNESS * colours * WINDOW_SUM * fmax(variance, least * least));
    const int exponent = ilogb(factor) / 2;
    const cl_float scale = (cl_float)ldexp(1, exponent), rest = (cl_float)ldexp(factor, -2 * exponent);
    enum status status = run_planes(run, width, height, own_rows, ORIENTATIONS, 1, &energies, error);
    if (status == STATUS_OK && is_first)
        status = run_planes(run, width, height, rows, SUBBAND_LAYERS, subbands->channels, sums, error);
    if (status == STATUS_OK && is_first)
        status = run_planes(run, width, height, rows, SUBBAND_LAYERS, 1, weights, error);
    struct kernel_launch work =
        run_work(run, "focus", level > ENERGY_LEVELS ? "focus_coarsen" : "focus_energy", &energies);
    work.vector_width = VECTOR_WINDOW;
    if (status == STATUS_OK && level > ENERGY_LEVELS)
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&focus->energies), ARG_PLANES(&energies));
    else if (status == STATUS_OK) {
        work.depth = 1;
        status = LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(&energies), ARG(colours),
                        ARG(scale), ARG(rest));
        work.depth = ORIENTATIONS;
    }
    /* Levels 2 and 3 add the energies of the finer level. Pass 1 begins above the fine levels; the self-test
     * has more of them. */
    if (status == STATUS_OK && level > 1 && level <= FINE_LEVELS && level <= focus->fine.levels) {
        work.kernel = "focus_add_finer";
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&focus->energies), ARG_PLANES(&energies));
    }
    work.kernel = "focus_add";
    work.height = sums->rows;
    if (status == STATUS_OK)
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&energies), ARG_PLANES(subbands),
                        ARG_PLANES(weights), ARG_PLANES(sums), ARG(is_first));
    if (status == STATUS_OK && focus->measures.rows > 0 && level <= focus->fine.levels) {
        const cl_int shift = level - 1;
        work = run_work(run, "focus", "focus_measure", &focus->measures);
        work.vector_width = VECTOR_WINDOW;
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&energies), ARG_PLANES(&focus->measures),
                        ARG(shift));
    }
    /* The next level, or the lowpass, reads the energies. */
    planes_release(&run->pool, &focus->energies);
    focus->energies = energies;
    return status;
}

/* Adds the lowpass of a picture to the mean, which is allocated for the first picture. Called after its
 * levels. */
static enum status add_lowpass(struct focus *focus, bool is_first_picture, const struct planes *lowpass,
                               struct error *error)
{
    struct run *run = focus->run;
    struct planes *mean = &focus->merged.planes[0], *weights = &focus->weights[0];
    const int width = lowpass->width, height = lowpass->height;
    const struct interval all = rows_full(height);
    const cl_int is_first = is_first_picture;
    if (is_first && (run_planes(run, width, height, all, 1, lowpass->channels, mean, error) != STATUS_OK ||
                     run_planes(run, width, height, all, 2, 1, weights, error) != STATUS_OK))
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "focus", "focus_lowpass", mean);
    work.vector_width = VECTOR_WINDOW;
    work.depth = 1;
    return LAUNCH(run->device, &work, error, ARG_PLANES(&focus->energies), ARG_PLANES(lowpass),
                  ARG_PLANES(weights), ARG_PLANES(mean), ARG(is_first));
}

/* Updates focus->sharpest by the measures of a picture. */
static enum status update_sharpest(struct focus *focus, int picture, struct error *error)
{
    const cl_float number = (cl_float)picture;
    struct kernel_launch work = run_work(focus->run, "focus", "focus_sharpest", &focus->measures);
    work.vector_width = VECTOR_WINDOW;
    return LAUNCH(focus->run->device, &work, error, ARG_PLANES(&focus->measures),
                  ARG_PLANES(&focus->sharpest), ARG(number));
}

/* Divides the sums of a level by its weights, which are released. */
static enum status divide_level(struct focus *focus, int level, struct error *error)
{
    struct run *run = focus->run;
    struct planes *weights = &focus->weights[level];
    struct kernel_launch work = run_work(run, "focus", "focus_divide", weights);
    work.vector_width = VECTOR_WINDOW;
    work.depth = ORIENTATIONS;
    enum status status =
        LAUNCH(run->device, &work, error, ARG_PLANES(weights), ARG_PLANES(&focus->merged.planes[level]));
    planes_release(&run->pool, weights);
    return status;
}

/* ---------------------------------------------------------------- rows of a picture */

/* Loads rows of a picture and enqueues the transform to the fine levels, with the rows in `needed`. Loading
 * overlaps with the kernels of the rows before, whose staging memory is released. */
static enum status forward_rows(struct focus *focus, int picture, const struct dtcwt_rows *needed,
                                struct value *pyramid, struct error *error)
{
    const struct focus_pictures *pictures = focus->pictures;
    struct run *run = focus->run;
    struct value image = {.shape = pictures->shape, .rows = needed->image};
    struct planes *planes = &image.planes[0];
    *planes = (struct planes){.memory = MEMORY_BUFFER,
                              .width = image.shape.width,
                              .height = image.shape.height,
                              .first_row = image.rows.begin,
                              .rows = image.rows.end - image.rows.begin,
                              .layers = 1,
                              .channels = image.shape.channels,
                              .pitch = ceil_div(image.shape.width, PITCH_UNIT) * PITCH_UNIT};
    const size_t bytes = planes_bytes(planes);
    struct staging *staging = staging_acquire(&run->stagings, bytes, error);
    if (!staging)
        return STATUS_FAILED;
    enum status status =
        pictures->load(pictures->context, picture, image.rows, staging->host, (size_t)planes->pitch,
                       (size_t)planes_geometry(planes).plane_rows, error);
    if (status == STATUS_OK)
        status = staging_unmap(staging, bytes, error);
    planes->object = staging->object;
    pyramid->rows = image.rows;
    if (status == STATUS_OK)
        status = dtcwt_forward(run, &image, needed, pyramid, error);
    if (status == STATUS_OK)
        status =
            staging_map(staging, 0, error); /* 0: nothing is read back, the next use waits for the kernels */
    staging_release(&run->stagings, focus->staging);
    focus->staging = staging;
    return status;
}

/* Returns the number of rows of pass 2 that are merged at a time. */
static int rows_at_a_time(const struct focus *focus)
{
    const struct shape *shape = &focus->pictures->shape;
    /* Floats of a pixel: 1 + 4 + 4 of each channel for a picture, its subbands and their sums; 4 weights. */
    const double row = (double)sizeof(cl_float) * shape->width * (9 * shape->channels + 4);
    const int limit = focus->run->limits.slice, rows = (int)fmax(ROWS_BYTES / row, MIN_ROWS);
    return limit > 0 && limit < rows ? limit : rows;
}

/* ---------------------------------------------------------------- pass 1 */

/* Counts the energies of levels `first` to `last` of a picture, for the noise: the rows that belong to rows
 * `part` of the image. */
static enum status count_levels(struct focus *focus, int first, int last, struct interval part,
                                const struct value *pyramid, cl_mem counters, struct error *error)
{
    enum status status = STATUS_OK;
    for (int level = first; status == STATUS_OK && level <= last; level++) {
        const struct planes *subbands = &pyramid->planes[level];
        const struct interval own = dtcwt_part_rows(part, focus->whole.height, subbands->height);
        if (own.begin < own.end)
            status = noise_count(focus->run, &focus->whole, counters, level, subbands, false, NULL, NULL, own,
                                 error);
    }
    return status;
}

/* Computes the lowpass of a picture's fine levels. With `counters`, counts the energies of these levels. */
static enum status find_lowpass(struct focus *focus, int picture, cl_mem counters, struct error *error)
{
    struct run *run = focus->run;
    const struct shape *fine = &focus->fine;
    const int step = rows_at_a_time(focus), rows = dtcwt_lowpass_size(fine->height, fine->levels);
    enum status status = STATUS_OK;
    for (int begin = 0; status == STATUS_OK && begin < fine->height; begin += step) {
        const struct interval part = {begin, begin + step < fine->height ? begin + step : fine->height};
        const struct interval own = dtcwt_part_rows(part, fine->height, rows);
        const struct dtcwt_rows needed = noise_part_rows(fine, part, counters != NULL);
        struct value pyramid = {.shape = focus->fine};
        status = forward_rows(focus, picture, &needed, &pyramid, error);
        if (status == STATUS_OK && counters)
            status = count_levels(focus, 1, fine->levels, part, &pyramid, counters, error);
        if (status == STATUS_OK && own.begin < own.end)
            status = tiles_copy(run, &pyramid.planes[0], own,
                                (struct columns){.count = pyramid.planes[0].width}, &focus->lowpass, error);
        value_release(run, &pyramid);
        run_end_stage(run);
    }
    return status;
}

/* Adds the coarse levels of a picture. With `counters`, estimates the noise before. */
static enum status add_coarse(struct focus *focus, bool is_first_picture, cl_mem counters,
                              struct error *error)
{
    struct run *run = focus->run;
    const int first = focus->fine.levels + 1;
    struct value pyramid = {.shape = focus->whole, .rows = rows_full(focus->whole.height)};
    struct dtcwt_rows needed = {.positions = 0};
    dtcwt_inverse_rows(&focus->whole, pyramid.rows, &needed);
    dtcwt_forward_rows(&focus->whole, &needed);
    enum status status =
        dtcwt_forward_from(run, focus->fine.levels, &focus->lowpass, &needed, &pyramid, error);
    if (status == STATUS_OK && counters)
        status = count_levels(focus, first, focus->whole.levels, pyramid.rows, &pyramid, counters, error);
    if (status == STATUS_OK && counters)
        status = noise_find(run, &focus->whole, counters, &focus->noise, error);
    for (int level = first; status == STATUS_OK && level <= focus->whole.levels; level++)
        status = add_level(focus, is_first_picture, level, &pyramid.planes[level],
                           rows_full(pyramid.planes[level].height), error);
    if (status == STATUS_OK)
        status = add_lowpass(focus, is_first_picture, &pyramid.planes[0], error);
    value_release(run, &pyramid);
    run_end_stage(run);
    return status;
}

/* Pass 1: merges the coarse levels of all pictures, beginning with the one whose noise is estimated. */
static enum status merge_coarse(struct focus *focus, struct error *error)
{
    struct run *run = focus->run;
    const int width = dtcwt_lowpass_size(focus->fine.width, focus->fine.levels),
              height = dtcwt_lowpass_size(focus->fine.height, focus->fine.levels);
    const bool estimates = isnan(focus->pictures->noise);
    cl_mem counters = NULL;
    enum status status = STATUS_OK;
    if (estimates)
        status = counters_create(run->device, noise_counters(&focus->whole), &counters, error);
    if (status == STATUS_OK)
        status = run_planes(run, width, height, rows_full(height), 1, focus->fine.channels, &focus->lowpass,
                            error);
    for (int i = 0; status == STATUS_OK && i < focus->pictures->count; i++) {
        const int picture = (focus->pictures->smoothest + i) % focus->pictures->count;
        status = find_lowpass(focus, picture, i == 0 ? counters : NULL, error);
        if (status == STATUS_OK)
            status = add_coarse(focus, i == 0, i == 0 ? counters : NULL, error);
    }
    memory_release(counters);
    /* Invert the merged coarse levels. The result replaces focus->lowpass. */
    struct planes lowpass;
    if (status != STATUS_OK)
        return status;
    for (int level = focus->whole.levels; status == STATUS_OK && level > focus->fine.levels; level--)
        status = divide_level(focus, level, error);
    if (status == STATUS_OK)
        status = dtcwt_inverse_to(run, focus->fine.levels, NULL, &focus->merged, &lowpass, error);
    if (status == STATUS_OK) {
        run_scratch_keep(run, &lowpass);
        planes_release(&run->pool, &focus->lowpass);
        focus->lowpass = lowpass;
    }
    value_release(run, &focus->merged);
    run_end_stage(run);
    return status;
}

/* ---------------------------------------------------------------- pass 2 */

/* Adds the fine levels of all pictures for some rows of the result. `rows` has the rows that the inverse
 * reads. */
static enum status add_fine(struct focus *focus, const struct dtcwt_rows *rows, struct error *error)
{
    struct run *run = focus->run;
    struct dtcwt_rows needed = *rows;
    enum status status = STATUS_OK;
    /* From coarse to fine: the energies of a level need one more row on each side, and the next finer level
     * needs the children of all these rows, whose energies are added. */
    struct interval finer = {focus->fine.height, 0};
    for (int level = focus->fine.levels; level > 0; level--) {
        const struct interval own = {rows->subbands[level].begin - 1, rows->subbands[level].end + 1};
        needed.subbands[level] =
            interval_clip(interval_union(own, finer), dtcwt_lowpass_size(focus->fine.height, level) / 2);
        finer = (struct interval){2 * needed.subbands[level].begin, 2 * needed.subbands[level].end};
    }
    dtcwt_forward_rows(&focus->fine, &needed);
    for (int i = 0; status == STATUS_OK && i < focus->pictures->count; i++) {
        struct value pyramid = {.shape = focus->fine};
        status = forward_rows(focus, i, &needed, &pyramid, error);
        for (int level = 1; status == STATUS_OK && level <= focus->fine.levels; level++)
            status = add_level(focus, i == 0, level, &pyramid.planes[level], rows->subbands[level], error);
        if (status == STATUS_OK && focus->measures.rows > 0)
            status = update_sharpest(focus, i, error);
        value_release(run, &pyramid);
        run_end_stage(run);
    }
    for (int level = 1; status == STATUS_OK && level <= focus->fine.levels; level++)
        status = divide_level(focus, level, error);
    return status;
}

/* Allocates focus->measures and focus->sharpest for rows of the image. */
static enum status begin_sharpest(struct focus *focus, struct interval part, struct error *error)
{
    const int width = dtcwt_lowpass_size(focus->fine.width, 1) / 2,
              height = dtcwt_lowpass_size(focus->fine.height, 1) / 2;
    const struct interval rows = {part.begin / 2, ceil_div(part.end, 2)};
    enum status status = run_planes(focus->run, width, height, rows, 1, 1, &focus->measures, error);
    return status == STATUS_OK ? run_planes(focus->run, width, height, rows, 2, 1, &focus->sharpest, error)
                               : status;
}

/* Stores the indices in focus->sharpest and releases the planes. */
static enum status end_sharpest(struct focus *focus, struct error *error)
{
    const struct focus_pictures *pictures = focus->pictures;
    const struct planes *sharpest = &focus->sharpest;
    const struct interval rows = planes_rows(sharpest);
    float *host = allocate(planes_bytes(sharpest), "the depth map", error);
    enum status status = host ? planes_read(focus->run->device, sharpest, host, error) : STATUS_FAILED;
    const struct geometry at = planes_geometry(sharpest);
    if (status == STATUS_OK)
        status =
            pictures->store_sharpest(pictures->context, rows, host + (size_t)at.plane_rows * (size_t)at.pitch,
                                     (size_t)at.pitch, error);
    free(host);
    planes_release(&focus->run->pool, &focus->measures);
    planes_release(&focus->run->pool, &focus->sharpest);
    return status;
}

/* Pass 2: merges rows of the result and stores them. */
static enum status merge_rows(struct focus *focus, struct interval part, struct error *error)
{
    struct run *run = focus->run;
    const struct focus_pictures *pictures = focus->pictures;
    struct value out = {.shape = pictures->shape, .rows = part};
    struct planes *lowpass = &focus->merged.planes[0];
    struct dtcwt_rows rows = {.positions = 0};
    dtcwt_inverse_rows(&focus->fine, part, &rows);
    const struct interval coarse = rows.lowpass[focus->fine.levels];
    enum status status = pictures->store_sharpest ? begin_sharpest(focus, part, error) : STATUS_OK;
    if (status == STATUS_OK)
        status = add_fine(focus, &rows, error);
    if (status == STATUS_OK && pictures->store_sharpest)
        status = end_sharpest(focus, error);
    if (status == STATUS_OK)
        status = run_planes(run, dtcwt_lowpass_size(focus->fine.width, focus->fine.levels),
                            dtcwt_lowpass_size(focus->fine.height, focus->fine.levels), coarse, 1,
                            focus->lowpass.channels, lowpass, error);
    if (status == STATUS_OK)
        status = tiles_copy(run, &focus->lowpass, coarse, (struct columns){.count = lowpass->width}, lowpass,
                            error);
    focus->merged.shape = focus->fine;
    if (status == STATUS_OK)
        status = dtcwt_inverse(run, NULL, &focus->merged, &out, error);
    float *host = NULL;
    if (status == STATUS_OK) {
        host = allocate(planes_bytes(&out.planes[0]), "rows of the merged picture", error);
        status = host ? planes_read(run->device, &out.planes[0], host, error) : STATUS_FAILED;
    }
    if (status == STATUS_OK) {
        const struct geometry at = planes_geometry(&out.planes[0]);
        status = event_log_collect(run->device->event_log, event_log_mark(run->device->event_log), error);
        if (status == STATUS_OK)
            status = pictures->store(pictures->context, part, host, (size_t)at.pitch, (size_t)at.plane_rows,
                                     error);
    }
    free(host);
    value_release(run, &out);
    value_release(run, &focus->merged);
    run_end_stage(run);
    return status;
}

/* Returns the state for pictures. The caller sets the numbers of levels, which are 2 here. */
static struct focus focus_make(struct run *run, const struct focus_pictures *pictures)
{
    struct focus focus = {.run = run, .pictures = pictures, .whole = pictures->shape};
    focus.whole.kind = KIND_PYRAMID;
    for (int i = 0; i < MAX_LEVELS * 4; i++)
        focus.noise.sigma[i / 4][i % 4] = (float)pictures->noise;
    /* No row of padding at the top of a level, so that levels can be cut into rows. */
    focus.whole.pad_at_end = true;
    focus.whole.levels = 2;
    focus.fine = focus.merged.shape = focus.whole;
    return focus;
}

/* Releases the memory of the state, also after a failure. */
static void focus_free(struct focus *focus)
{
    struct pool *pool = &focus->run->pool;
    staging_release(&focus->run->stagings, focus->staging);
    value_release(focus->run, &focus->merged);
    planes_release(pool, &focus->lowpass);
    planes_release(pool, &focus->measures);
    planes_release(pool, &focus->sharpest);
    planes_release(pool, &focus->energies);
    for (int level = 0; level <= MAX_LEVELS; level++)
        planes_release(pool, &focus->weights[level]);
}

enum status focus_merge(struct run *run, const struct focus_pictures *pictures, struct error *error)
{
    const enum memory memory = run->memory;
    const struct shape *shape = &pictures->shape;
    struct focus focus = focus_make(run, pictures);
    const int side = shape->width < shape->height ? shape->width : shape->height;
    while (focus.whole.levels < MAX_LEVELS && side >> (focus.whole.levels + 1) >= COARSEST_SIDE)
        focus.whole.levels++;
    focus.fine = focus.whole;
    focus.fine.levels = focus.whole.levels > FINE_LEVELS ? FINE_LEVELS : focus.whole.levels - 1;
    focus.merged.shape = focus.whole;
    run->memory = MEMORY_BUFFER;
    enum status status = merge_coarse(&focus, error);
    const int step = rows_at_a_time(&focus);
    for (int begin = 0; status == STATUS_OK && begin < shape->height; begin += step)
        status = merge_rows(
            &focus, (struct interval){begin, begin + step < shape->height ? begin + step : shape->height},
            error);
    focus_free(&focus);
    run_end_stage(run);
    run->memory = memory;
    return status;
}

/* Merges an image in buffers with itself at half the contrast. params: standard deviation of the noise. */
static enum status focus_test_buffers(struct run *run, const void *params, const struct value *in,
                                      struct value *out, struct error *error)
{
    const struct focus_pictures pictures = {.shape = in->shape, .count = 2, .noise = *(const double *)params};
    struct focus focus = focus_make(run, &pictures);
    focus.whole.levels = ENERGY_LEVELS + 1; /* so that all kernels are launched */
    focus.fine = focus.merged.shape = focus.whole;
    const struct interval all = rows_full(in->shape.height);
    const int levels = focus.fine.levels;
    const cl_float factor = 0.5F, offset = 0;
    const cl_int alpha = -1;
    struct value half = {.shape = in->shape, .rows = all};
    struct dtcwt_rows rows = {.positions = 0};
    dtcwt_inverse_rows(&focus.fine, all, &rows);
    struct dtcwt_rows needed = rows;
    dtcwt_forward_rows(&focus.fine, &needed);
    enum status status = run_output(run, &half, error);
    struct kernel_launch work = run_work(run, "point", "linear", &half.planes[0]);
    if (status == STATUS_OK)
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(&half.planes[0]),
                        ARG(factor), ARG(offset), ARG(alpha));
    if (status == STATUS_OK)
        status = begin_sharpest(&focus, all, error);
    for (int i = 0; status == STATUS_OK && i < 2; i++) {
        struct value pyramid = {.shape = focus.fine, .rows = all};
        status = dtcwt_forward(run, i == 0 ? in : &half, &needed, &pyramid, error);
        for (int level = 1; status == STATUS_OK && level <= levels; level++)
            status = add_level(&focus, i == 0, level, &pyramid.planes[level], rows.subbands[level], error);
        if (status == STATUS_OK)
            status = update_sharpest(&focus, i, error);
        if (status == STATUS_OK)
            status = add_lowpass(&focus, i == 0, &pyramid.planes[0], error);
        value_release(run, &pyramid);
    }
    for (int level = 1; status == STATUS_OK && level <= levels; level++)
        status = divide_level(&focus, level, error);
    if (status == STATUS_OK)
        status = dtcwt_inverse(run, NULL, &focus.merged, out, error);
    value_release(run, &half);
    focus_free(&focus);
    return status;
}

enum status focus_self_test(struct run *run, double noise, const struct value *in, struct value *out,
                            struct error *error)
{
    return run_in_buffers(run, focus_test_buffers, &noise, in, out, error);
}
