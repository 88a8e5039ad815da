#include "image/reader.h"
#include "base/pages.h"
#include "image/format.h"
#include "image/output/spool.h"
#include "image/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that are decoded ahead between two looks at the clock. */
enum { AHEAD_PIECE = 256 << 10 };

enum status check_image_size(uint64_t width, uint64_t height, const struct reader_options *options,
                             struct error *error)
{
    if (width == 0 || height == 0)
        return fail(error, STATUS_FAILED, "an image of %" PRIu64 "x%" PRIu64 " pixels is empty", width,
                    height);
    if (height > options->max_pixels / width)
        return fail(error, STATUS_FAILED,
                    "%" PRIu64 "x%" PRIu64 " pixels are more than the limit of %" PRIu64
                    "; raise --max-pixels",
                    width, height, options->max_pixels);
    /* Positions along an axis are ints, on the device too, where borders are mirrored at twice the size. */
    const uint64_t longest = 1 << 30;
    if (width > longest || height > longest)
        return fail(error, STATUS_FAILED, "%" PRIu64 "x%" PRIu64 " pixels are beyond 2^30 along an axis",
                    width, height);
    return STATUS_OK;
}

static FILE *open_file(const char *path, struct error *error)
{
    /* A duplicate, so that the descriptor 0 stays taken when the reader is closed. */
    int descriptor =
        strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat there;
    FILE *file = NULL;
    if (descriptor < 0 || fstat(descriptor, &there) != 0)
        fail(error, STATUS_FAILED, "cannot open: %s", strerror(errno));
    else if (S_ISDIR(there.st_mode))
        fail(error, STATUS_FAILED, "is a directory");
    else if ((file = fdopen(descriptor, "rb")) == NULL)
        fail(error, STATUS_FAILED, "cannot open: %s", strerror(errno));
    if (file == NULL && descriptor >= 0)
        close(descriptor);
    return file;
}

static enum status refuse(const unsigned char *head, size_t size, struct error *error)
{
    if (size == 0)
        return fail(error, STATUS_FAILED, "empty file");
    if (signature_is_mangled_png(head, size))
        return fail(
            error, STATUS_FAILED,
            "damaged PNG: its first bytes were changed or cut off in transfer; fetch it again as binary");
    const char *kind = signature_name(head, size);
    if (kind != NULL)
        return fail(error, STATUS_FAILED, "neither PNG nor TIFF but %s; convert it first", kind);
    return fail(error, STATUS_FAILED, "neither PNG nor TIFF");
}

/* Takes ownership of `file`. TIFF is sought in, with offsets that count from its start. */
static enum status open_tiff(FILE *file, const unsigned char *head, size_t head_size, const char *name,
                             const struct reader_options *options, struct reader **reader,
                             struct error *error)
{
    FILE *seekable = file;
    if (ftello(file) != (off_t)head_size || fseeko(file, 0, SEEK_SET) != 0) {
        seekable = spool_fill(file, head, head_size, error);
        fclose(file);
        if (seekable == NULL)
            return STATUS_FAILED;
    }
    return tiff_reader_open(seekable, name, options, reader, error);
}

static enum status open_format(FILE *file, const char *name, const struct reader_options *options,
                               struct reader **reader, struct error *error)
{
    unsigned char head[SIGNATURE_MAX];
    size_t size = fread(head, 1, PNG_SIGNATURE_SIZE, file);
    if (signature_is_png(head, size))
        return png_reader_open(file, name, options, reader, error);
    if (signature_is_tiff(head, size))
        return open_tiff(file, head, size, name, options, reader, error);

    size += fread(head + size, 1, sizeof head - size, file);
    enum status status = ferror(file) ? fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno))
                                      : refuse(head, size, error);
    fclose(file);
    return status;
}

enum status reader_open(const char *path, const struct reader_options *options, struct reader **reader,
                        struct error *error)
{
    *reader = NULL;
    char *name = copy_text(strcmp(path, "-") == 0 ? "standard input" : path, error);
    if (name == NULL)
        return STATUS_FAILED;
    FILE *file = open_file(path, error);
    enum status status = file == NULL ? STATUS_FAILED : open_format(file, name, options, reader, error);
    if (status != STATUS_OK) {
        error_prefix(error, name);
        free(name);
        *reader = NULL;
    }
    return status;
}

const struct image_info *reader_info(const struct reader *reader)
{
    return &reader->info;
}

enum file_format reader_format(const struct reader *reader)
{
    return reader->class->format;
}

int reader_page_count(const struct reader *reader)
{
    return reader->page_count;
}

uint64_t reader_memory(const struct reader *reader)
{
    return reader->memory + reader->ahead.size;
}

bool reader_is_plain(const struct reader *reader)
{
    return reader->plain;
}

/* The formats' messages do not say which file they are about. */
static enum status named(const struct reader *reader, enum status status, struct error *error)
{
    if (status != STATUS_OK)
        error_prefix(error, reader->name);
    return status;
}

void reader_read_ahead(struct reader *reader, size_t size, bool (*go_on)(void *context), void *context)
{
    struct ahead *ahead = &reader->ahead;
    size_t row = row_size(&reader->info), whole = row * reader->info.height;
    ahead->size = size < whole ? size : whole;
    ahead->rows = ahead->size >= row ? allocate_pages(ahead->size) : NULL;
    uint32_t room = ahead->rows ? (uint32_t)(ahead->size / row) : 0;
    uint32_t piece = row < AHEAD_PIECE ? (uint32_t)(AHEAD_PIECE / row) : 1;
    while (ahead->count < room && ahead->status == STATUS_OK && go_on(context)) {
        uint32_t some = room - ahead->count < piece ? room - ahead->count : piece;
        ahead->status = named(
            reader, reader->class->read(reader, ahead->rows + ahead->count * row, row, some, &ahead->error),
            &ahead->error);
        ahead->count += ahead->status == STATUS_OK ? some : 0;
    }
}

static void end_ahead(struct ahead *ahead)
{
    free(ahead->rows);
    *ahead = (struct ahead){.rows = NULL};
}

/* How many of the rows were there. */
static uint32_t take_ahead(struct reader *reader, unsigned char *rows, size_t pitch, uint32_t count)
{
    struct ahead *ahead = &reader->ahead;
    size_t row = row_size(&reader->info);
    uint32_t left = ahead->count - ahead->next, some = left < count ? left : count;
    for (uint32_t y = 0; y < some; y++)
        memcpy(rows + y * pitch, ahead->rows + (ahead->next + y) * row, row);
    ahead->next += some;
    return some;
}

enum status reader_read(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct ahead *ahead = &reader->ahead;
    unsigned char *to = rows;
    uint32_t taken = ahead->rows ? take_ahead(reader, to, pitch, count) : 0;
    if (taken == count)
        return STATUS_OK;
    if (ahead->status != STATUS_OK) {
        *error = ahead->error;
        return ahead->status;
    }
    if (ahead->rows)
        end_ahead(ahead);
    return named(reader, reader->class->read(reader, to + taken * pitch, pitch, count - taken, error), error);
}

enum status reader_next_page(struct reader *reader, bool *more, struct error *error)
{
    *more = false;
    end_ahead(&reader->ahead);
    return named(reader, reader->class->next_page(reader, more, error), error);
}

void reader_close(struct reader *reader)
{
    if (reader == NULL)
        return;
    end_ahead(&reader->ahead);
    char *name = (char *)reader->name; /* allocated by reader_open; the format only borrows it */
    reader->class->close(reader);
    free(name);
}
