#include "image/png/metadata.h"
#include "image/png/png.h"

#include <string.h>

static const char *const extensions[] = {"png", NULL};

/* Also one that lost bit 7, or whose line ends were changed: the reader says what happened to it. */
static bool recognise(const unsigned char *head, size_t size)
{
    return size >= 4 && (head[0] & 0x7f) == 0x09 && memcmp(head + 1, "PNG", 3) == 0;
}

static const char *compression_name(int compression)
{
    (void)compression; /* PNG has one */
    return "Deflate";
}

const struct format format_png = {
    .name = "PNG",
    .extensions = extensions,
    .holds = {.types = 1u << SAMPLE_UINT8 | 1u << SAMPLE_UINT16,
              .channels = CHANNELS_ALL,
              .texts = true,
              .extras = 1u << EXTRA_CHUNK},
    .recognise = recognise,
    .compression = compression_name,
    .holds_text = png_metadata_holds,
    .holds_icc = png_metadata_holds_icc,
    .reader = &png_reader_class,
    .writer = &png_writer_class,
};
