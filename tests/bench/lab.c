#include "lab.h"

#include "base/timing.h"
#include "filters/product.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_TRIALS = 2,
    RUNS = 20,
    PLACES = 4000,
    TRIAL_OPTIONS_SIZE = 256,
    LOG_SIZE = 4096,
    TEXT_SIZE = 1 << 16
};

struct built {
    struct built *next;
    const char *file;
    char options[TRIAL_OPTIONS_SIZE];
    cl_program program;
};

void lab_open(struct lab *lab, const char *folder, int size)
{
    *lab = (struct lab){.folder = folder, .size = size};
    bench_open(&lab->bench);
}

void lab_close(struct lab *lab)
{
    while (lab->built) {
        struct built *next = lab->built->next;
        clReleaseProgram(lab->built->program);
        free(lab->built);
        lab->built = next;
    }
    free(lab->cells);
    bench_close(&lab->bench);
}

void lab_report(struct lab *lab)
{
    for (; lab->reported < lab->count; lab->reported++)
        lab->report(lab, &lab->cells[lab->reported]);
    fflush(stdout);
}

struct cell *lab_cell(struct lab *lab, const char *table, const char *variant, const char *column)
{
    lab_report(lab);
    struct cell *grown = realloc(lab->cells, (lab->count + 1) * sizeof *grown);
    if (!grown)
        bench_fail("out of memory for a table");
    lab->cells = grown;
    lab->cells[lab->count] = (struct cell){.table = table, .variant = variant, .column = column};
    return &lab->cells[lab->count++];
}

void cell_compare(struct cell *cell, double then, int size)
{
    cell->then = then * cell->size * cell->size / ((double)size * size);
}

void cell_skip(struct cell *cell, const char *why)
{
    cell->verdict = SKIPPED;
    snprintf(cell->note, sizeof cell->note, "%s", why);
}

struct picture picture_noise(int width, int height, int channels, int layers)
{
    size_t count = (size_t)width * (size_t)height * (size_t)channels * (size_t)layers;
    return (struct picture){bench_noise(count), width, height, channels, layers};
}

static int clamped(int i, int n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static size_t offset_of(const struct picture *picture, int x, int y, int z, int channel)
{
    size_t row = (size_t)z * (size_t)picture->height + (size_t)y;
    return (row * (size_t)picture->width + (size_t)x) * (size_t)picture->channels + (size_t)channel;
}

double picture_at(const struct picture *picture, int x, int y, int z, int channel)
{
    x = clamped(x, picture->width);
    y = clamped(y, picture->height);
    return (double)picture->pixels[offset_of(picture, x, y, z, channel)];
}

/* Returns the image format of texels of `count` floats, if the device supports it. */
static bool texel_format(const struct device *device, int channels, cl_image_format *format)
{
    static const cl_channel_order orders[] = {0, CL_R, CL_RG, 0, CL_RGBA};
    cl_image_format known[256];
    cl_uint count = 0;
    *format = (cl_image_format){orders[channels], CL_FLOAT};
    clGetSupportedImageFormats(device->context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D_ARRAY, 256, known,
                               &count);
    for (cl_uint i = 0; i < count && i < 256; i++)
        if (known[i].image_channel_order == format->image_channel_order &&
            known[i].image_channel_data_type == CL_FLOAT)
            return true;
    return false;
}

static bool make_image(struct lab *lab, struct surface *surface, const char **why)
{
    const struct device *device = &lab->bench.device;
    cl_image_format format;
    cl_image_desc shape = {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
                           .image_width = (size_t)surface->width,
                           .image_height = (size_t)surface->height,
                           .image_array_size = (size_t)surface->layers};
    cl_int code = CL_SUCCESS;
    if (!device->has_images)
        *why = "the device has no images";
    else if (!texel_format(device, surface->channels, &format))
        *why = surface->channels == 2 ? "the device has no images of two floats a texel"
                                      : "the device has no images of float texels like these";
    else if (shape.image_width > device->image_width || shape.image_height > device->image_height ||
             shape.image_array_size > device->image_layers)
        *why = "larger than the device's images";
    else
        surface->object = clCreateImage(device->context, CL_MEM_READ_WRITE, &format, &shape, NULL, &code);
    bench_check_cl(code, "an image");
    return surface->object != NULL;
}

static size_t surface_count(const struct surface *surface)
{
    return (size_t)surface->width * (size_t)surface->height * (size_t)surface->channels *
           (size_t)surface->layers;
}

bool surface_make(struct lab *lab, const struct picture *picture, bool image, struct surface *surface,
                  const char **why)
{
    cl_command_queue queue = lab->bench.device.queue;
    const size_t origin[3] = {0};
    cl_int code = CL_SUCCESS;
    *surface =
        (struct surface){NULL, image, picture->width, picture->height, picture->channels, picture->layers};
    const size_t region[3] = {(size_t)picture->width, (size_t)picture->height, (size_t)picture->layers};
    if (image && !make_image(lab, surface, why))
        return false;
    if (!image)
        surface->object = clCreateBuffer(lab->bench.device.context, CL_MEM_READ_WRITE,
                                         surface_count(surface) * sizeof(cl_float), NULL, &code);
    bench_check_cl(code, "an array");
    if (!picture->pixels)
        return true;
    code = image ? clEnqueueWriteImage(queue, surface->object, CL_TRUE, origin, region, 0, 0, picture->pixels,
                                       0, NULL, NULL)
                 : clEnqueueWriteBuffer(queue, surface->object, CL_TRUE, 0,
                                        surface_count(surface) * sizeof(cl_float), picture->pixels, 0, NULL,
                                        NULL);
    bench_check_cl(code, "writing pixels");
    return true;
}

void surface_free(struct surface *surface)
{
    if (surface->object)
        clReleaseMemObject(surface->object);
    surface->object = NULL;
}

/* NaN marks samples that are never written. */
static void surface_poison(struct lab *lab, const struct surface *surface)
{
    const size_t origin[3] = {0},
                 region[3] = {(size_t)surface->width, (size_t)surface->height, (size_t)surface->layers};
    const cl_float4 nan4 = {{NAN, NAN, NAN, NAN}};
    cl_command_queue queue = lab->bench.device.queue;
    bench_check_cl(surface->image
                       ? clEnqueueFillImage(queue, surface->object, &nan4, origin, region, 0, NULL, NULL)
                       : clEnqueueFillBuffer(queue, surface->object, &nan4, sizeof(cl_float), 0,
                                             surface_count(surface) * sizeof(cl_float), 0, NULL, NULL),
                   "poisoning an output");
}

static struct picture surface_read(struct lab *lab, const struct surface *surface)
{
    const size_t origin[3] = {0},
                 region[3] = {(size_t)surface->width, (size_t)surface->height, (size_t)surface->layers};
    const size_t bytes = surface_count(surface) * sizeof(cl_float);
    cl_command_queue queue = lab->bench.device.queue;
    float *pixels = bench_allocate(1, bytes);
    bench_check_cl(
        surface->image
            ? clEnqueueReadImage(queue, surface->object, CL_TRUE, origin, region, 0, 0, pixels, 0, NULL, NULL)
            : clEnqueueReadBuffer(queue, surface->object, CL_TRUE, 0, bytes, pixels, 0, NULL, NULL),
        "reading an output");
    return (struct picture){pixels, surface->width, surface->height, surface->channels, surface->layers};
}

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

/* A place along an axis: anywhere, or within 40 of one of its ends. */
static int draw_place(uint32_t *state, int n, bool border)
{
    uint32_t margin = n < 40 ? (uint32_t)n : 40, at = border ? draw(state, margin) : draw(state, (uint32_t)n);
    return border && draw(state, 2) ? n - 1 - (int)at : (int)at;
}

/* Looks at every pixel for what was never written, and at some thousand places, most of them near a border,
 * closely. */
static void judge(struct cell *cell, const struct picture *got, const struct expectation *expected)
{
    size_t count = (size_t)got->width * (size_t)got->height * (size_t)got->channels * (size_t)got->layers;
    uint32_t state = 7;
    for (size_t i = 0; i < count; i++)
        if (isnan(got->pixels[i])) {
            cell->verdict = WRONG;
            cell->error = (double)NAN;
            snprintf(cell->note, sizeof cell->note, "value %zu of %zu was never written", i, count);
            return;
        }
    for (int i = 0; i < PLACES; i++) {
        int x = draw_place(&state, got->width, i % 4 > 1), y = draw_place(&state, got->height, i % 4 % 2);
        int z = (int)draw(&state, (uint32_t)got->layers), c = (int)draw(&state, (uint32_t)got->channels);
        double wanted = expected->at(expected, x, y, z, c);
        double error = fabs((double)got->pixels[offset_of(got, x, y, z, c)] - wanted);
        if (error > cell->error)
            cell->error = error;
        if (error > expected->tolerance && cell->verdict != WRONG) {
            cell->verdict = WRONG;
            snprintf(cell->note, sizeof cell->note, "%d, %d, image %d, channel %d: %g instead of %g", x, y, z,
                     c, (double)got->pixels[offset_of(got, x, y, z, c)], wanted);
        }
    }
}

static char *read_text(const struct lab *lab, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", lab->folder, name);
    FILE *file = bench_file(path, "rb");
    char *text = bench_allocate(1, TEXT_SIZE);
    size_t length = fread(text, 1, TEXT_SIZE - 1, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

static void build_failed(const struct lab *lab, const struct trial *trial, cl_program program, cl_int code)
{
    char log[LOG_SIZE] = "";
    clGetProgramBuildInfo(program, lab->bench.device.id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    bench_fail("%s does not build with %s (%s):\n%s", trial->file, trial->options, cl_error_name(code), log);
}

static cl_program find_program(struct lab *lab, const struct trial *trial)
{
    struct built *built = lab->built;
    while (built && (strcmp(built->file, trial->file) != 0 || strcmp(built->options, trial->options) != 0))
        built = built->next;
    if (built)
        return built->program;
    built = bench_allocate(1, sizeof *built);
    char *header = trial->header ? read_text(lab, trial->header) : NULL, *text = read_text(lab, trial->file);
    const char *texts[] = {header ? header : "", text};
    cl_int code;
    built->file = trial->file;
    snprintf(built->options, sizeof built->options, "%s", trial->options);
    built->program = clCreateProgramWithSource(lab->bench.device.context, 2, texts, NULL, &code);
    bench_check_cl(code, trial->file);
    code = clBuildProgram(built->program, 1, &lab->bench.device.id, trial->options, NULL, NULL);
    if (code != CL_SUCCESS)
        build_failed(lab, trial, built->program, code);
    free(header);
    free(text);
    built->next = lab->built;
    lab->built = built;
    return built->program;
}

/* True if the device supports this group size and local memory. */
static bool fits(struct lab *lab, const struct trial *trial, cl_kernel kernel, struct cell *cell)
{
    const struct device *device = &lab->bench.device;
    size_t items = trial->group[0] * trial->group[1] * trial->group[2], most = device->group_size;
    cl_ulong used = 0, there = 0;
    size_t asked[3] = {0, 0, 0};
    clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof asked, asked,
                             NULL);
    if (asked[0] == 0) /* else it was compiled for this group size, which may exceed the reported maximum */
        clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
    clGetKernelWorkGroupInfo(kernel, device->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof used, &used, NULL);
    clGetDeviceInfo(device->id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof there, &there, NULL);
    if (items <= most && used <= there)
        return true;
    cell->verdict = SKIPPED;
    snprintf(cell->note, sizeof cell->note,
             "%s: groups of %zu work-items and %llu bytes of local memory; the device takes %zu and %llu",
             trial->kernel, items, (unsigned long long)used, most, (unsigned long long)there);
    return false;
}

static cl_kernel prepare(struct lab *lab, const struct trial *trial)
{
    cl_int code;
    cl_kernel kernel = clCreateKernel(find_program(lab, trial), trial->kernel, &code);
    bench_check_cl(code, trial->kernel);
    for (size_t i = 0; i < trial->count; i++)
        bench_check_cl(
            clSetKernelArg(kernel, (cl_uint)i, trial->arguments[i].size, trial->arguments[i].value),
            trial->kernel);
    return kernel;
}

/* Enqueues all trials once; gives their events. */
static void enqueue(struct lab *lab, const struct trial *trials, cl_kernel *kernels, size_t count,
                    cl_event *events)
{
    for (size_t i = 0; i < count; i++)
        bench_check_cl(clEnqueueNDRangeKernel(lab->bench.device.queue, kernels[i], 3, NULL, trials[i].grid,
                                              trials[i].group, 0, NULL, &events[i]),
                       trials[i].kernel);
}

static double finish(cl_event *events, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += bench_event_seconds(events[i]);
    return sum;
}

static void measure(struct lab *lab, struct cell *cell, const struct trial *trials, cl_kernel *kernels,
                    size_t count, double first)
{
    cl_event events[RUNS][MAX_TRIALS];
    double times[RUNS] = {0};
    cell->runs = bench_repeats(first, RUNS);
    bench_warm(&lab->bench);
    for (int i = 0; i < cell->runs; i++)
        enqueue(lab, trials, kernels, count, events[i]);
    for (int i = 0; i < cell->runs; i++)
        times[i] = finish(events[i], count);
    cell->now = bench_median(times, cell->runs);
}

void lab_try(struct lab *lab, struct cell *cell, const struct trial *trials, size_t count,
             const struct surface *out, const struct expectation *expected)
{
    cl_kernel kernels[MAX_TRIALS] = {NULL};
    cl_event events[MAX_TRIALS];
    bool possible = true;
    for (size_t i = 0; i < count; i++) {
        kernels[i] = prepare(lab, &trials[i]);
        possible = possible && fits(lab, &trials[i], kernels[i], cell);
    }
    if (possible) {
        surface_poison(lab, out);
        enqueue(lab, trials, kernels, count, events);
        double first = finish(events, count);
        struct picture got = surface_read(lab, out);
        judge(cell, &got, expected);
        free(got.pixels);
        cell->now = first;
        cell->runs = 1;
        if (!lab->bench.device.simulator)
            measure(lab, cell, trials, kernels, count, first);
    }
    for (size_t i = 0; i < count; i++)
        clReleaseKernel(kernels[i]);
}

/* One run of climg's kernels, in seconds; what they made is read where `got` is asked for. */
static double produce_once(struct lab *lab, struct run *run, produce_function *produce, const void *context,
                           const struct value *in, const struct value *shape, struct picture *got)
{
    struct error error = {.text = ""};
    struct value out = *shape;
    bench_check(produce(run, context, in, &out, &error), &error);
    run_end_stage(run);
    double seconds = bench_kernel_seconds(&lab->bench);
    const struct planes *planes = &out.planes[0];
    if (got)
        *got = (struct picture){bench_download(run, planes), planes->width, planes->rows, planes->channels,
                                planes->layers};
    value_release(run, &out);
    return seconds;
}

void lab_try_production(struct lab *lab, struct cell *cell, enum memory memory, produce_function *produce,
                        const void *context, const struct value *shapes, const struct expectation *expected)
{
    const struct picture *from = expected->in;
    struct value in = shapes[0];
    struct picture got;
    struct run run;
    double times[RUNS] = {0};
    if (memory == MEMORY_IMAGE && !lab->bench.device.has_images) {
        cell_skip(cell, "the device has no images");
        return;
    }
    run_init(&run, &lab->bench.device, memory, EDGE_CLAMP);
    bench_upload(&run, from->pixels, from->width, from->height, from->channels, from->layers, &in.planes[0]);
    run.pool.poison = true;
    double first = produce_once(lab, &run, produce, context, &in, &shapes[1], &got);
    judge(cell, &got, expected);
    free(got.pixels);
    run.pool.poison = false;
    bench_warm(&lab->bench);
    cell->runs = lab->bench.device.simulator ? 1 : bench_repeats(first, RUNS);
    for (int i = 0; i < cell->runs; i++)
        times[i] = produce_once(lab, &run, produce, context, &in, &shapes[1], NULL);
    cell->now = bench_median(times, cell->runs);
    value_release(&run, &in);
    run_free(&run);
}

enum status produce_pass(struct run *run, const struct filter *filter, bool along_y, const struct value *in,
                         struct value *out, struct error *error)
{
    static const float one = 1;
    const struct planes *src = &in->planes[0], *dst = &out->planes[0];
    const int along = along_y ? src->height : src->width, across = along_y ? src->width : src->height;
    const struct axis same = axis_filtered(&one, 1, across, run->edge);
    struct axis filtered = axis_filtered(filter->weights, filter->taps, along, run->edge);
    filtered.filter.start = filter->start;
    if (run_planes(run, src->width, src->height, rows_full(src->height), src->layers, src->channels,
                   &out->planes[0], error) != STATUS_OK)
        return STATUS_FAILED;
    const struct product product = {.x = along_y ? same : filtered,
                                    .y = along_y ? filtered : same,
                                    .epilogue = epilogue_copy,
                                    .src = *src,
                                    .dst = *dst};
    return product_run(run, &product, error);
}

void lab_try_host(struct cell *cell, host_function *work, const struct material *material,
                  struct picture *out, const struct expectation *expected)
{
    double times[RUNS] = {0};
    for (size_t i = 0; i < (size_t)out->width * (size_t)out->height; i++)
        out->pixels[i] = NAN;
    double start = clock_seconds();
    work(material);
    cell->runs = bench_repeats(clock_seconds() - start, RUNS);
    judge(cell, out, expected);
    for (int i = 0; i < cell->runs; i++) {
        start = clock_seconds();
        work(material);
        times[i] = clock_seconds() - start;
    }
    cell->now = bench_median(times, cell->runs);
}
