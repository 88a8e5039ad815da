/* Staging buffers: rows of samples that the host and the device use alternately.
 *
 *     device shares the host's memory    one buffer, mapped while the host uses it; nothing is copied
 *     device has its own memory          a pinned buffer that remains mapped, and one on the device;
 *                                        copies have their own queues, so that they run while kernels do
 *
 * A buffer is used either by the host or by the device:
 *
 *     staging_acquire ─▶ host fills ─▶ staging_unmap ─▶ kernels ─▶ staging_map ─▶ staging_wait ─▶ host reads
 *
 * staging_unmap and staging_map only enqueue. The thread that fills or reads the rows calls staging_wait
 * first. The pool owns idle buffers; the caller owns acquired ones until staging_release.
 *
 * Thread safety: one thread enqueues; staging_wait may be called by any thread. */
#ifndef CLIMG_DEVICE_STAGING_H
#define CLIMG_DEVICE_STAGING_H

#include "device/device.h"

/* A staging buffer. */
struct staging {
    struct device *device;
    cl_mem object;         /* memory that kernels use */
    cl_mem pinned;         /* pinned host memory if the device has its own memory; else NULL */
    void *host;            /* address for the host; NULL while the device uses memory that it shares */
    size_t size;           /* bytes */
    cl_event host_ready;   /* event after which the host may use `host`; NULL: it may now */
    cl_event kernels_done; /* with `pinned`: event after the last kernel that uses `object`; may be NULL */
    bool is_recent;        /* used since the last staging_free_idle */
    struct staging *next;  /* in the pool's list */
};

/* Idle staging buffers. They outlive a page. */
struct staging_pool {
    struct device *device;
    struct staging *idle;
};

/* Returns a buffer of at least `size` bytes for the host, or NULL on failure. Its content is undefined. */
struct staging *staging_acquire(struct staging_pool *pool, size_t size, struct error *error);

/* Waits until the device has finished with the buffer and returns it to the pool. NULL is fine. */
void staging_release(struct staging_pool *pool, struct staging *staging);

/* Frees idle buffers: all of them, or without `all` only those not used since the last call, as between
 * pages. */
void staging_free_idle(struct staging_pool *pool, bool all);

/* Passes the buffer to the device, for kernels that are enqueued from now on. The first `upload` bytes, which
 * the host wrote, are copied if the device has its own memory. */
enum status staging_unmap(struct staging *staging, size_t upload, struct error *error);

/* Returns the buffer to the host once all enqueued kernels have finished. If the device has its own memory,
 * copies the first `download` bytes. Call staging_wait before the host's access. */
enum status staging_map(struct staging *staging, size_t download, struct error *error);

/* Waits until the host may use the buffer. Any thread may call. Fails if an earlier kernel or copy failed. */
enum status staging_wait(struct staging *staging, struct error *error);

#endif
