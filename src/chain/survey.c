/* Surveys (struct survey of engine/stage.h) read a page before its slices do. So its rows are kept, decoded,
 * in a temporary file: of a pipe there is no other way, and a file's rows would be decoded again. */
#include "base/files.h"
#include "chain/flow.h"
#include "chain/stages.h"
#include "image/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct kept {
    struct reader *reader; /* where rows come from for the first time */
    const char *folder;
    FILE *file;
};

static enum status fail_keeping(const struct kept *kept, const char *what, struct error *error)
{
    fail(error, STATUS_FAILED,
         "cannot %s a temporary file in %s, where the rows are kept between two passes: %s; set TMPDIR to a "
         "folder with room",
         what, kept->folder, strerror(errno));
    error->reach = REACH_ALL;
    return STATUS_FAILED;
}

static enum status read_and_keep(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    const struct kept *kept = context;
    const size_t row = row_size(reader_info(kept->reader));
    enum status status = reader_read(kept->reader, rows, pitch, count, error);
    for (uint32_t y = 0; status == STATUS_OK && y < count; y++)
        if (fwrite((unsigned char *)rows + y * pitch, 1, row, kept->file) != row)
            status = fail_keeping(kept, "write", error);
    return status;
}

static enum status read_kept(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    const struct kept *kept = context;
    const size_t row = row_size(reader_info(kept->reader));
    for (uint32_t y = 0; y < count; y++)
        if (fread((unsigned char *)rows + y * pitch, 1, row, kept->file) != row)
            return fail_keeping(kept, "read", error);
    return STATUS_OK;
}

/* The page's slices, or those of a survey, from its reader or what was kept. */
static enum status flow_kept(const struct page *page, struct kept *kept, bool again, struct error *error)
{
    const struct relay_source source = {.context = kept, .read = again ? read_kept : read_and_keep};
    struct page from = *page;
    if (again && (fflush(kept->file) != 0 || fseeko(kept->file, 0, SEEK_SET) != 0))
        return fail_keeping(kept, "write", error);
    enum status status =
        relay_reader(reader_name(page->reader), reader_info(page->reader), &source, &from.reader, error);
    if (status == STATUS_OK)
        status = flow_slices(&from, error);
    reader_close(from.reader);
    return status;
}

/* What the slices of a pass took is given back before others are larger. */
static void clear(struct run *run)
{
    device_finish(run->device);
    run_clear(run);
}

/* Without `kept` the rows are not wanted again. */
static enum status survey_step(const struct page *page, size_t step, struct kept *kept, bool again,
                               struct error *error)
{
    struct chain before;
    struct plan plan;
    struct page survey = *page;
    struct clipping ignored = {0};
    plan_survey(page->plan, step, &before, &plan);
    survey.plan = &plan;
    survey.of = page;
    survey.to.counted = false;
    survey.clipping = &ignored;
    survey.watch = NULL;
    enum status status = begin_survey(&plan, page->run, error);
    if (status == STATUS_OK)
        status = kept ? flow_kept(&survey, kept, again, error) : flow_slices(&survey, error);
    if (status != STATUS_OK)
        return status;
    clear(page->run);
    page->run->pool.headroom = 1;
    status = end_survey(&plan, page->run, error);
    clear(page->run);
    return status;
}

enum status survey_page(const struct page *page, size_t step, struct error *error)
{
    page->run->noise.levels = 0;
    enum status status = survey_step(page, step, NULL, false, error);
    device_finish(page->run->device); /* what it says has arrived */
    run_end_findings(page->run);
    return status;
}

enum status flow_page(const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    struct kept kept = {.reader = page->reader, .folder = page->run->device->environment->spool};
    enum status status = STATUS_OK;
    bool again = false;
    page->run->noise.levels = 0;
    page->run->alignment.found = false;
    for (size_t i = 0; status == STATUS_OK && i < plan->chain->count; i++) {
        if (!plan_surveys(plan, i))
            continue;
        if (!again)
            kept.file = spool_open(kept.folder, error);
        status = kept.file ? survey_step(page, i, &kept, again, error) : STATUS_FAILED;
        again = true;
    }
    if (status == STATUS_OK)
        status = again ? flow_kept(page, &kept, true, error) : flow_slices(page, error);
    run_end_findings(page->run);
    if (kept.file)
        fclose(kept.file);
    return status;
}
