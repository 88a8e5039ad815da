/* An OpenCL driver of one GPU that can do nothing. Each start adds a line to $IMAGINED_STARTS. Where
 * $IMAGINED_GONE is set, it has no device; $IMAGINED_VERSION is the driver's. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_icd_dispatch dispatch;
struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};
struct _cl_device_id {
    const cl_icd_dispatch *dispatch;
};
static struct _cl_platform_id platform = {&dispatch};
static struct _cl_device_id gpu = {&dispatch};

static cl_int answer(const void *what, size_t length, size_t size, void *value, size_t *needed)
{
    if (needed)
        *needed = length;
    if (value && size < length)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, what, length);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL platform_info(cl_platform_id id, cl_platform_info what, size_t size, void *value,
                                        size_t *needed)
{
    const char *text = what == CL_PLATFORM_EXTENSIONS       ? "cl_khr_icd"
                       : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "IMG"
                       : what == CL_PLATFORM_VERSION        ? "OpenCL 1.2 imagined"
                       : what == CL_PLATFORM_PROFILE        ? "FULL_PROFILE"
                                                            : "Imagined";
    (void)id;
    return answer(text, strlen(text) + 1, size, value, needed);
}

static cl_int CL_API_CALL device_ids(cl_platform_id id, cl_device_type type, cl_uint most,
                                     cl_device_id *devices, cl_uint *count)
{
    const int there = !getenv("IMAGINED_GONE") && (type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) != 0;
    (void)id;
    if (count)
        *count = (cl_uint)there;
    if (there && devices && most > 0)
        devices[0] = &gpu;
    return there ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_int CL_API_CALL device_info(cl_device_id id, cl_device_info what, size_t size, void *value,
                                      size_t *needed)
{
    const cl_ulong number = what == CL_DEVICE_TYPE ? CL_DEVICE_TYPE_GPU : 1 << 30;
    (void)id;
    if (what == CL_DEVICE_NAME)
        return answer("Imagined GPU", sizeof "Imagined GPU", size, value, needed);
    const char *version = getenv("IMAGINED_VERSION");
    if (what == CL_DRIVER_VERSION && version)
        return answer(version, strlen(version) + 1, size, value, needed);
    if (what == CL_DEVICE_VERSION || what == CL_DRIVER_VERSION)
        return answer("OpenCL 1.2 imagined", sizeof "OpenCL 1.2 imagined", size, value, needed);
    if (what == CL_DEVICE_AVAILABLE || what == CL_DEVICE_COMPILER_AVAILABLE)
        return answer(&(cl_bool){CL_TRUE}, sizeof(cl_bool), size, value, needed);
    if (what == CL_DEVICE_PLATFORM)
        return answer(&(cl_platform_id){&platform}, sizeof(cl_platform_id), size, value, needed);
    return answer(&number, size < sizeof number ? size : sizeof number, size, value, needed);
}

static cl_context CL_API_CALL no_context(const cl_context_properties *properties, cl_uint count,
                                         const cl_device_id *devices,
                                         void(CL_CALLBACK *tell)(const char *, const void *, size_t, void *),
                                         void *data, cl_int *code)
{
    (void)properties;
    (void)count;
    (void)devices;
    (void)tell;
    (void)data;
    *code = CL_DEVICE_NOT_AVAILABLE;
    return NULL;
}

static cl_int CL_API_CALL platform_ids(cl_uint most, cl_platform_id *platforms, cl_uint *count)
{
    if (platforms && most > 0)
        platforms[0] = &platform;
    if (count)
        *count = 1;
    return CL_SUCCESS;
}

static void start(void)
{
    FILE *starts = fopen(getenv("IMAGINED_STARTS"), "a");
    if (starts)
        fprintf(starts, "started with TMPDIR=%s\n", getenv("TMPDIR")), fclose(starts);
    dispatch.clGetPlatformInfo = platform_info;
    dispatch.clGetDeviceIDs = device_ids;
    dispatch.clGetDeviceInfo = device_info;
    dispatch.clCreateContext = no_context;
}

static void *find_function(const char *name)
{
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)platform_ids
           : strcmp(name, "clGetPlatformInfo") == 0    ? (void *)platform_info
                                                       : NULL;
}

/* Programs are not given what the loader asks for, as by some drivers. */
static void *CL_API_CALL for_platform(cl_platform_id id, const char *name)
{
    (void)id;
    (void)name;
    return NULL;
}

/* The loader calls this first. */
void *CL_API_CALL clGetExtensionFunctionAddress(const char *name)
{
    if (!dispatch.clGetPlatformInfo)
        start();
    dispatch.clGetExtensionFunctionAddressForPlatform = for_platform;
    return find_function(name);
}
