#include "image/tiff/ahead.h"

#include "base/ordered.h"

#include <stdlib.h>

enum {
    STRIPS_A_JOB = 2, /* one under way, one waiting to be fetched */
    STRIPS_MIN = 4,
    PAGE_MIN = 1 << 20,   /* bytes: below this, handles cost more than they gain */
    MEMORY_MAX = 1 << 28, /* bytes of all strips */
};

struct strip {
    struct tiff_file file;
    struct tiff_rows rows;
    uint32_t number; /* of the page's strips */
    unsigned char *bytes;
    enum status status;
    struct error error;
};

struct tiff_ahead {
    const struct tiff_rows *rows; /* the page's */
    uint32_t total;
    struct ordered strips;
};

/* The task. */
static void decode(void *slot)
{
    struct strip *strip = slot;
    const uint32_t first = strip->number * strip->rows.strip_height;

    strip->status = tiff_rows_fetch(&strip->rows, first, tiff_rows_of_strip(&strip->rows, strip->number),
                                    strip->bytes, strip->rows.layout->row, &strip->error);
}

static void close_strip(void *slot)
{
    struct strip *strip = slot;

    tiff_rows_end(&strip->rows);
    tiff_file_close(&strip->file);
    free(strip->bytes);
}

/* A handle of its own on the page that `rows` are of. */
static enum status open_strip(struct strip *strip, const struct tiff_rows *rows, struct error *error)
{
    strip->bytes = allocate(rows->strip_height * rows->layout->row, "a strip of TIFF rows", error);
    if (strip->bytes == NULL)
        return STATUS_FAILED;
    enum status status = tiff_layout_reopen(&strip->file, rows->file, rows->layout, error);
    if (status == STATUS_OK)
        status = tiff_rows_begin(&strip->rows, &strip->file, rows->layout, error);
    if (status == STATUS_OK && strip->rows.strip_height != rows->strip_height)
        return fail(error, STATUS_FAILED, "damaged TIFF: it is being changed while it is read");
    return status;
}

/* The rows, and what decoding them takes. */
static uint64_t memory_of_strip(const struct tiff_rows *rows)
{
    return (uint64_t)rows->strip_height * rows->layout->row + rows->memory;
}

static uint32_t choose_count(const struct tiff_rows *rows, int jobs, uint64_t memory)
{
    const struct tiff_layout *layout = rows->layout;
    const uint64_t strip = (uint64_t)rows->strip_height * layout->row;
    const uint32_t total = tiff_rows_strip_count(rows);
    const uint64_t most = memory > 0 && memory < MEMORY_MAX ? memory : MEMORY_MAX;
    const uint64_t affordable = most / memory_of_strip(rows);
    uint32_t count = (uint32_t)jobs * STRIPS_A_JOB;

    if (jobs < 2 || rows->scanlines || layout->compression == COMPRESSION_NONE ||
        layout->compression == COMPRESSION_OJPEG /* reads the file in ways of its own */ ||
        total < STRIPS_MIN || total * strip < PAGE_MIN)
        return 0;
    count = count < total ? count : total;
    return count < affordable ? count : (uint32_t)affordable;
}

static void submit_all(struct tiff_ahead *ahead)
{
    while (!ordered_is_full(&ahead->strips) && ahead->strips.submitted < ahead->total) {
        const size_t number = ahead->strips.submitted;
        struct strip *strip = ordered_slot(&ahead->strips, number);
        strip->number = (uint32_t)number;
        ordered_submit(&ahead->strips, false);
    }
}

uint64_t tiff_ahead_memory(const struct tiff_ahead *ahead)
{
    return ahead == NULL ? 0 : ahead->strips.count * memory_of_strip(ahead->rows);
}

enum status tiff_ahead_open(const struct tiff_rows *rows, const struct reader_options *options,
                            struct tiff_ahead **ahead, struct error *error)
{
    const int threads = options->jobs > 0 ? options->jobs : workers_available();
    const uint32_t count = choose_count(rows, threads, options->memory);

    *ahead = NULL;
    if (count < 2)
        return STATUS_OK;
    struct tiff_ahead *opened = allocate_zeroed(1, sizeof *opened, "TIFF strips", error);
    if (opened == NULL)
        return STATUS_FAILED;
    opened->rows = rows;
    opened->total = tiff_rows_strip_count(rows);
    enum status status = ordered_open(&opened->strips, threads, count, sizeof(struct strip), decode, error);
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++)
        status = open_strip(ordered_slot(&opened->strips, i), rows, error);
    if (status == STATUS_OK)
        *ahead = opened;
    else
        tiff_ahead_close(opened);
    return status;
}

void tiff_ahead_close(struct tiff_ahead *ahead)
{
    if (ahead == NULL)
        return;
    ordered_close(&ahead->strips, close_strip);
    free(ahead);
}

/* Strips are asked for from top to bottom. When the last rows of one are taken, its place is for the next. */
enum status tiff_ahead_fetch(struct tiff_ahead *ahead, uint32_t first, uint32_t count, unsigned char *to,
                             size_t pitch, struct error *error)
{
    const size_t row = ahead->rows->layout->row;

    submit_all(ahead);
    while (count > 0) {
        const struct strip *strip = ordered_oldest(&ahead->strips);
        const uint32_t inside = first % ahead->rows->strip_height;
        const uint32_t left = tiff_rows_of_strip(ahead->rows, strip->number) - inside;
        const bool ends = left <= count;
        const uint32_t some = ends ? left : count;
        if (strip->status != STATUS_OK) {
            *error = strip->error;
            return strip->status;
        }
        tiff_place(to, pitch, row, strip->bytes + inside * row, row, row, 1, some);
        if (ends) {
            ordered_take(&ahead->strips);
            submit_all(ahead);
        }
        first += some;
        count -= some;
        to += some * pitch;
    }
    return STATUS_OK;
}
