/* Launches of rank filters. The kernel depends on device, samples and radius:
 *
 *     percent 0, 100 of squares   extremum: minima and maxima of runs, along x, then along y
 *     median of 3x3, 5x5          rank_network_cpu, rank_network_gpu: sorting networks on columns
 *     CPU, 8-bit values           rank_squares_cpu: the time is the same for any radius; rank_discs_cpu
 *     CPU, other values           rank_tiles_cpu: sorted tiles; the time grows with the radius
 *     GPU, squares to radius 31   rank_columns_gpu: sorted columns in local memory
 *     GPU, others                 rank_digits_gpu: a histogram, or a radix search in the keys
 *
 * All but the first two work in buffers. Images are copied to buffers and back: counting the digits of texels
 * took an H100 40 times as long. On a CPU, the kernels for 8-bit values filter planes block by block and mark
 * blocks with other values, which rank_tiles_cpu then filters. Small medians and 8-bit ranks work from raster
 * to raster, without planes.
 *
 * Keys are integers that sort like the values (kernels/rank.h), so one order serves all types; NaN is sorted
 * last, as in scipy.ndimage. */
#include "filters/rank.h"

#include "engine/transfer.h"

/* Outputs of a work-item along y, and group sizes, of the sorting networks. */
static const struct kernel_configs network = {.kernel = "rank_network",
                                              .cpu = {8, {16, 1}},
                                              .cpu_images = {2, {16, 1}},
                                              .gpu = {4, {32, 4}},
                                              .gpu_images = {2, {32, 4}}};

/* Outputs of a work-item along x, as in kernels/rank_network_cpu.cl. */
enum { SEGMENT = 128 };

/* kernels/rank_columns_gpu.cl: work-items of a group, which sorts at most twice as many columns; the largest
 * radius that allows this; and the least number of output rows of a group, which sorts all its columns for
 * the first row. */
enum { COLUMNS_GROUP = 64, COLUMNS_RADIUS = COLUMNS_GROUP / 2 - 1, COLUMNS_ROWS = 32 };

/* kernels/rank_digits_gpu.cl: work-items of a group, each with 256 bins of 16 bits. Up to DIGITS_FEW samples,
 * digits of four bits cost less than digits of eight. */
enum { DIGITS_GROUP = 32, DIGITS_BINS = 256, DIGITS_FEW = 256 };

/* Largest number of output rows of a work-item of kernels/rank_digits_gpu.cl, which counts a whole window for
 * its first row only. Less if there were fewer than DIGITS_ITEMS work-items to keep a device busy. */
enum { DIGITS_ROWS = 64, DIGITS_ITEMS = 1 << 16 };

/* Width and height of a tile of kernels/rank_tiles_cpu.cl in outputs, and work-items per compute unit of that
 * kernel and of kernels/rank_blocks.h: more than one, as blocks differ in work. */
enum { TILE = 128, TILES_ITEMS = 4 };

/* kernels/rank_blocks.h: columns of a block, and bytes of the histograms of a column. With squares the
 * histograms of a block should stay in a core's second-level cache. With discs a column has one byte, and
 * rows are padded by up to 2 * DISC_ALIGNMENT bytes. */
enum { COLUMN_BYTES = 17 * 32, BLOCK_WIDTH = 6 * TILE, DISC_COLUMN_BYTES = 1, DISC_ALIGNMENT = 64 };

/* Size of a block of kernels/rank_blocks.h in outputs, and the number of blocks of a plane. */
struct blocks {
    cl_int width, height, across, down;
};

/* ---------------------------------------------------------------- minimum and maximum of squares
 *
 * Each pass of kernels/extremum.cl combines RADIX samples, which are already the extremes of runs of samples:
 * of 1, 8, 64, ... So an axis takes as many passes as the radius has octal digits: 0.09 s for 2048x2048 at
 * radius 127, where other ranks took 4.2 s. */

/* Number of samples that a pass combines. */
enum { RADIX = 8 };

/* The same layout as struct window of kernels/extremum.cl. */
struct window {
    cl_int along_y, first, step, count, reach, largest, wraps, zero_margin, alpha_channel;
};

/* Enqueues one pass. */
static enum status extrema_pass(struct run *run, const struct window *window, const struct planes *src,
                                const struct planes *dst, struct error *error)
{
    struct kernel_launch work = run_work(run, "extremum", "extremum", dst);
    work.vector_width = VECTOR_WINDOW;
    work.calls_noinline = true;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(*window));
}

/* Enqueues all passes along one axis. A run begins at its sample. Its length grows by a factor of RADIX while
 * it is at most radius + 1, so a window that begins beyond the border contains the whole run at the border.
 * Therefore the kernel may clamp the position of a run (map_index()). */
static enum status extrema_along(struct run *run, int radius, const struct window *along,
                                 const struct planes *src, const struct planes *dst, struct error *error)
{
    const struct interval rows = planes_rows(src);
    struct planes from = *src, next;
    struct window window = *along;
    int length = 1;
    for (; length * RADIX <= radius + 1; length *= RADIX) {
        window.step = length;
        window.count = RADIX;
        window.reach = (RADIX - 1) * length;
        if (run_scratch_like(run, src, rows, &next, error) != STATUS_OK ||
            extrema_pass(run, &window, &from, &next, error) != STATUS_OK)
            return STATUS_FAILED;
        if (length > 1)
            run_scratch_release(run, &from);
        from = next;
    }
    /* The last pass covers the window of 2 * radius + 1 samples; its last two runs may overlap. */
    window.first = -radius;
    window.step = length;
    window.reach = 2 * radius + 1 - length;
    window.count = ceil_div(window.reach, length) + 1;
    window.zero_margin = run->edge == EDGE_ZERO ? radius : 0;
    const enum status status = extrema_pass(run, &window, &from, dst, error);
    if (length > 1)
        run_scratch_release(run, &from);
    return status;
}

/* Enqueues the minimum, or the maximum, of the window of 2 * radius + 1 samples a side around each sample,
 * with the border rule of the run. `src` must have `radius` more rows than `dst` on each side. Channel
 * `alpha_channel` (-1: no alpha) is copied. NaN is larger than all numbers. */
static enum status extrema_find(struct run *run, int radius, bool largest, int alpha_channel,
                                const struct planes *src, const struct planes *dst, struct error *error)
{
    const struct window across = {
        .largest = largest, .wraps = run->edge == EDGE_WRAP, .alpha_channel = alpha_channel};
    struct window down = across;
    struct planes between;
    down.along_y = 1;
    const struct interval rows = planes_rows(src);
    if (run_scratch_like(run, src, rows, &between, error) != STATUS_OK ||
        extrema_along(run, radius, &across, src, &between, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = extrema_along(run, radius, &down, &between, dst, error);
    run_scratch_release(run, &between);
    return status;
}

enum status extrema_open(struct run *run, int radius, bool closes, const struct planes *src,
                         struct interval rows, struct planes *dst, struct error *error)
{
    /* The second operation needs more rows of the first one's result; all rows if they wrap around. */
    struct interval needed = interval_widen(rows, radius);
    if (run->edge == EDGE_WRAP && (needed.begin < 0 || needed.end > src->height))
        needed = rows_full(src->height);
    needed = interval_clip(needed, src->height);
    struct planes first;
    if (run_scratch_like(run, src, needed, &first, error) != STATUS_OK ||
        extrema_find(run, radius, closes, -1, src, &first, error) != STATUS_OK ||
        run_scratch_like(run, src, rows, dst, error) != STATUS_OK)
        return STATUS_FAILED;
    const enum status status = extrema_find(run, radius, !closes, -1, &first, dst, error);
    run_scratch_release(run, &first);
    return status;
}

/* ---------------------------------------------------------------- ranks */

struct interval rank_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct rank *rank = params;
    (void)in;
    return interval_widen(out, rank->radius);
}

/* True for the windows of the sorting networks. */
static bool is_small_median(const struct rank *rank)
{
    return rank->radius <= 2 && rank->shape == RANK_SQUARE && rank->percent == 50;
}

/* Returns the number of columns on either side of the middle that row k of a window covers; the middle row
 * has k = 0. */
static int row_reach(const struct rank *rank, int k)
{
    int reach = rank->radius;
    while (rank->shape == RANK_DISC && reach * reach + k * k > rank->radius * rank->radius)
        reach--;
    return reach;
}

/* Returns the number of samples of a window. */
static int window_samples(const struct rank *rank)
{
    int samples = 2 * rank->radius + 1;
    for (int k = 1; k <= rank->radius; k++)
        samples += 2 * (2 * row_reach(rank, k) + 1);
    return samples;
}

/* Returns the index of the output in its sorted window. */
static int wanted_rank(const struct rank *rank)
{
    int samples = window_samples(rank), wanted = (int)(samples * rank->percent / 100);
    return wanted < samples ? wanted : samples - 1;
}

/* True for percent 0 and 100 of squares. Percentages near them may select the same samples, but use the
 * program of all other percentages. */
static bool is_extreme(const struct rank *rank)
{
    return rank->shape == RANK_SQUARE && (rank->percent == 0 || rank->percent == 100);
}

/* True for ranks that take little time. Their kernels also work in images. */
static bool is_quick(const struct rank *rank)
{
    return is_small_median(rank) || is_extreme(rank);
}

struct stage_caps rank_caps(const void *params)
{
    const struct rank *rank = params;
    /* Measured with 8-bit samples on a CPU; others take 8 times as long at radius 5, 25 times at 50. */
    const double cost = rank->shape == RANK_DISC ? 8 + rank->radius / 16.0 : 10;
    return (struct stage_caps){
        .maps_samples = true, .groups = true, .relative_cost = is_quick(rank) ? 0.5 : cost};
}

/* Uploads the shape of the window: row_reach() of rows 0 to radius. */
static enum status run_reaches(struct run *run, const struct rank *rank, cl_mem *memory, struct error *error)
{
    float reaches[RANK_MAX_RADIUS + 1];
    for (int k = 0; k <= rank->radius; k++)
        reaches[k] = (float)row_reach(rank, k);
    return run_constants(run, reaches, (size_t)rank->radius + 1, memory, error);
}

/* Enqueues a sorting network, from raster to raster on CPU devices, or from planes to planes. */
static enum status rank_by_network(struct run *run, const struct rank *rank, cl_int alpha_channel,
                                   const struct value *in, const struct value *out, struct error *error)
{
    const struct planes src = value_planes(in), dst = value_planes(out);
    const struct geometry src_at = planes_geometry(&src), dst_at = planes_geometry(&dst);
    const cl_int channels = out->raster ? out->shape.channels : 1, radius = rank->radius;
    const bool is_cpu = run_is_cpu(run);
    const int columns = run->memory == MEMORY_IMAGE ? 2 : 1; /* outputs of a work-item of a GPU along x */
    struct kernel_launch work =
        run_configured(run, is_cpu ? "rank_network_cpu" : "rank_network_gpu", &network, &dst);
    work.width = is_cpu ? ceil_div(dst.width, SEGMENT) * CPU_LANES : ceil_div(dst.width, columns);
    work.height = ceil_div(dst.rows, work.config.outputs);
    work.calls_noinline = true;
    define(&work.defines, "OUTPUTS", work.config.outputs);
    if (!is_cpu) {
        define(&work.defines, "RADIUS", rank->radius);
        return LAUNCH(run->device, &work, error, ARG_PLANES(&src), ARG_PLANES(&dst), ARG(alpha_channel));
    }
    if (!out->raster)
        return LAUNCH(run->device, &work, error, ARG_PLANES(&src), ARG_PLANES(&dst), ARG(channels),
                      ARG(radius), ARG(alpha_channel));
    work.depth = 1;
    work.bytes = raster_bytes(in->raster, src.rows) + raster_bytes(out->raster, dst.rows);
    define(&work.defines, "SAMPLE", out->raster->sample);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(in->raster), ARG(src_at),
                  ARGS_WRITE_RASTER(out->raster), ARG(dst_at), ARG(channels), ARG(radius),
                  ARG(alpha_channel));
}

/* Returns the local memory of a group of kernels/rank_columns_gpu.cl in bytes. */
static size_t columns_bytes(int step)
{
    return (size_t)(2 * step + 1) * 2 * COLUMNS_GROUP * sizeof(cl_uint);
}

/* Returns the largest power of two that is at most a side of the window. */
static int side_step(const struct rank *rank)
{
    int step = 1;
    while (2 * step <= 2 * rank->radius + 1)
        step *= 2;
    return step;
}

/* Enqueues kernels/rank_columns_gpu.cl. */
static enum status rank_by_columns(struct run *run, const struct rank *rank, cl_int alpha_channel,
                                   const struct planes *src, const struct planes *dst, struct error *error)
{
    struct {
        cl_int radius, rank, step, rows;
    } ranking = {rank->radius, wanted_rank(rank), side_step(rank), 2 * side_step(rank)};
    if (ranking.rows < COLUMNS_ROWS)
        ranking.rows = COLUMNS_ROWS;
    struct kernel_launch work = run_work(run, "rank_columns_gpu", "rank_columns", dst);
    work.vector_width = VECTOR_SCALAR;
    work.config = (struct launch_config){1, {COLUMNS_GROUP, 1}};
    work.height = ceil_div(dst->rows, ranking.rows);
    define(&work.defines, "GROUP", COLUMNS_GROUP);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(ranking),
                  ARG(alpha_channel), ARG_LOCAL(columns_bytes(ranking.step)));
}

/* Enqueues kernels/rank_digits_gpu.cl. */
static enum status rank_by_digits(struct run *run, const struct rank *rank, cl_int alpha_channel,
                                  const struct planes *src, const struct planes *dst, struct error *error)
{
    const double rows = (double)dst->width * dst->rows * planes_depth(dst) / DIGITS_ITEMS;
    struct {
        cl_int radius, rank, bits, rows;
    } ranking = {rank->radius, wanted_rank(rank), window_samples(rank) <= DIGITS_FEW ? 4 : 8,
                 rows < 1             ? 1
                 : rows < DIGITS_ROWS ? (int)rows
                                      : DIGITS_ROWS};
    cl_mem reaches;
    struct kernel_launch work = run_work(run, "rank_digits_gpu", "rank_digits", dst);
    work.vector_width = VECTOR_SCALAR;
    work.config = (struct launch_config){1, {DIGITS_GROUP, 1}};
    work.height = ceil_div(dst->rows, ranking.rows);
    define(&work.defines, "GROUP", DIGITS_GROUP);
    if (run_reaches(run, rank, &reaches, error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(reaches),
                  ARG(ranking), ARG(alpha_channel),
                  ARG_LOCAL(DIGITS_GROUP * DIGITS_BINS * sizeof(cl_ushort)));
}

/* Returns the number of work-items that share some tiles or blocks. */
static int count_items(const struct run *run, int shared)
{
    const int items = (int)run->device->compute_units * TILES_ITEMS;
    return items < shared ? items : shared;
}

/* Enqueues kernels/rank_squares_cpu.cl or rank_discs_cpu.cl, from raster to raster or from planes to planes.
 * *skipped is set to a buffer of a number per block, owned by the run: 0 if the block is done; 1 if it is
 * not, because it has values of more than 8 bits or is alpha. */
static enum status rank_by_histogram(struct run *run, const struct rank *rank, cl_int alpha_channel,
                                     const struct value *in, const struct value *out, struct blocks *blocks,
                                     cl_mem *skipped, struct error *error)
{
    const struct planes src = value_planes(in), dst = value_planes(out);
    const struct geometry src_at = planes_geometry(&src), dst_at = planes_geometry(&dst);
    const struct raster none = {0}, *read = in->raster ? in->raster : &none,
                        *write = out->raster ? out->raster : &none;
    const cl_int depth = dst.layers * dst.channels;
    /* Blocks are as high as possible while each work-item has one, because a block fills its histograms from
     * scratch. */
    const int across = ceil_div(dst.width, BLOCK_WIDTH);
    const int down = ceil_div((int)run->device->compute_units * TILES_ITEMS, across * depth);
    *blocks = (struct blocks){.width = ceil_div(ceil_div(dst.width, across), TILE) * TILE,
                              .height = ceil_div(ceil_div(dst.rows, down), TILE) * TILE};
    blocks->across = ceil_div(dst.width, blocks->width);
    blocks->down = ceil_div(dst.rows, blocks->height);
    const bool is_disc = rank->shape == RANK_DISC;
    const struct {
        cl_int radius, rank, column_bytes, width, height, across, down;
    } ranking = {rank->radius,  wanted_rank(rank), is_disc ? DISC_COLUMN_BYTES : COLUMN_BYTES,
                 blocks->width, blocks->height,    blocks->across,
                 blocks->down};
    const int count = blocks->across * blocks->down * depth, items = count_items(run, count);
    const size_t halo = 2 * (size_t)rank->radius,
                 columns = (size_t)blocks->width + halo + (is_disc ? 2 * DISC_ALIGNMENT : 0),
                 values = columns * ((size_t)blocks->height + halo) + DISC_ALIGNMENT,
                 bytes = values + columns * (size_t)ranking.column_bytes;
    /* Scratch memory of a work-item: the histograms of the columns of a block, then its values. Vectors of
     * the last columns of a disc's block reach beyond these. */
    const cl_ulong scratch_bytes = (bytes + 63) / 64 * 64;
    struct planes scratch;
    cl_mem reaches;
    if (run_reaches(run, rank, &reaches, error) != STATUS_OK ||
        run_counters(run, (size_t)count, skipped, error) != STATUS_OK ||
        run_scratch(run, (int)(scratch_bytes / sizeof(float)), items, rows_full(items), 1, 1, &scratch,
                    error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work =
        run_work(run, is_disc ? "rank_discs_cpu" : "rank_squares_cpu", "rank_histogram", &dst);
    work.vector_width = VECTOR_SCALAR;
    work.config = (struct launch_config){1, {1, 1}};
    work.calls_noinline = true;
    work.width = items;
    work.height = work.depth = 1;
    work.bytes = in->raster ? raster_bytes(read, src.rows) + raster_bytes(write, dst.rows)
                            : planes_bytes(&src) + planes_bytes(&dst);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(read), ARG_MEMORY(src.object), ARG(src_at),
                  ARGS_WRITE_RASTER(write), ARG_MEMORY(dst.object), ARG(dst_at), ARG(depth),
                  ARG_MEMORY(reaches), ARG(ranking), ARG(alpha_channel), ARG_MEMORY(scratch.object),
                  ARG(scratch_bytes), ARG_MEMORY(*skipped));
}

/* Enqueues kernels/rank_tiles_cpu.cl for the blocks that rank_by_histogram() skipped, or for all if
 * `skipped` is NULL. */
static enum status rank_by_tiles(struct run *run, const struct rank *rank, cl_int alpha_channel,
                                 const struct planes *src, const struct planes *dst,
                                 const struct blocks *blocks, cl_mem skipped, struct error *error)
{
    struct {
        cl_int radius, rank, tile, tiles_across, tiles_down;
    } ranking = {rank->radius, wanted_rank(rank), TILE, ceil_div(dst->width, TILE),
                 ceil_div(dst->rows, TILE)};
    const struct {
        cl_int width, height, across, down; /* of a block, in tiles; blocks of a plane */
    } block_grid = {blocks->width / TILE, blocks->height / TILE, blocks->across, blocks->down};
    const int side = TILE + 2 * rank->radius; /* of a tile with its halo */
    const cl_int tile_pixels = side * side;
    const int items = count_items(run, ranking.tiles_across * ranking.tiles_down * planes_depth(dst));
    struct planes scratch;
    cl_mem reaches;
    if (run_reaches(run, rank, &reaches, error) != STATUS_OK ||
        run_scratch(run, 6 * tile_pixels, items, rows_full(items), 1, 1, &scratch, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "rank_tiles_cpu", "rank_tiles", dst);
    work.vector_width = VECTOR_SCALAR;
    work.config = (struct launch_config){1, {1, 1}};
    work.calls_noinline = true;
    work.width = items;
    work.height = work.depth = 1;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(reaches),
                  ARG(ranking), ARG(alpha_channel), ARG_MEMORY(scratch.object), ARG(tile_pixels),
                  ARG_MEMORY(skipped), ARG(block_grid));
}

enum status rank_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct rank *rank = params;
    const int by = chroma->across > chroma->down ? chroma->across : chroma->down;
    (void)error;
    rank->radius = ceil_div(rank->radius, by);
    return STATUS_OK;
}

/* Ranks planes. `is_wide`: samples are known to have more than 8 bits. */
static enum status rank_planes(struct run *run, const struct rank *rank, cl_int alpha_channel, bool is_wide,
                               const struct value *in, const struct value *out, struct error *error)
{
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    if (is_small_median(rank))
        return rank_by_network(run, rank, alpha_channel, in, out, error);
    if (is_extreme(rank))
        return extrema_find(run, rank->radius, wanted_rank(rank) > 0, alpha_channel, src, dst, error);
    if (!run_is_cpu(run)) {
        const bool fits = rank->shape == RANK_SQUARE && rank->radius <= COLUMNS_RADIUS &&
                          columns_bytes(side_step(rank)) <= run->device->local_memory;
        return (fits ? rank_by_columns : rank_by_digits)(run, rank, alpha_channel, src, dst, error);
    }
    /* A CPU device first does the blocks of 8-bit values, then the others. */
    struct blocks blocks = {.width = TILE, .height = TILE};
    cl_mem skipped = NULL;
    if (!is_wide &&
        rank_by_histogram(run, rank, alpha_channel, in, out, &blocks, &skipped, error) != STATUS_OK)
        return STATUS_FAILED;
    return rank_by_tiles(run, rank, alpha_channel, src, dst, &blocks, skipped, error);
}

enum status rank_image(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error)
{
    const struct rank *rank = params;
    struct blocks blocks;
    cl_mem skipped;
    if (run->memory == MEMORY_IMAGE && !is_quick(rank))
        return run_in_buffers(run, rank_image, params, in, out, error);
    if (!out->raster)
        return run_output(run, out, error) == STATUS_OK
                   ? rank_planes(run, rank, shape_alpha(&out->shape), false, in, out, error)
                   : STATUS_FAILED;
    if (is_small_median(rank))
        return rank_by_network(run, rank, -1, in, out, error);
    if (in->raster->sample == SAMPLE_UINT8 && !is_extreme(rank))
        return rank_by_histogram(run, rank, -1, in, out, &blocks, &skipped, error);
    /* Unpack to planes, rank these and pack the result. */
    const struct planes src = value_planes(in), dst = value_planes(out);
    struct value from = {.shape = in->shape, .rows = in->rows}, to = {.shape = out->shape, .rows = out->rows};
    if (run_scratch_like(run, &src, planes_rows(&src), &from.planes[0], error) != STATUS_OK ||
        run_scratch_like(run, &dst, planes_rows(&dst), &to.planes[0], error) != STATUS_OK ||
        unpack_columns(run, in->raster, 0, &from.planes[0], error) != STATUS_OK ||
        rank_planes(run, rank, -1, in->raster->sample != SAMPLE_UINT8, &from, &to, error) != STATUS_OK)
        return STATUS_FAILED;
    return pack_columns(run, &to.planes[0], (struct columns){.count = dst.width}, out->raster, error);
}
