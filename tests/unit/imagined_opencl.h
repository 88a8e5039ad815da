/* An OpenCL that keeps memory, counts its objects and runs nothing: programs link with it instead of the
 * system's. What kernels compute is for other tests. To be included once. */
#ifndef CLIMG_TESTS_IMAGINED_OPENCL_H
#define CLIMG_TESTS_IMAGINED_OPENCL_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The imagined devices. A test may change them before it uses them. */
struct imagined_device {
    const char *name;
    int platform; /* its index */
    cl_device_type type;
    bool no_images, unavailable, no_compiler, own_memory;
    bool silent; /* it says nothing of itself */
};

static const char *imagined_platforms[4] = {"Imagination"};
static struct imagined_device imagined_devices[8] = {{.name = "Thought", .type = CL_DEVICE_TYPE_CPU}};
static int imagined_platform_count = 1, imagined_device_count = 1;

/* The code that commands and references to a context return, other than launches and maps. */
static cl_int imagined_refusal = CL_SUCCESS;

/* Returns true if an accepted launch fails later. May be NULL. */
static bool (*imagined_break)(void);

enum { IMAGINED_ARGUMENTS = 32 };

/* Returns a kernel's duration and the value of all its output floats. NULL: 1 us, and zeros. */
static void (*imagined_form)(const char *kernel, int outputs, const size_t *group, double *seconds,
                             float *value);

static atomic_int imagined_objects; /* that were created and not released */

struct imagined_object {
    atomic_int references;
    void *memory; /* of a buffer or an image */
    bool own;
    size_t size;
    cl_int outcome;                      /* of an event */
    cl_ulong began, ended;               /* of an event, in ns */
    int outputs;                         /* of a program: -DOUTPUTS */
    char name[48];                       /* of a kernel */
    struct imagined_object *program;     /* of a kernel */
    void *arguments[IMAGINED_ARGUMENTS]; /* and what it was given that is as large as a handle */
    void (*released)(cl_mem, void *);    /* of a buffer: is called when it is gone, with the argument */
    void *argument;
    struct imagined_object *next;
};

/* Buffers and images that there are. */
static struct imagined_object *imagined_memories;
static pthread_mutex_t imagined_lock = PTHREAD_MUTEX_INITIALIZER;

/* A test that fails calls of calloc puts the real ones here. */
static void *(*imagined_memory)(size_t, size_t) = calloc;
static void (*imagined_free)(void *) = free;

static struct imagined_object *imagined_create(size_t size, void *host)
{
    struct imagined_object *object = imagined_memory(1, sizeof *object);
    atomic_store(&object->references, 1);
    object->own = !host && size > 0;
    object->memory = object->own ? imagined_memory(1, size) : host;
    object->size = size;
    atomic_fetch_add(&imagined_objects, 1);
    if (size == 0)
        return object;
    pthread_mutex_lock(&imagined_lock);
    object->next = imagined_memories;
    imagined_memories = object;
    pthread_mutex_unlock(&imagined_lock);
    return object;
}

static cl_int imagined_release(void *handle)
{
    struct imagined_object *object = handle;
    if (atomic_fetch_sub(&object->references, 1) > 1)
        return CL_SUCCESS;
    pthread_mutex_lock(&imagined_lock);
    struct imagined_object **link = &imagined_memories;
    while (*link && *link != object)
        link = &(*link)->next;
    if (*link)
        *link = object->next;
    pthread_mutex_unlock(&imagined_lock);
    if (object->own)
        imagined_free(object->memory);
    if (object->released)
        object->released((cl_mem)handle, object->argument);
    imagined_free(object);
    atomic_fetch_sub(&imagined_objects, 1);
    return CL_SUCCESS;
}

static cl_int imagined_retain(void *handle)
{
    atomic_fetch_add(&((struct imagined_object *)handle)->references, 1);
    return CL_SUCCESS;
}

static void *imagined_give(size_t size, void *host, cl_int *code)
{
    if (code)
        *code = CL_SUCCESS;
    return imagined_create(size, host);
}

/* An event that takes so long. */
static cl_event imagined_event(cl_int outcome, double seconds)
{
    static atomic_uint_fast64_t now = 1;
    struct imagined_object *object = imagined_create(0, NULL);
    const cl_ulong duration = (cl_ulong)(1e9 * seconds);
    object->outcome = outcome;
    object->began = atomic_fetch_add(&now, duration);
    object->ended = object->began + duration;
    return (cl_event)(void *)object;
}

/* Creates the event of a command, if requested. */
static cl_int imagined_command(cl_event *event)
{
    if (event)
        *event = imagined_event(CL_COMPLETE, 1e-6);
    return imagined_refusal;
}

static cl_int imagined_answer(const void *value, size_t size, size_t room, void *to, size_t *needed)
{
    if (needed)
        *needed = size;
    if (to && room < size)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, value, size);
    return CL_SUCCESS;
}

static cl_int imagined_text(const char *text, size_t room, void *to, size_t *needed)
{
    return imagined_answer(text, strlen(text) + 1, room, to, needed);
}

/* Handles of platforms and devices: their numbers from 1. */
static int imagined_index(const void *handle)
{
    return (int)((const char *)handle - (const char *)NULL) - 1;
}

static void *imagined_handle(int index)
{
    return (char *)NULL + index + 1;
}

cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *ids, cl_uint *count)
{
    for (int i = 0; i < imagined_platform_count && i < (int)room; i++)
        ids[i] = imagined_handle(i);
    *count = (cl_uint)imagined_platform_count;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id id, cl_platform_info what, size_t room, void *to, size_t *needed)
{
    (void)what;
    return imagined_text(imagined_platforms[imagined_index(id)], room, to, needed);
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id id, const char *name)
{
    (void)id;
    (void)name;
    return (void *)(uintptr_t)clGetPlatformIDs; /* all are of one library, this program */
}

cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint room, cl_device_id *ids,
                      cl_uint *count)
{
    cl_uint found = 0;
    (void)type;
    for (int i = 0; i < imagined_device_count; i++)
        if (imagined_devices[i].platform == imagined_index(platform) && found < room)
            ids[found++] = imagined_handle(i);
    *count = found;
    return found > 0 ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
}

static cl_ulong imagined_number(const struct imagined_device *device, cl_device_info what)
{
    switch (what) {
    case CL_DEVICE_TYPE:
        return device->type;
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        return !device->own_memory;
    case CL_DEVICE_IMAGE_SUPPORT:
        return !device->no_images;
    case CL_DEVICE_AVAILABLE:
        return !device->unavailable;
    case CL_DEVICE_COMPILER_AVAILABLE:
        return !device->no_compiler;
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
        return 16384;
    case CL_DEVICE_IMAGE_MAX_ARRAY_SIZE:
        return 2048;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return 256;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return (cl_ulong)4 << 30;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return (cl_ulong)1 << 30;
    case CL_DEVICE_SINGLE_FP_CONFIG:
        return 0xff;
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE:
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return 65536;
    default:
        return 4;
    }
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t room, void *to, size_t *needed)
{
    const struct imagined_device *device = &imagined_devices[imagined_index(id)];
    if (device->silent)
        return CL_OUT_OF_HOST_MEMORY;
    if (what == CL_DEVICE_NAME)
        return imagined_text(device->name, room, to, needed);
    if (what == CL_DEVICE_VERSION || what == CL_DRIVER_VERSION)
        return imagined_text("OpenCL 1.2 imagined", room, to, needed);
    cl_ulong number = imagined_number(device, what);
    return imagined_answer(&number, room < sizeof number ? room : sizeof number, room, to, needed);
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *context, cl_int *code)
{
    (void)properties, (void)n, (void)devices, (void)notify, (void)context;
    return imagined_give(0, NULL, code);
}

cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                      cl_command_queue_properties properties, cl_int *code)
{
    (void)context, (void)device, (void)properties;
    return imagined_give(0, NULL, code);
}

cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *code)
{
    (void)context;
    cl_mem made = imagined_give(size, flags & CL_MEM_USE_HOST_PTR ? host : NULL, code);
    if (made && flags & CL_MEM_COPY_HOST_PTR)
        memcpy(((struct imagined_object *)(void *)made)->memory, host, size);
    return made;
}

cl_mem clCreateImage(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                     const cl_image_desc *shape, void *host, cl_int *code)
{
    (void)context, (void)flags, (void)format;
    return imagined_give(shape->image_width * shape->image_height * shape->image_array_size * 16, host, code);
}

cl_program clCreateProgramWithSource(cl_context context, cl_uint n, const char **texts, const size_t *sizes,
                                     cl_int *code)
{
    (void)context, (void)n, (void)texts, (void)sizes;
    return imagined_give(0, NULL, code);
}

cl_program clCreateProgramWithBinary(cl_context context, cl_uint n, const cl_device_id *devices,
                                     const size_t *sizes, const unsigned char **binaries, cl_int *outcomes,
                                     cl_int *code)
{
    (void)context, (void)n, (void)devices, (void)sizes, (void)binaries, (void)outcomes;
    return imagined_give(0, NULL, code);
}

cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                      void(CL_CALLBACK *done)(cl_program, void *), void *context)
{
    const char *outputs = strstr(options, "-DOUTPUTS=");
    (void)n, (void)devices, (void)done, (void)context;
    ((struct imagined_object *)(void *)program)->outputs = outputs ? atoi(outputs + strlen("-DOUTPUTS=")) : 1;
    return CL_SUCCESS;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id device, cl_program_build_info what, size_t room,
                             void *to, size_t *needed)
{
    (void)program, (void)device, (void)what;
    return imagined_text("line 1: no such thing\n\nline 2: nor this\n", room, to, needed);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t room, void *to, size_t *needed)
{
    static const char binary[8] = "binary";
    const size_t size = sizeof binary;
    (void)program;
    if (what == CL_PROGRAM_BINARY_SIZES)
        return imagined_answer(&size, sizeof size, room, to, needed);
    memcpy(*(void **)to, binary, size);
    return CL_SUCCESS;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    cl_kernel made = imagined_give(0, NULL, code);
    struct imagined_object *object = (void *)made;
    if (object) {
        object->program = (void *)program;
        strncpy(object->name, name, sizeof object->name - 1);
    }
    return made;
}

cl_int clGetKernelInfo(cl_kernel kernel, cl_kernel_info what, size_t room, void *to, size_t *needed)
{
    (void)what;
    return imagined_answer(&((struct imagined_object *)(void *)kernel)->program, sizeof(void *), room, to,
                           needed);
}

/* The text says no size, and groups of any are taken. */
cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what,
                                size_t room, void *to, size_t *needed)
{
    const size_t said[3] = {0}, most = SIZE_MAX;
    (void)kernel, (void)device;
    return what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE ? imagined_answer(said, sizeof said, room, to, needed)
                                                     : imagined_answer(&most, sizeof most, room, to, needed);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    struct imagined_object *object = (void *)kernel;
    object->arguments[index] = NULL;
    if (size == sizeof(void *))
        memcpy(&object->arguments[index], value, size);
    return CL_SUCCESS;
}

/* A kernel writes its result into every buffer among its arguments. */
static void imagined_compute(const struct imagined_object *kernel, float value)
{
    pthread_mutex_lock(&imagined_lock);
    for (const struct imagined_object *one = imagined_memories; one; one = one->next)
        for (int i = 0; i < IMAGINED_ARGUMENTS; i++) {
            if (kernel->arguments[i] != one)
                continue;
            memset(one->memory, 0, one->size);
            for (size_t at = 0; value != 0 && at + sizeof value <= one->size; at += sizeof value)
                memcpy((char *)one->memory + at, &value, sizeof value);
        }
    pthread_mutex_unlock(&imagined_lock);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *grid, const size_t *group, cl_uint n,
                              const cl_event *wait, cl_event *event)
{
    const struct imagined_object *object = (void *)kernel;
    double seconds = 1e-6;
    float value = 0;
    (void)queue, (void)dimensions, (void)offset, (void)grid, (void)n, (void)wait;
    if (imagined_form)
        imagined_form(object->name, object->program->outputs, group, &seconds, &value);
    imagined_compute(object, value);
    *event = imagined_event(imagined_break && imagined_break() ? CL_OUT_OF_RESOURCES : CL_COMPLETE, seconds);
    return CL_SUCCESS;
}

cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)n, (void)wait;
    return imagined_command(event);
}

cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint n, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)n, (void)wait;
    return imagined_command(event);
}

void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem object, cl_bool blocking, cl_map_flags flags,
                         size_t offset, size_t size, cl_uint n, const cl_event *wait, cl_event *event,
                         cl_int *code)
{
    (void)queue, (void)blocking, (void)flags, (void)offset, (void)size, (void)n, (void)wait;
    *code = imagined_command(event);
    return ((struct imagined_object *)(void *)object)->memory;
}

cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem object, void *at, cl_uint n,
                               const cl_event *wait, cl_event *event)
{
    (void)queue, (void)object, (void)at, (void)n, (void)wait;
    return imagined_command(event);
}

cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem object, cl_bool blocking, size_t offset,
                           size_t size, void *to, cl_uint n, const cl_event *wait, cl_event *event)
{
    const struct imagined_object *from = (void *)object;
    (void)queue, (void)blocking, (void)n, (void)wait;
    memcpy(to, (const char *)from->memory + offset, size);
    return imagined_command(event);
}

cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem object, cl_bool blocking, size_t offset,
                            size_t size, const void *from, cl_uint n, const cl_event *wait, cl_event *event)
{
    const struct imagined_object *to = (void *)object;
    (void)queue, (void)blocking, (void)n, (void)wait;
    memcpy((char *)to->memory + offset, from, size);
    return imagined_command(event);
}

cl_int clEnqueueReadImage(cl_command_queue queue, cl_mem object, cl_bool blocking, const size_t *origin,
                          const size_t *region, size_t pitch, size_t slice, void *to, cl_uint n,
                          const cl_event *wait, cl_event *event)
{
    (void)queue, (void)blocking, (void)origin, (void)pitch, (void)slice, (void)n, (void)wait;
    memcpy(to, ((struct imagined_object *)(void *)object)->memory, region[0] * region[1] * region[2] * 16);
    return imagined_command(event);
}

cl_int clEnqueueWriteImage(cl_command_queue queue, cl_mem object, cl_bool blocking, const size_t *origin,
                           const size_t *region, size_t pitch, size_t slice, const void *from, cl_uint n,
                           const cl_event *wait, cl_event *event)
{
    (void)queue, (void)object, (void)blocking, (void)origin, (void)region, (void)pitch, (void)slice;
    (void)from, (void)n, (void)wait;
    return imagined_command(event);
}

cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem object, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, cl_uint n, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)object, (void)pattern, (void)pattern_size, (void)offset, (void)size, (void)n;
    (void)wait;
    return imagined_command(event);
}

cl_int clEnqueueFillImage(cl_command_queue queue, cl_mem object, const void *pattern, const size_t *origin,
                          const size_t *region, cl_uint n, const cl_event *wait, cl_event *event)
{
    (void)queue, (void)object, (void)pattern, (void)origin, (void)region, (void)n, (void)wait;
    return imagined_command(event);
}

cl_int clSetMemObjectDestructorCallback(cl_mem buffer, void (*released)(cl_mem, void *), void *argument)
{
    struct imagined_object *object = (void *)buffer;
    object->released = released;
    object->argument = argument;
    return CL_SUCCESS;
}

cl_int clFlush(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

cl_int clFinish(cl_command_queue queue)
{
    (void)queue;
    return CL_SUCCESS;
}

/* Fails, as OpenCL says, where one of the events did. */
cl_int clWaitForEvents(cl_uint count, const cl_event *events)
{
    for (cl_uint i = 0; i < count; i++)
        if (((struct imagined_object *)(void *)events[i])->outcome < 0)
            return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    return CL_SUCCESS;
}

cl_int clGetEventInfo(cl_event event, cl_event_info what, size_t room, void *to, size_t *needed)
{
    (void)what;
    return imagined_answer(&((struct imagined_object *)(void *)event)->outcome, sizeof(cl_int), room, to,
                           needed);
}

cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t room, void *to, size_t *needed)
{
    const struct imagined_object *object = (void *)event;
    const cl_ulong *time = what == CL_PROFILING_COMMAND_END ? &object->ended : &object->began;
    return imagined_answer(time, sizeof *time, room, to, needed);
}

cl_int clRetainContext(cl_context object)
{
    return imagined_refusal == CL_SUCCESS ? imagined_retain(object) : imagined_refusal;
}

cl_int clRetainEvent(cl_event object)
{
    return imagined_retain(object);
}

cl_int clReleaseContext(cl_context object)
{
    return imagined_release(object);
}

cl_int clReleaseCommandQueue(cl_command_queue object)
{
    return imagined_release(object);
}

cl_int clReleaseMemObject(cl_mem object)
{
    return imagined_release(object);
}

cl_int clReleaseProgram(cl_program object)
{
    return imagined_release(object);
}

cl_int clReleaseKernel(cl_kernel object)
{
    return imagined_release(object);
}

cl_int clReleaseEvent(cl_event object)
{
    return imagined_release(object);
}

#endif
