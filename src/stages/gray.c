/* Reduces colour to one channel, a weighted sum (kernels/point.cl):
 *
 *     dst = w_R src_R + w_G src_G + w_B src_B
 *
 * rec709 has the weights of the luminance, of BT.709's primaries or of the file's. They are defined for
 * linear light; without --linear they apply to stored values, which gives the luma of ITU-R BT.709, and what
 * most programs call gray.
 *
 * The number of channels changes, 3 or 4 to 1 or 2, so the stage has no groups and no rasters. A gray input
 * is copied, so that a chain works on folders of gray and colour pictures. */
#include "engine/run.h"
#include "image/colour/colour.h"

/* The choices of WHAT, in the order of the option table. */
enum { REC709, MEAN, RED, GREEN, BLUE, ALPHA };

struct gray {
    int what; /* REC709 to ALPHA */
};

static const struct option options[] = {
    {.type = OPTION_CHOICE,
     .offset = offsetof(struct gray, what),
     .fallback = "rec709",
     .choices = "rec709|mean|R|G|B|A",
     .value = "WHAT",
     .optional = true,
     .help = "rec709: as bright as the colours look; mean: of the colours; or one channel",
     .hint = "channels are R, G, B and A (alpha)"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --gray gray.png", "shades of gray as bright as the colours look"},
    {"climg samples/scene.png --gray=G green.png", "the green channel alone"},
    {"climg samples/soft-alpha.png --gray=mean even.png", "every colour counts the same; alpha stays"},
    {NULL, NULL},
};

/* Luminances of the primaries of sRGB (ITU-R BT.709, 3.2). */
static const cl_float4 SRGB_LUMINANCE = {{0.2126F, 0.7152F, 0.0722F, 0}};

/* Sets one channel, or two with alpha. Fails for WHAT = A without alpha. */
static enum status gray_shape(const void *params, const struct shape *in, struct shape *out,
                              struct error *error)
{
    const struct gray *gray = params;
    if (gray->what == ALPHA && !in->alpha)
        return fail(error, STATUS_FAILED, "--gray=A: the picture has no alpha");
    out->alpha = in->alpha && gray->what != ALPHA;
    out->channels = out->alpha ? 2 : 1;
    return STATUS_OK;
}

static enum status run_gray(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct planes *dst = &out->planes[0];
    const int what = ((const struct gray *)params)->what;
    const struct colour_space *space = in->shape.space != NULL ? shape_space(&in->shape) : NULL;
    cl_float4 weights = {{0}}; /* of the input's channels */
    if ((in->shape.channels - in->shape.alpha) % 2 == 0)
        run_warn(run, 0, "--gray drops the last channel, which is neither a colour nor alpha");
    if (what == ALPHA)
        weights.s[in->shape.channels - 1] = 1;
    else if (in->shape.channels - in->shape.alpha < 3)
        weights.s[0] = 1;
    else if (what == REC709 && space == NULL)
        weights = SRGB_LUMINANCE;
    else if (what == REC709)
        for (int c = 0; c < 3; c++)
            weights.s[c] = (cl_float)space->luminance[c]; /* of the file's primaries */
    else if (what == MEAN)
        weights.s[0] = weights.s[1] = weights.s[2] = 1 / 3.0F;
    else
        weights.s[what - RED] = 1;
    /* The kernel copies alpha, if dst has two channels. */
    struct kernel_launch work = run_work(run, "point", "gray", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(weights));
}

/* Only rec709 depends on the primaries of the colours. */
static struct stage_caps gray_caps(const void *params)
{
    return (struct stage_caps){.needs_colour_space = ((const struct gray *)params)->what == REC709};
}

const struct stage stage_gray = {
    .name = "gray",
    .brief = "one channel from three colours",
    .manual =
        "Makes a gray picture. rec709 weighs red, green and blue by 0.2126, 0.7152 and 0.0722, which is how "
        "bright they look (ITU-R BT.709), or by the luminances of the primaries of the file's profile; with "
        "--linear that is the true luminance. R, G and B take one channel; mean averages the three. Alpha is "
        "kept; A makes the alpha channel the picture, which then has no alpha (with --linear it counts as "
        "light: 128 becomes 188). A second or fourth channel that is not alpha is dropped, with a warning. A "
        "picture that is already gray is unchanged. If the file has a profile, the output has a profile of "
        "gray with the same curve.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct gray),
    .shape = gray_shape,
    .rows = rows_same,
    .caps = gray_caps,
    .run = run_gray,
};
