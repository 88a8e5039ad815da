/* Merges that need the samples of all pictures of a pixel at once: median, mean without outliers.
 *
 *     add ─▶ file: picture after picture     read ─▶ a piece: some pixels of all pictures ─▶ threads
 *
 * Pictures that were added by their reader are not in the temporary file: their rows are read from their own
 * files. A piece has a fixed size in bytes, so with more pictures it has fewer pixels. Sums are doubles, in
 * the order of the inputs, without fma. */
#include "filters/merge_store.h"

#include "base/files.h"
#include "base/text.h"
#include "image/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 16 << 20, /* bytes of a piece, unless one pixel of all pictures takes more */
    TASK_PIXELS = 1024,     /* pixels per call of robust_merge, which any thread may run */
    BLOCK_PIXELS = 16       /* pixels of a task that are converted to doubles at once */
};

void merge_store_free(void *state)
{
    struct merge_store *store = state;
    if (store->file)
        fclose(store->file);
    if (store->has_workers)
        thread_pool_close(&store->workers);
    merge_base_free(&store->base);
    free(store->piece);
    free(store->row);
    free(store->brightness);
    free(store->sharp);
    free(store->depth_map);
    free(store);
}

enum status merge_store_begin(const void *params, const struct merge_input *input, void **state,
                              struct error *error)
{
    const struct merge_options *options = params;
    struct merge_store *store = allocate_zeroed(1, sizeof *store, "a stack", error);
    *state = store;
    if (!store || merge_base_make(&store->base, input, options->edges, error) != STATUS_OK)
        return STATUS_FAILED;
    store->base.needs_finite = options->method == MERGE_FOCUS;
    store->sigma = options->sigma;
    store->noise = options->noise / 255;
    store->depth_path = options->depth_path;
    store->folder = input->folder;
    store->picture_size = row_size(input->info) * input->info->height;
    store->pixel_size = row_size(input->info) / input->info->width;
    thread_pool_open(&store->workers, input->jobs);
    store->has_workers = true;
    store->row = allocate(store->base.width * store->base.channels * sizeof *store->row, "a row", error);
    store->file = store->row ? spool_open(input->folder, error) : NULL;
    return store->file ? STATUS_OK : STATUS_FAILED;
}

enum status merge_store_fail(const struct merge_store *store, const char *what, struct error *error)
{
    const int code = errno != 0 ? errno : EIO; /* 0: a short read, as the file was truncated */
    fail(error, STATUS_FAILED, "cannot %s the temporary file in %s that has all pictures: %s%s", what,
         store->folder, strerror(code),
         strcmp(what, "write") == 0 ? "; set TMPDIR to a folder with room for them" : "");
    error->scope = SCOPE_ALL;
    return STATUS_FAILED;
}

enum status merge_store_add(void *state, struct run *run, const void *samples, struct error *error)
{
    struct merge_store *store = state;
    struct merge_base *base = &store->base;
    size_t covered = 0;
    (void)run;
    for (size_t y = 0; base->coverage && y < base->height; y++) {
        merge_values(base, samples, y * base->width, base->width, store->row);
        covered += merge_count_row(base, store->row, y);
    }
    if (covered > store->covered) {
        store->covered = covered;
        store->fullest = base->pictures;
    }
    if (!write_whole(fileno(store->file), samples, store->picture_size))
        return merge_store_fail(store, "write", error);
    base->pictures++;
    return STATUS_OK;
}

/* Merges the pixels of one task (for thread_pool_each). */
static enum status robust_merge(void *context, int index, struct error *error)
{
    struct merge_store *store = context;
    const struct merge_base *base = &store->base;
    const size_t channels = base->channels, pictures = base->pictures;
    const size_t begin = (size_t)index * TASK_PIXELS;
    const size_t end = begin + TASK_PIXELS < store->count ? begin + TASK_PIXELS : store->count;
    const size_t block = BLOCK_PIXELS * channels;
    double *values = allocate((block + 2) * pictures * sizeof *values, "the samples of a stack", error);
    if (!values)
        return STATUS_FAILED;
    /* `values`: the block in each picture. `counted`: one sample, from the pictures that cover its pixel. */
    double *counted = values + block * pictures, *scratch = counted + pictures;
    unsigned long long tested = 0, rejected = 0;
    for (size_t first = begin; first < end; first += BLOCK_PIXELS) {
        const size_t pixels = end - first < BLOCK_PIXELS ? end - first : BLOCK_PIXELS;
        for (size_t i = 0; i < pictures; i++)
            merge_values(base, store->piece + i * store->count * store->pixel_size, first, pixels,
                         values + i * block);
        for (size_t sample = 0; sample < pixels * channels; sample++) {
            size_t count = 0;
            for (size_t i = 0; i < pictures; i++) {
                const double *value = values + i * block + sample;
                if (!base->coverage || merge_is_covered(base, value - sample % channels))
                    counted[count++] = *value;
            }
            double *merged = &store->pixels[first * channels + sample];
            if (!(store->sigma > 0)) {
                *merged = merge_median(counted, count);
                continue;
            }
            const size_t left = merge_reject(counted, count, store->sigma, scratch);
            tested += count;
            rejected += count - left;
            *merged = merge_mean(counted, left);
        }
    }
    free(values);
    atomic_fetch_add(&store->tested, tested);
    atomic_fetch_add(&store->rejected, rejected);
    return STATUS_OK;
}

/* Reads a piece of all pictures: store->count pixels from pixel `first` on. */
static enum status read_piece(struct merge_store *store, size_t first, struct error *error)
{
    const struct merge_base *base = &store->base;
    const struct merge_file *file = base->files, *end = base->files + base->file_count;
    const size_t size = store->count * store->pixel_size;
    off_t offset = (off_t)(first * store->pixel_size); /* in the temporary file */
    for (size_t i = 0; i < base->pictures; i++) {
        unsigned char *piece = store->piece + i * size;
        if (file < end && file->picture == i) {
            if (reader_read(file->reader, piece, base->width * store->pixel_size,
                            (uint32_t)(store->count / base->width), error) != STATUS_OK)
                return STATUS_FAILED;
            file++;
            continue;
        }
        errno = 0;
        if (pread(fileno(store->file), piece, size, offset) != (ssize_t)size)
            return merge_store_fail(store, "read", error);
        offset += (off_t)store->picture_size;
    }
    return STATUS_OK;
}

/* Computes `count` pixels from `first` on, piece by piece. */
static enum status robust_pixels(void *state, size_t first, size_t count, double *pixels, struct error *error)
{
    struct merge_store *store = state;
    enum status status = STATUS_OK;
    for (size_t done = 0; status == STATUS_OK && done < count; done += store->count) {
        store->count = count - done < store->piece_length ? count - done : store->piece_length;
        store->pixels = pixels + done * store->base.channels;
        status = read_piece(store, first + done, error);
        if (status == STATUS_OK)
            status = thread_pool_each(&store->workers, (int)((store->count + TASK_PIXELS - 1) / TASK_PIXELS),
                                      robust_merge, store, error);
    }
    return status;
}

static enum status robust_finish(void *state, struct run *run, struct merge_result *result,
                                 struct error *error)
{
    struct merge_store *store = state;
    (void)run;
    const size_t all_bytes = store->pixel_size * store->base.pictures;      /* of one pixel of all pictures */
    const size_t unit = store->base.file_count > 0 ? store->base.width : 1; /* readers read whole rows */
    store->piece_length = PIECE_BYTES / all_bytes / unit * unit;
    if (store->piece_length == 0)
        store->piece_length = unit;
    store->piece = allocate(store->piece_length * all_bytes, "the samples of a stack", error);
    return store->piece ? merge_base_finish(&store->base, robust_pixels, result, error) : STATUS_FAILED;
}

static void robust_describe(const void *state, char *text, size_t size)
{
    const struct merge_store *store = state;
    const unsigned long long tested = atomic_load(&store->tested), rejected = atomic_load(&store->rejected);
    if (store->sigma > 0)
        text_append(text, size, "; %llu of %llu samples rejected (%.3g%%)", rejected, tested,
                    tested > 0 ? 100.0 * (double)rejected / (double)tested : 0);
}

const struct merge merge_robust = {.begin = merge_store_begin,
                                   .add = merge_store_add,
                                   .add_reader = merge_add_file,
                                   .finish = robust_finish,
                                   .read = merge_base_read,
                                   .describe = robust_describe,
                                   .free = merge_store_free};
