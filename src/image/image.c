#include "image/image.h"

#include <inttypes.h>

size_t pixel_size(const struct image_info *info)
{
    return sample_size(info->type) * (size_t)info->channels;
}

size_t row_size(const struct image_info *info)
{
    return pixel_size(info) * info->width;
}

enum status check_image_size(uint64_t width, uint64_t height, uint64_t max_pixels, struct error *error)
{
    if (width == 0 || height == 0)
        return fail(error, STATUS_FAILED, "an image of %" PRIu64 "x%" PRIu64 " pixels is empty", width,
                    height);
    if (height > max_pixels / width)
        return fail(error, STATUS_FAILED,
                    "%" PRIu64 "x%" PRIu64 " pixels are more than the limit of %" PRIu64
                    "; raise --max-pixels",
                    width, height, max_pixels);
    /* Positions along an axis are ints, on the device too, where borders are mirrored at twice the size. */
    const uint64_t longest = 1 << 30;
    if (width > longest || height > longest)
        return fail(error, STATUS_FAILED, "%" PRIu64 "x%" PRIu64 " pixels are beyond 2^30 along an axis",
                    width, height);
    return STATUS_OK;
}
