/* Divides rows into parts, which a thread pool encodes, and emits the encoded parts in order.
 *
 * Parts are the slots of a struct ordered (base/threads.h): the caller fills one while others are encoded.
 * Their number is limited by the number of threads and by options->memory. */
#include "image/parts.h"

#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTS_PER_THREAD = 2 /* one is encoded while another is filled or emitted */
};

struct parts {
    struct parts_options options;
    struct ordered pool;  /* its slots are the parts */
    struct part *filling; /* the next to be submitted; NULL before its first row */
    uint32_t rows_left;
};

/* Returns the number of parts in memory: the least of what the threads use, the memory holds and the picture
 * has. */
static size_t parts_choose_count(const struct parts_options *options)
{
    const uint64_t wanted = (uint64_t)options->threads * PARTS_PER_THREAD,
                   affordable = options->memory > 0 ? options->memory / options->part_memory : wanted,
                   total = (options->height - 1) / options->part_rows + 1;
    uint64_t count = affordable < wanted ? affordable : wanted;
    count = count < total ? count : total;
    return count > 0 ? (size_t)count : 1;
}

uint64_t parts_memory(const struct parts_options *options)
{
    return parts_choose_count(options) * options->part_memory;
}

static void run_part(void *slot)
{
    struct part *part = slot;
    part->status = part->options->encode == NULL ? STATUS_OK : part->options->encode(part, &part->error);
}

static void close_part(void *slot)
{
    struct part *part = slot;
    if (part->options == NULL)
        return;
    if (part->options->close != NULL)
        part->options->close(part);
    free(part->rows - (part->options->has_row_above ? part->options->row_size : 0));
}

struct parts *parts_open(const struct parts_options *options, struct error *error)
{
    struct parts *parts = allocate_zeroed(1, sizeof *parts, "encoding", error);
    if (parts == NULL)
        return NULL;
    parts->options = *options;
    parts->rows_left = options->height;
    if (ordered_open(&parts->pool, options->threads, parts_choose_count(options), options->part_size,
                     run_part, error) == STATUS_OK)
        return parts;
    parts_close(parts);
    return NULL;
}

void parts_close(struct parts *parts)
{
    if (parts == NULL)
        return;
    ordered_close(&parts->pool, close_part);
    free(parts);
}

/* Emits an encoded part and frees its slot. Returns the encoder's error if encoding failed. */
static enum status emit(struct parts *parts, struct part *part, struct error *error)
{
    enum status status = part->status;
    if (status == STATUS_OK)
        status = parts->options.emit(parts->options.context, part, error);
    else
        *error = part->error;
    ordered_release(&parts->pool);
    return status;
}

/* Begins the next part. If its slot is in use, emits the part in it first. */
static enum status begin_part(struct parts *parts, struct error *error)
{
    const struct parts_options *options = &parts->options;
    const size_t number = parts->pool.submitted, row_size = options->row_size;
    struct part *part = ordered_slot(&parts->pool, number);
    if (ordered_is_full(&parts->pool) && emit(parts, ordered_oldest(&parts->pool), error) != STATUS_OK)
        return STATUS_FAILED;
    if (part->options == NULL) { /* its first use */
        unsigned char *rows =
            allocate((options->part_rows + (size_t)options->has_row_above) * row_size, "encoding", error);
        if (rows == NULL)
            return STATUS_FAILED;
        part->options = options;
        part->rows = rows + (options->has_row_above ? row_size : 0);
    }
    /* The row above: the last one of the previous part, which may be in the same slot. */
    if (options->has_row_above && number == 0) {
        memset(part->rows - row_size, 0, row_size);
    } else if (options->has_row_above) {
        const struct part *previous = ordered_slot(&parts->pool, number - 1);
        memmove(part->rows - row_size, previous->rows + (options->part_rows - 1) * row_size, row_size);
    }
    part->count = 0;
    part->number = (uint32_t)number;
    parts->filling = part;
    return STATUS_OK;
}

enum status parts_write(struct parts *parts, const void *rows, size_t pitch, uint32_t count,
                        struct error *error)
{
    const struct parts_options *options = &parts->options;
    if (count > parts->rows_left)
        return fail(error, STATUS_FAILED, "more rows than the header says");
    for (uint32_t i = 0; i < count; i++) {
        if (parts->filling == NULL && begin_part(parts, error) != STATUS_OK)
            return STATUS_FAILED;
        struct part *part = parts->filling;
        const unsigned char *row = (const unsigned char *)rows + i * pitch;
        unsigned char *to = part->rows + part->count++ * options->row_size;
        if (options->copy != NULL)
            options->copy(options->context, row, to);
        else
            memcpy(to, row, options->row_size);
        part->last = --parts->rows_left == 0;
        if (part->last || part->count == options->part_rows) {
            ordered_submit(&parts->pool, part->number == 0 && part->last);
            parts->filling = NULL;
        }
    }
    return STATUS_OK;
}

enum status parts_finish(struct parts *parts, struct error *error)
{
    struct part *part;
    enum status status = STATUS_OK;
    if (parts->rows_left > 0)
        return fail(error, STATUS_FAILED, "the last %u rows are missing", (unsigned)parts->rows_left);
    while (status == STATUS_OK && (part = ordered_oldest(&parts->pool)) != NULL)
        status = emit(parts, part, error);
    return status;
}
