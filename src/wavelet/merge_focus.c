/* The merge of focus (struct merge): pictures in a temporary file, merged by focus.h; the map of the winners.
 */
#include "filters/merge_store.h"
#include "image/writer.h"
#include "wavelet/focus.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Loads rows of a picture for focus_merge. Pixels that do not count are those of the fullest picture there,
 * so that no edge passes for detail. */
static enum status focus_load(void *context, int picture, struct rows rows, float *to, size_t pitch,
                              size_t spacing, struct error *error)
{
    struct merge_store *store = context;
    const struct merge_frame *frame = &store->frame;
    const size_t width = frame->width, channels = frame->channels, row = store->size / frame->height;
    const size_t count = (size_t)(rows.end - rows.begin);
    unsigned char *samples = allocate(2 * count * row, "rows of a picture", error);
    double *fuller = allocate(width * channels * sizeof *fuller, "a row", error);
    enum status status = samples && fuller ? STATUS_OK : STATUS_FAILED;
    const size_t indices[] = {(size_t)picture, store->fullest};
    for (size_t i = 0; status == STATUS_OK && i < (frame->counts ? 2 : 1); i++) {
        errno = 0;
        const ssize_t got = pread(fileno(store->file), samples + i * count * row, count * row,
                                  (off_t)(indices[i] * store->size + (size_t)rows.begin * row));
        status = got == (ssize_t)(count * row) ? STATUS_OK : merge_store_fail(store, "read", error);
    }
    for (size_t y = 0; status == STATUS_OK && y < count; y++) {
        merge_values(frame, samples, y * width, width, store->row);
        if (frame->counts)
            merge_values(frame, samples + count * row, y * width, width, fuller);
        for (size_t x = 0; x < width; x++) {
            const double *pixel = store->row + x * channels;
            if (frame->counts && !merge_covers(frame, pixel))
                pixel = fuller + x * channels;
            const bool covers = !frame->counts || merge_covers(frame, pixel);
            for (size_t c = 0; c < channels; c++)
                to[(c * spacing + y) * pitch + x] = covers ? (float)pixel[c] : 0;
        }
    }
    free(samples);
    free(fuller);
    return status;
}

/* Keeps rows of the result. Alpha has at least the smallest value that does not amplify rounding errors. */
static enum status focus_store(void *context, struct rows rows, const float *from, size_t pitch,
                               size_t spacing, struct error *error)
{
    struct merge_store *store = context;
    const struct merge_frame *frame = &store->frame;
    const size_t channels = frame->channels, count = (size_t)(rows.end - rows.begin);
    (void)error;
    for (size_t y = 0; y < count; y++)
        for (size_t x = 0; x < frame->width; x++)
            for (size_t c = 0; c < channels; c++) {
                const float value = from[(c * spacing + y) * pitch + x];
                const bool is_alpha = frame->alpha && c + 1 == channels;
                store->sharp[(((size_t)rows.begin + y) * frame->width + x) * channels + c] =
                    is_alpha ? fminf(fmaxf(value, 1e-3F), 1) : value;
            }
    return STATUS_OK;
}

/* Keeps rows of the map: the numbers of pictures become samples from 0 to 65535. */
static enum status focus_store_winners(void *context, struct rows rows, const float *from, size_t pitch,
                                       struct error *error)
{
    struct merge_store *store = context;
    const struct merge_frame *frame = &store->frame;
    const float step = 65535 / fmaxf((float)frame->pictures - 1, 1);
    (void)error;
    for (size_t y = 2 * (size_t)rows.begin; y < 2 * (size_t)rows.end && y < frame->height; y++)
        for (size_t x = 0; x < frame->width; x++)
            store->winners[y * frame->width + x] =
                (uint16_t)(from[(y / 2 - (size_t)rows.begin) * pitch + x / 2] * step + 0.5F);
    return STATUS_OK;
}

/* Writes the map, in the frame of the result. */
static enum status focus_write_depth(const struct merge_store *store, struct error *error)
{
    const struct merge_frame *frame = &store->frame;
    const struct writer_options coding = {.format = format_by_path(store->depth),
                                          .compression = COMPRESSION_PRESET_DEFAULT,
                                          .spool = store->folder};
    struct image_info info = {
        .width = (uint32_t)frame->columns, .height = (uint32_t)frame->rows, .channels = 1};
    struct writer *writer = NULL;
    info.type = format_sample_type(coding.format, SAMPLE_UINT16);
    enum status status = writer_open(store->depth, &coding, &writer, error);
    if (status == STATUS_OK)
        status = writer_begin_page(writer, &info, error);
    unsigned char *row = allocate(row_size(&info), "a row of the map", error);
    for (size_t y = 0; status == STATUS_OK && row && y < frame->rows; y++) {
        const uint16_t *from = store->winners + (frame->top + y) * frame->width + frame->left;
        for (size_t x = 0; x < frame->columns; x++)
            sample_set(info.type, row, x, from[x] / 65535.0);
        status = writer_write(writer, row, row_size(&info), 1, error);
    }
    status = row ? status : STATUS_FAILED;
    if (status == STATUS_OK)
        status = writer_end_page(writer, error);
    if (status == STATUS_OK)
        status = writer_commit(writer, error);
    writer_close(writer);
    free(row);
    return status;
}

static enum status focus_finish(void *state, struct run *run, struct merge_result *result,
                                struct error *error)
{
    struct merge_store *store = state;
    const struct merge_frame *frame = &store->frame;
    const struct focus_pictures pictures = {.shape = {.kind = KIND_IMAGE,
                                                      .width = (int)frame->width,
                                                      .height = (int)frame->height,
                                                      .channels = (int)frame->channels,
                                                      .images = 1,
                                                      .alpha = frame->alpha},
                                            .count = (int)frame->pictures,
                                            .noise = store->noise,
                                            .context = store,
                                            .load = focus_load,
                                            .store = focus_store,
                                            .store_winners = store->depth ? focus_store_winners : NULL};
    store->sharp = allocate(frame->width * frame->height * frame->channels * sizeof *store->sharp,
                            "the merged picture", error);
    if (store->depth)
        store->winners =
            allocate(frame->width * frame->height * sizeof *store->winners, "the map of a stack", error);
    if (!store->sharp || (store->depth && !store->winners) || focus_merge(run, &pictures, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Crop to pixels that all pictures cover: others may be blurred, as the sharp picture ends there. */
    for (size_t i = 0; frame->counts && frame->edges == MERGE_EDGES_CROP && i < frame->width * frame->height;
         i++)
        frame->counts[i] = frame->counts[i] == frame->pictures;
    enum status status = merge_frame_finish(&store->frame, result, error);
    return status == STATUS_OK && store->depth ? focus_write_depth(store, error) : status;
}

static enum status focus_pixels(void *state, size_t first, size_t count, double *pixels, struct error *error)
{
    const struct merge_store *store = state;
    const size_t channels = store->frame.channels;
    (void)error;
    for (size_t i = 0; i < count * channels; i++)
        pixels[i] = (double)store->sharp[first * channels + i];
    return STATUS_OK;
}

static enum status focus_read(void *state, float *rows, int count, struct error *error)
{
    return merge_frame_read(state, focus_pixels, rows, count, error);
}

const struct merge merge_focus = {.begin = merge_store_begin,
                                  .add = merge_store_add,
                                  .finish = focus_finish,
                                  .read = focus_read,
                                  .free = merge_store_free};
