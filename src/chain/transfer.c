#include "chain/transfer.h"

#include "base/pages.h"

#include <stdlib.h>
#include <string.h>

enum { OPTIONS_SIZE = 160 };

static enum status transfer_error(const struct staging *staging, const char *what, cl_int code,
                                  struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: %s %zu MiB: %s", staging->device->name, what, staging->size >> 20,
                cl_error_name(code));
}

enum status staging_create(struct staging *staging, struct device *device, int width, int channels,
                           enum sample_type type, int rows, struct error *error)
{
    size_t padded = ((size_t)width + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
    *staging = (struct staging){.device = device, .shared = device->shares_memory};
    staging->pitch = padded * (size_t)channels * sample_size(type);
    staging->size = staging->pitch * (size_t)rows;
    staging->host = allocate_pages(staging->size);
    if (!staging->host)
        return fail(error, STATUS_FAILED, "out of memory for %zu MiB of pixels", staging->size >> 20);
    cl_int code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (staging->size <= device->allocation)
        staging->object =
            clCreateBuffer(device->context, CL_MEM_READ_WRITE | (staging->shared ? CL_MEM_USE_HOST_PTR : 0),
                           staging->size, staging->shared ? staging->host : NULL, &code);
    return code == CL_SUCCESS ? STATUS_OK : transfer_error(staging, "no memory for", code, error);
}

void staging_free(struct staging *staging)
{
    if (staging->mapped)
        clEnqueueUnmapMemObject(staging->device->queue, staging->object, staging->host, 0, NULL, NULL);
    if (staging->object) {
        clFinish(staging->device->queue); /* kernels may still use the host's memory */
        clReleaseMemObject(staging->object);
    }
    free(staging->host);
    memset(staging, 0, sizeof *staging);
}

static enum status map(struct staging *staging, cl_map_flags flags, struct error *error)
{
    cl_int code = CL_SUCCESS;
    clEnqueueMapBuffer(staging->device->queue, staging->object, CL_TRUE, flags, 0, staging->size, 0, NULL,
                       NULL, &code);
    staging->mapped = code == CL_SUCCESS;
    return staging->mapped ? STATUS_OK : transfer_error(staging, "mapping", code, error);
}

static enum status unmap(struct staging *staging, struct error *error)
{
    cl_int code =
        clEnqueueUnmapMemObject(staging->device->queue, staging->object, staging->host, 0, NULL, NULL);
    staging->mapped = false;
    return code == CL_SUCCESS ? STATUS_OK : transfer_error(staging, "unmapping", code, error);
}

enum status staging_begin_write(struct staging *staging, struct error *error)
{
    return staging->shared ? map(staging, CL_MAP_READ | CL_MAP_WRITE, error) : STATUS_OK;
}

enum status staging_end_write(struct staging *staging, int rows, struct error *error)
{
    if (staging->shared)
        return unmap(staging, error);
    cl_int code = clEnqueueWriteBuffer(staging->device->queue, staging->object, CL_TRUE, 0,
                                       staging->pitch * (size_t)rows, staging->host, 0, NULL, NULL);
    return code == CL_SUCCESS ? STATUS_OK : transfer_error(staging, "uploading", code, error);
}

enum status staging_begin_read(struct staging *staging, int rows, struct error *error)
{
    if (staging->shared)
        return map(staging, CL_MAP_READ, error);
    cl_int code = clEnqueueReadBuffer(staging->device->queue, staging->object, CL_TRUE, 0,
                                      staging->pitch * (size_t)rows, staging->host, 0, NULL, NULL);
    return code == CL_SUCCESS ? STATUS_OK : transfer_error(staging, "downloading", code, error);
}

enum status staging_end_read(struct staging *staging, struct error *error)
{
    return staging->shared ? unmap(staging, error) : STATUS_OK;
}

static void write_options(char *options, const struct conversion *conversion, bool multiply, bool divide)
{
    snprintf(options, OPTIONS_SIZE, "-DSAMPLE=%d -DCHANNELS=%d -DCOLOURS=%d%s%s%s%s", conversion->type,
             conversion->channels, conversion->channels - conversion->alpha, multiply ? " -DMULTIPLY" : "",
             divide ? " -DDIVIDE" : "", conversion->linear ? " -DLINEAR" : "",
             conversion->linear && conversion->exponent > 0 ? " -DGAMMA" : "");
}

static struct work make_work(const struct run *run, const char *kernel, const char *options,
                             const struct planes *planes, const struct staging *staging)
{
    return (struct work){.file = "samples",
                         .kernel = kernel,
                         .options = options,
                         .grain = GRAIN_WINDOW,
                         .memory = run->memory,
                         .width = planes->width,
                         .height = planes->rows,
                         .depth = 1,
                         .bytes = staging->pitch * (size_t)planes->rows};
}

static cl_int pitch_in_pixels(const struct conversion *conversion, const struct staging *staging)
{
    return (cl_int)(staging->pitch / sample_size(conversion->type) / (size_t)conversion->channels);
}

enum status unpack_planes(struct run *run, const struct conversion *conversion, const struct staging *staging,
                          int first_row, const struct planes *planes, struct error *error)
{
    char options[OPTIONS_SIZE];
    cl_int pitch = pitch_in_pixels(conversion, staging), row = first_row;
    cl_float exponent = (cl_float)conversion->exponent;
    /* The transfer curve applies to colour that is not multiplied by alpha. */
    bool divide = conversion->alpha && conversion->premultiplied && conversion->linear;
    bool multiply = conversion->alpha && conversion->multiply && (divide || !conversion->premultiplied);
    write_options(options, conversion, multiply, divide);
    struct work work = make_work(run, "unpack", options, planes, staging);
    return LAUNCH(run->device, &work, error, ARG_MEMORY(staging->object), ARG(pitch), ARG(row),
                  ARG_PLANES(planes), ARG(exponent));
}

enum status pack_planes(struct run *run, const struct conversion *conversion, const struct planes *planes,
                        struct staging *staging, struct error *error)
{
    char options[OPTIONS_SIZE];
    cl_int pitch = pitch_in_pixels(conversion, staging), row = planes->first_row;
    cl_float exponent = (cl_float)conversion->exponent;
    bool divide = conversion->alpha && (conversion->multiply || conversion->premultiplied);
    write_options(options, conversion, false, divide);
    struct work work = make_work(run, "pack", options, planes, staging);
    return LAUNCH(run->device, &work, error, ARG_PLANES(planes), ARG_MEMORY(staging->object), ARG(pitch),
                  ARG(row), ARG(exponent));
}
