#include "filters/dtcwt.h"

#include "filters/dtcwt_level.h"

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
        struct planes next, *subbands = &out->planes[level];
        struct analysis step = {level, &src, &next, subbands};
        struct bank bank;
        if (run_scratch(run, width, height, rows->lowpass[level], 1, shape_planes(shape), &next, error) !=
                STATUS_OK ||
            run_planes(run, width / 2, height / 2, rows->subbands[level], SUBBAND_LAYERS, shape_planes(shape),
                       subbands, error) != STATUS_OK)
            return STATUS_FAILED;
        bank_forward(shape, level, &bank);
        if ((run_is_wide(run) ? forward_wide : forward_grouped)(run, &bank, &step, error) != STATUS_OK)
            return STATUS_FAILED;
        if (level > finer + 1)
            run_scratch_done(run, &src);
        src = next;
    }
    out->planes[0] = src;
    run_scratch_keep(run, &src);
    return STATUS_OK;
}

/* What level `level` gives the next finer one, where it lies before it is cropped. */
static struct rows uncropped_rows(const struct shape *shape, int level, const struct dtcwt_rows *rows)
{
    int crop = dtcwt_crop(shape->height, level);
    const struct rows *finer = &rows->lowpass[level - 1];
    return (struct rows){finer->begin + crop, finer->end + crop};
}

enum status dtcwt_inverse_level(struct run *run, const struct shape *shape, const struct dtcwt_rows *rows,
                                int level, const struct planes *subbands, struct planes *lowpass,
                                const struct value *out, struct error *error)
{
    struct planes finer = out->planes[0];
    struct synthesis step = {level, lowpass, subbands, &finer};
    struct bank bank;
    if (level > 1 &&
        run_scratch(run, 4 * subbands->width, 4 * subbands->height, uncropped_rows(shape, level, rows), 1,
                    shape_planes(shape), &finer, error) != STATUS_OK)
        return STATUS_FAILED;
    bank_inverse(shape, level, &bank);
    if ((run_is_wide(run) ? inverse_wide : inverse_grouped)(run, &bank, &step, error) != STATUS_OK)
        return STATUS_FAILED;
    if (level < shape->levels)
        run_scratch_done(run, lowpass);
    *lowpass = finer;
    return STATUS_OK;
}

enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error)
{
    const struct shape *shape = &in->shape;
    struct planes lowpass = in->planes[0];
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(shape, out->rows, &rows);
    enum status status = run_output(run, out, error);
    for (int level = shape->levels; status == STATUS_OK && level >= 1; level--)
        status = dtcwt_inverse_level(run, shape, &rows, level, &in->planes[level], &lowpass, out, error);
    return status;
}
