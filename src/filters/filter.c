#include "filters/filter.h"

/* Outputs of a work-item of a CPU device's rows' pass: four vectors, as in kernels/filter_rows_wide.h and
 * separable_samples.cl. */
enum { SEGMENT = 64 };

struct window filter_window(const struct filter *filter)
{
    return (struct window){filter->start, filter->taps};
}

struct rows filter_source_rows(const struct filter *filter, struct rows out)
{
    return (struct rows){out.begin + filter->start, out.end - 1 + filter->start + filter->taps};
}

struct work filter_rows_work(const struct run *run, const struct filter_passes *passes,
                             const struct planes *dst)
{
    struct work work = run_tuned(run, passes->file, passes->rows, dst);
    /* In buffers this pass does not care: the two kernels then share a program. */
    int outputs = run->memory == MEMORY_IMAGE
                      ? work.form.outputs
                      : device_form(run->device, run->memory, passes->columns).outputs;
    if (run->memory == MEMORY_IMAGE)
        work.width = divided(dst->width, outputs);
    else if (run_is_wide(run))
        work.width = divided(dst->width, SEGMENT) * WIDE_LANES;
    work.apart = true;
    define(&work.defines, "OUTPUTS", outputs);
    return work;
}

struct work filter_columns_work(const struct run *run, const struct filter_passes *passes,
                                const struct planes *dst)
{
    struct work work = run_tuned(run, passes->file, passes->columns, dst);
    work.height = divided(dst->rows, work.form.outputs);
    work.apart = true;
    define(&work.defines, "OUTPUTS", work.form.outputs);
    return work;
}
