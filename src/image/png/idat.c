#include "image/png/idat.h"

#include "base/ordered.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Less makes the stream longer (0.1% at 64 KiB), more leaves processors idle at small images. */
    SEGMENT_SIZE = 256 << 10,
    SEGMENTS_A_JOB = 2,   /* one under way, one filled or waiting to be written */
    MEMORY_MAX = 1 << 30, /* of all segments, unless one alone takes more: rows may be very long */
};

struct png_idat {
    struct png_idat_options options;
    struct png_segment_plan plan;
    struct ordered segments;
    struct png_segment *filling; /* the next to be submitted; NULL: not begun */
    uint32_t rows_left;
    uint32_t adler; /* of what was emitted */
};

static void plan_segments(const struct png_idat_options *options, struct png_segment_plan *plan)
{
    size_t size = options->segment_size > 0 ? options->segment_size : SEGMENT_SIZE;
    png_segment_plan(plan, &options->encoding, options->row_size, options->pixel_size, size);
}

static size_t choose_count(const struct png_idat_options *options, const struct png_segment_plan *plan)
{
    uint64_t memory = options->memory > 0 && options->memory < MEMORY_MAX ? options->memory : MEMORY_MAX;
    uint64_t affordable = memory / png_segment_memory(plan),
             wanted = (uint64_t)options->jobs * SEGMENTS_A_JOB;
    uint64_t count = affordable < wanted ? affordable : wanted;
    return count > 0 ? (size_t)count : 1;
}

/* No more segments are opened than the image has. */
uint64_t png_idat_memory(const struct png_idat_options *options)
{
    struct png_segment_plan plan;
    plan_segments(options, &plan);
    uint64_t total = (options->height - 1) / plan.rows + 1, count = choose_count(options, &plan);
    return (count < total ? count : total) * png_segment_memory(&plan);
}

struct png_idat *png_idat_open(const struct png_idat_options *options, struct error *error)
{
    struct png_idat *idat = allocate_zeroed(1, sizeof *idat, "PNG", error);
    if (idat == NULL)
        return NULL;
    idat->options = *options;
    idat->rows_left = options->height;
    idat->adler = (uint32_t)adler32_z(0, NULL, 0);
    plan_segments(options, &idat->plan);
    size_t count = choose_count(options, &idat->plan);
    if (ordered_open(&idat->segments, options->jobs, count, sizeof *idat->filling, png_segment_compress,
                     error) == STATUS_OK)
        return idat;
    png_idat_close(idat);
    return NULL;
}

static void close_segment(void *segment)
{
    png_segment_close(segment);
}

void png_idat_close(struct png_idat *idat)
{
    if (idat == NULL)
        return;
    ordered_close(&idat->segments, close_segment);
    free(idat);
}

static void add_checksum(struct png_segment *segment, uint32_t adler)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        segment->data[segment->data_size++] = (unsigned char)(adler >> shift);
}

static enum status emit(struct png_idat *idat, struct png_segment *segment, struct error *error)
{
    if (segment->failed)
        return fail(error, STATUS_FAILED, "cannot encode as PNG: zlib failed");
    size_t size = segment->count * (idat->plan.row_size + 1);
    idat->adler = (uint32_t)adler32_combine(idat->adler, segment->adler, (z_off_t)size);
    if (segment->last)
        add_checksum(segment, idat->adler);
    ordered_take(&idat->segments);
    return idat->options.emit(idat->options.context, segment->data, segment->data_size, error);
}

/* The segment that takes the next row. */
static enum status begin_segment(struct png_idat *idat, struct error *error)
{
    const size_t number = idat->segments.submitted;
    struct png_segment *segment = ordered_slot(&idat->segments, number);
    enum status status = STATUS_OK;
    if (ordered_is_full(&idat->segments))
        status = emit(idat, ordered_oldest(&idat->segments), error);
    if (status == STATUS_OK && segment->plan == NULL)
        status = png_segment_open(segment, &idat->plan, error);
    if (status == STATUS_OK) {
        png_segment_begin(segment, number == 0 ? NULL : ordered_slot(&idat->segments, number - 1));
        idat->filling = segment;
    }
    return status;
}

static void add_row(struct png_idat *idat, const unsigned char *row)
{
    struct png_segment *segment = idat->filling;
    unsigned char *to = png_segment_next_row(segment);
    if (idat->options.swap)
        png_swap_samples(row, idat->plan.row_size, to);
    else
        memcpy(to, row, idat->plan.row_size);
    segment->count++;
    segment->last = --idat->rows_left == 0;
    if (segment->last || segment->count == idat->plan.rows) {
        ordered_submit(&idat->segments, segment->first && segment->last);
        idat->filling = NULL;
    }
}

enum status png_idat_write(struct png_idat *idat, const void *rows, size_t pitch, uint32_t count,
                           struct error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        enum status status = idat->filling == NULL ? begin_segment(idat, error) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
        add_row(idat, (const unsigned char *)rows + i * pitch);
    }
    return STATUS_OK;
}

enum status png_idat_finish(struct png_idat *idat, struct error *error)
{
    struct png_segment *segment;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (segment = ordered_oldest(&idat->segments)) != NULL)
        status = emit(idat, segment, error);
    return status;
}
