#include "chain/plan.h"

#include <math.h>
#include <stdio.h>

enum { MIN_SLICE = 16, SIZE_TEXT = 32 };

/* Of deep chains: at this unit all levels of a wavelet transform, up to six, begin with the same remainders.
 */
enum { DEEP_UNIT = 64, DEEP_MARGIN = 8 /* rows that a level is padded with */ };

/* What a slice may take on a CPU device: a share of the caches that two cores have here (measured, see
 * docs/performance.md); CLIMG_SLICE overrides the height for tests and experiments. */
static const double CACHE_BUDGET = 40e6;

/* Bytes of the host's memory that slices may take before they become lower than twice their halo. */
static const double HALO_BUDGET = 0.5e9;

/* What a deep chain may take of the host's memory before it is cut into slices, and slices that are high for
 * their halo. Pages that are touched for the first time cost more than the rows beside a slice: 4096x4096 RGB
 * through --denoise=10 in slices of 256 rows take as long as in those of 512 (see docs/performance.md). */
static const double DEEP_BUDGET = 0.3e9;

/* Rows into the stages that one row in the middle needs, as rows of the output. */
static int scaled_halo(const struct plan *plan)
{
    struct rows rows[MAX_CHAIN + 1] = {{0, 0}};
    int height = plan_output(plan)->height, middle = height / 2;
    plan_rows(plan, (struct rows){middle, middle + 1}, rows);
    const struct rows *in = &rows[plan->moved];
    return (int)((double)(in->end - in->begin) * height / plan->shapes[plan->moved].height);
}

/* Whether a slice in the middle of the image is too tall for an image on the device, where that is its
 * memory. */
static bool is_too_tall(const struct plan *plan, const struct run *run, int slice)
{
    struct rows rows[MAX_CHAIN + 1] = {{0, 0}};
    int begin = (plan_output(plan)->height - slice) / 2;
    plan_rows(plan, (struct rows){begin, begin + slice}, rows);
    for (size_t i = (size_t)plan->moved; run->memory == MEMORY_IMAGE && i <= plan->chain->count; i++)
        if ((size_t)(rows[i].end - rows[i].begin) > run->device->image_height)
            return true;
    return false;
}

/* Bytes on the device for a slice in the middle of the image: every value and a scratch image of its size. */
static double slice_bytes(const struct plan *plan, const struct run *run, int slice, double *largest)
{
    struct rows rows[MAX_CHAIN + 1] = {{0, 0}};
    int height = plan_output(plan)->height, begin = (height - slice) / 2;
    double sum = 0;
    *largest = 0;
    plan_rows(plan, (struct rows){begin, begin + slice}, rows);
    for (size_t i = (size_t)plan->moved; i <= plan->chain->count; i++) {
        const struct shape *shape = &plan->shapes[i];
        int channels = run->memory == MEMORY_IMAGE ? 4 : shape->channels;
        double bytes = 4.0 * shape->width * channels * (rows[i].end - rows[i].begin);
        sum += 2 * bytes;
        *largest = 2 * bytes > *largest ? 2 * bytes : *largest;
    }
    return sum;
}

/* Whether the device surely holds the plan's slices. */
static bool is_small(const struct plan *plan, const struct run *run)
{
    double largest, sum = slice_bytes(plan, run, plan->slice, &largest);
    return sum < 0.1 * (double)run->device_memory && largest < 0.25 * (double)run->device->allocation;
}

/* 16 MB of planes are 4 MB of 8-bit samples, which take 75 µs to copy at 55 GB/s: about what enqueuing a
 * slice costs, with 4 µs a launch. A dozen slices leave a twelfth of the copying uncovered at either end.
 * Larger slices gain nothing, and pinning costs 0.37 ms a MB, as much as a pinned MB saves when it is used
 * five times. */
static int transfer_slice(const struct plan *plan)
{
    const struct shape *in = &plan->shapes[plan->moved], *out = plan_output(plan);
    double above = 4.0 * in->width * in->channels * in->height / out->height;
    double below = 4.0 * out->width * out->channels;
    double row = above > below ? above : below, bytes = row * out->height / 12;
    bytes = bytes < 16e6 ? 16e6 : bytes > 64e6 ? 64e6 : bytes;
    double rows = bytes / row;
    return rows < 1 ? 1 : rows < out->height ? (int)rows : out->height;
}

static int choose_shallow_slice(const struct plan *plan, const struct run *run)
{
    int height = plan_output(plan)->height;
    const struct device *device = run->device;
    bool wide = device->class == DEVICE_WIDE;
    double budget = 0.5 * (double)run->device_memory, largest;
    int slice = wide ? height : transfer_slice(plan);
    budget = wide && budget > CACHE_BUDGET ? CACHE_BUDGET : budget;
    while (slice > MIN_SLICE && (slice_bytes(plan, run, slice, &largest) > budget ||
                                 largest > (double)device->allocation || is_too_tall(plan, run, slice)))
        slice = (slice / 2 + MIN_SLICE - 1) / MIN_SLICE * MIN_SLICE;
    /* A slice should not be mostly halo. */
    int halo = scaled_halo(plan);
    if (slice < 2 * halo && !is_too_tall(plan, run, 2 * halo < height ? 2 * halo : height))
        slice = 2 * halo;
    return slice < height ? slice : height;
}

static enum status fits_deep(struct plan *plan, const struct run *run, double limit, int slice, bool *fits,
                             struct error *error)
{
    const struct device *device = run->device;
    struct need need = {0};
    double budget = 0.5 * (double)run->device_memory;
    plan_set_slice(plan, slice);
    *fits = false;
    if (run->memory == MEMORY_IMAGE && (size_t)plan->tallest + DEEP_MARGIN > device->image_height)
        return STATUS_OK;
    enum status status = plan_need(plan, run, &need, error);
    double bytes = (double)need.planes + (device->shares_memory ? (double)(need.samples - need.held) : 0);
    if (device->shares_memory)
        budget = fmin(budget, limit);
    if (device->shares_memory && run->memory_limit > 0)
        budget = fmin(budget, (double)run->memory_limit);
    *fits = bytes <= budget && need.largest <= device->allocation;
    return status;
}

/* The most units of rows from `low` to `high` that fit; `low` where none does. */
static enum status most_that_fit(struct plan *plan, const struct run *run, double budget, int low, int high,
                                 int *most, struct error *error)
{
    enum status status = STATUS_OK;
    *most = low;
    while (status == STATUS_OK && *most < high) {
        int middle = *most + (high - *most + 1) / 2;
        bool fits;
        status = fits_deep(plan, run, budget, middle * DEEP_UNIT, &fits, error);
        if (fits)
            *most = middle;
        else
            high = middle - 1;
    }
    return status;
}

/* The whole image, or the highest slice that fits the budget, but none that is more than 0.7 halo unless half
 * of the memory, or --memory-limit, asks for it; all about as high as the last. */
static enum status choose_deep_slice(struct plan *plan, const struct run *run, int *slice,
                                     struct error *error)
{
    int height = plan_output(plan)->height, most, high = (height - 1) / DEEP_UNIT;
    int low = (scaled_halo(plan) * 3 / 7 - 1) / DEEP_UNIT + 1;
    bool fits;
    enum status status = fits_deep(plan, run, DEEP_BUDGET, height, &fits, error);
    *slice = height;
    if (status != STATUS_OK || fits || low > high)
        return status;
    status = most_that_fit(plan, run, DEEP_BUDGET, low, high, &most, error);
    if (status == STATUS_OK && most == low)
        status = most_that_fit(plan, run, INFINITY, 1, low, &most, error);
    int slices = (height - 1) / (most * DEEP_UNIT) + 1;
    *slice = ((height - 1) / slices / DEEP_UNIT + 1) * DEEP_UNIT;
    return status;
}

/* Slices that are high for their halo: the whole image where it fits, as then no row is computed twice; else
 * lower ones until they fit, but none that is more than two thirds halo. */
static enum status fit_high_slice(struct plan *plan, const struct run *run, int *slice, struct error *error)
{
    int height = plan_output(plan)->height, low = scaled_halo(plan) / 2;
    double largest;
    bool fits;
    if (!run->device->shares_memory || slice_bytes(plan, run, *slice, &largest) < HALO_BUDGET / 4)
        return STATUS_OK;
    low = low > MIN_SLICE ? low : MIN_SLICE;
    enum status status = fits_deep(plan, run, HALO_BUDGET, height, &fits, error);
    *slice = fits ? height : *slice;
    while (status == STATUS_OK && !fits && *slice > low && *slice > 1) {
        status = fits_deep(plan, run, HALO_BUDGET, *slice, &fits, error);
        *slice = fits ? *slice : *slice - (*slice + 3) / 4;
    }
    return status;
}

static enum status choose_slice(struct plan *plan, const struct run *run, int *slice, struct error *error)
{
    int forced = run->device->environment->slice;
    *slice = plan_output(plan)->height;
    if (!plan->sliceable)
        return STATUS_OK;
    if (forced > 0) {
        *slice = forced < *slice ? forced : *slice;
        return STATUS_OK;
    }
    if (plan_is_deep(plan))
        return choose_deep_slice(plan, run, slice, error);
    *slice = choose_shallow_slice(plan, run);
    return fit_high_slice(plan, run, slice, error);
}

/* Whether the plan fits the device, which holds the samples, too, where it has its own memory. */
static bool fits_device(const struct run *run, const struct need *need)
{
    uint64_t bytes = need->planes + (run->device->shares_memory ? 0 : need->samples - need->held);
    return need->largest <= run->device->allocation && bytes <= run->device_memory;
}

/* Bytes of the host's memory. */
static uint64_t host_bytes(const struct run *run, const struct need *need)
{
    return need->samples + (run->device->shares_memory ? need->planes : 0);
}

/* Writes the size in KiB or MiB, whichever still shows a difference. */
static void write_size(char *text, uint64_t bytes)
{
    if (bytes < 10 << 20)
        snprintf(text, SIZE_TEXT, "%llu KiB", (unsigned long long)((bytes + 1023) >> 10));
    else
        snprintf(text, SIZE_TEXT, "%llu MiB", (unsigned long long)((bytes + (1 << 20) - 1) >> 20));
}

/* Lowers the plan's slices until they fit the device, and climg's own memory (samples in flight, and the
 * stages' planes where the device works in the host's memory) stays below the run's limit. STATUS_FAILED
 * where no slice is small enough for the limit; what the device cannot hold fails when it is allocated. */
static enum status fit_memory(struct plan *plan, struct run *run, struct error *error)
{
    struct need need = {0};
    const uint64_t most = run->memory_limit > 0 ? run->memory_limit : UINT64_MAX;
    if (run->memory_limit == 0 && is_small(plan, run))
        return STATUS_OK;
    if (run->memory_limit > 0)
        run_clear(run); /* nothing is in use, and nothing of earlier pages should stay */
    enum status status = plan_need(plan, run, &need, error);
    while (status == STATUS_OK && (host_bytes(run, &need) > most || !fits_device(run, &need)) &&
           plan->sliceable && plan->slice > 1) {
        plan_set_slice(plan, plan->slice / 2);
        status = plan_need(plan, run, &need, error);
    }
    if (status != STATUS_OK || host_bytes(run, &need) <= most)
        return status;
    char needed[SIZE_TEXT], limit[SIZE_TEXT];
    write_size(needed, host_bytes(run, &need));
    write_size(limit, run->memory_halved ? 2 * run->memory_limit : run->memory_limit);
    return fail_memory(error, "needs %s of memory%s, and --memory-limit is %s%s; raise it", needed,
                       plan->sliceable ? " even in the smallest slices"
                                       : " as the chain must see the whole image",
                       limit, run->memory_halved ? ", half of it for --verify" : "");
}

/* Which ends of the chain are in opponent colours. */
static void find_opponents(struct plan *plan)
{
    const struct chain *chain = plan->chain;
    const struct shape *in = &plan->shapes[plan->moved], *out = plan_output(plan);
    if (chain->count == (size_t)plan->moved)
        return;
    plan->opponent_in =
        step_traits(&chain->steps[plan->moved]).opponent && in->kind == KIND_IMAGE && shape_is_colour(in);
    plan->opponent_out = step_traits(&chain->steps[chain->count - 1]).opponent && out->kind == KIND_IMAGE &&
                         shape_is_colour(out);
}

static bool moves_first(const struct chain *chain, const struct shape *input)
{
    return chain->count > 0 && input->kind == KIND_IMAGE && step_traits(&chain->steps[0]).moves_samples;
}

/* Whether rows can go through apart from the others. */
static bool is_sliceable(const struct plan *plan, const struct run *run)
{
    if (run->edge == EDGE_WRAP || plan->shapes[0].images > 1 || plan->shapes[0].kind == KIND_PYRAMID ||
        plan_output(plan)->kind == KIND_PYRAMID)
        return false;
    size_t surveys = 0;
    for (size_t i = (size_t)plan->moved; i < plan->chain->count; i++) {
        const struct step *step = &plan->chain->steps[i];
        surveys += step->stage->survey != NULL;
        if (surveys > MAX_FINDINGS || step->stage->rows == rows_all || step_traits(step).all_rows)
            return false;
    }
    return true;
}

enum status plan_make(struct plan *plan, const struct chain *chain, const struct shape *input,
                      enum sample_type in, enum sample_type out, struct run *run, struct error *error)
{
    *plan = (struct plan){.chain = chain, .edge = run->edge, .in = in, .out = out};
    plan->shapes = allocate_zeroed(chain->count + 1, sizeof *plan->shapes, "a plan", error);
    if (!plan->shapes)
        return STATUS_FAILED;
    plan->shapes[0] = *input;
    for (size_t i = 0; i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        plan->shapes[i + 1] = plan->shapes[i];
        if (step->stage->shape &&
            step->stage->shape(step->params, &plan->shapes[i], &plan->shapes[i + 1], error) != STATUS_OK) {
            plan_free(plan);
            return STATUS_FAILED;
        }
    }
    plan->moved = moves_first(chain, input);
    find_opponents(plan);
    plan->sliceable = is_sliceable(plan, run);
    plan->made = rows_whole(plan_output(plan)->height);
    int slice;
    enum status status = choose_slice(plan, run, &slice, error);
    if (plan->sliceable && run->slice_limit > 0 && slice > run->slice_limit)
        slice = run->slice_limit;
    plan_set_slice(plan, slice);
    if (status == STATUS_OK)
        status = fit_memory(plan, run, error);
    if (status != STATUS_OK)
        plan_free(plan);
    return status;
}
