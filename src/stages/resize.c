/* Resizes to any size: a separable product whose axes are `struct resize` (filters/resample.h).
 *
 *     dst[d] = sum over i of w((i - p) / s) src[i],  p = (d + 0.5) * W / WIDTH - 0.5,  s = max(1, W / WIDTH)
 *
 * with the weights of an output normalised to the sum 1. Stretching the filter by s antialiases; Pillow has
 * the same rule, and the tests compare with it. At the border the filter is cut off (axis.ends_at_border), so
 * --edge plays no part.
 *
 * The text of SIZE, the picture's size, fit= and only= give two axes:
 *
 *     resize_uncropped_size   the size before fit=cover crops it; only=shrink limits it to the input's
 *     resize_axes             both axes, for `rows` and `run`
 *
 * fit=cover computes only the outputs that are kept. One program serves all sizes. Four planes of 4096x4096
 * take an H200 140 us for 170% and 195 us for 37%. A side that keeps its size has one weight, 1, and its
 * samples stay as they are.
 *
 * Tried and lost: a program for each factor with its weights unrolled, 0.4 to 1.6 s to compile on an H100. */
#include "base/text.h"
#include "filters/product.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Longest side of an output in pixels, and the largest percentage. */
enum { MAX_SIDE = 1 << 20, MAX_PERCENT = 1000000 };

/* The choices of fit=, in the order of the option table. INSIDE: one factor, the largest at which the picture
 * fits into the size. COVER: one factor, the smallest at which the picture covers the size, and a crop.
 * EXACT: a factor for each side. */
enum fit { FIT_INSIDE, FIT_COVER, FIT_EXACT };

/* The choices of only=. */
enum only { ONLY_NOT_GIVEN, ONLY_SHRINK };

struct resize_size {
    int width, height; /* pixels; 0: follows the other side */
    double percent;    /* of both sides; 0: width and height are given */
    int only;          /* enum only; here because SIZE may end in ">" */
};

struct resize_params {
    struct resize_size size;
    int filter;                     /* enum resize_filter */
    int fit;                        /* enum fit */
    bool full;                      /* full=yes: never read a reduced picture */
    struct shape luma_in, luma_out; /* for chroma planes: luma shapes, which give the ratio; otherwise zero */
};

/* Parses a side at *at and advances *at past it. *side is 0 if there are no digits. Returns false if it is
 * out of range. */
static bool parse_side(const char **at, int *side)
{
    char *end;
    *side = 0;
    if (!isdigit((unsigned char)**at))
        return true;
    long value = strtol(*at, &end, 10);
    *at = end;
    *side = value <= MAX_SIDE ? (int)value : 0;
    return *side > 0;
}

/* Parses "640x480", "640x", "x480" or "50%". ImageMagick's ">" after it means only=shrink. */
static enum status parse_size(const char *text, void *field, struct error *error)
{
    struct resize_size *size = field;
    const char *const typed = text; /* text moves on */
    const size_t length = strlen(text);
    const bool shrinks = length > 0 && text[length - 1] == '>';
    const char *const stop = text + length - shrinks;
    const char *end = text;
    double percent = 0;
    (void)text_parse_real(&end, &percent);
    *size = (struct resize_size){.only = shrinks ? ONLY_SHRINK
                                                 : size->only}; /* only= may have been parsed before */
    if (end != text && *end == '%' && end + 1 == stop && percent > 0 && percent <= MAX_PERCENT) {
        size->percent = percent;
        return STATUS_OK;
    }
    if (parse_side(&text, &size->width) && *text++ == 'x' && parse_side(&text, &size->height) &&
        text == stop && (size->width > 0 || size->height > 0))
        return STATUS_OK;
    /* No size: suggest a percentage for a factor, and keys for notation of ImageMagick. */
    if (end != typed && *end == '\0' && percent > 0 && percent < 1)
        return fail(error, STATUS_USAGE, "not a size; did you mean %.10g%%?", 100 * percent);
    if (size->width > 0 && size->height > 0 && (strcmp(text, "!") == 0 || strcmp(text, "^") == 0))
        return fail(error, STATUS_USAGE, "not a size; did you mean %.*s,fit=%s?", (int)(text - typed), typed,
                    text[0] == '!' ? "exact" : "cover");
    return fail(error, STATUS_USAGE, "expected a size such as 640x480, 640x, x480 or 50%%");
}

/* Prints "37.5%", "640x480", "640x" or "x480". */
static void print_size(FILE *file, const void *field)
{
    const struct resize_size *size = field;
    if (size->percent > 0) {
        print_real(file, size->percent);
        fputc('%', file);
        return;
    }
    if (size->width > 0)
        fprintf(file, "%d", size->width);
    fputc('x', file);
    if (size->height > 0)
        fprintf(file, "%d", size->height);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct resize_params, size),
     .value = "SIZE",
     .help = "WIDTHxHEIGHT, WIDTHx, xHEIGHT or PERCENT%",
     .parse = parse_size,
     .print = print_size},
    {.name = "filter",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct resize_params, filter),
     .fallback = "lanczos",
     .choices = RESIZE_CHOICES,
     .help = "how samples are weighted"},
    {.name = "fit",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct resize_params, fit),
     .fallback = "inside",
     .choices = "inside|cover|exact",
     .help = "inside: no side is longer than WIDTHxHEIGHT; cover: fill WIDTHxHEIGHT and crop the rest; "
             "exact: stretch to WIDTHxHEIGHT",
     .hint = "contain is inside, fill is exact"},
    {.name = "only",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct resize_params, size.only),
     .choices = "|shrink",
     .help = "never enlarge: no side becomes longer than it was"},
    {.name = "full",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct resize_params, full),
     .fallback = "no",
     .help = "always decode a JPEG at its full size, which is slower if it becomes much smaller"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --resize 200x200 thumbnail.png", "largest that fits into 200x200"},
    {"climg samples/scene.png --resize 800x800,only=shrink web.png",
     "at most 800x800; smaller pictures keep their size"},
    {"climg samples/scene.png --resize 160x90,fit=cover cropped.png", "exactly 160x90, cropped to fit"},
    {"climg samples/zoneplate.png --resize 37.5% smaller.png", "a part of the size"},
    {"climg samples/scene.png --resize x100,filter=box high.png",
     "100 pixels high, each the mean of what it covers"},
    {NULL, NULL},
};

/* Returns n * to / from, rounded half up, at least 1. */
static double in_proportion(long long n, int to, int from)
{
    long long side = (n * to + from / 2) / from;
    return side > 1 ? (double)side : 1;
}

/* Computes the size of the resized picture before fit=cover crops it. */
static void resize_uncropped_size(const struct resize_params *resize, const struct shape *in, double *width,
                                  double *height)
{
    const struct resize_size *size = &resize->size;
    /* fit=inside takes the smaller one of both factors, fit=cover the larger one. A picture that is wider
     * than the given proportions has the smaller one along x. */
    const bool too_wide = (double)in->width * size->height > (double)in->height * size->width;
    const bool by_width = size->height == 0 || (size->width > 0 && too_wide == (resize->fit == FIT_INSIDE));
    const bool stretches = resize->fit == FIT_EXACT && size->width > 0 && size->height > 0;
    *width = size->width;
    *height = size->height;
    if (size->percent > 0) {
        *width = fmax(floor(in->width * size->percent / 100 + 0.5), 1);
        *height = fmax(floor(in->height * size->percent / 100 + 0.5), 1);
    } else if (by_width && !stretches) {
        *height = in_proportion(in->height, size->width, in->width);
    } else if (!stretches) {
        *width = in_proportion(in->width, size->height, in->height);
    }
    /* Without fit=exact both sides have the same factor, so this limits that factor to 1. */
    if (size->only == ONLY_SHRINK) {
        *width = fmin(*width, in->width);
        *height = fmin(*height, in->height);
    }
}

/* Returns an axis; fit=cover keeps its middle `cropped` outputs. */
static struct axis resize_axis(const struct resize_params *resize, int from, double to, int cropped)
{
    int uncropped = (int)to,
        count = resize->fit == FIT_COVER && cropped > 0 && cropped < uncropped ? cropped : uncropped;
    return (struct axis){.samples = from,
                         .outputs = count,
                         .ends_at_border = true,
                         .resize = {.filter = (enum resize_filter)resize->filter,
                                    .from = from,
                                    .to = uncropped,
                                    .begin = (uncropped - count) / 2}};
}

/* Sets the size. Fails if a side would be longer than MAX_SIDE. */
static enum status resize_shape(const void *params, const struct shape *in, struct shape *out,
                                struct error *error)
{
    const struct resize_params *resize = params;
    const struct shape full = shape_full(in);
    double width, height;
    resize_uncropped_size(resize, &full, &width, &height);
    if (width > MAX_SIDE || height > MAX_SIDE)
        return fail(error, STATUS_FAILED,
                    "--resize would make %.0fx%.0f pixels of %dx%d; a side is at most %d", width, height,
                    full.width, full.height, MAX_SIDE);
    out->reduced = (struct reduction){.factor = 0};
    out->width = resize_axis(resize, full.width, width, resize->size.width).outputs;
    out->height = resize_axis(resize, full.height, height, resize->size.height).outputs;
    return STATUS_OK;
}

/* Computes both axes. Chroma planes use the ratio of luma, and reduced pictures the ratio of the full
 * picture, so that rounding does not shift them. */
static void resize_axes(const struct resize_params *resize, const struct shape *in, struct axis *x,
                        struct axis *y)
{
    const struct shape full = shape_full(in);
    double width, height;
    resize_uncropped_size(resize, &full, &width, &height);
    *x = resize_axis(resize, full.width, width, resize->size.width);
    *y = resize_axis(resize, full.height, height, resize->size.height);
    axis_reduce(x, in->width, in->reduced.factor, in->reduced.left);
    axis_reduce(y, in->height, in->reduced.factor, in->reduced.top);
    if (resize->luma_out.width == 0)
        return;
    x->resize.sample_count = in->width;
    y->resize.sample_count = in->height;
    x->resize.from = resize->luma_in.width;
    x->resize.to = resize->luma_out.width;
    y->resize.from = resize->luma_in.height;
    y->resize.to = resize->luma_out.height;
}

/* Returns the rows under the filter. */
static struct interval resize_rows(const void *params, const struct shape *in, struct interval out)
{
    struct axis x, y;
    resize_axes(params, in, &x, &y);
    return axis_source_rows(&y, out);
}

/* Returns the scale of each axis. Cropping shifts the origin. */
static struct affine resize_inverse_map(const void *params, const struct shape *in)
{
    struct axis x, y;
    resize_axes(params, in, &x, &y);
    const double across = (double)x.resize.from / x.resize.to, down = (double)y.resize.from / y.resize.to;
    return (struct affine){
        .xx = across, .yy = down, .x = x.resize.begin * across, .y = y.resize.begin * down};
}

/* Fails if fit=cover crops, because the crop might not consist of whole chroma pixels. */
static enum status resize_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct resize_params *resize = params;
    struct axis x, y;
    resize_axes(resize, chroma->luma_in, &x, &y);
    if (x.outputs != x.resize.to || y.outputs != y.resize.to)
        return fail(error, STATUS_FAILED, "fit=cover does not work on video; put --crop after fit=exact");
    resize->fit = FIT_EXACT;
    resize->luma_in = *chroma->luma_in;
    resize->luma_out = *chroma->luma_out;
    resize->size = (struct resize_size){.width = ceil_div(x.outputs, chroma->across),
                                        .height = ceil_div(y.outputs, chroma->down)};
    return STATUS_OK;
}

/* A percentage is the same for both sides. The box has hard edges, which reduced pixels would move. */
static struct stage_caps resize_caps(const void *params)
{
    const struct resize_params *resize = params;
    struct stage_caps caps = product_caps(params);
    caps.needs_upright = resize->size.percent == 0;
    caps.accepts_reduced = !resize->full && resize->filter != RESIZE_BOX;
    return caps;
}

static enum status run_resize(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    struct axis x, y;
    resize_axes(params, &in->shape, &x, &y);
    return product_image(run, &x, &y, &epilogue_copy, in, out, error);
}

const struct stage stage_resize = {
    .name = "resize",
    .brief = "any size, antialiased",
    .manual = "WIDTHxHEIGHT keeps the picture's proportions: by default the result is the largest that fits "
              "inside, even if that enlarges the picture. fit=cover fills WIDTHxHEIGHT and crops the rest, "
              "equally on both sides; fit=exact stretches the picture to WIDTHxHEIGHT. With one side alone "
              "(640x, x480) the other one follows; 50% halves both. Sides are rounded to whole pixels.\n\n"
              "only=shrink never enlarges, as ImageMagick's > after the size, which is understood, too "
              "('800x800>', in quotes): a picture that fits inside keeps its size and its samples. With "
              "fit=cover the result is smaller than WIDTHxHEIGHT if the picture is; with fit=exact each side "
              "is limited by itself.\n\n"
              "A pixel's sample is at its centre: output pixel d is at (d + 0.5) * W / WIDTH - 0.5 of the "
              "input. If the picture shrinks, the filter is stretched by W / WIDTH, so that fine detail does "
              "not alias. lanczos (a = 3) is the sharpest, and rings a little at hard edges; bicubic is "
              "Keys' with a = -0.5; bilinear is a triangle and never rings; box is the mean of the samples "
              "whose centres an output pixel covers. A side that keeps its size is not filtered.\n\n"
              "A JPEG that shrinks to a quarter or less along both sides is decoded at 1/2, 1/4 or 1/8 if "
              "this is the first stage or follows --crop, which takes about half the time. At least twice "
              "the size of the result remains, so that it differs by one or two counts of 255, at the border "
              "by some more. full=yes decodes all pixels, and so do filter=box, --linear, --range and --edge "
              "wrap or zero.\n\n"
              "At the border the filter is cut off and normalised, independent of --edge. For powers of two "
              "--scale is faster and follows --edge.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct resize_params),
    .shape = resize_shape,
    .rows = resize_rows,
    .caps = resize_caps,
    .inverse_map = resize_inverse_map,
    .adapt_to_chroma = resize_adapt_to_chroma,
    .run = run_resize,
};
