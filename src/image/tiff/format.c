#include "image/tiff/tiff.h"

#include <string.h>
#include <tiffio.h>

static const char *const extensions[] = {"tif", "tiff", NULL};

static bool recognise(const unsigned char *head, size_t size)
{
    static const unsigned char kinds[][4] = {
        {'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43} /* 43: BigTIFF */};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (size >= sizeof kinds[i] && memcmp(head, kinds[i], sizeof kinds[i]) == 0)
            return true;
    return false;
}

static const char *compression_name(int compression)
{
    const TIFFCodec *codec = TIFFFindCODEC((uint16_t)compression);
    return codec ? codec->name : NULL;
}

const struct format format_tiff = {
    .name = "TIFF",
    .extensions = extensions,
    .holds = {.types = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16 | 1u << SAMPLE_UINT32 | 1u << SAMPLE_HALF |
                       1u << SAMPLE_FLOAT | 1u << SAMPLE_COMPLEX | 1u << SAMPLE_INT8 | 1u << SAMPLE_INT16 |
                       1u << SAMPLE_INT32,
              .channels = CHANNELS_ALL,
              .masks = true,
              .pages = true,
              .texts = true,
              .extras = 1u << EXTRA_TAG},
    .recognise = recognise,
    .compression = compression_name,
    .reader = &tiff_reader_class,
    .writer = &tiff_writer_class,
};
