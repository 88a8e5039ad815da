#include "bench.h"

#include "base/timing.h"
#include "device/choose.h"
#include "device/device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES = 20, LARGEST_COPY = 1 << 28 };

static const double WARMING = 0.03, PATIENCE = 0.5; /* seconds */

void bench_fail(const char *format, ...)
{
    va_list arguments;
    fputs("bench: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void bench_check(enum status status, const struct error *error)
{
    if (status != STATUS_OK)
        bench_fail("%s", error->text);
}

void bench_check_cl(cl_int code, const char *what)
{
    if (code != CL_SUCCESS)
        bench_fail("%s: %s", what, cl_error_name(code));
}

void *bench_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        bench_fail("out of memory for %zu values of %zu bytes", count, size);
    return memory;
}

FILE *bench_file(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file)
        bench_fail("%s: %s", path, strerror(errno));
    return file;
}

static void build_copy(struct bench *bench)
{
    static const char *source =
        "__kernel void copy(__global const VECTOR *restrict a, __global VECTOR *restrict b)\n"
        "{ b[get_global_id(0)] = a[get_global_id(0)]; }\n";
    const struct device *device = &bench->device;
    const char *options = device->variant == VARIANT_CPU ? "-DVECTOR=float16" : "-DVECTOR=float4";
    cl_int code;
    bench->copy = clCreateProgramWithSource(device->context, 1, &source, NULL, &code);
    bench_check_cl(code, "the copy's kernel");
    bench_check_cl(clBuildProgram(bench->copy, 1, &device->id, options, NULL, NULL),
                   "building the copy's kernel");
}

void bench_open(struct bench *bench)
{
    struct error error = {.text = ""};
    *bench = (struct bench){.copy = NULL};
    bench_check(environment_read(&bench->environment, &error), &error);
    const char *wanted = bench->environment.device ? bench->environment.device : "auto";
    bench_check(device_choose(wanted, &bench->environment, &bench->device, &error), &error);
    bench_check(device_open(&bench->device, &error), &error);
    timing_begin(&bench->timing, false);
    bench_restart(bench);
    bench->device.event_log = &bench->event_log;
    build_copy(bench);
}

void bench_restart(struct bench *bench)
{
    event_log_free(&bench->event_log);
    timing_free(&bench->timing);
    timing_begin(&bench->timing, false);
    bench->event_log.timing = &bench->timing;
}

void bench_close(struct bench *bench)
{
    event_log_free(&bench->event_log);
    timing_free(&bench->timing);
    clReleaseProgram(bench->copy);
    device_close(&bench->device);
}

int bench_repeats(double seconds, int most)
{
    double fit = PATIENCE / (seconds > 1e-9 ? seconds : 1e-9);
    return fit >= most ? most : fit < 1 ? 1 : (int)fit;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double bench_event_seconds(cl_event event)
{
    cl_int state = CL_COMPLETE;
    cl_ulong start = 0, end = 0;
    bench_check_cl(clWaitForEvents(1, &event), "waiting for the device");
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    bench_check_cl(state < 0 ? state : CL_SUCCESS, "a command failed on the device");
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(event);
    return 1e-9 * (double)(end - start);
}

double bench_kernel_seconds(struct bench *bench)
{
    struct error error = {.text = ""};
    bench_check_cl(clFinish(bench->device.queue), "waiting for the device");
    bench_check(event_log_collect(&bench->event_log, event_log_mark(&bench->event_log), &error), &error);
    const double sum = timing_phase(&bench->timing, PHASE_STAGES).seconds;
    bench_restart(bench);
    return sum;
}

/* Two buffers and the ways from one to the other. */
struct copier {
    cl_command_queue queue;
    cl_mem from, to;
    cl_kernel kernel;
    size_t bytes, items;
};

static void copier_open(struct copier *copier, const struct bench *bench, size_t bytes)
{
    static const cl_float zero = 0;
    const struct device *device = &bench->device;
    size_t vector = (device->variant == VARIANT_CPU ? 16 : 4) * sizeof zero, unit = 64 * vector;
    cl_int code[3];
    *copier = (struct copier){.queue = device->queue, .bytes = (bytes + unit - 1) / unit * unit};
    copier->items = copier->bytes / vector;
    copier->from = clCreateBuffer(device->context, CL_MEM_READ_WRITE, copier->bytes, NULL, &code[0]);
    copier->to = clCreateBuffer(device->context, CL_MEM_READ_WRITE, copier->bytes, NULL, &code[1]);
    copier->kernel = clCreateKernel(bench->copy, "copy", &code[2]);
    for (int i = 0; i < 3; i++)
        bench_check_cl(code[i], "preparing a copy");
    clSetKernelArg(copier->kernel, 0, sizeof(cl_mem), &copier->from);
    clSetKernelArg(copier->kernel, 1, sizeof(cl_mem), &copier->to);
    bench_check_cl(
        clEnqueueFillBuffer(copier->queue, copier->from, &zero, sizeof zero, 0, copier->bytes, 0, NULL, NULL),
        "filling a buffer");
}

static void copier_close(struct copier *copier)
{
    clReleaseKernel(copier->kernel);
    clReleaseMemObject(copier->from);
    clReleaseMemObject(copier->to);
}

static cl_event copy_once(const struct copier *copier, bool by_kernel)
{
    const size_t group = 64;
    cl_event event = NULL;
    cl_int code = by_kernel ? clEnqueueNDRangeKernel(copier->queue, copier->kernel, 1, NULL, &copier->items,
                                                     &group, 0, NULL, &event)
                            : clEnqueueCopyBuffer(copier->queue, copier->from, copier->to, 0, 0,
                                                  copier->bytes, 0, NULL, &event);
    bench_check_cl(code, "copying");
    return event;
}

void bench_warm(struct bench *bench)
{
    struct copier copier;
    if (bench->device.variant == VARIANT_CPU)
        return;
    copier_open(&copier, bench, 1 << 26);
    for (double start = clock_seconds(); clock_seconds() < start + WARMING;)
        bench_event_seconds(copy_once(&copier, true));
    copier_close(&copier);
}

double bench_copy_seconds(struct bench *bench, size_t bytes)
{
    struct copier copier;
    double best = 0, times[COPIES] = {0};
    /* Beyond the caches the time is in proportion to the bytes; memory need not hold them all. */
    size_t one_way = bytes / 2 > LARGEST_COPY ? LARGEST_COPY : bytes / 2;
    bench_warm(bench);
    copier_open(&copier, bench, one_way);
    for (int by_kernel = 0; by_kernel < 2; by_kernel++) {
        cl_event events[COPIES];
        double first = 0;
        for (int i = 0; i < 3; i++)
            first = bench_event_seconds(copy_once(&copier, by_kernel));
        int count = bench_repeats(first, COPIES);
        for (int i = 0; i < count; i++)
            events[i] = copy_once(&copier, by_kernel);
        for (int i = 0; i < count; i++)
            times[i] = bench_event_seconds(events[i]);
        double seconds = bench_median(times, count);
        if (!by_kernel || seconds < best)
            best = seconds;
    }
    double moved = 2 * (double)copier.bytes;
    copier_close(&copier);
    return best * (double)bytes / moved;
}

float *bench_noise(size_t count)
{
    uint32_t state = 1;
    float *noise = bench_allocate(count, sizeof *noise);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u; /* Numerical Recipes' generator */
        noise[i] = (float)(state >> 8) * 0x1p-24f;
    }
    return noise;
}

/* Returns the index of pixel (x, y, z), channel c of planes in the device's order. */
static size_t place(const struct planes *planes, const struct geometry *at, int x, int y, int z, int c)
{
    if (planes->memory == MEMORY_IMAGE)
        return (((size_t)z * (size_t)planes->rows + (size_t)y) * (size_t)planes->width + (size_t)x) * 4 +
               (size_t)c;
    return ((size_t)(z * planes->channels + c) * (size_t)at->plane_rows + (size_t)y) * (size_t)at->pitch +
           (size_t)x;
}

/* Between the device's order and interleaved pixels. */
static void reorder(const struct planes *planes, float *device, float *pixels, bool to_device)
{
    struct geometry at = planes_geometry(planes);
    size_t i = 0;
    for (int z = 0; z < planes->layers; z++)
        for (int y = 0; y < planes->rows; y++)
            for (int x = 0; x < planes->width; x++)
                for (int c = 0; c < planes->channels; c++, i++) {
                    float *there = &device[place(planes, &at, x, y, z, c)];
                    *(to_device ? there : &pixels[i]) = *(to_device ? &pixels[i] : there);
                }
}

void bench_write(struct run *run, const struct planes *planes, const float *host)
{
    const size_t origin[3] = {0, 0, 0},
                 region[3] = {(size_t)planes->width, (size_t)planes->rows, (size_t)planes->layers};
    cl_command_queue queue = run->device->queue;
    bench_check_cl(
        planes->memory == MEMORY_IMAGE
            ? clEnqueueWriteImage(queue, planes->object, CL_TRUE, origin, region, 0, 0, host, 0, NULL, NULL)
            : clEnqueueWriteBuffer(queue, planes->object, CL_TRUE, 0, planes_bytes(planes), host, 0, NULL,
                                   NULL),
        "copying planes");
}

void bench_upload(struct run *run, const float *pixels, int width, int height, int channels, int layers,
                  struct planes *planes)
{
    struct error error = {.text = ""};
    bench_check(run_planes(run, width, height, rows_full(height), layers, channels, planes, &error), &error);
    float *ordered = bench_allocate(1, planes_bytes(planes));
    reorder(planes, ordered, (float *)pixels, true);
    bench_write(run, planes, ordered);
    free(ordered);
}

float *bench_download(struct run *run, const struct planes *planes)
{
    struct error error = {.text = ""};
    size_t count =
        (size_t)planes->width * (size_t)planes->rows * (size_t)planes->layers * (size_t)planes->channels;
    float *ordered = bench_allocate(1, planes_bytes(planes)), *pixels = bench_allocate(count, sizeof *pixels);
    bench_check(planes_read(run->device, planes, ordered, &error), &error);
    reorder(planes, ordered, pixels, false);
    free(ordered);
    return pixels;
}
