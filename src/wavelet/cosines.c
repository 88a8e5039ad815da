/* The second step of --denoise quality=high, in bands of rows with two launches each:
 *
 *     noisy, pilot ─ cosine_blocks ─▶ filtered blocks ─ cosine_mean ─▶ rows of the result
 *
 * A block has 64 values and a weight, which are floats. Blocks begin at every second column and row, so they
 * take 65 bytes per pixel and plane: 16 MB for a band. */
#include "wavelet/cosines.h"

/* Side of a block, and distance between blocks, in pixels (SIDE and STEP of kernels/cosines.cl); floats of a
 * filtered block. */
enum { BLOCK_SIDE = 8, STEP = 2, BLOCK_FLOATS = BLOCK_SIDE * BLOCK_SIDE + 1 };

/* Bytes of a band's blocks, and smallest number of rows of a band. Three rows of blocks that reach into two
 * bands are computed in both. */
enum { BAND_SIZE = 16 << 20, MIN_BAND_ROWS = 16 };

/* Share of the pilot in the result; 0.2 gives the highest PSNR (docs/denoising.md). */
static const cl_float PILOT_SHARE = 0.2F;

struct interval cosines_rows(int height, struct interval out)
{
    return interval_clip((struct interval){out.begin - (BLOCK_SIDE - 1), out.end + BLOCK_SIDE - 1}, height);
}

/* Returns the number of planes of blocks. Texels always have four channels. */
static int count_planes(const struct planes *planes)
{
    return planes->memory == MEMORY_IMAGE ? 4 : planes->channels;
}

enum status cosines_refine(struct run *run, const struct noise *noise, const struct value *noisy,
                           const struct value *pilot, struct value *out, struct error *error)
{
    enum status status = run_output(run, out, error);
    const struct planes *dst = &out->planes[0];
    /* Bytes of blocks per row of pixels: a quarter of a block for each pixel and plane. */
    double row = 0.25 * BLOCK_SIDE * BLOCK_SIDE * sizeof(cl_float) * dst->width * count_planes(dst);
    int band = (int)(BAND_SIZE / row) / STEP * STEP;
    band = band < MIN_BAND_ROWS ? MIN_BAND_ROWS : band;
    for (int begin = out->rows.begin; status == STATUS_OK && begin < out->rows.end; begin += band) {
        struct interval rows = {begin, begin + band < out->rows.end ? begin + band : out->rows.end};
        const cl_int columns = (dst->width - 1) / STEP + BLOCK_SIDE / STEP;
        const cl_int first = rows.begin / STEP * STEP - (BLOCK_SIDE - STEP);
        const cl_int2 range = {{rows.begin, rows.end}};
        const cl_int tone_channels = noise->by_tone ? noise->channels : 0;
        const cl_int count = (rows.end - 1 - first) / STEP + 1;
        struct planes blocks = {.memory = MEMORY_BUFFER,
                                .width = columns * BLOCK_FLOATS,
                                .height = count,
                                .rows = count,
                                .layers = 1,
                                .channels = count_planes(dst)};
        if (planes_acquire(&run->pool, &blocks, error) != STATUS_OK)
            return STATUS_FAILED;
        /* Each block of the pilot and the noisy picture becomes a filtered block with a weight. */
        const struct geometry at = planes_geometry(&blocks);
        struct kernel_launch work = run_work(run, "cosines", "cosine_blocks", dst);
        work.vector_width = VECTOR_SCALAR;
        work.width = columns;
        work.height = count;
        status =
            LAUNCH(run->device, &work, error, ARG_PLANES(&noisy->planes[0]), ARG_PLANES(&pilot->planes[0]),
                   ARG_MEMORY(blocks.object), ARG(columns), ARG(count), ARG(at.pitch), ARG(at.plane_rows),
                   ARG(first), ARG_MEMORY(noise->variances), ARG(tone_channels), ARG_MEMORY(noise->tones));
        /* Each pixel becomes the weighted mean of the 16 blocks that cover it. */
        work.kernel = "cosine_mean";
        work.width = (dst->width + STEP - 1) / STEP;
        work.height = (rows.end - 1) / STEP - rows.begin / STEP + 1;
        if (status == STATUS_OK)
            status = LAUNCH(run->device, &work, error, ARG_MEMORY(blocks.object), ARG(columns), ARG(at.pitch),
                            ARG(at.plane_rows), ARG(first), ARG_PLANES(&pilot->planes[0]), ARG_PLANES(dst),
                            ARG(range), ARG_MEMORY(noise->variances), ARG(PILOT_SHARE));
        planes_release(&run->pool, &blocks);
    }
    return status;
}
