/* The second step of quality=high: bands of rows, each in two launches. The first writes a shrunk block of
 * cosines for every second column and row, the second takes the weighted mean of the sixteen blocks over each
 * pixel. A band is as high as its blocks fit in a few megabytes. */
#include "wavelet/cosines.h"

enum { SIDE = 8, STEP = 2, VALUES = SIDE * SIDE + 1 }; /* as in kernels/cosines.cl; with its weight */

/* Bytes of the blocks of a band, at 65 bytes a pixel and plane, and the fewest rows of a band. */
enum { BAND_SIZE = 16 << 20, LEAST_ROWS = 16 };

/* Share of the pilot that gives the highest PSNR (docs/denoising.md). */
static const cl_float SHARE = 0.2F;

struct rows cosines_rows(int height, struct rows out)
{
    return rows_clip((struct rows){out.begin - (SIDE - 1), out.end + SIDE - 1}, height);
}

static int count_planes(const struct planes *planes)
{
    return planes->memory == MEMORY_IMAGE ? 4 : planes->channels;
}

static enum status refine_band(struct run *run, const struct noise *noise, cl_int4 levels,
                               const struct planes *noisy, const struct planes *pilot,
                               const struct planes *dst, struct rows rows, struct error *error)
{
    const cl_int columns = (dst->width - 1) / STEP + SIDE / STEP;
    const cl_int first = rows.begin / STEP * STEP - (SIDE - STEP);
    const cl_int2 range = {{rows.begin, rows.end}};
    const cl_int count = (rows.end - 1 - first) / STEP + 1;
    struct planes blocks = {.memory = MEMORY_BUFFER,
                            .width = columns * VALUES,
                            .height = count,
                            .rows = count,
                            .layers = 1,
                            .channels = count_planes(dst)};
    if (planes_acquire(&run->pool, &blocks, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct geometry at = planes_geometry(&blocks);
    struct work work = run_work(run, "cosines", "cosine_blocks", dst);
    work.vector_width = VECTOR_SCALAR;
    work.width = columns;
    work.height = count;
    enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(noisy), ARG_PLANES(pilot),
                                ARG_MEMORY(blocks.object), ARG(columns), ARG(count), ARG(at.pitch),
                                ARG(at.spacing), ARG(first), ARG_MEMORY(noise->sigma), ARG(levels));
    work.kernel = "cosine_mean";
    work.width = (dst->width + STEP - 1) / STEP;
    work.height = (rows.end - 1) / STEP - rows.begin / STEP + 1;
    if (status == STATUS_OK)
        status = LAUNCH(run->device, &work, error, ARG_MEMORY(blocks.object), ARG(columns), ARG(at.pitch),
                        ARG(at.spacing), ARG(first), ARG_PLANES(pilot), ARG_PLANES(dst), ARG(range),
                        ARG_MEMORY(noise->sigma), ARG(levels), ARG(SHARE));
    planes_release(&run->pool, &blocks);
    return status;
}

enum status cosines_refine(struct run *run, const struct noise *noise, int levels, const struct value *noisy,
                           const struct value *pilot, struct value *out, struct error *error)
{
    enum status status = run_output(run, out, error);
    if (status != STATUS_OK)
        return status;
    const struct planes *dst = &out->planes[0];
    double row = 0.25 * SIDE * SIDE * sizeof(cl_float) * dst->width * count_planes(dst);
    int band = (int)(BAND_SIZE / row) / STEP * STEP;
    band = band < LEAST_ROWS ? LEAST_ROWS : band;
    const int end = dst->first_row + dst->rows;
    const cl_int4 at = {{noise_at(noise, 1), noise_at(noise, levels < 2 ? levels : 2),
                         noise_at(noise, levels < 3 ? levels : 3), 0}};
    for (int begin = dst->first_row; status == STATUS_OK && begin < end; begin += band) {
        struct rows rows = {begin, begin + band < end ? begin + band : end};
        status = refine_band(run, noise, at, &noisy->planes[0], &pilot->planes[0], dst, rows, error);
    }
    return status;
}
