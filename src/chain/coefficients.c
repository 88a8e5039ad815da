#include "chain/coefficients.h"

#include "filters/dtcwt.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char MARKER[] = "dual-tree complex wavelet coefficients";
static const char *const SAMPLE_NAMES[] = {"uint8",   "uint16", "uint32", "half", "float",
                                           "complex", "int8",   "int16",  "int32"};
enum { SAMPLE_NAME_COUNT = sizeof SAMPLE_NAMES / sizeof SAMPLE_NAMES[0], FORMAT_VERSION = 1 };

/* Where memory is short, jansson leaves characters out of texts and goes on. */
static _Thread_local bool starved;

static void *allocate_json(size_t size)
{
    void *memory = malloc(size);
    starved = starved || !memory;
    return memory;
}

static void begin_json(void)
{
    json_set_alloc_funcs(allocate_json, free);
}

static void watch_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_json);
    starved = false;
}

static enum status check_memory(struct error *error)
{
    return starved ? fail_memory(error, "out of memory for a pyramid's description") : STATUS_OK;
}

/* NULL, too, where memory was short. */
static json_t *load(const struct metadata *metadata)
{
    const char *text = metadata_text(metadata, "Description");
    watch_memory();
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    if (!starved)
        return root;
    json_decref(root);
    return NULL;
}

bool coefficients_recognise(const struct image_info *first)
{
    const char *text = metadata_text(&first->metadata, "Description");
    if (!text || !strstr(text, MARKER)) /* most files: do not parse their descriptions */
        return false;
    json_t *root = load(&first->metadata);
    const char *marker = json_string_value(json_object_get(root, "climg"));
    bool found = starved || (marker && strcmp(marker, MARKER) == 0);
    json_decref(root);
    return found;
}

static int find_biort(const char *name)
{
    for (int i = 0; biorts[i].name; i++)
        if (strcmp(biorts[i].name, name) == 0)
            return i;
    return -1;
}

static int find_qshift(const char *name)
{
    for (int i = 0; qshifts[i].name; i++)
        if (strcmp(qshifts[i].name, name) == 0)
            return i;
    return -1;
}

static int find_samples(const char *name)
{
    for (int i = 0; i < SAMPLE_NAME_COUNT; i++)
        if (strcmp(SAMPLE_NAMES[i], name) == 0)
            return i;
    return -1;
}

static bool is_possible(const struct coefficients *c)
{
    const struct shape *shape = &c->shape;
    const int largest = 1 << 30;
    return shape->width >= 1 && shape->height >= 1 && shape->width <= largest && shape->height <= largest &&
           shape->channels >= 1 && shape->channels <= 4 && shape->levels >= 1 &&
           shape->levels <= dtcwt_max_levels(shape->width, shape->height) && shape->biort >= 0 &&
           shape->qshift >= 0 && (int)c->samples >= 0 && (!shape->alpha || shape->channels % 2 == 0);
}

enum status coefficients_read(const struct image_info *first, struct coefficients *coefficients,
                              struct error *error)
{
    const char *biort, *qshift, *samples;
    int version, alpha, linear;
    json_error_t cause;
    struct shape *shape = &coefficients->shape;
    json_t *root = load(&first->metadata);
    *coefficients = (struct coefficients){.shape = {.kind = KIND_PYRAMID, .images = 1}};
    enum status status = check_memory(error);
    if (status != STATUS_OK)
        return status;
    if (json_unpack_ex(root, &cause, 0, "{s:i, s:i, s:i, s:i, s:b, s:i, s:s, s:s, s:s, s:b, s:F}", "version",
                       &version, "width", &shape->width, "height", &shape->height, "channels",
                       &shape->channels, "alpha", &alpha, "levels", &shape->levels, "biort", &biort, "qshift",
                       &qshift, "samples", &samples, "linear", &linear, "exponent",
                       &coefficients->exponent) != 0) {
        status = fail(error, STATUS_FAILED, "damaged coefficient file: its description: %s", cause.text);
    } else if (version != FORMAT_VERSION) {
        status = fail(error, STATUS_FAILED, "coefficient file of version %d; this climg reads version %d",
                      version, FORMAT_VERSION);
    } else {
        shape->alpha = alpha;
        shape->biort = find_biort(biort);
        shape->qshift = find_qshift(qshift);
        coefficients->samples = (enum sample_type)find_samples(samples);
        coefficients->linear = linear;
        if (!is_possible(coefficients))
            status = fail(error, STATUS_FAILED, "damaged coefficient file: its description is of no pyramid");
    }
    json_decref(root);
    return status;
}

enum status coefficients_restore_description(struct metadata *metadata, struct error *error)
{
    json_t *root = load(metadata);
    const char *text = json_string_value(json_object_get(root, "description"));
    enum status status = check_memory(error);
    if (status == STATUS_OK && text)
        status = metadata_set_text(metadata, "Description", text, strlen(text), error);
    else if (status == STATUS_OK)
        metadata_remove_text(metadata, "Description");
    json_decref(root);
    return status;
}

enum status coefficients_describe(const struct coefficients *coefficients, struct metadata *metadata,
                                  struct error *error)
{
    const struct shape *shape = &coefficients->shape;
    const char *description = metadata_text(metadata, "Description");
    watch_memory();
    json_t *root =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:b, s:i, s:s, s:s, s:s, s:b, s:f}", "climg", MARKER, "version",
                  FORMAT_VERSION, "width", shape->width, "height", shape->height, "channels", shape->channels,
                  "alpha", shape->alpha, "levels", shape->levels, "biort", biorts[shape->biort].name,
                  "qshift", qshifts[shape->qshift].name, "samples", SAMPLE_NAMES[coefficients->samples],
                  "linear", coefficients->linear, "exponent", coefficients->exponent);
    if (root && description)
        json_object_set_new(root, "description", json_string(description)); /* not UTF-8: left out */
    char *text = root ? json_dumps(root, JSON_ENSURE_ASCII) : NULL;
    enum status status = text ? check_memory(error) : fail_memory(error, "out of memory for a description");
    if (status == STATUS_OK)
        status = metadata_set_text(metadata, "Description", text, strlen(text), error);
    free(text);
    json_decref(root);
    return status;
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
