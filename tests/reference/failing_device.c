/* A layer over OpenCL (LD_PRELOAD) under which the device whose name begins with $FAILING_DEVICE fails every
 * kernel launch after the first $FAILING_AFTER, or $FAILING_COUNT of them. $LAUNCHES names a file to which a
 * line of each launch is added: kernel, width and height of its groups. With $FAILING_FINISH clFinish fails and waits
 * for nothing. */
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int launches;

static int fails(cl_command_queue queue)
{
    const char *name = getenv("FAILING_DEVICE"), *after = getenv("FAILING_AFTER"),
               *count = getenv("FAILING_COUNT");
    int first = after ? atoi(after) : 0;
    char device_name[256] = "";
    cl_device_id device;
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof device_name, device_name, NULL);
    if (!name || strncmp(device_name, name, strlen(name)) != 0)
        return 0;
    int launch = atomic_fetch_add(&launches, 1);
    return launch >= first && (!count || launch < first + atoi(count));
}

static void note(cl_kernel kernel, const size_t *group)
{
    char name[128] = "";
    FILE *file = getenv("LAUNCHES") ? fopen(getenv("LAUNCHES"), "a") : NULL;
    if (!file)
        return;
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    fprintf(file, "%s %zu %zu\n", name, group ? group[0] : 0, group ? group[1] : 0);
    fclose(file);
}

cl_int clFinish(cl_command_queue queue)
{
    cl_int (*real)(cl_command_queue);
    *(void **)&real = dlsym(RTLD_NEXT, "clFinish");
    return getenv("FAILING_FINISH") ? CL_OUT_OF_HOST_MEMORY : real(queue);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                   cl_uint, const cl_event *, cl_event *);
    *(void **)&real = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    note(kernel, local);
    return fails(queue) ? CL_OUT_OF_RESOURCES
                        : real(queue, kernel, dimensions, offset, global, local, count, events, event);
}
