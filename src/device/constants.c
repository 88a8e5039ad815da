#include "device/constants.h"

#include <stdlib.h>
#include <string.h>

struct constant {
    struct constant *next;
    cl_mem memory;
    size_t count;
    float values[];
};

static enum status no_memory(const struct device *device, const char *what, cl_int code, struct error *error)
{
    return fail_memory(error, "%s: no memory for %s (%s)", device->name, what, cl_error_name(code));
}

enum status constants_find(struct constants *constants, const struct device *device, const float *values,
                           size_t count, cl_mem *memory, struct error *error)
{
    size_t size = count * sizeof *values;
    *memory = NULL;
    if (device_is_imaginary(device))
        return STATUS_OK;
    for (struct constant *known = constants->first; known; known = known->next)
        if (known->count == count && memcmp(known->values, values, size) == 0) {
            *memory = known->memory;
            return STATUS_OK;
        }
    struct constant *constant = allocate(sizeof *constant + size, "filter weights", error);
    if (!constant)
        return STATUS_FAILED;
    cl_int code;
    memcpy(constant->values, values, size);
    constant->count = count;
    constant->memory = clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size,
                                      constant->values, &code);
    if (code != CL_SUCCESS) {
        free(constant);
        return no_memory(device, "filter weights", code, error);
    }
    constant->next = constants->first;
    constants->first = constant;
    *memory = constant->memory;
    return STATUS_OK;
}

void constants_free(struct constants *constants)
{
    while (constants->first) {
        struct constant *next = constants->first->next;
        memory_release(constants->first->memory);
        free(constants->first);
        constants->first = next;
    }
}

enum status counters_acquire(const struct device *device, size_t count, cl_mem *memory, struct error *error)
{
    static const cl_uint zero = 0;
    size_t size = count * sizeof zero;
    cl_int code = CL_SUCCESS;
    *memory = NULL;
    if (device_is_imaginary(device))
        return STATUS_OK;
    *memory = clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (code == CL_SUCCESS)
        code = clEnqueueFillBuffer(device->queue, *memory, &zero, sizeof zero, 0, size, 0, NULL, NULL);
    return code == CL_SUCCESS ? STATUS_OK : no_memory(device, "counters", code, error);
}

void memory_release(cl_mem memory)
{
    if (memory)
        clReleaseMemObject(memory);
}
