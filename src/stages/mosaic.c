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
 * mosaic_clear() fills the gaps. Then, level by level, one kernel finds the largest magnitude, for
 * normalisation, and another draws the six subbands; the magnitude stays on the device. The lowpass is
 * divided by its DC gain, 2^(levels - 1). */
#include "engine/run.h"
#include "wavelet/dtcwt.h"

struct mosaic {
    int view;
    double gain;
};

enum { VIEW_MAGNITUDE, VIEW_PHASE, VIEW_REAL, VIEW_IMAGINARY, GAP = 2 };

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

struct place {
    int x, y;
};

/* Positions in the picture, and its size. */
struct layout {
    struct place origin[1 + MAX_LEVELS]; /* [0]: the lowpass, [n]: level n */
    int width, height;
};

/* Enlarges the layout to include (right, bottom). */
static void layout_extend(struct layout *layout, int right, int bottom)
{
    layout->width = right > layout->width ? right : layout->width;
    layout->height = bottom > layout->height ? bottom : layout->height;
}

static struct layout layout_make(const struct shape *pyramid)
{
    struct layout layout = {.width = 0};
    struct place next = {0, 0};
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

static enum status mosaic_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    const int widest = 1 << 29; /* level 1 is 1.5 times as wide, and the others are next to it */
    if (in->width > widest)
        return fail(error, STATUS_FAILED, "--mosaic of %dx%d pixels is beyond 2^30 along an axis", in->width,
                    in->height);
    struct layout layout = layout_make(in);
    out->kind = KIND_IMAGE;
    out->width = layout.width;
    out->height = layout.height;
    if (((const struct mosaic *)params)->view == VIEW_PHASE) /* hue needs colour */
        out->channels = in->alpha ? 4 : 3;
    return STATUS_OK;
}

/* Arguments of all drawing functions. */
struct drawing {
    struct run *run;
    const struct value *in;
    const struct planes *dst;
    struct work work; /* defines and memory kind of all kernels */
    cl_float gain;
    cl_mem largest; /* largest squared magnitude of each level, computed on the device */
    cl_int colours; /* number of colour channels */
    cl_int alpha;   /* index of alpha in dst; -1: none */
    bool phase;     /* a work-item writes all channels of a pixel */
};

/* Fills the picture with opaque black. */
static enum status mosaic_clear(const struct drawing *drawing, struct error *error)
{
    struct work work = drawing->work;
    work.kernel = "mosaic_clear";
    work.width = drawing->dst->width;
    work.height = drawing->dst->rows;
    work.depth = planes_depth(drawing->dst);
    return LAUNCH(drawing->run->device, &work, error, ARG_PLANES(drawing->dst), ARG(drawing->alpha));
}

/* Finds the largest magnitude of a level, then draws its six subbands at `at`. */
static enum status draw_level(const struct drawing *drawing, int level, struct place at, struct error *error)
{
    const struct planes *subbands = &drawing->in->planes[level];
    cl_int2 origin = {{at.x, at.y}};
    cl_int index = level, gap = GAP;
    struct work work = drawing->work;
    work.kernel = "mosaic_largest";
    work.width = subbands->width;
    work.height = ORIENTATIONS;
    work.depth = planes_layer_depth(subbands);
    if (LAUNCH(drawing->run->device, &work, error, ARG_PLANES(subbands), ARG_MEMORY(drawing->largest),
               ARG(index), ARG(drawing->colours)) != STATUS_OK)
        return STATUS_FAILED;
    work.kernel = "mosaic_subbands";
    work.height = subbands->height;
    work.depth = drawing->phase ? 1 : work.depth;
    return LAUNCH(drawing->run->device, &work, error, ARG_PLANES(subbands), ARG_PLANES(drawing->dst),
                  ARG_MEMORY(drawing->largest), ARG(index), ARG(drawing->gain), ARG(origin), ARG(gap),
                  drawing->phase ? ARG(drawing->colours) : ARG(drawing->alpha));
}

static enum status draw_lowpass(const struct drawing *drawing, struct place at, struct error *error)
{
    const struct planes *lowpass = &drawing->in->planes[0];
    cl_int2 origin = {{at.x, at.y}};
    cl_float gain = 1.0f / (float)(1 << (drawing->in->shape.levels - 1)); /* its DC gain is 2^(levels - 1) */
    struct work work = drawing->work;
    work.kernel = "mosaic_lowpass";
    work.width = lowpass->width;
    work.height = lowpass->height;
    work.depth = drawing->phase ? 1 : planes_depth(lowpass);
    return LAUNCH(drawing->run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(drawing->dst),
                  ARG(origin), ARG(gain), drawing->phase ? ARG(drawing->colours) : ARG(drawing->alpha));
}

static enum status run_mosaic(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    const struct mosaic *mosaic = params;
    int view = mosaic->view;
    struct layout layout = layout_make(&in->shape);
    struct drawing drawing = {
        .run = run,
        .in = in,
        .dst = &out->planes[0],
        .gain = (cl_float)mosaic->gain,
        .work = {.file = "mosaic", .memory = run->memory, .vector_width = VECTOR_SCALAR},
        .colours = in->shape.channels - in->shape.alpha,
        .alpha = shape_alpha(&out->shape),
        .phase = view == VIEW_PHASE};
    define(&drawing.work.defines, "VIEW", view);
    if (run_output(run, out, error) != STATUS_OK ||
        run_counters(run, 1 + MAX_LEVELS, &drawing.largest, error) != STATUS_OK ||
        mosaic_clear(&drawing, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int level = 1; level <= in->shape.levels; level++)
        if (draw_level(&drawing, level, layout.origin[level], error) != STATUS_OK)
            return STATUS_FAILED;
    return draw_lowpass(&drawing, layout.origin[0], error);
}

static struct stage_caps mosaic_caps(const void *params)
{
    (void)params;
    return (struct stage_caps){.needs_upright = true, .new_geometry = true, .new_values = true};
}

const struct stage stage_mosaic = {
    .name = "mosaic",
    .brief = "one picture of a whole pyramid",
    .manual =
        "Shows every level of a pyramid side by side. A level is a block of six cells, stripes at 15, 45 "
        "and 75 degrees in the upper row, at -15, -45 and -75 degrees below. Level 1 is on the left, level "
        "2 at the upper right, the smaller levels and then the lowpass below level 2.\n\n"
        "magnitude shows sqrt(gain * |z| / the largest |z| of the level), at most 1, channel by channel; "
        "real and imaginary show the signed square root around middle gray; phase shows the phase as hue "
        "(0 red, 120 degrees green, 240 degrees blue) and the magnitude as brightness, of the mean of the "
        "colour channels. The picture is opaque.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct mosaic),
    .in = KIND_PYRAMID,
    .out = KIND_IMAGE,
    .shape = mosaic_shape,
    .rows = rows_all,
    .caps = mosaic_caps,
    .run = run_mosaic,
};
