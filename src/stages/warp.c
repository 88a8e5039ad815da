/* Warps by an affine map of the user's:
 *
 *     dst(x, y) = src(A x + B y + TX, C x + D y + TY)
 *
 * with (0, 0) at the centre of the first pixel. The map leads from the output to the input, as in ImageJ,
 * OpenCV's WARP_INVERSE_MAP and scipy.ndimage.affine_transform, so nothing has to be inverted and a singular
 * matrix is valid. This file parses the matrix; the work, and what was tried, is in filters/warp.h.
 *
 * A slice needs the rows that its corners map to. If the map leads upwards, or a border rule applies, the
 * whole input is held. */
#include "filters/warp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct warp {
    struct warp_options options; /* must be first */
    struct matrix {
        struct affine affine; /* from the output to the input, in pixels */
        const char *file;     /* path from which it was read; may be NULL */
    } matrix;
};

/* Parses six numbers "a b tx c d ty", separated by blanks or commas. */
static enum status take_numbers(const char *text, struct affine *affine, struct error *error)
{
    double numbers[6];
    int count = 0;
    char *end;
    for (; *text && count < 6; count++) {
        numbers[count] = strtod(text, &end);
        if (end == text || !isfinite(numbers[count]))
            break;
        text = end + strspn(end, " \t\r\n,");
    }
    if (count < 6 || *text)
        return fail(error, STATUS_USAGE, "not six numbers \"a b tx c d ty\"");
    *affine = (struct affine){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    return STATUS_OK;
}

/* Parses the numbers, or @FILE that contains them, as --align matrix=FILE writes it. */
static enum status parse_matrix(const char *text, void *field, struct error *error)
{
    enum { LONGEST = 1024 }; /* bytes; all digits of six numbers take 150 */
    struct matrix *matrix = field;
    char read[LONGEST] = "";
    if (text[0] != '@')
        return take_numbers(text, &matrix->affine, error);
    matrix->file = text + 1;
    FILE *file = fopen(matrix->file, "re");
    const size_t size = file ? fread(read, 1, sizeof read - 1, file) : 0;
    const bool failed = !file || ferror(file);
    if (failed)
        fail(error, STATUS_FAILED, "%s", strerror(errno)); /* before fclose() changes errno */
    if (file)
        fclose(file);
    if (failed)
        return STATUS_FAILED;
    if (size == sizeof read - 1)
        return fail(error, STATUS_FAILED, "holds more than six numbers \"a b tx c d ty\"");
    return take_numbers(read + strspn(read, " \t\r\n"), &matrix->affine, error);
}

/* Prints the six numbers, also of a file, so that outputs depend on its content and not on its name. */
static void print_matrix(FILE *file, const void *params)
{
    const struct affine *affine = &((const struct warp *)params)->matrix.affine;
    const double numbers[] = {affine->xx, affine->xy, affine->x, affine->yx, affine->yy, affine->y};
    for (int i = 0; i < 6; i++) {
        if (i > 0)
            fputc(' ', file);
        print_real(file, numbers[i]);
    }
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct warp, matrix),
     .value = "\"A B TX C D TY\"",
     .help = "output (x, y) is taken from (A x + B y + TX, C x + D y + TY); or @FILE with the six numbers",
     .parse = parse_matrix,
     .print = print_matrix},
    WARP_OPTIONS,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --warp \"1 0.2 -20 0 1 0\" sheared.png", "shear along x"},
    {"climg samples/scene.png --warp \"1 0 0.5 0 1 0.25,outside=edge\" shifted.png",
     "half a pixel to the left, a quarter up"},
    {"climg samples/zoneplate.png --warp \"2.5 0.5 0 -0.5 2.5 60,size=96x96,filter=bilinear\" small.png",
     "turned and made smaller, antialiased"},
    {NULL, NULL},
};

/* Sets the size. Fails if it, or the work, is beyond the limits of filters/warp.h. */
static enum status warp_shape(const void *params, const struct shape *in, struct shape *out,
                              struct error *error)
{
    const struct warp *warp = params;
    (void)in;
    if (warp->options.size.width > 0) {
        out->width = warp->options.size.width;
        out->height = warp->options.size.height;
    }
    return warp_check("--warp", &warp->matrix.affine, &warp->options, out, error);
}

/* Returns the width of the output: size=, or the input's. */
static int output_width(const struct warp *warp, const struct shape *in)
{
    return warp->options.size.width > 0 ? warp->options.size.width : in->width;
}

static struct rows warp_rows(const void *params, const struct shape *in, struct rows out)
{
    const struct warp *warp = params;
    return warp_source_rows(&warp->matrix.affine, &warp->options, output_width(warp, in), in, out);
}

static struct stage_caps warp_caps(const void *params)
{
    const struct warp *warp = params;
    const struct affine *affine = &warp->matrix.affine;
    return (struct stage_caps){.file = warp->matrix.file,
                               .needs_all_rows = warp_needs_all_rows(affine, &warp->options),
                               .groups = true,
                               .needs_upright = true,
                               .leaves_missing = warp->options.outside == OUTSIDE_ZERO,
                               .relative_cost = 6,
                               /* A singular matrix maps a line, or the whole picture, to one point. */
                               .new_geometry = affine->xx * affine->yy == affine->xy * affine->yx};
}

/* Returns the map for positions that are counted from the corner of the first pixel. */
static struct affine warp_inverse_map(const void *params, const struct shape *in)
{
    (void)in;
    return affine_counted(&((const struct warp *)params)->matrix.affine, 0.5);
}

/* Converts the map to chroma pixels, and the size. */
static enum status warp_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct warp *warp = params;
    warp->matrix.affine = warp_chroma_map(&warp->matrix.affine, chroma);
    return warp_adapt_options_to_chroma(&warp->options, chroma, error);
}

static enum status run_warp(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct warp *warp = params;
    return warp_image(run, &warp->matrix.affine, &warp->options, in, out, error);
}

const struct stage stage_warp = {
    .name = "warp",
    .brief = "affine warp",
    .manual =
        "Output pixel (x, y) is taken from (A x + B y + TX, C x + D y + TY) of the input, as in ImageJ, "
        "OpenCV's WARP_INVERSE_MAP and scipy.ndimage.affine_transform: the matrix maps the output to the "
        "input. (0, 0) is the centre of the first pixel. The result has the size of the input unless size "
        "is given. @FILE reads the matrix from a file, as --align with matrix=FILE writes it.\n\n"
        "bicubic is Keys' interpolation with a = -0.5; bspline is the cubic B-spline, which smooths; "
        "nearest copies pixels and never averages; lanczos (a = 3) keeps the most detail and rings a "
        "little at hard edges. If the picture shrinks, the other filters are widened along x and y by the "
        "length of one output pixel's step, unless antialias=no. Beyond the picture everything is 0: "
        "black, or transparent if the picture has alpha; with outside=edge the rule of --edge applies.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct warp),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .shape = warp_shape,
    .rows = warp_rows,
    .caps = warp_caps,
    .inverse_map = warp_inverse_map,
    .adapt_to_chroma = warp_adapt_to_chroma,
    .run = run_warp,
};
