#include "batch/convert.h"

#include "base/clock.h"
#include "batch/describe.h"
#include "batch/provenance.h"
#include "chain/flow.h"

/* Bytes of samples: what is smaller is decoded before a thread would have started; and as much as is decoded
 * while a device is being opened, a photo of 10 megapixels. */
enum { LARGE_IMAGE = 1 << 20, AHEAD_MOST = 32 << 20 };

enum status convert_begin(struct worker *worker, struct job *job, struct error *error)
{
    if (job->reader || job->skipped)
        return STATUS_OK;
    job->skipped = resume_finds_done(worker->settings, worker->provenance, job);
    return job->skipped ? STATUS_OK : job_open(job, worker, error);
}

static bool device_is_awaited(void *context)
{
    return worker_is_opening(context);
}

/* Drivers take their time to start, and large images to be decoded: that goes side by side. What is wrong
 * with the pixels is still told after what is wrong with the device. */
static void read_ahead(struct worker *worker, const struct job *job)
{
    const struct image_info *info = reader_info(job->reader);
    uint64_t limit = worker->memory_limit;
    if (worker->open || job->pyramid || reader_is_plain(job->reader) ||
        (uint64_t)row_size(info) * info->height < LARGE_IMAGE)
        return;
    double since = clock_seconds();
    worker_begin_open(worker);
    reader_read_ahead(job->reader, limit > 0 && limit / 4 < AHEAD_MOST ? (size_t)(limit / 4) : AHEAD_MOST,
                      device_is_awaited, worker);
    timing_charge(&worker->timing, PART_DECODE, "decode ahead", -1, since);
}

/* The first page's plan says how much will be written: pages of a file are mostly alike. */
static enum status open_writer(const struct worker *worker, struct job *job, const struct page *page,
                               struct error *error)
{
    int pages = reader_pages_wanted(job->reader);
    return job_open_writer(job, worker, plan_output(page->plan), page->out.type, job->pyramid ? 1 : pages,
                           error);
}

static enum status convert_page(struct worker *worker, struct job *job, struct result *result)
{
    struct plan plan;
    struct page page = {.run = &worker->run,
                        .plan = &plan,
                        .reader = job->reader,
                        .timing = &worker->timing,
                        .watch = worker->watch,
                        .watcher = worker->watcher,
                        .clipping = &result->clipping};
    enum status status = job_plan(job, worker, 1, &plan, &result->error);
    if (status != STATUS_OK)
        return status;
    status = job_describe(job, worker, &page, &result->error);
    if (status == STATUS_OK) {
        if (!job->writer)
            status = open_writer(worker, job, &page, &result->error);
        if (status == STATUS_OK) {
            page.writer = job->writer;
            result_note_page(job, worker, &page, result);
            status = worker->verifier.open
                         ? verify_page(&worker->verifier, &page, job_input_name(job), &result->error)
                         : flow_page(&page, &result->error);
            result_note_alignment(job, worker, result);
            if (status == STATUS_OK)
                result_note_noise(job, worker, 0, result);
            if (status == STATUS_OK && plan_output(&plan)->kind == KIND_IMAGE)
                status = job_end_page(job, worker, &page, result);
        }
        metadata_free(&page.out.metadata);
    }
    plan_free(&plan);
    return status;
}

static enum status next_page(const struct job *job, bool *more, struct error *error)
{
    enum status status = reader_next_page(job->reader, more, error);
    return status == STATUS_OK && *more ? job_check_more(job, error) : status;
}

static enum status commit(struct worker *worker, const struct job *job, struct error *error)
{
    double since = clock_seconds();
    enum status status = writer_commit(job->writer, error);
    timing_charge(&worker->timing, PART_ENCODE, "commit", -1, since);
    return status;
}

void convert(struct worker *worker, struct job *job, struct result *result)
{
    *result = (struct result){.group = 1, .times = result->times};
    struct times since = worker_times(worker);
    enum status status = convert_begin(worker, job, &result->error);
    if (status == STATUS_OK && !job->skipped) {
        read_ahead(worker, job);
        status = worker_open(worker, &result->error);
        for (bool more = true; status == STATUS_OK && more;) {
            status = convert_page(worker, job, result);
            run_trim(&worker->run);
            if (status == STATUS_OK)
                status = next_page(job, &more, &result->error);
        }
        if (status == STATUS_OK)
            status = commit(worker, job, &result->error);
        if (status != STATUS_OK)
            profile_discard(&worker->profile);
    }
    worker_charge(worker, &since, 1, &result->times);
    job_settle(job, worker, status, result);
}
