#include "image/png/idat.h"

#include "base/workers.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Less makes the stream longer (0.1% at 64 KiB), more leaves processors idle at small images. */
    SEGMENT_SIZE = 256 << 10,
    SEGMENTS_A_JOB = 2,   /* one under way, one filled or waiting to be written */
    MEMORY_MAX = 1 << 30, /* of all segments, unless one alone takes more: rows may be very long */
};

struct slot {
    struct png_segment segment;
    struct task task;
};

struct png_idat {
    struct png_idat_options options;
    struct png_segment_plan plan;
    struct workers workers;
    struct slot *slots; /* used in turn */
    size_t slot_count;
    size_t begun, submitted, emitted; /* segments */
    uint32_t rows_left;
    uint32_t adler; /* of what was emitted */
};

static struct slot *slot_at(const struct png_idat *idat, size_t segment)
{
    return &idat->slots[segment % idat->slot_count];
}

struct png_idat *png_idat_open(const struct png_idat_options *options, struct error *error)
{
    struct png_idat *idat = allocate_zeroed(1, sizeof *idat, "PNG", error);
    if (idat == NULL)
        return NULL;
    size_t size = options->segment_size > 0 ? options->segment_size : SEGMENT_SIZE;
    idat->options = *options;
    idat->rows_left = options->height;
    idat->adler = (uint32_t)adler32_z(0, NULL, 0);
    png_segment_plan(&idat->plan, &options->encoding, options->row_size, options->pixel_size, size);

    size_t affordable = MEMORY_MAX / png_segment_memory(&idat->plan);
    size_t wanted = (size_t)options->jobs * SEGMENTS_A_JOB;
    idat->slot_count = affordable < wanted ? affordable : wanted;
    if (idat->slot_count == 0)
        idat->slot_count = 1;
    workers_open(&idat->workers, options->jobs);
    idat->slots = allocate_zeroed(idat->slot_count, sizeof *idat->slots, "PNG", error);
    if (idat->slots != NULL)
        return idat;
    png_idat_close(idat);
    return NULL;
}

void png_idat_close(struct png_idat *idat)
{
    if (idat == NULL)
        return;
    workers_close(&idat->workers);
    for (size_t i = 0; idat->slots != NULL && i < idat->slot_count; i++)
        png_segment_close(&idat->slots[i].segment);
    free(idat->slots);
    free(idat);
}

static void add_checksum(struct png_segment *segment, uint32_t adler)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        segment->data[segment->data_size++] = (unsigned char)(adler >> shift);
}

static enum status emit_oldest(struct png_idat *idat, struct error *error)
{
    struct slot *slot = slot_at(idat, idat->emitted);
    struct png_segment *segment = &slot->segment;
    workers_wait(&idat->workers, &slot->task);
    if (segment->failed)
        return fail(error, STATUS_FAILED, "cannot encode as PNG: zlib failed");
    size_t size = segment->count * (idat->plan.row_size + 1);
    idat->adler = (uint32_t)adler32_combine(idat->adler, segment->adler, (z_off_t)size);
    if (segment->last)
        add_checksum(segment, idat->adler);
    idat->emitted++;
    return idat->options.emit(idat->options.context, segment->data, segment->data_size, error);
}

/* The segment that takes the next row. */
static enum status begin_segment(struct png_idat *idat, struct error *error)
{
    struct slot *slot = slot_at(idat, idat->begun);
    enum status status = STATUS_OK;
    if (idat->begun - idat->emitted == idat->slot_count)
        status = emit_oldest(idat, error);
    if (status == STATUS_OK && slot->segment.plan == NULL) {
        slot->task = (struct task){.run = png_segment_compress, .argument = &slot->segment};
        status = png_segment_open(&slot->segment, &idat->plan, error);
    }
    if (status == STATUS_OK) {
        png_segment_begin(&slot->segment, idat->begun == 0 ? NULL : &slot_at(idat, idat->begun - 1)->segment);
        idat->begun++;
    }
    return status;
}

/* An image of one segment is not worth a thread. */
static void submit(struct png_idat *idat, struct slot *slot)
{
    idat->submitted++;
    if (slot->segment.first && slot->segment.last)
        png_segment_compress(&slot->segment);
    else
        workers_submit(&idat->workers, &slot->task);
}

static void add_row(struct png_idat *idat, const unsigned char *row)
{
    struct slot *slot = slot_at(idat, idat->submitted);
    struct png_segment *segment = &slot->segment;
    unsigned char *to = png_segment_next_row(segment);
    if (idat->options.swap)
        png_swap_samples(row, idat->plan.row_size, to);
    else
        memcpy(to, row, idat->plan.row_size);
    segment->count++;
    segment->last = --idat->rows_left == 0;
    if (segment->last || segment->count == idat->plan.rows)
        submit(idat, slot);
}

enum status png_idat_write(struct png_idat *idat, const void *rows, size_t pitch, uint32_t count,
                           struct error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        enum status status = idat->begun == idat->submitted ? begin_segment(idat, error) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
        add_row(idat, (const unsigned char *)rows + i * pitch);
    }
    return STATUS_OK;
}

enum status png_idat_finish(struct png_idat *idat, struct error *error)
{
    enum status status = STATUS_OK;
    while (status == STATUS_OK && idat->emitted < idat->submitted)
        status = emit_oldest(idat, error);
    return status;
}
