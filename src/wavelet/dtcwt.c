/* The levels of the transform, from the finest to the coarsest and back. dtcwt_level.c does one level.
 *
 * Only two lowpasses exist at a time, the source and the result of a level. */
#include "wavelet/dtcwt.h"

#include "wavelet/dtcwt_level.h"

/* Rows that the inverse computes together: strips begin at multiples of it. */
enum { STRIP_UNIT = 4 };

enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error)
{
    return dtcwt_forward_from(run, 0, &in->planes[0], rows, out, error);
}

enum status dtcwt_forward_from(struct run *run, int finer, const struct planes *lowpass,
                               const struct dtcwt_rows *rows, struct value *out, struct error *error)
{
    const struct shape *shape = &out->shape;
    struct planes src = *lowpass;
    for (int level = finer + 1; level <= shape->levels; level++) {
        int width = dtcwt_lowpass_size(shape->width, level),
            height = dtcwt_lowpass_size(shape->height, level);
        /* Allocate this level's lowpass and subbands. */
        struct planes next, *subbands = &out->planes[level];
        struct dtcwt_analysis step = {level, shape->pad_at_end, &src, &next, subbands, rows->places};
        struct bank bank;
        if (run_scratch(run, width, height, rows->lowpass[level], 1, shape_planes(shape), &next, error) !=
                STATUS_OK ||
            run_planes(run, width / 2, height / 2, rows->subbands[level], SUBBAND_LAYERS, shape_planes(shape),
                       subbands, error) != STATUS_OK)
            return STATUS_FAILED;
        /* Compute both, and release the finer lowpass, unless it is the caller's. */
        bank_forward(shape, level, &bank);
        if ((run_is_cpu(run) ? dtcwt_forward_cpu : dtcwt_forward_gpu)(run, &bank, &step, error) != STATUS_OK)
            return STATUS_FAILED;
        if (level > finer + 1)
            run_scratch_release(run, &src);
        src = next;
    }
    out->planes[0] = src;
    run_scratch_keep(run, &src);
    return STATUS_OK;
}

/* Inverts the levels from the coarsest one to `finest` + 1, for rows `out->rows` of the image. Sets *lowpass
 * to the result: the lowpass of level `finest`, in scratch planes; or if `finest` is 0, the planes of `out`.
 * CPUs compute a level in strips, from the last to the first; GPUs all rows at once. */
static enum status invert_levels(struct run *run, int finest, const struct subband_filter *filter,
                                 const struct value *in, const struct value *out, struct planes *lowpass,
                                 struct error *error)
{
    const struct shape *shape = &in->shape;
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(shape, out->rows, &rows);
    *lowpass = in->planes[0];
    for (int level = shape->levels; level > finest; level--) {
        struct planes output = out->planes[0], filtered;
        struct bank bank;
        bank_inverse(shape, level, &bank);
        /* Allocate the finer lowpass, with the rows that are cropped later. */
        if (level > 1) {
            const struct interval finer = rows.lowpass[level - 1];
            const int crop = dtcwt_crop(shape, level), width = 2 * dtcwt_lowpass_size(shape->width, level),
                      height = 2 * dtcwt_lowpass_size(shape->height, level);
            if (run_scratch(run, width, height, (struct interval){finer.begin + crop, finer.end + crop}, 1,
                            shape_planes(shape), &output, error) != STATUS_OK)
                return STATUS_FAILED;
        }
        const int strip_rows = dtcwt_strip_rows(&output);
        for (int begin, end = output.first_row + output.rows; end > output.first_row; end = begin) {
            begin = run_is_cpu(run) ? (end - strip_rows) / STRIP_UNIT * STRIP_UNIT : 0;
            begin = begin > output.first_row ? begin : output.first_row;
            const struct interval strip = {begin, end};
            const struct planes *subbands = filter ? &filtered : &in->planes[level];
            const struct dtcwt_synthesis step = {level, shape->pad_at_end, lowpass, subbands, &output, strip};
            if (filter &&
                filter->run(run, filter->context, in, level, dtcwt_subband_rows(shape, level, strip), lowpass,
                            &filtered, error) != STATUS_OK)
                return STATUS_FAILED;
            if ((run_is_cpu(run) ? dtcwt_inverse_cpu : dtcwt_inverse_gpu)(run, &bank, &step, error) !=
                STATUS_OK)
                return STATUS_FAILED;
            if (filter)
                run_scratch_release(run, &filtered);
        }
        if (level < shape->levels) /* the coarsest one belongs to `in` */
            run_scratch_release(run, lowpass);
        *lowpass = output;
    }
    return STATUS_OK;
}

enum status dtcwt_inverse_to(struct run *run, int finest, const struct subband_filter *filter,
                             const struct value *in, struct planes *lowpass, struct error *error)
{
    const struct value all = {.rows = rows_full(in->shape.height)};
    return invert_levels(run, finest, filter, in, &all, lowpass, error);
}

enum status dtcwt_inverse(struct run *run, const struct subband_filter *filter, const struct value *in,
                          struct value *out, struct error *error)
{
    struct planes image;
    const enum status status = run_output(run, out, error);
    return status == STATUS_OK ? invert_levels(run, 0, filter, in, out, &image, error) : status;
}
