#include "device/constants.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A batch of images of all sizes asks for new tables with each: beyond so many bytes those go that were not
 * asked for the longest, but never what a stage at work may hold. */
enum { MOST_BYTES = 32 << 20, ALWAYS_KEPT = 8 };

struct constant {
    struct constant *next; /* asked for before this one */
    cl_mem memory;
    size_t bytes; /* of the memory */
    struct constant_key key;
    unsigned char key_bytes[];
};

static enum status no_memory(const struct device *device, const char *what, cl_int code, struct error *error)
{
    return fail_memory(error, "%s: no memory for %s (%s)", device->name, what, cl_error_name(code));
}

static bool is_same(const struct constant_key *a, const struct constant_key *b)
{
    return strcmp(a->what, b->what) == 0 && a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

bool constants_find(struct constants *constants, const struct constant_key *key, cl_mem *memory)
{
    for (struct constant **at = &constants->first; *at; at = &(*at)->next) {
        struct constant *known = *at;
        if (is_same(&known->key, key)) {
            *at = known->next;
            known->next = constants->first;
            constants->first = known;
            *memory = known->memory;
            return true;
        }
    }
    return false;
}

static void free_from(struct constant **at)
{
    while (*at) {
        struct constant *constant = *at;
        *at = constant->next;
        memory_release(constant->memory);
        free(constant);
    }
}

static void free_oldest(struct constants *constants)
{
    struct constant **at = &constants->first;
    size_t bytes = 0;
    for (int i = 0; *at && (i < ALWAYS_KEPT || bytes + (*at)->bytes <= MOST_BYTES); i++) {
        bytes += (*at)->bytes;
        at = &(*at)->next;
    }
    free_from(at);
}

enum status constants_add(struct constants *constants, const struct device *device,
                          const struct constant_key *key, const float *values, size_t count, cl_mem *memory,
                          struct error *error)
{
    cl_int code;
    size_t bytes = count * sizeof *values;
    struct constant *constant = allocate(sizeof *constant + key->size, key->what, error);
    *memory = NULL;
    if (!constant)
        return STATUS_FAILED;
    memcpy(constant->key_bytes, key->bytes, key->size);
    constant->key = (struct constant_key){key->what, constant->key_bytes, key->size};
    constant->bytes = bytes;
    constant->memory = clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes,
                                      (void *)(uintptr_t)values, &code);
    if (code != CL_SUCCESS) {
        free(constant);
        return no_memory(device, key->what, code, error);
    }
    constant->next = constants->first;
    constants->first = constant;
    free_oldest(constants);
    *memory = constant->memory;
    return STATUS_OK;
}

void constants_free(struct constants *constants)
{
    free_from(&constants->first);
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

enum status counters_read(const struct device *device, cl_mem memory, size_t first, size_t count,
                          cl_uint *counts, struct error *error)
{
    cl_int code = clEnqueueReadBuffer(device->queue, memory, CL_TRUE, first * sizeof *counts,
                                      count * sizeof *counts, counts, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        return STATUS_OK;
    fail(error, STATUS_FAILED, "%s: cannot read counters: %s", device->name, cl_error_name(code));
    return cl_failed(code, error);
}

enum status floats_fetch(const struct device *device, cl_mem memory, size_t first, size_t count, float *to,
                         struct error *error)
{
    if (device_is_imaginary(device))
        return STATUS_OK;
    cl_int code = clEnqueueReadBuffer(device->queue, memory, CL_FALSE, first * sizeof *to, count * sizeof *to,
                                      to, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        return STATUS_OK;
    fail(error, STATUS_FAILED, "%s: cannot read floats: %s", device->name, cl_error_name(code));
    return cl_failed(code, error);
}

void memory_release(cl_mem memory)
{
    if (memory)
        clReleaseMemObject(memory);
}
