/* Moves the picture onto its canvas, in one of two ways:
 *
 *   from raster to raster   kernels/extend_samples.cl copies samples of any type, and fills the rest with a
 *                           pixel of that type
 *   from planes to planes   a warp that copies (filters/warp.h), with `fill` beyond the picture
 *
 * The fill's colour is in samples of the file, 0 to 1. With --linear it is converted to light by the file's
 * curve: for planes, and for samples that are light (floats without a profile, the result of --stack; without
 * a profile by sRGB's curve). So the output gets the same samples from both ways, with and without --linear.
 * A gray picture gets a weighted sum of the colour's channels (ITU-R BT.709, 3.2): of light with --linear,
 * otherwise of samples. */
#include "filters/canvas.h"

#include "engine/transfer.h"
#include "filters/warp.h"
#include "image/colour/colour.h"
#include "image/sample.h"

#include <string.h>

/* Parses color= into a struct fill. Black and white are opaque colours. Zero is the same as black, but
 * transparent if the picture has alpha. */
enum status canvas_parse_fill(const char *text, void *field, struct error *error)
{
    struct fill *fill = field;
    unsigned rgb[3];
    *fill = (struct fill){.kind = FILL_COLOUR};
    if (strcmp(text, "zero") == 0)
        fill->kind = FILL_ZERO;
    else if (strcmp(text, "edge") == 0)
        fill->kind = FILL_EDGE;
    else if (strcmp(text, "transparent") == 0)
        fill->kind = FILL_TRANSPARENT;
    else if (strcmp(text, "white") == 0)
        fill->colour[0] = fill->colour[1] = fill->colour[2] = 1;
    else if (strlen(text) == 7 && strspn(text + 1, "0123456789abcdefABCDEF") == 6 &&
             sscanf(text, "#%2x%2x%2x", &rgb[0], &rgb[1], &rgb[2]) == 3)
        for (int i = 0; i < 3; i++)
            fill->colour[i] = rgb[i] / 255.0;
    else if (strcmp(text, "black") != 0)
        return fail(error, STATUS_USAGE, "expected black, white, transparent, edge, zero or #rrggbb");
    return STATUS_OK;
}

void canvas_print_fill(FILE *file, const void *field)
{
    const struct fill *fill = field;
    static const char *const words[] = {"zero", "edge", "transparent"};
    if (fill->kind != FILL_COLOUR)
        fputs(words[fill->kind], file);
    else
        fprintf(file, "#%02x%02x%02x", (unsigned)lrint(255 * fill->colour[0]),
                (unsigned)lrint(255 * fill->colour[1]), (unsigned)lrint(255 * fill->colour[2]));
}

/* Returns the pixel of the canvas that is the picture's top left pixel. */
static struct point canvas_position(const struct canvas *canvas, const struct shape *in)
{
    struct shape on_canvas = *in;
    box_set_size(&canvas->box, in, &on_canvas);
    return box_position(&canvas->box, in, &on_canvas);
}

enum status canvas_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct canvas *canvas = params;
    const struct shape *in = chroma->luma_in, *out = chroma->luma_out;
    if (canvas->fill.kind != FILL_EDGE && (out->width > in->width || out->height > in->height))
        return fail(error, STATUS_FAILED, "needs color=edge on video, whose black is not 0");
    return box_adapt_to_chroma(&canvas->box, out, in, chroma, error);
}

enum status canvas_shape(const char *what, const void *params, const struct shape *in, struct shape *out,
                         struct error *error)
{
    const struct canvas *canvas = params;
    box_set_size(&canvas->box, in, out);
    if (canvas->fill.kind == FILL_TRANSPARENT && !in->alpha)
        return fail(error, STATUS_FAILED, "%s color=transparent: the picture has no alpha", what);
    if (out->width > BOX_MAX_SIDE || out->height > BOX_MAX_SIDE)
        return fail(error, STATUS_FAILED, "%s would make %dx%d pixels; a side is at most %d", what,
                    out->width, out->height, BOX_MAX_SIDE);
    return STATUS_OK;
}

struct interval canvas_rows(const void *params, const struct shape *in, struct interval out)
{
    const int y = canvas_position(params, in).y;
    const struct interval window = {out.begin - y, out.end - y};
    return ((const struct canvas *)params)->fill.kind == FILL_EDGE ? window
                                                                   : interval_clip(window, in->height);
}

struct affine canvas_inverse_map(const void *params, const struct shape *in)
{
    const struct point at = canvas_position(params, in);
    return (struct affine){1, 0, -at.x, 0, 1, -at.y};
}

/* With color=edge every slice needs all rows: the border rules mirror and wrap read rows far from it. */
struct stage_caps canvas_caps(const void *params)
{
    struct stage_caps caps = move_caps(params);
    caps.needs_all_rows = ((const struct canvas *)params)->fill.kind == FILL_EDGE;
    return caps;
}

/* Computes the channels of a pixel of the fill, premultiplied by alpha; full scale is 1. `is_light`: as
 * light, otherwise as samples. */
static enum status canvas_fill_channels(const struct fill *fill, const struct shape *shape, bool is_light,
                                        double channels[4], struct error *error)
{
    static const double WEIGHTS[3] = {0.2126, 0.7152, 0.0722}; /* ITU-R BT.709, 3.2 */
    const struct colour_space *space = shape->linear ? shape_space(shape) : NULL;
    const int count = shape->channels - shape->alpha;
    if (shape->linear && space == NULL)
        return fail_memory(error, "out of memory for a tone curve");
    if (shape->alpha)
        channels[count] = fill->kind == FILL_COLOUR;
    if (count >= 3) { /* a fourth channel that is not alpha is 0 */
        for (int c = 0; c < 3; c++)
            channels[c] = is_light ? colour_space_light(space, c, fill->colour[c]) : fill->colour[c];
        return STATUS_OK;
    }
    double gray = 0;
    for (int c = 0; c < 3; c++)
        gray += WEIGHTS[c] * (space ? colour_space_light(space, 0, fill->colour[c]) : fill->colour[c]);
    channels[0] = space && !is_light ? colour_space_value(space, 0, gray) : gray;
    return STATUS_OK;
}

/* Enqueues kernels/extend_samples.cl, from raster to raster. */
static enum status canvas_move_samples(struct run *run, const struct canvas *canvas, const struct value *in,
                                       const struct value *out, struct error *error)
{
    const struct point begin = canvas_position(canvas, &in->shape);
    const struct planes dst = value_planes(out);
    const struct { /* the same layout as struct canvas of kernels/extend_samples.cl */
        cl_int x, y, picture_width, picture_height, width, first_row, rows, uses_border;
    } at = {
        begin.x,   begin.y,       in->shape.width, in->shape.height,
        dst.width, dst.first_row, dst.rows,        canvas->fill.kind == FILL_EDGE && run->edge != EDGE_ZERO};
    cl_mem fill;
    /* Upload a pixel of the fill, in the raster's sample type. */
    const struct shape *shape = &out->shape;
    const struct raster *raster = out->raster;
    const enum sample_type type = (enum sample_type)raster->sample;
    const bool is_light = shape->linear && !raster->conversion->linear;
    double channels[4] = {0};
    float pixel[4] = {0}; /* room for a pixel of any type; run_constants copies floats */
    if (canvas_fill_channels(&canvas->fill, shape, is_light, channels, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int c = 0; c < shape->channels; c++) {
        const bool alpha = shape->alpha && c == shape->channels - 1;
        const double black = alpha ? 0 : raster->black, white = alpha ? 1 : raster->white;
        sample_set(type, pixel, (size_t)c, black + channels[c] * (white - black));
    }
    if (run_constants(run, pixel, 4, &fill, error) != STATUS_OK)
        return STATUS_FAILED;
    cl_int pixel_units;
    struct kernel_launch work = move_work(run, "extend_samples", out, &pixel_units);
    return LAUNCH(run->device, &work, error, ARGS_READ_RASTER(in->raster), ARGS_WRITE_RASTER(out->raster),
                  ARG(pixel_units), ARG(at), ARG_MEMORY(fill));
}

enum status canvas_run(struct run *run, const void *params, const struct value *in, struct value *out,
                       struct error *error)
{
    const struct canvas *canvas = params;
    const struct affine affine = canvas_inverse_map(params, &in->shape);
    struct warp_options copying = {.copies = true,
                                   .outside = canvas->fill.kind == FILL_EDGE ? OUTSIDE_EDGE : OUTSIDE_ZERO};
    double channels[4] = {0};
    if (out->raster) /* unchanged samples of the file */
        return canvas_move_samples(run, canvas, in, out, error);
    if (canvas_fill_channels(&canvas->fill, &out->shape, out->shape.linear, channels, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int c = 0; c < out->shape.channels; c++)
        copying.fill[c] = (cl_float)channels[c];
    return warp_image(run, &affine, &copying, in, out, error);
}
