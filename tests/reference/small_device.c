/* A layer over OpenCL (LD_PRELOAD) under which devices have $SMALL_MEMORY bytes, half of them in one
 * allocation; larger requests fail. They report these sizes, or $SMALL_SAID. $SMALL_GROUPS is the largest
 * work-group that they report, and enforce from 64 on; 0: they report neither that nor the number of compute
 * units. $SMALL_LOCAL bytes of local memory, and groups of $SMALL_KERNELS of kernels whose text says no size,
 * are the most that is launched; they say so. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long long used;

static long long budget(void)
{
    const char *text = getenv("SMALL_MEMORY");
    return text ? atoll(text) : LLONG_MAX;
}

/* Limits that the device reports. */
static cl_ulong said(void)
{
    const char *text = getenv("SMALL_SAID");
    return text ? (cl_ulong)atoll(text) : (cl_ulong)budget();
}

static int take(long long bytes)
{
    pthread_mutex_lock(&lock);
    int fits = used + bytes <= budget();
    used += fits ? bytes : 0;
    pthread_mutex_unlock(&lock);
    return fits;
}

/* Commands that wait to run keep an object beyond its release. */
static void CL_CALLBACK give_back(cl_mem memory, void *bytes)
{
    (void)memory;
    pthread_mutex_lock(&lock);
    used -= (long long)(size_t)bytes;
    pthread_mutex_unlock(&lock);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *needed)
{
    cl_int (*real)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "clGetDeviceInfo");
    const char *most = getenv("SMALL_GROUPS");
    if (most && atoll(most) == 0 &&
        (what == CL_DEVICE_MAX_WORK_GROUP_SIZE || what == CL_DEVICE_MAX_COMPUTE_UNITS))
        return CL_OUT_OF_HOST_MEMORY;
    cl_int code = real(device, what, size, value, needed);
    if (what == CL_DEVICE_GLOBAL_MEM_SIZE && code == CL_SUCCESS && value)
        *(cl_ulong *)value = *(cl_ulong *)value < said() ? *(cl_ulong *)value : said();
    if (getenv("SMALL_MEMORY") && what == CL_DEVICE_MAX_MEM_ALLOC_SIZE && code == CL_SUCCESS && value)
        *(cl_ulong *)value = said() / 2;
    const char *local = getenv("SMALL_LOCAL");
    if (local && what == CL_DEVICE_LOCAL_MEM_SIZE && code == CL_SUCCESS && value)
        *(cl_ulong *)value = (cl_ulong)atoll(local);
    if (most && what == CL_DEVICE_MAX_WORK_GROUP_SIZE && code == CL_SUCCESS && value)
        *(size_t *)value = (size_t)atoll(most);
    return code;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                                size_t size, void *value, size_t *needed)
{
    cl_int (*real)(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t, void *, size_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "clGetKernelWorkGroupInfo");
    const char *most = getenv("SMALL_KERNELS");
    cl_int code = real(kernel, device, what, size, value, needed);
    if (most && what == CL_KERNEL_WORK_GROUP_SIZE && code == CL_SUCCESS && value)
        *(size_t *)value = (size_t)atoll(most);
    return code;
}

/* Fails launches that would exceed registers or local memory. */
static int is_too_large(cl_command_queue queue, cl_kernel kernel, const size_t *group)
{
    const char *local = getenv("SMALL_LOCAL"), *most = getenv("SMALL_KERNELS"), *all = getenv("SMALL_GROUPS");
    cl_device_id device;
    cl_ulong bytes = 0;
    size_t stated[3] = {0};
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof stated, stated, NULL);
    return (local && bytes > (cl_ulong)atoll(local)) ||
           (all && atoll(all) >= 64 && group && group[0] * group[1] > (size_t)atoll(all)) ||
           (most && stated[0] == 0 && group && group[0] * group[1] > (size_t)atoll(most));
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *grid, const size_t *group, cl_uint count,
                              const cl_event *events, cl_event *event)
{
    cl_int (*real)(cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                   cl_uint, const cl_event *, cl_event *);
    *(void **)&real = dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
    if (is_too_large(queue, kernel, group))
        return CL_OUT_OF_RESOURCES;
    return real(queue, kernel, dimensions, offset, grid, group, count, events, event);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    cl_mem (*real)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    *(void **)&real = dlsym(RTLD_NEXT, "clCreateBuffer");
    if ((getenv("SMALL_MEMORY") && (long long)size > budget() / 2) || !take((long long)size)) {
        *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    cl_mem memory = real(context, flags, size, host, code);
    clSetMemObjectDestructorCallback(memory, give_back, (void *)size);
    return memory;
}
