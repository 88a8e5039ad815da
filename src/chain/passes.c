/* The passes over a page: the analysis passes of its chain, then the pass that writes the output.
 *
 *     reader ─▶ first pass ─▶ spool ─▶ second pass … ─▶ last pass ─▶ writer        (flow.c does each pass)
 *
 * A stage has an analysis pass (struct analysis of engine/stage.h) if its result depends on the whole page. A
 * file whose rows need no decoding is read again in each pass. Decoded rows of other files are spooled: the
 * first pass writes them to a temporary file, and the others read that. */
#include "chain/page.h"

#include "base/files.h"
#include "chain/slice.h"
#include "image/memory_io.h"

#include <errno.h>
#include <string.h>

/* ---------------------------------------------------------------- the spool */

/* Decoded rows of a page in a temporary file, without padding, for the passes after the first. */
struct spool {
    struct reader *reader; /* the source of the first pass */
    const char *folder;    /* for temporary files */
    FILE *file;            /* NULL before the first pass and after the last row of the last pass */
    bool is_full;          /* has all rows: the first pass is done */
    bool is_last;          /* no further pass will read it */
    uint32_t row;          /* next row to be read */
    char buffer[1 << 16];  /* of `file`: with stdio's 4 KiB each row would be a system call */
};

/* Fails for all files, as they share the folder. `what` is "read" or "write". */
static enum status spool_fail(const struct spool *spool, const char *what, struct error *error)
{
    fail(error, STATUS_FAILED,
         "cannot %s a temporary file in %s, where the rows are kept between two passes: %s; set TMPDIR to a "
         "folder with room",
         what, spool->folder, strerror(errno));
    error->scope = SCOPE_ALL;
    return STATUS_FAILED;
}

/* First pass: reads rows from the page's reader and appends them to the spool. Later passes: reads rows from
 * the spool. Closes the spool after the last row of the last pass. This runs in the reader thread, while
 * other threads still process the last slices: deleting 35 MB after these took 10 ms of a page's 500. */
static enum status spool_read(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct spool *spool = context;
    const struct image_info *info = reader_info(spool->reader);
    const size_t row = row_size(info);
    if (!spool->is_full && reader_read(spool->reader, rows, pitch, count, error) != STATUS_OK)
        return STATUS_FAILED;
    for (uint32_t y = 0; y < count; y++) {
        unsigned char *at = (unsigned char *)rows + y * pitch;
        if (spool->is_full && fread(at, 1, row, spool->file) != row)
            return spool_fail(spool, "read", error);
        if (!spool->is_full && fwrite(at, 1, row, spool->file) != row)
            return spool_fail(spool, "write", error);
    }
    spool->row += count;
    if (spool->is_last && spool->row == info->height) {
        fclose(spool->file);
        spool->file = NULL;
    }
    return STATUS_OK;
}

/* Runs a pass whose rows come from spool_read. */
static enum status flow_slices_spooled(const struct page *page, struct spool *spool, struct error *error)
{
    const struct memory_source source = {.context = spool, .read = spool_read};
    struct page from = *page;
    if (spool->is_full && (fflush(spool->file) != 0 || fseeko(spool->file, 0, SEEK_SET) != 0))
        return spool_fail(spool, "write", error);
    spool->row = 0;
    enum status status =
        memory_reader(reader_name(page->reader), reader_info(page->reader), &source, &from.reader, error);
    if (status == STATUS_OK)
        status = flow_slices(&from, error);
    reader_close(from.reader);
    spool->is_full = true;
    return status;
}

/* ---------------------------------------------------------------- passes */

/* Frees the memory of a pass, as the next pass needs allocations of other sizes. */
static void free_pass_memory(struct run *run)
{
    for (const struct run *at = run; at; at = at->second)
        device_finish(at->device);
    run_clear(run);
}

/* Runs the analysis pass of a step. Its input is the spool, or the page's reader if `spool` is NULL. */
static enum status analyse_step(const struct page *page, size_t step, struct spool *spool,
                                struct error *error)
{
    struct chain before;
    struct plan plan;
    struct page analysis = *page;
    plan_analysis(page->plan, step, &before, &plan);
    analysis.plan = &plan;
    analysis.analysed_page = page;
    analysis.output_conversion.counts_clipping = false;
    analysis.report_rows = NULL;
    enum status status = STATUS_OK;
    for (struct run *run = page->run; status == STATUS_OK && run; run = run->second)
        status = analysis_begin(&plan, run, error);
    if (status == STATUS_OK)
        status = spool ? flow_slices_spooled(&analysis, spool, error) : flow_slices(&analysis, error);
    if (status != STATUS_OK)
        return status;
    free_pass_memory(page->run);
    for (struct run *run = page->run; status == STATUS_OK && run; run = run->second)
        status = analysis_end(&plan, run, error);
    free_pass_memory(page->run);
    return status;
}

enum status analyse_page(const struct page *page, size_t step, struct error *error)
{
    run_begin_page(page->run);
    enum status status = analyse_step(page, step, NULL, error);
    device_finish(page->run->device); /* after a failure, commands may still be in the queue */
    run_free_analysis_results(page->run);
    return status;
}

enum status flow_page(const struct page *page, struct error *error)
{
    const struct plan *plan = page->plan;
    struct spool spool = {.reader = page->reader, .folder = page->run->device->environment->spool_folder};
    enum status status = STATUS_OK;
    const bool can_rewind = reader_rewind_page(page->reader); /* else the rows are spooled */
    run_begin_page(page->run);
    for (size_t i = 0; status == STATUS_OK && i < plan->chain->count; i++) {
        if (!plan_needs_analysis(plan, i))
            continue;
        if (!can_rewind && !spool.file) {
            spool.file = spool_open(spool.folder, error);
            if (!spool.file) {
                status = STATUS_FAILED;
                break;
            }
            setvbuf(spool.file, spool.buffer, _IOFBF, sizeof spool.buffer);
        }
        status = analyse_step(page, i, can_rewind ? NULL : &spool, error);
        if (status == STATUS_OK && can_rewind && !reader_rewind_page(page->reader))
            status =
                fail(error, STATUS_FAILED, "%s: cannot read: %s", reader_name(page->reader), strerror(errno));
    }
    spool.is_last = true;
    if (status == STATUS_OK)
        status = spool.file ? flow_slices_spooled(page, &spool, error) : flow_slices(page, error);
    run_free_analysis_results(page->run);
    if (spool.file)
        fclose(spool.file);
    return status;
}
