#include "image/foreign.h"

#include "base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    size_t offset;
    const char *bytes, *name;
    const char *extensions; /* each with a space behind it */
} formats[] = {
    {0, "\xff\xd8\xff", "JPEG", "jpg jpeg jpe jfif "},
    {0, "GIF8", "GIF", "gif "},
    {8, "WEBP", "WebP", "webp "},
    {4, "ftypavif", "AVIF", "avif "},
    {4, "ftyphei", "HEIF", "heic heif "},
    {0, "\xff\x0a", "JPEG XL", "jxl "},
    {4, "JXL \r\n", "JPEG XL", ""},
    {4, "jP  \r\n", "JPEG 2000", "jp2 j2k jpx "},
    {0, "8BPS", "Photoshop PSD", "psd "},
    {0, "%PDF-", "PDF", "pdf "},
    {0, "v/1\x01", "OpenEXR", "exr "},
    {0, "<svg", "SVG", "svg "},
    {0, "BM", "BMP", "bmp dib "},
};

/* Its two letters begin many a text; the reserved bytes after the file's size are zero. */
static bool is_bmp(const unsigned char *head, size_t size)
{
    return size >= 10 && memcmp(head + 6, "\0\0\0\0", 4) == 0;
}

const char *foreign_name(const unsigned char *head, size_t size)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = strlen(formats[i].bytes);
        if (size >= formats[i].offset + length &&
            memcmp(head + formats[i].offset, formats[i].bytes, length) == 0 &&
            (strcmp(formats[i].name, "BMP") != 0 || is_bmp(head, size)))
            return formats[i].name;
    }
    return NULL;
}

/* Behind the last dot of the name; NULL: it has none, or is a hidden file. */
static const char *ending(const char *path)
{
    const char *base = name_base(path), *dot = strrchr(base, '.');
    return dot != NULL && dot > base ? dot + 1 : NULL;
}

const char *foreign_name_by_path(const char *path)
{
    const char *wanted = ending(path);
    for (size_t i = 0; wanted != NULL && i < sizeof formats / sizeof formats[0]; i++) {
        const char *cursor = formats[i].extensions;
        struct word word;
        while (text_next_word(&cursor, ' ', &word))
            if (word.length > 0 && strlen(wanted) == word.length &&
                strncasecmp(wanted, word.start, word.length) == 0)
                return formats[i].name;
    }
    return NULL;
}

/* A name that a shell takes as it is, and its like in PNG; else FILE in its place. */
static void name_both(const char *path, char *foreign, char *png, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+,@%-";
    const char *end = ending(path);
    const size_t length = strlen(path), stem = end != NULL ? (size_t)(end - path) - 1 : length;
    const bool pipe = strcmp(path, "-") == 0;
    const bool shown = length < size - sizeof "-new.png" && strspn(path, plain) == length && path[0] != '-';
    if (pipe) {
        snprintf(foreign, size, "-");
        snprintf(png, size, "png:-");
    } else if (shown) {
        snprintf(foreign, size, "%s", path);
        const char *other = end != NULL && strcmp(end, "png") == 0 ? "-new" : "";
        snprintf(png, size, "%.*s%s.png", (int)stem, path, other);
    } else {
        snprintf(foreign, size, "FILE%s%s", end != NULL ? "." : "", end != NULL ? end : "");
        snprintf(png, size, "FILE.png");
    }
}

struct foreign_hint foreign_reading(const char *kind, const char *path)
{
    struct foreign_hint hint = {""};
    char foreign[100], png[100];
    name_both(path, foreign, png, sizeof png);
    text_append(hint.text, sizeof hint.text,
                "climg does not read %s; convert it first, as with ImageMagick: convert %s %s", kind, foreign,
                png);
    return hint;
}

struct foreign_hint foreign_writing(const char *kind, const char *path)
{
    struct foreign_hint hint = {""};
    char foreign[100], png[100];
    name_both(path, foreign, png, sizeof png);
    text_append(hint.text, sizeof hint.text,
                "climg does not write %s; write %s and convert that, as with ImageMagick: convert %s %s",
                kind, png, png, foreign);
    return hint;
}
