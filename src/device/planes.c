/* Device memory: the pool of planes, the cache of constants, and counters.
 *
 * The pool is a list of allocations; a request gets the smallest free one that fits (best fit). Reuse needs
 * no synchronisation, as the queue is in order: a kernel that still reads released memory is earlier in the
 * queue than the kernel that overwrites it.
 *
 * The layout of buffers avoids cache conflicts: see plane_rows, and the pitch in planes_acquire. */
#include "device/planes.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An allocation of the pool. */
struct pool_entry {
    struct pool_entry *next;
    cl_mem object;
    enum memory memory;
    size_t size;             /* bytes */
    int width, rows, layers; /* size of an image, in texels; unused for buffers */
    bool is_acquired;        /* in use by planes */
    bool is_recent;          /* acquired since the last pool_free_unused */
};

/* Returns the number of rows from plane to plane: an odd number. If the distance of planes is a multiple of a
 * large power of two, the same pixel of all planes is in the same cache set, which slows kernels that read
 * many planes (inverse_columns in huge pages: 650 ms instead of 200). */
static int plane_rows(const struct planes *planes)
{
    return planes->rows | 1;
}

size_t planes_bytes(const struct planes *planes)
{
    if (planes->memory == MEMORY_IMAGE)
        return (size_t)planes->width * planes->rows * planes->layers * 4 * sizeof(cl_float);
    /* One more vector: a vector load may begin anywhere in the last row. */
    return ((size_t)planes->pitch * plane_rows(planes) * planes->layers * planes->channels + PITCH_UNIT) *
           sizeof(cl_float);
}

struct geometry planes_geometry(const struct planes *planes)
{
    return (struct geometry){planes->width, planes->height, planes->first_row, planes->rows,
                             planes->pitch, planes->layers, planes->channels,  plane_rows(planes)};
}

int planes_layer_depth(const struct planes *planes)
{
    return planes->memory == MEMORY_IMAGE ? 1 : planes->channels;
}

int planes_depth(const struct planes *planes)
{
    return planes->layers * planes_layer_depth(planes);
}

/* Floats: on GPUs rows begin at multiples of 128 bytes, so that 32 adjacent loads touch one cache line
 * instead of two (on an H200 a copy of planes takes 130 us, and 173 if rows are misaligned by half a
 * line). */
enum { GPU_PITCH_UNIT = 32 };

/* True if the allocation is free, large enough, and at most four times the request: larger ones remain free
 * for larger requests. */
static bool entry_fits(const struct pool_entry *entry, const struct planes *planes)
{
    if (entry->is_acquired || entry->memory != planes->memory)
        return false;
    if (planes->memory == MEMORY_IMAGE &&
        (entry->width < planes->width || entry->rows < planes->rows || entry->layers < planes->layers))
        return false;
    const size_t bytes = planes_bytes(planes);
    return entry->size >= bytes && entry->size / 4 <= bytes;
}

/* Fails if planes in an image would exceed the device's limits. */
static enum status check_image_limits(const struct device *device, const struct planes *planes,
                                      struct error *error)
{
    if (!device->has_images)
        return fail(error, STATUS_FAILED, "%s has no images; use --memory buffer", device->name);
    if ((size_t)planes->width > device->image_width)
        return fail(error, STATUS_FAILED,
                    "rows of %d pixels are too wide for --memory image: %s holds images up to %zu wide; use "
                    "--memory buffer",
                    planes->width, device->name, device->image_width);
    if ((size_t)planes->rows <= device->image_height && (size_t)planes->layers <= device->image_layers)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "%dx%d pixels at once are too large for --memory image: %s holds images up to %zux%zu; use "
                "--memory buffer",
                planes->width, planes->rows, device->name, device->image_width, device->image_height);
}

/* Allocates memory for the planes, larger by the pool's headroom, and fills in the entry. */
static enum status pool_allocate(struct pool *pool, const struct planes *planes, struct pool_entry *entry,
                                 struct error *error)
{
    struct device *device = pool->device;
    const bool is_image = planes->memory == MEMORY_IMAGE;
    if (is_image && check_image_limits(device, planes, error) != STATUS_OK)
        return STATUS_FAILED;

    /* Add the headroom: to an image as rows, to a buffer as bytes. */
    int rows = planes->rows;
    size_t bytes = planes_bytes(planes);
    if (is_image && pool->headroom > 1) {
        struct planes larger = *planes;
        rows = larger.rows = (int)fmin(ceil(planes->rows * pool->headroom), (double)device->image_height);
        bytes = planes_bytes(&larger);
    } else if (pool->headroom > 1) {
        bytes = (size_t)((double)bytes * pool->headroom);
    }

    /* Create a 2-D image array of float4 texels, or a buffer; for a CPU device in huge pages. */
    cl_mem object = NULL;
    cl_int code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (device_is_dry_run(device)) {
        object = (cl_mem)(void *)entry; /* a unique identifier, no memory */
        code = CL_SUCCESS;
    } else if (bytes <= device->max_allocation && is_image) {
        cl_image_format format = {CL_RGBA, CL_FLOAT};
        cl_image_desc description = {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
                                     .image_width = (size_t)planes->width,
                                     .image_height = (size_t)rows,
                                     .image_array_size = (size_t)planes->layers};
        object = clCreateImage(device->context, CL_MEM_READ_WRITE, &format, &description, NULL, &code);
    } else if (bytes <= device->max_allocation) {
        void *host;
        object = device->variant == VARIANT_CPU && device->shares_memory
                     ? device_host_buffer(device, bytes, &host, &code)
                     : clCreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    }
    if (code != CL_SUCCESS)
        return device_out_of_memory(device, bytes, code, error);
    *entry = (struct pool_entry){.object = object,
                                 .memory = planes->memory,
                                 .size = bytes,
                                 .width = planes->width,
                                 .rows = rows,
                                 .layers = planes->layers};
    return STATUS_OK;
}

/* Fills the planes with NaN (CLIMG_POISON). */
static enum status fill_with_nan(const struct pool *pool, const struct planes *planes, struct error *error)
{
    static const cl_uint nan[4] = {0x7fc00000, 0x7fc00000, 0x7fc00000, 0x7fc00000};
    size_t origin[3] = {0}, region[3] = {(size_t)planes->width, (size_t)planes->rows, (size_t)planes->layers};
    cl_int code =
        planes->memory == MEMORY_IMAGE
            ? clEnqueueFillImage(pool->device->queue, planes->object, nan, origin, region, 0, NULL, NULL)
            : clEnqueueFillBuffer(pool->device->queue, planes->object, nan, sizeof nan[0], 0,
                                  planes_bytes(planes), 0, NULL, NULL);
    return code == CL_SUCCESS ? STATUS_OK : fail_opencl(error, code, "poisoning device memory");
}

enum status planes_acquire(struct pool *pool, struct planes *planes, struct error *error)
{
    /* With a pitch of a multiple of 512 floats, a column would be in few sets of a CPU's caches, so one more
     * cache line is added. */
    const bool is_cpu = pool->device->variant == VARIANT_CPU;
    const int unit = is_cpu ? PITCH_UNIT : GPU_PITCH_UNIT;
    planes->pitch = (planes->width + unit - 1) / unit * unit;
    if (is_cpu && planes->pitch % 512 == 0)
        planes->pitch += PITCH_UNIT;

    /* Find the smallest free allocation that fits. */
    struct pool_entry *entry = NULL;
    for (struct pool_entry *other = pool->entries; other; other = other->next)
        if (entry_fits(other, planes) && (!entry || other->size < entry->size))
            entry = other;

    /* Otherwise allocate one. */
    if (!entry) {
        entry = allocate_zeroed(1, sizeof *entry, "a pool entry", error);
        if (!entry)
            return STATUS_FAILED;
        if (pool_allocate(pool, planes, entry, error) != STATUS_OK) {
            free(entry);
            return STATUS_FAILED;
        }
        entry->next = pool->entries;
        pool->entries = entry;
        pool->allocated += entry->size;
        pool->peak = pool->allocated > pool->peak ? pool->allocated : pool->peak;
        pool->largest = entry->size > pool->largest ? entry->size : pool->largest;
    }
    entry->is_acquired = entry->is_recent = true;
    planes->object = entry->object;
    if (!pool->poison || device_is_dry_run(pool->device) || fill_with_nan(pool, planes, error) == STATUS_OK)
        return STATUS_OK;
    planes_release(pool, planes);
    return STATUS_FAILED;
}

void planes_release(struct pool *pool, struct planes *planes)
{
    for (struct pool_entry *entry = pool->entries; entry && planes->object; entry = entry->next)
        if (entry->object == planes->object)
            entry->is_acquired = false;
    planes->object = NULL;
}

/* Releases an allocation and its entry. */
static void free_entry(const struct pool *pool, struct pool_entry *entry)
{
    if (!device_is_dry_run(pool->device))
        clReleaseMemObject(entry->object);
    free(entry);
}

void pool_free_unused(struct pool *pool, bool all)
{
    struct pool_entry **link = &pool->entries;
    while (*link) {
        struct pool_entry *entry = *link;
        bool keep = entry->is_acquired || (entry->is_recent && !all);
        entry->is_recent = false;
        if (keep) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        pool->allocated -= entry->size;
        free_entry(pool, entry);
    }
}

void pool_free(struct pool *pool)
{
    while (pool->entries) {
        struct pool_entry *next = pool->entries->next;
        free_entry(pool, pool->entries);
        pool->entries = next;
    }
}

enum status planes_read(struct device *device, const struct planes *planes, void *host, struct error *error)
{
    const size_t origin[3] = {0, 0, 0},
                 region[3] = {(size_t)planes->width, (size_t)planes->rows, (size_t)planes->layers};
    cl_int code = planes->memory == MEMORY_IMAGE
                      ? clEnqueueReadImage(device->queue, planes->object, CL_TRUE, origin, region, 0, 0, host,
                                           0, NULL, NULL)
                      : clEnqueueReadBuffer(device->queue, planes->object, CL_TRUE, 0, planes_bytes(planes),
                                            host, 0, NULL, NULL);
    return code == CL_SUCCESS ? STATUS_OK : fail_opencl(error, code, "%s: copying planes", device->name);
}

/* ---------------------------------------------------------------- constants */

/* Limits of cached constants. A batch of images of many sizes adds tables for each size, so the least
 * recently used constants beyond MAX_CONSTANT_BYTES are freed. MIN_CONSTANTS are never freed, as the current
 * stage may use them. */
enum { MAX_CONSTANT_BYTES = 32 << 20, MIN_CONSTANTS = 8 };

/* An element of the cache's list, which begins with the most recently used one. */
struct constant {
    struct constant *next;
    cl_mem memory;
    size_t size;              /* bytes of the memory */
    struct constant_key key;  /* points to key_copy */
    unsigned char key_copy[]; /* bytes of the key */
};

/* Fails, as constants or counters could not be allocated. */
static enum status fail_allocation(const struct device *device, const char *what, cl_int code,
                                   struct error *error)
{
    return fail_memory(error, "%s: no memory for %s (%s)", device->name, what, cl_error_name(code));
}

bool constants_find(struct constants *constants, const struct constant_key *key, cl_mem *memory)
{
    for (struct constant **at = &constants->first; *at; at = &(*at)->next) {
        struct constant *known = *at;
        if (strcmp(known->key.what, key->what) != 0 || known->key.size != key->size ||
            memcmp(known->key.bytes, key->bytes, key->size) != 0)
            continue;

        /* Move it to the front: it is the most recently used one. */
        *at = known->next;
        known->next = constants->first;
        constants->first = known;
        *memory = known->memory;
        return true;
    }
    return false;
}

/* Frees a constant and all later ones in the list. */
static void free_from(struct constant **at)
{
    while (*at) {
        struct constant *constant = *at;
        *at = constant->next;
        memory_release(constant->memory);
        free(constant);
    }
}

enum status constants_add(struct constants *constants, const struct device *device,
                          const struct constant_key *key, const float *values, size_t count, cl_mem *memory,
                          struct error *error)
{
    /* Copy the key and the values. */
    cl_int code;
    size_t size = count * sizeof *values;
    struct constant *constant = allocate(sizeof *constant + key->size, key->what, error);
    *memory = NULL;
    if (!constant)
        return STATUS_FAILED;
    memcpy(constant->key_copy, key->bytes, key->size);
    constant->key = (struct constant_key){key->what, constant->key_copy, key->size};
    constant->size = size;
    constant->memory = clCreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, size,
                                      (void *)(uintptr_t)values, &code);
    if (code != CL_SUCCESS) {
        free(constant);
        return fail_allocation(device, key->what, code, error);
    }
    constant->next = constants->first;
    constants->first = constant;
    *memory = constant->memory;

    /* Free the least recently used constants beyond the limits. */
    struct constant **at = &constants->first;
    size_t total = 0;
    for (int i = 0; *at && (i < MIN_CONSTANTS || total + (*at)->size <= MAX_CONSTANT_BYTES); i++) {
        total += (*at)->size;
        at = &(*at)->next;
    }
    free_from(at);
    return STATUS_OK;
}

void constants_free(struct constants *constants)
{
    free_from(&constants->first);
}

enum status counters_create(const struct device *device, size_t count, cl_mem *memory, struct error *error)
{
    static const cl_uint zero = 0;
    size_t size = count * sizeof zero;
    cl_int code;
    *memory = NULL;
    if (device_is_dry_run(device))
        return STATUS_OK;
    cl_mem counters = clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &code);
    if (code != CL_SUCCESS)
        return fail_allocation(device, "counters", code, error);
    code = clEnqueueFillBuffer(device->queue, counters, &zero, sizeof zero, 0, size, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        clReleaseMemObject(counters);
        return fail_opencl(error, code, "%s: clearing counters", device->name);
    }
    *memory = counters;
    return STATUS_OK;
}

enum status words_read(const struct device *device, cl_mem memory, size_t first, size_t count, void *to,
                       bool wait, struct error *error)
{
    const size_t size = sizeof(cl_uint);
    if (device_is_dry_run(device))
        return STATUS_OK;
    cl_int code =
        clEnqueueReadBuffer(device->queue, memory, wait, first * size, count * size, to, 0, NULL, NULL);
    return code == CL_SUCCESS ? STATUS_OK : fail_opencl(error, code, "%s: cannot read results", device->name);
}

void memory_release(cl_mem memory)
{
    if (memory)
        clReleaseMemObject(memory);
}
