/* The merge of --stack focus (struct merge): keeps the pictures in a temporary file, makes them equally
 * bright, merges them (wavelet/focus.h), and writes the depth map: which picture is the sharpest at a pixel.
 *
 * Flash and mains light change from shot to shot. Brighter pictures would then win too often, and the result
 * would be uneven: differences of up to 5% cost 0.6 dB without noise, 0.2 dB with noise of 3 counts. So each
 * picture is multiplied by a factor. A grid divides the pictures into cells; a picture's brightness relative
 * to the first one is the median of the cells' ratios. Blur hardly changes the mean of a cell, and moving
 * objects change few cells. */
#include "filters/merge_store.h"
#include "image/writer.h"
#include "wavelet/focus.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* Cells of the grid along an axis, and rows of a cell that are read, at most. */
enum { CELLS = 16, CELL_ROWS = 32 };

/* Brightness and detail of a picture. */
struct focus_brightness {
    double sums[CELLS * CELLS];      /* of colours, multiplied by alpha */
    double checksums[CELLS * CELLS]; /* sums of 1 + pixel index over the covered pixels: equal if two pictures
                                      * cover the same pixels */
    double ratio;                    /* to the first picture */
    double factor;                   /* multiplies the picture, so that all are equally bright */
    double detail; /* mean difference of neighbouring pixels of a row; NAN without neighbours */
};

/* Largest differences that the light can cause: MAX_SPREAD is the upper quartile of the cells' ratios,
 * divided by the lower one; the median ratio is from 1 / MAX_RATIO to MAX_RATIO. Larger differences are in
 * the pictures themselves, as in planes of a confocal microscope. */
static const double MAX_SPREAD = 1.25, MAX_RATIO = 2;

/* Smaller deviations of the ratio from 1 are not corrected, as blur causes them, too. */
static const double MIN_CHANGE = 0.003;

/* Measures the brightness and the detail of a picture and appends the picture to the file. */
static enum status focus_add(void *state, struct run *run, const void *samples, struct error *error)
{
    struct merge_store *store = state;
    const struct merge_base *base = &store->base;
    const size_t width = base->width, channels = base->channels;
    const size_t step = 1 + base->height / (CELLS * CELL_ROWS);
    struct focus_brightness *grown =
        array_grow(store->brightness, base->pictures, sizeof *grown, "the brightness of pictures", error);
    if (!grown)
        return STATUS_FAILED;
    store->brightness = grown;
    struct focus_brightness *brightness = &grown[base->pictures];
    *brightness = (struct focus_brightness){.factor = 1};
    double pairs = 0;
    for (size_t y = 0; y < base->height; y += step) {
        const size_t row = y * CELLS / base->height * CELLS;
        merge_values(base, samples, y * width, width, store->row);
        double before = NAN;
        for (size_t x = 0; x < width; x++) {
            const double *pixel = store->row + x * channels;
            if (base->coverage && !merge_is_covered(base, pixel)) {
                before = NAN;
                continue;
            }
            const size_t cell = row + x * CELLS / width;
            double sum = 0;
            for (size_t c = 0; c < channels - base->alpha; c++)
                sum += pixel[c];
            brightness->checksums[cell] += (double)(y * width + x + 1);
            brightness->sums[cell] += sum;
            if (!isnan(before)) {
                brightness->detail += fabs(sum - before);
                pairs++;
            }
            before = sum;
        }
    }
    brightness->detail /= pairs;
    return merge_store_add(state, run, samples, error);
}

/* A cell in which two pictures cover the same pixels. */
struct focus_ratio {
    double ratio, weight; /* weight: brightness of the darker one */
};

static int focus_compare(const void *a, const void *b)
{
    const double x = ((const struct focus_ratio *)a)->ratio, y = ((const struct focus_ratio *)b)->ratio;
    return (x > y) - (x < y);
}

/* Returns the ratio of a picture's brightness to the first one's: the median of the cells' ratios, weighted
 * by brightness. Returns 1 if the light did not change. */
static double focus_ratio_of(const struct focus_brightness *first, const struct focus_brightness *other)
{
    struct focus_ratio ratios[CELLS * CELLS];
    size_t count = 0;
    double total = 0, sum = 0, quartiles[3] = {1, 1, 1};
    for (size_t i = 0; i < CELLS * CELLS; i++) {
        const double a = first->sums[i], b = other->sums[i];
        if (first->checksums[i] != other->checksums[i] || !(a > 0 && b > 0 && isfinite(a) && isfinite(b)))
            continue; /* the pictures cover different pixels, or the cell is black */
        ratios[count] = (struct focus_ratio){b / a, fmin(a, b)};
        total += ratios[count++].weight;
    }
    qsort(ratios, count, sizeof *ratios, focus_compare);
    for (size_t i = 0, next = 0; i < count && next < 3; i++)
        for (sum += ratios[i].weight; next < 3 && 4 * sum >= (double)(next + 1) * total; next++)
            quartiles[next] = ratios[i].ratio;
    const bool is_due_to_light = quartiles[2] <= MAX_SPREAD * quartiles[0] && quartiles[1] <= MAX_RATIO &&
                                 quartiles[1] * MAX_RATIO >= 1;
    return is_due_to_light && fabs(quartiles[1] - 1) > MIN_CHANGE ? quartiles[1] : 1;
}

/* Reads `count` pixels of a picture from the file, from pixel `first` on. */
static enum status focus_fetch(const struct merge_store *store, int picture, size_t first, size_t count,
                               void *to, struct error *error)
{
    const size_t size = count * store->pixel_size;
    const off_t offset = (off_t)((size_t)picture * store->picture_size + first * store->pixel_size);
    errno = 0;
    return pread(fileno(store->file), to, size, offset) == (ssize_t)size
               ? STATUS_OK
               : merge_store_fail(store, "read", error);
}

/* Missing pixels of a row that are less than this apart are read at once. */
enum { FILL_GAP = 64 };

/* Replaces the missing pixels (NaN) in columns [begin, end) of a row, for focus_fill. */
static enum status focus_fill_span(const struct merge_store *store, int picture, int y, size_t begin,
                                   size_t end, void *other, float *to, size_t plane, struct error *error)
{
    const struct merge_base *base = &store->base;
    const size_t channels = base->channels;
    const int fullest = (int)store->fullest, step = picture < fullest ? 1 : -1;
    double pixel[4]; /* images have at most four channels */
    bool is_missing = true;
    for (int i = picture; is_missing && i != fullest;) {
        i += step;
        if (focus_fetch(store, i, (size_t)y * base->width + begin, end - begin, other, error) != STATUS_OK)
            return STATUS_FAILED;
        is_missing = false;
        for (size_t x = begin; x < end; x++) {
            if (!isnan(to[x]))
                continue;
            merge_values(base, other, x - begin, 1, pixel);
            const bool covers = merge_is_covered(base, pixel);
            is_missing = is_missing || !covers;
            for (size_t c = 0; covers && c < channels; c++)
                to[c * plane + x] =
                    (float)(pixel[c] * (base->alpha && c + 1 == channels ? 1 : store->brightness[i].factor));
        }
    }
    for (size_t x = begin; is_missing && x < end; x++)
        for (size_t c = channels; isnan(to[x]) && c-- > 0;)
            to[c * plane + x] = 0;
    return STATUS_OK;
}

/* Fills missing pixels of a row, as the border of missing pixels would look like detail. Tries one picture
 * after another, from the neighbour up to the picture with the most covered pixels (store->fullest), until
 * one covers the pixel. If none does, the pixel is 0. `samples` is the picture's row; `other` has room for a
 * row. `to` is the first channel's row; other channels follow at a distance of `plane`.
 *
 * The neighbour differs least in focus. Pixels of the fullest picture made the borders visible: near them the
 * PSNR was 0.4 dB less. Tried and lost: adding the difference at the border, fading out over 16 pixels,
 * replicated or mirrored (1.1 dB less), or over 4 pixels (0.1 dB less). */
static enum status focus_fill(const struct merge_store *store, int picture, int y, const void *samples,
                              void *other, float *to, size_t plane, struct error *error)
{
    const struct merge_base *base = &store->base;
    const size_t width = base->width;
    const uint32_t *counts = base->coverage + (size_t)y * width;
    double pixel[4];
    /* Mark missing pixels by NaN. */
    for (size_t x = 0; x < width; x++) {
        if (counts[x] == base->pictures)
            continue;
        merge_values(base, samples, x, 1, pixel);
        to[x] = merge_is_covered(base, pixel) ? to[x] : NAN;
    }
    for (size_t begin = 0, end; begin < width; begin = end) {
        end = begin + 1;
        if (!isnan(to[begin]))
            continue;
        for (size_t x = end; x < width && x < end + FILL_GAP; x++)
            end = isnan(to[x]) ? x + 1 : end;
        if (focus_fill_span(store, picture, y, begin, end, other, to, plane, error) != STATUS_OK)
            return STATUS_FAILED;
    }
    return STATUS_OK;
}

/* Loads rows of a picture for focus_merge. */
static enum status focus_load(void *context, int picture, struct interval rows, float *to, size_t pitch,
                              size_t spacing, struct error *error)
{
    struct merge_store *store = context;
    const struct merge_base *base = &store->base;
    const size_t width = base->width, channels = base->channels, row = store->pixel_size * width;
    const size_t count = (size_t)(rows.end - rows.begin);
    /* Keep the memory for the next rows: its page faults cost more than reading. */
    if (store->piece_length < count + 1) {
        free(store->piece);
        store->piece_length = 0;
        store->piece = allocate((count + 1) * row, "rows of a picture", error);
        if (!store->piece)
            return STATUS_FAILED;
        store->piece_length = count + 1;
    }
    unsigned char *other = store->piece + count * row;
    enum status status =
        focus_fetch(store, picture, (size_t)rows.begin * width, count * width, store->piece, error);
    for (size_t y = 0; status == STATUS_OK && y < count; y++) {
        const unsigned char *samples = store->piece + y * row;
        merge_values(base, samples, 0, width, store->row);
        for (size_t c = 0; c < channels; c++) {
            const double factor = base->alpha && c + 1 == channels ? 1 : store->brightness[picture].factor;
            float *own = to + (c * spacing + y) * pitch;
            for (size_t x = 0; x < width; x++)
                own[x] = (float)(store->row[x * channels + c] * factor);
        }
        if (base->coverage)
            status = focus_fill(store, picture, rows.begin + (int)y, samples, other, to + y * pitch,
                                spacing * pitch, error);
    }
    return status;
}

/* Stores rows of the result. Alpha is at least 0.001, as the division by it amplifies rounding errors. */
static enum status focus_store(void *context, struct interval rows, const float *from, size_t pitch,
                               size_t spacing, struct error *error)
{
    struct merge_store *store = context;
    const struct merge_base *base = &store->base;
    const size_t channels = base->channels, count = (size_t)(rows.end - rows.begin);
    (void)error;
    for (size_t y = 0; y < count; y++)
        for (size_t x = 0; x < base->width; x++)
            for (size_t c = 0; c < channels; c++) {
                const float value = from[(c * spacing + y) * pitch + x];
                const bool is_alpha = base->alpha && c + 1 == channels;
                store->sharp[(((size_t)rows.begin + y) * base->width + x) * channels + c] =
                    is_alpha ? fminf(fmaxf(value, 1e-3F), 1) : value;
            }
    return STATUS_OK;
}

/* Stores the index of the sharpest picture of each block of 2 x 2 pixels in the depth map. Indices become
 * samples from 0 to 65535. */
static enum status focus_store_sharpest(void *context, struct interval rows, const float *from, size_t pitch,
                                        struct error *error)
{
    struct merge_store *store = context;
    const struct merge_base *base = &store->base;
    const float step = 65535 / fmaxf((float)base->pictures - 1, 1);
    (void)error;
    for (size_t y = 2 * (size_t)rows.begin; y < 2 * (size_t)rows.end && y < base->height; y++)
        for (size_t x = 0; x < base->width; x++)
            store->depth_map[y * base->width + x] =
                (uint16_t)(from[(y / 2 - (size_t)rows.begin) * pitch + x / 2] * step + 0.5F);
    return STATUS_OK;
}

/* Writes the depth map, cropped like the result. */
static enum status focus_write_depth(const struct merge_store *store, struct error *error)
{
    const struct merge_base *base = &store->base;
    const struct writer_options coding = {.format = format_by_path(store->depth_path),
                                          .compression = COMPRESSION_PRESET_DEFAULT,
                                          .spool_folder = store->folder};
    struct image_info info = {
        .width = (uint32_t)base->columns, .height = (uint32_t)base->rows, .channels = 1};
    struct writer *writer = NULL;
    info.type = format_sample_type(coding.format, SAMPLE_UINT16);
    enum status status = writer_open(store->depth_path, &coding, &writer, error);
    if (status == STATUS_OK)
        status = writer_begin_page(writer, &info, error);
    unsigned char *row = allocate(row_size(&info), "a row of the map", error);
    for (size_t y = 0; status == STATUS_OK && row && y < base->rows; y++) {
        const uint16_t *from = store->depth_map + (base->top + y) * base->width + base->left;
        for (size_t x = 0; x < base->columns; x++)
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

/* Returns pixels of the merged picture. */
static enum status focus_pixels(void *state, size_t first, size_t count, double *pixels, struct error *error)
{
    const struct merge_store *store = state;
    const size_t channels = store->base.channels;
    (void)error;
    for (size_t i = 0; i < count * channels; i++)
        pixels[i] = (double)store->sharp[first * channels + i];
    return STATUS_OK;
}

/* Merges the pictures into store->sharp. Crops the result and writes the depth map if the options say so. */
static enum status focus_finish(void *state, struct run *run, struct merge_result *result,
                                struct error *error)
{
    struct merge_store *store = state;
    const struct merge_base *base = &store->base;
    struct focus_pictures pictures = {.shape = {.kind = KIND_IMAGE,
                                                .width = (int)base->width,
                                                .height = (int)base->height,
                                                .channels = (int)base->channels,
                                                .images = 1,
                                                .alpha = base->alpha},
                                      .count = (int)base->pictures,
                                      .noise = store->noise,
                                      .context = store,
                                      .load = focus_load,
                                      .store = focus_store,
                                      .store_sharpest = store->depth_path ? focus_store_sharpest : NULL};
    store->sharp = allocate(base->width * base->height * base->channels * sizeof *store->sharp,
                            "the merged picture", error);
    if (store->depth_path)
        store->depth_map =
            allocate(base->width * base->height * sizeof *store->depth_map, "the map of a stack", error);
    /* Find ratios and factors. Multiplied by its factor, each picture has the mean brightness of all. */
    double mean = 0, least = HUGE_VAL;
    for (size_t i = 0; i < base->pictures; i++) {
        store->brightness[i].ratio = focus_ratio_of(&store->brightness[0], &store->brightness[i]);
        mean += store->brightness[i].ratio / (double)base->pictures;
    }
    /* Find the smoothest picture, which has the least detail after the factors are applied, and the largest
     * detail of any picture. Without neighbouring pixels it is the first picture. */
    for (int i = 0; i < pictures.count; i++) {
        store->brightness[i].factor = mean / store->brightness[i].ratio;
        const double detail = store->brightness[i].detail * store->brightness[i].factor;
        if (detail < least) {
            least = detail;
            pictures.smoothest = i;
        }
        pictures.detail = fmax(pictures.detail, detail);
    }
    if (!store->sharp || (store->depth_path && !store->depth_map) ||
        focus_merge(run, &pictures, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Crop to pixels that all pictures cover: other pixels are blurred if the sharp picture lacks them. */
    const bool is_cropped = base->coverage && base->edges == MERGE_EDGES_CROP;
    for (size_t i = 0; is_cropped && i < base->width * base->height; i++)
        base->coverage[i] = base->coverage[i] == base->pictures;
    enum status status = merge_base_finish(&store->base, focus_pixels, result, error);
    return status == STATUS_OK && store->depth_path ? focus_write_depth(store, error) : status;
}

const struct merge merge_focus = {.begin = merge_store_begin,
                                  .add = focus_add,
                                  .finish = focus_finish,
                                  .read = merge_base_read,
                                  .free = merge_store_free};
