/* The levels of the transform, from the finest to the coarsest and back. dtcwt_level.c does one level.
 *
 * Only two lowpasses exist at a time, the source and the result of a level. The inverse computes a level in
 * strips, from the last to the first, so that a caller can compute the subbands of a strip just before they
 * are read. --denoise shrinks them at that point, which takes a third less memory than shrinking whole
 * levels. */
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

enum status dtcwt_inverse_output(struct run *run, const struct shape *shape, const struct dtcwt_rows *rows,
                                 int level, const struct value *out, struct planes *output,
                                 struct error *error)
{
    const int width = dtcwt_lowpass_size(shape->width, level),
              height = dtcwt_lowpass_size(shape->height, level);
    *output = out->planes[0];
    if (level == 1)
        return STATUS_OK;
    /* Rows of the next finer level, in coordinates before cropping. */
    const int crop = dtcwt_crop(shape, level);
    const struct interval *finer = &rows->lowpass[level - 1],
                          uncropped = {finer->begin + crop, finer->end + crop};
    return run_scratch(run, 2 * width, 2 * height, uncropped, 1, shape_planes(shape), output, error);
}

bool dtcwt_inverse_next_strip(const struct run *run, const struct planes *output, struct interval *strip)
{
    const struct interval all = {output->first_row, output->first_row + output->rows};
    const int end = strip->begin < strip->end ? strip->begin : all.end;
    int begin = run_is_cpu(run) ? end - dtcwt_strip_rows(output) : 0;
    begin = begin > 0 ? begin / STRIP_UNIT * STRIP_UNIT : 0;
    *strip = (struct interval){begin > all.begin ? begin : all.begin, end};
    return end > all.begin;
}

enum status dtcwt_inverse_strip(struct run *run, const struct shape *shape, int level, struct interval strip,
                                const struct planes *lowpass, const struct planes *subbands,
                                const struct planes *output, struct error *error)
{
    const struct dtcwt_synthesis step = {level, shape->pad_at_end, lowpass, subbands, output, strip};
    struct bank bank;
    bank_inverse(shape, level, &bank);
    return (run_is_cpu(run) ? dtcwt_inverse_cpu : dtcwt_inverse_gpu)(run, &bank, &step, error);
}

enum status dtcwt_inverse_to(struct run *run, int finest, const struct value *in, const struct value *out,
                             struct planes *lowpass, struct error *error)
{
    const struct shape *shape = &in->shape;
    struct planes output;
    struct dtcwt_rows rows;
    enum status status = STATUS_OK;
    dtcwt_inverse_rows(shape, out->rows, &rows);
    *lowpass = in->planes[0];
    for (int level = shape->levels; status == STATUS_OK && level > finest; level--) {
        struct interval strip = {0, 0};
        status = dtcwt_inverse_output(run, shape, &rows, level, out, &output, error);
        while (status == STATUS_OK && dtcwt_inverse_next_strip(run, &output, &strip))
            status =
                dtcwt_inverse_strip(run, shape, level, strip, lowpass, &in->planes[level], &output, error);
        if (status == STATUS_OK && level < shape->levels) /* the coarsest one belongs to `in` */
            run_scratch_release(run, lowpass);
        *lowpass = output;
    }
    return status;
}

enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error)
{
    struct planes image;
    const enum status status = run_output(run, out, error);
    return status == STATUS_OK ? dtcwt_inverse_to(run, 0, in, out, &image, error) : status;
}
