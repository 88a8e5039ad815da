#include "image/foreign.h"

#include <stdbool.h>
#include <string.h>

/* Its own two letters begin many a text; the reserved bytes after the file's size are zero. */
static bool is_bmp(const unsigned char *head, size_t size)
{
    return size >= 10 && memcmp(head, "BM", 2) == 0 && memcmp(head + 6, "\0\0\0\0", 4) == 0;
}

const char *foreign_name(const unsigned char *head, size_t size)
{
    static const struct {
        size_t offset;
        const char *bytes;
        const char *name;
    } formats[] = {
        {0, "\xff\xd8\xff", "JPEG"}, {0, "GIF8", "GIF"},           {8, "WEBP", "WebP"},
        {4, "ftypavif", "AVIF"},     {4, "ftyphei", "HEIF"},       {0, "\xff\x0a", "JPEG XL"},
        {4, "JXL \r\n", "JPEG XL"},  {4, "jP  \r\n", "JPEG 2000"}, {0, "8BPS", "Photoshop PSD"},
        {0, "%PDF-", "PDF"},
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = strlen(formats[i].bytes);
        if (size >= formats[i].offset + length &&
            memcmp(head + formats[i].offset, formats[i].bytes, length) == 0)
            return formats[i].name;
    }
    return is_bmp(head, size) ? "BMP" : NULL;
}
