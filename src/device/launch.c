#include "device/launch.h"

#include "base/clock.h"
#include "device/profile.h"
#include "device/program.h"

#include <string.h>

enum { WIDE_LANES = 16, OPTIONS_SIZE = 4096 };

/* A first enqueue that takes longer has compiled: PoCL makes native code for a work-group size when it first
 * sees it. That is build time, wherever the driver chose to spend it. */
static const double COMPILING_ENQUEUE = 5e-3;

int launch_lanes(const struct device *device, enum memory memory, bool single)
{
    return device->class == DEVICE_WIDE && memory == MEMORY_BUFFER && !single ? WIDE_LANES : 1;
}

static cl_int set_arguments(cl_kernel kernel, const struct argument *arguments, size_t count, uint64_t *bytes)
{
    cl_uint index = 0;
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; i < count && code == CL_SUCCESS; i++) {
        if (arguments[i].kind != ARGUMENT_PLANES) {
            code = clSetKernelArg(kernel, index++, arguments[i].size, arguments[i].value);
            continue;
        }
        const struct planes *planes = arguments[i].value;
        struct geometry geometry = planes_geometry(planes);
        *bytes += planes_bytes(planes);
        code = clSetKernelArg(kernel, index++, sizeof(cl_mem), &planes->object);
        if (code == CL_SUCCESS)
            code = clSetKernelArg(kernel, index++, sizeof geometry, &geometry);
    }
    return code;
}

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* One group shape for every kernel on CPU devices, whose driver compiles anew for each. Half the height is 3
 * to 4% faster for the row passes of the wavelet transform on an H200. */
static void choose_group(const struct device *device, const struct work *work, size_t group[3])
{
    group[0] = device->class == DEVICE_WIDE ? 16 : 64;
    group[1] = device->class == DEVICE_WIDE ? 1 : work->along_x ? 2 : 4;
    group[2] = 1;
    while (group[0] * group[1] > device->group_size)
        group[group[1] > 1] /= 2;
}

static enum status enqueue(struct device *device, const struct work *work, cl_kernel kernel, int lanes,
                           uint64_t bytes, struct error *error)
{
    size_t group[3];
    choose_group(device, work, group);
    size_t grid[3] = {round_up(((size_t)work->width + (size_t)lanes - 1) / (size_t)lanes, group[0]),
                      round_up((size_t)work->height, group[1]), (size_t)work->depth};
    cl_event event = NULL;
    double start = clock_seconds();
    cl_int code = clEnqueueNDRangeKernel(device->queue, kernel, 3, NULL, grid, group, 0, NULL, &event);
    double seconds = clock_seconds() - start;
    if (code != CL_SUCCESS)
        return fail(error, STATUS_FAILED,
                    "kernel %s over %zux%zux%zu work-items in groups of %zux%zu on %s: %s", work->kernel,
                    grid[0], grid[1], grid[2], group[0], group[1], device->name, cl_error_name(code));
    if (seconds > COMPILING_ENQUEUE) {
        device->build_seconds += seconds;
        if (seconds > device->slowest_build)
            device->slowest_build = seconds;
    }
    if (device->profile)
        return profile_add(device->profile, PROFILE_KERNEL, work->kernel, bytes, event, error);
    clReleaseEvent(event);
    return STATUS_OK;
}

enum status launch(struct device *device, const struct work *work, const struct argument *arguments,
                   size_t count, struct error *error)
{
    if (device->counts)
        return STATUS_OK;
    char options[OPTIONS_SIZE];
    int lanes = launch_lanes(device, work->memory, work->single);
    int length = snprintf(options, sizeof options, "-cl-std=CL1.2 -DLANES=%d%s%s%s", lanes,
                          work->memory == MEMORY_IMAGE ? " -DIMAGES" : "", work->options ? " " : "",
                          work->options ? work->options : "");
    if (length < 0 || length >= OPTIONS_SIZE)
        return fail(error, STATUS_FAILED, "kernel %s: its options are too long", work->kernel);
    cl_kernel kernel;
    if (program_kernel(device, work->file, options, work->kernel, &kernel, error) != STATUS_OK)
        return STATUS_FAILED;
    uint64_t bytes = work->bytes;
    cl_int code = set_arguments(kernel, arguments, count, &bytes);
    if (code != CL_SUCCESS)
        return fail(error, STATUS_FAILED, "kernel %s: setting its arguments: %s", work->kernel,
                    cl_error_name(code));
    return enqueue(device, work, kernel, lanes, bytes, error);
}
