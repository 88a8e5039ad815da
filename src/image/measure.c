/* Measures a page in one pass over its rows: the range of values and their histogram, samples at the ends of
 * the scale, bits that are not the same in all samples, and the Laplacian, over a ring of three rows of
 * brightness.
 *
 * The variance of the Laplacian measures focus: J. L. Pech-Pacheco et al., ICPR 2000. --info divides it by
 * the variance that the noise alone would give, so that exposure and gain do not matter: a blurred, noisy
 * picture has about 1. */
#include "image/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums over the pixels read so far. */
struct sums {
    uint64_t counted[4], black[4], white[4], finite[4];
    double smallest[4], largest[4], total[4]; /* of finite samples */
    uint64_t count;                           /* pixels with a finite Laplacian */
    double sum, squares;                      /* of the Laplacian */
    uint32_t varying;                         /* bits that differ from the first pixel */
    bool is_multiple;                         /* all samples are multiples of 257 */
};

/* Adds a row, whose values are fractions of full scale, and sets its brightness: the sum of its colours
 * divided by the square root of their number (page_measures.laplacian). The colours of a fully transparent
 * pixel do not count; its brightness is NaN. */
static void measure_row(struct sums *sums, const struct image_info *info, const double *values,
                        uint64_t histogram[4][HISTOGRAM_BINS], double *brightness)
{
    const size_t channels = (size_t)info->channels, colours = channels - info->alpha;
    const double full = sample_full_scale(info->type),
                 low = sample_is_signed(info->type) ? -(full + 1) / full : 0,
                 scale = 1 / sqrt((double)colours);
    /* An integer fills one unit of the scale, and is counted at its middle. */
    const double unit = sample_is_float(info->type) ? 0 : 1 / full, bins = HISTOGRAM_BINS / (1 + unit - low);
    for (size_t x = 0; x < info->width; x++) {
        const double *pixel = values + x * channels;
        const bool is_visible = !info->alpha || pixel[colours] != 0;
        double sum = is_visible ? 0 : (double)NAN;
        for (size_t c = is_visible ? 0 : colours; c < channels; c++) {
            sums->counted[c]++;
            sums->black[c] += pixel[c] <= low;
            sums->white[c] += pixel[c] >= 1;
            if (isfinite(pixel[c])) {
                sums->smallest[c] = fmin(sums->smallest[c], pixel[c]);
                sums->largest[c] = fmax(sums->largest[c], pixel[c]);
                sums->total[c] += pixel[c];
                sums->finite[c]++;
                const double bin = (pixel[c] + unit / 2 - low) * bins;
                histogram[c][bin < 0 ? 0 : bin < HISTOGRAM_BINS ? (int)bin : HISTOGRAM_BINS - 1]++;
            }
            sum += c < colours ? pixel[c] : 0;
        }
        brightness[x] = sum * scale;
    }
}

enum status measure_page(struct reader *reader, struct page_measures *measures, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    const size_t samples = (size_t)info->width * (size_t)info->channels, width = info->width;
    struct sums sums = {.is_multiple = true,
                        .smallest = {NAN, NAN, NAN, NAN}, /* which fmin and fmax ignore */
                        .largest = {NAN, NAN, NAN, NAN}};
    double *values = allocate((samples + 3 * width) * sizeof(double) + row_size(info), "rows", error);
    if (!values)
        return STATUS_FAILED;
    enum status status = STATUS_OK;
    double *ring = values + samples;
    void *row = ring + 3 * width;
    uint16_t first[4] = {0}; /* samples of the first pixel */
    memset(measures->histogram, 0, sizeof measures->histogram);
    for (uint32_t y = 0; y < info->height; y++) {
        status = reader_read(reader, row, row_size(info), 1, error);
        if (status != STATUS_OK)
            break;
        sample_values(info->type, row, 0, samples, values);
        measure_row(&sums, info, values, measures->histogram, ring + y % 3 * width);
        const double *above = ring + (y + 1) % 3 * width, *middle = ring + (y + 2) % 3 * width,
                     *below = ring + y % 3 * width;
        /* The Laplacian of the middle of three rows of brightness. */
        for (size_t x = 1; y >= 2 && x + 1 < width; x++) {
            const double value = 4 * middle[x] - middle[x - 1] - middle[x + 1] - above[x] - below[x];
            if (!isfinite(value))
                continue;
            sums.sum += value;
            sums.squares += value * value;
            sums.count++;
        }
        if (info->type != SAMPLE_UINT16)
            continue;
        const uint16_t *words = row;
        if (y == 0)
            memcpy(first, words, (size_t)info->channels * sizeof *first);
        for (size_t i = 0; i < samples; i++) {
            sums.varying |= (uint32_t)(words[i] ^ first[i % (size_t)info->channels]);
            sums.is_multiple = sums.is_multiple && words[i] % 257 == 0;
        }
    }
    free(values);
    const double mean = sums.sum / (double)sums.count, full = sample_full_scale(info->type);
    for (int c = 0; c < 4; c++) {
        measures->smallest[c] = full * sums.smallest[c];
        measures->largest[c] = full * sums.largest[c];
        measures->mean[c] = full * sums.total[c] / (double)sums.finite[c];
        measures->black[c] = (double)sums.black[c] / fmax((double)sums.counted[c], 1);
        measures->white[c] = (double)sums.white[c] / fmax((double)sums.counted[c], 1);
    }
    measures->laplacian = sums.squares / (double)sums.count - mean * mean;
    int unused = 0;
    while (sums.varying != 0 && !(sums.varying >> unused & 1))
        unused++;
    measures->real_bits = sums.varying == 0 ? 0 : sums.is_multiple ? 8 : 16 - unused;
    measures->is_replicated = sums.is_multiple && measures->real_bits > 0;
    return status;
}
