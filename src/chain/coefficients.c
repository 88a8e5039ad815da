/* The description and checksum of coefficient files, and reading and writing their pages.
 *
 *     file ─▶ page ─▶ staging buffer ─▶ unpack_subband ─▶ planes of the level ─▶ ... and back
 *
 * One page at a time is in a staging buffer; the pyramid is on the device. The JSON is parsed strictly: a
 * file with a missing or impossible value is refused, since climg would otherwise reconstruct a wrong
 * picture. TIFF descriptions are ASCII, so jansson writes the JSON, which escapes all other characters;
 * base/json.h writes it elsewhere. */
#include "chain/coefficients.h"

#include "base/sums.h"
#include "base/text.h"
#include "base/timing.h"
#include "chain/verify.h"
#include "device/event_log.h"
#include "wavelet/dtcwt.h"

#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MARKER[] = COEFFICIENTS_MARKER;
static const char CHECKSUM_MARKER[] = "checksum of dual-tree coefficients"; /* does not contain MARKER */
static const char *const SAMPLE_NAMES[] = {"uint8",   "uint16", "uint32", "half",  "float",
                                           "complex", "int8",   "int16",  "int32", NULL};
enum { FORMAT_VERSION = 1 };

/* True after a failed allocation of jansson in this thread. jansson does not report all of them: it may drop
 * characters of a text instead. */
static _Thread_local bool json_memory_failed;

static void *json_allocate(size_t size)
{
    void *memory = malloc(size);
    json_memory_failed = json_memory_failed || !memory;
    return memory;
}

static void json_set_functions(void)
{
    json_set_alloc_funcs(json_allocate, free);
}

/* Clears json_memory_failed. Call it before any other function of jansson. */
static void json_begin_use(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, json_set_functions);
    json_memory_failed = false;
}

/* Parses the page's description. *root, which the caller frees, is NULL if it is not JSON. */
static enum status load_json(const struct metadata *metadata, json_t **root, struct error *error)
{
    const char *text = metadata_text(metadata, "Description");
    json_begin_use();
    *root = json_loads(text ? text : "", 0, NULL);
    if (!json_memory_failed)
        return STATUS_OK;
    json_decref(*root);
    *root = NULL;
    return fail_memory(error, "out of memory for a description");
}

bool coefficients_recognise(const struct image_info *first)
{
    json_t *root = NULL;
    struct error error;
    const char *text = metadata_text(&first->metadata, "Description");
    if (!text || !strstr(text, MARKER)) /* a quick test, which most files fail */
        return false;
    const bool is_unknown = load_json(&first->metadata, &root, &error) != STATUS_OK;
    const char *marker = json_string_value(json_object_get(root, "climg"));
    const bool found = is_unknown || (marker && strcmp(marker, MARKER) == 0);
    json_decref(root);
    return found;
}

/* Returns the index of a name in a table of structs of `size` bytes that begin with their name, or -1. The
 * name NULL ends the table. */
static int find_name(const void *table, size_t size, const char *name)
{
    for (int i = 0;; i++) {
        const char *const *known = (const void *)((const unsigned char *)table + (size_t)i * size);
        if (*known == NULL || strcmp(*known, name) == 0)
            return *known == NULL ? -1 : i;
    }
}

/* True if all numbers are in range and all names are known (find_name returns -1 for others). */
static bool coefficients_are_valid(const struct coefficients *c)
{
    const struct shape *shape = &c->shape;
    const int largest = 1 << 30;
    const int samples = (int)c->samples;
    return shape->width >= 1 && shape->height >= 1 && shape->width <= largest && shape->height <= largest &&
           shape->channels >= 1 && shape->channels <= 4 && shape->levels >= 1 &&
           shape->levels <= dtcwt_max_levels(shape->width, shape->height) && shape->biort >= 0 &&
           shape->qshift >= 0 && samples >= 0 && samples != SAMPLE_COMPLEX &&
           (!shape->alpha || shape->channels % 2 == 0) && (c->exponent >= 0 || c->exponent == -1);
}

/* Sets *number to the key's value. Returns false if that is missing or no int. */
static bool get_int(const json_t *root, const char *key, int *number)
{
    const json_t *found = json_object_get(root, key);
    const json_int_t value = json_integer_value(found);
    *number = (int)value;
    return json_is_integer(found) && value >= INT_MIN && value <= INT_MAX;
}

/* Fills in *c. Returns a key whose value is missing or has the wrong type; NULL if all are right. */
static const char *parse_description(const json_t *root, struct coefficients *c)
{
    struct shape *shape = &c->shape;
    const struct {
        const char *key;
        int *number;
    } numbers[] = {{"width", &shape->width},
                   {"height", &shape->height},
                   {"channels", &shape->channels},
                   {"levels", &shape->levels}};
    const char *biort = json_string_value(json_object_get(root, "biort")),
               *qshift = json_string_value(json_object_get(root, "qshift"));
    const char *samples = json_string_value(json_object_get(root, "samples"));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!get_int(root, numbers[i].key, numbers[i].number))
            return numbers[i].key;
    if (!biort || !qshift || !samples)
        return !biort ? "biort" : !qshift ? "qshift" : "samples";
    shape->biort = find_name(biorts, sizeof *biorts, biort);
    shape->qshift = find_name(qshifts, sizeof *qshifts, qshift);
    c->samples = (enum sample_type)find_name(SAMPLE_NAMES, sizeof *SAMPLE_NAMES, samples);
    const json_t *alpha = json_object_get(root, "alpha"), *linear = json_object_get(root, "linear"),
                 *exponent = json_object_get(root, "exponent");
    if (!json_is_boolean(alpha) || !json_is_boolean(linear))
        return json_is_boolean(alpha) ? "linear" : "alpha";
    shape->alpha = json_is_true(alpha);
    c->linear = json_is_true(linear);
    c->exponent = json_number_value(exponent);
    return json_is_number(exponent) ? NULL : "exponent";
}

/* Fails if `info` is not the page `index` of the pyramid. */
static enum status check_page(const struct shape *shape, int index, const struct image_info *info,
                              struct error *error)
{
    const struct coefficient_page page = coefficients_page(shape, index);
    if ((int)info->width == page.width && (int)info->height == page.height &&
        info->channels == shape->channels && info->type == page.type)
        return STATUS_OK;
    return fail(error, STATUS_FAILED, "damaged coefficient file: page %d should be %dx%d, %s of %d channel%s",
                index + 1, page.width, page.height, page.type == SAMPLE_COMPLEX ? "complex" : "float",
                shape->channels, shape->channels == 1 ? "" : "s");
}

enum status coefficients_read(const struct image_info *first, struct coefficients *coefficients,
                              struct error *error)
{
    json_t *root = NULL;
    int version = 0;
    *coefficients = (struct coefficients){.shape = {.kind = KIND_PYRAMID, .images = 1}};
    enum status status = load_json(&first->metadata, &root, error);
    if (status != STATUS_OK)
        return status;
    const char *invalid_key =
        get_int(root, "version", &version) ? parse_description(root, coefficients) : "version";
    if (invalid_key)
        status = fail(error, STATUS_FAILED, "damaged coefficient file: its description has no valid %s",
                      invalid_key);
    else if (version != FORMAT_VERSION)
        status = fail(error, STATUS_FAILED, "coefficient file of version %d; this climg reads version %d",
                      version, FORMAT_VERSION);
    else if (!coefficients_are_valid(coefficients))
        status =
            fail(error, STATUS_FAILED, "damaged coefficient file: its description has impossible values");
    else
        status = check_page(&coefficients->shape, 0, first, error);
    if (status == STATUS_OK)
        coefficients->shape.full = sample_full_scale(coefficients->samples);
    json_decref(root);
    return status;
}

enum status coefficients_restore_description(struct metadata *metadata, struct error *error)
{
    json_t *root = NULL;
    enum status status = load_json(metadata, &root, error);
    const char *text = json_string_value(json_object_get(root, "description"));
    if (status == STATUS_OK && text)
        status = metadata_set_text(metadata, "Description", text, strlen(text), error);
    else if (status == STATUS_OK)
        metadata_remove_text(metadata, "Description");
    json_decref(root);
    return status;
}

/* Replaces the description by the JSON, without blanks and in ASCII. Frees `root`, which is NULL if memory
 * ran out. */
static enum status set_description(struct metadata *metadata, json_t *root, struct error *error)
{
    char *text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
    enum status status = text ? metadata_set_text(metadata, "Description", text, strlen(text), error)
                              : fail_memory(error, "out of memory for a description");
    free(text);
    json_decref(root);
    return status;
}

enum status coefficients_describe(const struct coefficients *coefficients, struct metadata *metadata,
                                  struct error *error)
{
    const struct shape *shape = &coefficients->shape;
    /* The image's own description, in UTF-8. */
    const char *old = metadata_text(metadata, "Description");
    const bool latin1 = old && !utf8_is_valid(old, strlen(old));
    char *utf8 = latin1 ? utf8_from_latin1(old, strlen(old), error) : NULL;
    if (latin1 && !utf8)
        return STATUS_FAILED;
    json_begin_use();
    json_t *root = json_pack("{ss si si si si sb si ss ss ss sb sf ss*}", "climg", MARKER, "version",
                             FORMAT_VERSION, "width", shape->width, "height", shape->height, "channels",
                             shape->channels, "alpha", shape->alpha, "levels", shape->levels, "biort",
                             biorts[shape->biort].name, "qshift", qshifts[shape->qshift].name, "samples",
                             SAMPLE_NAMES[coefficients->samples], "linear", coefficients->linear, "exponent",
                             coefficients->exponent, "description", latin1 ? utf8 : old);
    enum status status = set_description(metadata, root, error);
    free(utf8);
    return status;
}

uint32_t coefficients_sum_description(const struct metadata *first)
{
    const char *text = metadata_text(first, "Description");
    return text ? isal_crc32(0, text, strlen(text)) : 0;
}

/* Samples are in the host's byte order, in which climg writes files, too. */
uint32_t coefficients_sum_rows(uint32_t sum, const struct image_info *info, const void *rows, size_t pitch)
{
    for (uint32_t y = 0; y < info->height; y++)
        sum = isal_crc32(sum, (const unsigned char *)rows + y * pitch, row_size(info));
    return sum;
}

enum status coefficients_check(uint32_t sum, const struct metadata *last, bool *is_compared,
                               struct error *error)
{
    json_t *root = NULL;
    const char *text = metadata_text(last, "Description");
    *is_compared = false;
    if (!text || !strstr(text, CHECKSUM_MARKER))
        return STATUS_OK;
    if (load_json(last, &root, error) != STATUS_OK)
        return STATUS_FAILED;
    const json_t *stored = json_object_get(root, "crc32");
    *is_compared = json_is_integer(stored);
    const bool is_right = !*is_compared || json_integer_value(stored) == sum;
    json_decref(root);
    if (is_right)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "damaged coefficient file: its checksum is wrong; if it was changed on purpose, "
                "remove the last page's description");
}

int coefficients_page_count(const struct shape *shape)
{
    return 1 + ORIENTATIONS * shape->levels;
}

struct coefficient_page coefficients_page(const struct shape *shape, int index)
{
    static const int degrees[ORIENTATIONS] = {15, 45, 75, -75, -45, -15};
    if (index == 0)
        return (struct coefficient_page){.width = dtcwt_lowpass_size(shape->width, shape->levels),
                                         .height = dtcwt_lowpass_size(shape->height, shape->levels),
                                         .type = SAMPLE_FLOAT,
                                         .name = "lowpass"};
    const int level = 1 + (index - 1) / ORIENTATIONS;
    struct coefficient_page page = {.level = level,
                                    .width = dtcwt_lowpass_size(shape->width, level) / 2,
                                    .height = dtcwt_lowpass_size(shape->height, level) / 2,
                                    .type = SAMPLE_COMPLEX};
    snprintf(page.name, sizeof page.name, "level %d, %d degrees", level, degrees[(index - 1) % ORIENTATIONS]);
    return page;
}

/* ---------------------------------------------------------------- reading and writing all pages */

/* A page that is being read or written, and its samples of each run. */
struct page_buffer {
    int index;
    struct coefficient_page page;
    struct run *runs[2]; /* the second one is NULL without --verify */
    struct staging *stagings[2];
    size_t pitch, size; /* bytes from row to row, and of all rows */
};

/* Acquires the staging buffers of page `index` for the host. Call buffer_close also after a failure. */
static enum status buffer_open(struct page_buffer *buffer, const struct page *page, const struct shape *shape,
                               int index, struct error *error)
{
    const struct coefficient_page layout = coefficients_page(shape, index);
    const size_t pitch = transfer_pitch(layout.width, shape->channels, layout.type);
    *buffer = (struct page_buffer){.index = index,
                                   .page = layout,
                                   .runs = {page->run, page->run->second},
                                   .pitch = pitch,
                                   .size = pitch * (size_t)layout.height};
    page->run->device->event_log->slice = index;
    for (int k = 0; k < 2 && buffer->runs[k]; k++) {
        buffer->stagings[k] = staging_acquire(&buffer->runs[k]->stagings, buffer->size, error);
        if (!buffer->stagings[k])
            return STATUS_FAILED;
    }
    return STATUS_OK;
}

static void buffer_close(struct page_buffer *buffer)
{
    for (int k = 0; k < 2 && buffer->runs[k]; k++)
        staging_release(&buffer->runs[k]->stagings, buffer->stagings[k]);
}

/* Enqueues the conversion of a staging buffer to planes (`to_device`) or back. A subband is two layers of its
 * level's planes. */
static enum status convert_page(const struct page_buffer *buffer, int k, const struct planes *planes,
                                bool to_device, struct error *error)
{
    struct run *run = buffer->runs[k];
    cl_mem memory = buffer->stagings[k]->object;
    if (buffer->index == 0) {
        const struct conversion plain = {.type = SAMPLE_FLOAT, .channels = planes->channels};
        const struct raster lowpass = conversion_raster(&plain, memory, buffer->pitch, 0);
        return to_device
                   ? unpack_columns(run, &lowpass, 0, planes, error)
                   : pack_columns(run, planes, (struct columns){.count = planes->width}, &lowpass, error);
    }
    cl_int subband = (buffer->index - 1) % ORIENTATIONS;
    cl_int pitch = (cl_int)(buffer->pitch / sample_size(SAMPLE_COMPLEX) / (size_t)planes->channels);
    struct kernel_launch work =
        run_work(run, "coefficients", to_device ? "unpack_subband" : "pack_subband", planes);
    work.vector_width = VECTOR_SCALAR;
    work.depth = planes_layer_depth(planes);
    define(&work.defines, "CHANNELS", planes->channels);
    if (to_device)
        return LAUNCH(run->device, &work, error, ARG_MEMORY(memory), ARG(pitch), ARG_PLANES(planes),
                      ARG(subband));
    return LAUNCH(run->device, &work, error, ARG_PLANES(planes), ARG_MEMORY(memory), ARG(pitch),
                  ARG(subband));
}

/* Reads the page to the staging buffers, and enqueues its conversion. The first page of a level allocates the
 * planes of its six subbands. Updates the checksum, which is compared after the last page. */
static enum status load_page(const struct page *page, struct value *pyramids, struct page_buffer *buffer,
                             uint32_t *sum, struct error *error)
{
    const struct image_info *info = reader_info(page->reader);
    const struct shape *shape = &pyramids[0].shape;
    const struct coefficient_page *layout = &buffer->page;
    const int index = buffer->index;
    bool ignored;
    enum status status = check_page(shape, index, info, error);
    if (status != STATUS_OK)
        return status;

    /* Read the page. */
    const double since = clock_seconds();
    status = reader_read(page->reader, buffer->stagings[0]->host, buffer->pitch, info->height, error);
    if (status == STATUS_OK) {
        if (index == 0)
            *sum = coefficients_sum_description(&info->metadata);
        *sum = coefficients_sum_rows(*sum, info, buffer->stagings[0]->host, buffer->pitch);
        if (index + 1 == coefficients_page_count(shape))
            status = coefficients_check(*sum, &info->metadata, &ignored, error);
    }
    timing_add(run_timing(page->run), PHASE_DECODE, "decode", index, since);

    /* Convert it. */
    if (buffer->stagings[1])
        memcpy(buffer->stagings[1]->host, buffer->stagings[0]->host, buffer->size);
    for (int k = 0; status == STATUS_OK && k < 2 && buffer->runs[k]; k++) {
        struct planes *planes = &pyramids[k].planes[layout->level];
        if (index == 0 || index % ORIENTATIONS == 1)
            status = run_planes(buffer->runs[k], layout->width, layout->height, rows_full(layout->height),
                                index == 0 ? 1 : SUBBAND_LAYERS, shape->channels, planes, error);
        if (status == STATUS_OK)
            status = staging_unmap(buffer->stagings[k], buffer->size, error);
        if (status == STATUS_OK)
            status = convert_page(buffer, k, planes, true, error);
        if (status == STATUS_OK)
            status = staging_map(buffer->stagings[k], 0, error);
    }
    return status;
}

enum status pyramid_load(const struct page *page, struct value *pyramids, struct error *error)
{
    const int pages = coefficients_page_count(&pyramids[0].shape);
    enum status status = STATUS_OK;
    uint32_t sum = 0;
    page->run->device->event_log->owner = UNPACKING;
    for (int i = 0; status == STATUS_OK && i < pages; i++) {
        struct page_buffer buffer;
        bool more = true;
        status = buffer_open(&buffer, page, &pyramids[0].shape, i, error);
        if (status == STATUS_OK)
            status = load_page(page, pyramids, &buffer, &sum, error);
        buffer_close(&buffer);
        if (status == STATUS_OK && i + 1 < pages)
            status = reader_next_page(page->reader, &more, error);
        if (status == STATUS_OK && !more)
            status =
                fail(error, STATUS_FAILED, "damaged coefficient file: %d pages, %d expected", i + 1, pages);
    }
    return status;
}

/* Converts the planes to the staging buffers, waits for them, compares them, and writes the page. Updates the
 * checksum, which the last page stores. */
static enum status write_page(const struct page *page, const struct value *pyramids,
                              struct page_buffer *buffer, uint32_t *sum, struct error *error)
{
    const struct shape *shape = &pyramids[0].shape;
    struct event_log *event_log = page->run->device->event_log;
    enum status status = STATUS_OK;
    for (int k = 0; status == STATUS_OK && k < 2 && buffer->runs[k]; k++) {
        const double since = clock_seconds();
        status = staging_unmap(buffer->stagings[k], 0, error);
        if (status == STATUS_OK)
            status = convert_page(buffer, k, &pyramids[k].planes[buffer->page.level], false, error);
        if (status == STATUS_OK)
            status = staging_map(buffer->stagings[k], buffer->size, error);
        if (status == STATUS_OK)
            status = staging_wait(buffer->stagings[k], error);
        if (k == 1)
            run_add_host_time(page->run, PHASE_VERIFY, "verify", since);
    }
    if (status == STATUS_OK)
        status = event_log_collect(event_log, event_log_mark(event_log), error);
    if (status != STATUS_OK)
        return status;

    const double since = clock_seconds();
    const bool is_first = buffer->index == 0;
    struct image_info info = is_first ? page->out : (struct image_info){.channels = shape->channels};
    info.width = (uint32_t)buffer->page.width;
    info.height = (uint32_t)buffer->page.height;
    info.type = buffer->page.type;
    info.alpha = info.premultiplied = shape->alpha;
    info.compression = page->out.compression;
    info.page_name = buffer->page.name;
    if (buffer->stagings[1] &&
        verify_rows(page->run, &info, buffer->page.name, rows_full(buffer->page.height),
                    buffer->stagings[0]->host, buffer->stagings[1]->host, buffer->pitch, error) != STATUS_OK)
        return STATUS_FAILED;
    if (is_first)
        *sum = coefficients_sum_description(&info.metadata);
    *sum = coefficients_sum_rows(*sum, &info, buffer->stagings[0]->host, buffer->pitch);
    if (buffer->index + 1 == coefficients_page_count(shape)) {
        json_begin_use();
        status = set_description(
            &info.metadata, json_pack("{ss sI}", "climg", CHECKSUM_MARKER, "crc32", (json_int_t)*sum), error);
    }
    if (status == STATUS_OK)
        status = writer_begin_page(page->writer, &info, error);
    if (status == STATUS_OK)
        status = writer_write(page->writer, buffer->stagings[0]->host, buffer->pitch, info.height, error);
    if (status == STATUS_OK)
        status = writer_end_page(page->writer, error);
    if (!is_first) /* the first page borrows the metadata of page->out */
        metadata_free(&info.metadata);
    timing_add(run_timing(page->run), PHASE_ENCODE, "encode", buffer->index, since);
    return status;
}

enum status pyramid_store(const struct page *page, const struct value *pyramids, struct error *error)
{
    const struct shape *shape = &pyramids[0].shape;
    enum status status = STATUS_OK;
    uint32_t sum = 0;
    page->run->device->event_log->owner = PACKING;
    for (int i = 0; status == STATUS_OK && i < coefficients_page_count(shape); i++) {
        struct page_buffer buffer;
        status = buffer_open(&buffer, page, shape, i, error);
        if (status == STATUS_OK)
            status = write_page(page, pyramids, &buffer, &sum, error);
        buffer_close(&buffer);
    }
    return status;
}
