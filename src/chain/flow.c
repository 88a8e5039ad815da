/* One pass over a page: sends its slices through the chain.
 *
 *     reader thread ─▶ slots ─▶ unpack ─▶ stages ─▶ pack ─▶ slots ─▶ writer thread
 *        ▲               │         └── slice.c ──┘           │             │
 *        └──── idle ─────┘                                   └─── idle ────┘
 *
 * The calling thread only enqueues: upload, unpack, stages, pack and download of a slice are commands in the
 * device's in-order queue. So there is no gap between the kernels of two slices, and the next slice uses the
 * memory that one slice releases. The thread waits only for slots: the next input, and an idle output slot.
 *
 * If several parts fail, the error that comes first in page order is reported: the writer works on earlier
 * slices than the device, and the device on earlier slices than the reader. */
#include "chain/coefficients.h"
#include "chain/io_thread.h"
#include "chain/slice.h"
#include "device/event_log.h"

/* State of a pass. */
struct flow {
    const struct page *page;
    struct reader_thread reader;
    struct writer_thread writer;
    int slice;           /* number of the slice that is being enqueued */
    cl_mem clipped;      /* clipping counters; may be NULL */
    struct slot *source; /* slot that the device reads; NULL between slices, except for samples that are
                          * moved, which stay in the slot until the last slice */
    struct slot *target; /* slot that the device writes */
};

/* ---------------------------------------------------------------- samples of a slice (struct slice_io) */

/* Waits for the next slot of the reader. If the reader has failed, returns STATUS_FAILED without a message:
 * flow_end reports the reader's own error. */
static enum status flow_acquire_input(void *context, struct raster *in, struct error *error)
{
    struct flow *flow = context;
    const size_t pitch = flow->reader.io.pitch;
    const bool is_new = !flow->source;
    if (is_new)
        flow->source = reader_thread_pop(&flow->reader);
    const struct slot *slot = flow->source;
    if (!slot)
        return STATUS_FAILED;
    *in = conversion_raster(&flow->page->input_conversion, slot->staging->object, pitch, slot->rows.begin);
    return is_new ? staging_unmap(slot->staging, pitch * (size_t)(slot->rows.end - slot->rows.begin), error)
                  : STATUS_OK;
}

static enum status flow_release_input(void *context, struct error *error)
{
    struct flow *flow = context;
    struct slot *slot = flow->source;
    if (flow->page->plan->moved_steps > 0 && flow->slice + 1 < flow->page->plan->slices)
        return STATUS_OK;
    flow->source = NULL;
    return reader_thread_push(&flow->reader, slot, error);
}

/* Waits for an idle slot of the writer. Fails like flow_acquire_input. */
static enum status flow_acquire_output(void *context, struct raster *out, struct error *error)
{
    struct flow *flow = context;
    const struct page *page = flow->page;
    struct slot *slot = flow->target = writer_thread_pop(&flow->writer);
    if (!slot)
        return STATUS_FAILED;
    slot->slice = flow->slice;
    slot->rows = plan_slice(page->plan, slot->slice);
    *out = conversion_raster(&page->output_conversion, slot->staging->object, flow->writer.io.pitch,
                             slot->rows.begin);
    out->width = plan_output(page->plan)->width;
    out->clipped = flow->clipped;
    /* The slice that was in this slot is written, so its commands have finished. */
    enum status status = event_log_collect(page->run->device->event_log, slot->mark, error);
    return status == STATUS_OK ? staging_unmap(slot->staging, 0, error) : status;
}

static enum status flow_submit_output(void *context, struct error *error)
{
    struct flow *flow = context;
    return writer_thread_push(&flow->writer, flow->target, error);
}

static enum status flow_load_pyramid(void *context, struct value *pyramid, struct error *error)
{
    return pyramid_load(((struct flow *)context)->page, pyramid, error);
}

static enum status flow_store_pyramid(void *context, const struct value *pyramid, struct error *error)
{
    return pyramid_store(((struct flow *)context)->page, pyramid, error);
}

/* ---------------------------------------------------------------- the pass */

/* Starts the reader and writer threads, allocates counters, and compiles all programs of a run's first page
 * together. */
static enum status flow_begin(struct flow *flow, struct error *error)
{
    const struct page *page = flow->page;
    const struct plan *plan = page->plan;
    enum status status = STATUS_OK;
    page->run->pool.headroom = plan->headroom;
    if (plan->shapes[0].kind == KIND_IMAGE)
        status = reader_thread_open(&flow->reader, page, error);
    if (status == STATUS_OK && plan_output(plan)->kind == KIND_IMAGE && !plan->analysis)
        status = writer_thread_open(&flow->writer, page, error);
    if (status == STATUS_OK)
        status = clipping_begin(page->run, &page->output_conversion, 1, &flow->clipped, error);
    if (status == STATUS_OK && !page->run->prebuilt) {
        const struct page *whole = page->analysed_page ? page->analysed_page : page;
        status = prebuild_programs(whole->plan, page->run, &whole->input_conversion,
                                   &whole->output_conversion, error);
    }
    page->run->prebuilt = true;
    return status;
}

/* Ends the threads and returns the first failure in page order. `device_error` is the failure to enqueue a
 * slice; it has no text if a thread had failed before. */
static enum status flow_end(struct flow *flow, enum status device_status, const struct error *device_error,
                            struct error *error)
{
    const bool failed = device_status != STATUS_OK;
    const struct error *first = NULL;
    reader_thread_end(&flow->reader, failed);
    writer_thread_end(&flow->writer);
    if (failed)
        device_finish(flow->page->run->device); /* enqueued commands use memory that will be freed */
    if (flow->writer.io.status != STATUS_OK)
        first = &flow->writer.io.error;
    else if (failed && device_error->text[0] != '\0')
        first = device_error;
    else if (flow->reader.io.status != STATUS_OK)
        first = &flow->reader.io.error;
    if (first)
        *error = *first;
    return first ? STATUS_FAILED : device_status;
}

enum status flow_slices(const struct page *page, struct error *error)
{
    static const struct slice_io io = {flow_acquire_input, flow_release_input, flow_acquire_output,
                                       flow_submit_output, flow_load_pyramid,  flow_store_pyramid};
    const struct plan *plan = page->plan;
    struct event_log *event_log = page->run->device->event_log;
    struct flow flow = {.page = page};
    struct error device_error = {.text = ""};
    struct slice slice =
        slice_begin(plan, page->run, &page->input_conversion, &page->output_conversion, &io, &flow);
    enum status status = flow_begin(&flow, &device_error);
    for (int i = 0; status == STATUS_OK && i < plan->slices; i++) {
        flow.slice = event_log->slice = i;
        slice.out = plan_slice(plan, i);
        status = slice_run(&slice, &device_error);
        if (page->watch && status == STATUS_OK)
            page->watch(page->watcher, slice.out.end, plan_output(plan));
    }
    status = flow_end(&flow, status, &device_error, error);
    if (plan->analysis)
        device_finish(page->run->device); /* no writer thread has waited for the last part */
    if (status == STATUS_OK)
        status = event_log_collect(event_log, event_log_mark(event_log), error);
    if (status == STATUS_OK)
        status = clipping_read(page->run, flow.clipped, 1, page->clipping, error);
    memory_release(flow.clipped);
    reader_thread_close(&flow.reader);
    writer_thread_close(&flow.writer);
    return status;
}
