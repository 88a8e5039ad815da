/* Brightness of pictures: luma of display values, reduced by a power of two up to 64, to at most MAX_PIXELS
 * if possible.
 *
 *     file           read a row ─▶ luma ─▶ halve ─▶ … ─▶ halve ─▶ gray plane
 *     device image   reduce on the device ─▶ download ─▶ luma ─▶ gray plane
 *
 * Rows of a file are halved while they are decoded. Only a picture that must be turned is completely in
 * memory. Each halving filters by a triangle two of its result's pixels wide. Several halvings together are
 * nearly one filter by a triangle two of the final pixels wide.
 *
 * Known limit: hot pixels are suppressed only after the reduction (levels.c), which has spread them in large
 * pictures. As they do not move, they may outweigh a true shift of a few pixels. */
#include "register/registration.h"

#include "base/exact.h"
#include "base/threads.h"
#include "base/timing.h"
#include "filters/product.h"
#include "image/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PIXELS = 3 << 19, /* of the result: 1.6 million */
    TEXEL = 4             /* floats of a texel; no pixel has more channels */
};

/* Luma of display values (ITU-R BT.601). */
static const double RED = 0.299, GREEN = 0.587, BLUE = 0.114;

/* Values above this magnitude, and NaN, get a weight of 0. So sums of squares fit a float. */
static const double MAX_MAGNITUDE = 1e15;

/* Pixels of a row that are converted at a time: 8 KB on the stack. */
enum { PIXELS_AT_ONCE = 256 };

/* Converts a row of samples. `linear`: they are linear light. A value is the luma of three colours, otherwise
 * the first channel, divided by alpha; its weight is alpha, clipped to 1, or 1 without alpha. Alpha below
 * 0.001 counts as 0: the quotient would be mostly rounding. */
static void convert_row(const struct image_info *info, bool linear, const void *row, float *values,
                        float *weights)
{
    double pixels[PIXELS_AT_ONCE * TEXEL] = {0};
    const size_t width = info->width, channels = (size_t)info->channels;
    const bool needs_multiply = info->alpha && !info->premultiplied;
    for (size_t x = 0; x < width; x += PIXELS_AT_ONCE) {
        size_t count = PIXELS_AT_ONCE;
        if (count > width - x)
            count = width - x;
        sample_values(info->type, row, x * channels, count * channels, pixels);
        if (needs_multiply)
            for (size_t i = 0; i < count; i++)
                for (size_t c = 0; c + 1 < channels; c++)
                    pixels[i * channels + c] *= pixels[(i + 1) * channels - 1];
        for (size_t i = 0; linear && i < count; i++) { /* to premultiplied display values */
            double *pixel = pixels + i * channels;
            const double weight = info->alpha ? pixel[channels - 1] : 1;
            for (size_t c = 0; c < channels - info->alpha; c++)
                pixel[c] = weight > 0 ? weight * exact_srgb(pixel[c] / weight) : 0;
        }
        for (size_t i = 0; i < count; i++) {
            const double *pixel = pixels + i * channels;
            const double weight = info->alpha ? pixel[channels - 1] : 1;
            const double luma =
                channels - info->alpha < 3 ? pixel[0] : RED * pixel[0] + GREEN * pixel[1] + BLUE * pixel[2];
            const bool is_usable = weight > 1e-3 && fabs(luma / weight) < MAX_MAGNITUDE;
            values[x + i] = is_usable ? (float)(luma / weight) : 0;
            weights[x + i] = is_usable ? (float)fmin(weight, 1) : 0;
        }
    }
}

enum { MAX_HALVINGS = 6 };
_Static_assert(MAX_FACTOR == 1 << MAX_HALVINGS, "a reduction of 2^n takes n halvings");

/* The state of halving a file's rows several times while they are read. */
struct halver {
    struct reader *reader;
    struct image_info info; /* of the upright picture */
    unsigned char *samples; /* one row of the upright picture; owned */

    /* Only for a picture that must be turned. */
    unsigned char *stored; /* the whole picture as stored; owned. NULL: rows are read when they are needed */
    struct affine map;     /* from upright to stored pixels */
    uint32_t row;          /* next row of the upright picture */

    /* steps[0] halves the file's rows, steps[i] the result of steps[i - 1]. */
    struct halving {
        struct row_filter filter;
        struct gray_plane row; /* one source row */
        int rows_in, rows_out; /* number of rows so far */
    } steps[MAX_HALVINGS];
};

/* Reads the next row of the upright picture into halver->samples. */
static enum status read_upright_row(struct halver *halver, struct error *error)
{
    const struct image_info *info = &halver->info;
    if (!halver->stored)
        return reader_read(halver->reader, halver->samples, row_size(info), 1, error);

    /* Gather the row from the stored picture. */
    const size_t pixel = pixel_size(info), pitch = row_size(reader_info(halver->reader));
    const struct affine *map = &halver->map;
    const double y = halver->row++;
    for (uint32_t x = 0; x < info->width; x++) {
        const double stored_x = map->xx * x + map->xy * y + map->x,
                     stored_y = map->yx * x + map->yy * y + map->y;
        memcpy(halver->samples + x * pixel,
               halver->stored + (size_t)stored_y * pitch + (size_t)stored_x * pixel, pixel);
    }
    return STATUS_OK;
}

/* Computes the next row after `halvings` halvings. Calls itself for its source rows: three or fewer for the
 * first row of the result, two for each later one. */
static enum status next_row(struct halver *halver, int halvings, float *values, float *weights,
                            struct error *error)
{
    if (halvings == 0) {
        const enum status status = read_upright_row(halver, error);
        if (status == STATUS_OK)
            convert_row(&halver->info, false, halver->samples, values, weights);
        return status;
    }
    struct halving *step = &halver->steps[halvings - 1];
    for (; step->rows_in < row_filter_end(&step->filter, step->rows_out); step->rows_in++) {
        if (next_row(halver, halvings - 1, step->row.values, step->row.weights, error) != STATUS_OK)
            return STATUS_FAILED;
        row_filter_add(&step->filter, step->rows_in, step->row.values, step->row.weights);
    }
    row_filter_output(&step->filter, step->rows_out++, values, weights);
    return STATUS_OK;
}

/* Prepares the halving of a file. `info` describes the upright picture. If it `needs_turn` the file is read
 * here, as its last row may be the first one of the upright picture. The caller frees the halver's memory,
 * also on failure. */
static enum status halver_make(struct halver *halver, struct reader *reader, const struct image_info *info,
                               bool needs_turn, int halvings, struct error *error)
{
    const struct image_info *stored = reader_info(reader);
    int width = (int)info->width, height = (int)info->height;
    *halver = (struct halver){.reader = reader, .info = *info};
    halver->samples = allocate(row_size(info), "a row of the reference", error);
    enum status status = halver->samples ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK && needs_turn) {
        /* orientation_map counts from pixel corners, this file from pixel centres. */
        const struct affine corners =
            orientation_map(stored->metadata.orientation, stored->width, stored->height);
        halver->map = affine_move_origin(&corners, -0.5);
        halver->stored = allocate_zeroed(stored->height, row_size(stored), "the reference", error);
        status = halver->stored ? reader_read(reader, halver->stored, row_size(stored), stored->height, error)
                                : STATUS_FAILED;
    }
    for (int i = 0; status == STATUS_OK && i < halvings; i++) {
        struct halving *step = &halver->steps[i];
        status = gray_plane_make(&step->row, width, 1, error);
        if (status == STATUS_OK)
            status = row_filter_make(&step->filter, &gray_halving, width, height, error);
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    return status;
}

enum status brightness_read(const char *path, int page, const struct settings *settings,
                            struct gray_plane *gray, int *reduction, int *width, int *height,
                            struct error *error)
{
    struct reader_options options = settings_reader_options(settings);
    options.page = page;
    options.last_page = 0;
    struct reader *reader;
    enum status status = reader_open(path, &options, &reader, error);
    if (status != STATUS_OK)
        return status;
    struct image_info info = *reader_info(reader);
    /* The size of the upright picture. */
    const bool needs_turn = !settings->stored_orientation && info.metadata.orientation > 1;
    if (needs_turn && orientation_swaps_axes(info.metadata.orientation)) {
        info.width = reader_info(reader)->height;
        info.height = reader_info(reader)->width;
    }
    *width = (int)info.width;
    *height = (int)info.height;
    /* Halve until the result has at most MAX_PIXELS. */
    const double pixels = (double)*width * *height;
    int halvings = 0;
    while (halvings < MAX_HALVINGS && pixels > (double)MAX_PIXELS * (1 << 2 * halvings))
        halvings++;
    *reduction = 1 << halvings;
    /* With --page a coefficient file counts as any TIFF. */
    const bool is_lowpass = settings->pages.first == 0 && reader_has_coefficients(reader);
    status = info.type == SAMPLE_COMPLEX || is_lowpass
                 ? fail(error, STATUS_FAILED, "%s: contains wavelet coefficients, not a picture", path)
                 : gray_plane_make(gray, ceil_div(*width, *reduction), ceil_div(*height, *reduction), error);
    /* Fail the whole stack: with --inverse-wavelet the inputs themselves would not fail. */
    if (is_lowpass)
        error->scope = SCOPE_STACK;
    if (status == STATUS_OK) {
        struct halver halver;
        status = halver_make(&halver, reader, &info, needs_turn, halvings, error);
        for (size_t y = 0; status == STATUS_OK && y < (size_t)gray->height; y++) {
            const size_t at = y * (size_t)gray->width;
            status = next_row(&halver, halvings, gray->values + at, gray->weights + at, error);
        }
        for (int i = 0; i < halvings; i++) {
            gray_plane_free(&halver.steps[i].row);
            row_filter_free(&halver.steps[i].filter);
        }
        free(halver.samples);
        free(halver.stored);
    }
    reader_close(reader);
    return status;
}

/* ---------------------------------------------------------------- images on the device */

/* An image in host memory: planes one after the other, or texels of four channels. */
struct download {
    const float *samples;
    size_t pixel, row, plane; /* distances in floats */
    struct image_info info;   /* of a row of interleaved samples */
    bool linear;              /* samples are linear light */
    struct gray_plane *gray;  /* the result */
};

/* Converts a block of rows (for thread_pool_each). */
static enum status convert_block(void *context, int index, struct error *error)
{
    const struct download *download = context;
    const struct gray_plane *gray = download->gray;
    const struct interval rows = gray_plane_block(gray, index);
    const size_t width = (size_t)gray->width, channels = (size_t)download->info.channels;
    float *row = allocate(width * channels * sizeof *row, "a row of the picture", error);
    for (int y = rows.begin; row && y < rows.end; y++) {
        const float *from = download->samples + (size_t)y * download->row;
        const size_t at = (size_t)y * width;
        for (size_t c = 0; c < channels; c++)
            for (size_t x = 0; x < width; x++)
                row[x * channels + c] = from[c * download->plane + x * download->pixel];
        convert_row(&download->info, download->linear, row, gray->values + at, gray->weights + at);
    }
    free(row);
    return row ? STATUS_OK : STATUS_FAILED;
}

/* Downloads planes and converts them with all threads. */
static enum status convert_planes(struct run *run, struct thread_pool *workers, const struct shape *shape,
                                  const struct planes *planes, bool linear, struct gray_plane *gray,
                                  struct error *error)
{
    const bool texels = planes->memory == MEMORY_IMAGE;
    const struct geometry at = planes_geometry(planes);
    float *samples = allocate(planes_bytes(planes), "the picture to be aligned", error);
    struct download download = {.samples = samples,
                                .pixel = texels ? TEXEL : 1,
                                .row = texels ? (size_t)at.width * TEXEL : (size_t)at.pitch,
                                .plane = texels ? 1 : (size_t)at.plane_rows * (size_t)at.pitch,
                                .info = {.width = (uint32_t)gray->width,
                                         .channels = shape->channels,
                                         .alpha = shape->alpha,
                                         .premultiplied = true,
                                         .type = SAMPLE_FLOAT},
                                .linear = linear,
                                .gray = gray};
    enum status status = samples ? planes_read(run->device, planes, samples, error) : STATUS_FAILED;
    const double since = clock_seconds();
    if (status == STATUS_OK)
        status = thread_pool_each(workers, gray_plane_blocks(gray), convert_block, &download, error);
    run_add_host_time(run, PHASE_REGISTRATION, "brightness", since);
    free(samples);
    return status;
}

enum status brightness_fetch(struct run *run, struct thread_pool *workers, const struct value *image,
                             int reduction, bool linear, struct gray_plane *gray, struct error *error)
{
    struct value small = {.shape = image->shape};
    enum status status = STATUS_OK;
    if (reduction > 1) {
        /* A triangle two result pixels wide: nearly the filter of brightness_read. */
        const struct resize by = {.filter = RESIZE_BILINEAR, .from = reduction, .to = 1};
        struct axis x = {.samples = image->shape.width,
                         .outputs = ceil_div(image->shape.width, reduction),
                         .edge = run->edge,
                         .resize = by},
                    y = x;
        y.samples = image->shape.height;
        y.outputs = ceil_div(image->shape.height, reduction);
        small.rows = rows_full(y.outputs);
        small.shape.width = x.outputs;
        small.shape.height = y.outputs;
        status = product_image(run, &x, &y, &epilogue_copy, image, &small, error);
    }
    const struct planes *planes = reduction > 1 ? &small.planes[0] : &image->planes[0];
    if (status == STATUS_OK && !device_is_dry_run(run->device)) {
        status = gray_plane_make(gray, planes->width, planes->rows, error);
        if (status == STATUS_OK)
            status = convert_planes(run, workers, &image->shape, planes, linear, gray, error);
    }
    value_release(run, &small);
    return status;
}
