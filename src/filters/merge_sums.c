/* Mean, sum, maximum and minimum: each picture is added to an accumulator per sample.
 *
 *     8 and 16 bit without alpha   unsigned integers of 32 bits, exact up to 2^24 and 2^16 pictures
 *     others                       doubles, in the order of the inputs, without fma
 *
 * Alpha is merged like a colour, except that the alpha of a sum is the mean.
 *
 * Integers of pictures with a reader are added when the result is read: some rows of all pictures at a time,
 * whose accumulators stay in the cache. For 24 uncompressed TIFFs this takes a third of the time of adding
 * whole pictures to accumulators in memory. Tried and lost: adding four pictures at a time. */
#include "filters/merge.h"

#include "base/threads.h"
#include "image/reader.h"

#include <stdlib.h>
#include <string.h>

struct accumulators {
    struct merge_base base; /* must be first */
    enum merge_method method;
    bool is_exact; /* the accumulators are integers */
    /* Accumulators, one for each sample. int_sums: of the pictures without a reader; NULL without such. */
    uint32_t *int_sums; /* in huge pages: with small ones the first picture took three times as long */
    double *double_sums;
    double *row; /* values of a row; only with double_sums */

    /* A slice: some rows of all pictures that stay in their files. It is divided among the lanes, threads
     * with sums of their own: lane i adds pictures i, i + lanes, ... */
    struct thread_pool threads;
    int max_lanes, lanes;          /* lanes 0: not open */
    uint32_t *slice_sums;          /* of each lane; in allocate_pages, as is slice_rows */
    unsigned char *slice_rows;     /* of one picture, of each lane */
    size_t slice_height;           /* maximum number of rows */
    size_t slice_begin, slice_end; /* first pixel of the slice, and first pixel after it */
};

/* Bytes that are read from a file at a time. Their sums are two or four times as large, and both should stay
 * in the cache of a core. 96 TIFFs of 144 MB, in memory, took 5.6 s of processor time with 1 MiB, 4.1 s with
 * 512 KiB and 3.7 s with 256 or 128 KiB. A disk with heads that reads 128 KiB ahead seeks 1.5 times as often
 * as with 1 MiB. Tried and lost: asking it to read 1 MiB ahead (POSIX_FADV_WILLNEED), 10% more time. */
enum { SLICE_BYTES = 1 << 18 };

/* Maximum number of threads that add pictures. */
enum { LANES_MAX = 8 };

/* Largest number of pictures whose sums fit into 32 bits. */
enum { MAX_8_BIT = 1 << 24, MAX_16_BIT = 1 << 16 };

/* Returns the bytes of the integer accumulators of `rows` rows. */
static size_t int_sums_size(const struct merge_base *base, size_t rows)
{
    return base->width * rows * base->channels * sizeof(uint32_t);
}

/* Returns the bytes of a row of a picture. */
static size_t picture_row_size(const struct merge_base *base)
{
    return base->width * base->channels * sample_size(base->type);
}

static void accumulators_free(void *state)
{
    struct accumulators *sums = state;
    merge_base_free(&sums->base);
    free_pages(sums->int_sums, int_sums_size(&sums->base, sums->base.height));
    const size_t slice = sums->slice_height * (size_t)sums->lanes;
    free_pages(sums->slice_sums, int_sums_size(&sums->base, slice));
    free_pages(sums->slice_rows, picture_row_size(&sums->base) * slice);
    if (sums->lanes > 0)
        thread_pool_close(&sums->threads);
    free(sums->double_sums);
    free(sums->row);
    free(sums);
}

static enum status accumulators_begin(const void *params, const struct merge_input *input, void **state,
                                      struct error *error)
{
    const struct merge_options *options = params;
    struct accumulators *sums = allocate_zeroed(1, sizeof *sums, "a stack", error);
    *state = sums;
    if (!sums || merge_base_make(&sums->base, input, options->edges, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct merge_base *base = &sums->base;
    sums->is_exact = !base->coverage && (base->type == SAMPLE_UINT8 || base->type == SAMPLE_UINT16);
    sums->method = (enum merge_method)options->method;
    sums->max_lanes = input->jobs < LANES_MAX ? input->jobs : LANES_MAX;
    if (sums->is_exact)
        return STATUS_OK;
    sums->double_sums = allocate_zeroed(base->width * base->height * base->channels,
                                        sizeof *sums->double_sums, "the sums of a stack", error);
    sums->row = allocate(base->width * base->channels * sizeof *sums->row, "a row of samples", error);
    return sums->double_sums && sums->row ? STATUS_OK : STATUS_FAILED;
}

/* Defines a function that merges integers into their accumulators, or sets these with `is_first`. Widening
 * the samples in a loop of its own took twice as long. */
#define DEFINE_MERGE(NAME, TYPE)                                                                             \
    static void NAME(enum merge_method method, bool is_first, const TYPE *restrict from, size_t count,       \
                     uint32_t *restrict to)                                                                  \
    {                                                                                                        \
        if (is_first)                                                                                        \
            for (size_t i = 0; i < count; i++)                                                               \
                to[i] = from[i];                                                                             \
        else if (method == MERGE_MAX)                                                                        \
            for (size_t i = 0; i < count; i++)                                                               \
                to[i] = from[i] > to[i] ? from[i] : to[i];                                                   \
        else if (method == MERGE_MIN)                                                                        \
            for (size_t i = 0; i < count; i++)                                                               \
                to[i] = from[i] < to[i] ? from[i] : to[i];                                                   \
        else                                                                                                 \
            for (size_t i = 0; i < count; i++)                                                               \
                to[i] += from[i];                                                                            \
    }
DEFINE_MERGE(merge_bytes, uint8_t)
DEFINE_MERGE(merge_words, uint16_t)
DEFINE_MERGE(merge_numbers, uint32_t)

/* Merges `rows` rows of integers into their accumulators, or sets these with `is_first`. */
static void add_integers(const struct accumulators *sums, const void *samples, size_t rows, bool is_first,
                         uint32_t *to)
{
    const size_t count = sums->base.width * rows * sums->base.channels;
    if (sums->base.type == SAMPLE_UINT8)
        merge_bytes(sums->method, is_first, samples, count, to);
    else
        merge_words(sums->method, is_first, samples, count, to);
}

/* Fails if the integer sums would overflow with another picture. */
static enum status check_count(const struct accumulators *sums, struct error *error)
{
    const bool adds = sums->method == MERGE_MEAN || sums->method == MERGE_SUM;
    const int bits = sums->base.type == SAMPLE_UINT8 ? 8 : 16, most = bits == 8 ? MAX_8_BIT : MAX_16_BIT;
    if (!sums->is_exact || !adds || sums->base.pictures < (size_t)most)
        return STATUS_OK;
    fail(error, STATUS_FAILED, "--stack adds at most %d pictures of %d bit", most, bits);
    error->scope = SCOPE_STACK;
    return STATUS_FAILED;
}

static enum status accumulators_add(void *state, struct run *run, const void *samples, struct error *error)
{
    struct accumulators *sums = state;
    struct merge_base *base = &sums->base;
    const size_t row = base->width * base->channels;
    (void)run;
    if (check_count(sums, error) != STATUS_OK)
        return STATUS_FAILED;
    if (sums->is_exact) {
        const bool is_first = !sums->int_sums;
        if (is_first)
            sums->int_sums = allocate_pages(int_sums_size(base, base->height));
        if (!sums->int_sums)
            return fail_memory(error, "out of memory for the sums of a stack");
        add_integers(sums, samples, base->height, is_first, sums->int_sums);
    }
    for (size_t y = 0; sums->double_sums && y < base->height; y++) {
        merge_values(base, samples, y * base->width, base->width, sums->row);
        for (size_t x = 0; x < base->width; x++) {
            uint32_t *count = base->coverage ? base->coverage + y * base->width + x : NULL;
            const double *pixel = sums->row + x * base->channels;
            double *to = sums->double_sums + y * row + x * base->channels;
            if (count && !merge_is_covered(base, pixel))
                continue;
            const uint32_t earlier = count ? (*count)++ : base->pictures; /* pictures merged there */
            for (size_t c = 0; c < base->channels; c++) {
                if (sums->method == MERGE_MEAN || sums->method == MERGE_SUM || earlier == 0)
                    to[c] += pixel[c];
                else
                    to[c] = (pixel[c] > to[c]) == (sums->method == MERGE_MAX) ? pixel[c] : to[c];
            }
        }
    }
    base->pictures++;
    return STATUS_OK;
}

static enum status accumulators_add_reader(void *state, struct reader *reader, struct error *error)
{
    struct accumulators *sums = state;
    return check_count(sums, error) == STATUS_OK ? merge_add_file(&sums->base, reader, error) : STATUS_FAILED;
}

/* Merges the samples of the slice of every lanes-th picture with a reader (for thread_pool_each). */
static enum status merge_lane(void *context, int lane, struct error *error)
{
    const struct accumulators *sums = context;
    const struct merge_base *base = &sums->base;
    const size_t row = base->width * base->channels, index = (size_t)lane,
                 height = (sums->slice_end - sums->slice_begin) / base->width;
    uint32_t *to = sums->slice_sums + index * sums->slice_height * row;
    unsigned char *samples = sums->slice_rows + index * sums->slice_height * picture_row_size(base);
    for (size_t i = index; i < base->file_count; i += (size_t)sums->lanes) {
        if (reader_read(base->files[i].reader, samples, picture_row_size(base), (uint32_t)height, error) !=
            STATUS_OK)
            return STATUS_FAILED;
        add_integers(sums, samples, height, i == index, to);
    }
    return STATUS_OK;
}

/* Merges the next rows of all pictures to the first lane. */
static enum status next_slice(struct accumulators *sums, struct error *error)
{
    const struct merge_base *base = &sums->base;
    const size_t left = base->height - sums->slice_end / base->width,
                 rows = left < sums->slice_height ? left : sums->slice_height,
                 count = rows * base->width * base->channels;
    sums->slice_begin = sums->slice_end;
    sums->slice_end += rows * base->width;
    enum status status = thread_pool_each(&sums->threads, sums->lanes, merge_lane, sums, error);
    for (int i = 1; status == STATUS_OK && i < sums->lanes; i++)
        merge_numbers(sums->method, false,
                      sums->slice_sums + (size_t)i * sums->slice_height * base->width * base->channels, count,
                      sums->slice_sums);
    if (status == STATUS_OK && sums->int_sums)
        merge_numbers(sums->method, false, sums->int_sums + sums->slice_begin * base->channels, count,
                      sums->slice_sums);
    return status;
}

/* Computes `count` merged pixels from integers. */
static void divide_integers(const struct accumulators *sums, const uint32_t *int_sums, size_t count,
                            double *pixels)
{
    const double unit = sample_full_scale(sums->base.type),
                 pictures = sums->method == MERGE_MEAN ? sums->base.pictures : 1;
    for (size_t i = 0; i < count * sums->base.channels; i++)
        pixels[i] = int_sums[i] / unit / pictures;
}

/* Computes `count` merged pixels from `first` on. */
static enum status accumulators_pixels(void *state, size_t first, size_t count, double *pixels,
                                       struct error *error)
{
    struct accumulators *sums = state;
    const struct merge_base *base = &sums->base;
    const size_t channels = base->channels;
    if (sums->is_exact && base->file_count == 0) {
        divide_integers(sums, sums->int_sums + first * channels, count, pixels);
        return STATUS_OK;
    }
    for (size_t done = 0, some; sums->is_exact && done < count; done += some) {
        if (first + done == sums->slice_end && next_slice(sums, error) != STATUS_OK)
            return STATUS_FAILED;
        const size_t left = sums->slice_end - (first + done);
        some = count - done < left ? count - done : left;
        divide_integers(sums, sums->slice_sums + (first + done - sums->slice_begin) * channels, some,
                        pixels + done * channels);
    }
    for (size_t i = 0; !sums->is_exact && i < count; i++)
        for (size_t c = 0; c < channels; c++) {
            const double value = sums->double_sums[(first + i) * channels + c];
            const bool is_alpha = base->alpha && c + 1 == channels;
            const bool divides = sums->method == MERGE_MEAN || (sums->method == MERGE_SUM && is_alpha);
            const uint32_t pictures = base->coverage ? base->coverage[first + i] : base->pictures;
            pixels[i * channels + c] = divides && pictures > 0 ? value / pictures : value;
        }
    return STATUS_OK;
}

static enum status accumulators_finish(void *state, struct run *run, struct merge_result *result,
                                       struct error *error)
{
    struct accumulators *sums = state;
    struct merge_base *base = &sums->base;
    (void)run;
    if (base->file_count > 0) {
        const size_t row = picture_row_size(base);
        const size_t height = row < SLICE_BYTES ? SLICE_BYTES / row : 1;
        sums->slice_height = height < base->height ? height : base->height;
        sums->lanes = (size_t)sums->max_lanes < base->file_count ? sums->max_lanes : (int)base->file_count;
        thread_pool_open(&sums->threads, sums->lanes);
        sums->slice_sums = allocate_pages(int_sums_size(base, sums->slice_height * (size_t)sums->lanes));
        sums->slice_rows = allocate_pages(row * sums->slice_height * (size_t)sums->lanes);
        if (!sums->slice_sums || !sums->slice_rows)
            return fail_memory(error, "out of memory for the sums of a stack");
    }
    return merge_base_finish(base, accumulators_pixels, result, error);
}

const struct merge merge_sums = {.begin = accumulators_begin,
                                 .add = accumulators_add,
                                 .add_reader = accumulators_add_reader,
                                 .finish = accumulators_finish,
                                 .read = merge_base_read,
                                 .free = accumulators_free};
