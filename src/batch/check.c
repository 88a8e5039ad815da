/* --check: decodes every file and compares all of its checksums.
 *
 *     list ─▶ thread pool: decode all pages, examine the rest ─▶ in order: print a line, add the result
 *
 * Decoding fails at a wrong checksum of pixels (PNG, Deflate in TIFF). In addition --check compares the
 * checksum of a coefficient file and, by reader_examine, the checksums of PNG chunks without pixels, and
 * looks for data after the end of the file. Files without checksums are only decoded, and their line says so.
 * A single file is decoded by all threads; several files by one thread each, at the same time. */
#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "base/threads.h"
#include "batch/report.h"
#include "chain/coefficients.h"
#include "image/reader.h"

#include <stdlib.h>
#include <unistd.h>

enum { ROWS_SIZE = 256 << 10 /* bytes of rows that are read at once: they stay in a core's cache */ };

/* A task of the thread pool: a file, and the outcome of its check. */
struct check {
    struct result result; /* must be first, as report_check gets a result */
    const struct settings *settings;
    struct job *job;
    int threads; /* number of threads that decode it */

    const char *format;       /* NULL: unknown */
    const char *checksums;    /* names of the checksums that all pages have; may be NULL */
    bool has_coefficient_sum; /* the checksum of a coefficient file was compared */
    uint32_t width, height;   /* of the first page */
    int pages;                /* number of pages, or frames of video, that were decoded */
    char warnings[512];       /* separated by "; " */
};

/* Decodes a page, and adds it to *sum, the checksum of a coefficient file. `sum` is NULL for other files. */
static enum status check_page(struct check *check, struct reader *reader, uint32_t *sum, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    const size_t row = row_size(info);
    /* A frame of video is read as two pages, luma and chroma; count it once. */
    const bool is_counted = info->video.part + 1 >= info->video.parts;
    const struct shape shape = {.width = (int)info->width, .height = (int)info->height};
    const uint32_t most = row < ROWS_SIZE ? (uint32_t)(ROWS_SIZE / row) : 1;
    void *rows = allocate(row * (most < info->height ? most : info->height), "rows", error);
    enum status status = rows ? STATUS_OK : STATUS_FAILED;
    for (uint32_t y = 0, count; status == STATUS_OK && y < info->height; y += count) {
        count = most < info->height - y ? most : info->height - y;
        status = reader_read(reader, rows, row, count, error);
        if (status == STATUS_OK && sum) {
            struct image_info some = *info;
            some.height = count;
            *sum = coefficients_sum_rows(*sum, &some, rows, row);
        }
        if (status == STATUS_OK)
            progress_rows(check->job, (int)(y + count), &shape);
    }
    free(rows);
    check->result.pixels += (uint64_t)info->width * info->height;
    check->pages += status == STATUS_OK && is_counted;
    check->job->page = check->pages;
    return status;
}

/* Decodes all pages of an open file, compares the checksum of a coefficient file, and examines the rest. */
static enum status check_pages(struct check *check, struct reader *reader, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    const bool is_whole = check->settings->pages.first == 0,
               is_pyramid = is_whole && coefficients_recognise(info);
    struct coefficients coefficients;
    enum status status = is_pyramid ? coefficients_read(info, &coefficients, error) : STATUS_OK;
    uint32_t sum = is_pyramid ? coefficients_sum_description(&info->metadata) : 0;
    check->format = reader_format(reader)->name;
    check->width = info->width;
    check->height = info->height;
    check->checksums = info->checksums;
    for (bool more = true; status == STATUS_OK && more;) {
        text_add_item(check->warnings, sizeof check->warnings, "; ", info->metadata.warning);
        status = check_page(check, reader, is_pyramid ? &sum : NULL, error);
        /* The last page of a coefficient file has its checksum. Files of other programs may have none. */
        if (status == STATUS_OK && is_pyramid && check->pages >= reader_page_count(reader)) {
            const int pages = coefficients_page_count(&coefficients.shape);
            status = check->pages == pages
                         ? coefficients_check(sum, &info->metadata, &check->has_coefficient_sum, error)
                         : fail(error, STATUS_FAILED, "damaged coefficient file: it has %d of %d pages",
                                check->pages, pages);
        }
        if (status == STATUS_OK)
            status = reader_next_page(reader, &more, error);
        /* The file has checksums only if all its pages have. */
        if (status == STATUS_OK && more && check->checksums)
            check->checksums = info->checksums;
    }
    if (status == STATUS_OK && is_whole)
        status = reader_examine(reader, error);
    if (status == STATUS_OK)
        text_add_item(check->warnings, sizeof check->warnings, "; ",
                      reader_trailing_warnings(reader)->warning);
    else
        error_prefix_once(error, reader_name(reader));
    return status;
}

static void check_file(void *slot)
{
    struct check *check = slot;
    struct job *job = check->job;
    struct error *error = &check->result.error;
    struct reader_options options = settings_reader_options(check->settings);
    options.rewinds = true;
    options.jobs = check->threads;
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = reader_open(job->input, &options, &job->reader, error);
    if (status == STATUS_OK) {
        job->pages = reader_pages_to_read(job->reader);
        status = check_pages(check, job->reader, error);
    }
    job_close_input(job);
    check->result.bytes_in = job->bytes;
    check->result.status = status == STATUS_OK ? STATUS_OK : STATUS_PARTIAL;
}

/* Writes a line of the report. Unlike in the report of a conversion, "warnings" is one text or null, and the
 * input of stdin is "standard input". */
static void report_check(FILE *file, const struct job *job, const struct result *result)
{
    const struct check *check = (const struct check *)result;
    const bool is_done = result->status == STATUS_OK;
    struct json_writer line = {.out = file};
    json_begin(&line, NULL, '{');
    json_put_string(&line, "input", job_input_name(job));
    json_put_string(&line, "status",
                    !is_done                                         ? "failed"
                    : check->checksums || check->has_coefficient_sum ? "whole"
                                                                     : "decoded");
    json_put_string(&line, "error", is_done ? NULL : result->error.text);
    json_put_string(&line, "warnings", check->warnings[0] ? check->warnings : NULL);
    json_put_string(&line, "format", check->format);
    json_put_string(&line, "checksums",
                    check->checksums             ? check->checksums
                    : check->has_coefficient_sum ? "CRC-32"
                                                 : NULL);
    json_put_integer(&line, "width", check->width);
    json_put_integer(&line, "height", check->height);
    json_put_integer(&line, "pages", check->pages);
    json_put_integer(&line, "bytes_in", (long long)job->bytes);
    json_end(&line, '}');
    putc('\n', file);
}

enum status check_run(const struct command *command, FILE *out, void (*report_error)(const struct error *),
                      struct error *error)
{
    const struct settings *settings = &command->settings;
    struct job_list list;
    struct results results;
    struct ordered files = {.count = 0};
    enum status status = results_begin_reading(&results, &list, command, report_error, error);
    if (status != STATUS_OK) {
        job_list_free(&list);
        return status;
    }

    /* Check all files in parallel, and print and report the outcomes in the order of the list. */
    const int processors = settings_threads(settings);
    const size_t threads = (size_t)processors < list.count ? (size_t)processors : list.count;
    const bool is_text =
        !settings->quiet && !(settings->report && named_descriptor(settings->report) == STDOUT_FILENO);
    size_t next = 0;
    results.print_line = report_check;
    if (list.count > 0) /* a shard may be empty */
        status = ordered_open(&files, (int)threads, 2 * threads, sizeof(struct check), check_file, error);
    while (status == STATUS_OK) {
        while (next < list.count && !ordered_is_full(&files)) {
            struct check *slot = ordered_slot(&files, next);
            *slot = (struct check){
                .settings = settings, .job = &list.jobs[next++], .threads = list.count > 1 ? 1 : processors};
            slot->job->progress = &results.progress;
            ordered_submit(&files, list.count == 1);
        }
        const struct check *done = ordered_oldest(&files);
        if (!done)
            break;
        /* Print "a.png: whole (CRC-32 and Adler-32)" or "a.jpg: decoded; this JPEG has no checksum". */
        if (done->result.status == STATUS_OK && is_text) {
            progress_erase();
            print_visible(out, job_input_name(done->job));
            if (done->has_coefficient_sum || done->checksums)
                fprintf(out, ": whole (%s%s%s)", done->checksums ? done->checksums : "",
                        done->checksums && done->has_coefficient_sum ? ", " : "",
                        done->has_coefficient_sum ? "CRC-32 of coefficients" : "");
            else
                fprintf(out, ": decoded; this %s has no checksum", done->format);
            if (done->warnings[0])
                fputs("; warning: ", out);
            print_visible(out, done->warnings);
            putc('\n', out);
            /* If nobody reads this or a report, stop. */
            if (text_flush(out, error) != STATUS_OK && !settings->report)
                status = STATUS_FAILED;
        }
        results_add(&results, done->job, &done->result);
        ordered_release(&files);
    }
    ordered_close(&files, NULL);
    status = results_end(&results, &list, status, error);
    job_list_free(&list);
    return status;
}
