#include "filters/rank.h"

/* Medians of windows of 3x3 and 5x5. */
static const struct tunable network = {.kernel = "rank_network",
                                       .wide = {8, {16, 1}},
                                       .wide_images = {2, {16, 1}},
                                       .grouped = {4, {32, 4}},
                                       .grouped_images = {2, {32, 4}}};

/* As in kernels/rank_network_wide.h: outputs of a work-item along x. */
enum { SEGMENT = 128 };

/* Of kernels/rank_columns_grouped.cl: work-items of a group, which holds twice as many columns; the fewest
 * rows of a group. */
enum { COLUMNS_GROUP = 64, COLUMNS_RADIUS = COLUMNS_GROUP / 2 - 1, COLUMNS_ROWS = 32 };

/* Of kernels/rank_digits.cl: work-items of a group, each with a bin of 16 bits for 256 digits or values; up
 * to how many samples digits of four bits cost less than those of eight. */
enum { DIGITS_GROUP = 32, DIGITS_BINS = 256, DIGITS_FEW = 256 };

/* Rows of such a work-item: the more, the less often a window is begun, while work-items are left to keep a
 * device busy. */
enum { DIGITS_ROWS = 64, DIGITS_ITEMS = 1 << 16 };

/* Of kernels/rank_tiles_wide.cl: outputs along either side of a tile; work-items for each compute unit. */
enum { TILE = 128, TILES_ITEMS = 4 };

struct rows rank_rows(const void *params, const struct shape *in, struct rows out)
{
    const struct rank *rank = params;
    (void)in;
    return (struct rows){out.begin - rank->radius, out.end + rank->radius};
}

static bool is_small_median(const struct rank *rank)
{
    return rank->radius <= 2 && rank->shape == RANK_SQUARE && rank->percent == 50;
}

struct traits rank_traits(const void *params)
{
    const bool small = is_small_median(params);
    return (struct traits){.maps_samples = small,
                           .groups = true,
                           .relative_cost = small ? 0.5 : 10 * ((const struct rank *)params)->radius};
}

/* How far the row k rows from the window's middle reaches to either side. */
static int row_reach(const struct rank *rank, int k)
{
    int reach = rank->radius;
    while (rank->shape == RANK_DISC && reach * reach + k * k > rank->radius * rank->radius)
        reach--;
    return reach;
}

static int window_samples(const struct rank *rank)
{
    int samples = 2 * rank->radius + 1;
    for (int k = 1; k <= rank->radius; k++)
        samples += 2 * (2 * row_reach(rank, k) + 1);
    return samples;
}

/* How many samples of a window stand before the one that is wanted. */
static int wanted_rank(const struct rank *rank)
{
    int samples = window_samples(rank), wanted = (int)(samples * rank->percent / 100);
    return wanted < samples ? wanted : samples - 1;
}

static enum status run_reaches(struct run *run, const struct rank *rank, cl_mem *memory, struct error *error)
{
    float reaches[RANK_MAX_RADIUS + 1];
    for (int k = 0; k <= rank->radius; k++)
        reaches[k] = (float)row_reach(rank, k);
    return run_constants(run, reaches, (size_t)rank->radius + 1, memory, error);
}

static struct work network_work(const struct run *run, const char *file, const struct rank *rank,
                                const struct planes *dst)
{
    struct work work = run_tuned(run, file, &network, dst);
    int outputs = work.form.outputs, across = run->memory == MEMORY_IMAGE ? 2 : 1;
    work.width = run_is_wide(run) ? divided(dst->width, SEGMENT) * WIDE_LANES : divided(dst->width, across);
    work.height = divided(dst->rows, outputs);
    work.apart = true;
    define(&work.defines, "RADIUS", rank->radius);
    define(&work.defines, "OUTPUTS", outputs);
    return work;
}

static enum status rank_samples(struct run *run, const struct rank *rank, const struct value *in,
                                const struct value *out, struct error *error)
{
    const struct planes src = value_planes(in), dst = value_planes(out);
    struct geometry src_at = planes_geometry(&src), dst_at = planes_geometry(&dst);
    struct work work = network_work(run, "rank_network_samples", rank, &dst);
    work.kernel = "rank_network_samples";
    work.depth = 1;
    work.bytes = raster_bytes(in->raster, src.rows) + raster_bytes(out->raster, dst.rows);
    define_all(&work.defines, &out->raster->defines);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(in->raster), ARG(src_at),
                  ARGS_RASTER(out->raster), ARG(dst_at));
}

static enum status rank_by_network(struct run *run, const struct rank *rank, cl_int keep,
                                   const struct planes *src, const struct planes *dst, struct error *error)
{
    const char *file = run_is_wide(run) ? "rank_network_wide" : "rank_network_grouped";
    struct work work = network_work(run, file, rank, dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(keep));
}

static size_t columns_bytes(int step)
{
    return (size_t)(2 * step + 1) * 2 * COLUMNS_GROUP * sizeof(cl_uint);
}

/* The largest power of two that is not larger than a side. */
static int side_step(const struct rank *rank)
{
    int step = 1;
    while (2 * step <= 2 * rank->radius + 1)
        step *= 2;
    return step;
}

static bool columns_suit(const struct run *run, const struct rank *rank)
{
    return rank->shape == RANK_SQUARE && rank->radius <= COLUMNS_RADIUS &&
           columns_bytes(side_step(rank)) <= run->device->local_memory;
}

static enum status rank_by_columns(struct run *run, const struct rank *rank, cl_int keep,
                                   const struct planes *src, const struct planes *dst, struct error *error)
{
    struct {
        cl_int radius, rank, step, rows;
    } by = {rank->radius, wanted_rank(rank), side_step(rank), 2 * side_step(rank)};
    if (by.rows < COLUMNS_ROWS)
        by.rows = COLUMNS_ROWS;
    struct work work = run_work(run, "rank_columns_grouped", "rank_columns", dst);
    work.grain = GRAIN_SINGLE;
    work.form = (struct form){1, {COLUMNS_GROUP, 1}};
    work.height = divided(dst->rows, by.rows);
    define(&work.defines, "GROUP", COLUMNS_GROUP);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG(by), ARG(keep),
                  ARG_LOCAL(columns_bytes(by.step)));
}

static int digits_rows(const struct planes *dst)
{
    double rows = (double)dst->width * dst->rows * planes_depth(dst) / DIGITS_ITEMS;
    return rows < 1 ? 1 : rows < DIGITS_ROWS ? (int)rows : DIGITS_ROWS;
}

static enum status rank_by_digits(struct run *run, const struct rank *rank, cl_int keep,
                                  const struct planes *src, const struct planes *dst, struct error *error)
{
    int bits = window_samples(rank) <= DIGITS_FEW ? 4 : 8;
    struct {
        cl_int radius, rank, bits, rows;
    } by = {rank->radius, wanted_rank(rank), bits, digits_rows(dst)};
    cl_mem reaches;
    struct work work = run_work(run, "rank_digits", "rank_digits", dst);
    work.grain = GRAIN_SINGLE;
    work.form = (struct form){1, {DIGITS_GROUP, 1}};
    work.height = divided(dst->rows, by.rows);
    define(&work.defines, "GROUP", DIGITS_GROUP);
    if (run_reaches(run, rank, &reaches, error) != STATUS_OK)
        return STATUS_FAILED;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(reaches), ARG(by),
                  ARG(keep), ARG_LOCAL(DIGITS_GROUP * DIGITS_BINS * sizeof(cl_ushort)));
}

static enum status rank_by_tiles(struct run *run, const struct rank *rank, cl_int keep,
                                 const struct planes *src, const struct planes *dst, struct error *error)
{
    struct {
        cl_int radius, rank, tile, across, down;
    } by = {rank->radius, wanted_rank(rank), TILE, divided(dst->width, TILE), divided(dst->rows, TILE)};
    cl_int side = TILE + 2 * rank->radius, room = side * side;
    int items = (int)run->device->units * TILES_ITEMS, tiles = by.across * by.down * planes_depth(dst);
    struct planes scratch;
    cl_mem reaches;
    items = items < tiles ? items : tiles;
    if (run_reaches(run, rank, &reaches, error) != STATUS_OK ||
        run_scratch(run, 6 * room, items, rows_whole(items), 1, 1, &scratch, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_work(run, "rank_tiles_wide", "rank_tiles", dst);
    work.grain = GRAIN_SINGLE;
    work.form = (struct form){1, {1, 1}};
    work.apart = true;
    work.width = items;
    work.height = work.depth = 1;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(reaches), ARG(by),
                  ARG(keep), ARG_MEMORY(scratch.object), ARG(room));
}

/* In buffers. */
static enum status rank_window(struct run *run, const struct rank *rank, cl_int keep,
                               const struct planes *src, const struct planes *dst, struct error *error)
{
    if (run_is_wide(run))
        return rank_by_tiles(run, rank, keep, src, dst, error);
    if (columns_suit(run, rank))
        return rank_by_columns(run, rank, keep, src, dst, error);
    return rank_by_digits(run, rank, keep, src, dst, error);
}

static enum status scratch_of(struct run *run, const struct planes *like, struct planes *planes,
                              struct error *error)
{
    struct rows rows = {like->first_row, like->first_row + like->rows};
    return run_scratch(run, like->width, like->height, rows, 1, like->channels, planes, error);
}

/* The same for images, by way of buffers: counting the digits of texels took 40 times as long on an H100. */
static enum status rank_beside(struct run *run, const struct rank *rank, cl_int keep,
                               const struct planes *src, const struct planes *dst, struct error *error)
{
    struct planes from, to;
    struct work fetch = run_work(run, "texels", "texels_to_planes", src);
    struct work put = run_work(run, "texels", "planes_to_texels", dst);
    run->memory = MEMORY_BUFFER;
    bool ok = scratch_of(run, src, &from, error) == STATUS_OK &&
              scratch_of(run, dst, &to, error) == STATUS_OK &&
              LAUNCH(run->device, &fetch, error, ARG_PLANES(src), ARG_PLANES(&from)) == STATUS_OK &&
              rank_window(run, rank, keep, &from, &to, error) == STATUS_OK &&
              LAUNCH(run->device, &put, error, ARG_PLANES(&to), ARG_PLANES(dst)) == STATUS_OK;
    run->memory = MEMORY_IMAGE;
    return ok ? STATUS_OK : STATUS_FAILED;
}

enum status rank_coarsen(void *params, const struct chroma *chroma, struct error *error)
{
    struct rank *rank = params;
    const int by = chroma->across > chroma->down ? chroma->across : chroma->down;
    (void)error;
    rank->radius = divided(rank->radius, by);
    return STATUS_OK;
}

enum status rank_image(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error)
{
    const struct rank *rank = params;
    if (out->raster)
        return rank_samples(run, rank, in, out, error);
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    cl_int keep = shape_alpha(&out->shape);
    if (is_small_median(rank))
        return rank_by_network(run, rank, keep, src, dst, error);
    return run->memory == MEMORY_IMAGE ? rank_beside(run, rank, keep, src, dst, error)
                                       : rank_window(run, rank, keep, src, dst, error);
}
