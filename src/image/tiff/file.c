#include "image/tiff/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What TIFFClientOpen is told as file name, which some of libtiff's messages start with. */
#define HANDLE_NAME "TIFF"

/* One line without control characters (libtiff quotes text of a hostile file), file name or full stop. */
static void tidy_message(char *text)
{
    static const char prefix[] = HANDLE_NAME ": ";

    if (strncmp(text, prefix, strlen(prefix)) == 0)
        memmove(text, text + strlen(prefix), strlen(text + strlen(prefix)) + 1);
    for (char *c = text; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    for (size_t length = strlen(text); length > 0 && strchr(". ", text[length - 1]) != NULL; length--)
        text[length - 1] = '\0';
}

/* libtiff goes on without what it had no memory for; it says so, too, of a damaged directory without entries.
 */
static void note_memory(struct tiff_file *file, const char *text)
{
    static const char *const signs[] = {
        "ut of memory", "ailed to allocate", "annot allocate", "nable to allocate",
        "No space",     "ot enough memory",  "Insertion in",   "malloc("};

    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        file->out_of_memory =
            file->out_of_memory || (strstr(text, signs[i]) != NULL && strstr(text, "(0 elements") == NULL);
}

/* The first error is the cause; those that follow tell who noticed. */
__attribute__((format(printf, 4, 0))) static int keep_error(TIFF *tiff, void *data, const char *module,
                                                            const char *format, va_list arguments)
{
    struct tiff_file *file = data;

    (void)tiff;
    (void)module;
    if (file->message[0] == '\0') {
        vsnprintf(file->message, sizeof file->message, format, arguments);
        note_memory(file, file->message);
        tidy_message(file->message);
        /* "Read error at scanline 4294967295; got 405 bytes, expected 7920" */
        if (strncmp(file->message, "Read error", 10) == 0 && strstr(file->message, "expected") != NULL)
            snprintf(file->message, sizeof file->message, "the file ends before its pixels do");
    }
    return 1;
}

/* What libtiff merely warns of although pixels are made up or missing: a JPEG stream that is broken or ends
 * too early (stray bytes between its markers do no harm); a JPEG or JBIG picture smaller than its strip or
 * tile; fax lines of a wrong length or missing. */
static bool is_about_pixels(const char *module, const char *text)
{
    static const struct {
        const char *module, *text; /* what they begin with */
    } short_pixels[] = {
        {"JPEGPreDecode", "Improper JPEG strip/tile size"},
        {"JBIG", "Only decoded"},
        {"Fax", "Premature EO"}, /* of a line (EOL) or of the strip (EOF) */
        {"Fax", "Line length mismatch"},
    };

    if (strcmp(module, "JPEGLib") == 0 || strcmp(module, "LibJpeg") == 0) /* the latter in old-style JPEG */
        return strstr(text, "extraneous bytes") == NULL;
    for (size_t i = 0; i < sizeof short_pixels / sizeof short_pixels[0]; i++)
        if (strncmp(module, short_pixels[i].module, strlen(short_pixels[i].module)) == 0 &&
            strncmp(text, short_pixels[i].text, strlen(short_pixels[i].text)) == 0)
            return true;
    return false;
}

/* All other warnings are about what climg does not need, or what libtiff has mended. */
__attribute__((format(printf, 4, 0))) static int keep_warning(TIFF *tiff, void *data, const char *module,
                                                              const char *format, va_list arguments)
{
    char text[256];
    va_list copy;

    va_copy(copy, arguments);
    vsnprintf(text, sizeof text, format, copy);
    va_end(copy);
    note_memory(data, text);
    if (module != NULL && is_about_pixels(module, text))
        keep_error(tiff, data, module, format, arguments);
    return 1;
}

bool tiff_file_read_at(struct tiff_file *file, uint64_t offset, void *to, size_t size)
{
    unsigned char *bytes = to;

    while (size > 0) {
        ssize_t got = pread(file->descriptor, bytes, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && file->read_error == 0)
            file->read_error = errno;
        if (got <= 0)
            return false;
        bytes += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

bool tiff_file_write_at(struct tiff_file *file, uint64_t offset, const void *from, size_t size)
{
    const unsigned char *bytes = from;

    while (size > 0) {
        ssize_t put = pwrite(file->descriptor, bytes, size, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0) {
            if (file->write_error == 0)
                file->write_error = errno;
            return false;
        }
        bytes += put;
        offset += (uint64_t)put;
        size -= (size_t)put;
        if (offset > file->size)
            file->size = offset;
    }
    return true;
}

static tmsize_t read_proc(thandle_t handle, void *buffer, tmsize_t size)
{
    struct tiff_file *file = handle;
    uint64_t left = file->position < file->size ? file->size - file->position : 0;

    if ((uint64_t)size > left)
        size = (tmsize_t)left;
    if (!tiff_file_read_at(file, file->position, buffer, (size_t)size))
        return 0;
    file->position += (uint64_t)size;
    return size;
}

static tmsize_t write_proc(thandle_t handle, void *buffer, tmsize_t size)
{
    struct tiff_file *file = handle;

    if (!tiff_file_write_at(file, file->position, buffer, (size_t)size))
        return 0;
    file->position += (uint64_t)size;
    return size;
}

static toff_t seek_proc(thandle_t handle, toff_t offset, int whence)
{
    struct tiff_file *file = handle;

    if (whence == SEEK_CUR)
        offset += file->position;
    else if (whence == SEEK_END)
        offset += file->size;
    file->position = offset;
    return offset;
}

static int close_proc(thandle_t handle)
{
    (void)handle;
    return 0; /* the FILE belongs to someone else */
}

static toff_t size_proc(thandle_t handle)
{
    const struct tiff_file *file = handle;

    return file->size;
}

enum status tiff_file_open(struct tiff_file *file, int descriptor, const char *mode, struct error *error)
{
    struct stat facts;

    *file = (struct tiff_file){.descriptor = descriptor};
    if (fstat(file->descriptor, &facts) != 0)
        return fail(error, STATUS_FAILED, "cannot be examined: %s", strerror(errno));
    file->size = (uint64_t)facts.st_size;

    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL)
        return fail_memory(error, "out of memory for libtiff's options");
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, file);
    TIFFOpenOptionsSetWarningHandlerExtR(options, keep_warning, file);
    /* No mapping: a file that somebody truncates must give a read error, not SIGBUS. */
    file->tiff = TIFFClientOpenExt(HANDLE_NAME, mode, file, read_proc, write_proc, seek_proc, close_proc,
                                   size_proc, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    if (file->tiff != NULL)
        return STATUS_OK;
    return mode[0] == 'r' ? tiff_file_damaged(file, error) : tiff_file_not_written(file, error);
}

/* libtiff trips over what it has half made when memory ran out: that is left to the end of the process. */
void tiff_file_close(struct tiff_file *file)
{
    if (file->tiff != NULL && !file->out_of_memory)
        TIFFClose(file->tiff);
    file->tiff = NULL;
}

void tiff_file_abandon(struct tiff_file *file)
{
    if (file->tiff != NULL)
        TIFFSetMode(file->tiff, O_RDONLY);
    tiff_file_close(file);
}

static bool read_for_ifd(const void *context, uint64_t offset, void *to, size_t size)
{
    return tiff_file_read_at((struct tiff_file *)(uintptr_t)context, offset, to, size);
}

void tiff_file_ifd(struct tiff_file *file, struct ifd_source *source, uint64_t *ifd)
{
    *source = (struct ifd_source){
        .read = read_for_ifd,
        .context = file,
        .size = file->size,
        .swapped = TIFFIsByteSwapped(file->tiff),
        .big = TIFFIsBigTIFF(file->tiff),
    };
    *ifd = TIFFCurrentDirOffset(file->tiff);
}

enum status tiff_file_trouble(const struct tiff_file *file, struct error *error)
{
    if (file->read_error != 0)
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(file->read_error));
    return file->out_of_memory ? fail_memory(error, "out of memory for TIFF") : STATUS_OK;
}

enum status tiff_file_damaged(const struct tiff_file *file, struct error *error)
{
    if (tiff_file_trouble(file, error) != STATUS_OK)
        return STATUS_FAILED;
    return fail(error, STATUS_FAILED, "damaged TIFF: %s",
                file->message[0] != '\0' ? file->message : "unexpected end of data");
}

enum status tiff_file_not_written(const struct tiff_file *file, struct error *error)
{
    if (file->write_error != 0)
        return fail_writing(error, file->write_error);
    if (file->out_of_memory)
        return fail_memory(error, "out of memory for TIFF");
    return fail(error, STATUS_FAILED, "cannot write TIFF: %s",
                file->message[0] != '\0' ? file->message : "libtiff gives no reason");
}
