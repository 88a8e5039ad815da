/* Contrast-limited adaptive histogram equalisation, CLAHE (kernels/local_contrast.cl):
 *
 *     count_tiles -> make_tables -> equalise
 *
 * The tables depend on the whole picture, so a picture in slices is read twice, first by the analysis pass,
 * which computes them. They stay on the device, so the host does not wait. Each picture has its own tables,
 * so there are no groups.
 *
 * Pictures of 8 bit have 256 bins, all others 65536 from 0 to full scale, as in OpenCV. Colours: the change
 * of luma (ITU-R BT.709) is added to red, green and blue, which leaves the colour differences as they are.
 * Equalising each colour, or the differences, too, would change the hues. A second or fourth channel that is
 * not alpha is copied. */
#include "engine/run.h"

struct tile_counts {
    int across, down;
};

struct local_contrast {
    double clip; /* multiple of the mean count of a bin; 0: no limit */
    struct tile_counts tiles;
};

/* The most tiles on each side: 65536 bins of 32 x 32 tiles take 256 MiB. */
enum { MAX_TILES = 32 };

/* Parses "8x8". */
static enum status parse_tiles(const char *text, void *field, struct error *error)
{
    struct tile_counts tiles = {0, 0};
    int length = 0;
    if (sscanf(text, "%2dx%2d%n", &tiles.across, &tiles.down, &length) != 2 || text[length] != '\0' ||
        tiles.across < 1 || tiles.across > MAX_TILES || tiles.down < 1 || tiles.down > MAX_TILES)
        return fail(error, STATUS_USAGE, "not two numbers of 1 to %d, as in 8x8", MAX_TILES);
    *(struct tile_counts *)field = tiles;
    return STATUS_OK;
}

static void print_tiles(FILE *file, const void *field)
{
    const struct tile_counts *tiles = field;
    fprintf(file, "%dx%d", tiles->across, tiles->down);
}

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct local_contrast, clip),
     .fallback = "2",
     .max = 1000,
     .value = "CLIP",
     .optional = true,
     .help = "limit of the contrast: 1 hardly changes anything, 2 to 4 is usual, 40 is OpenCV's default; 0: "
             "no limit"},
    {.name = "tiles",
     .type = OPTION_CUSTOM,
     .offset = offsetof(struct local_contrast, tiles),
     .fallback = "8x8",
     .value = "NxM",
     .help = "number of tiles across and down, 1 to 32; more of them equalise smaller parts",
     .parse = parse_tiles,
     .print = print_tiles},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/valley.jpg --local-contrast clear.jpg", "haze and shadows show their detail"},
    {"climg samples/page.jpg --gray --local-contrast=4,tiles=4x6 page.png", "faint pencil on a page"},
    {NULL, NULL},
};

/* The same layout as struct tiles of kernels/local_contrast.cl. */
struct tiles_argument {
    cl_float4 weights;
    cl_int across, down, width, height;
    cl_float inverse_width, inverse_height;
    cl_int bins, colours, alpha;
};

/* Computes the tiles of a picture as OpenCV does: if one side is not a multiple of its number of tiles, both
 * sides are enlarged to the next multiple, even one that is a multiple already. */
static struct tiles_argument tiles_make(const struct local_contrast *contrast, const struct shape *shape)
{
    const int across = contrast->tiles.across, down = contrast->tiles.down;
    const bool fits = shape->width % across == 0 && shape->height % down == 0;
    const int width = shape->width / across + !fits, height = shape->height / down + !fits;
    return (struct tiles_argument){.weights = {{0.2126F, 0.7152F, 0.0722F, 0}},
                                   .across = across,
                                   .down = down,
                                   .width = width,
                                   .height = height,
                                   .inverse_width = 1.0F / (float)width,
                                   .inverse_height = 1.0F / (float)height,
                                   .bins = shape->full == UINT8_MAX ? 256 : 65536,
                                   .colours = shape->channels - shape->alpha < 3 ? 1 : 3,
                                   .alpha = shape_alpha(shape)};
}

/* Returns the number of 32-bit words of all tables. A word has the count of a bin, and later its tone. */
static size_t table_words(const struct tiles_argument *tiles)
{
    return (size_t)tiles->across * (size_t)tiles->down * (size_t)tiles->bins;
}

/* Adds rows to the histograms. */
static enum status count_rows(struct run *run, const struct tiles_argument *tiles, const struct planes *src,
                              struct interval rows, cl_mem tables, struct error *error)
{
    const cl_int2 range = {{rows.begin, rows.end}};
    struct kernel_launch work = run_work(run, "local_contrast", "count_tiles", src);
    work.vector_width = VECTOR_WINDOW;
    work.depth = 1;
    if (run_is_cpu(run)) { /* a work-item, launch_lanes of `width`, counts a tile */
        work.config = (struct launch_config){1, {1, 1}};
        work.width = tiles->across * launch_lanes(run->device, run->memory, work.vector_width);
        work.height = tiles->down;
    } else {
        work.width = tiles->across * tiles->width;
        work.height = tiles->down * tiles->height;
    }
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_MEMORY(tables), ARG(*tiles), ARG(range));
}

/* Converts the histograms to tables of tones, in place, a tile per work-item. clip_limit 0 means none. */
static enum status make_tables(struct run *run, const struct local_contrast *contrast,
                               const struct tiles_argument *tiles, cl_mem tables, struct error *error)
{
    const double limit = contrast->clip * ((double)tiles->width * tiles->height) / tiles->bins;
    const cl_uint clip_limit = contrast->clip == 0  ? 0
                               : limit < 1          ? 1
                               : limit < UINT32_MAX ? (cl_uint)limit
                                                    : 0;
    const struct planes no_planes = {.width = 0};
    struct kernel_launch work = run_work(run, "local_contrast", "make_tables", &no_planes);
    work.vector_width = VECTOR_WINDOW;
    work.config = (struct launch_config){1, {1, 1}};
    work.width = tiles->across * tiles->down * launch_lanes(run->device, run->memory, work.vector_width);
    work.height = work.depth = 1;
    return LAUNCH(run->device, &work, error, ARG_MEMORY(tables), ARG(*tiles), ARG(clip_limit));
}

/* ---------------------------------------------------------------- the analysis pass of slices */

/* Creates the tables. Their words are 0 at first; contrast_add makes them histograms, contrast_end tones. */
static enum status contrast_begin(struct run *run, const void *params, const struct shape *in,
                                  struct analysis_result *result, struct error *error)
{
    const struct tiles_argument tiles = tiles_make(params, in);
    return counters_create(run->device, table_words(&tiles), &result->words, error);
}

static enum status contrast_add(struct run *run, const void *params, const struct value *in,
                                struct interval part, struct analysis_result *result, struct error *error)
{
    const struct tiles_argument tiles = tiles_make(params, &in->shape);
    return count_rows(run, &tiles, &in->planes[0], part, result->words, error);
}

static enum status contrast_end(struct run *run, const void *params, const struct shape *in,
                                struct analysis_result *result, struct error *error)
{
    const struct tiles_argument tiles = tiles_make(params, in);
    return make_tables(run, params, &tiles, result->words, error);
}

static const struct analysis contrast_analysis = {NULL, rows_same, contrast_begin, contrast_add,
                                                  contrast_end};

/* ---------------------------------------------------------------- the stage */

/* Enqueues the equalisation, with tables of the analysis pass, or of the picture if all rows are present. */
static enum status run_local_contrast(struct run *run, const void *params, const struct value *in,
                                      struct value *out, struct error *error)
{
    const struct analysis_result *result = run_analysis_result(run, params);
    const struct tiles_argument tiles = tiles_make(params, &in->shape);
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    cl_mem tables = NULL;
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    if (result)
        tables = result->words;
    else if (run_counters(run, table_words(&tiles), &tables, error) != STATUS_OK ||
             count_rows(run, &tiles, src, rows_full(in->shape.height), tables, error) != STATUS_OK ||
             make_tables(run, params, &tiles, tables, error) != STATUS_OK)
        return STATUS_FAILED;
    struct kernel_launch work = run_work(run, "local_contrast", "equalise", dst);
    work.vector_width = VECTOR_WINDOW;
    work.depth = 1;
    work.calls_noinline = true;
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_MEMORY(tables),
                  ARG(tiles));
}

const struct stage stage_local_contrast = {
    .name = "local-contrast",
    .brief = "bring out detail in dark and in light parts (CLAHE)",
    .manual =
        "Contrast-limited adaptive histogram equalisation: each tile of the picture gets the tone curve that "
        "spreads its own values, and between the centres of tiles curves are interpolated. CLIP limits how "
        "steep a curve may become, so that noise in even parts stays faint.\n\n"
        "Gray pictures of 8 and 16 bit become what OpenCV's createCLAHE(CLIP, (N, M)) makes of them, to "
        "within a count. 16 bit has 65536 values, and in tiles of fewer pixels, 256x256, CLIP has hardly any "
        "effect: give fewer tiles, or convert to 8 bit in a command before. Of colours only the brightness "
        "is equalised (luma of ITU-R BT.709): its change is added to red, green "
        "and blue. Floats count from 0 to 1 with 16 bits. Transparent pixels, NaN and infinities do not "
        "count and do not change. Large pictures are read twice, as with --denoise. A photo that is stored "
        "on its side is turned first, unless --stored-orientation is given.\n\n"
        "K. Zuiderveld, \"Contrast limited adaptive histogram equalization\", Graphics Gems IV (1994).",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct local_contrast),
    .rows = rows_same,
    .analysis = &contrast_analysis,
    .fixed_caps = {.needs_upright = true, .new_values = true, .relative_cost = 2},
    .run = run_local_contrast,
};
