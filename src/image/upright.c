#include "image/upright.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ON_SIDE = 5 /* of the orientations that make columns of rows */ };

/* Whether columns count from the right of the stored picture, and rows from its bottom. */
static bool from_right(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool from_bottom(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

/* From places of the shown picture to those of the stored one. TIFF 6.0, Orientation: 2 to 4 mirror, 5 to 8
 * do so after rows and columns were exchanged. */
static struct affine find_places(int orientation, const struct image_info *stored)
{
    const bool on_side = orientation >= FIRST_ON_SIDE;
    const double right = from_right(orientation), bottom = from_bottom(orientation);
    const double across = 1 - 2 * right, down = 1 - 2 * bottom;
    return (struct affine){.xx = on_side ? 0 : across,
                           .xy = on_side ? across : 0,
                           .x = right * stored->width,
                           .yx = on_side ? down : 0,
                           .yy = on_side ? 0 : down,
                           .y = bottom * stored->height};
}

enum status upright_begin(struct reader *reader, struct error *error)
{
    struct upright *upright = &reader->upright;
    const int orientation = reader->info.metadata.orientation;
    if (!reader->options.upright || orientation < 2)
        return STATUS_OK;
    upright->orientation = orientation;
    upright->info = reader->info;
    reader->info.metadata = (struct metadata){.orientation = 0}; /* moved */
    if (orientation >= FIRST_ON_SIDE) {
        upright->info.width = reader->info.height;
        upright->info.height = reader->info.width;
    }
    const struct change change = {.in_width = reader->info.width,
                                  .in_height = reader->info.height,
                                  .out_width = upright->info.width,
                                  .out_height = upright->info.height,
                                  .from = find_places(orientation, &reader->info),
                                  .in_pages = reader->page_count,
                                  .out_pages = reader->page_count,
                                  .in_channels = reader->info.channels,
                                  .out_channels = reader->info.channels,
                                  .in_type = reader->info.type,
                                  .out_type = reader->info.type,
                                  .unit = 1,
                                  .turned = true};
    return metadata_follow(&upright->info.metadata, &change, error);
}

uint64_t upright_memory(const struct reader *reader)
{
    const uint64_t row = row_size(&reader->info), height = reader->info.height;
    return reader->upright.orientation == 0 ? 0 : height > UINT64_MAX / row ? UINT64_MAX : row * height;
}

static enum status read_stored(struct reader *reader, struct error *error)
{
    const size_t row = row_size(&reader->info);
    if (reader->info.height > SIZE_MAX / 2 / row) /* steps between pixels are signed */
        return fail_memory(error, "out of memory for a picture to be turned");
    reader->upright.stored = allocate(row * reader->info.height, "a picture to be turned", error);
    if (reader->upright.stored == NULL)
        return STATUS_FAILED;
    return reader->format->reader->read(reader, reader->upright.stored, row, reader->info.height, error);
}

/* Where the shown row y begins in the stored picture, and how far the next pixel is. */
static const unsigned char *find_row(const struct reader *reader, uint32_t y, ptrdiff_t *step)
{
    const int orientation = reader->upright.orientation;
    const bool on_side = orientation >= FIRST_ON_SIDE;
    const bool right = from_right(orientation), bottom = from_bottom(orientation);
    const ptrdiff_t pixel = (ptrdiff_t)pixel_size(&reader->info), row = (ptrdiff_t)row_size(&reader->info);
    const ptrdiff_t right_end = (ptrdiff_t)reader->info.width - 1;
    const ptrdiff_t bottom_end = (ptrdiff_t)reader->info.height - 1;
    const ptrdiff_t column = !on_side ? (right ? right_end : 0)
                             : right  ? right_end - (ptrdiff_t)y
                                      : (ptrdiff_t)y;
    const ptrdiff_t line = on_side  ? (bottom ? bottom_end : 0)
                           : bottom ? bottom_end - (ptrdiff_t)y
                                    : (ptrdiff_t)y;
    *step = on_side ? (bottom ? -row : row) : right ? -pixel : pixel;
    return reader->upright.stored + line * row + column * pixel;
}

enum status upright_read(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct upright *upright = &reader->upright;
    const size_t pixel = pixel_size(&reader->info);
    if (upright->orientation == 0)
        return reader->format->reader->read(reader, rows, pitch, count, error);
    enum status status = upright->stored == NULL ? read_stored(reader, error) : STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        ptrdiff_t step;
        const unsigned char *from = find_row(reader, upright->row++, &step);
        unsigned char *to = (unsigned char *)rows + i * pitch;
        for (uint32_t x = 0; x < upright->info.width; x++)
            memcpy(to + x * pixel, from + (ptrdiff_t)x * step, pixel);
    }
    return status;
}

void upright_end(struct upright *upright)
{
    free(upright->stored);
    metadata_free(&upright->info.metadata);
    *upright = (struct upright){.orientation = 0};
}
