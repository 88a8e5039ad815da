/* Makes the plan for one image: the shapes after each step, and the rows of a slice.
 *
 * plan_slices begins with the whole image, or what a GPU needs to overlap copies with kernels, and reduces
 * the rows of a slice until its memory fits. No formula models that memory: a dry run of the stages counts
 * their allocations (slice.h). A rough estimate, which takes less time, comes first.
 *
 * A slice on a CPU device should fit the caches. Each slice computes its halo again, so a chain with a large
 * halo has higher slices and a larger budget. Tried and lost: a search by bisection for the largest slice
 * that fits gains nothing over steps of a quarter. Processing such chains whole on a CPU is slower, too: the
 * first access to fresh memory pages costs more than computing the halo's rows twice. */
#include "chain/planner.h"

#include "chain/coefficients.h"
#include "chain/slice.h"
#include "image/writer.h"

#include <math.h>
#include <stdio.h>

enum { SIZE_TEXT = 32 };      /* bytes of a size in a message */
enum { LEVEL_PADDING = 8 };   /* rows by which the levels of a wavelet transform are padded */
enum { DRY_RUN_SLICES = 32 }; /* slices in a dry run in addition to the first one */

/* Slices have a multiple of this number of rows. With a large halo that is 64, so that all slices begin at
 * the same phase of the first six levels of a wavelet transform. */
enum { SLICE_UNIT = 16, LARGE_HALO_UNIT = 64 };

/* Most bytes of a slice on a CPU device: a share of the caches of two cores (docs/performance.md), or, with a
 * large halo, of the host's memory. */
static const double CACHE_BUDGET = 40e6, LARGE_HALO_BUDGET = 0.3e9;

/* ---------------------------------------------------------------- memory */

/* Most memory that a plan with its present slices needs at one time, in bytes. */
struct memory_need {
    struct dry_run_memory stages; /* on the device */
    uint64_t host_planes;         /* part of `stages` in the host's memory */
    uint64_t staging;             /* staging buffers */
    uint64_t kept_input;          /* part of `staging`: the whole input, if the first step moves samples */
    uint64_t codecs; /* reader and writer, and input rows that are kept for the next slice (flow.c) */
};

/* Returns the bytes of the staging buffers at one end of the chain: for `rows` rows of an image, or for the
 * largest page of a pyramid. */
static uint64_t staging_bytes(const struct shape *shape, enum sample_type type, int rows, int slices)
{
    if (shape->kind == KIND_IMAGE)
        return (uint64_t)transfer_pitch(shape->width, shape->channels, type) * (uint64_t)rows *
               (uint64_t)shape->images * (slices > 1 ? PLAN_SLOTS : 1);
    const struct coefficient_page page = coefficients_page(shape, 1);
    return (uint64_t)transfer_pitch(page.width, shape->channels, page.type) * (uint64_t)page.height;
}

/* Returns the bytes of the writer, mostly for compression. */
static uint64_t writer_bytes(const struct plan *plan, const struct plan_request *request)
{
    const struct shape *out = plan_output(plan);
    struct image_info info = {.width = (uint32_t)out->width,
                              .height = (uint32_t)out->height,
                              .channels = out->channels,
                              .type = out->kind == KIND_PYRAMID ? SAMPLE_COMPLEX : plan->out,
                              .compression = request->compression,
                              .lossless = request->lossless};
    return request->writer.format ? writer_memory(&request->writer, &info) : 0;
}

/* Finds the memory need by a dry run. run->second has its own planes and staging buffers. */
static enum status find_memory_need(const struct plan *plan, const struct plan_request *request,
                                    const struct run *run, struct memory_need *need, struct error *error)
{
    const struct shape *in = &plan->shapes[0], *out = plan_output(plan);
    const uint64_t runs = run->second ? 2 : 1,
                   read = staging_bytes(in, plan->in, plan->input_rows,
                                        plan->raster_steps > 0 ? 1 : plan->slices);
    const struct conversion from = {.type = plan->in,
                                    .channels = in->channels,
                                    .alpha = in->alpha,
                                    .has_range = plan->converted}, /* also set for linear light */
        to = {
            .type = plan->out, .channels = out->channels, .alpha = out->alpha, .has_range = plan->converted};
    need->staging = runs * (read + staging_bytes(out, plan->out, plan->slice_rows, plan->slices));
    need->kept_input = plan->raster_steps > 0 ? runs * read : 0;
    need->codecs = request->reader_memory + writer_bytes(plan, request);
    if (in->kind == KIND_IMAGE)
        need->codecs +=
            (uint64_t)transfer_pitch(in->width, in->channels, plan->in) * (uint64_t)plan->overlap_rows;
    need->stages = (struct dry_run_memory){0};
    need->host_planes = 0;
    enum status status = STATUS_OK;
    for (const struct run *at = run; status == STATUS_OK && at; at = at->second) {
        struct dry_run_memory memory;
        status = slice_dry_run(plan, at, &from, &to, DRY_RUN_SLICES, false, &memory, error);
        need->stages.planes += memory.planes;
        need->host_planes += at->device->shares_memory ? memory.planes : 0;
        need->stages.largest = memory.largest > need->stages.largest ? memory.largest : need->stages.largest;
    }
    return status;
}

/* Returns the bytes of the need that are in the host's memory. */
static uint64_t host_bytes(const struct memory_need *need)
{
    return need->staging + need->codecs + need->host_planes;
}

/* Returns the bytes of a slice on the device: planes and staging buffers, without the kept input, which does
 * not depend on the slice. If the device shares the host's memory, reader and writer count, too. */
static uint64_t device_bytes(const struct run *run, const struct memory_need *need)
{
    return need->stages.planes + need->staging - need->kept_input +
           (run->device->shares_memory ? need->codecs : 0);
}

/* Returns the size in whole KiB below 10 MiB, else in whole MiB, rounded up. */
static uint64_t round_size(uint64_t bytes)
{
    const uint64_t unit = bytes < 10 << 20 ? 1 << 10 : 1 << 20;
    return (bytes + unit - 1) / unit * unit;
}

/* Writes the size, rounded like round_size. */
static void size_text(char *text, uint64_t bytes)
{
    const bool is_small = bytes < 10 << 20;
    snprintf(text, SIZE_TEXT, "%llu %s", (unsigned long long)(round_size(bytes) >> (is_small ? 10 : 20)),
             is_small ? "KiB" : "MiB");
}

/* Fails because the need exceeds --memory-limit. The message names a limit that is enough. */
static enum status fail_limit(const struct plan *plan, const struct plan_request *request,
                              const struct run *run, const struct memory_need *need, struct error *error)
{
    /* Reader and writer use a share of the limit, so their memory grows with it. Raise the limit until it is
     * enough. The loop ends, as the reader decodes at most a page ahead, here counted as four. */
    const struct shape *in = &plan->shapes[0];
    const uint64_t others = host_bytes(need) - writer_bytes(plan, request) - request->reader_memory,
                   max_ahead = request->reader_memory + 4 * staging_bytes(in, plan->in, in->height, 1);
    struct plan_request raised = *request;
    uint64_t needed = host_bytes(need), limit = 0;
    while (needed > limit) {
        limit = round_size(needed);
        const double growth = (double)limit / (double)run->limits.host;
        const uint64_t share = (uint64_t)(2 * growth * (double)request->reader_limit),
                       ahead = share < max_ahead ? share : max_ahead;
        raised.writer.memory = 1 + (uint64_t)(growth * (double)request->writer.memory);
        needed = others + writer_bytes(plan, &raised) +
                 (ahead > request->reader_memory ? ahead : request->reader_memory);
    }
    char limit_text[SIZE_TEXT], present_text[SIZE_TEXT];
    size_text(limit_text, limit);
    size_text(present_text, run->limits.host);
    return fail_memory(error, "needs %s of memory%s%s, and --memory-limit is %s; raise it", limit_text,
                       run->second ? " with --verify" : "",
                       plan->sliceable ? " even in the smallest slices"
                                       : " as the image cannot be processed in slices",
                       present_text);
}

/* ---------------------------------------------------------------- slices */

/* Returns the number of rows of value `index` that one output row in the middle of the image needs, scaled to
 * output rows. */
static int find_halo(const struct plan *plan, size_t index)
{
    struct interval rows[MAX_CHAIN + 1] = {{0, 0}};
    const int height = plan_output(plan)->height, middle = height / 2;
    plan_rows(plan, (struct interval){middle, middle + 1}, rows);
    return (int)((double)(rows[index].end - rows[index].begin) * height / plan->shapes[index].height);
}

/* Estimates the bytes on the device for a slice in the middle of the image. Every value counts twice, for
 * scratch memory. *largest receives the bytes of the largest value. */
static double estimate_bytes(const struct plan *plan, const struct run *run, int slice_rows, double *largest)
{
    struct interval rows[MAX_CHAIN + 1] = {{0, 0}};
    const int begin = (plan_output(plan)->height - slice_rows) / 2;
    double sum = 0;
    *largest = 0;
    plan_rows(plan, (struct interval){begin, begin + slice_rows}, rows);
    for (size_t i = plan->raster_steps; i <= plan->chain->count; i++) {
        const struct shape *shape = &plan->shapes[i];
        const int channels = run->memory == MEMORY_IMAGE ? 4 : shape->channels;
        const double bytes = 2 * 4.0 * shape->width * channels * (rows[i].end - rows[i].begin);
        sum += bytes;
        *largest = fmax(*largest, bytes);
    }
    return sum;
}

/* Returns the rows of a slice for GPUs: a twelfth of the image, but planes of 16 to 64 MB. 16 MB of planes
 * are 4 MB of 8-bit samples, which take 75 µs to copy at 55 GB/s: about the time to enqueue a slice, at 4 µs
 * a launch. With a dozen slices, only a twelfth of the copying at either end does not overlap with kernels.
 * Larger slices gain nothing, and pinning costs 0.37 ms a MB, as much as a pinned MB saves in five uses. */
static int transfer_rows(const struct plan *plan)
{
    const struct shape *in = &plan->shapes[plan->raster_steps], *out = plan_output(plan);
    const double row =
        fmax(4.0 * in->width * in->channels * in->height / out->height, 4.0 * out->width * out->channels);
    const double rows = fmin(fmax(row * out->height / 12, 16e6), 64e6) / row;
    return rows < 1 ? 1 : rows < out->height ? (int)rows : out->height;
}

/* Bounds of the loops in plan_slices. */
struct slice_bounds {
    bool has_large_halo; /* the budget is compared with dry runs, otherwise with estimates */
    double budget;       /* most bytes of a slice that has more than `least` rows */
    int least;           /* fewest rows of a slice, unless memory is short */
    int unit;            /* slices have a multiple of this number of rows */
};

/* Chooses the bounds. At most a third of a slice's input rows are halo; 70% if the halo is large, or costs
 * little, as the first stage loads only the samples that it needs (`gathers` of struct stage_caps). */
static struct slice_bounds find_bounds(const struct plan *plan, const struct run *run)
{
    const struct device *device = run->device;
    const size_t first = plan->raster_steps;
    const int halo = find_halo(plan, first);
    double largest;
    struct slice_bounds bounds = {.budget = 0.5 * (double)run->limits.device};
    bounds.has_large_halo =
        plan_has_large_halo(plan) ||
        (device->shares_memory && estimate_bytes(plan, run, 2 * halo, &largest) > LARGE_HALO_BUDGET / 2);
    if (bounds.has_large_halo && device->shares_memory) {
        bounds.budget = fmin(bounds.budget, LARGE_HALO_BUDGET);
        if (run->limits.host > 0)
            bounds.budget = fmin(bounds.budget, (double)run->limits.host);
    } else if (!bounds.has_large_halo && device->variant == VARIANT_CPU)
        bounds.budget = fmin(bounds.budget, CACHE_BUDGET);
    bounds.least = bounds.has_large_halo ? halo * 3 / 7 : 2 * halo;
    if (!bounds.has_large_halo && plan->chain->count > first &&
        step_caps(&plan->chain->steps[first]).gathers) {
        /* The first stage also computes the halo of the stages after it: at most a seventh of those rows.
         * With a third, --deskew --threshold sauvola of 35 megapixels takes 1.06 times as long. */
        const int rest = 6 * find_halo(plan, first + 1);
        bounds.least = rest > halo * 3 / 7 ? rest : halo * 3 / 7;
    }
    bounds.unit = bounds.has_large_halo ? LARGE_HALO_UNIT : SLICE_UNIT;
    return bounds;
}

/* Returns the next smaller number of rows to try: three quarters, rounded up to the unit if that is smaller
 * than `slice`. With halves, --denoise had 256 rows where 320 fit, and computed 9% more rows. */
static int lower_slice(int slice, int unit)
{
    const int lower = slice - ceil_div(slice, 4), rounded = ceil_div(lower, unit) * unit;
    return rounded < slice ? rounded : lower;
}

/* Chooses the rows of a slice: reduces them until a slice fits the budget, the device and --memory-limit.
 * Fails if one row does not fit --memory-limit; an allocation that the device refuses fails later. */
static enum status plan_slices(struct plan *plan, const struct plan_request *request, struct run *run,
                               struct error *error)
{
    const int height = plan_output(plan)->height, forced = run->device->environment->slice;
    const uint64_t host_limit = run->limits.host > 0 ? run->limits.host : UINT64_MAX;
    const struct slice_bounds bounds = find_bounds(plan, run);
    const bool has_budget = plan->sliceable && forced == 0;
    const struct device *device = run->device;

    /* Start with the whole image, or with what CLIMG_SLICE or a GPU needs. */
    int slice = height;
    if (plan->sliceable && forced > 0)
        slice = forced;
    else if (has_budget && !bounds.has_large_halo && device->variant != VARIANT_CPU)
        slice = transfer_rows(plan);
    if (has_budget && !bounds.has_large_halo && slice < bounds.least)
        slice = bounds.least;
    if (plan->sliceable && run->limits.slice > 0 && slice > run->limits.slice)
        slice = run->limits.slice;
    slice = slice < height ? slice : height;
    if (run->limits.host > 0)
        run_clear(run); /* free memory of earlier pages */

    /* Reduce it until the estimate and then a dry run fit. */
    for (;; slice = lower_slice(slice, bounds.unit)) {
        double largest;
        plan_set_slice(plan, slice);
        const double bytes = estimate_bytes(plan, run, slice, &largest);
        const bool is_smallest = !plan->sliceable || slice == 1,
                   is_too_high = run->memory == MEMORY_IMAGE &&
                                 (size_t)plan->tallest + LEVEL_PADDING > device->image_height,
                   may_shrink = has_budget && lower_slice(slice, bounds.unit) >= bounds.least,
                   is_estimated_over = may_shrink && !bounds.has_large_halo &&
                                       (bytes > bounds.budget || largest > (double)device->max_allocation);
        if (!is_smallest && (is_estimated_over || is_too_high))
            continue;
        /* A dry run takes longer than the kernels of a small image: leave it out far below all limits. */
        if (run->limits.host == 0 && largest < 0.25 * (double)device->max_allocation &&
            bytes < 0.1 * (bounds.has_large_halo ? bounds.budget : (double)run->limits.device))
            return STATUS_OK;

        struct memory_need need;
        if (find_memory_need(plan, request, run, &need, error) != STATUS_OK)
            return STATUS_FAILED;
        const bool fits_host = host_bytes(&need) <= host_limit,
                   fits = fits_host && need.stages.largest <= device->max_allocation &&
                          device_bytes(run, &need) <= run->limits.device - run->limits.device / 8,
                   is_over_budget = may_shrink && bounds.has_large_halo &&
                                    (double)device_bytes(run, &need) > (run->second ? 2 : 1) * bounds.budget;
        if (is_smallest && !fits_host)
            return fail_limit(plan, request, run, &need, error);
        if (is_smallest || (fits && !is_over_budget))
            return STATUS_OK;
    }
}

/* True if the first or last step of a chain reads or writes planes of that shape in opponent colours. */
static bool is_opponent(const struct step *step, const struct shape *shape)
{
    return step_caps(step).opponent && shape->kind == KIND_IMAGE && shape_is_colour(shape) &&
           !shape->may_have_missing;
}

/* True if the image can be processed in slices. Not with --edge wrap, as the halo of the first slice would be
 * the last rows; nor groups, which are small; nor coefficient files, whose pages are whole subbands. */
static bool is_sliceable(const struct plan *plan, const struct run *run)
{
    if (run->edge == EDGE_WRAP || plan->shapes[0].images > 1 || plan->shapes[0].kind == KIND_PYRAMID ||
        plan_output(plan)->kind == KIND_PYRAMID)
        return false;
    size_t analyses = 0;
    /* A first step that moves samples has all input rows. */
    for (size_t i = plan->raster_steps > 0; i < plan->chain->count; i++) {
        const struct step *step = &plan->chain->steps[i];
        analyses += step->stage->analysis != NULL;
        if (analyses > MAX_ANALYSIS_RESULTS || step->stage->rows == rows_all ||
            step_caps(step).needs_all_rows)
            return false;
    }
    return true;
}

enum status plan_make(struct plan *plan, const struct plan_request *request, struct run *run,
                      struct error *error)
{
    const struct chain *chain = request->chain;
    *plan = (struct plan){.chain = chain,
                          .edge = run->edge,
                          .in = request->in,
                          .out = request->out,
                          .converted = request->converted};
    plan->shapes = allocate_zeroed(chain->count + 1, sizeof *plan->shapes, "a plan", error);
    if (!plan->shapes)
        return STATUS_FAILED;
    plan->shapes[0] = request->input;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        plan->shapes[i + 1] = plan->shapes[i];
        if (step->stage->shape)
            status = step->stage->shape(step->params, &plan->shapes[i], &plan->shapes[i + 1], error);
        if (status != STATUS_OK)
            error->stage = step->stage->name;
        /* Missing pixels of pictures that are going to be merged are NaN. */
        if (run->is_merged && step_caps(step).leaves_missing)
            plan->shapes[i + 1].may_have_missing = true;
    }
    if (status == STATUS_OK) {
        size_t moves = 0;
        while (request->input.kind == KIND_IMAGE && moves < chain->count &&
               step_caps(&chain->steps[moves]).lossless_move)
            moves++;
        /* If other steps follow, colours that the second move adds are not rounded to samples. */
        const bool are_all = moves == chain->count && plan->in == plan->out && !plan->converted;
        plan->raster_steps = are_all || moves == 0 ? moves : 1;
        if (chain->count > plan->raster_steps) {
            plan->opponent_in =
                is_opponent(&chain->steps[plan->raster_steps], &plan->shapes[plan->raster_steps]);
            plan->opponent_out = is_opponent(&chain->steps[chain->count - 1], plan_output(plan));
        }
        plan->sliceable = is_sliceable(plan, run);
        status = plan_slices(plan, request, run, error);
    }
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}
