/* Warps by an affine map that the user gives:
 *
 *     dst(x, y) = src(A x + B y + TX, C x + D y + TY)
 *
 * with (0, 0) at the centre of the first pixel. The map leads from the output to the input, as in ImageJ,
 * OpenCV's WARP_INVERSE_MAP and scipy.ndimage.affine_transform, so nothing has to be inverted and a singular
 * matrix is valid. This file parses the matrix; the work, and what was tried, is in filters/warp.h.
 *
 * A slice needs the rows to which its corners are mapped. If the map leads upwards, or a border rule applies,
 * the whole input stays in memory. */
#include "filters/warp.h"
#include "base/sums.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

struct warp {
    struct warp_options options; /* must be first */
    struct matrix {
        struct affine affine; /* from the output to the input, in pixels */
        const char *file;     /* path from which it was read; may be NULL */
        /* Maps of the inputs of a stack, NaN for an input without one; owned. NULL: `affine` is the map. */
        struct affine *series;
        size_t count; /* of `series` */
    } matrix;
};

/* Parses six numbers "a b tx c d ty", separated by blanks or commas. */
static enum status parse_numbers(const char *text, struct affine *affine, struct error *error)
{
    static const char separators[] = " \t\r\n,";
    double numbers[6];
    int count = 0;
    text += strspn(text, " \t\r\n");
    for (; *text && count < 6; count++) {
        if (!text_parse_real(&text, &numbers[count]) || (*text && !strchr(separators, *text)))
            break;
        text += strspn(text, separators);
    }
    if (count < 6 || *text)
        return fail(error, STATUS_USAGE, "not six numbers \"a b tx c d ty\"");
    *affine = (struct affine){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    return STATUS_OK;
}

/* Reads the lines of a CSV after its head, as --align matrix=FILE writes it before --stack. */
static enum status read_series(FILE *file, struct matrix *matrix, struct error *error)
{
    char *line = NULL;
    size_t size = 0;
    enum status status = STATUS_OK;
    for (ssize_t head = getline(&line, &size, file);
         head > 0 && status == STATUS_OK && getline(&line, &size, file) > 0;) {
        struct affine *grown =
            array_grow(matrix->series, matrix->count, sizeof *grown, "the matrices of a series", error);
        if (!grown) {
            status = STATUS_FAILED;
            break;
        }
        matrix->series = grown;
        /* "name",a,b,tx,c,d,ty,confidence; without a matrix, only name and confidence have text. */
        struct affine *map = &matrix->series[matrix->count++];
        char *numbers = strrchr(line, '"'), *confidence = strrchr(line, ',');
        if (!numbers || !confidence || confidence < numbers || numbers[1] != ',') {
            status = fail(error, STATUS_FAILED, "line %zu is not of a series of matrices", matrix->count + 1);
        } else if (numbers[2] == ',') {
            *map = (struct affine){.xx = (double)NAN};
        } else {
            *confidence = '\0';
            status = parse_numbers(numbers + 2, map, error);
        }
    }
    free(line);
    if (status == STATUS_OK && matrix->count == 0)
        status = fail(error, STATUS_FAILED, "has no matrix after its first line");
    return status;
}

/* Parses the numbers, or @FILE that contains them, as --align matrix=FILE writes it. */
static enum status parse_matrix(const char *text, void *field, struct error *error)
{
    enum { MAX_BYTES = 1024 }; /* six numbers with all digits take 150 */
    struct matrix *matrix = field;
    char read[MAX_BYTES] = "";
    if (text[0] != '@')
        return parse_numbers(text, &matrix->affine, error);
    matrix->file = text + 1;
    FILE *file = fopen(matrix->file, "re");
    const size_t size = file ? fread(read, 1, sizeof read - 1, file) : 0;
    enum status status = STATUS_OK;
    if (!file || ferror(file))
        status = fail(error, STATUS_FAILED, "%s", strerror(errno)); /* before fclose() changes errno */
    else if (strncmp(read, "file,", 5) == 0 && fseeko(file, 0, SEEK_SET) == 0)
        status = read_series(file, matrix, error);
    else if (size == sizeof read - 1)
        status = fail(error, STATUS_FAILED, "holds more than six numbers \"a b tx c d ty\"");
    else
        status = parse_numbers(read, &matrix->affine, error);
    if (file)
        fclose(file);
    return status;
}

/* Prints the six numbers, also of a file, so that outputs depend on its content and not on its name. */
static void print_matrix(FILE *file, const void *field)
{
    const struct matrix *matrix = field;
    const struct affine *affine = &matrix->affine;
    if (matrix->series) {
        const size_t size = matrix->count * sizeof *matrix->series;
        fprintf(file, "fnv1a:%016llx", (unsigned long long)hash_bytes(HASH_START, matrix->series, size));
        return;
    }
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
    WARP_OPTIONS(NULL),
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
    return warp->matrix.series ? STATUS_OK
                               : warp_check("--warp", &warp->matrix.affine, &warp->options, out, error);
}

static struct interval warp_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct warp *warp = params;
    if (warp->matrix.series)
        return rows_full(in->height);
    const int width = warp->options.size.width > 0 ? warp->options.size.width : in->width;
    return warp_source_rows(&warp->matrix.affine, &warp->options, width, in, out);
}

static struct stage_caps warp_caps(const void *params)
{
    const struct warp *warp = params;
    const struct affine *affine = &warp->matrix.affine;
    return (struct stage_caps){
        .file = warp->matrix.file,
        .needs_all_rows = warp->matrix.series || warp_needs_all_rows(affine, &warp->options),
        .gathers = true,
        .groups = true,
        .needs_upright = true,
        .leaves_missing = warp->options.outside == OUTSIDE_ZERO,
        .relative_cost = 6,
        /* A singular matrix maps a line, or the whole picture, to one point. */
        .new_geometry = warp->matrix.series || affine->xx * affine->yy == affine->xy * affine->yx};
}

static struct affine warp_inverse_map(const void *params, const struct shape *in)
{
    (void)in;
    return affine_move_origin(&((const struct warp *)params)->matrix.affine, 0.5);
}

/* Converts the map to chroma pixels, and the size. */
static enum status warp_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    struct warp *warp = params;
    warp->matrix.affine = warp_chroma_map(&warp->matrix.affine, chroma);
    return warp_adapt_options_to_chroma(&warp->options, chroma, error);
}

/* Enqueues the warp, by the map of the picture if there is a series. A dry run belongs to no picture. */
static enum status run_warp(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    const struct warp *warp = params;
    const struct matrix *matrix = &warp->matrix;
    if (!matrix->series || device_is_dry_run(run->device))
        return warp_image(run, &matrix->affine, &warp->options, in, out, error);
    const struct affine *affine = &matrix->series[run->input];
    if (isnan(affine->xx))
        return fail(error, STATUS_FAILED, "has no matrix in %s", matrix->file);
    enum status status = warp_check("--warp", affine, &warp->options, &out->shape, error);
    return status == STATUS_OK ? warp_image(run, affine, &warp->options, in, out, error) : status;
}

/* Fails if a file of several matrices is not for the inputs of a stack. */
static enum status warp_prepare_series(void *params, const struct settings *settings,
                                       const struct input_series *series, struct error *error)
{
    const struct matrix *matrix = &((const struct warp *)params)->matrix;
    (void)settings;
    if (!matrix->series || (series && series->is_merged && series->count == matrix->count))
        return STATUS_OK;
    if (!series || !series->is_merged)
        return fail(error, STATUS_USAGE, "@%s has a matrix for each input of --stack, which must come later",
                    matrix->file);
    return fail(error, STATUS_USAGE, "@%s has %zu matrices, and there are %zu inputs", matrix->file,
                matrix->count, series->count);
}

static void warp_release(void *params)
{
    struct warp *warp = params;
    free(warp->matrix.series);
    warp->matrix.series = NULL;
}

const struct stage stage_warp = {
    .name = "warp",
    .brief = "affine warp",
    .manual =
        "Output pixel (x, y) is taken from (A x + B y + TX, C x + D y + TY) of the input, as in ImageJ, "
        "OpenCV's WARP_INVERSE_MAP and scipy.ndimage.affine_transform: the matrix maps the output to the "
        "input. (0, 0) is the centre of the first pixel. The result has the size of the input unless size is "
        "given. @FILE reads the matrix from a file, as --align with matrix=FILE writes it; the CSV that it "
        "writes before --stack has one for each input, and goes before --stack, too.\n\n"
        "bicubic is Keys' interpolation with a = -0.5; bspline is the cubic B-spline, which smooths; nearest "
        "copies pixels and never averages; lanczos (a = 3) keeps the most detail and rings a little at hard "
        "edges. If the picture shrinks, the other filters are widened along x and y by the length of one "
        "output pixel's step, unless antialias=no. Beyond the picture everything is 0: black, or transparent "
        "if the picture has alpha; with outside=edge the rule of --edge applies.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct warp),
    .prepare_series = warp_prepare_series,
    .release = warp_release,
    .shape = warp_shape,
    .rows = warp_rows,
    .caps = warp_caps,
    .inverse_map = warp_inverse_map,
    .adapt_to_chroma = warp_adapt_to_chroma,
    .run = run_warp,
};
