/* Decodes the strips of a page on several threads before their rows are asked for.
 *
 *     submit_all ─▶ slots of `struct ordered`, each decoded by a thread ─▶ oldest slot ─▶ rows of the caller
 *
 * Each slot has its own libtiff handle, as a handle belongs to one thread. Handles share the descriptor and
 * read with pread. Slots are used in the order of their strips; a slot whose last row was copied gets the
 * next strip. If there is one slot, the caller's thread decodes, with the page's handle. */
#include "image/tiff/tiff.h"

#include "base/threads.h"

#include <stdlib.h>

enum {
    STRIPS_PER_THREAD = 2, /* one being decoded, one waiting to be fetched */
    STRIPS_MIN = 4,        /* a page of fewer strips is decoded by the caller */
    PAGE_MIN = 1 << 20,    /* bytes: for smaller pages the threads' handles cost more time than they save */
    MEMORY_MAX = 1 << 28,  /* bytes of all slots */
};

/* A slot: a strip that is decoded, and its decoder. */
struct strip_slot {
    struct tiff_decoder *decoder; /* own_decoder, or the page's if there is one slot */
    struct tiff_file own_file;    /* the thread's handle */
    struct tiff_decoder own_decoder;
    uint32_t number;      /* of the strip in the page */
    unsigned char *bytes; /* decoded rows, adjacent; owned */
    enum status status;   /* of decoding */
    struct error error;
};

struct tiff_prefetch {
    struct tiff_decoder *decoder; /* the page's */
    struct ordered strips;        /* ring of struct strip_slot */
};

/* True if there is one slot, which the caller's thread decodes. */
static bool is_single(const struct tiff_prefetch *prefetch)
{
    return prefetch->strips.count == 1;
}

/* The task of a thread. */
static void decode_slot(void *slot)
{
    struct strip_slot *strip = slot;

    strip->status = tiff_decoder_decode_strip(strip->decoder, strip->number, strip->bytes, &strip->error);
}

/* Frees the content of a slot, also of one that was not opened, which is zeroed. */
static void close_slot(void *slot)
{
    struct strip_slot *strip = slot;

    tiff_decoder_close(&strip->own_decoder);
    tiff_file_close(&strip->own_file);
    free(strip->bytes);
}

/* Allocates a slot's rows, and opens its handle on the page if it has its own. */
static enum status open_slot(struct tiff_prefetch *prefetch, struct strip_slot *strip, struct error *error)
{
    struct tiff_decoder *decoder = prefetch->decoder;

    strip->bytes = allocate(decoder->strip_height * decoder->layout->row_size, "a strip of TIFF rows", error);
    if (strip->bytes == NULL)
        return STATUS_FAILED;
    strip->decoder = is_single(prefetch) ? decoder : &strip->own_decoder;
    if (is_single(prefetch))
        return STATUS_OK;
    enum status status = tiff_layout_reopen(&strip->own_file, decoder->file, decoder->layout, error);
    if (status == STATUS_OK)
        status = tiff_decoder_open(&strip->own_decoder, &strip->own_file, decoder->layout, error);
    if (status == STATUS_OK && strip->own_decoder.strip_height != decoder->strip_height)
        return fail(error, STATUS_FAILED, "damaged TIFF: it is being changed while it is read");
    return status;
}

/* Returns the bytes of a decoded strip. */
static uint64_t strip_memory(const struct tiff_decoder *decoder)
{
    return (uint64_t)decoder->strip_height * decoder->layout->row_size;
}

/* Returns the number of slots for `threads` threads and `memory` bytes (0: no limit). */
static uint32_t tiff_choose_count(const struct tiff_decoder *decoder, int threads, uint64_t memory)
{
    const struct tiff_layout *layout = decoder->layout;
    const uint32_t total = tiff_decoder_strip_count(decoder);
    const uint64_t limit = memory > 0 && memory < MEMORY_MAX ? memory : MEMORY_MAX;
    const uint64_t affordable = limit / (strip_memory(decoder) + decoder->memory);
    uint32_t count = (uint32_t)threads * STRIPS_PER_THREAD;

    /* The codec of old-style JPEG cannot read from a descriptor that other handles use. */
    if (threads < 2 || layout->compression == COMPRESSION_NONE || layout->compression == COMPRESSION_OJPEG ||
        total < STRIPS_MIN || total * strip_memory(decoder) < PAGE_MIN)
        return 1;
    count = count < total ? count : total;
    count = count < affordable ? count : (uint32_t)affordable;
    return count > 0 ? count : 1;
}

/* Submits the next strips to all free slots. */
static void submit_all(struct tiff_prefetch *prefetch)
{
    const size_t total = tiff_decoder_strip_count(prefetch->decoder);
    while (!ordered_is_full(&prefetch->strips) && prefetch->strips.submitted < total) {
        const size_t number = prefetch->strips.submitted;
        struct strip_slot *strip = ordered_slot(&prefetch->strips, number);
        strip->number = (uint32_t)number;
        ordered_submit(&prefetch->strips, is_single(prefetch));
    }
}

uint64_t tiff_prefetch_memory(const struct tiff_prefetch *prefetch)
{
    if (prefetch == NULL)
        return 0;
    return is_single(prefetch)
               ? strip_memory(prefetch->decoder)
               : prefetch->strips.count * (strip_memory(prefetch->decoder) + prefetch->decoder->memory);
}

enum status tiff_prefetch_open(struct tiff_decoder *decoder, const struct reader_options *options,
                               struct tiff_prefetch **prefetch, struct error *error)
{
    const int threads = options->jobs > 0 ? options->jobs : processors_available();

    *prefetch = NULL;
    if (decoder->method != TIFF_DECODE_STRIPS)
        return STATUS_OK;
    const uint32_t count = tiff_choose_count(decoder, threads, options->memory);
    struct tiff_prefetch *opened = *prefetch = allocate_zeroed(1, sizeof **prefetch, "TIFF strips", error);
    if (opened == NULL)
        return STATUS_FAILED;
    opened->decoder = decoder;
    enum status status =
        ordered_open(&opened->strips, threads, count, sizeof(struct strip_slot), decode_slot, error);
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++)
        status = open_slot(opened, ordered_slot(&opened->strips, i), error);
    return status;
}

void tiff_prefetch_close(struct tiff_prefetch *prefetch)
{
    if (prefetch == NULL)
        return;
    ordered_close(&prefetch->strips, close_slot);
    free(prefetch);
}

enum status tiff_prefetch_fetch(struct tiff_prefetch *prefetch, uint32_t first, uint32_t count,
                                unsigned char *to, size_t pitch, struct error *error)
{
    const size_t row = prefetch->decoder->layout->row_size;
    struct ordered *strips = &prefetch->strips;

    /* Skip the strips before the first row: wait for those that were submitted, and submit no others. Then
     * continue with the strip of the first row. */
    const size_t number = first / prefetch->decoder->strip_height;
    for (; strips->released < strips->submitted && strips->released < number; ordered_release(strips))
        ordered_oldest(strips);
    if (strips->released < number)
        strips->released = strips->submitted = number;

    while (count > 0) {
        submit_all(prefetch);
        const struct strip_slot *strip = ordered_oldest(strips);
        const uint32_t inside = first % prefetch->decoder->strip_height;
        const uint32_t left = tiff_decoder_strip_rows(prefetch->decoder, strip->number) - inside;
        const bool ends = left <= count;
        const uint32_t some = ends ? left : count;
        if (strip->decoder->file->broken_lines)
            prefetch->decoder->file->broken_lines = true;
        if (strip->status != STATUS_OK) {
            *error = strip->error;
            return strip->status;
        }
        tiff_copy_strided(to, pitch, row, strip->bytes + inside * row, row, row, 1, some);
        if (ends)
            ordered_release(strips);
        first += some;
        count -= some;
        to += some * pitch;
    }
    if (!is_single(prefetch)) /* threads decode until the next call */
        submit_all(prefetch);
    return STATUS_OK;
}
