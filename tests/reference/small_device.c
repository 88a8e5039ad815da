/* A layer over OpenCL (LD_PRELOAD) under which devices have $SMALL_MEMORY bytes: they say so, and what would take
 * more of them is refused. $SMALL_GROUPS is the largest work-group that they say they take; 0: they do
 * not tell that, nor how many compute units they have. */
#define CL_TARGET_OPENCL_VERSION 120
#define _GNU_SOURCE
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
    if (most && atoll(most) == 0 && (what == CL_DEVICE_MAX_WORK_GROUP_SIZE || what == CL_DEVICE_MAX_COMPUTE_UNITS))
        return CL_OUT_OF_HOST_MEMORY;
    cl_int code = real(device, what, size, value, needed);
    if (what == CL_DEVICE_GLOBAL_MEM_SIZE && code == CL_SUCCESS && value)
        *(cl_ulong *)value = *(cl_ulong *)value < (cl_ulong)budget() ? *(cl_ulong *)value : (cl_ulong)budget();
    if (most && what == CL_DEVICE_MAX_WORK_GROUP_SIZE && code == CL_SUCCESS && value)
        *(size_t *)value = (size_t)atoll(most);
    return code;
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    cl_mem (*real)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    *(void **)&real = dlsym(RTLD_NEXT, "clCreateBuffer");
    if (!take((long long)size)) {
        *code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    cl_mem memory = real(context, flags, size, host, code);
    clSetMemObjectDestructorCallback(memory, give_back, (void *)size);
    return memory;
}
