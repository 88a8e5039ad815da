/* A layer over OpenCL (LD_PRELOAD) that makes one sample of what a chain gives wrong, where it is packed into
 * the samples of a file (kernels pack and pack_subband) or a stage does that itself (product, and kernels
 * that end in _pack or _samples). Of those launches number $WRONG_AT: "planes" in $WRONG adds a quarter, or
 * $WRONG_BY, to a float of the planes that it reads, "raster" turns the upper bit of a sample that it wrote,
 * of $WRONG_BYTES bytes, $WRONG_CHANNELS a pixel, $WRONG_ROWS rows (floats: as above). $WRONG_SEED says
 * which; "count" in $WRONG only counts the launches. $WRONG_NOTE names a file that gets a dot for each. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KERNELS = 256, ARGUMENTS = 24, SIZE = 32 };

struct geometry {
    cl_int width, height, first_row, rows, pitch, layers, channels, plane_rows;
};

struct known {
    cl_kernel kernel;
    char name[64];
    size_t sizes[ARGUMENTS];
    unsigned char values[ARGUMENTS][SIZE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known kernels[KERNELS];
static int launches;

static struct known *find(cl_kernel kernel)
{
    struct known *known = kernels;
    while (known->kernel && known->kernel != kernel)
        known++;
    if (!known->kernel)
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof known->name, known->name, NULL);
    known->kernel = kernel;
    return known;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    cl_int (*real)(cl_kernel, cl_uint, size_t, const void *);
    *(void **)&real = dlsym(RTLD_NEXT, "clSetKernelArg");
    pthread_mutex_lock(&lock);
    struct known *known = find(kernel);
    known->sizes[index] = size;
    memset(known->values[index], 0, SIZE);
    if (value && size <= SIZE)
        memcpy(known->values[index], value, size);
    pthread_mutex_unlock(&lock);
    return real(kernel, index, size, value);
}

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

static int is(const char *name, const char *value)
{
    const char *text = getenv(name);
    return text && strcmp(text, value) == 0;
}

static size_t draw(size_t below)
{
    static uint32_t state;
    if (!state)
        state = (uint32_t)number("WRONG_SEED") * 2654435761u | 1;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

static void note(void)
{
    FILE *file = fopen(getenv("WRONG_NOTE"), "a");
    fputs(".", file);
    fclose(file);
}

/* Adds to a float, or turns the upper bit of an integer. */
static void alter(cl_command_queue queue, cl_mem memory, size_t place, size_t bytes)
{
    unsigned char sample[4];
    float value;
    clEnqueueReadBuffer(queue, memory, CL_TRUE, place, bytes, sample, 0, NULL, NULL);
    memcpy(&value, sample, sizeof value);
    value += getenv("WRONG_BY") ? (float)atof(getenv("WRONG_BY")) : 0.25f;
    if (bytes == 4)
        memcpy(sample, &value, sizeof value);
    else
        sample[bytes - 1] ^= 0x80;
    clEnqueueWriteBuffer(queue, memory, CL_TRUE, place, bytes, sample, 0, NULL, NULL);
    note();
}

static cl_mem memory_of(const struct known *known, int index)
{
    cl_mem memory;
    memcpy(&memory, known->values[index], sizeof memory);
    return memory;
}

/* True if it is a product that reads or writes rasters: arguments 0 and 1 are the input raster and its
 * geometry, 2 to 5 planes and their geometries, and 6 is the output raster. */
static int is_product_of_samples(const struct known *known)
{
    return strcmp(known->name, "product") == 0 && known->sizes[7] == sizeof(cl_int);
}

static void alter_planes(cl_command_queue queue, const struct known *known)
{
    struct geometry at;
    const int samples = is_product_of_samples(known), from = samples && memory_of(known, 2) ? 2 : 0;
    memcpy(&at, known->values[from + 1], sizeof at);
    size_t plane = samples && from == 0 ? 0 : draw((size_t)at.layers * (size_t)at.channels);
    size_t row = draw((size_t)at.rows);
    size_t place = (plane * (size_t)at.plane_rows + row) * (size_t)at.pitch + draw((size_t)at.width);
    alter(queue, memory_of(known, from), place * sizeof(float), sizeof(float));
}

/* A raster is its memory, then pitch, first row, rows from image to image and width, all ints. */
static void alter_raster(cl_command_queue queue, const struct known *known)
{
    int i = 2;
    while (known->sizes[i] != sizeof(cl_mem) || known->sizes[i + 1] != 4 || known->sizes[i + 2] != 4 ||
           known->sizes[i + 3] != 4 || known->sizes[i + 4] != 4)
        i++;
    cl_int pitch, width;
    memcpy(&pitch, known->values[i + 1], sizeof pitch);
    memcpy(&width, known->values[i + 4], sizeof width);
    size_t channels = (size_t)number("WRONG_CHANNELS"), bytes = (size_t)number("WRONG_BYTES");
    size_t pixel = draw((size_t)number("WRONG_ROWS")) * (size_t)pitch + draw((size_t)width);
    alter(queue, memory_of(known, i), (pixel * channels + draw(channels)) * bytes, bytes);
}

/* True if the launch writes samples; of subbands only the first of a level. */
static int gives(const struct known *known)
{
    size_t length = strlen(known->name);
    cl_int subband;
    memcpy(&subband, known->values[4], sizeof subband);
    if (strcmp(known->name, "pack_subband") == 0)
        return subband == 0;
    if (strcmp(known->name, "product") == 0)
        return is_product_of_samples(known) && memory_of(known, 6);
    if (strcmp(known->name, "rank_network") == 0)
        return known->sizes[6] == sizeof(cl_int); /* argument 5 is the output raster */
    if (strcmp(known->name, "rank_histogram") == 0)
        return memory_of(known, 6) != NULL; /* the output raster */
    if (strcmp(known->name, "convert") == 0)
        return known->sizes[7] == sizeof(cl_int) && memory_of(known, 6); /* the output raster */
    return strcmp(known->name, "pack") == 0 ||
           (length > 5 && strcmp(known->name + length - 5, "_pack") == 0) ||
           (length > 8 && strcmp(known->name + length - 8, "_samples") == 0);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                   cl_uint, const cl_event *, cl_event *);
    *(void **)&real = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    pthread_mutex_lock(&lock);
    const struct known *known = find(kernel);
    int now = gives(known) && (is("WRONG", "count") || launches++ == number("WRONG_AT"));
    if (now && is("WRONG", "count"))
        note();
    if (now && is("WRONG", "planes"))
        alter_planes(queue, known);
    cl_int code = real(queue, kernel, dimensions, offset, global, local, count, events, event);
    if (now && is("WRONG", "raster"))
        alter_raster(queue, known);
    pthread_mutex_unlock(&lock);
    return code;
}
