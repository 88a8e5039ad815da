#include "image/tiff/ahead.h"

#include "base/workers.h"

#include <stdlib.h>

enum {
    BANDS_A_JOB = 2, /* one under way, one waiting to be fetched */
    BANDS_MIN = 4,
    PAGE_MIN = 1 << 20,   /* bytes: below this, handles cost more than they gain */
    MEMORY_MAX = 1 << 28, /* bytes of all bands */
};

struct band {
    struct task task;
    struct tiff_file file;
    struct tiff_layout layout;
    struct tiff_rows rows;
    uint32_t index; /* of the page's bands */
    unsigned char *bytes;
    enum status status;
    struct error error;
};

struct tiff_ahead {
    uint32_t height, band_height, band_total; /* of the page */
    size_t row;                               /* bytes */
    struct workers workers;
    struct band *bands; /* used in turn */
    uint32_t band_count;
    uint32_t submitted; /* the next to be submitted */
};

static uint32_t rows_of_band(const struct tiff_ahead *ahead, uint32_t index)
{
    uint32_t left = ahead->height - index * ahead->band_height;

    return left < ahead->band_height ? left : ahead->band_height;
}

/* The task. */
static void decode(void *context)
{
    struct band *band = context;
    const uint32_t first = band->index * band->rows.band_height, left = band->layout.height - first;
    const uint32_t count = left < band->rows.band_height ? left : band->rows.band_height;

    band->status = tiff_rows_fetch(&band->rows, first, count, band->bytes, band->layout.row, &band->error);
}

/* A handle on the page that `rows` are of. Reading the layout also tells libtiff how to decode. */
static enum status open_band(struct band *band, const struct tiff_rows *rows, FILE *stream,
                             const struct reader_options *options, struct error *error)
{
    band->task = (struct task){.run = decode, .argument = band};
    band->bytes = allocate(rows->band_height * rows->layout->row, "a band of TIFF rows", error);
    if (band->bytes == NULL)
        return STATUS_FAILED;
    enum status status = tiff_file_open(&band->file, stream, "rmcD", error);
    if (status == STATUS_OK && !TIFFSetSubDirectory(band->file.tiff, TIFFCurrentDirOffset(rows->file->tiff)))
        status = tiff_file_damaged(&band->file, error);
    if (status == STATUS_OK)
        status = tiff_layout_read(band->file.tiff, options, &band->layout, error);
    if (status == STATUS_OK)
        status = tiff_rows_begin(&band->rows, &band->file, &band->layout, error);
    return status;
}

static uint32_t choose_count(const struct tiff_rows *rows, int jobs)
{
    const struct tiff_layout *layout = rows->layout;
    const uint64_t band = (uint64_t)rows->band_height * layout->row;
    const uint32_t total = (layout->height - 1) / rows->band_height + 1;
    const uint64_t affordable = MEMORY_MAX / band;
    uint32_t count = (uint32_t)jobs * BANDS_A_JOB;

    if (jobs < 2 || !tiff_rows_are_bands(rows) || layout->compression == COMPRESSION_NONE ||
        layout->compression == COMPRESSION_OJPEG /* reads the file in ways of its own */ ||
        total < BANDS_MIN || total * band < PAGE_MIN)
        return 0;
    count = count < total ? count : total;
    return count < affordable ? count : (uint32_t)affordable;
}

static void submit_next(struct tiff_ahead *ahead)
{
    struct band *band = &ahead->bands[ahead->submitted % ahead->band_count];

    band->index = ahead->submitted++;
    workers_submit(&ahead->workers, &band->task);
}

enum status tiff_ahead_open(const struct tiff_rows *rows, FILE *stream, const struct reader_options *options,
                            struct tiff_ahead **ahead, struct error *error)
{
    const int jobs = options->jobs > 0 ? options->jobs : workers_available();
    const uint32_t count = choose_count(rows, jobs);

    *ahead = NULL;
    if (count < 2)
        return STATUS_OK;
    struct tiff_ahead *opened = allocate_zeroed(1, sizeof *opened, "TIFF bands", error);
    if (opened == NULL)
        return STATUS_FAILED;
    opened->height = rows->layout->height;
    opened->band_height = rows->band_height;
    opened->band_total = (opened->height - 1) / opened->band_height + 1;
    opened->row = rows->layout->row;
    opened->band_count = count;
    workers_open(&opened->workers, jobs);
    opened->bands = allocate_zeroed(count, sizeof *opened->bands, "TIFF bands", error);
    enum status status = opened->bands == NULL ? STATUS_FAILED : STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++)
        status = open_band(&opened->bands[i], rows, stream, options, error);
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
    workers_close(&ahead->workers);
    for (uint32_t i = 0; ahead->bands != NULL && i < ahead->band_count; i++) {
        tiff_rows_end(&ahead->bands[i].rows);
        tiff_file_close(&ahead->bands[i].file);
        free(ahead->bands[i].bytes);
    }
    free(ahead->bands);
    free(ahead);
}

/* Bands are asked for from top to bottom. When the last rows of one are taken, its place is for the next. */
enum status tiff_ahead_fetch(struct tiff_ahead *ahead, uint32_t first, uint32_t count, unsigned char *to,
                             size_t pitch, struct error *error)
{
    while (ahead->submitted < ahead->band_count)
        submit_next(ahead);
    while (count > 0) {
        const uint32_t index = first / ahead->band_height, inside = first % ahead->band_height;
        struct band *band = &ahead->bands[index % ahead->band_count];
        uint32_t some = rows_of_band(ahead, index) - inside;
        some = some < count ? some : count;
        workers_wait(&ahead->workers, &band->task);
        if (band->status != STATUS_OK) {
            *error = band->error;
            return band->status;
        }
        tiff_place(to, pitch, ahead->row, band->bytes + inside * ahead->row, ahead->row, ahead->row, 1, some);
        if (inside + some == rows_of_band(ahead, index) && ahead->submitted < ahead->band_total)
            submit_next(ahead);
        first += some;
        count -= some;
        to += some * pitch;
    }
    return STATUS_OK;
}
