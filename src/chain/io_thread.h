/* The reader thread and the writer thread of a page (io_thread.c).
 *
 * Each has a ring of slots, which are staging buffers for one slice. Slots circulate:
 *
 *     reader:  idle ─▶ filled by the thread ─▶ ready ─▶ read by the device ─▶ idle
 *     writer:  idle ─▶ written by the device ─▶ ready ─▶ encoded by the thread ─▶ idle
 *
 * The owner of a slot is whoever popped it. A page that is one slice has one slot and no thread: then the
 * calling thread decodes in reader_thread_pop and encodes in writer_thread_push.
 *
 * Thread safety: all functions belong to the thread that enqueues the slices. */
#ifndef CLIMG_CHAIN_IO_THREAD_H
#define CLIMG_CHAIN_IO_THREAD_H

#include "base/threads.h"
#include "chain/page.h"

/* A buffer of a ring: the samples of one slice. */
struct slot {
    struct staging *staging;
    struct interval rows; /* rows in the buffer */

    /* Output slots only. */
    int slice;   /* number of the slice */
    size_t mark; /* event_log_mark after the slice's commands */
};

/* A thread and its ring. Both queues lock themselves. */
struct io_thread {
    struct staging_pool *pool; /* NULL: not open */
    struct slot slots[PLAN_SLOTS];
    struct queue idle, ready;
    size_t pitch; /* bytes from row to row */
    pthread_t thread;
    bool is_running; /* else the calling thread does the work of `thread` */

    /* Written by the thread, read after reader_thread_end or writer_thread_end. */
    enum status status;
    struct error error;
};

struct reader_thread {
    struct io_thread io;

    /* Private to the thread. */
    const struct page *page;
    unsigned char *carry;    /* copies of rows that the next slice needs as well */
    struct interval carried; /* range of the rows in `carry` */
    int next_slice;          /* number of the slice to be read next */
    int next_row;            /* row of the page to be decoded next */
};

struct writer_thread {
    struct io_thread io;
    const struct page *page;
};

/* Allocate the ring of a zeroed struct and start its thread; writer_thread_open also begins the output page.
 * Call the functions _end and _close also after a failure. */
enum status reader_thread_open(struct reader_thread *reader, const struct page *page, struct error *error);
enum status writer_thread_open(struct writer_thread *writer, const struct page *page, struct error *error);

/* Waits for the next filled slot, in page order. Returns NULL if reading failed. */
struct slot *reader_thread_pop(struct reader_thread *reader);

/* Returns a slot to the reader, which waits until the enqueued commands have finished with it. */
enum status reader_thread_push(struct reader_thread *reader, struct slot *slot, struct error *error);

/* Waits for an idle slot. Returns NULL if writing failed. */
struct slot *writer_thread_pop(struct writer_thread *writer);

/* Submits a slot to the writer, which waits until the enqueued commands have filled it. */
enum status writer_thread_push(struct writer_thread *writer, struct slot *slot, struct error *error);

/* Waits for the thread, which reads the rest of the page first; if another part `failed`, it stops. */
void reader_thread_end(struct reader_thread *reader, bool failed);

/* Waits for the thread, which writes all submitted slots first. */
void writer_thread_end(struct writer_thread *writer);

/* Free the ring. No enqueued command may use it. */
void reader_thread_close(struct reader_thread *reader);
void writer_thread_close(struct writer_thread *writer);

#endif
