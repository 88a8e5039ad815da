#include "image/codec.h"
#include "image/reader.h"

#include <math.h>
#include <stdlib.h>

struct extent {
    double low, high;
};

static void take(struct extent *extent, double value)
{
    if (!isfinite(value))
        return;
    extent->low = fmin(extent->low, value);
    extent->high = fmax(extent->high, value);
}

/* Of a row; alpha says nothing of brightness. */
static void take_row(struct extent *extent, const struct image_info *info, const void *row)
{
    const size_t channels = (size_t)info->channels, colours = channels - info->alpha;
    for (size_t x = 0; x < info->width; x++)
        for (size_t c = 0; c < colours; c++)
            take(extent, sample_value(info->type, row, x * channels + c));
}

static enum status measure_page(struct reader *reader, struct extent *extent, struct error *error)
{
    const struct image_info *info = reader_info(reader);
    void *row = allocate(row_size(info), "a row", error);
    enum status status = row ? STATUS_OK : STATUS_FAILED;
    for (uint32_t y = 0; status == STATUS_OK && y < info->height; y++) {
        status = reader_read(reader, row, row_size(info), 1, error);
        if (status == STATUS_OK)
            take_row(extent, info, row);
    }
    free(row);
    return status;
}

enum status reader_measure(struct reader *reader, double *low, double *high, struct error *error)
{
    struct extent extent = {INFINITY, -INFINITY};
    enum status status = STATUS_OK;
    for (bool more = true; status == STATUS_OK && more;) {
        status = measure_page(reader, &extent, error);
        if (status == STATUS_OK)
            status = reader_next_page(reader, &more, error);
    }
    bool found = extent.low <= extent.high;
    *low = found ? extent.low : 0;
    *high = found ? extent.high : 0;
    return status == STATUS_OK ? reader_rewind(reader, error) : status;
}
