/* One input to one output by itself: every page through the chain. */
#include "batch/convert.h"

#include "base/clock.h"
#include "chain/execute.h"

/* Smaller images are decoded before a thread has started; more than the second is not kept for a device that
 * takes long: a photo of 10 megapixels. */
enum { LARGE_IMAGE = 1 << 20, AHEAD_MOST = 32 << 20 };

static enum status run_plan(struct converting *converting, const struct plan *plan,
                            const struct description *description, struct error *error)
{
    struct session *session = converting->session;
    const struct page page = {.name = converting->name,
                              .run = &session->run,
                              .plan = plan,
                              .from = description->from,
                              .to = description->to,
                              .reader = converting->reader,
                              .writer = converting->writer,
                              .out = &description->out,
                              .timing = &session->timing};
    converting_note(converting, plan, description);
    return execute_page(&page, error);
}

/* The first page's plan says how much will be written: pages of a file are mostly alike. */
static enum status open_writer(struct converting *converting, const struct plan *plan, enum sample_type type,
                               struct error *error)
{
    bool one = converting->session->settings->page > 0 || converting->pyramid;
    int pages = one ? 1 : reader_page_count(converting->reader);
    return converting_open_writer(converting, plan_output(plan), type, pages, error);
}

static enum status convert_page(struct converting *converting, struct error *error)
{
    struct plan plan;
    struct description description;
    enum status status = converting_plan(converting, 1, &plan, error);
    if (status != STATUS_OK)
        return status;
    status = converting_describe(converting, plan_output(&plan), &description, error);
    if (status == STATUS_OK) {
        if (!converting->writer)
            status = open_writer(converting, &plan, description.out.type, error);
        if (status == STATUS_OK)
            status = run_plan(converting, &plan, &description, error);
        metadata_free(&description.out.metadata);
    }
    plan_free(&plan);
    return status;
}

static enum status convert_pages(struct converting *converting, struct error *error)
{
    bool more = true;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && more) {
        status = convert_page(converting, error);
        if (status == STATUS_OK)
            status = reader_next_page(converting->reader, &more, error);
        if (status == STATUS_OK && more && converting_check_more(converting, error) != STATUS_OK) {
            error_prefix(error, converting->name);
            status = STATUS_FAILED;
        }
    }
    double since = clock_seconds();
    if (status == STATUS_OK) {
        status = writer_commit(converting->writer, error);
        timing_charge(&converting->session->timing, PART_ENCODE, "commit", -1, since);
    }
    return status;
}

static bool device_is_awaited(void *context)
{
    return session_is_opening(context);
}

/* Drivers take their time to start, and large images to be decoded: that goes side by side. What is wrong
 * with the pixels is still told after what is wrong with the device. */
static void read_ahead(struct converting *converting)
{
    struct session *session = converting->session;
    const struct image_info *info = reader_info(converting->reader);
    uint64_t limit = session->memory_limit;
    if (session->open || converting->pyramid || reader_is_plain(converting->reader) ||
        (uint64_t)row_size(info) * info->height < LARGE_IMAGE)
        return;
    double since = clock_seconds();
    session_begin_open(session);
    reader_read_ahead(converting->reader,
                      limit > 0 && limit / 4 < AHEAD_MOST ? (size_t)(limit / 4) : AHEAD_MOST,
                      device_is_awaited, session);
    timing_charge(&session->timing, PART_DECODE, "decode ahead", -1, since);
}

enum status convert(struct converting *converting, struct error *error)
{
    struct session *session = converting->session;
    read_ahead(converting);
    enum status status = session_open(session, error);
    if (status == STATUS_OK)
        status = convert_pages(converting, error);
    if (status != STATUS_OK)
        profile_discard(&session->profile);
    if (session->open)
        run_trim(&session->run);
    return status;
}
