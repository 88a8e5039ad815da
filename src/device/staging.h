/* Rows of samples in memory that host and device take turns to use.
 *
 *     memory of one kind for both:  one buffer, mapped while it is the host's turn; nothing is copied
 *     memory of its own:            a pinned buffer that stays mapped, and one on the device; copies go over
 *                                   queues of their own, so that they run while kernels do
 *
 * One thread enqueues: it gives the memory to the device and takes it back without ever waiting. The thread
 * that fills or empties the rows waits (staging_wait) for its turn. */
#ifndef CLIMG_DEVICE_STAGING_H
#define CLIMG_DEVICE_STAGING_H

#include "device/device.h"

struct staging {
    struct device *device;
    cl_mem object; /* what kernels use */
    cl_mem pinned; /* the host's side where the device has its own memory, else NULL */
    void *host;
    size_t size;           /* bytes */
    cl_event host_ready;   /* from when on the host may use `host`; NULL: now */
    cl_event kernels_done; /* with own memory: when the kernels are done with `object`; NULL: they are */
    bool recent;           /* used since the last trim */
    struct staging *next;
};

/* Staging memory outlives the page it was made for: pinning and first touching it cost more than a small
 * image. */
struct staging_pool {
    struct device *device;
    struct staging *idle;
};

/* At least `size` bytes, the host's turn. NULL on failure. */
struct staging *staging_acquire(struct staging_pool *pool, size_t size, struct error *error);

/* Waits for the device to be done with it. NULL is fine. */
void staging_release(struct staging_pool *pool, struct staging *staging);

/* Frees what was not used since the last call; nothing may be in use. */
void staging_pool_trim(struct staging_pool *pool);

void staging_pool_free(struct staging_pool *pool);

/* The device's turn, for kernels that are enqueued from now on; the first `upload` bytes that the host wrote
 * are there for them. */
enum status staging_unmap(struct staging *staging, size_t upload, struct error *error);

/* The host's turn again, once the kernels enqueued so far are done and the first `download` bytes are there.
 */
enum status staging_map(struct staging *staging, size_t download, struct error *error);

/* Waits for the host's turn. Any thread. A failure is that of the kernels before. */
enum status staging_wait(struct staging *staging, struct error *error);

#endif
