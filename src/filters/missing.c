/* Launches of kernels/missing.cl. */
#include "filters/missing.h"

#include <stdlib.h>

enum status missing_count(struct run *run, const void *params, const struct value *image,
                          struct interval columns, struct interval rows, bool *has_missing,
                          struct error *error)
{
    const struct shape *shape = &image->shape;
    const struct planes *src = &image->planes[0];
    const cl_int channels = shape->channels, colours = shape->channels - shape->alpha;
    const size_t count = 2 * (size_t)shape->images;
    /* Only the first tile of a slice has no halo on the left. */
    const int first = run_uncounted_row(run, params, rows, columns.begin == 0);
    const cl_int4 own = {{columns.begin, columns.end, first, rows.end}};
    *has_missing = false;
    if (!shape->may_have_missing)
        return STATUS_OK;
    cl_mem counters;
    cl_uint *counts = allocate_zeroed(count, sizeof *counts, "counters", error);
    if (!counts || counters_create(run->device, count, &counters, error) != STATUS_OK) {
        free(counts);
        return STATUS_FAILED;
    }
    struct kernel_launch work = run_work(run, "missing", "missing_count", src);
    enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG(own), ARG(channels),
                                ARG(colours), ARG_MEMORY(counters));
    if (status == STATUS_OK)
        status = words_read(run->device, counters, 0, count, counts, true, error);
    for (int i = 0; status == STATUS_OK && i < shape->images; i++) {
        *has_missing = *has_missing || counts[2 * i] > 0;
        run_count_missing(run, params, i, counts[2 * i + 1]);
    }
    /* A dry run plans memory and programs for the case that values are missing. */
    *has_missing = *has_missing || device_is_dry_run(run->device);
    memory_release(counters);
    free(counts);
    return status;
}

enum status missing_fill(struct run *run, const struct value *image, int radius, struct value *filled,
                         struct error *error)
{
    *filled = (struct value){.shape = image->shape, .rows = image->rows, .opponent = image->opponent};
    if (run_output(run, filled, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "missing", "missing_fill", &filled->planes[0]);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&image->planes[0]), ARG_PLANES(&filled->planes[0]),
                  ARG(radius));
}

enum status missing_weights(struct run *run, const struct value *image, struct value *weights,
                            struct error *error)
{
    const cl_int alpha = shape_alpha(&image->shape);
    *weights = (struct value){.shape = image->shape, .rows = image->rows};
    if (run_output(run, weights, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "missing", "missing_weights", &weights->planes[0]);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&image->planes[0]), ARG_PLANES(&weights->planes[0]),
                  ARG(alpha));
}

enum status missing_restore(struct run *run, const struct value *image, struct value *result,
                            struct error *error)
{
    struct value out = {.shape = result->shape, .rows = result->rows};
    enum status status = run_output(run, &out, error);
    if (status == STATUS_OK) {
        struct kernel_launch work = run_work(run, "missing", "missing_restore", &out.planes[0]);
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&image->planes[0]),
                        ARG_PLANES(&result->planes[0]), ARG_PLANES(&out.planes[0]));
    }
    planes_release(&run->pool, &result->planes[0]);
    result->planes[0] = out.planes[0];
    return status;
}
