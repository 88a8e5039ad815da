/* Opens a file, recognises its format by its first bytes, and passes pages and rows from the format's reader
 * to the chain. CMYK and L*a*b* become RGB here, and messages get the file's name.
 *
 * A format that seeks reads a temporary copy of a pipe. While the device is being opened, reader_prefetch
 * decodes the first rows. */
#include "image/reader.h"
#include "base/error.h"
#include "base/files.h"
#include "image/codec.h"
#include "image/colour/colour.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that reader_prefetch decodes between two calls of go_on: few, as the opened device waits for them. */
enum { PREFETCH_STEP = 256 << 10 };

enum status check_image_size(uint64_t width, uint64_t height, uint64_t max_pixels, struct error *error)
{
    /* Positions along an axis are ints, and mirrored borders reach twice the size. */
    const uint64_t longest = 1 << 30;
    if (width == 0 || height == 0)
        return fail(error, STATUS_FAILED, "an image of %" PRIu64 "x%" PRIu64 " pixels is empty", width,
                    height);
    if (height > max_pixels / width)
        return fail(error, STATUS_FAILED,
                    "%" PRIu64 "x%" PRIu64 " pixels are more than the limit of %" PRIu64
                    "; raise --max-pixels",
                    width, height, max_pixels);
    if (width > longest || height > longest)
        return fail(error, STATUS_FAILED, "%" PRIu64 "x%" PRIu64 " pixels are beyond 2^30 along an axis",
                    width, height);
    return STATUS_OK;
}

/* Opens the path, or stdin for "-". Fails for directories and for files that are open for writing only. */
static FILE *open_file(const char *path, struct error *error)
{
    /* Duplicate stdin: descriptor 0 must stay in use after reader_close, so that no other file gets it. */
    int descriptor =
        strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat file_stat;
    FILE *file = NULL;
    if (descriptor < 0 || fstat(descriptor, &file_stat) != 0)
        fail(error, STATUS_FAILED, "cannot open: %s", strerror(errno));
    else if (S_ISDIR(file_stat.st_mode))
        fail(error, STATUS_FAILED, "is a directory");
    else if ((fcntl(descriptor, F_GETFL) & O_ACCMODE) ==
             O_WRONLY) /* main opens /dev/null so if stdin is closed */
        fail(error, STATUS_FAILED, "cannot read: it is closed, or open for writing only");
    else if ((file = fdopen(descriptor, "rb")) == NULL)
        fail(error, STATUS_FAILED, "cannot open: %s", strerror(errno));
    if (file == NULL && descriptor >= 0)
        close(descriptor);
    return file;
}

enum status fail_reading(struct error *error)
{
    return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
}

enum status fail_damaged(const struct reader *reader, const char *what, struct error *error)
{
    return ferror(reader->file) ? fail_reading(error)
                                : fail(error, STATUS_FAILED, "damaged %s: %s", reader->format->name, what);
}

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Recognises the format by the file's first bytes. Fails if climg does not read it or --only does not accept
 * it. */
static enum status identify(struct reader *common, const char *path, struct error *error)
{
    common->head_size = fread(common->head, 1, SIGNATURE_SIZE, common->file);
    common->format = format_by_signature(common->head, common->head_size);
    if (common->format == NULL) { /* RIFF and foreign formats need more bytes */
        common->head_size +=
            fread(common->head + common->head_size, 1, sizeof common->head - common->head_size, common->file);
        common->format = format_by_signature(common->head, common->head_size);
    }
    if (common->format != NULL)
        return format_set_accepts(common->options.only, common->format)
                   ? STATUS_OK
                   : fail(error, STATUS_FAILED, "is %s, which --only does not accept", common->format->name);
    if (ferror(common->file))
        return fail_reading(error);
    if (common->head_size == 0)
        return fail(error, STATUS_FAILED, "empty file");
    const char *foreign = foreign_name(common->head, common->head_size);
    return foreign != NULL ? fail(error, STATUS_FAILED, "%s", foreign_hint(foreign, path, false).text)
                           : fail(error, STATUS_FAILED, "is not %s", format_names(NULL, "or").text);
}

static void close_rgb_conversion(struct reader *reader)
{
    rgb_conversion_close(reader->to_rgb);
    free(reader->file_row);
    reader->to_rgb = NULL;
    reader->file_row = NULL;
}

/* After a header was read: opens the conversion of CMYK or L*a*b* to RGB. */
static enum status open_rgb_conversion(struct reader *reader, struct error *error)
{
    struct image_info *info = &reader->info;
    const struct colour_space *target =
        reader->options.rgb_space != NULL ? reader->options.rgb_space : colour_space_builtin(COLOUR_SRGB);
    close_rgb_conversion(reader);
    if (info->colour_model == COLOUR_MODEL_RGB)
        return STATUS_OK;
    if (target == NULL)
        return fail_memory(error, "out of memory for a colour space");
    if (info->type != SAMPLE_UINT8 && info->type != SAMPLE_UINT16)
        return fail(error, STATUS_FAILED, "CMYK and L*a*b* of %s samples are not supported",
                    sample_name(info->type));
    reader->file_row = allocate(row_size(info), "a row", error);
    if (reader->file_row == NULL || rgb_conversion_open(info, target, &reader->to_rgb, error) != STATUS_OK)
        return STATUS_FAILED;
    info->approximate = rgb_conversion_is_approximate(reader->to_rgb);
    if (info->approximate)
        metadata_warn(&info->metadata,
                      "is CMYK without a profile that can be used; its colours are approximate");
    if (reader->options.rgb_space == NULL)
        reader->unread =
            info->colour_model <= COLOUR_MODEL_CMYK_INVERTED ? "the inks of CMYK" : "the colours of L*a*b*";
    reader->uncompressed = false;
    reader->converted = *info;
    reader->converted.channels = 3;
    reader->converted.metadata.has_chromaticities = false;
    reader->converted.metadata.icc = target->icc; /* borrowed; metadata_copy makes a copy */
    return STATUS_OK;
}

/* Reads rows, and converts CMYK and L*a*b* to RGB. */
static enum status read_rows(struct reader *reader, unsigned char *rows, size_t pitch, uint32_t count,
                             struct error *error)
{
    const struct reader_class *class = reader->format->reader;
    if (reader->to_rgb == NULL)
        return class->read(reader, rows, pitch, count, error);
    enum status status = STATUS_OK;
    for (uint32_t y = 0; status == STATUS_OK && y < count; y++) {
        status = class->read(reader, reader->file_row, row_size(&reader->info), 1, error);
        if (status == STATUS_OK)
            rgb_conversion_apply(reader->to_rgb, reader->file_row, rows + y * pitch, reader->info.width);
    }
    return status;
}

/* Reads the header of the first page. Unless the class seeks, reader->head has the file's first bytes, and
 * the file is after them. */
static enum status open_page(struct reader *reader, struct error *error)
{
    const struct reader_class *class = reader->format->reader;
    if (!class->seeks && reader->head_size == 0)
        reader->head_size = fread(reader->head, 1, SIGNATURE_SIZE, reader->file);
    if (class->next_page == NULL && reader->options.page > 1)
        return fail(error, STATUS_FAILED, "there is no page %d; a %s has one", reader->options.page,
                    reader->format->name);
    enum status status = class->open(reader, error);
    return status == STATUS_OK ? open_rgb_conversion(reader, error) : status;
}

/* Frees the common fields. */
static void release_common(struct reader *common)
{
    close_rgb_conversion(common);
    free_pages(common->prefetch.rows, common->prefetch.size);
    metadata_free(&common->info.metadata);
    if (common->file != NULL)
        fclose(common->file);
    free(common->name);
}

/* Opens a reader, which owns the file also after a failure. file NULL: it could not be opened, and *error is
 * set. */
static enum status open_reader(const char *path, FILE *file, const struct reader_options *options,
                               struct reader **reader, struct error *error)
{
    struct reader common = {.options = *options, .page_count = 1, .file = file};
    *reader = NULL;
    common.name = file != NULL ? copy_text(name_of(path), error) : NULL;
    enum status status = common.name != NULL ? identify(&common, path, error) : STATUS_FAILED;
    if (status == STATUS_OK) {
        *reader = allocate_zeroed(1, common.format->reader->size, "the input", error);
        status = *reader != NULL ? STATUS_OK : STATUS_FAILED;
    }
    if (status == STATUS_OK) {
        **reader = common; /* struct reader is the first member of the format's struct */
        const bool seeks = common.format->reader->seeks || options->rewinds ||
                           (options->copies && common.format->lossy) ||
                           (options->reopens && !common.format->holds.video);
        /* Seek to the start of the file. Replace a pipe by a temporary copy. */
        if (seeks && (ftello(file) != (off_t)common.head_size || fseeko(file, 0, SEEK_SET) != 0)) {
            FILE *spool = spool_fill(options->spool_folder, file, common.head, common.head_size, error);
            status = spool != NULL ? STATUS_OK : STATUS_FAILED;
            if (spool != NULL) {
                fclose(file);
                (*reader)->file = spool;
            }
        }
        (*reader)->head_size = seeks ? 0 : common.head_size;
    }
    if (status == STATUS_OK)
        status = open_page(*reader, error);
    if (status == STATUS_OK)
        return STATUS_OK;
    error_prefix(error, name_of(path));
    if (*reader != NULL)
        reader_close(*reader);
    else
        release_common(&common);
    *reader = NULL;
    return status;
}

enum status reader_open(const char *path, const struct reader_options *options, struct reader **reader,
                        struct error *error)
{
    return open_reader(path, open_file(path, error), options, reader, error);
}

enum status reader_open_again(const struct reader *reader, const struct reader_options *options,
                              struct reader **again, struct error *error)
{
    return open_reader(reader->name, spool_copy(options->spool_folder, fileno(reader->file), error), options,
                       again, error);
}

const struct image_info *reader_info(const struct reader *reader)
{
    return reader->to_rgb != NULL ? &reader->converted : &reader->info;
}

const struct format *reader_format(const struct reader *reader)
{
    return reader->format;
}

const char *reader_name(const struct reader *reader)
{
    return reader->name;
}

int reader_last_page(const struct reader *reader)
{
    const struct reader_options *options = &reader->options;
    return options->page == 0 ? INT_MAX : options->last_page == 0 ? options->page : options->last_page;
}

int reader_pages_to_read(const struct reader *reader)
{
    int count = reader->page_count, first = reader->options.page > 0 ? reader->options.page : 1;
    int last = reader_last_page(reader);
    if (count == 0)
        return first == last && reader->info.video.parts <= 1 ? 1 : 0;
    return (last < count ? last : count) - first + 1;
}

int reader_page_count(const struct reader *reader)
{
    return reader->page_count;
}

uint64_t reader_memory(const struct reader *reader)
{
    return reader->memory + reader->prefetch.size;
}

bool reader_is_uncompressed(const struct reader *reader)
{
    return reader->uncompressed;
}

bool reader_is_complete(const struct reader *reader)
{
    const struct reader_class *class = reader->format->reader;
    return reader->uncompressed && class->is_complete && class->is_complete(reader);
}

const struct metadata *reader_trailing_warnings(struct reader *reader)
{
    if (reader->format->reader->check_trailing_data != NULL && !reader->has_checked_trailing)
        reader->format->reader->check_trailing_data(reader);
    return &reader->trailing;
}

const char *reader_unread(const struct reader *reader)
{
    return reader->unread;
}

bool reader_has_coefficients(const struct reader *reader)
{
    const char *text = metadata_text(&reader_info(reader)->metadata, "Description");
    return text && strstr(text, "\"climg\":\"" COEFFICIENTS_MARKER "\"");
}

bool reader_rounded(const struct reader *reader)
{
    return reader->rounded;
}

/* Prefixes a format's message with the file's name unless `status` is STATUS_OK. Returns `status`. */
static enum status prefix_name(const struct reader *reader, enum status status, struct error *error)
{
    if (status != STATUS_OK)
        error_prefix_once(error, reader->name);
    return status;
}

void reader_prefetch(struct reader *reader, size_t size, bool (*go_on)(void *context), void *context)
{
    struct prefetch *prefetch = &reader->prefetch;
    size_t row = row_size(reader_info(reader)), page_size = row * reader->info.height;
    size = size < page_size ? size : page_size;
    prefetch->rows = size >= row ? allocate_pages(size) : NULL;
    prefetch->size = prefetch->rows ? size : 0;
    uint32_t room = prefetch->rows ? (uint32_t)(prefetch->size / row) : 0;
    uint32_t step = row < PREFETCH_STEP ? (uint32_t)(PREFETCH_STEP / row) : 1;
    while (prefetch->count < room && prefetch->status == STATUS_OK && go_on(context)) {
        uint32_t some = room - prefetch->count < step ? room - prefetch->count : step;
        prefetch->status = prefix_name(
            reader, read_rows(reader, prefetch->rows + prefetch->count * row, row, some, &prefetch->error),
            &prefetch->error);
        prefetch->count += prefetch->status == STATUS_OK ? some : 0;
    }
}

static void end_prefetch(struct prefetch *prefetch)
{
    free_pages(prefetch->rows, prefetch->size);
    *prefetch = (struct prefetch){.rows = NULL};
}

void reader_reduce(struct reader *reader, int factor)
{
    if (factor > 1 && reader->format->reader->reduce != NULL)
        reader->format->reader->reduce(reader, factor);
    const struct image_info *info = &reader->info;
    reader->converted.width = info->width;
    reader->converted.height = info->height;
    reader->converted.reduction = info->reduction;
    reader->converted.full_width = info->full_width;
    reader->converted.full_height = info->full_height;
}

enum status reader_read(struct reader *reader, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    struct prefetch *prefetch = &reader->prefetch;
    unsigned char *to = rows;
    uint32_t taken = 0;
    if (prefetch->rows) { /* copy prefetched rows, and free their memory */
        const size_t row = row_size(reader_info(reader));
        for (; taken < count && prefetch->next < prefetch->count; taken++, prefetch->next++)
            memcpy(to + taken * pitch, prefetch->rows + prefetch->next * row, row);
        discard_pages(prefetch->rows, prefetch->next * row);
    }
    if (taken == count)
        return STATUS_OK;
    /* All prefetched rows were read. The next one failed, or has to be decoded. */
    if (prefetch->status != STATUS_OK) {
        *error = prefetch->error;
        return prefetch->status;
    }
    if (prefetch->rows)
        end_prefetch(prefetch);
    return prefix_name(reader, read_rows(reader, to + taken * pitch, pitch, count - taken, error), error);
}

enum status reader_skip(struct reader *reader, void *scratch, size_t pitch, uint32_t count,
                        struct error *error)
{
    const struct reader_class *class = reader->format->reader;
    if (!class->skip || reader->prefetch.rows || !class->skip(reader, count))
        return reader_read(reader, scratch, pitch, count, error);
    return STATUS_OK;
}

bool reader_rewind_page(struct reader *reader)
{
    const struct reader_class *class = reader->format->reader;
    return reader_is_uncompressed(reader) && !reader->prefetch.rows && class->rewind_page &&
           class->rewind_page(reader);
}

enum status reader_next_page(struct reader *reader, bool *more, struct error *error)
{
    *more = false;
    end_prefetch(&reader->prefetch);
    const struct reader_class *class = reader->format->reader;
    enum status status = class->next_page == NULL
                             ? STATUS_OK
                             : prefix_name(reader, class->next_page(reader, more, error), error);
    return status == STATUS_OK && *more ? prefix_name(reader, open_rgb_conversion(reader, error), error)
                                        : status;
}

/* Closes the format's reader but not the file, and reads the header again. */
enum status reader_rewind(struct reader *reader, struct error *error)
{
    const struct reader_class *class = reader->format->reader;
    const struct reader kept = {.format = reader->format,
                                .name = reader->name,
                                .options = reader->options,
                                .file = reader->file,
                                .page_count = 1};
    if (class->close != NULL)
        class->close(reader);
    close_rgb_conversion(reader);
    metadata_free(&reader->info.metadata);
    end_prefetch(&reader->prefetch);
    memset(reader, 0, class->size);
    *reader = kept;
    if (fseeko(reader->file, 0, SEEK_SET) != 0)
        return prefix_name(reader, fail_reading(error), error);
    return prefix_name(reader, open_page(reader, error), error);
}

enum status reader_decode_all(struct reader *reader, double *low, double *high, struct error *error)
{
    enum status status = STATUS_OK;
    for (bool more = true; status == STATUS_OK && more;) {
        const struct image_info *info = reader_info(reader);
        const size_t size = row_size(info), channels = (size_t)info->channels,
                     colours = channels - info->alpha;
        void *row = allocate(size, "a row", error);
        status = row != NULL ? STATUS_OK : STATUS_FAILED;
        for (uint32_t y = 0; status == STATUS_OK && y < info->height; y++) {
            status = reader_read(reader, row, size, 1, error);
            for (size_t x = 0; status == STATUS_OK && low != NULL && x < info->width; x++)
                for (size_t c = 0; c < colours; c++) {
                    const double value = sample_value(info->type, row, x * channels + c);
                    *low = isfinite(value) ? fmin(*low, value) : *low;
                    *high = isfinite(value) ? fmax(*high, value) : *high;
                }
        }
        free(row);
        if (status == STATUS_OK)
            status = reader_next_page(reader, &more, error);
    }
    return status;
}

enum status reader_measure(struct reader *reader, double *low, double *high, struct error *error)
{
    *low = INFINITY;
    *high = -INFINITY;
    enum status status = reader_decode_all(reader, low, high, error);
    if (*low > *high)
        *low = *high = 0;
    return status == STATUS_OK ? reader_rewind(reader, error) : status;
}

enum status reader_examine(struct reader *reader, struct error *error)
{
    if (reader->format->examine == NULL)
        return STATUS_OK;
    reader_trailing_warnings(reader); /* needs the file's position */
    reader->has_checked_trailing = true;
    if (fseeko(reader->file, 0, SEEK_SET) != 0)
        return prefix_name(reader, fail_reading(error), error);
    return prefix_name(reader, reader->format->examine(reader->file, &reader->trailing, error), error);
}

enum status reader_copy(struct reader *reader, FILE *to, struct error *error)
{
    char bytes[BUFSIZ];
    size_t size;
    reader->has_checked_trailing = true; /* the copy has all data */
    /* Decode first, so that a damaged file fails before anything is written. */
    enum status status = reader_decode_all(reader, NULL, NULL, error);
    if (status == STATUS_OK && fseeko(reader->file, 0, SEEK_SET) != 0)
        status = prefix_name(reader, fail_reading(error), error);
    while (status == STATUS_OK && (size = fread(bytes, 1, sizeof bytes, reader->file)) > 0)
        if (fwrite(bytes, 1, size, to) != size)
            status = fail_writing(error, errno);
    if (status == STATUS_OK && ferror(reader->file))
        status = prefix_name(reader, fail_reading(error), error);
    return status;
}

void reader_close(struct reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->format->reader->close != NULL)
        reader->format->reader->close(reader);
    release_common(reader);
    free(reader);
}
