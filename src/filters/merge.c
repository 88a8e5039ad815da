/* The shared part of merges: coverage, the rows of the result, and statistics of the samples of a pixel.
 *
 * A quickselect finds medians (C. Hoare, "Algorithm 65: find", CACM 1961); the median does not depend on the
 * order of the values. The crop is the largest rectangle of covered pixels. It is found row by row: the
 * number of covered pixels from the row upwards, for each column, is a histogram, and the largest rectangle
 * in a histogram is found by the known algorithm with a stack of columns of rising heights. */
#include "filters/merge.h"

#include <math.h>
#include <stdlib.h>

/* Approximate number of pixels of the result that are computed together: their doubles fit the cache. The
 * whole result as doubles would be 144 MB for 6 megapixels, and the page faults of its first writes took as
 * long as reading three pictures. */
enum { BLOCK_PIXELS = 1 << 15 };

enum status merge_base_make(struct merge_base *base, const struct merge_input *input, int edges,
                            struct error *error)
{
    const struct image_info *info = input->info;
    *base = (struct merge_base){.width = info->width,
                                .height = info->height,
                                .channels = (size_t)info->channels,
                                .alpha = info->alpha,
                                .type = info->type,
                                .file_type = input->samples,
                                .edges = edges};
    if (!info->alpha && !sample_is_float(info->type))
        return STATUS_OK;
    base->coverage =
        allocate_zeroed(base->width * base->height, sizeof *base->coverage, "the coverage of a stack", error);
    return base->coverage ? STATUS_OK : STATUS_FAILED;
}

void merge_base_free(struct merge_base *base)
{
    free(base->coverage);
    free(base->files);
    free(base->pixels);
}

enum status merge_add_file(void *state, struct reader *reader, struct error *error)
{
    struct merge_base *base = state; /* the state begins with its base */
    struct merge_file *files =
        array_grow(base->files, base->file_count, sizeof *files, "the files of a stack", error);
    if (!files)
        return STATUS_FAILED;
    base->files = files;
    files[base->file_count++] = (struct merge_file){.picture = base->pictures++, .reader = reader};
    return STATUS_OK;
}

void merge_values(const struct merge_base *base, const void *samples, size_t first, size_t count,
                  double *values)
{
    const size_t channels = base->channels;
    sample_values(base->type, samples, first * channels, count * channels, values);
    if (!base->alpha)
        return;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c + 1 < channels; c++)
            values[i * channels + c] *= values[(i + 1) * channels - 1];
}

bool merge_is_covered(const struct merge_base *base, const double *pixel)
{
    for (size_t c = 0; c < base->channels; c++)
        if (isnan(pixel[c]) || (base->needs_finite && isinf(pixel[c])))
            return false;
    return !base->alpha || pixel[base->channels - 1] > 0;
}

size_t merge_count_row(struct merge_base *base, const double *row, size_t y)
{
    size_t covered = 0;
    for (size_t x = 0; x < base->width; x++) {
        const bool covers = merge_is_covered(base, row + x * base->channels);
        base->coverage[y * base->width + x] += covers;
        covered += covers;
    }
    return covered;
}

/* ---------------------------------------------------------------- the result */

/* Sets the result to the largest rectangle of covered pixels. If several are equally large, chooses the one
 * that ends in the uppermost row. */
static enum status crop_to_covered(struct merge_base *base, struct error *error)
{
    const size_t width = base->width;
    size_t *heights = allocate_zeroed(2 * (width + 1), sizeof *heights, "the crop of a stack", error);
    size_t best = 0;
    if (!heights)
        return STATUS_FAILED;
    /* A stack of columns with rising heights. heights[width], always 0, empties it at the end of a row. */
    size_t *rising = heights + width + 1;
    for (size_t y = 0; y < base->height; y++) {
        size_t stacked = 0;
        for (size_t x = 0; x < width; x++)
            heights[x] = base->coverage[y * width + x] > 0 ? heights[x] + 1 : 0;
        for (size_t x = 0; x <= width; x++) {
            while (stacked > 0 && heights[rising[stacked - 1]] >= heights[x]) {
                const size_t height = heights[rising[--stacked]];
                const size_t left = stacked > 0 ? rising[stacked - 1] + 1 : 0;
                if (height * (x - left) <= best)
                    continue;
                best = height * (x - left);
                base->left = left;
                base->top = y + 1 - height;
                base->columns = x - left;
                base->rows = height;
            }
            rising[stacked++] = x;
        }
    }
    free(heights);
    return best > 0 ? STATUS_OK : fail(error, STATUS_FAILED, "edges=crop leaves no pixel");
}

enum status merge_base_finish(struct merge_base *base, merge_pixels *compute, struct merge_result *result,
                              struct error *error)
{
    base->compute = compute;
    base->columns = base->width;
    base->rows = base->height;
    bool all_covered = true;
    for (size_t i = 0; base->coverage && i < base->width * base->height; i++)
        all_covered = all_covered && base->coverage[i] > 0;
    if (!all_covered && base->edges == MERGE_EDGES_CROP && crop_to_covered(base, error) != STATUS_OK)
        return STATUS_FAILED;
    /* Floats need no alpha, as NaN is a missing value. */
    base->adds_alpha =
        !all_covered && base->edges == MERGE_EDGES_FILL && !base->alpha && !sample_is_float(base->file_type);
    if (base->adds_alpha && base->channels % 2 == 0)
        return fail(error, STATUS_FAILED,
                    "no picture covers some pixels, and these cannot become transparent, as the last channel "
                    "is not alpha; edges=crop cuts them off");
    *result = (struct merge_result){.left = (int)base->left,
                                    .top = (int)base->top,
                                    .width = (int)base->columns,
                                    .height = (int)base->rows,
                                    .channels = (int)base->channels + base->adds_alpha,
                                    .alpha = base->alpha || base->adds_alpha};
    return STATUS_OK;
}

enum status merge_base_read(void *state, float *out, int row_count, struct error *error)
{
    struct merge_base *base = state;
    const size_t channels = base->channels, columns = base->columns;
    const size_t colours = channels - base->alpha, out_channels = channels + base->adds_alpha;
    const size_t most = BLOCK_PIXELS > columns ? BLOCK_PIXELS / columns : 1; /* rows at once */
    if (!base->pixels)
        base->pixels = allocate(most * columns * channels * sizeof *base->pixels, "rows of a stack", error);
    enum status status = base->pixels ? STATUS_OK : STATUS_FAILED;
    for (size_t left = (size_t)row_count, rows; status == STATUS_OK && left > 0; left -= rows) {
        rows = left < most ? left : most;
        const size_t first = (base->top + base->next_row) * base->width + base->left;
        /* Unless the sides are cropped, rows are contiguous and computed at once. */
        const size_t count = rows * columns, at_once = columns == base->width ? count : columns;
        for (size_t done = 0; status == STATUS_OK && done < count; done += at_once)
            status = base->compute(state, first + done / columns * base->width, at_once,
                                   base->pixels + done * channels, error);
        if (status == STATUS_OK && !base->coverage) { /* all pixels are covered, and there is no alpha */
            for (size_t i = 0; i < count * channels; i++)
                *out++ = (float)base->pixels[i];
        }
        /* Otherwise colour is divided by alpha. */
        for (size_t i = 0; status == STATUS_OK && base->coverage && i < count; i++, out += out_channels) {
            const double *pixel = base->pixels + i * channels;
            const bool is_covered = base->coverage[first + i / columns * base->width + i % columns] > 0;
            const bool is_transparent = !is_covered && out_channels > colours;
            const double alpha = base->alpha ? pixel[channels - 1] : 1;
            for (size_t c = 0; c < colours; c++)
                out[c] = (float)(is_transparent ? 0 : !is_covered ? (double)NAN : pixel[c] / alpha);
            if (out_channels > colours)
                out[colours] = (float)(is_transparent ? 0 : alpha);
        }
        base->next_row += rows;
    }
    return status;
}

/* ---------------------------------------------------------------- statistics */

/* Reorders the values so that the one at `index` is where sorting would put it, and no value before it is
 * larger. */
static void select_value(double *values, ptrdiff_t count, ptrdiff_t index)
{
    ptrdiff_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i > j)
                break;
            const double swapped = values[i];
            values[i++] = values[j];
            values[j--] = swapped;
        }
        /* Values up to j are at most the pivot, values from i on at least the pivot; any between equal it. */
        if (index > j && index < i)
            return;
        low = index >= i ? i : low;
        high = index <= j ? j : high;
    }
}

double merge_median(double *values, size_t count)
{
    if (count == 0)
        return (double)NAN;
    const size_t middle = count / 2;
    select_value(values, (ptrdiff_t)count, (ptrdiff_t)middle);
    if (count % 2 == 1)
        return values[middle];
    double below = values[0];
    for (size_t i = 1; i < middle; i++)
        below = values[i] > below ? values[i] : below;
    return (below + values[middle]) / 2;
}

double merge_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

size_t merge_reject(double *values, size_t count, double sigma, double *scratch)
{
    for (int pass = 0; pass < 2 && count > 2; pass++) {
        const double mean = merge_mean(values, count);
        double squares = 0;
        for (size_t i = 0; i < count; i++) {
            squares += (values[i] - mean) * (values[i] - mean);
            scratch[i] = values[i];
        }
        const double limit = sigma * sqrt(squares / (double)count), median = merge_median(scratch, count);
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (!(fabs(values[i] - median) > limit))
                values[kept++] = values[i];
        if (kept == 0) /* sigma is 1, and rounding put all values beyond the limit */
            break;
        count = kept;
    }
    return count;
}
