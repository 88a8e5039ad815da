#include "cli/info.h"

#include "base/json_text.h"
#include "batch/list.h"
#include "chain/coefficients.h"
#include "filters/dtcwt_banks.h"
#include "image/reader.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_SHOWN = 200 }; /* bytes of a text; JSON has all of it */

/* An object of which a part could not be allocated lacks it without a word. */
static bool json_has_failed;

static void *allocate_noting(size_t size)
{
    void *memory = malloc(size);
    json_has_failed = json_has_failed || !memory;
    return memory;
}

static const char *channels_name(const struct image_info *info)
{
    static const char *const names[] = {"gray", "gray and another", "RGB", "RGB and another"};
    if (info->alpha)
        return info->channels == 2 ? "gray with alpha" : "RGB with alpha";
    return names[info->channels - 1];
}

static json_t *texts_of(const struct metadata *metadata)
{
    json_t *texts = json_array();
    for (size_t i = 0; i < metadata->text_count; i++)
        json_array_append_new(texts, json_pack("{so so}", "key", json_text(metadata->texts[i].key), "value",
                                               json_text(metadata->texts[i].value)));
    return texts;
}

static json_t *extras_of(const struct metadata *metadata)
{
    json_t *names = json_array();
    for (size_t i = 0; i < metadata->extra_count; i++) {
        const uint32_t name = metadata->extras[i].name;
        const char letters[] = {(char)(name >> 24), (char)(name >> 16), (char)(name >> 8), (char)name, '\0'};
        json_t *said = metadata->extras[i].place == EXTRA_TAG ? json_integer(name) : json_text(letters);
        json_array_append_new(names, said);
    }
    return names;
}

static json_t *resolution_of(const struct metadata *metadata)
{
    if (metadata->resolution_unit == RESOLUTION_ABSENT)
        return json_null();
    return json_pack("{sf sf ss}", "x", metadata->x_resolution, "y", metadata->y_resolution, "unit",
                     metadata->resolution_unit == RESOLUTION_PER_METRE ? "metre" : "ratio");
}

/* What a coefficient file was made of and with; JSON's null of other files, and of damaged ones. */
static json_t *pyramid_of(const struct image_info *info)
{
    struct coefficients made;
    struct error ignored;
    if (!coefficients_recognise(info) || coefficients_read(info, &made, &ignored) != STATUS_OK)
        return json_null();
    const struct shape *shape = &made.shape;
    return json_pack("{si si si ss si ss ss sb}", "width", shape->width, "height", shape->height, "channels",
                     shape->channels, "samples", sample_name(made.samples), "levels", shape->levels, "biort",
                     biorts[shape->biort].name, "qshift", qshifts[shape->qshift].name, "linear",
                     (int)made.linear);
}

static json_t *optional_text(const char *text)
{
    return text ? json_text(text) : json_null();
}

static json_t *describe(const struct job *job, struct reader *reader)
{
    const struct image_info *info = reader_info(reader);
    const struct metadata *metadata = &info->metadata;
    const struct format *format = reader_format(reader);
    int pages = reader_page_count(reader);
    json_t *object = json_object();
    json_object_set_new(object, "file", json_text(job_input_name(job)));
    json_object_set_new(object, "format", json_string(format->name));
    json_object_set_new(object, "width", json_integer(info->width));
    json_object_set_new(object, "height", json_integer(info->height));
    json_object_set_new(object, "channels", json_integer(info->channels));
    json_object_set_new(object, "colours", json_string(channels_name(info)));
    json_object_set_new(object, "samples", json_string(sample_name(info->type)));
    json_object_set_new(object, "bits", info->bits > 0 ? json_integer(info->bits) : json_null());
    json_object_set_new(object, "palette", json_boolean(info->palette));
    json_object_set_new(object, "pages", pages > 0 ? json_integer(pages) : json_null());
    json_object_set_new(object, "compression",
                        optional_text(format->compression ? format->compression(info->compression) : NULL));
    json_object_set_new(object, "icc_bytes", json_integer((json_int_t)metadata->icc.size));
    json_object_set_new(object, "srgb", json_boolean(metadata->srgb));
    json_object_set_new(object, "gamma", metadata->gamma > 0 ? json_real(metadata->gamma) : json_null());
    json_object_set_new(object, "resolution", resolution_of(metadata));
    json_object_set_new(object, "orientation",
                        metadata->orientation > 0 ? json_integer(metadata->orientation) : json_null());
    json_object_set_new(object, "exif_bytes", json_integer((json_int_t)metadata->exif.size));
    json_object_set_new(object, "texts", texts_of(metadata));
    json_object_set_new(object, "others", extras_of(metadata));
    json_object_set_new(object, "pyramid", pyramid_of(info));
    json_object_set_new(object, "warning", metadata->warning[0] ? json_text(metadata->warning) : json_null());
    return object;
}

static long long number(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static const char *word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* One line, whatever is in it, and not a long one: of UTF-8, so that it is cut between characters. */
static void print_value(FILE *out, const char *text)
{
    size_t length = strlen(text), shown = length < VALUE_SHOWN ? length : VALUE_SHOWN;
    while (shown < length && shown > 0 && ((unsigned char)text[shown] & 0xC0) == 0x80)
        shown--;
    for (size_t i = 0; i < shown; i++)
        putc((unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i], out);
    if (shown < length)
        fprintf(out, "... (%zu bytes)", length);
    putc('\n', out);
}

static void print_colour(FILE *out, const json_t *object)
{
    const json_t *gamma = json_object_get(object, "gamma");
    if (number(object, "icc_bytes") > 0)
        fprintf(out, "  colour: ICC profile of %lld bytes\n", number(object, "icc_bytes"));
    else if (json_is_true(json_object_get(object, "srgb")))
        fputs("  colour: sRGB\n", out);
    else if (json_is_real(gamma))
        fprintf(out, "  colour: gamma %.5g\n", json_real_value(gamma));
}

static void print_place(FILE *out, const json_t *object)
{
    const json_t *resolution = json_object_get(object, "resolution");
    double x = json_real_value(json_object_get(resolution, "x")),
           y = json_real_value(json_object_get(resolution, "y"));
    if (json_is_object(resolution) && strcmp(word(resolution, "unit"), "metre") == 0)
        fprintf(out, "  resolution: %.6g x %.6g pixels an inch\n", 0.0254 * x, 0.0254 * y);
    else if (json_is_object(resolution) && x != y)
        fprintf(out, "  resolution: %.6g to %.6g, of no unit\n", x, y);
    if (number(object, "orientation") > 1)
        fprintf(out, "  orientation: %lld (--auto-orient turns it)\n", number(object, "orientation"));
}

static void print_texts(FILE *out, const json_t *object)
{
    const json_t *others = json_object_get(object, "others"), *texts = json_object_get(object, "texts");
    if (number(object, "exif_bytes") > 0)
        fprintf(out, "  EXIF: %lld bytes\n", number(object, "exif_bytes"));
    for (size_t i = 0; i < json_array_size(others); i++) {
        const json_t *name = json_array_get(others, i);
        fputs(i == 0 ? "  also: " : ", ", out);
        if (json_is_integer(name))
            fprintf(out, "tag %lld", (long long)json_integer_value(name));
        else
            fputs(json_string_value(name), out);
    }
    fputs(json_array_size(others) > 0 ? "\n" : "", out);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        fprintf(out, "  %s: ", word(json_array_get(texts, i), "key"));
        print_value(out, word(json_array_get(texts, i), "value"));
    }
}

static void print_text_of(FILE *out, const json_t *object)
{
    const json_t *pyramid = json_object_get(object, "pyramid"), *pages = json_object_get(object, "pages");
    fprintf(out, "%s: %s, %lld x %lld, %s, ", word(object, "file"), word(object, "format"),
            number(object, "width"), number(object, "height"), word(object, "colours"));
    if (number(object, "bits") > 0)
        fprintf(out, "%lld bit%s\n", number(object, "bits"),
                json_is_true(json_object_get(object, "palette")) ? " of a palette" : "");
    else
        fprintf(out, "%s%s\n", word(object, "samples"),
                json_is_true(json_object_get(object, "palette")) ? ", from a palette" : "");
    if (json_is_object(pyramid))
        fprintf(out, "  coefficients: of %lld x %lld, %lld channels, %s; %lld levels, biort %s, qshift %s\n",
                number(pyramid, "width"), number(pyramid, "height"), number(pyramid, "channels"),
                word(pyramid, "samples"), number(pyramid, "levels"), word(pyramid, "biort"),
                word(pyramid, "qshift"));
    if (json_is_null(pages) || json_integer_value(pages) > 1)
        fprintf(out, json_is_null(pages) ? "  pages: one or more\n" : "  pages: %lld\n",
                number(object, "pages"));
    if (word(object, "compression")[0])
        fprintf(out, "  compression: %s\n", word(object, "compression"));
    print_colour(out, object);
    print_place(out, object);
    print_texts(out, object);
    if (word(object, "warning")[0])
        fprintf(out, "  damage: %s\n", word(object, "warning"));
}

static enum status tell(const struct settings *settings, const struct job *job, FILE *out,
                        struct error *error)
{
    const struct reader_options options = {.page = settings->pages.first,
                                           .last_page = settings->pages.last,
                                           .max_pixels = settings->max_pixels,
                                           .spool = settings->environment.spool};
    struct reader *reader = NULL;
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = reader_open(job->input, &options, &reader, error);
    if (status != STATUS_OK)
        return status;
    json_has_failed = false;
    json_t *object = describe(job, reader);
    if (json_has_failed) {
        status = fail_memory(error, "%s: out of memory for what it says", job_input_name(job));
    } else if (settings->info == INFO_JSON) {
        json_dumpf(object, out, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
        putc('\n', out);
    } else {
        print_text_of(out, object);
    }
    json_decref(object);
    reader_close(reader);
    return status;
}

enum status info_tell(const struct command *command, FILE *out, void (*complain)(const struct error *),
                      struct error *error)
{
    struct list list;
    size_t failed = 0;
    json_set_alloc_funcs(allocate_noting, free);
    enum status status = list_make(&list, command, error);
    for (size_t i = 0; status == STATUS_OK && i < list.count; i++) {
        if (tell(&command->settings, &list.jobs[i], out, error) == STATUS_OK)
            continue;
        if (list.several)
            complain(error);
        failed++;
    }
    if (status == STATUS_OK && list.several && failed > 0)
        status = fail(error, failed < list.count ? STATUS_PARTIAL : STATUS_FAILED, "%zu of %zu files failed",
                      failed, list.count);
    else if (status == STATUS_OK && failed > 0)
        status = STATUS_FAILED;
    list_free(&list);
    return status;
}
