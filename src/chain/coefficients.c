#include "chain/coefficients.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "filters/dtcwt.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MARKER[] = "dual-tree complex wavelet coefficients";
static const char *const SAMPLE_NAMES[] = {"uint8",   "uint16", "uint32", "half", "float",
                                           "complex", "int8",   "int16",  "int32"};
enum { SAMPLE_NAME_COUNT = sizeof SAMPLE_NAMES / sizeof SAMPLE_NAMES[0], FORMAT_VERSION = 1 };

static enum status load(const struct metadata *metadata, struct json **root, struct error *error)
{
    const char *text = metadata_text(metadata, "Description");
    return json_read(text ? text : "", root, error);
}

/* Also true where that cannot be known: then coefficients_read fails and says why. */
bool coefficients_recognise(const struct image_info *first)
{
    struct json *root = NULL;
    struct error error;
    const char *text = metadata_text(&first->metadata, "Description");
    if (!text || !strstr(text, MARKER)) /* most files: do not parse their descriptions */
        return false;
    bool unknown =
        json_check("reading them", &error) != STATUS_OK || load(&first->metadata, &root, &error) != STATUS_OK;
    const char *marker = json_get_text(json_member(root, "climg"));
    bool found = unknown || (marker && strcmp(marker, MARKER) == 0);
    json_free(root);
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

static bool get_int(const struct json *root, const char *key, int *number)
{
    long long value = 0;
    if (!json_get_whole(json_member(root, key), &value) || value < INT_MIN || value > INT_MAX)
        return false;
    *number = (int)value;
    return true;
}

/* The first key whose value is not there, or not what it should be; NULL: all are. */
static const char *unpack(const struct json *root, struct coefficients *c)
{
    struct shape *shape = &c->shape;
    const struct {
        const char *key;
        int *number;
    } numbers[] = {{"width", &shape->width},
                   {"height", &shape->height},
                   {"channels", &shape->channels},
                   {"levels", &shape->levels}};
    const char *biort = json_get_text(json_member(root, "biort")),
               *qshift = json_get_text(json_member(root, "qshift"));
    const char *samples = json_get_text(json_member(root, "samples"));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!get_int(root, numbers[i].key, numbers[i].number))
            return numbers[i].key;
    if (!biort || !qshift || !samples)
        return !biort ? "biort" : !qshift ? "qshift" : "samples";
    shape->biort = find_biort(biort);
    shape->qshift = find_qshift(qshift);
    c->samples = (enum sample_type)find_samples(samples);
    if (!json_get_truth(json_member(root, "alpha"), &shape->alpha))
        return "alpha";
    if (!json_get_truth(json_member(root, "linear"), &c->linear))
        return "linear";
    return json_get_number(json_member(root, "exponent"), &c->exponent) ? NULL : "exponent";
}

enum status coefficients_read(const struct image_info *first, struct coefficients *coefficients,
                              struct error *error)
{
    struct json *root = NULL;
    int version = 0;
    *coefficients = (struct coefficients){.shape = {.kind = KIND_PYRAMID, .images = 1}};
    enum status status = json_check("reading a coefficient file", error);
    if (status == STATUS_OK)
        status = load(&first->metadata, &root, error);
    if (status != STATUS_OK)
        return status;
    const char *lacking = get_int(root, "version", &version) ? unpack(root, coefficients) : "version";
    if (lacking)
        status = fail(error, STATUS_FAILED, "damaged coefficient file: its description lacks %s", lacking);
    else if (version != FORMAT_VERSION)
        status = fail(error, STATUS_FAILED, "coefficient file of version %d; this climg reads version %d",
                      version, FORMAT_VERSION);
    else if (!is_possible(coefficients))
        status = fail(error, STATUS_FAILED, "damaged coefficient file: its description is of no pyramid");
    json_free(root);
    return status;
}

enum status coefficients_restore_description(struct metadata *metadata, struct error *error)
{
    struct json *root = NULL;
    enum status status = load(metadata, &root, error);
    const char *text = json_get_text(json_member(root, "description"));
    if (status == STATUS_OK && text)
        status = metadata_set_text(metadata, "Description", text, strlen(text), error);
    else if (status == STATUS_OK)
        metadata_remove_text(metadata, "Description");
    json_free(root);
    return status;
}

static void describe(FILE *out, const struct coefficients *coefficients, const char *description)
{
    const struct shape *shape = &coefficients->shape;
    struct json_writer writer = {.out = out, .ascii = true};
    json_begin(&writer, NULL, '{');
    json_put_text(&writer, "climg", MARKER);
    json_put_whole(&writer, "version", FORMAT_VERSION);
    json_put_whole(&writer, "width", shape->width);
    json_put_whole(&writer, "height", shape->height);
    json_put_whole(&writer, "channels", shape->channels);
    json_put_truth(&writer, "alpha", shape->alpha);
    json_put_whole(&writer, "levels", shape->levels);
    json_put_text(&writer, "biort", biorts[shape->biort].name);
    json_put_text(&writer, "qshift", qshifts[shape->qshift].name);
    json_put_text(&writer, "samples", SAMPLE_NAMES[coefficients->samples]);
    json_put_truth(&writer, "linear", coefficients->linear);
    json_put_number(&writer, "exponent", coefficients->exponent, 17);
    if (description)
        json_put_text(&writer, "description", description);
    json_end(&writer, '}');
}

enum status coefficients_describe(const struct coefficients *coefficients, struct metadata *metadata,
                                  struct error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out)
        describe(out, coefficients, metadata_text(metadata, "Description"));
    bool whole = out && !ferror(out);
    whole = out && fclose(out) == 0 && whole;
    enum status status = whole ? metadata_set_text(metadata, "Description", text, size, error)
                               : fail_memory(error, "out of memory for a description");
    free(text);
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
