#include "image/tiff/strips.h"

#include "base/ordered.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIPS_A_JOB = 2, /* one under way, one filled or waiting to be written */
    HEADER_SIZE = 16, /* of a BigTIFF: what libtiff writes before the strip */
};

struct strip {
    const struct tiff_strips_options *options;
    unsigned char *rows;
    uint32_t count;      /* of rows */
    unsigned char *file; /* the TIFF in memory */
    size_t file_size, capacity, position;
    bool out_of_memory;
    char message[256]; /* libtiff's first error, "" where all is well */
};

struct tiff_strips {
    struct tiff_strips_options options;
    struct ordered strips;
    struct strip *filling; /* the next to be submitted; NULL: not begun */
    uint32_t rows_left;
};

/* The file in memory, for libtiff. */

__attribute__((format(printf, 4, 0))) static int keep_error(TIFF *tiff, void *data, const char *module,
                                                            const char *format, va_list arguments)
{
    struct strip *strip = data;
    (void)tiff;
    (void)module;
    if (strip->message[0] == '\0')
        vsnprintf(strip->message, sizeof strip->message, format, arguments);
    return 1;
}

__attribute__((format(printf, 4, 0))) static int ignore_warning(TIFF *tiff, void *data, const char *module,
                                                                const char *format, va_list arguments)
{
    (void)tiff;
    (void)data;
    (void)module;
    (void)format;
    (void)arguments;
    return 1;
}

static bool reserve(struct strip *strip, size_t size)
{
    if (size <= strip->capacity)
        return true;
    size_t wanted = size + size / 2;
    unsigned char *grown = realloc(strip->file, wanted);
    if (grown == NULL)
        return false;
    strip->file = grown;
    strip->capacity = wanted;
    return true;
}

static tmsize_t write_proc(thandle_t handle, void *bytes, tmsize_t size)
{
    struct strip *strip = handle;
    size_t end = strip->position + (size_t)size;
    if (!reserve(strip, end)) {
        strip->out_of_memory = true;
        return 0;
    }
    memcpy(strip->file + strip->position, bytes, (size_t)size);
    strip->position = end;
    if (end > strip->file_size)
        strip->file_size = end;
    return size;
}

static tmsize_t read_proc(thandle_t handle, void *bytes, tmsize_t size)
{
    (void)handle;
    (void)bytes;
    (void)size;
    return 0;
}

static toff_t seek_proc(thandle_t handle, toff_t offset, int whence)
{
    struct strip *strip = handle;
    if (whence == SEEK_CUR)
        offset += strip->position;
    else if (whence == SEEK_END)
        offset += strip->file_size;
    return strip->position = offset;
}

static int close_proc(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t size_proc(thandle_t handle)
{
    const struct strip *strip = handle;
    return strip->file_size;
}

static TIFF *open_in_memory(struct strip *strip)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (options == NULL)
        return NULL;
    TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, strip);
    TIFFOpenOptionsSetWarningHandlerExtR(options, ignore_warning, strip);
    TIFF *tiff = TIFFClientOpenExt("TIFF", "w8", strip, read_proc, write_proc, seek_proc, close_proc,
                                   size_proc, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

/* The task. */
static void encode(void *slot)
{
    struct strip *strip = slot;
    const struct tiff_strips_options *options = strip->options;
    const tmsize_t size = (tmsize_t)(strip->count * options->row_size);
    strip->file_size = strip->position = 0;
    strip->message[0] = '\0';
    strip->out_of_memory = false;
    TIFF *tiff = open_in_memory(strip);
    bool done = tiff != NULL;
    if (done) {
        options->describe(options->context, tiff, strip->count);
        done = TIFFWriteEncodedStrip(tiff, 0, strip->rows, size) == size;
        TIFFSetMode(tiff, O_RDONLY); /* nothing more is wanted */
        TIFFClose(tiff);
    }
    if (!done && strip->message[0] == '\0')
        strip->out_of_memory = true;
}

/* Rows, the file in memory, and libtiff's buffer for what it writes there. */
static uint64_t memory_of_strip(const struct tiff_strips_options *options)
{
    return 7 * (uint64_t)options->row_size * options->strip_height / 2;
}

static size_t choose_count(const struct tiff_strips_options *options)
{
    uint64_t wanted = (uint64_t)options->jobs * STRIPS_A_JOB,
             affordable = options->memory / memory_of_strip(options);
    uint64_t count = options->memory > 0 && affordable < wanted ? affordable : wanted;
    return count > 0 ? (size_t)count : 1;
}

uint64_t tiff_strips_memory(const struct tiff_strips_options *options)
{
    uint64_t total = (options->height - 1) / options->strip_height + 1, count = choose_count(options);
    return (count < total ? count : total) * memory_of_strip(options);
}

struct tiff_strips *tiff_strips_open(const struct tiff_strips_options *options, struct error *error)
{
    struct tiff_strips *strips = allocate_zeroed(1, sizeof *strips, "TIFF strips", error);
    if (strips == NULL)
        return NULL;
    strips->options = *options;
    strips->rows_left = options->height;
    if (ordered_open(&strips->strips, options->jobs, choose_count(options), sizeof(struct strip), encode,
                     error) == STATUS_OK)
        return strips;
    tiff_strips_close(strips);
    return NULL;
}

static void close_strip(void *slot)
{
    struct strip *strip = slot;
    free(strip->rows);
    free(strip->file);
}

void tiff_strips_close(struct tiff_strips *strips)
{
    if (strips == NULL)
        return;
    ordered_close(&strips->strips, close_strip);
    free(strips);
}

static enum status emit(struct tiff_strips *strips, const struct strip *strip, struct error *error)
{
    const uint32_t number = (uint32_t)strips->strips.taken;
    if (strip->out_of_memory)
        return fail_memory(error, "out of memory for a TIFF strip");
    if (strip->message[0] != '\0')
        return fail(error, STATUS_FAILED, "cannot write TIFF: %s", strip->message);
    ordered_take(&strips->strips);
    return strips->options.emit(strips->options.context, number, strip->file + HEADER_SIZE,
                                strip->file_size - HEADER_SIZE, error);
}

static enum status begin_strip(struct tiff_strips *strips, struct error *error)
{
    struct strip *strip = ordered_slot(&strips->strips, strips->strips.submitted);
    enum status status = STATUS_OK;
    if (ordered_is_full(&strips->strips))
        status = emit(strips, ordered_oldest(&strips->strips), error);
    if (status == STATUS_OK && strip->rows == NULL) {
        strip->options = &strips->options;
        strip->rows =
            allocate(strips->options.strip_height * strips->options.row_size, "a TIFF strip", error);
        status = strip->rows == NULL ? STATUS_FAILED : STATUS_OK;
    }
    strip->count = 0;
    strips->filling = status == STATUS_OK ? strip : NULL;
    return status;
}

static void add_row(struct tiff_strips *strips, const void *row)
{
    const size_t row_size = strips->options.row_size;
    struct strip *strip = strips->filling;
    memcpy(strip->rows + strip->count++ * row_size, row, row_size);
    strips->rows_left--;
    if (strips->rows_left == 0 || strip->count == strips->options.strip_height) {
        ordered_submit(&strips->strips, strips->strips.submitted == 0 && strips->rows_left == 0);
        strips->filling = NULL;
    }
}

enum status tiff_strips_write(struct tiff_strips *strips, const void *rows, size_t pitch, uint32_t count,
                              struct error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        enum status status = strips->filling == NULL ? begin_strip(strips, error) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
        add_row(strips, (const unsigned char *)rows + i * pitch);
    }
    return STATUS_OK;
}

enum status tiff_strips_finish(struct tiff_strips *strips, struct error *error)
{
    const struct strip *strip;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (strip = ordered_oldest(&strips->strips)) != NULL)
        status = emit(strips, strip, error);
    return status;
}
