#include "image/signature.h"

#include <string.h>

static const unsigned char png_signature[PNG_SIGNATURE_SIZE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool signature_is_png(const unsigned char *head, size_t size)
{
    return size >= sizeof png_signature && memcmp(head, png_signature, sizeof png_signature) == 0;
}

bool signature_is_tiff(const unsigned char *head, size_t size)
{
    static const unsigned char kinds[][4] = {
        {'I', 'I', 42, 0}, {'M', 'M', 0, 42}, {'I', 'I', 43, 0}, {'M', 'M', 0, 43} /* 43: BigTIFF */};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (size >= sizeof kinds[i] && memcmp(head, kinds[i], sizeof kinds[i]) == 0)
            return true;
    return false;
}

bool signature_is_mangled_png(const unsigned char *head, size_t size)
{
    return size >= 4 && (head[0] & 0x7f) == (png_signature[0] & 0x7f) && memcmp(head + 1, "PNG", 3) == 0;
}

/* Its own two letters begin many a text; the reserved bytes after the file's size are zero. */
static bool is_bmp(const unsigned char *head, size_t size)
{
    return size >= 10 && memcmp(head, "BM", 2) == 0 && memcmp(head + 6, "\0\0\0\0", 4) == 0;
}

const char *signature_name(const unsigned char *head, size_t size)
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
