/* Enlarges or reduces by a power of two: a separable product whose axes are `struct resize`
 * (filters/resample.h).
 *
 * Output pixel d is at (d + 0.5) / FACTOR - 0.5 of the input, pixels being squares with their sample at the
 * centre. --resize takes any factor. The weights of this stage repeat, so the tables of the product are
 * small; borders follow --edge, and filters can interpolate between corners. Four planes of 4096x4096 on an
 * H200: 142 us for 2, 117 for 4, 163 for 1/2, where copying them takes 129.
 *
 * Tried and lost: B-splines by four bilinear fetches of a texture. Its weights have 8 bits, which is off by
 * up to 1/256 of full scale, and enlarging by 4 took 319 us, where the exact kernel took 96. */
#include "base/text.h"
#include "filters/product.h"
#include "filters/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct scale {
    int exponent;   /* the factor is 2^exponent, -6 to 6 */
    int resampler;  /* enum resampler */
    int grid;       /* enum grid */
    bool antialias; /* stretch the filter of a reduction */
    bool full;      /* never read a reduced picture */
};

/* Samples from which filters interpolate. CENTERS: the picture's samples, which are at pixel centres.
 * CORNERS: samples at pixel corners, which are first interpolated from the picture's samples. */
enum grid { GRID_CENTERS, GRID_CORNERS };

/* True for a power of two. Then *exponent is log2(factor) + 1, as frexp() splits it into 0.5 * 2^exponent. */
static bool is_power_of_two(double factor, int *exponent)
{
    return factor > 0 && frexp(factor, exponent) == 0.5;
}

/* Parses "4", "0.25" or "1/4". For "2x" and "50%" the message suggests the factor. */
static enum status parse_factor(const char *text, void *field, struct error *error)
{
    const char *end = text;
    double factor = 0, divisor = 0;
    (void)text_parse_real(&end, &factor);
    if (end != text && *end == '/') { /* a fraction */
        end++;
        factor = text_parse_real(&end, &divisor) && divisor > 0 ? factor / divisor : NAN;
    }
    int exponent = 0;
    double suggested = *end == '%' ? factor / 100 : factor;
    if ((strcmp(end, "x") == 0 || strcmp(end, "%") == 0) && is_power_of_two(suggested, &exponent))
        return fail(error, STATUS_USAGE, "not a factor alone; did you mean %.10g?", suggested);
    if (end == text || *end || !is_power_of_two(factor, &exponent))
        return end != text && !*end && factor > 0 && factor < MAX_FACTOR
                   ? fail(error, STATUS_USAGE,
                          "not a power of two; 2, 4, 8, 1/2, 1/4, 0.25 are; --resize %.10g%% takes any size",
                          100 * factor)
                   : fail(error, STATUS_USAGE,
                          "not a power of two; 2, 4, 8, 1/2, 1/4, 0.25 are, and --resize takes any size");
    if (factor > MAX_FACTOR || factor < 1.0 / MAX_FACTOR)
        return fail(error, STATUS_USAGE, "beyond 1/%d to %d; use --scale twice", MAX_FACTOR, MAX_FACTOR);
    *(int *)field = exponent - 1;
    return STATUS_OK;
}

/* Prints "4" or "1/4". */
static void print_factor(FILE *file, const void *field)
{
    const int exponent = *(const int *)field;
    fprintf(file, exponent < 0 ? "1/%d" : "%d", 1 << abs(exponent));
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct scale, exponent),
     .choices = "2|4|8|1/2|1/4|1/8",
     .value = "FACTOR",
     .help = "a power of two, from 1/64 to 64",
     .parse = parse_factor,
     .print = print_factor},
    {.name = "filter",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct scale, resampler),
     .fallback = "bicubic",
     .choices = RESAMPLE_CHOICES,
     .help = "how samples are interpolated"},
    {.name = "antialias",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct scale, antialias),
     .fallback = "yes",
     .help = "when reducing, widen the filter so that fine detail does not alias"},
    {.name = "grid",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct scale, grid),
     .fallback = "centers",
     .choices = "centers|corners",
     .help = "centers: interpolate between pixel centres; corners: first interpolate samples at the pixel "
             "corners, then between these"},
    {.name = "full",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct scale, full),
     .fallback = "no",
     .help = "always decode a JPEG at its full size, which is slower if it becomes much smaller"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --scale 4 large.png", "four times as wide and high"},
    {"climg samples/zoneplate.png --scale 1/2 half.png", "half the size, antialiased"},
    {"climg samples/scene.png --scale 8,filter=nearest pixels.png", "every pixel a square of 8x8"},
    {"climg samples/scene.png --scale 4,grid=corners soft.png", "by way of the pixels' corners, softer"},
    {NULL, NULL},
};

/* Returns the scaled size of an axis, rounded up. */
static int scale_side(int n, int exponent)
{
    return exponent >= 0 ? n << exponent : (n + (1 << -exponent) - 1) >> -exponent;
}

/* Fails for corners of a filter that does not interpolate. */
static enum status scale_check(void *params, struct error *error)
{
    const struct scale *scale = params;
    if (scale->resampler == RESAMPLE_NEAREST && scale->grid == GRID_CORNERS)
        return fail(error, STATUS_USAGE,
                    "filter=nearest copies pixels and interpolates no corners; leave out grid=corners or use "
                    "filter=bilinear");
    return STATUS_OK;
}

/* Sets the size. Fails beyond 2^30 pixels along an axis. */
static enum status scale_shape(const void *params, const struct shape *in, struct shape *out,
                               struct error *error)
{
    const int exponent = ((const struct scale *)params)->exponent, largest = 1 << 30;
    if (exponent > 0 && (in->width > largest >> exponent || in->height > largest >> exponent))
        return fail(error, STATUS_FAILED, "--scale %d of %dx%d pixels is beyond 2^30 along an axis",
                    1 << exponent, in->width, in->height);
    const struct shape full = shape_full(in);
    out->reduced = (struct reduction){.factor = 0};
    out->width = scale_side(full.width, exponent);
    out->height = scale_side(full.height, exponent);
    return STATUS_OK;
}

/* Returns the axis along x or y, at the positions of the full picture if the reader reduced it. */
static struct axis scale_axis(const struct scale *scale, const struct shape *in, bool along_y, enum edge edge)
{
    static const enum resize_filter filters[] = {[RESAMPLE_BICUBIC] = RESIZE_BICUBIC,
                                                 [RESAMPLE_BILINEAR] = RESIZE_BILINEAR,
                                                 [RESAMPLE_BSPLINE] = RESIZE_BSPLINE,
                                                 [RESAMPLE_NEAREST] = RESIZE_NEAREST,
                                                 [RESAMPLE_LANCZOS] = RESIZE_LANCZOS};
    const int exponent = scale->exponent, samples = along_y ? in->height : in->width;
    const struct shape full = shape_full(in);
    struct axis axis = {.samples = samples,
                        .outputs = scale_side(along_y ? full.height : full.width, exponent),
                        .edge = edge,
                        .resize = {.filter = filters[scale->resampler],
                                   .from = exponent < 0 ? 1 << -exponent : 1,
                                   .to = exponent > 0 ? 1 << exponent : 1,
                                   .aliases = !scale->antialias,
                                   .corners = scale->grid == GRID_CORNERS}};
    axis_reduce(&axis, samples, in->reduced.factor, along_y ? in->reduced.top : in->reduced.left);
    return axis;
}

/* Returns the rows under the filter. Before clipping they do not depend on the border rule. */
static struct interval scale_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct axis axis = scale_axis(params, in, true, EDGE_CLAMP);
    return axis_source_rows(&axis, out);
}

/* Reduced pictures need a filter that is antialiased and interpolates between centres. */
static struct stage_caps scale_caps(const void *params)
{
    const struct scale *scale = params;
    struct stage_caps caps = product_caps(params);
    caps.accepts_reduced = !scale->full && scale->antialias && scale->grid == GRID_CENTERS &&
                           scale->resampler != RESAMPLE_NEAREST && scale->resampler != RESAMPLE_BSPLINE;
    return caps;
}

static enum status run_scale(struct run *run, const void *params, const struct value *in, struct value *out,
                             struct error *error)
{
    const struct axis x = scale_axis(params, &in->shape, false, run->edge),
                      y = scale_axis(params, &in->shape, true, run->edge);
    return product_image(run, &x, &y, &epilogue_copy, in, out, error);
}

const struct stage stage_scale = {
    .name = "scale",
    .brief = "enlarge or reduce by a power of two",
    .manual = "Pixels are little squares with their sample at the centre: output pixel d is at (d + 0.5) / "
              "FACTOR - 0.5 of the input. The result is W * FACTOR wide, or W / FACTOR' rounded up when it "
              "shrinks by FACTOR'.\n\n"
              "bicubic is Keys' interpolation with a = -0.5; bspline is the cubic B-spline, which smooths; "
              "nearest copies the pixel that covers the place, up and down, and never averages; lanczos (a = "
              "3) keeps the most detail and rings a little at hard edges. Going down, the other filters are "
              "stretched by FACTOR' unless antialias=no. Pixels beyond the border follow --edge.\n\n"
              "grid=corners first interpolates, with the same filter, the (W + 1) x (H + 1) samples where "
              "pixels meet: corner i at i - 0.5 of the pixels' centres. Output pixel d is then interpolated "
              "from the corners, at (d + 0.5) / FACTOR of them. The result is softer, and has the same size "
              "and position as with centers. Both steps run as one. filter=nearest has no corners.\n\n"
              "As the first stage or after --crop, 1/4 and smaller factors decode a JPEG at 1/2, 1/4 or 1/8, "
              "as --resize does. full=yes decodes all pixels, and so do antialias=no, grid=corners, bspline, "
              "nearest, --linear, --range and --edge wrap or zero.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct scale),
    .check = scale_check,
    .shape = scale_shape,
    .rows = scale_rows,
    .caps = scale_caps,
    .adapt_to_chroma = adapt_nothing_to_chroma,
    .run = run_scale,
};
