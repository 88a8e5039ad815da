/* libFuzzer's target for pictures of netpbm, which follow one another, and for video: a file and a pipe of
 * the same bytes must give the same pages, for any number of rows per call, with and without reading ahead,
 * and after a rewind.
 *
 * The first byte chooses the pages and how they are read, the second the number of rows per call. */
#include "fuzz.h"
#include "image/image.h"
#include "image/reader.h"

#include <fcntl.h>
#include <string.h>
#include <zlib.h>

enum { MAX_PIXELS = 1 << 16, MAX_PAGES = 40, MAX_SIZE = 60000, PIPE_SIZE = 1 << 17 };

/* Bits of the first byte. */
enum { SOME_PAGES = 1, SEVERAL_PAGES = 2, AHEAD = 4, MEASURE = 64 };

struct reading {
    struct reader_options options;
    uint32_t rows; /* asked for at once */
    bool ahead, measure;
};

struct result {
    enum status status;
    int pages;
    uLong sum; /* of sizes and samples */
};

static bool go_on(void *context)
{
    (void)context;
    return true;
}

static enum status read_page(struct reader *reader, const struct reading *reading, struct result *result,
                             struct error *error)
{
    const struct image_info *info = reader_info(reader);
    const uint32_t sizes[] = {info->width, info->height, (uint32_t)info->channels, (uint32_t)info->type};
    const size_t row = row_size(info);
    enum status status = STATUS_OK;
    unsigned char *rows = malloc(row * reading->rows);
    if (reading->ahead)
        reader_prefetch(reader, 3 * row, go_on, NULL);
    result->sum = crc32(result->sum, (const Bytef *)sizes, sizeof sizes);
    for (uint32_t y = 0; status == STATUS_OK && y < info->height; y += reading->rows) {
        const uint32_t left = info->height - y, count = left < reading->rows ? left : reading->rows;
        status = reader_read(reader, rows, row, count, error);
        for (uint32_t i = 0; status == STATUS_OK && i < count; i++)
            result->sum = crc32(result->sum, rows + i * row, (uInt)row);
    }
    free(rows);
    return status;
}

static struct result read_all(const char *path, const struct reading *reading)
{
    struct result result = {.status = STATUS_OK};
    struct error error = {.text = ""};
    struct reader *reader = NULL;
    double low, high;
    bool more = true;
    result.status = reader_open(path, &reading->options, &reader, &error);
    if (result.status == STATUS_OK && reading->measure)
        result.status = reader_measure(reader, &low, &high, &error);
    while (result.status == STATUS_OK && more && result.pages < MAX_PAGES) {
        result.status = read_page(reader, reading, &result, &error);
        result.pages++;
        if (result.status == STATUS_OK)
            result.status = reader_next_page(reader, &more, &error);
    }
    reader_close(reader);
    if (result.status != STATUS_OK && (!error.text[0] || strchr(error.text, '\n')))
        abort(); /* a failure is one line */
    return result;
}

static struct result read_file(const uint8_t *data, size_t size, const struct reading *reading)
{
    char path[FUZZ_PATH_SIZE];
    const int file = fuzz_file(data, size, path);
    struct result result = read_all(path, reading);
    close(file);
    return result;
}

static struct result read_pipe(const uint8_t *data, size_t size, const struct reading *reading)
{
    char path[FUZZ_PATH_SIZE];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE) < 0 ||
        write(ends[1], data, size) != (ssize_t)size)
        abort();
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    struct result result = read_all(path, reading);
    close(ends[0]);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > MAX_SIZE)
        return 0;
    const unsigned choice = data[0];
    struct reading plain = {.options = {.max_pixels = MAX_PIXELS, .jobs = 1, .spool_folder = "/tmp"},
                            .rows = 1};
    if (choice & SOME_PAGES) {
        plain.options.page = 1 + (int)(choice / 8 % 4);
        plain.options.last_page = choice & SEVERAL_PAGES ? plain.options.page + (int)(choice / 32 % 2) : 0;
    }
    struct reading other = plain;
    other.rows = 1 + data[1] % 9;
    other.ahead = choice & AHEAD;
    other.measure = other.options.rewinds = choice & MEASURE;
    struct result file = read_file(data + 2, size - 2, &plain),
                  stream = read_pipe(data + 2, size - 2, &other);
    /* Measuring reads all pages before the first is handed out: it may fail earlier. */
    const bool alike = file.status == stream.status &&
                       (file.status != STATUS_OK || (file.pages == stream.pages && file.sum == stream.sum));
    if (!alike && !(other.measure && stream.status != STATUS_OK))
        abort();
    return 0;
}
