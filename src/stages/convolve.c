/* Convolution with a kernel that the user gives (filters/kernel.h), in correlation order (not flipped):
 *
 *     dst(x, y) = bias + sum over i, j of k[j][i] src(x + i - width / 2, y + j - height / 2)
 *
 *   separable   a separable product (filters/product.h); a matrix of rank 1 becomes one
 *   otherwise   kernels/convolution.cl, with the matrix as an argument: a new matrix compiles nothing
 *   bias        a point operation afterwards
 *
 * The kernel is parsed before any image is opened: lists by convolve_check(), files by convolve_prepare().
 *
 * In GPU buffers the matrix is padded with zeros to multiples of four columns, because a work-item loads
 * vectors of four samples. In images, texels are loaded once per group into local memory: on an
 * H200 a 16x16 matrix takes 1.4 times as long as in buffers, and with a fetch per tap 1.84 times. On a CPU it
 * takes 1/3.7 of the time of this project's fastest kernel of 2011 (tests/bench).
 *
 * Tried and lost: local memory on CPUs, as the caches hold the window anyway; taps in constant memory, which
 * was faster on GPUs of 2011 and is not on an H200. */
#include "filters/kernel.h"
#include "filters/product.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct convolve {
    const char *text;     /* as typed: lists of taps, or @FILE */
    bool normalize;       /* divide by the sum, if it is not 0 */
    double bias;          /* added to colour; 1 is full scale */
    struct kernel kernel; /* set by check (lists) or prepare (files); owned */
};

/* Prints the kernel. For a file it prints a checksum: outputs depend on its content, not on its name. */
static void print_kernel(FILE *file, const void *params)
{
    const struct convolve *convolve = params;
    if (convolve->text[0] != '@')
        print_text(file, convolve->text);
    else
        fprintf(file, "@fnv1a:%016llx", (unsigned long long)kernel_hash(&convolve->kernel));
}

static const struct option options[] = {
    {.type = OPTION_TEXT,
     .offset = offsetof(struct convolve, text),
     .value = "KERNEL",
     .help = "taps for both axes, 'taps along x / taps along y', or @FILE with a matrix",
     .print_content = print_kernel},
    {.name = "normalize",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct convolve, normalize),
     .fallback = "yes",
     .help = "divide by the sum of the kernel, if that is not 0"},
    {.name = "bias",
     .type = OPTION_REAL,
     .offset = offsetof(struct convolve, bias),
     .fallback = "0",
     .min = -1000,
     .max = 1000,
     .value = "B",
     .help = "added to the result; full scale is 1, so 0.5 shows signed values"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --convolve \"1 4 6 4 1\" soft.png", "binomial smoothing, separable"},
    {"climg samples/scene.png --convolve \"-1 0 1 / 1 2 1\",bias=0.5 sobel.png",
     "horizontal Sobel derivative"},
    {"climg samples/zoneplate.png --convolve @samples/emboss.txt,bias=0.5 emboss.png",
     "a matrix from a file"},
    {NULL, NULL},
};

/* Fails for subsampled chroma: a kernel is defined on pixels of one size. */
static enum status convolve_adapt_to_chroma(void *params, const struct chroma *chroma, struct error *error)
{
    (void)params;
    if (chroma->across == 1 && chroma->down == 1)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "works on video whose colour is as large as its brightness, 4:4:4; convert it first, as with "
                "ffmpeg -pix_fmt yuv444p");
}

/* Parses lists of taps. */
static enum status convolve_check(void *params, struct error *error)
{
    struct convolve *convolve = params;
    if (convolve->text[0] == '@')
        return convolve->text[1] ? STATUS_OK : fail(error, STATUS_USAGE, "@ wants a file name after it");
    const enum status status = kernel_parse(convolve->text, convolve->normalize, &convolve->kernel, error);
    if (status == STATUS_USAGE && access(convolve->text, F_OK) == 0)
        return fail(error, STATUS_USAGE, "is a file; did you mean @%s?", convolve->text);
    return status;
}

/* Reads the matrix from its file. */
static enum status convolve_prepare(void *params, const struct settings *settings, struct error *error)
{
    struct convolve *convolve = params;
    (void)settings;
    if (convolve->text[0] != '@')
        return STATUS_OK;
    return kernel_read(convolve->text + 1, convolve->normalize, &convolve->kernel, error);
}

static void convolve_release(void *params)
{
    kernel_free(&((struct convolve *)params)->kernel);
}

/* Returns the rows under the kernel. */
static struct interval convolve_rows(const void *params, const struct shape *in, struct interval out)
{
    const struct kernel *kernel = &((const struct convolve *)params)->kernel;
    const int height = kernel->height;
    if (kernel->separable) {
        /* Any border rule will do: axis_source_rows ignores it. */
        const struct axis y = axis_filtered(kernel->along_y, height, in->height, EDGE_CLAMP);
        return axis_source_rows(&y, out);
    }
    return (struct interval){out.begin - height / 2, out.end - height / 2 + height - 1};
}

/* Outputs of a work-item along y, and sizes of work-groups; measured for 16x16. */
static const struct kernel_configs matrix_configs = {.kernel = "convolve",
                                                     .cpu = {4, {16, 1}},
                                                     .cpu_images = {4, {16, 1}},
                                                     .gpu = {8, {32, 2}},
                                                     .gpu_images = {4, {32, 4}}};

/* The same layout as struct matrix of kernels/convolution.cl. */
struct matrix {
    cl_int start_x, start_y; /* first column and row, relative to the output */
    cl_int width, height;    /* with padding */
    cl_int has_zeros;        /* a weight is 0: NaN and infinities there must not reach the sum */
};

/* Uploads the matrix with additional columns of zeros on both sides, so that its width and the number of
 * columns before its centre are multiples of `unit`. */
static enum status pad_matrix(struct run *run, const struct kernel *kernel, int unit, struct matrix *matrix,
                              struct weights *weights, struct error *error)
{
    /* `left` columns are left of the centre, of which the first `zeros` are zeros. */
    int left = ceil_div(kernel->width / 2, unit) * unit, zeros = left - kernel->width / 2;
    const int columns = ceil_div(zeros + kernel->width, unit) * unit;
    size_t width = (size_t)columns, taps = (size_t)kernel->width, height = (size_t)kernel->height;
    *matrix = (struct matrix){-left, -(kernel->height / 2), columns, kernel->height,
                              .has_zeros = columns > kernel->width};
    for (size_t i = 0; i < taps * height; i++)
        matrix->has_zeros |= kernel->matrix[i] == 0;
    float *padded = allocate_zeroed(width * height, sizeof *padded, "a convolution kernel", error);
    if (!padded)
        return STATUS_FAILED;
    for (size_t j = 0; j < height; j++)
        memcpy(padded + j * width + zeros, kernel->matrix + j * taps, taps * sizeof *padded);
    weights->count = width * height;
    enum status status = run_constants(run, padded, weights->count, &weights->memory, error);
    free(padded);
    return status;
}

/* Largest strip in bytes of local memory. With more, fewer groups run at once. NVIDIA's limit for a group is
 * 48 KB, of which the driver reserves some. */
enum { MAX_STRIP = 47 << 10 };

/* Enqueues a matrix that is not separable. For images, a group loads the source rows of its outputs into
 * local memory, in strips of as many rows as fit:
 *
 *     group[1] * outputs + matrix.height - 1 rows   |  strip  |  strip  | ...
 *     of group[0] + matrix.width - 1 texels
 *
 * A row for the widest matrix takes 17 KB, and OpenCL guarantees 32 KB of local memory. */
static enum status run_matrix(struct run *run, const struct kernel *kernel, cl_int alpha_channel,
                              const struct value *in, struct value *out, struct error *error)
{
    const bool images = run->memory == MEMORY_IMAGE;
    struct matrix matrix;
    struct weights weights;
    if (pad_matrix(run, kernel, run_is_cpu(run) || images ? 1 : GPU_LANES, &matrix, &weights, error) !=
            STATUS_OK ||
        run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    struct kernel_launch work = run_configured(run, "convolution", &matrix_configs, dst);
    work.height = ceil_div(dst->rows, work.config.outputs);
    work.calls_noinline = true;
    define(&work.defines, "OUTPUTS", work.config.outputs);
    if (!images)
        return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights),
                      ARG(matrix), ARG(alpha_channel));

    const size_t needed = (size_t)(work.config.group[1] * work.config.outputs + matrix.height - 1);
    const size_t row = (size_t)(work.config.group[0] + matrix.width - 1) * 4 * sizeof(float);
    const size_t local = run->device->local_memory, fitting = (local < MAX_STRIP ? local : MAX_STRIP) / row;
    const cl_int strip = (cl_int)(fitting < needed ? fitting : needed); /* rows */
    define(&work.defines, "GROUP_X", work.config.group[0]);
    define(&work.defines, "GROUP_Y", work.config.group[1]);
    return LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(dst), ARG_WEIGHTS(weights),
                  ARG(matrix), ARG(alpha_channel), ARG_LOCAL(row * (size_t)strip), ARG(strip));
}

/* Enqueues the kernel without the bias. A differential kernel, whose sum is 0, leaves alpha unchanged. */
static enum status run_kernel(struct run *run, const struct convolve *convolve, const struct value *in,
                              struct value *out, struct error *error)
{
    const struct kernel *kernel = &convolve->kernel;
    int alpha_channel = kernel->is_differential ? shape_alpha(&in->shape) : -1;
    if (!kernel->separable)
        return run_matrix(run, kernel, alpha_channel, in, out, error);
    const struct epilogue epilogue = {.alpha_channel = alpha_channel};
    const struct axis x = axis_filtered(kernel->along_x, kernel->width, in->shape.width, run->edge),
                      y = axis_filtered(kernel->along_y, kernel->height, in->shape.height, run->edge);
    return product_image(run, &x, &y, &epilogue, in, out, error);
}

/* Separable kernels are products, which can read and write a file's samples. With a bias the last pass is
 * another kernel, so then they only read them. */
static struct stage_caps convolve_caps(const void *params)
{
    const struct convolve *convolve = params;
    const struct kernel *kernel = &convolve->kernel;
    return (struct stage_caps){
        .amplifies = true,
        .file = convolve->text[0] == '@' ? convolve->text + 1 : NULL,
        .reads_samples = kernel->separable,
        .writes_samples = kernel->separable && convolve->bias == 0,
        .relative_cost = kernel->separable ? 1 : 1 + kernel->width * kernel->height / 20.0,
        .groups = true,
        .needs_upright = true,
        .new_values = !convolve->normalize || convolve->bias != 0 || kernel->is_differential};
}

/* Enqueues the kernel, and the bias if there is one. */
static enum status run_convolve(struct run *run, const void *params, const struct value *in,
                                struct value *out, struct error *error)
{
    const struct convolve *convolve = params;
    if (convolve->bias == 0)
        return run_kernel(run, convolve, in, out, error);
    /* With a bias: dst = filtered + bias, for colour only. */
    const cl_float factor = 1, bias = (cl_float)convolve->bias;
    const cl_int alpha = shape_alpha(&in->shape);
    struct value filtered = {.shape = out->shape, .rows = out->rows};
    enum status status = run_kernel(run, convolve, in, &filtered, error);
    if (status == STATUS_OK)
        status = run_output(run, out, error);
    if (status == STATUS_OK) {
        struct kernel_launch work = run_work(run, "point", "linear", &out->planes[0]);
        status = LAUNCH(run->device, &work, error, ARG_PLANES(&filtered.planes[0]),
                        ARG_PLANES(&out->planes[0]), ARG(factor), ARG(bias), ARG(alpha));
    }
    value_release(run, &filtered);
    return status;
}

const struct stage stage_convolve = {
    .name = "convolve",
    .brief = "convolution with your own kernel",
    .manual = "KERNEL is a list of taps, used along x and along y (\"1 4 6 4 1\"); two lists, the taps along "
              "x and, after a slash, the taps along y (\"-1 0 1 / 1 2 1\"); or @FILE, a text file with a "
              "matrix of numbers, one row a line (# begins a comment). Taps apply in correlation order (not "
              "flipped); the centre is the middle tap, of an even number the one after the middle. A matrix "
              "of rank 1 runs as two separable passes. A photo that is stored on its side is turned first, "
              "unless --stored-orientation is given.\n\n"
              "Alpha is filtered like colour, except by a kernel whose sum is 0, which leaves alpha "
              "unchanged and adds the bias to colour alone.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct convolve),
    .check = convolve_check,
    .prepare = convolve_prepare,
    .release = convolve_release,
    .rows = convolve_rows,
    .caps = convolve_caps,
    .adapt_to_chroma = convolve_adapt_to_chroma,
    .run = run_convolve,
};
