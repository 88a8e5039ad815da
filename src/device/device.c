/* Properties and memory of a device, and the names of OpenCL's errors. open.c opens and closes devices.
 *
 * Buffers of CPU devices are created on top of host memory in huge pages. A driver would allocate pages of
 * 4 KiB, whose first touch costs more than the kernels of a small image. */
#include "device/device.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void device_init_dry_run(const struct device *original, struct device *device)
{
    *device = *original;
    device->context = NULL;
    device->queue = device->upload = device->download = NULL;
    device->program_store = NULL;
    device->kernels = NULL;
}

bool device_is_dry_run(const struct device *device)
{
    return !device->queue;
}

/* Oclgrind computes exactly, but does not report it in CL_DEVICE_SINGLE_FP_CONFIG. */
bool device_is_exact(const struct device *device)
{
    const cl_device_fp_config needed = CL_FP_FMA | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT | CL_FP_DENORM |
                                       CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN;
    return device->simulator || (device->fp_config & needed) == needed;
}

bool device_is_pocl(const struct device *device)
{
    return strcmp(device->platform_name, "Portable Computing Language") == 0;
}

void device_finish(const struct device *device)
{
    const cl_command_queue queues[] = {device->upload, device->queue, device->download};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++)
        if (queues[i])
            clFinish(queues[i]);
}

/* Memory of a buffer, freed by the buffer's destructor callback. */
struct host_memory {
    void *pages;
    size_t size;
};

static void CL_CALLBACK free_host_memory(cl_mem buffer, void *data)
{
    struct host_memory *memory = data;
    (void)buffer;
    if (memory)
        free_pages(memory->pages, memory->size);
    free(memory);
}

cl_mem device_host_buffer(const struct device *device, size_t size, void **host, cl_int *code)
{
    /* Allocate the pages and create the buffer on top of them. */
    struct host_memory *memory = malloc(sizeof *memory);
    *host = NULL;
    *code = CL_OUT_OF_HOST_MEMORY;
    if (memory)
        *memory = (struct host_memory){allocate_pages(size), size};
    cl_mem buffer = memory && memory->pages
                        ? clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size,
                                         memory->pages, code)
                        : NULL;

    /* From now on the buffer owns the pages. */
    if (buffer && *code == CL_SUCCESS) {
        *code = clSetMemObjectDestructorCallback(buffer, free_host_memory, memory);
        if (*code == CL_SUCCESS) {
            *host = memory->pages;
            return buffer; // NOLINT(clang-analyzer-unix.Malloc): the buffer owns the memory
        }
        clReleaseMemObject(buffer);
    }
    free_host_memory(NULL, memory);
    return NULL;
}

size_t whole_mebibytes(size_t bytes)
{
    return bytes / (1 << 20) + (bytes % (1 << 20) > 0);
}

enum status device_out_of_memory(const struct device *device, size_t bytes, cl_int code, struct error *error)
{
    if (code == CL_OUT_OF_HOST_MEMORY)
        return fail_memory(error, "out of memory for %zu MiB of pixels", whole_mebibytes(bytes));
    return fail_memory(
        error,
        "%s is out of memory: cannot allocate %zu MiB (%s); it has %zu MiB, at most %zu MiB per "
        "allocation; use a smaller image or another --device",
        device->name, whole_mebibytes(bytes), cl_error_name(code), (size_t)(device->memory >> 20),
        (size_t)(device->max_allocation >> 20));
}

enum status fail_opencl(struct error *error, cl_int code, const char *format, ...)
{
    char text[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(error, STATUS_FAILED, "%s: %s", text, cl_error_name(code));
    error->is_out_of_memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY;
    error->is_device_error = true;
    return STATUS_FAILED;
}

const char *cl_error_name(cl_int code)
{
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
        {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
        {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
        {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
        {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
        {CL_IMAGE_FORMAT_NOT_SUPPORTED, "CL_IMAGE_FORMAT_NOT_SUPPORTED"},
        {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
        {CL_MAP_FAILURE, "CL_MAP_FAILURE"},
        {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
        {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
        {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
        {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
        {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
        {CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR"},
        {CL_INVALID_IMAGE_SIZE, "CL_INVALID_IMAGE_SIZE"},
        {CL_INVALID_BINARY, "CL_INVALID_BINARY"},
        {CL_INVALID_BUILD_OPTIONS, "CL_INVALID_BUILD_OPTIONS"},
        {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
        {CL_INVALID_KERNEL_DEFINITION, "CL_INVALID_KERNEL_DEFINITION"},
        {CL_INVALID_ARG_INDEX, "CL_INVALID_ARG_INDEX"},
        {CL_INVALID_ARG_VALUE, "CL_INVALID_ARG_VALUE"},
        {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
        {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
        {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
        {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
        {CL_INVALID_EVENT, "CL_INVALID_EVENT"},
        {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
        {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
        {CL_INVALID_GLOBAL_WORK_SIZE, "CL_INVALID_GLOBAL_WORK_SIZE"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == code)
            return names[i].name;
    static _Thread_local char number[32];
    snprintf(number, sizeof number, "OpenCL error %d", code);
    return number;
}
