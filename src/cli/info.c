/* --info: prints the header of each file, as text or as a line of JSON.
 *
 *     list of files ─▶ open ─▶ (measure) ─▶ file_info ─▶ (noise) ─▶ print_lines or print_json
 *
 * The output describes the first page of --page, and has the number of pages. Pixels are read only for
 * --measure: once on the host, and once on a device, by the analysis pass of --denoise, so that --info prints
 * the noise that --denoise would use. If a file cannot be read, --info reports that and continues. */
#include "cli/cli.h"

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "batch/report.h"
#include "chain/coefficients.h"
#include "chain/memory_run.h"
#include "chain/planner.h"
#include "image/colour/colour.h"
#include "image/measure.h"
#include "image/reader.h"
#include "wavelet/dtcwt_design.h"

#include <math.h>
#include <string.h>

enum {
    VALUE_SHOWN = 200, /* maximum bytes of a value as text; JSON has the whole value */
    TAKEN_SIZE = 256,  /* bytes of the text about camera and exposure */
    DIGITS = 9         /* significant digits of numbers in JSON */
};

/* A file as --info prints it. Pointers but `noise` belong to the reader or the job. */
struct file_info {
    const char *name;
    const struct image_info *info;    /* of the first page */
    const struct colour_space *space; /* NULL: the file names none, or its profile cannot be read */
    const struct format *format;
    const char *compression; /* may be NULL */
    int pages;               /* number of pages; 0: unknown before they are read */

    bool is_pyramid;             /* the file is a coefficient file */
    struct coefficients pyramid; /* valid if is_pyramid */

    /* Results of --measure; both NULL without it. */
    const struct noise_summary *noise;    /* its count is 0 if no noise was found */
    const struct page_measures *measured; /* NULL also for coefficients and complex samples */
};

const char *channel_layout_name(const struct image_info *info)
{
    static const char *const names[] = {"gray", "gray and another", "RGB", "RGB and another"};
    if (info->video.parts > 1)
        return "Y, Cb and Cr";
    if (info->alpha)
        return info->channels == 2 ? "gray with alpha" : "RGB with alpha";
    return names[info->channels - 1];
}

const char *channel_name(const struct image_info *info, int channel)
{
    static const char *const names[] = {"red", "green", "blue"}, *const video[] = {"Y", "Cb", "Cr"};
    if (info->video.parts > 1)
        return video[channel];
    if (info->channels % 2 == 0 && channel == info->channels - 1)
        return info->alpha ? "alpha" : "another";
    return info->channels < 3 ? "gray" : names[channel];
}

/* Writes "pyramid": the image and the transform of a coefficient file; null for others. */
static void put_pyramid(struct json_writer *out, const struct file_info *facts)
{
    const struct shape *shape = &facts->pyramid.shape;
    if (!json_begin_optional(out, "pyramid", '{', facts->is_pyramid))
        return;
    json_put_integer(out, "width", shape->width);
    json_put_integer(out, "height", shape->height);
    json_put_integer(out, "channels", shape->channels);
    json_put_string(out, "samples", sample_name(facts->pyramid.samples));
    json_put_integer(out, "levels", shape->levels);
    json_put_string(out, "biort", biorts[shape->biort].name);
    json_put_string(out, "qshift", qshifts[shape->qshift].name);
    json_put_boolean(out, "linear", facts->pyramid.linear);
    json_end(out, '}');
}

/* Writes "colour_space": name, primaries (red x, y, green, blue; empty without them) and curve; null if the
 * file names none. */
static void put_space(struct json_writer *out, const struct colour_space *space)
{
    if (space == NULL) {
        json_put_null(out, "colour_space");
        return;
    }
    json_begin(out, "colour_space", '{');
    json_put_string(out, "name", space->name);
    json_begin(out, "primaries", '[');
    for (int i = 0; space->is_matrix && space->channels == 3 && i < 6; i++)
        json_put_number(out, NULL, space->primaries[i / 2][i % 2], 4);
    json_end(out, ']');
    json_put_string(out, "curve", colour_space_curve_name(space));
    json_end(out, '}');
}

/* Returns the variance of the picture's Laplacian divided by the variance that its noise alone, as strong as
 * on the finest level, would give. The Laplacian multiplies the variance of white noise by 20, the sum of the
 * squared weights 1, 1, -4, 1, 1. NaN if the noise is unknown or 0. */
static double sharpness(const struct file_info *facts)
{
    const struct noise_summary *noise = facts->noise;
    double variance = 0;
    if (!facts->measured || noise->count == 0)
        return (double)NAN;
    /* `laplacian` is of the brightness, the first opponent colour. For noise of RGB use the mean variance. */
    const bool is_opponent = noise->count == 3 && !noise->is_separate;
    for (int i = 0; i < (is_opponent ? 1 : noise->count); i++)
        variance += pow((double)noise->sigma[i][0] / 255, 2) / (is_opponent ? 1 : noise->count);
    return variance > 0 ? facts->measured->laplacian / (20 * variance) : (double)NAN;
}

/* Writes the results of --measure. Without them, lists are empty and numbers null. */
static void put_measured(struct json_writer *out, const struct file_info *facts)
{
    static const struct page_measures none;
    const struct page_measures *measured = facts->measured ? facts->measured : &none;
    const int channels = facts->measured ? facts->info->channels : 0;
    const double *const values[] = {measured->smallest, measured->largest, measured->mean};
    static const char *const value_keys[] = {"smallest", "largest", "mean"};
    json_begin(out, "values", '{');
    for (int key = 0; key < 3; key++) {
        json_begin(out, value_keys[key], '[');
        for (int i = 0; i < channels; i++)
            json_put_number(out, NULL, values[key][i], DIGITS);
        json_end(out, ']');
    }
    json_end(out, '}');
    report_noise(out, facts->noise);
    json_put_number(out, "sharpness", sharpness(facts), DIGITS);
    json_begin(out, "clipped", '{');
    for (int end = 0; end < 2; end++) {
        json_begin(out, end == 0 ? "black" : "white", '[');
        for (int i = 0; i < channels; i++)
            json_put_number(out, NULL, end == 0 ? measured->black[i] : measured->white[i], DIGITS);
        json_end(out, ']');
    }
    json_end(out, '}');
    json_begin(out, "histogram", '[');
    for (int i = 0; i < channels; i++) {
        json_begin(out, NULL, '[');
        for (int bin = 0; bin < HISTOGRAM_BINS; bin++)
            json_put_integer(out, NULL, (long long)measured->histogram[i][bin]);
        json_end(out, ']');
    }
    json_end(out, ']');
    json_put_positive(out, "real_bits", measured->real_bits);
    json_put_positive(out, "jpeg_quality", facts->info->quality);
}

/* Prints a line with one object. Only "stream" and the keys of --measure may be left out. */
static void print_json(FILE *file, const struct file_info *facts)
{
    const struct image_info *info = facts->info;
    const struct metadata *metadata = &info->metadata;
    struct json_writer out = {.out = file};
    json_begin(&out, NULL, '{');
    /* Pixels, as the reader delivers them. */
    json_put_string(&out, "file", facts->name);
    json_put_string(&out, "format", facts->format->name);
    json_put_integer(&out, "width", info->width);
    json_put_integer(&out, "height", info->height);
    json_put_integer(&out, "channels", info->video.parts > 1 ? 3 : info->channels);
    json_put_string(&out, "colours", channel_layout_name(info));
    json_put_string(&out, "samples", sample_name(info->type));
    json_put_positive(&out, "bits", info->bits);
    json_put_boolean(&out, "palette", info->palette);
    json_put_string(&out, "colour_model", colour_model_name(info->colour_model));
    json_put_positive(&out, "pages", facts->pages);
    json_put_string(&out, "compression", facts->compression);
    if (info->video.header)
        json_put_string(&out, "stream", info->video.header);
    /* Metadata. */
    json_put_integer(&out, "icc_bytes", (long long)metadata->icc.size);
    put_space(&out, facts->space);
    json_put_boolean(&out, "srgb", metadata->srgb);
    json_put_number(&out, "gamma", metadata->gamma > 0 ? metadata->gamma : (double)NAN, DIGITS);
    /* Pixels per metre, or the ratio of width and height of a pixel. */
    if (json_begin_optional(&out, "resolution", '{', metadata->resolution_unit != RESOLUTION_ABSENT)) {
        json_put_number(&out, "x", metadata->x_resolution, DIGITS);
        json_put_number(&out, "y", metadata->y_resolution, DIGITS);
        json_put_string(&out, "unit", metadata->resolution_unit == RESOLUTION_PER_METRE ? "metre" : "ratio");
        json_end(&out, '}');
    }
    json_put_positive(&out, "orientation", metadata->orientation);
    json_put_integer(&out, "exif_bytes", (long long)metadata->exif.size);
    char taken[TAKEN_SIZE];
    exif_describe(&metadata->exif, taken, sizeof taken);
    json_put_string(&out, "taken", taken[0] ? taken : NULL);
    json_begin(&out, "texts", '[');
    for (size_t i = 0; i < metadata->text_count; i++) {
        json_begin(&out, NULL, '{');
        json_put_string(&out, "key", metadata->texts[i].key);
        json_put_string(&out, "value", metadata->texts[i].value);
        json_end(&out, '}');
    }
    json_end(&out, ']');
    json_begin(&out, "others", '['); /* numbers of TIFF tags, names of PNG chunks */
    for (size_t i = 0; i < metadata->tag_count; i++)
        json_put_integer(&out, NULL, metadata->tags[i].number);
    if (metadata->has_cicp)
        json_put_string(&out, NULL, "cICP");
    json_end(&out, ']');
    put_pyramid(&out, facts);
    if (facts->noise)
        put_measured(&out, facts);
    json_put_string(&out, "warning", metadata->warning[0] ? metadata->warning : NULL);
    json_end(&out, '}');
    putc('\n', file);
}

/* Prints a value on one line: control characters become blanks. A long value is cut off, but not within a
 * character of UTF-8. */
static void print_value(FILE *out, const char *text)
{
    const size_t length = strlen(text), shown = utf8_fit(text, length, VALUE_SHOWN);
    char line[VALUE_SHOWN + 1] = "";
    for (size_t i = 0; i < shown; i++)
        line[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    print_visible(out, line);
    if (shown < length)
        fprintf(out, "... (%zu bytes)", length);
    putc('\n', out);
}

/* Converts from pixels per metre. PNG stores these as a whole number: 300 per inch as 11811, which is
 * 299.9994 per inch. Therefore returns the whole number if PNG would store it as the same value. */
static double pixels_per_inch(double per_metre)
{
    const double inch = 0.0254, whole = round(inch * per_metre);
    return fabs(whole / inch - per_metre) <= 0.5 ? whole : inch * per_metre;
}

/* Prints colour, resolution, orientation and texts, a line for each that the file has. */
static void print_metadata(FILE *out, const struct metadata *metadata)
{
    /* Colour, by the most precise description: a profile, the sRGB chunk, or gamma. */
    if (metadata->icc.size > 0)
        fprintf(out, "  colour: ICC profile of %zu bytes\n", metadata->icc.size);
    else if (metadata->srgb)
        fputs("  colour: sRGB\n", out);
    else if (metadata->gamma > 0)
        fprintf(out, "  colour: gamma %.5g\n", metadata->gamma);
    const double x = metadata->x_resolution, y = metadata->y_resolution;
    if (metadata->resolution_unit == RESOLUTION_PER_METRE)
        fprintf(out, "  resolution: %.6g x %.6g pixels per inch\n", pixels_per_inch(x), pixels_per_inch(y));
    else if (metadata->resolution_unit != RESOLUTION_ABSENT && x != y)
        fprintf(out, "  resolution: %.6g to %.6g, without a unit\n", x, y);
    else if (metadata->resolution_unit != RESOLUTION_ABSENT && x != 1) /* ImageJ names the unit in the text */
        fprintf(out, "  resolution: %.6g pixels per unit, which the description may name\n", x);
    if (metadata->orientation > 1)
        fprintf(out, "  orientation: %d (--auto-orient turns it)\n", metadata->orientation);
    char taken[TAKEN_SIZE];
    exif_describe(&metadata->exif, taken, sizeof taken);
    if (taken[0] != '\0') {
        fputs("  taken: ", out);
        print_visible(out, taken);
        putc('\n', out);
    }
    if (metadata->exif.size > 0)
        fprintf(out, "  EXIF: %zu bytes\n", metadata->exif.size);
    if (metadata->has_cicp)
        fputs("  also: cICP\n", out);
    for (size_t i = 0; i < metadata->tag_count; i++)
        fprintf(out, "%stag %lu", i == 0 ? "  also: " : ", ", (unsigned long)metadata->tags[i].number);
    fputs(metadata->tag_count > 0 ? "\n" : "", out);
    for (size_t i = 0; i < metadata->text_count; i++) {
        fputs("  ", out);
        print_visible(out, metadata->texts[i].key);
        fputs(": ", out);
        print_value(out, metadata->texts[i].value);
    }
}

static void print_measured(FILE *out, const struct file_info *facts)
{
    const struct page_measures *measured = facts->measured;
    const double sharp = sharpness(facts);
    if (facts->noise->count > 0) {
        char text[NOISE_TEXT_SIZE];
        noise_text(facts->noise, "\n    ", "\n    ", text);
        fprintf(out, "  noise: %s\n", text);
    }
    if (!measured)
        return;
    if (isfinite(sharp))
        fprintf(out, "  sharpness: %.2g (compare shots of one scene; higher is sharper)\n", sharp);
    for (int i = 0; i < facts->info->channels; i++)
        fprintf(out, "%s %s %.9g to %.9g, mean %.5g", i == 0 ? "  values:" : ";",
                channel_name(facts->info, facts->info->video.part + i), measured->smallest[i],
                measured->largest[i], measured->mean[i]);
    fprintf(out, "; white is %.15g\n", sample_full_scale(facts->info->type));
    for (int i = 0; i < facts->info->channels; i++)
        fprintf(out, "%s %s %.3g%% black and %.3g%% white", i == 0 ? "  clipped:" : ",",
                channel_name(facts->info, facts->info->video.part + i), round(1e5 * measured->black[i]) / 1e3,
                round(1e5 * measured->white[i]) / 1e3);
    fputc('\n', out);
    if (measured->real_bits > 0 && measured->real_bits < 16)
        fprintf(out, "  real depth: %d of 16 bits%s\n", measured->real_bits,
                measured->is_replicated ? "; --depth 8 loses nothing" : "");
}

/* Prints a line with name, format and size, and an indented line for everything else. */
static void print_lines(FILE *out, const struct file_info *facts)
{
    const struct image_info *info = facts->info;
    const struct shape *shape = &facts->pyramid.shape;
    const char *model = colour_model_name(info->colour_model);
    /* "photo.png: PNG, 640 x 480, RGB, 8 bit" */
    print_visible(out, facts->name);
    fprintf(out, ": %s, %u x %u, %s, ", facts->format->name, info->width, info->height,
            channel_layout_name(info));
    if (info->bits > 0)
        fprintf(out, "%d bit%s\n", info->bits, info->palette ? " of a palette" : "");
    else
        fprintf(out, "%s%s%s\n", sample_name(info->type),
                info->palette ? " of a palette"
                : model       ? ", from "
                              : "",
                model ? model : "");
    if (facts->is_pyramid)
        fprintf(out, "  coefficients: of %d x %d, %d channel%s, %s; %d level%s, biort %s, qshift %s\n",
                shape->width, shape->height, shape->channels, shape->channels == 1 ? "" : "s",
                sample_name(facts->pyramid.samples), shape->levels, shape->levels == 1 ? "" : "s",
                biorts[shape->biort].name, qshifts[shape->qshift].name);
    /* Streams do not store the number of pages. */
    if (facts->pages <= 0)
        fputs("  pages: one or more\n", out);
    else if (facts->pages > 1)
        fprintf(out, "  pages: %d\n", facts->pages);
    if (facts->compression)
        fprintf(out, "  compression: %s\n", facts->compression);
    if (info->video.header) {
        fputs("  stream: ", out);
        print_value(out, info->video.header);
    }
    const struct colour_space *space = facts->space;
    if (space != NULL) {
        fputs("  colours: ", out);
        print_visible(out, space->name);
        if (space->is_matrix && space->channels == 3)
            fprintf(out, "; primaries %.3f,%.3f %.3f,%.3f %.3f,%.3f", space->primaries[0][0],
                    space->primaries[0][1], space->primaries[1][0], space->primaries[1][1],
                    space->primaries[2][0], space->primaries[2][1]);
        fprintf(out, "; curve: %s\n", colour_space_curve_name(space));
    }
    print_metadata(out, &info->metadata);
    if (facts->noise)
        print_measured(out, facts);
    if (info->metadata.warning[0])
        fprintf(out, "  warning: %s\n", info->metadata.warning);
}

/* ---------------------------------------------------------------- --measure */

/* State for finding the noise of pictures. The first picture opens the device. Initialise it with zeros. */
struct noise_finder {
    struct worker_context context;
    struct worker worker;
    struct chain chain; /* --denoise */
    bool begun;         /* context and worker are initialised */
};

/* Runs the analysis pass of --denoise on unchanged samples, and records the noise in `result`. Reads the page
 * to its end. Opens the device for the first picture. */
static enum status info_find_noise(struct noise_finder *finder, const struct command *command,
                                   const struct job *job, struct reader *reader, struct result *result,
                                   struct error *error)
{
    struct worker *worker = &finder->worker;
    enum status status = STATUS_OK;
    if (!finder->begun) {
        finder->context = (struct worker_context){.settings = &command->settings, .chain = &command->chain};
        worker_init(worker, &finder->context, NULL, command->settings.device);
        worker->share.memory_limit = command->settings.memory_limit;
        finder->begun = true;
    }
    if (finder->chain.count == 0)
        status = chain_add(&finder->chain, stage_find("denoise"), NULL, error);
    if (status == STATUS_OK)
        status = worker_open(worker, error);
    if (status != STATUS_OK)
        return status;
    /* Plan the chain --denoise. Do not compile all its programs in advance: the analysis pass needs few. */
    const struct image_info *info = reader_info(reader);
    const struct plan_request request = {.chain = &finder->chain,
                                         .input = image_shape(info),
                                         .in = info->type,
                                         .out = info->type,
                                         .reader_memory = reader_memory(reader)};
    struct plan plan;
    worker->run.prebuilt = true;
    status = plan_make(&plan, &request, &worker->run, error);
    if (status != STATUS_OK)
        return status;
    /* Analyse the page, whose reader is the file. Nothing is written. */
    struct page page = memory_page(&worker->run, &plan, false, 0);
    page.input_conversion.premultiplied = info->premultiplied;
    page.reader = reader;
    status = analyse_page(&page, 0, error);
    plan_free(&plan);
    if (status == STATUS_OK)
        result_note_noise(job, worker, 0, result);
    return status;
}

/* ---------------------------------------------------------------- all files */

/* Prints one file. Coefficients and complex samples are not measured, as they are no picture. */
static enum status write_file_info(const struct command *command, const struct job *job,
                                   struct noise_finder *finder, FILE *out, struct result *result)
{
    const struct settings *settings = &command->settings;
    struct reader_options options = settings_reader_options(settings);
    options.rewinds = settings->measure;
    struct reader *reader = NULL;
    struct page_measures measured;
    struct error *error = &result->error, ignored;
    enum status status = job_check(job, error);
    if (status == STATUS_OK)
        status = reader_open(job->input, &options, &reader, error);
    if (status != STATUS_OK)
        return status;
    const bool is_measured = settings->measure && reader_info(reader)->type != SAMPLE_COMPLEX;
    if (is_measured)
        status = measure_page(reader, &measured, error);
    if (is_measured && status == STATUS_OK)
        status = reader_rewind(reader, error);
    if (status != STATUS_OK) {
        reader_close(reader);
        return status;
    }
    const struct image_info *info = reader_info(reader);
    struct file_info facts = {.name = job_input_name(job),
                              .info = info,
                              .format = reader_format(reader),
                              .compression = info->coding[0] != '\0' ? info->coding : NULL,
                              .pages = reader_page_count(reader),
                              .noise = settings->measure ? &result->noise : NULL};
    /* A damaged coefficient file is described as a TIFF. */
    facts.is_pyramid =
        coefficients_recognise(info) && coefficients_read(info, &facts.pyramid, &ignored) == STATUS_OK;
    if (info->video.parts < 2)
        colour_space_of_file(&info->metadata, info->channels - info->alpha, &facts.space, &ignored);
    facts.measured = is_measured && !facts.is_pyramid ? &measured : NULL;
    if (facts.measured)
        status = info_find_noise(finder, command, job, reader, result, error);
    if (status != STATUS_OK)
        error_prefix_once(error, facts.name);
    else
        (settings->info == INFO_JSON ? print_json : print_lines)(out, &facts);
    colour_space_release(facts.space);
    reader_close(reader);
    return status;
}

enum status info_write(const struct command *command, FILE *out, void (*report_error)(const struct error *),
                       struct error *error)
{
    struct job_list list;
    struct results results;
    struct noise_finder finder = {.begun = false};
    enum status status = results_begin_reading(&results, &list, command, report_error, error);
    for (size_t i = 0; status == STATUS_OK && i < list.count; i++) {
        struct result result = {.group = 1};
        result.status = write_file_info(command, &list.jobs[i], &finder, out, &result);
        results_add(&results, &list.jobs[i], &result);
        if (command->settings.measure)
            status = text_flush(out, error); /* if nobody reads the lines, stop */
    }
    if (status == STATUS_OK)
        status = results_end(&results, &list, status, error);
    chain_free(&finder.chain);
    if (finder.begun)
        worker_close(&finder.worker);
    job_list_free(&list);
    return status;
}
