/* Connects libtiff with an open file or with memory, and keeps its messages.
 *
 *     libtiff ─▶ read_proc ─▶ pread, with the current directory replaced by its filtered copy
 *     image/ifd.c ─▶ read_for_ifd ─▶ window of 4 KiB ─▶ pread
 *     libtiff ─▶ write_proc ─▶ pwrite, or memory
 *
 * When libtiff sets a directory, it loads the values of all tags, also huge and damaged ones: half a gigabyte
 * of Photoshop's layers, or the same megabyte for each of a thousand tags in a hostile file. The handle of
 * each thread does so again. Therefore libtiff reads a copy of the directory that has only the tags which
 * describe the samples, and a few small ones; ifd.c reads the others from the file.
 *
 * libtiff reports damage by messages, and continues after many kinds of damage. on_error and on_warning
 * decide which messages mean that pixels are wrong. */
#include "image/tiff/tiff.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file's name for libtiff, with which some of its messages begin. */
#define HANDLE_NAME "TIFF"

/* ---------------------------------------------------------------- messages */

/* Sets out_of_memory if libtiff's message is about that; libtiff continues without the value. A message with
 * "(0 elements" means a damaged directory without entries. */
static void note_out_of_memory(struct tiff_file *file, const char *text)
{
    static const char *const phrases[] = {
        "ut of memory", "ailed to allocate", "annot allocate", "nable to allocate",
        "No space",     "ot enough memory",  "Insertion in",   "malloc("};

    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (strstr(text, phrases[i]) != NULL && strstr(text, "(0 elements") == NULL)
            file->out_of_memory = true;
}

/* libtiff's error handler: keeps the first message, as later ones are consequences of the same error. */
__attribute__((format(printf, 4, 0))) static int on_error(TIFF *tiff, void *data, const char *module,
                                                          const char *format, va_list arguments)
{
    static const char prefix[] = HANDLE_NAME ": ";
    struct tiff_file *file = data;
    char *message = file->message, text[sizeof file->message];

    (void)tiff;
    vsnprintf(text, sizeof text, format, arguments);
    /* Transmission errors in a line of a fax are no failure: libtiff decodes a part of the line, and the next
       lines. If it decoded no pixel of the line ("got 0"), the line is missing, which is an error. */
    if (module != NULL && strncmp(module, "Fax", 3) == 0 && strstr(text, "(got 0,") == NULL &&
        (strstr(text, "Bad code word") != NULL || strstr(text, "Premature EOL") != NULL ||
         strstr(text, "Line length mismatch") != NULL)) {
        file->broken_lines = true;
        return 1;
    }
    if (message[0] != '\0')
        return 1;
    memcpy(message, text, sizeof text);
    note_out_of_memory(file, message);
    /* Remove the file's name, control characters (libtiff quotes hostile texts) and the full stop. */
    if (strncmp(message, prefix, strlen(prefix)) == 0)
        memmove(message, message + strlen(prefix), strlen(message + strlen(prefix)) + 1);
    for (char *c = message; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    for (size_t length = strlen(message); length > 0 && strchr(". ", message[length - 1]) != NULL; length--)
        message[length - 1] = '\0';
    /* "Read error at scanline 4294967295; got 405 bytes, expected 7920" */
    if (strncmp(message, "Read error", 10) == 0 && strstr(message, "expected") != NULL)
        snprintf(message, sizeof file->message, "the file ends before its pixels do");
    return 1;
}

/* True if the warning means that pixels are missing or wrong: a JPEG stream is broken or ends too early
 * (stray bytes between its markers do no harm); a JPEG or JBIG picture is smaller than its strip or tile;
 * lines of a fax are broken or missing. */
static bool costs_pixels(const char *module, const char *text)
{
    static const struct {
        const char *module, *text; /* the beginnings of both */
    } warnings[] = {
        {"JPEGPreDecode", "Improper JPEG strip/tile size"},
        {"JBIG", "Only decoded"},
        {"Fax", "Premature EO"}, /* of a line (EOL) or of the strip (EOF) */
        {"Fax", "Line length mismatch"},
    };

    if (strcmp(module, "JPEGLib") == 0 || strcmp(module, "LibJpeg") == 0) /* the latter in old-style JPEG */
        return strstr(text, "extraneous bytes") == NULL;
    for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++)
        if (strncmp(module, warnings[i].module, strlen(warnings[i].module)) == 0 &&
            strncmp(text, warnings[i].text, strlen(warnings[i].text)) == 0)
            return true;
    return false;
}

/* libtiff's warning handler: a warning that costs pixels is an error. Others are about tags that climg does
 * not need, or about faults that libtiff has corrected. */
__attribute__((format(printf, 4, 0))) static int on_warning(TIFF *tiff, void *data, const char *module,
                                                            const char *format, va_list arguments)
{
    char text[256];
    va_list copy;

    va_copy(copy, arguments);
    vsnprintf(text, sizeof text, format, copy);
    va_end(copy);
    note_out_of_memory(data, text);
    if (module != NULL && costs_pixels(module, text))
        on_error(tiff, data, module, format, arguments);
    return 1;
}

/* ---------------------------------------------------------------- bytes */

bool tiff_file_read_at(struct tiff_file *file, uint64_t offset, void *to, size_t size)
{
    unsigned char *bytes = to;

    while (size > 0) {
        ssize_t got = pread(file->descriptor, bytes, size, (off_t)offset); /* may be fewer bytes */
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
    struct tiff_memory *memory = file->memory;
    const unsigned char *bytes = from;
    const uint64_t end = offset + size;

    if (memory != NULL && end > memory->capacity) { /* allocate half as much again */
        unsigned char *grown = realloc(memory->bytes, (size_t)(end + end / 2));
        if (grown == NULL) {
            file->write_error = ENOMEM;
            return false;
        }
        memory->bytes = grown;
        memory->capacity = (size_t)(end + end / 2);
    }
    if (memory != NULL)
        memcpy(memory->bytes + offset, from, size);
    while (memory == NULL && size > 0) {
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
    }
    if (end > file->size)
        file->size = end;
    return true;
}

/* ---------------------------------------------------------------- libtiff's callbacks */

/* Reads at most to the end of the file. Returns the number of bytes; 0 after an error. */
static tmsize_t read_proc(thandle_t handle, void *buffer, tmsize_t size)
{
    struct tiff_file *file = handle;
    const uint64_t left = file->position < file->size ? file->size - file->position : 0;

    if ((uint64_t)size > left)
        size = (tmsize_t)left;
    if (!tiff_file_read_at(file, file->position, buffer, (size_t)size))
        return 0;
    /* Replace bytes of the current directory by bytes of the filtered directory. */
    const uint64_t begin = file->directory > file->position ? file->directory : file->position,
                   directory_end = file->directory + file->filtered.size,
                   read_end = file->position + (uint64_t)size,
                   end = directory_end < read_end ? directory_end : read_end;
    if (file->filtered.data != NULL && begin < end)
        memcpy((unsigned char *)buffer + (begin - file->position),
               file->filtered.data + (begin - file->directory), end - begin);
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

/* Only sets `position`: all reads and writes pass an offset to the system. */
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
    return 0; /* the caller owns the file */
}

static toff_t size_proc(thandle_t handle)
{
    const struct tiff_file *file = handle;

    return file->size;
}

/* ---------------------------------------------------------------- open and close */

/* Opens file->tiff with the callbacks above. libtiff reads or writes the header now. */
static enum status open_handle(struct tiff_file *file, const char *mode, struct error *error)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL)
        return fail_memory(error, "out of memory for libtiff's options");
    TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, file);
    TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, file);
    /* No functions for mapping: a file that another program truncates must be a read error, not SIGBUS. */
    file->tiff = TIFFClientOpenExt(HANDLE_NAME, mode, file, read_proc, write_proc, seek_proc, close_proc,
                                   size_proc, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    if (file->tiff != NULL)
        return STATUS_OK;
    return mode[0] == 'r' ? tiff_file_fail_reading(file, error) : tiff_file_fail_writing(file, error);
}

enum status tiff_file_open(struct tiff_file *file, int descriptor, const char *mode, struct error *error)
{
    struct stat facts;

    *file = (struct tiff_file){.descriptor = descriptor};
    if (fstat(file->descriptor, &facts) != 0)
        return fail(error, STATUS_FAILED, "cannot be examined: %s", strerror(errno));
    file->size = (uint64_t)facts.st_size;
    return open_handle(file, mode, error);
}

enum status tiff_file_open_memory(struct tiff_file *file, struct tiff_memory *memory, const char *mode,
                                  struct error *error)
{
    *file = (struct tiff_file){.descriptor = -1, .memory = memory};
    return open_handle(file, mode, error);
}

/* Leaks the handle if memory ran out in libtiff, as TIFFClose would crash. */
void tiff_file_close(struct tiff_file *file)
{
    if (file->tiff != NULL && !file->out_of_memory)
        TIFFClose(file->tiff);
    file->tiff = NULL;
    free(file->filtered.data);
    file->filtered.data = NULL;
}

/* Makes libtiff believe that the file is open for reading, so that it writes nothing. */
void tiff_file_abandon(struct tiff_file *file)
{
    if (file->tiff != NULL)
        TIFFSetMode(file->tiff, O_RDONLY);
    tiff_file_close(file);
}

/* ---------------------------------------------------------------- directories and tags */

/* `read` of struct ifd. Tags are read word by word: the window saves most system calls. */
static bool read_for_ifd(const void *context, uint64_t offset, void *to, size_t size)
{
    struct tiff_file *file = (struct tiff_file *)(uintptr_t)context;

    if (size > sizeof file->window)
        return tiff_file_read_at(file, offset, to, size);
    if (offset < file->window_at || offset + size > file->window_at + file->window_size) {
        const uint64_t left = file->size - offset;
        file->window_at = offset;
        file->window_size = left < sizeof file->window ? (size_t)left : sizeof file->window;
        if (!tiff_file_read_at(file, offset, file->window, file->window_size)) {
            file->window_size = 0;
            return false;
        }
    }
    memcpy(to, file->window + (offset - file->window_at), size);
    return true;
}

struct ifd tiff_file_ifd(struct tiff_file *file)
{
    return (struct ifd){
        .read = read_for_ifd,
        .context = file,
        .size = file->size,
        .swapped = TIFFIsByteSwapped(file->tiff),
        .big = TIFFIsBigTIFF(file->tiff),
        .at = file->directory,
    };
}

bool tiff_tag_is_for_libtiff(uint16_t tag, uint64_t size)
{
    /* tiff.h of libtiff names them. The last three are ImageDepth, TileDepth and LercParameters. */
    static const uint16_t tags[] = {256, 257, 258, 259, 262, 266, 274, 277, 278, 282, 283,   284,   292,  293,
                                    296, 317, 318, 319, 320, 322, 323, 332, 338, 339, 347,   512,   513,  514,
                                    515, 517, 518, 519, 520, 521, 529, 530, 531, 532, 32997, 32998, 50674};
    /* These may be huge, but libtiff reads only single elements of them (D of TIFF_FILE_READ). */
    const bool is_array = tag == TIFFTAG_STRIPOFFSETS || tag == TIFFTAG_STRIPBYTECOUNTS ||
                          tag == TIFFTAG_TILEOFFSETS || tag == TIFFTAG_TILEBYTECOUNTS;
    const uint64_t most = 1 << 20; /* bytes of any other value */

    return ifd_tag_is_in(tag, tags, sizeof tags / sizeof tags[0]) ? size <= most : is_array;
}

enum status tiff_file_set_directory(struct tiff_file *file, uint64_t directory, struct error *error)
{
    struct ifd ifd = tiff_file_ifd(file);

    free(file->filtered.data);
    file->filtered.data = NULL;
    ifd.at = directory;
    enum status status = ifd_select(&ifd, tiff_tag_is_for_libtiff, &file->filtered, error);
    file->directory = directory; /* from now on read_proc returns the filtered directory there */
    if (status == STATUS_OK && !TIFFSetSubDirectory(file->tiff, directory))
        status = tiff_file_fail_reading(file, error);
    return status;
}

const char *tiff_file_tag_name(const struct tiff_file *file, uint16_t tag)
{
    static _Thread_local char name[16];
    const TIFFField *known = TIFFFindField(file->tiff, tag, TIFF_ANY);

    snprintf(name, sizeof name, "tag %u", tag);
    return known != NULL && !TIFFFieldIsAnonymous(known) ? TIFFFieldName(known) : name;
}

enum status tiff_file_bytes(struct tiff_file *file, uint16_t tag, struct blob *value,
                            struct metadata *metadata, struct error *error)
{
    const uint64_t most = 16 << 20;
    const struct ifd ifd = tiff_file_ifd(file);
    struct ifd_entry entry;

    *value = (struct blob){NULL, 0};
    if (!ifd_find(&ifd, tag, &entry) || entry.size != entry.count || entry.size == 0)
        return STATUS_OK;
    if (entry.size > most) {
        metadata_note_left_out(metadata, tiff_file_tag_name(file, tag));
        return STATUS_OK;
    }
    unsigned char *data = allocate_zeroed((size_t)entry.size + 1, 1, "TIFF tags", error);
    if (data == NULL)
        return STATUS_FAILED;
    if (ifd_read_values(&ifd, &entry, true, data))
        *value = (struct blob){data, (size_t)entry.size};
    else
        free(data);
    return STATUS_OK;
}

enum status tiff_file_check_reading(const struct tiff_file *file, struct error *error)
{
    if (file->read_error != 0)
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(file->read_error));
    return file->out_of_memory ? fail_memory(error, "out of memory for TIFF") : STATUS_OK;
}

enum status tiff_file_fail_reading(const struct tiff_file *file, struct error *error)
{
    if (tiff_file_check_reading(file, error) != STATUS_OK)
        return STATUS_FAILED;
    return fail(error, STATUS_FAILED, "damaged TIFF: %s",
                file->message[0] != '\0' ? file->message
                : file->broken_lines     ? "lines of a fax are missing"
                                         : "unexpected end of data");
}

enum status tiff_file_fail_writing(const struct tiff_file *file, struct error *error)
{
    if (file->write_error != 0 && file->write_error != ENOMEM)
        return fail_writing(error, file->write_error);
    if (file->out_of_memory || file->write_error == ENOMEM)
        return fail_memory(error, "out of memory for TIFF");
    return fail(error, STATUS_FAILED, "cannot write TIFF: %s",
                file->message[0] != '\0' ? file->message : "libtiff gives no reason");
}
