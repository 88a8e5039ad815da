/* Divides rows into strips, which a thread pool encodes, and emits the encoded strips in order.
 *
 * Strips are the slots of a struct ordered (base/threads.h): the caller fills one while others are encoded.
 * Their number is limited by the number of threads and by options->memory. */
#include "image/strips.h"

#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

enum {
    STRIPS_PER_THREAD = 2 /* one is encoded while another is filled or emitted */
};

struct strips {
    struct strips_options options;
    struct ordered pool;   /* its slots are the strips */
    struct strip *filling; /* the next to be submitted; NULL before its first row */
    uint32_t rows_left;
};

/* Returns the number of strips in memory: the least of what the threads use, the memory holds and the picture
 * has. */
static size_t strips_choose_count(const struct strips_options *options)
{
    const uint64_t wanted = (uint64_t)options->threads * STRIPS_PER_THREAD,
                   affordable = options->memory > 0 ? options->memory / options->strip_memory : wanted,
                   total = (options->height - 1) / options->strip_rows + 1;
    uint64_t count = affordable < wanted ? affordable : wanted;
    count = count < total ? count : total;
    return count > 0 ? (size_t)count : 1;
}

uint64_t strips_memory(const struct strips_options *options)
{
    return strips_choose_count(options) * options->strip_memory;
}

static void run_strip(void *slot)
{
    struct strip *strip = slot;
    strip->status = strip->options->encode == NULL ? STATUS_OK : strip->options->encode(strip, &strip->error);
}

static void close_strip(void *slot)
{
    struct strip *strip = slot;
    if (strip->options == NULL)
        return;
    if (strip->options->close != NULL)
        strip->options->close(strip);
    free(strip->rows - (strip->options->has_row_above ? strip->options->row_size : 0));
}

struct strips *strips_open(const struct strips_options *options, struct error *error)
{
    struct strips *strips = allocate_zeroed(1, sizeof *strips, "encoding", error);
    if (strips == NULL)
        return NULL;
    strips->options = *options;
    strips->rows_left = options->height;
    if (ordered_open(&strips->pool, options->threads, strips_choose_count(options), options->strip_size,
                     run_strip, error) == STATUS_OK)
        return strips;
    strips_close(strips);
    return NULL;
}

void strips_close(struct strips *strips)
{
    if (strips == NULL)
        return;
    ordered_close(&strips->pool, close_strip);
    free(strips);
}

/* Emits an encoded strip and frees its slot. Returns the encoder's error if encoding failed. */
static enum status emit(struct strips *strips, struct strip *strip, struct error *error)
{
    enum status status = strip->status;
    if (status == STATUS_OK)
        status = strips->options.emit(strips->options.context, strip, error);
    else
        *error = strip->error;
    ordered_release(&strips->pool);
    return status;
}

/* Begins the next strip. If its slot is in use, emits the strip in it first. */
static enum status begin_strip(struct strips *strips, struct error *error)
{
    const struct strips_options *options = &strips->options;
    const size_t number = strips->pool.submitted, row_size = options->row_size;
    struct strip *strip = ordered_slot(&strips->pool, number);
    if (ordered_is_full(&strips->pool) && emit(strips, ordered_oldest(&strips->pool), error) != STATUS_OK)
        return STATUS_FAILED;
    if (strip->options == NULL) { /* its first use */
        unsigned char *rows =
            allocate((options->strip_rows + (size_t)options->has_row_above) * row_size, "encoding", error);
        if (rows == NULL)
            return STATUS_FAILED;
        strip->options = options;
        strip->rows = rows + (options->has_row_above ? row_size : 0);
    }
    /* The row above: the last one of the previous strip, which may be in the same slot. */
    if (options->has_row_above && number == 0) {
        memset(strip->rows - row_size, 0, row_size);
    } else if (options->has_row_above) {
        const struct strip *previous = ordered_slot(&strips->pool, number - 1);
        memmove(strip->rows - row_size, previous->rows + (options->strip_rows - 1) * row_size, row_size);
    }
    strip->count = 0;
    strip->number = (uint32_t)number;
    strips->filling = strip;
    return STATUS_OK;
}

enum status strips_write(struct strips *strips, const void *rows, size_t pitch, uint32_t count,
                         struct error *error)
{
    const struct strips_options *options = &strips->options;
    if (count > strips->rows_left)
        return fail(error, STATUS_FAILED, "more rows than the header says");
    for (uint32_t i = 0; i < count; i++) {
        if (strips->filling == NULL && begin_strip(strips, error) != STATUS_OK)
            return STATUS_FAILED;
        struct strip *strip = strips->filling;
        const unsigned char *row = (const unsigned char *)rows + i * pitch;
        unsigned char *to = strip->rows + strip->count++ * options->row_size;
        if (options->copy != NULL)
            options->copy(options->context, row, to);
        else
            memcpy(to, row, options->row_size);
        strip->last = --strips->rows_left == 0;
        if (strip->last || strip->count == options->strip_rows) {
            ordered_submit(&strips->pool, strip->number == 0 && strip->last);
            strips->filling = NULL;
        }
    }
    return STATUS_OK;
}

enum status strips_finish(struct strips *strips, struct error *error)
{
    struct strip *strip;
    enum status status = STATUS_OK;
    if (strips->rows_left > 0)
        return fail(error, STATUS_FAILED, "the last %u rows are missing", (unsigned)strips->rows_left);
    while (status == STATUS_OK && (strip = ordered_oldest(&strips->pool)) != NULL)
        status = emit(strips, strip, error);
    return status;
}
