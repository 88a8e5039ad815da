/* Merges all pictures of a command into one: mean, median, maximum, minimum, sum, sharpest detail.
 *
 *     mean, sum, max, min     add to accumulators of the picture's size, divide at the end
 *     median, sigma=K         append to a temporary file, then read some pixels of all pictures
 *     focus                   append to a temporary file, then merge on the device (wavelet/focus.h)
 *
 * But for focus the work is the host's: pictures arrive there decoded, or downloaded from the device, and a
 * merge does less for a sample than a copy to the device and back. So there is one order of operations on
 * every machine.
 *
 *     sums of 8 and 16 bit     unsigned integers of 32 bits, exact up to 65,536 pictures
 *     other sums               doubles, in the order of the inputs, without fma
 *     squares (sigma=K)        the same
 *
 * A pixel counts if its alpha is above 0 and no channel is NaN. Colour is multiplied by alpha, as everywhere
 * in a chain, and all channels are merged alike; only the sum has the mean's alpha. The number of pictures
 * that count is kept for each pixel, unless samples are integers without alpha, where all count. */
#include "base/files.h"
#include "base/text.h"
#include "base/threads.h"
#include "engine/run.h"
#include "filters/merge.h"
#include "image/writer.h"
#include "wavelet/focus.h"
#include "wavelet/shrink.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum method { METHOD_MEAN, METHOD_MEDIAN, METHOD_MAX, METHOD_MIN, METHOD_SUM, METHOD_FOCUS };

struct stack_params {
    int method;        /* enum method */
    double noise;      /* with focus: in 8-bit counts; NAN: estimate it */
    const char *depth; /* path of the map of focus; may be NULL */
    double sigma; /* samples further from the median, in standard deviations, do not count; 0: all count */
    int edges;    /* enum merge_edges */
    bool pages;   /* of files with several pages, all are merged */
    bool strict;  /* an input that fails ends the work */
};

static const char *sigma_unused(const void *params)
{
    const struct stack_params *stack = params;
    return stack->method == METHOD_MEAN || stack->sigma == 0 ? NULL : "belongs to the mean";
}

static void stack_print_noise(FILE *file, const void *params)
{
    shrink_print_sigma(file, ((const struct stack_params *)params)->noise);
}

static const char *focus_unused(const void *params)
{
    return ((const struct stack_params *)params)->method == METHOD_FOCUS ? NULL : "belongs to focus";
}

static const struct option options[] = {
    {.type = OPTION_CHOICE,
     .offset = offsetof(struct stack_params, method),
     .fallback = "mean",
     .choices = "mean|median|max|min|sum|focus",
     .help = "how the samples of a pixel become one"},
    {.name = "sigma",
     .type = OPTION_REAL,
     .offset = offsetof(struct stack_params, sigma),
     .fallback = "0",
     .min = 0,
     .max = 100,
     .value = "K",
     .help = "the mean of the samples within K standard deviations of the median, 1 or more; 0: of all",
     .unused = sigma_unused},
    {.name = "noise",
     .type = OPTION_CUSTOM,
     .offset = offsetof(struct stack_params, noise),
     .fallback = "auto",
     .value = "N",
     .help = "standard deviation of the pictures' noise in 8-bit counts, 0 to 255; auto estimates it",
     .parse = shrink_parse_sigma,
     .print = stack_print_noise,
     .unused = focus_unused},
    {.name = "depth",
     .type = OPTION_TEXT,
     .offset = offsetof(struct stack_params, depth),
     .value = "FILE",
     .help =
         "writes a gray picture of the input with the most detail, black for the first to white for the last",
     .unused = focus_unused},
    {.name = "edges",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct stack_params, edges),
     .fallback = "fill",
     .choices = MERGE_EDGES_CHOICES,
     .help = "pixels that no picture covers are transparent (NaN in floats without alpha), or cut off"},
    {.name = "pages",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct stack_params, pages),
     .fallback = "no",
     .help = "merge all pages of files that have several"},
    {.name = "strict",
     .type = OPTION_YES_NO,
     .offset = offsetof(struct stack_params, strict),
     .fallback = "no",
     .help = "an input that fails ends the work, instead of being left out"},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/shots --stack mean calm.png",
     "five photographs in one, with less than half of the noise"},
    {"climg samples/shots --denoise --stack sigma=1.5 --sharpen 1 calm.png",
     "without what differs in one of them; each is denoised, the result is sharpened"},
    {NULL, NULL},
};

static enum status stack_check(void *params, struct error *error)
{
    const struct stack_params *stack = params;
    /* Below 1, all samples may be rejected. */
    if (stack->sigma > 0 && stack->sigma < 1)
        return fail(error, STATUS_USAGE, "sigma must be at least 1, or 0");
    if (stack->depth && !format_by_path(stack->depth))
        return fail(error, STATUS_USAGE, "depth=%s: climg writes %s; give the map one of their extensions",
                    stack->depth, format_names(NULL, "and").text);
    return STATUS_OK;
}

/* ---------------------------------------------------------------- mean, sum, max, min: accumulators */

struct accumulators {
    struct merge_frame frame; /* must be first */
    enum method method;
    /* One for each sample: exact sums of integers, or doubles. One of them is NULL. */
    uint32_t *whole;
    double *real;
    double *row; /* samples of a row */
};

/* Most pictures whose 16-bit sums fit into 32 bits. */
enum { MOST_WHOLE = 65536 };

static void accumulators_free(void *state)
{
    struct accumulators *sums = state;
    merge_frame_free(&sums->frame);
    free(sums->whole);
    free(sums->real);
    free(sums->row);
    free(sums);
}

static enum status accumulators_begin(const void *params, const struct merge_input *input, void **state,
                                      struct error *error)
{
    const struct stack_params *stack = params;
    struct accumulators *sums = allocate_zeroed(1, sizeof *sums, "a stack", error);
    *state = sums;
    if (!sums || merge_frame_make(&sums->frame, input, stack->edges, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct merge_frame *frame = &sums->frame;
    const bool is_whole = !frame->counts && (frame->type == SAMPLE_UINT8 || frame->type == SAMPLE_UINT16);
    const size_t samples = frame->width * frame->height * frame->channels;
    sums->method = (enum method)stack->method;
    if (is_whole)
        sums->whole = allocate_zeroed(samples, sizeof *sums->whole, "the sums of a stack", error);
    else
        sums->real = allocate_zeroed(samples, sizeof *sums->real, "the sums of a stack", error);
    sums->row = allocate(frame->width * frame->channels * sizeof *sums->row, "a row of samples", error);
    return (sums->whole || sums->real) && sums->row ? STATUS_OK : STATUS_FAILED;
}

/* Adds integers. */
static void add_whole(struct accumulators *sums, const void *samples)
{
    const size_t count = sums->frame.width * sums->frame.height * sums->frame.channels;
    const bool is_first = sums->frame.pictures == 0, is_bytes = sums->frame.type == SAMPLE_UINT8;
    uint32_t *restrict to = sums->whole;
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = is_bytes ? ((const uint8_t *)samples)[i] : ((const uint16_t *)samples)[i];
        if (sums->method == METHOD_MEAN || sums->method == METHOD_SUM || is_first)
            to[i] += value;
        else
            to[i] = (value > to[i]) == (sums->method == METHOD_MAX) ? value : to[i];
    }
}

/* Adds a pixel whose earlier pictures are `earlier` in number. */
static void add_pixel(enum method method, const double *pixel, size_t channels, uint32_t earlier, double *to)
{
    for (size_t c = 0; c < channels; c++) {
        if (method == METHOD_MEAN || method == METHOD_SUM || earlier == 0)
            to[c] += pixel[c];
        else
            to[c] = (pixel[c] > to[c]) == (method == METHOD_MAX) ? pixel[c] : to[c];
    }
}

static enum status accumulators_add(void *state, struct run *run, const void *samples, struct error *error)
{
    struct accumulators *sums = state;
    struct merge_frame *frame = &sums->frame;
    const size_t row = frame->width * frame->channels;
    (void)run;
    if (sums->whole && frame->pictures == MOST_WHOLE)
        return fail(error, STATUS_FAILED, "--stack merges at most %d pictures of integers", MOST_WHOLE);
    if (sums->whole)
        add_whole(sums, samples);
    for (size_t y = 0; sums->real && y < frame->height; y++) {
        merge_values(frame, samples, y * frame->width, frame->width, sums->row);
        for (size_t x = 0; x < frame->width; x++) {
            uint32_t *count = frame->counts ? frame->counts + y * frame->width + x : NULL;
            if (count && !merge_covers(frame, sums->row + x * frame->channels))
                continue;
            add_pixel(sums->method, sums->row + x * frame->channels, frame->channels,
                      count ? (*count)++ : frame->pictures, sums->real + y * row + x * frame->channels);
        }
    }
    frame->pictures++;
    return STATUS_OK;
}

static enum status accumulators_finish(void *state, struct run *run, struct merge_result *result,
                                       struct error *error)
{
    (void)run;
    return merge_frame_finish(state, result, error);
}

/* Computes `count` pixels from `first` on. */
static enum status accumulators_pixels(void *state, size_t first, size_t count, double *pixels,
                                       struct error *error)
{
    const struct accumulators *sums = state;
    const struct merge_frame *frame = &sums->frame;
    const double unit = sample_full_scale(frame->type);
    (void)error;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < frame->channels; c++) {
            const size_t at = (first + i) * frame->channels + c;
            const double value = sums->whole ? sums->whole[at] / unit : sums->real[at];
            const bool is_alpha = frame->alpha && c + 1 == frame->channels;
            const bool divides = sums->method == METHOD_MEAN || (sums->method == METHOD_SUM && is_alpha);
            const uint32_t pictures = frame->counts ? frame->counts[first + i] : frame->pictures;
            pixels[i * frame->channels + c] = divides && pictures > 0 ? value / pictures : value;
        }
    return STATUS_OK;
}

static enum status accumulators_read(void *state, float *rows, int count, struct error *error)
{
    return merge_frame_read(state, accumulators_pixels, rows, count, error);
}

static const struct merge accumulating = {.begin = accumulators_begin,
                                          .add = accumulators_add,
                                          .finish = accumulators_finish,
                                          .read = accumulators_read,
                                          .free = accumulators_free};

/* ---------------------------------------------------------------- median, sigma=K: a temporary file */

/* Bytes of samples that are read from the file at a time; a pixel of all pictures may take more. */
enum { PIECE_BYTES = 16 << 20 };

/* Pixels of a task for one thread, and of a block, whose samples are converted to doubles together. */
enum { PIECE_PIXELS = 1024, BLOCK_PIXELS = 16 };

struct kept {
    struct merge_frame frame; /* must be first */
    double sigma;             /* 0: the median */
    double noise;             /* with focus; full scale is 1; NAN: estimate it */
    const char *folder;
    FILE *file;           /* the pictures, one after the other */
    size_t size;          /* bytes of a picture */
    unsigned char *piece; /* some pixels of all pictures */
    size_t room;          /* pixels of a picture in `piece` */
    double *row;          /* samples of a row, to count covered pixels */
    struct workers workers;
    bool has_workers;
    atomic_ullong tested, rejected; /* samples, with sigma=K */
    size_t covered, fullest;        /* most covered pixels of a picture, and its index; with focus */
    float *sharp;                   /* the result of focus: all samples, colour multiplied by alpha */
    const char *depth;              /* path of the map of focus; may be NULL */
    uint16_t *winners;              /* its samples */

    /* The pixels that are being merged. */
    size_t count;
    double *pixels;
};

static void kept_free(void *state)
{
    struct kept *kept = state;
    if (kept->file)
        fclose(kept->file);
    if (kept->has_workers)
        workers_close(&kept->workers);
    merge_frame_free(&kept->frame);
    free(kept->piece);
    free(kept->row);
    free(kept->sharp);
    free(kept->winners);
    free(kept);
}

static enum status kept_begin(const void *params, const struct merge_input *input, void **state,
                              struct error *error)
{
    const struct stack_params *stack = params;
    struct kept *kept = allocate_zeroed(1, sizeof *kept, "a stack", error);
    *state = kept;
    if (!kept || merge_frame_make(&kept->frame, input, stack->edges, error) != STATUS_OK)
        return STATUS_FAILED;
    kept->sigma = stack->sigma;
    kept->noise = stack->noise / 255;
    kept->depth = stack->depth;
    kept->folder = input->folder;
    kept->size = row_size(input->info) * input->info->height;
    workers_open(&kept->workers, input->jobs);
    kept->has_workers = true;
    kept->row = allocate(kept->frame.width * kept->frame.channels * sizeof *kept->row, "a row", error);
    kept->file = kept->row ? spool_open(input->folder, error) : NULL;
    return kept->file ? STATUS_OK : STATUS_FAILED;
}

/* Fails for all inputs, as they share the file. `what` is "read" or "write". */
static enum status kept_fail(const struct kept *kept, const char *what, struct error *error)
{
    fail(error, STATUS_FAILED,
         "cannot %s the temporary file in %s that has all pictures: %s; set TMPDIR to a folder with room for "
         "them",
         what, kept->folder, strerror(errno));
    error->scope = SCOPE_ALL;
    return STATUS_FAILED;
}

static enum status kept_add(void *state, struct run *run, const void *samples, struct error *error)
{
    struct kept *kept = state;
    struct merge_frame *frame = &kept->frame;
    size_t covered = 0;
    (void)run;
    for (size_t y = 0; frame->counts && y < frame->height; y++) {
        merge_values(frame, samples, y * frame->width, frame->width, kept->row);
        for (size_t x = 0; x < frame->width; x++) {
            const bool covers = merge_covers(frame, kept->row + x * frame->channels);
            frame->counts[y * frame->width + x] += covers;
            covered += covers;
        }
    }
    if (covered > kept->covered) {
        kept->covered = covered;
        kept->fullest = frame->pictures;
    }
    if (!write_whole(fileno(kept->file), samples, kept->size))
        return kept_fail(kept, "write", error);
    frame->pictures++;
    return STATUS_OK;
}

static enum status kept_finish(void *state, struct run *run, struct merge_result *result, struct error *error)
{
    struct kept *kept = state;
    const size_t pixel = kept->size / (kept->frame.width * kept->frame.height) * kept->frame.pictures;
    (void)run;
    kept->room = PIECE_BYTES / pixel > 0 ? PIECE_BYTES / pixel : 1;
    kept->piece = allocate(kept->room * pixel, "the samples of a stack", error);
    return kept->piece ? merge_frame_finish(&kept->frame, result, error) : STATUS_FAILED;
}

/* Merges pixels of one piece: a piece_work. */
static enum status kept_merge(void *context, int index, struct error *error)
{
    struct kept *kept = context;
    const struct merge_frame *frame = &kept->frame;
    const size_t channels = frame->channels, pictures = frame->pictures;
    const size_t begin = (size_t)index * PIECE_PIXELS, pixel = kept->size / (frame->width * frame->height);
    const size_t end = begin + PIECE_PIXELS < kept->count ? begin + PIECE_PIXELS : kept->count;
    /* The values of a block, picture by picture; the samples that count; a copy that the median reorders. */
    const size_t block = BLOCK_PIXELS * channels;
    double *values = allocate((block + 2) * pictures * sizeof *values, "the samples of a stack", error);
    if (!values)
        return STATUS_FAILED;
    double *samples = values + block * pictures, *scratch = samples + pictures;
    unsigned long long tested = 0, rejected = 0;
    for (size_t first = begin; first < end; first += BLOCK_PIXELS) {
        const size_t some = end - first < BLOCK_PIXELS ? end - first : BLOCK_PIXELS;
        for (size_t i = 0; i < pictures; i++)
            merge_values(frame, kept->piece + i * kept->count * pixel, first, some, values + i * block);
        for (size_t at = 0; at < some * channels; at++) {
            size_t count = 0;
            for (size_t i = 0; i < pictures; i++) {
                const double *sample = values + i * block + at;
                if (!frame->counts || merge_covers(frame, sample - at % channels))
                    samples[count++] = *sample;
            }
            tested += count;
            const size_t left = kept->sigma > 0 ? merge_reject(samples, count, kept->sigma, scratch) : count;
            rejected += count - left;
            kept->pixels[first * channels + at] =
                kept->sigma > 0 ? merge_mean(samples, left) : merge_median(samples, count);
        }
    }
    free(values);
    atomic_fetch_add(&kept->tested, tested);
    atomic_fetch_add(&kept->rejected, rejected);
    return STATUS_OK;
}

/* Computes `count` pixels from `first` on, in pieces that fit the memory. */
static enum status kept_pixels(void *state, size_t first, size_t count, double *pixels, struct error *error)
{
    struct kept *kept = state;
    const size_t pixel = kept->size / (kept->frame.width * kept->frame.height);
    enum status status = STATUS_OK;
    for (size_t done = 0; status == STATUS_OK && done < count; done += kept->count) {
        kept->count = count - done < kept->room ? count - done : kept->room;
        kept->pixels = pixels + done * kept->frame.channels;
        for (size_t i = 0; status == STATUS_OK && i < kept->frame.pictures; i++) {
            errno = 0;
            const size_t size = kept->count * pixel;
            const ssize_t got = pread(fileno(kept->file), kept->piece + i * size, size,
                                      (off_t)(i * kept->size + (first + done) * pixel));
            status = got == (ssize_t)size ? STATUS_OK : kept_fail(kept, "read", error);
        }
        if (status == STATUS_OK)
            status = workers_each(&kept->workers, (int)((kept->count + PIECE_PIXELS - 1) / PIECE_PIXELS),
                                  kept_merge, kept, error);
    }
    return status;
}

static enum status kept_read(void *state, float *rows, int count, struct error *error)
{
    return merge_frame_read(state, kept_pixels, rows, count, error);
}

static void kept_describe(const void *state, char *text, size_t size)
{
    const struct kept *kept = state;
    const unsigned long long tested = atomic_load(&kept->tested), rejected = atomic_load(&kept->rejected);
    if (kept->sigma > 0)
        text_append(text, size, "; %llu of %llu samples rejected (%.3g%%)", rejected, tested,
                    tested > 0 ? 100.0 * (double)rejected / (double)tested : 0);
}

static const struct merge keeping = {.begin = kept_begin,
                                     .add = kept_add,
                                     .finish = kept_finish,
                                     .read = kept_read,
                                     .describe = kept_describe,
                                     .free = kept_free};

/* ---------------------------------------------------------------- focus */

/* Loads rows of a picture for focus_merge. Pixels that do not count are those of the fullest picture there,
 * so that no edge passes for detail. */
static enum status focus_load(void *context, int picture, struct rows rows, float *to, size_t pitch,
                              size_t spacing, struct error *error)
{
    struct kept *kept = context;
    const struct merge_frame *frame = &kept->frame;
    const size_t width = frame->width, channels = frame->channels, row = kept->size / frame->height;
    const size_t count = (size_t)(rows.end - rows.begin);
    unsigned char *samples = allocate(2 * count * row, "rows of a picture", error);
    double *fuller = allocate(width * channels * sizeof *fuller, "a row", error);
    enum status status = samples && fuller ? STATUS_OK : STATUS_FAILED;
    const size_t indices[] = {(size_t)picture, kept->fullest};
    for (size_t i = 0; status == STATUS_OK && i < (frame->counts ? 2 : 1); i++) {
        errno = 0;
        const ssize_t got = pread(fileno(kept->file), samples + i * count * row, count * row,
                                  (off_t)(indices[i] * kept->size + (size_t)rows.begin * row));
        status = got == (ssize_t)(count * row) ? STATUS_OK : kept_fail(kept, "read", error);
    }
    for (size_t y = 0; status == STATUS_OK && y < count; y++) {
        merge_values(frame, samples, y * width, width, kept->row);
        if (frame->counts)
            merge_values(frame, samples + count * row, y * width, width, fuller);
        for (size_t x = 0; x < width; x++) {
            const double *pixel = kept->row + x * channels;
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
    struct kept *kept = context;
    const struct merge_frame *frame = &kept->frame;
    const size_t channels = frame->channels, count = (size_t)(rows.end - rows.begin);
    (void)error;
    for (size_t y = 0; y < count; y++)
        for (size_t x = 0; x < frame->width; x++)
            for (size_t c = 0; c < channels; c++) {
                const float value = from[(c * spacing + y) * pitch + x];
                const bool is_alpha = frame->alpha && c + 1 == channels;
                kept->sharp[(((size_t)rows.begin + y) * frame->width + x) * channels + c] =
                    is_alpha ? fminf(fmaxf(value, 1e-3F), 1) : value;
            }
    return STATUS_OK;
}

/* Keeps rows of the map: the numbers of pictures become samples from 0 to 65535. */
static enum status focus_store_winners(void *context, struct rows rows, const float *from, size_t pitch,
                                       struct error *error)
{
    struct kept *kept = context;
    const struct merge_frame *frame = &kept->frame;
    const float step = 65535 / fmaxf((float)frame->pictures - 1, 1);
    (void)error;
    for (size_t y = 2 * (size_t)rows.begin; y < 2 * (size_t)rows.end && y < frame->height; y++)
        for (size_t x = 0; x < frame->width; x++)
            kept->winners[y * frame->width + x] =
                (uint16_t)(from[(y / 2 - (size_t)rows.begin) * pitch + x / 2] * step + 0.5F);
    return STATUS_OK;
}

/* Writes the map, in the frame of the result. */
static enum status focus_write_depth(const struct kept *kept, struct error *error)
{
    const struct merge_frame *frame = &kept->frame;
    const struct writer_options coding = {.format = format_by_path(kept->depth),
                                          .compression = COMPRESSION_PRESET_DEFAULT,
                                          .spool = kept->folder};
    struct image_info info = {
        .width = (uint32_t)frame->columns, .height = (uint32_t)frame->rows, .channels = 1};
    struct writer *writer = NULL;
    info.type = format_sample_type(coding.format, SAMPLE_UINT16);
    enum status status = writer_open(kept->depth, &coding, &writer, error);
    if (status == STATUS_OK)
        status = writer_begin_page(writer, &info, error);
    unsigned char *row = allocate(row_size(&info), "a row of the map", error);
    for (size_t y = 0; status == STATUS_OK && row && y < frame->rows; y++) {
        const uint16_t *from = kept->winners + (frame->top + y) * frame->width + frame->left;
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
    struct kept *kept = state;
    const struct merge_frame *frame = &kept->frame;
    const struct focus_pictures pictures = {.shape = {.kind = KIND_IMAGE,
                                                      .width = (int)frame->width,
                                                      .height = (int)frame->height,
                                                      .channels = (int)frame->channels,
                                                      .images = 1,
                                                      .alpha = frame->alpha},
                                            .count = (int)frame->pictures,
                                            .noise = kept->noise,
                                            .context = kept,
                                            .load = focus_load,
                                            .store = focus_store,
                                            .store_winners = kept->depth ? focus_store_winners : NULL};
    kept->sharp = allocate(frame->width * frame->height * frame->channels * sizeof *kept->sharp,
                           "the merged picture", error);
    if (kept->depth)
        kept->winners =
            allocate(frame->width * frame->height * sizeof *kept->winners, "the map of a stack", error);
    if (!kept->sharp || (kept->depth && !kept->winners) || focus_merge(run, &pictures, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Crop to pixels that all pictures cover: others may be blurred, as the sharp picture ends there. */
    for (size_t i = 0; frame->counts && frame->edges == MERGE_EDGES_CROP && i < frame->width * frame->height;
         i++)
        frame->counts[i] = frame->counts[i] == frame->pictures;
    enum status status = merge_frame_finish(&kept->frame, result, error);
    return status == STATUS_OK && kept->depth ? focus_write_depth(kept, error) : status;
}

static enum status focus_pixels(void *state, size_t first, size_t count, double *pixels, struct error *error)
{
    const struct kept *kept = state;
    const size_t channels = kept->frame.channels;
    (void)error;
    for (size_t i = 0; i < count * channels; i++)
        pixels[i] = (double)kept->sharp[first * channels + i];
    return STATUS_OK;
}

static enum status focus_read(void *state, float *rows, int count, struct error *error)
{
    return merge_frame_read(state, focus_pixels, rows, count, error);
}

static const struct merge focusing = {
    .begin = kept_begin, .add = kept_add, .finish = focus_finish, .read = focus_read, .free = kept_free};

/* ---------------------------------------------------------------- the stage */

static const struct merge *stack_merge(const void *params)
{
    const struct stack_params *stack = params;
    if (stack->method == METHOD_FOCUS)
        return &focusing;
    return stack->method == METHOD_MEDIAN || stack->sigma > 0 ? &keeping : &accumulating;
}

static struct stage_caps stack_caps(const void *params)
{
    const struct stack_params *stack = params;
    return (struct stage_caps){.groups = stack->method != METHOD_FOCUS,
                               .needs_all_rows = stack->method == METHOD_FOCUS,
                               .needs_upright = true,
                               .amplifies = stack->method == METHOD_SUM,
                               .writes = stack->depth,
                               .writes_image = stack->depth != NULL,
                               .merges_pages = stack->pages,
                               .merges_strictly = stack->strict,
                               .relative_cost = 0.1};
}

/* Copies a single picture. With focus and a given noise, --selftest merges it (focus_try). */
static enum status run_stack(struct run *run, const void *params, const struct value *in, struct value *out,
                             struct error *error)
{
    const struct stack_params *stack = params;
    if (stack->method == METHOD_FOCUS && !isnan(stack->noise))
        return focus_try(run, stack->noise / 255, in, out, error);
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    const struct planes *dst = &out->planes[0];
    const cl_float factor = 1, offset = 0;
    const cl_int alpha = shape_alpha(&out->shape);
    struct work work = run_work(run, "point", "linear", dst);
    return LAUNCH(run->device, &work, error, ARG_PLANES(&in->planes[0]), ARG_PLANES(dst), ARG(factor),
                  ARG(offset), ARG(alpha));
}

const struct stage stage_stack = {
    .name = "stack",
    .brief = "merge many pictures into one: mean, median, sum, ...",
    .manual =
        "Merges all inputs of the command into one output. Stages before it work on each input, stages after "
        "it on the result. Inputs must have one size, number of channels and sample type when they are "
        "merged, in the order in which they are named; the output is a file, not a folder, and has the first "
        "input's metadata.\n\n"
        "mean averages noise away: with N pictures it is 1/sqrt(N) as strong. median also removes what is in "
        "less than half of the pictures, such as people who walk by. sigma=K, 2 to 3 for instance, is "
        "between the two, and wants five pictures or more: samples further than K standard deviations from "
        "the median are rejected, twice, and the mean of the others is taken; -v and --report say how many "
        "were. max and min keep the lightest and the darkest sample of each channel. sum exceeds full scale; "
        "a TIFF with --depth float keeps it.\n\n"
        "focus merges pictures of different focus into one that is sharp everywhere, by the dual-tree "
        "complex "
        "wavelet transform: for each place, size and direction of detail the picture with the most detail "
        "counts, and pictures count alike where they differ by noise alone. The noise is estimated from the "
        "first picture, or given by noise=N. --align middle comes before it, as each focus has "
        "another scale. edges=crop leaves what all pictures cover. depth=FILE shows which input is "
        "the sharpest at each pixel.\n\n"
        "Pixels do not count that are transparent or have a NaN, so that a mean is the one of the pictures "
        "that cover the pixel. Pixels that no picture covers become transparent, or NaN in floats without "
        "alpha; edges=crop cuts the result to the largest rectangle without such pixels. Colours are "
        "multiplied by alpha before they are merged; alpha is merged like a colour, but the sum's is the "
        "mean.\n\n"
        "Sums of 8 and 16 bit are exact; others are doubles, added in the order of the inputs. With "
        "--linear, "
        "light is merged. A picture that fails is left out with a warning, unless strict=yes; one of another "
        "size ends the work. mean, max, min and sum decode each input once and keep one picture of 32-bit or "
        "64-bit sums in memory. median and sigma=K keep all pictures in a temporary file (TMPDIR) and need "
        "little memory for any number of them. --report has a line for each input, and one for the result, "
        "whose input is null.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct stack_params),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .check = stack_check,
    .rows = rows_same,
    .caps = stack_caps,
    .merge = stack_merge,
    .run = run_stack,
};
