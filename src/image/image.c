#include "image/image.h"

size_t sample_size(enum sample_type type)
{
    switch (type) {
    case SAMPLE_UINT8:
        return 1;
    case SAMPLE_UINT16:
    case SAMPLE_HALF:
        return 2;
    case SAMPLE_UINT32:
    case SAMPLE_FLOAT:
        return 4;
    case SAMPLE_COMPLEX:
        return 8;
    }
    return 0;
}

size_t pixel_size(const struct image_info *info)
{
    return sample_size(info->type) * (size_t)info->channels;
}

size_t row_size(const struct image_info *info)
{
    return pixel_size(info) * info->width;
}
