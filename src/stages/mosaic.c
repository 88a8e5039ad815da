/* Draws all levels of a pyramid as one picture. For three or more levels:
 *
 *     +-----------------------+-----------+
 *     |  15  |  45  |  75     |  level 2  |
 *     |       level 1         |           |
 *     +-----------------------+-----+--+--+
 *     | -15  | -45  | -75     |  3  |4 |lo|
 *     |                       |     |--+--|
 *     +-----------------------+-----+-----+
 *
 * kernels/mosaic.cl has the formulas of the views. First, the largest coefficient of each level is found.
 * Most coefficients are far below it; the square root in the formulas makes them visible. The lowpass is
 * divided by its DC gain, 2^(levels - 1).
 *
 * The stage needs all rows of the pyramid, as the largest coefficient depends on all of them, and has no
 * groups. The chain inserts it between --wavelet and a stage for images. */
#include "filters/box.h"
#include "wavelet/dtcwt.h"

/* The choices of VIEW, in the order of the option table; -D VIEW of kernels/mosaic.cl. */
enum { VIEW_MAGNITUDE, VIEW_PHASE, VIEW_REAL, VIEW_IMAGINARY };

/* Black pixels between cells, and between levels. */
enum { GAP = 2 };

struct mosaic {
    int view;    /* VIEW_MAGNITUDE to VIEW_IMAGINARY */
    double gain; /* factor of the coefficients, before the square root */
};

static const struct option options[] = {
    {.type = OPTION_CHOICE,
     .offset = offsetof(struct mosaic, view),
     .fallback = "magnitude",
     .choices = "magnitude|phase|real|imaginary",
     .value = "VIEW",
     .optional = true,
     .help = "the part of the complex coefficients to show"},
    {.name = "gain",
     .type = OPTION_REAL,
     .offset = offsetof(struct mosaic, gain),
     .fallback = "1",
     .min = 0.01,
     .max = 10000,
     .value = "N",
     .help = "multiplies the coefficients, to show weak detail"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --wavelet=3 --mosaic magnitudes.png", "where the detail is, and its direction"},
    {"climg samples/zoneplate.png --wavelet --mosaic=phase phases.png",
     "phase as hue, magnitude as brightness"},
    {"climg samples/scene.png --wavelet --mosaic=real,gain=8 real.png", "weak detail, too"},
    {NULL, NULL},
};

/* Positions of the levels in the picture, counted from the top left, and its size. */
struct layout {
    struct point origin[1 + MAX_LEVELS]; /* [0]: the lowpass, [n]: level n */
    int width, height;
};

/* Enlarges the layout to include (right, bottom). */
static void layout_extend(struct layout *layout, int right, int bottom)
{
    layout->width = right > layout->width ? right : layout->width;
    layout->height = bottom > layout->height ? bottom : layout->height;
}

/* Returns the positions for the sizes of a pyramid. Level 2 is to the right of level 1; the others follow
 * below level 2, from left to right, and the lowpass is the last. */
static struct layout layout_make(const struct shape *pyramid)
{
    struct layout layout = {.width = 0};
    struct point next = {0, 0};
    for (int level = 1; level <= pyramid->levels; level++) {
        int width = 3 * (dtcwt_lowpass_size(pyramid->width, level) / 2) + 2 * GAP;
        int height = 2 * (dtcwt_lowpass_size(pyramid->height, level) / 2) + GAP;
        layout.origin[level] = next;
        layout_extend(&layout, next.x + width, next.y + height);
        if (level == 2)
            next.y += height + GAP; /* the smaller levels are below level 2 */
        else
            next.x += width + GAP;
    }
    layout.origin[0] = next;
    layout_extend(&layout, next.x + dtcwt_lowpass_size(pyramid->width, pyramid->levels),
                  next.y + dtcwt_lowpass_size(pyramid->height, pyramid->levels));
    return layout;
}

/* Sets the size of the layout, and three colours for hues. Fails if the image has more than 2^29 columns: the
 * layout is up to 2.25 times as wide, and sizes are ints. */
static enum status mosaic_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    const int max_columns = 1 << 29;
    if (in->width > max_columns)
        return fail(error, STATUS_FAILED, "--mosaic: the image has %d columns; at most %d are possible",
                    in->width, max_columns);
    struct layout layout = layout_make(in);
    out->kind = KIND_IMAGE;
    out->width = layout.width;
    out->height = layout.height;
    if (((const struct mosaic *)params)->view == VIEW_PHASE) /* hue needs colour */
        out->channels = in->alpha ? 4 : 3;
    return STATUS_OK;
}

/* Enqueues all kernels. With VIEW_PHASE a work-item writes all channels of a pixel, else one channel. */
static enum status run_mosaic(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct mosaic *mosaic = params;
    const struct layout layout = layout_make(&in->shape);
    const struct planes *dst = &out->planes[0], *lowpass = &in->planes[0];
    const bool phase = mosaic->view == VIEW_PHASE;
    const cl_int colours = in->shape.channels - in->shape.alpha, alpha = shape_alpha(&out->shape), gap = GAP;
    const cl_float gain = (cl_float)mosaic->gain;
    cl_mem largest; /* largest squared magnitude of each level */
    if (run_output(run, out, error) != STATUS_OK ||
        run_counters(run, 1 + MAX_LEVELS, &largest, error) != STATUS_OK)
        return STATUS_FAILED;

    /* The gaps: fill the picture with opaque black. */
    struct kernel_launch work = {.file = "mosaic",
                                 .kernel = "mosaic_clear",
                                 .memory = run->memory,
                                 .vector_width = VECTOR_SCALAR,
                                 .width = dst->width,
                                 .height = dst->rows,
                                 .depth = planes_depth(dst)};
    define(&work.defines, "VIEW", mosaic->view);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(dst), ARG(alpha)) != STATUS_OK)
        return STATUS_FAILED;

    for (int level = 1; level <= in->shape.levels; level++) {
        const struct planes *subbands = &in->planes[level];
        const cl_int2 origin = {{layout.origin[level].x, layout.origin[level].y}};
        const cl_int index = level;
        /* The largest magnitude of all six subbands, for normalisation. A work-item reads a column. */
        work.kernel = "mosaic_largest";
        work.width = subbands->width;
        work.height = ORIENTATIONS;
        work.depth = planes_layer_depth(subbands);
        if (LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_MEMORY(largest), ARG(index),
                   ARG(colours)) != STATUS_OK)
            return STATUS_FAILED;
        /* The subbands, side by side. */
        work.kernel = "mosaic_subbands";
        work.height = subbands->height;
        work.depth = phase ? 1 : work.depth;
        if (LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(dst), ARG_MEMORY(largest),
                   ARG(index), ARG(gain), ARG(origin), ARG(gap), ARG(colours), ARG(alpha)) != STATUS_OK)
            return STATUS_FAILED;
    }

    /* The lowpass, divided by its DC gain. */
    const cl_int2 origin = {{layout.origin[0].x, layout.origin[0].y}};
    const cl_float to_full = 1.0f / (float)(1 << (in->shape.levels - 1));
    work.kernel = "mosaic_lowpass";
    work.width = lowpass->width;
    work.height = lowpass->height;
    work.depth = phase ? 1 : planes_depth(lowpass);
    return LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(dst), ARG(origin), ARG(to_full),
                  ARG(colours), ARG(alpha));
}

const struct stage stage_mosaic = {
    .name = "mosaic",
    .brief = "one picture of a whole pyramid",
    .manual = "Shows every level of a pyramid side by side. A level is a block of six cells, stripes at 15, "
              "45 and 75 degrees in the upper row, at -15, -45 and -75 degrees below. Level 1 is on the "
              "left, level 2 at the upper right, the smaller levels and then the lowpass below level 2.\n\n"
              "magnitude shows sqrt(gain * |z| / the largest |z| of the level), at most 1, channel by "
              "channel; real and imaginary show the signed square root around middle gray; phase shows the "
              "phase as hue (0 red, 120 degrees green, 240 degrees blue) and the magnitude as brightness, of "
              "the mean of the colour channels. The picture is opaque.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct mosaic),
    .in = KIND_PYRAMID,
    .shape = mosaic_shape,
    .rows = rows_all,
    /* The picture has other positions and values than the image. It shows directions of the picture as it is
     * seen, hence needs_upright. */
    .fixed_caps = {.needs_upright = true, .new_geometry = true, .new_values = true},
    .run = run_mosaic,
};
