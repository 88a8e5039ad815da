/* The description and checksum of coefficient files, and reading and writing their pages.
 *
 *     file ─▶ page ─▶ staging buffer ─▶ unpack_subband ─▶ planes of the level ─▶ ... and back
 *
 * Pages go one at a time through a staging buffer; the pyramid stays on the device. The JSON is parsed
 * strictly: a file with a missing or impossible key is refused, since climg would otherwise reconstruct a
 * wrong picture. jansson writes the JSON here, and base/json.h elsewhere: TIFF's descriptions are ASCII, to
 * which jansson escapes all other characters. */
#include "chain/coefficients.h"

#include "base/sums.h"
#include "base/text.h"
#include "base/timing.h"
#include "device/event_log.h"
#include "wavelet/dtcwt.h"

#include <jansson.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MARKER[] = "dual-tree complex wavelet coefficients";
static const char SEAL[] = "checksum of dual-tree coefficients"; /* does not contain the marker */
static const char *const SAMPLE_NAMES[] = {"uint8",   "uint16", "uint32", "half",  "float",
                                           "complex", "int8",   "int16",  "int32", NULL};
enum { FORMAT_VERSION = 1 };

/* True after a failed allocation of jansson in this thread. jansson may drop characters of a text and go on.
 */
static _Thread_local bool starved;

static void *allocate_json(size_t size)
{
    void *memory = malloc(size);
    starved = starved || !memory;
    return memory;
}

static void set_functions(void)
{
    json_set_alloc_funcs(allocate_json, free);
}

/* Begins to watch jansson's allocations. Call it before any other function of jansson. */
static void begin_json(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_functions);
    starved = false;
}

/* Parses the page's description. *root, which the caller frees, is NULL if it is not JSON. */
static enum status load_json(const struct metadata *metadata, json_t **root, struct error *error)
{
    const char *text = metadata_text(metadata, "Description");
    begin_json();
    *root = json_loads(text ? text : "", 0, NULL);
    if (!starved)
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
    if (!text || !strstr(text, MARKER)) /* most files, without parsing */
        return false;
    bool unknown = load_json(&first->metadata, &root, &error) != STATUS_OK;
    const char *marker = json_string_value(json_object_get(root, "climg"));
    bool found = unknown || (marker && strcmp(marker, MARKER) == 0);
    json_decref(root);
    return found;
}

/* Returns the index of a name in a table of structs of `size` bytes that begin with their name, or -1. */
static int find_name(const void *table, size_t size, const char *name)
{
    for (int i = 0;; i++) {
        const char *const *known = (const void *)((const unsigned char *)table + (size_t)i * size);
        if (*known == NULL || strcmp(*known, name) == 0)
            return *known == NULL ? -1 : i;
    }
}

/* True if all numbers are in range and all names are known (-1 is an unknown one). */
static bool is_possible(const struct coefficients *c)
{
    const struct shape *shape = &c->shape;
    const int largest = 1 << 30;
    return shape->width >= 1 && shape->height >= 1 && shape->width <= largest && shape->height <= largest &&
           shape->channels >= 1 && shape->channels <= 4 && shape->levels >= 1 &&
           shape->levels <= dtcwt_max_levels(shape->width, shape->height) && shape->biort >= 0 &&
           shape->qshift >= 0 && (int)c->samples >= 0 && (!shape->alpha || shape->channels % 2 == 0);
}

/* Sets *number to the key's value. Returns false if that is missing or no int. */
static bool get_int(const json_t *root, const char *key, int *number)
{
    const json_t *found = json_object_get(root, key);
    const json_int_t value = json_integer_value(found);
    *number = (int)value;
    return json_is_integer(found) && value >= INT_MIN && value <= INT_MAX;
}

/* Fills in *c. Returns the first key whose value is missing or has the wrong type; NULL if all are right. */
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

enum status coefficients_read(const struct image_info *first, struct coefficients *coefficients,
                              struct error *error)
{
    json_t *root = NULL;
    int version = 0;
    *coefficients = (struct coefficients){.shape = {.kind = KIND_PYRAMID, .images = 1}};
    enum status status = load_json(&first->metadata, &root, error);
    if (status != STATUS_OK)
        return status;
    const char *lacking =
        get_int(root, "version", &version) ? parse_description(root, coefficients) : "version";
    if (lacking)
        status =
            fail(error, STATUS_FAILED, "damaged coefficient file: its description has no valid %s", lacking);
    else if (version != FORMAT_VERSION)
        status = fail(error, STATUS_FAILED, "coefficient file of version %d; this climg reads version %d",
                      version, FORMAT_VERSION);
    else if (!is_possible(coefficients))
        status = fail(error, STATUS_FAILED, "damaged coefficient file: its description is of no pyramid");
    else
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

/* Makes the JSON the description, without blanks and in ASCII. Frees `root`, which may be NULL. */
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
    begin_json();
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

/* Samples are in the host's byte order, which climg's files have, too. */
uint32_t coefficients_sum_rows(uint32_t sum, const struct image_info *info, const void *rows, size_t pitch)
{
    for (uint32_t y = 0; y < info->height; y++)
        sum = isal_crc32(sum, (const unsigned char *)rows + y * pitch, row_size(info));
    return sum;
}

enum status coefficients_check(uint32_t sum, const struct metadata *last, struct error *error)
{
    json_t *root = NULL;
    struct error unread;
    const char *text = metadata_text(last, "Description");
    if (!text || !strstr(text, SEAL) || load_json(last, &root, &unread) != STATUS_OK)
        return STATUS_OK;
    const json_t *seal = json_object_get(root, "crc32");
    const bool sealed = json_is_integer(seal);
    const json_int_t wanted = json_integer_value(seal);
    json_decref(root);
    if (!sealed || wanted == sum)
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "damaged coefficient file: its checksum is wrong; where it was changed on purpose, "
                "remove the last page's description");
}

int coefficients_page_count(const struct shape *shape)
{
    return 1 + ORIENTATIONS * shape->levels;
}

void coefficients_page(const struct shape *shape, int page, int *width, int *height, char *name)
{
    static const int degrees[ORIENTATIONS] = {15, 45, 75, -75, -45, -15};
    int level = page == 0 ? shape->levels : 1 + (page - 1) / ORIENTATIONS, halved = page == 0 ? 1 : 2;
    *width = dtcwt_lowpass_size(shape->width, level) / halved;
    *height = dtcwt_lowpass_size(shape->height, level) / halved;
    if (page == 0)
        snprintf(name, PAGE_NAME_SIZE, "lowpass");
    else
        snprintf(name, PAGE_NAME_SIZE, "level %d, %d degrees", level, degrees[(page - 1) % ORIENTATIONS]);
}

/* ---------------------------------------------------------------- reading and writing all pages */

/* A page of the file that is being read or written; coefficients_page numbers them by `index`. */
struct subband_page {
    int index, width, height;
    int level; /* 0: the lowpass */
    char name[PAGE_NAME_SIZE];
    enum sample_type type;
    struct staging *staging;
    size_t pitch, size; /* bytes from row to row, and of all rows */
};

/* Fills in *file_page for page `index`, and acquires its staging buffer for the host. The caller releases it,
 * also after a failure. */
static enum status subband_open(struct subband_page *file_page, const struct page *page,
                                const struct shape *shape, int index, struct error *error)
{
    file_page->index = index;
    file_page->level = index == 0 ? 0 : 1 + (index - 1) / ORIENTATIONS;
    file_page->type = index == 0 ? SAMPLE_FLOAT : SAMPLE_COMPLEX;
    coefficients_page(shape, index, &file_page->width, &file_page->height, file_page->name);
    file_page->pitch = transfer_pitch(file_page->width, shape->channels, file_page->type);
    file_page->size = file_page->pitch * (size_t)file_page->height;
    file_page->staging = staging_acquire(&page->run->stagings, file_page->size, error);
    if (!file_page->staging)
        return STATUS_FAILED;
    return staging_wait(file_page->staging, error);
}

/* Enqueues the conversion of the staging buffer to planes (`to_device`) or back. A subband is two layers of
 * its level's planes. */
static enum status convert_subband(struct run *run, const struct subband_page *file_page,
                                   const struct planes *subbands, bool to_device, struct error *error)
{
    if (file_page->index == 0) {
        const struct conversion plain = {.type = SAMPLE_FLOAT, .channels = subbands->channels};
        const struct raster lowpass =
            conversion_raster(&plain, file_page->staging->object, file_page->pitch, 0);
        return to_device ? unpack_planes(run, &lowpass, subbands, error)
                         : pack_planes(run, subbands, &lowpass, error);
    }
    cl_int subband = (file_page->index - 1) % ORIENTATIONS;
    cl_int pitch = (cl_int)(file_page->pitch / sample_size(SAMPLE_COMPLEX) / (size_t)subbands->channels);
    struct work work = run_work(run, "coefficients", to_device ? "unpack_subband" : "pack_subband", subbands);
    work.vector_width = VECTOR_SCALAR;
    work.depth = planes_layer_depth(subbands);
    define(&work.defines, "CHANNELS", subbands->channels);
    if (to_device)
        return LAUNCH(run->device, &work, error, ARG_MEMORY(file_page->staging->object), ARG(pitch),
                      ARG_PLANES(subbands), ARG(subband));
    return LAUNCH(run->device, &work, error, ARG_PLANES(subbands), ARG_MEMORY(file_page->staging->object),
                  ARG(pitch), ARG(subband));
}

/* Reads the page to the staging buffer and adds it to the checksum, which is compared after the last one. */
static enum status read_subband(const struct page *page, const struct shape *shape,
                                struct subband_page *file_page, uint32_t *sum, struct error *error)
{
    const double since = clock_seconds();
    const struct image_info *info = reader_info(page->reader);
    enum status status = reader_read(page->reader, file_page->staging->host, file_page->pitch,
                                     (uint32_t)file_page->height, error);
    if (status == STATUS_OK) {
        if (file_page->index == 0)
            *sum = coefficients_sum_description(&info->metadata);
        *sum = coefficients_sum_rows(*sum, info, file_page->staging->host, file_page->pitch);
        if (file_page->index + 1 == coefficients_page_count(shape))
            status = coefficients_check(*sum, &info->metadata, error);
    }
    timing_add(page->timing, PHASE_DECODE, "decode", file_page->index, since);
    return status;
}

/* Reads a page and enqueues its conversion. The first page of a level allocates the planes of all six. Fails
 * if the page has another size or type than the pyramid's page. */
static enum status load_subband(const struct page *page, struct value *pyramid,
                                struct subband_page *file_page, uint32_t *sum, struct error *error)
{
    const struct image_info *info = reader_info(page->reader);
    const int channels = pyramid->shape.channels;
    struct planes *planes = &pyramid->planes[file_page->level];
    if ((int)info->width != file_page->width || (int)info->height != file_page->height ||
        info->channels != channels || info->type != file_page->type)
        return fail(error, STATUS_FAILED,
                    "damaged coefficient file: page %d should be %dx%d, %s of %d channels",
                    file_page->index + 1, file_page->width, file_page->height,
                    file_page->type == SAMPLE_COMPLEX ? "complex" : "float", channels);
    if (read_subband(page, &pyramid->shape, file_page, sum, error) != STATUS_OK)
        return STATUS_FAILED;
    bool first = file_page->index == 0 || file_page->index % ORIENTATIONS == 1;
    if (first && run_planes(page->run, file_page->width, file_page->height, rows_full(file_page->height),
                            file_page->index == 0 ? 1 : SUBBAND_LAYERS, channels, planes, error) != STATUS_OK)
        return STATUS_FAILED;
    enum status status = staging_unmap(file_page->staging, file_page->size, error);
    if (status == STATUS_OK)
        status = convert_subband(page->run, file_page, planes, true, error);
    return status == STATUS_OK ? staging_map(file_page->staging, 0, error) : status;
}

enum status pyramid_load(const struct page *page, struct value *pyramid, struct error *error)
{
    int pages = coefficients_page_count(&pyramid->shape);
    enum status status = STATUS_OK;
    uint32_t sum = 0;
    page->run->device->event_log->owner = UNPACKING;
    for (int i = 0; status == STATUS_OK && i < pages; i++) {
        struct subband_page file_page = {.index = i};
        page->run->device->event_log->slice = i;
        bool more = true;
        status = subband_open(&file_page, page, &pyramid->shape, i, error);
        if (status == STATUS_OK)
            status = load_subband(page, pyramid, &file_page, &sum, error);
        staging_release(&page->run->stagings, file_page.staging);
        if (status == STATUS_OK && i + 1 < pages)
            status = reader_next_page(page->reader, &more, error);
        if (status == STATUS_OK && !more)
            status =
                fail(error, STATUS_FAILED, "damaged coefficient file: %d pages, %d expected", i + 1, pages);
    }
    return status;
}

/* Writes the page from the staging buffer. Updates the checksum, which the last page stores. */
static enum status write_subband(const struct page *page, const struct shape *shape,
                                 struct subband_page *file_page, uint32_t *sum, struct error *error)
{
    const bool last = file_page->index + 1 == coefficients_page_count(shape);
    struct image_info info =
        file_page->index == 0 ? page->out : (struct image_info){.channels = shape->channels};
    info.width = (uint32_t)file_page->width;
    info.height = (uint32_t)file_page->height;
    info.type = file_page->type;
    info.alpha = info.premultiplied = shape->alpha;
    info.compression = page->out.compression;
    info.page_name = file_page->name;
    double since = clock_seconds();
    if (file_page->index == 0)
        *sum = coefficients_sum_description(&info.metadata);
    *sum = coefficients_sum_rows(*sum, &info, file_page->staging->host, file_page->pitch);
    enum status status = STATUS_OK;
    if (last) {
        begin_json();
        status = set_description(&info.metadata,
                                 json_pack("{ss sI}", "climg", SEAL, "crc32", (json_int_t)*sum), error);
    }
    if (status == STATUS_OK)
        status = writer_begin_page(page->writer, &info, error);
    if (status == STATUS_OK)
        status = writer_write(page->writer, file_page->staging->host, file_page->pitch, info.height, error);
    if (status == STATUS_OK)
        status = writer_end_page(page->writer, error);
    if (file_page->index != 0) /* page 0 borrows the metadata of page->out */
        metadata_free(&info.metadata);
    timing_add(page->timing, PHASE_ENCODE, "encode", file_page->index, since);
    return status;
}

/* Enqueues the conversion of a subband to the staging buffer, and waits for it. */
static enum status fetch_subband(const struct page *page, const struct value *pyramid,
                                 struct subband_page *file_page, struct error *error)
{
    struct event_log *event_log = page->run->device->event_log;
    enum status status = staging_unmap(file_page->staging, 0, error);
    if (status == STATUS_OK)
        status = convert_subband(page->run, file_page, &pyramid->planes[file_page->level], false, error);
    if (status == STATUS_OK)
        status = staging_map(file_page->staging, file_page->size, error);
    if (status == STATUS_OK)
        status = staging_wait(file_page->staging, error);
    return status == STATUS_OK ? event_log_collect(event_log, event_log_mark(event_log), error) : status;
}

enum status pyramid_store(const struct page *page, const struct value *pyramid, struct error *error)
{
    const struct shape *shape = &pyramid->shape;
    enum status status = STATUS_OK;
    uint32_t sum = 0;
    page->run->device->event_log->owner = PACKING;
    for (int i = 0; status == STATUS_OK && i < coefficients_page_count(shape); i++) {
        struct subband_page file_page = {.index = i};
        page->run->device->event_log->slice = i;
        status = subband_open(&file_page, page, shape, i, error);
        if (status == STATUS_OK)
            status = fetch_subband(page, pyramid, &file_page, error);
        if (status == STATUS_OK)
            status = write_subband(page, shape, &file_page, &sum, error);
        staging_release(&page->run->stagings, file_page.staging);
    }
    return status;
}
