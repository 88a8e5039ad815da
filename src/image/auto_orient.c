/* Rotates a page as it is read, for --auto-orient.
 *
 * The first row of the upright page may need the last one of the stored page: the whole page is read first.
 * Then each row is copied pixel by pixel along the map of its orientation (TIFF 6.0). */
#include "image/codec.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ON_SIDE = 5 /* orientations 5 to 8 make columns of rows */ };

/* Map from the upright picture to the stored one. Orientations 2 to 4 mirror; 5 to 8
 * exchange rows and columns, and then mirror (TIFF 6.0, Orientation). */
static struct affine find_places(int orientation, const struct image_info *stored)
{
    const bool on_side = orientation >= FIRST_ON_SIDE;
    /* 1 if the upright picture begins at the right, or the bottom, of the stored one. */
    const double right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const double bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const double across = 1 - 2 * right, down = 1 - 2 * bottom;
    return (struct affine){.xx = on_side ? 0 : across,
                           .xy = on_side ? across : 0,
                           .x = right * stored->width,
                           .yx = on_side ? down : 0,
                           .yy = on_side ? 0 : down,
                           .y = bottom * stored->height};
}

enum status auto_orient_begin(struct reader *reader, struct error *error)
{
    struct auto_orient *turned = &reader->auto_orient;
    const int orientation = reader->info.metadata.orientation;
    if (!reader->options.auto_orient || orientation < 2)
        return STATUS_OK;
    turned->orientation = orientation;
    turned->info = reader->info;
    reader->info.metadata = (struct metadata){.orientation = 0}; /* turned->info owns it now */
    if (orientation >= FIRST_ON_SIDE) {
        turned->info.width = reader->info.height;
        turned->info.height = reader->info.width;
    }
    const struct change change = {.in_width = reader->info.width,
                                  .in_height = reader->info.height,
                                  .out_width = turned->info.width,
                                  .out_height = turned->info.height,
                                  .from = find_places(orientation, &reader->info),
                                  .in_pages = reader->page_count,
                                  .out_pages = reader->page_count,
                                  .in_channels = reader->info.channels,
                                  .out_channels = reader->info.channels,
                                  .in_type = reader->info.type,
                                  .out_type = reader->info.type,
                                  .reoriented = true};
    return metadata_update(&turned->info.metadata, &change, error);
}

struct affine auto_orient_places(const struct reader *reader)
{
    const int orientation = reader->auto_orient.orientation;
    return find_places(orientation == 0 ? 1 : orientation, &reader->info);
}

uint64_t auto_orient_memory(const struct reader *reader)
{
    const uint64_t row = row_size(&reader->info), height = reader->info.height;
    return reader->auto_orient.orientation == 0 ? 0 : height > UINT64_MAX / row ? UINT64_MAX : row * height;
}

static enum status read_stored(struct reader *reader, struct error *error)
{
    const size_t row = row_size(&reader->info);
    if (reader->info.height > SIZE_MAX / 2 / row) /* as steps between pixels are signed */
        return fail_memory(error, "out of memory for a page to rotate");
    reader->auto_orient.stored = allocate(row * reader->info.height, "a page to rotate", error);
    if (reader->auto_orient.stored == NULL)
        return STATUS_FAILED;
    return reader->format->reader->read(reader, reader->auto_orient.stored, row, reader->info.height, error);
}

/* Returns the first pixel of the upright row y in the stored picture, and the distance to the next pixel. */
static const unsigned char *find_row(const struct reader *reader, uint32_t y, ptrdiff_t *step)
{
    const struct affine from = auto_orient_places(reader);
    const ptrdiff_t pixel = (ptrdiff_t)pixel_size(&reader->info), row = (ptrdiff_t)row_size(&reader->info);
    const double column = from.xx * 0.5 + from.xy * (y + 0.5) + from.x;
    const double line = from.yx * 0.5 + from.yy * (y + 0.5) + from.y;
    *step = (ptrdiff_t)from.xx * pixel + (ptrdiff_t)from.yx * row;
    return reader->auto_orient.stored + (ptrdiff_t)line * row + (ptrdiff_t)column * pixel;
}

enum status auto_orient_read(struct reader *reader, void *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    struct auto_orient *turned = &reader->auto_orient;
    const size_t pixel = pixel_size(&reader->info);
    if (turned->orientation == 0)
        return reader->format->reader->read(reader, rows, pitch, count, error);
    enum status status = turned->stored == NULL ? read_stored(reader, error) : STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        ptrdiff_t step;
        const unsigned char *from = find_row(reader, turned->row++, &step);
        unsigned char *to = (unsigned char *)rows + i * pitch;
        for (uint32_t x = 0; x < turned->info.width; x++)
            memcpy(to + x * pixel, from + (ptrdiff_t)x * step, pixel);
    }
    return status;
}

void auto_orient_end(struct auto_orient *turned)
{
    free(turned->stored);
    metadata_free(&turned->info.metadata);
    *turned = (struct auto_orient){.orientation = 0};
}
