/* Staging buffers, which the host and kernels use in turn. Only staging_wait blocks; the thread that enqueues
 * commands does not.
 *
 * The pool keeps idle buffers, since pinning 268 MB takes 98 ms and the first touch of pages costs more than
 * the kernels of a small image. Copies between pinned memory and an H200 run at 55 GB/s; from pageable memory
 * at 9.8 GB/s up and 19.3 down.
 *
 * If the device has its own memory, events order the three queues:
 *
 *     upload      kernels_done of the previous use ─▶ copy ─▶ barrier ─▶ kernels
 *     download    kernels ─▶ kernels_done (marker) ─▶ copy ─▶ host_ready ─▶ staging_wait */
#include "device/staging.h"

#include "base/text.h"
#include "device/event_log.h"

#include <stdlib.h>

/* Fails with the code of an OpenCL call; `what` names the operation: "mapping". */
static enum status staging_failed(const struct staging *staging, const char *what, cl_int code,
                                  struct error *error)
{
    return fail_opencl(error, code, "%s: %s failed (%zu MiB)", staging->device->name, what,
                       whole_mebibytes(staging->size));
}

/* Maps the whole buffer; staging->host receives its address. */
static cl_int map_buffer(struct staging *staging, cl_mem object, bool wait, cl_event *event)
{
    cl_int code = CL_SUCCESS;
    staging->host = clEnqueueMapBuffer(staging->device->queue, object, wait, CL_MAP_READ | CL_MAP_WRITE, 0,
                                       staging->size, 0, NULL, event, &code);
    return code;
}

static void staging_free(struct staging *staging)
{
    struct device *device = staging->device;
    cl_mem mapped = staging->pinned ? staging->pinned : staging->object;
    if (staging->host)
        clEnqueueUnmapMemObject(device->queue, mapped, staging->host, 0, NULL, NULL);
    if (staging->host_ready)
        clReleaseEvent(staging->host_ready);
    if (staging->kernels_done)
        clReleaseEvent(staging->kernels_done);
    if (staging->object)
        clReleaseMemObject(staging->object);
    if (staging->pinned)
        clReleaseMemObject(staging->pinned);
    free(staging);
}

struct staging *staging_acquire(struct staging_pool *pool, size_t size, struct error *error)
{
    /* Reuse the smallest idle buffer that fits, but none of more than four times the size: a reader of 8-bit
     * rows would get the larger buffer of the writer's float rows, and the writer would allocate another. */
    struct staging **best = NULL;
    for (struct staging **link = &pool->idle; *link; link = &(*link)->next)
        if ((*link)->size >= size && (*link)->size / 4 <= size && (!best || (*link)->size < (*best)->size))
            best = link;
    if (best) {
        struct staging *found = *best;
        *best = found->next;
        found->next = NULL;
        return found;
    }

    struct device *device = pool->device;
    struct staging *staging = allocate_zeroed(1, sizeof *staging, "staging memory", error);
    if (!staging)
        return NULL;
    staging->device = device;
    staging->size = size;
    cl_int code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    void *host;
    if (size <= device->max_allocation && device->shares_memory) {
        /* Create a buffer in host memory and map it. */
        staging->object = device_host_buffer(device, size, &host, &code);
        if (code == CL_SUCCESS)
            code = map_buffer(staging, staging->object, true, NULL);
    } else if (size <= device->max_allocation) {
        /* Create a buffer on the device, and a pinned one that remains mapped. */
        staging->object = clCreateBuffer(device->context, CL_MEM_READ_WRITE, size, NULL, &code);
        if (code == CL_SUCCESS)
            staging->pinned =
                clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL, &code);
        if (code == CL_SUCCESS)
            code = map_buffer(staging, staging->pinned, true, NULL);
    }
    if (code == CL_SUCCESS)
        return staging;
    device_out_of_memory(device, size, code, error);
    staging_free(staging);
    return NULL;
}

void staging_release(struct staging_pool *pool, struct staging *staging)
{
    struct error ignored = {.text = ""};
    if (!staging)
        return;

    /* If mapping or a command failed, the buffer's state is unknown: free it instead of reusing it, when no
     * command can use it any more. */
    if (!staging->host || staging_wait(staging, &ignored) != STATUS_OK) {
        device_finish(staging->device);
        staging_free(staging);
        return;
    }
    staging->is_recent = true;
    staging->next = pool->idle;
    pool->idle = staging;
}

void staging_free_idle(struct staging_pool *pool, bool all)
{
    struct staging **link = &pool->idle;
    while (*link) {
        struct staging *staging = *link;
        bool keep = staging->is_recent && !all;
        staging->is_recent = false;
        if (keep) {
            link = &staging->next;
            continue;
        }
        *link = staging->next;
        staging_free(staging);
    }
}

/* Releases an event, which may be NULL, and sets it to NULL. */
static void release_event(cl_event *event)
{
    if (*event)
        clReleaseEvent(*event);
    *event = NULL;
}

/* Enqueues the copy to the host. It waits for the kernels that wrote the buffer. */
static enum status enqueue_download(struct staging *staging, size_t size, struct error *error)
{
    struct device *device = staging->device;
    /* Flush the kernels first: otherwise the download queue may wait for commands that never start. */
    cl_int code = clFlush(device->queue);
    release_event(&staging->host_ready);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(device->download, staging->object, CL_FALSE, 0, size, staging->host, 1,
                                   &staging->kernels_done, &staging->host_ready);
    if (code == CL_SUCCESS)
        code = clFlush(device->download);
    if (code == CL_SUCCESS)
        code = clRetainEvent(staging->host_ready);
    if (code != CL_SUCCESS)
        return staging_failed(staging, "downloading", code, error);
    release_event(&staging->kernels_done); /* the host waits for the copy, which has waited for the kernels */
    return event_log_add(device->event_log, PHASE_DOWNLOAD, "download", size, staging->host_ready, error);
}

enum status staging_unmap(struct staging *staging, size_t size, struct error *error)
{
    release_event(&staging->host_ready);
    cl_int code;
    if (!staging->pinned) {
        code = clEnqueueUnmapMemObject(staging->device->queue, staging->object, staging->host, 0, NULL, NULL);
        staging->host = NULL;
        return code == CL_SUCCESS ? STATUS_OK : staging_failed(staging, "unmapping", code, error);
    }
    if (size == 0)
        return STATUS_OK;
    /* Enqueue the copy to the device. It waits for the kernels of the buffer's previous use; later kernels
     * wait for the copy. */
    struct device *device = staging->device;
    cl_uint waits = staging->kernels_done ? 1 : 0;
    code = clEnqueueWriteBuffer(device->upload, staging->object, CL_FALSE, 0, size, staging->host, waits,
                                waits ? &staging->kernels_done : NULL, &staging->host_ready);
    release_event(&staging->kernels_done);
    if (code == CL_SUCCESS)
        code = clFlush(device->upload);
    if (code == CL_SUCCESS)
        code = clEnqueueBarrierWithWaitList(device->queue, 1, &staging->host_ready, NULL);
    if (code == CL_SUCCESS)
        code = clRetainEvent(staging->host_ready);
    if (code != CL_SUCCESS)
        return staging_failed(staging, "uploading", code, error);
    return event_log_add(device->event_log, PHASE_UPLOAD, "upload", size, staging->host_ready, error);
}

enum status staging_map(struct staging *staging, size_t size, struct error *error)
{
    cl_command_queue queue = staging->device->queue;
    cl_int code = CL_SUCCESS;
    if (!staging->pinned) {
        code = map_buffer(staging, staging->object, false, &staging->host_ready);
        if (code != CL_SUCCESS)
            return staging_failed(staging, "mapping", code, error);
    } else {
        release_event(&staging->kernels_done); /* no upload has waited for it */
        code = clEnqueueMarkerWithWaitList(queue, 0, NULL, &staging->kernels_done);
        if (code != CL_SUCCESS)
            return staging_failed(staging, "enqueuing a marker", code, error);
        if (size > 0 && enqueue_download(staging, size, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    code = clFlush(queue);
    return code == CL_SUCCESS ? STATUS_OK : staging_failed(staging, "flushing", code, error);
}

enum status staging_wait(struct staging *staging, struct error *error)
{
    if (!staging->host_ready)
        return STATUS_OK;
    /* The wait returns only that a command failed; the event has the code. */
    cl_int code = clWaitForEvents(1, &staging->host_ready), state = CL_COMPLETE;
    clGetEventInfo(staging->host_ready, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    code = state < 0 ? state : code;
    if (code == CL_SUCCESS)
        return STATUS_OK;
    fail_opencl(error, code, "%s failed while running the chain", staging->device->name);
    text_append(error->text, sizeof error->text, "; try a smaller image or another --device");
    return STATUS_FAILED;
}
