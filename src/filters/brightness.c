#include "filters/brightness.h"

#include "filters/reduce.h"
#include "image/reader.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_PIXELS = 3 << 19, TEXEL = 4 };

/* ITU-R BT.601's, of display values. */
static const double RED = 0.299, GREEN = 0.587, BLUE = 0.114;

int brightness_reduction(int width, int height)
{
    int reduction = 1;
    while (reduction < MAX_FACTOR && (double)width * height > (double)MOST_PIXELS * reduction * reduction)
        reduction *= 2;
    return reduction;
}

/* Colour is multiplied by alpha, which counts. What is not a number, or next to transparent, does not. */
static void set_pixel(struct grey *grey, size_t i, const double *pixel, int channels, bool alpha)
{
    int colours = channels - alpha;
    double weight = alpha ? pixel[channels - 1] : 1;
    double value = colours < 3 ? pixel[0] : RED * pixel[0] + GREEN * pixel[1] + BLUE * pixel[2];
    bool counts = weight > 1e-3 && isfinite(value) && fabs(value) < 1e15;
    grey->values[i] = counts ? (float)(value / weight) : 0;
    grey->weights[i] = counts ? (float)fmin(weight, 1) : 0;
}

static enum status read_rows(struct reader *reader, struct grey *grey, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    size_t width = info->width, channels = (size_t)info->channels;
    void *row = allocate(row_size(info), "a row of the reference", error);
    enum status status = row ? STATUS_OK : STATUS_FAILED;
    for (size_t y = 0; status == STATUS_OK && y < info->height; y++) {
        status = reader_read(reader, row, row_size(info), 1, error);
        for (size_t x = 0; status == STATUS_OK && x < width; x++) {
            double pixel[TEXEL] = {0};
            for (size_t c = 0; c < channels; c++)
                pixel[c] = sample_value(info->type, row, x * channels + c);
            for (size_t c = 0; info->alpha && !info->premultiplied && c + 1 < channels; c++)
                pixel[c] *= pixel[channels - 1];
            set_pixel(grey, y * width + x, pixel, info->channels, info->alpha);
        }
    }
    free(row);
    return status;
}

enum status brightness_read(const char *path, const struct settings *settings, struct grey *grey,
                            int *reduction, int *width, int *height, struct error *error)
{
    const struct reader_options options = {.page = 1,
                                           .upright = settings->auto_orient,
                                           .max_pixels = settings->max_pixels,
                                           .jobs = settings->jobs,
                                           .spool = settings->environment.spool};
    struct reader *reader;
    enum status status = reader_open(path, &options, &reader, error);
    if (status != STATUS_OK)
        return status;
    const struct image_info *info = reader_info(reader);
    *width = (int)info->width;
    *height = (int)info->height;
    *reduction = brightness_reduction(*width, *height);
    status = info->type == SAMPLE_COMPLEX
                 ? fail(error, STATUS_FAILED, "%s: holds coefficients, not a picture", path)
                 : grey_make(grey, *width, *height, error);
    if (status == STATUS_OK)
        status = read_rows(reader, grey, error);
    for (int by = 1; status == STATUS_OK && by < *reduction; by *= 2)
        status = grey_halve(grey, error);
    reader_close(reader);
    return status;
}

/* As brightness_read does it, but at once: the triangle that is two pixels of the result wide. */
static enum status reduce(struct run *run, const struct value *image, int reduction, struct value *small,
                          struct error *error)
{
    float weights[MAX_RESAMPLE_WEIGHTS];
    struct reduction by = {.weights = weights, .stride = reduction};
    by.taps = reduce_weights(RESAMPLE_BILINEAR, GRID_CENTERS, reduction, 1, weights, &by.start);
    small->shape = image->shape;
    small->shape.width = divided(image->shape.width, reduction);
    small->shape.height = divided(image->shape.height, reduction);
    small->rows = rows_whole(small->shape.height);
    return reduce_image(run, &by, image, small, error);
}

/* The curve of sRGB (IEC 61966-2-1). */
static double to_display(double light)
{
    return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

static void encode_pixel(double *pixel, int channels, bool alpha)
{
    double weight = alpha ? pixel[channels - 1] : 1;
    for (int c = 0; c < channels - alpha; c++)
        pixel[c] = weight > 0 ? weight * to_display(pixel[c] / weight) : 0;
}

/* Planes one after the other, or texels. */
static enum status fetch(struct run *run, const struct shape *shape, const struct planes *planes, bool linear,
                         struct grey *grey, struct error *error)
{
    const bool texels = planes->memory == MEMORY_IMAGE;
    const struct geometry at = planes_geometry(planes);
    const size_t width = (size_t)at.width, height = (size_t)at.rows, spacing = (size_t)at.spacing;
    const size_t pitch = texels ? width : (size_t)at.pitch;
    float *samples = allocate(planes_bytes(planes), "the picture to be aligned", error);
    enum status status = samples ? planes_read(run->device, planes, samples, error) : STATUS_FAILED;
    for (size_t y = 0; status == STATUS_OK && y < height; y++)
        for (size_t x = 0; x < width; x++) {
            double pixel[TEXEL] = {0};
            for (size_t c = 0; c < (size_t)shape->channels; c++)
                pixel[c] =
                    (double)samples[texels ? (y * pitch + x) * TEXEL + c : (c * spacing + y) * pitch + x];
            if (linear)
                encode_pixel(pixel, shape->channels, shape->alpha);
            set_pixel(grey, y * width + x, pixel, shape->channels, shape->alpha);
        }
    free(samples);
    return status;
}

enum status brightness_fetch(struct run *run, const struct value *image, int reduction, bool linear,
                             struct grey *grey, struct error *error)
{
    struct value small = {.shape = image->shape};
    enum status status = reduction > 1 ? reduce(run, image, reduction, &small, error) : STATUS_OK;
    const struct planes *planes = reduction > 1 ? &small.planes[0] : &image->planes[0];
    bool imaginary = device_is_imaginary(run->device);
    if (status == STATUS_OK && !imaginary)
        status = grey_make(grey, planes->width, planes->rows, error);
    if (status == STATUS_OK && !imaginary)
        status = fetch(run, &image->shape, planes, linear, grey, error);
    value_release(run, &small);
    return status;
}
