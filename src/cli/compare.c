/* --compare: how much pictures differ from a reference, as text, as a table, or as lines of JSON.
 *
 *     list of files ─▶ a pair of readers ─▶ blocks of rows ─▶ channels ─▶ struct difference ─▶ print
 *                                                                └─▶ diff=FILE
 *
 * Samples are compared as the files store them, as fractions of full scale: 8 and 16 bit may be compared with
 * each other, profiles and orientation are ignored. It runs on the host, where decoding takes most of the
 * time; a device would only see each row once. */
#include "cli/cli.h"

#include "base/json.h"
#include "base/text.h"
#include "batch/files.h"
#include "image/difference.h"
#include "image/reader.h"
#include "image/writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 1 << 20, /* of rows that are read at once; a row may have more */
    CHANNELS = 4,
    DIGITS = 9 /* significant digits of numbers in JSON */
};

/* One of the two pictures. */
struct side {
    const char *name;
    struct reader *reader;    /* NULL: not open */
    struct image_info info;   /* of the first page; width 0: the file was not read. Without metadata */
    unsigned char *rows;      /* a block; owned */
    double *values, *channel; /* a row of all channels, and one channel of it; owned with `rows` */
};

/* A picture and its reference. */
struct comparison {
    struct side sides[2]; /* the input, then the reference */
    struct difference channels[CHANNELS];
    int channel_count;
    char why[160]; /* why they cannot be compared; empty: they were */
};

/* The figures of all channels. */
struct figures {
    bool is_equal, passes;
    double psnr, ssim; /* the lowest channel's, and the mean of the channels; NaN: none */
    int largest;       /* channel with the largest difference */
};

static struct figures comparison_figures(const struct comparison *pair, const struct compare_option *option)
{
    struct figures figures = {.is_equal = pair->why[0] == '\0', .psnr = INFINITY};
    uint64_t unmatched = 0;
    for (int i = 0; i < pair->channel_count; i++) {
        const struct difference *channel = &pair->channels[i];
        figures.is_equal = figures.is_equal && difference_is_none(channel);
        figures.psnr = fmin(figures.psnr, difference_psnr(channel));
        figures.ssim += difference_ssim(channel) / pair->channel_count;
        if (channel->largest > pair->channels[figures.largest].largest)
            figures.largest = i;
        unmatched += channel->unmatched;
    }
    figures.passes = figures.is_equal || (pair->why[0] == '\0' && unmatched == 0 && option->min_psnr > 0 &&
                                          figures.psnr >= option->min_psnr);
    return figures;
}

/* ---------------------------------------------------------------- computing */

/* Notes why two pages cannot be compared. Returns false if they can. */
static bool note_unlike(struct comparison *pair, const struct image_info *a, const struct image_info *b)
{
    char *why = pair->why;
    if (a->width != b->width || a->height != b->height)
        snprintf(why, sizeof pair->why, "the sizes differ: %u x %u and %u x %u", a->width, a->height,
                 b->width, b->height);
    else if (a->channels != b->channels || a->alpha != b->alpha || a->video.parts != b->video.parts)
        snprintf(why, sizeof pair->why, "the channels differ: %s and %s", channels_name(a), channels_name(b));
    else if (a->premultiplied != b->premultiplied)
        snprintf(why, sizeof pair->why, "the colours of one are multiplied by its alpha");
    return why[0] != '\0';
}

/* Begins a page of diff=FILE: colour without alpha, in samples like the input's, *type. Opens the file first.
 */
static enum status begin_diff(const struct compare_option *option, const struct command *command,
                              const struct image_info *page, struct writer **writer, enum sample_type *type,
                              struct error *error)
{
    const struct format *format = format_by_path(option->diff);
    const struct writer_options options = {.format = format,
                                           .compression = command->settings.compression,
                                           .jobs = command->settings.jobs,
                                           .spool = command->settings.environment.spool};
    const struct image_info info = {.width = page->width,
                                    .height = page->height,
                                    .channels = page->channels - page->alpha,
                                    .type = format_sample_type(format, page->type)};
    *type = info.type;
    if (page->video.parts > 1)
        return fail(error, STATUS_USAGE, "--compare: diff= shows pictures, not video");
    if (*writer == NULL && writer_open(option->diff, &options, writer, error) != STATUS_OK)
        return STATUS_FAILED;
    return writer_begin_page(*writer, &info, error);
}

/* Compares a row of each side, which is in `values`, and writes the differences over the input's values. */
static void compare_row(struct comparison *pair, const struct image_info *page)
{
    struct side *a = &pair->sides[0], *b = &pair->sides[1];
    const size_t step = (size_t)page->channels;
    for (size_t c = 0; c < step; c++) {
        struct difference *difference = &pair->channels[(size_t)page->video.part + c];
        for (size_t x = 0; x < page->width; x++) {
            a->channel[x] = a->values[x * step + c];
            b->channel[x] = b->values[x * step + c];
        }
        difference_add(difference, a->channel, b->channel);
        for (size_t x = 0; x < page->width; x++)
            a->values[x * step + c] = difference_row(difference)[x];
    }
}

/* Writes the differences that compare_row left; the reference's values are overwritten. */
static enum status write_row(struct comparison *pair, const struct image_info *page, struct writer *writer,
                             enum sample_type type, struct error *error)
{
    const size_t colours = (size_t)(page->channels - page->alpha), step = (size_t)page->channels;
    void *row = pair->sides[1].values;
    for (size_t x = 0; x < page->width; x++)
        for (size_t c = 0; c < colours; c++)
            sample_set(type, row, x * colours + c, pair->sides[0].values[x * step + c]);
    return writer_write(writer, row, colours * page->width * sample_size(type), 1, error);
}

/* Compares the rows of a page; both readers are at its begin. `writer` is NULL without diff=, and `type` the
 * type of its samples. */
static enum status compare_rows(struct comparison *pair, struct writer *writer, enum sample_type type,
                                struct error *error)
{
    const struct image_info *pages[2];
    enum status status = STATUS_OK;
    for (int i = 0; i < 2; i++)
        pages[i] = reader_info(pair->sides[i].reader);
    const size_t samples = (size_t)pages[0]->width * (size_t)pages[0]->channels;
    uint32_t count = (uint32_t)(BLOCK_BYTES / row_size(pages[0])) + 1;
    for (int i = 0; i < 2; i++) {
        struct side *side = &pair->sides[i];
        free(side->values);
        side->values = allocate((samples + pages[i]->width) * sizeof(double) + count * row_size(pages[i]),
                                "rows", error);
        if (side->values == NULL)
            return STATUS_FAILED;
        side->channel = side->values + samples;
        side->rows = (unsigned char *)(side->channel + pages[i]->width);
    }
    for (uint32_t y = 0; status == STATUS_OK && y < pages[0]->height; y += count) {
        count = pages[0]->height - y < count ? pages[0]->height - y : count;
        for (int i = 0; status == STATUS_OK && i < 2; i++)
            status =
                reader_read(pair->sides[i].reader, pair->sides[i].rows, row_size(pages[i]), count, error);
        for (uint32_t row = 0; status == STATUS_OK && row < count; row++) {
            for (int i = 0; i < 2; i++)
                sample_values(pages[i]->type, pair->sides[i].rows, row * samples, samples,
                              pair->sides[i].values);
            compare_row(pair, pages[0]);
            if (writer)
                status = write_row(pair, pages[0], writer, type, error);
        }
    }
    return status;
}

/* Compares the present pages, and writes a page of diff=FILE. */
static enum status compare_page(struct comparison *pair, const struct command *command, uint32_t number,
                                struct writer **writer, struct error *error)
{
    const struct compare_option *option = &command->compare;
    const struct image_info *page = reader_info(pair->sides[0].reader);
    const int first = page->video.part;
    enum sample_type type = page->type;
    enum status status = STATUS_OK;
    if (option->diff)
        status = begin_diff(option, command, page, writer, &type, error);
    pair->channel_count =
        first + page->channels > pair->channel_count ? first + page->channels : pair->channel_count;
    for (int i = 0; i < page->channels && status == STATUS_OK; i++) {
        pair->channels[first + i].peak =
            option->peak > 0 ? option->peak / sample_full_scale(pair->sides[0].info.type) : 1;
        status = difference_begin(&pair->channels[first + i], page->width, number, error);
    }
    if (status == STATUS_OK)
        status = compare_rows(pair, *writer, type, error);
    for (int i = 0; i < CHANNELS; i++)
        difference_end(&pair->channels[i]);
    return status == STATUS_OK && *writer ? writer_end_page(*writer, error) : status;
}

/* Opens one side. */
static enum status open_side(struct side *side, const char *path, const struct settings *settings,
                             struct error *error)
{
    const struct reader_options options = settings_reader_options(settings);
    if (reader_open(path, &options, &side->reader, error) != STATUS_OK)
        return STATUS_FAILED;
    side->info = *reader_info(side->reader);
    if (side->info.type == SAMPLE_COMPLEX)
        return fail(
            error, STATUS_FAILED,
            "%s: complex samples cannot be compared; climg ... --inverse-wavelet makes a picture of them",
            reader_name(side->reader));
    return STATUS_OK;
}

/* Compares all pages of a picture and its reference, until some cannot be compared. The caller calls
 * comparison_free, also after a failure. */
static enum status compare_pair(struct comparison *pair, const struct command *command, const char *path,
                                const char *reference, struct error *error)
{
    bool more[2] = {true, true};
    struct writer *writer = NULL;
    enum status status = open_side(&pair->sides[0], path, &command->settings, error);
    if (status == STATUS_OK)
        status = open_side(&pair->sides[1], reference, &command->settings, error);
    for (uint32_t page = 0; status == STATUS_OK && more[0] && more[1]; page++) {
        const struct image_info *info = reader_info(pair->sides[0].reader);
        const uint32_t parts = info->video.parts > 1 ? (uint32_t)info->video.parts : 1;
        if (note_unlike(pair, info, reader_info(pair->sides[1].reader)))
            break;
        status = compare_page(pair, command, page / parts, &writer, error);
        for (int i = 0; status == STATUS_OK && i < 2; i++)
            status = reader_next_page(pair->sides[i].reader, &more[i], error);
    }
    if (more[0] != more[1])
        snprintf(pair->why, sizeof pair->why, "%s has more pages", pair->sides[more[1]].name);
    if (status == STATUS_OK && writer && pair->why[0] == '\0')
        status = writer_commit(writer, error);
    writer_close(writer);
    return status;
}

static void comparison_free(struct comparison *pair)
{
    for (int i = 0; i < 2; i++) {
        reader_close(pair->sides[i].reader);
        free(pair->sides[i].values);
    }
}

/* ---------------------------------------------------------------- printing */

/* Returns a difference in the units of the input's file. */
static double in_samples(const struct comparison *pair, double value)
{
    return value * sample_full_scale(pair->sides[0].info.type);
}

/* Prints what --info prints first: "photo.png: 640 x 480, RGB, 8 bit". */
static void print_side(FILE *out, const struct side *side)
{
    print_visible(out, side->name);
    fprintf(out, ": %u x %u, %s, %s\n", side->info.width, side->info.height, channels_name(&side->info),
            sample_name(side->info.type));
}

/* Prints "  PSNR: red 38.12, green 38.95 dB". */
static void print_channels(FILE *out, const struct comparison *pair, const char *title, const char *format,
                           double (*number)(const struct difference *), const char *unit)
{
    fprintf(out, "  %s:", title);
    for (int i = 0; i < pair->channel_count; i++) {
        const double value = number(&pair->channels[i]);
        fprintf(out, "%s %s ", i > 0 ? "," : "", channel_name(&pair->sides[0].info, i));
        if (isnan(value))
            fputs("none", out);
        else if (isinf(value))
            fputs("equal", out);
        else
            fprintf(out, format, value);
    }
    fprintf(out, "%s\n", unit);
}

/* Prints the lines of one pair. */
static void print_pair(FILE *out, const struct comparison *pair, const struct figures *figures)
{
    const struct difference *largest = &pair->channels[figures->largest];
    print_side(out, &pair->sides[0]);
    print_side(out, &pair->sides[1]);
    if (pair->why[0] != '\0' || figures->is_equal) {
        fprintf(out, "  %s\n", figures->is_equal ? "all samples are equal" : pair->why);
        return;
    }
    print_channels(out, pair, "PSNR", "%.2f", difference_psnr, " dB");
    print_channels(out, pair, "SSIM", "%.5f", difference_ssim, "");
    fprintf(out, "  largest difference: %.6g of %.6g, %s at %u,%u", in_samples(pair, largest->largest),
            sample_full_scale(pair->sides[0].info.type), channel_name(&pair->sides[0].info, figures->largest),
            largest->at.x, largest->at.y);
    if (largest->at.page > 0)
        fprintf(out, " on page %u", largest->at.page + 1);
    fputc('\n', out);
    for (int i = 0; i < pair->channel_count; i++)
        if (pair->channels[i].unmatched > 0)
            fprintf(out, "  NaN or infinite in one only: %llu in %s\n",
                    (unsigned long long)pair->channels[i].unmatched, channel_name(&pair->sides[0].info, i));
}

/* Prints a row of the table; the first one with a heading. */
static void print_table_row(FILE *out, const struct comparison *pair, const struct figures *figures,
                            bool is_first)
{
    if (is_first)
        fputs(" PSNR dB     SSIM    largest  picture\n", out);
    if (pair->why[0] != '\0' || figures->is_equal)
        fprintf(out, "%-28.28s  ", figures->is_equal ? "   equal" : "differs");
    else
        fprintf(out, "%8.2f %8.5f %10.6g  ", figures->psnr, figures->ssim,
                in_samples(pair, pair->channels[figures->largest].largest));
    print_visible(out, pair->sides[0].name);
    fprintf(out, "%s%s\n", pair->why[0] != '\0' ? ": " : "", pair->why);
}

/* Writes one side; null if it was not read. */
static void put_side(struct json_writer *out, const char *key, const struct side *side)
{
    json_begin(out, key, '{');
    json_put_text(out, "file", side->name);
    if (side->info.width > 0) {
        json_put_whole(out, "width", side->info.width);
        json_put_whole(out, "height", side->info.height);
        json_put_whole(out, "channels", side->info.video.parts > 1 ? 3 : side->info.channels);
        json_put_text(out, "samples", sample_name(side->info.type));
    }
    json_end(out, '}');
}

/* Writes a list of one number for each channel. */
static void put_channels(struct json_writer *out, const char *key, const struct comparison *pair,
                         double (*number)(const struct difference *))
{
    json_begin(out, key, '[');
    for (int i = 0; i < pair->channel_count; i++)
        json_put_number(out, NULL, number(&pair->channels[i]), DIGITS);
    json_end(out, ']');
}

/* Prints a line with one object. Keys are never left out; a figure that does not exist is null. */
static void print_comparison_json(FILE *file, const struct comparison *pair, const struct figures *figures)
{
    const struct difference *largest = &pair->channels[figures->largest];
    struct json_writer out = {.out = file};
    json_begin(&out, NULL, '{');
    put_side(&out, "picture", &pair->sides[0]);
    put_side(&out, "reference", &pair->sides[1]);
    json_put_truth(&out, "equal", figures->is_equal);
    json_put_truth(&out, "passes", figures->passes);
    json_put_text(&out, "why", pair->why[0] != '\0' ? pair->why : NULL);
    json_put_number(&out, "psnr", figures->psnr, DIGITS);
    put_channels(&out, "psnr_channels", pair, difference_psnr);
    json_put_number(&out, "ssim", pair->channel_count > 0 ? figures->ssim : (double)NAN, DIGITS);
    put_channels(&out, "ssim_channels", pair, difference_ssim);
    if (largest->largest > 0) {
        json_begin(&out, "largest", '{');
        json_put_number(&out, "difference", in_samples(pair, largest->largest), DIGITS);
        json_put_text(&out, "channel", channel_name(&pair->sides[0].info, figures->largest));
        json_put_whole(&out, "x", largest->at.x);
        json_put_whole(&out, "y", largest->at.y);
        json_put_whole(&out, "page", largest->at.page + 1);
        json_end(&out, '}');
    } else {
        json_put_null(&out, "largest");
    }
    json_begin(&out, "unmatched", '[');
    for (int i = 0; i < pair->channel_count; i++)
        json_put_whole(&out, NULL, (long long)pair->channels[i].unmatched);
    json_end(&out, ']');
    json_end(&out, '}');
    putc('\n', file);
}

/* ---------------------------------------------------------------- all files */

/* Outcome of the pairs so far. */
struct compare_run {
    const struct command *command;
    FILE *out;
    bool several;
    size_t printed, differing, failed;
};

/* Prints a pair and counts it. */
static void add_pair(struct compare_run *run, const struct comparison *pair)
{
    const struct compare_option *option = &run->command->compare;
    const struct figures figures = comparison_figures(pair, option);
    if (option->form == COMPARE_JSON)
        print_comparison_json(run->out, pair, &figures);
    else if (!run->command->settings.quiet && run->several)
        print_table_row(run->out, pair, &figures, run->printed == 0);
    else if (!run->command->settings.quiet)
        print_pair(run->out, pair, &figures);
    run->printed++;
    run->differing += !figures.passes;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the pictures of the reference folder that no input has the name of. */
static enum status add_unpaired(struct compare_run *run, const struct list *list, struct error *error)
{
    struct command command = *run->command;
    const char *const reference = command.compare.reference;
    struct list others;
    command.inputs = (const char **)&command.compare.reference;
    command.input_count = 1;
    command.settings.files_from = NULL;
    const char **names = allocate((list->count + 1) * sizeof *names, "names", error);
    enum status status = names ? list_make(&others, &command, error) : STATUS_FAILED;
    for (size_t i = 0; names && i < list->count; i++)
        names[i] = list->jobs[i].name;
    if (names)
        qsort(names, list->count, sizeof *names, by_text);
    for (size_t i = 0; status == STATUS_OK && i < others.count; i++) {
        const char *name = others.jobs[i].name;
        struct comparison pair = {.sides = {{.name = name}, {.name = others.jobs[i].input}}};
        if (bsearch(&name, names, list->count, sizeof *names, by_text) != NULL)
            continue;
        snprintf(pair.why, sizeof pair.why, "is only in %.100s", reference);
        add_pair(run, &pair);
    }
    if (names)
        list_free(&others);
    free(names);
    return status;
}

/* Fails if diff=FILE would overwrite one of the pictures, or has an unknown format. */
static enum status check_diff(const char *diff, const char *path, const char *reference, struct error *error)
{
    struct stat there, other;
    const char *const paths[] = {path, reference};
    if (format_by_path(diff) == NULL)
        return fail(error, STATUS_USAGE, "--compare: diff=%s: climg writes %s", diff,
                    format_names(NULL, "and").text);
    for (int i = 0; i < 2; i++)
        if (stat(diff, &there) == 0 && stat(paths[i], &other) == 0 && there.st_dev == other.st_dev &&
            there.st_ino == other.st_ino)
            return fail(error, STATUS_USAGE, "--compare: diff=%s would overwrite %s", diff, paths[i]);
    return STATUS_OK;
}

/* Compares an input with the reference, or with the file of its name in that folder, and adds the result. */
static enum status compare_job(struct compare_run *run, const struct job *job, bool is_folder,
                               struct error *error)
{
    const struct compare_option *option = &run->command->compare;
    struct comparison pair = {.sides = {{.name = job_input_name(job)}}};
    char *path = is_folder ? text_print(error, "%s/%s", option->reference, job->name)
                           : copy_text(option->reference, error);
    if (path == NULL)
        return STATUS_FAILED;
    pair.sides[1].name = path;
    enum status status = job_check(job, error);
    if (status == STATUS_OK && option->diff)
        status = check_diff(option->diff, job->input, path, error);
    if (status == STATUS_OK && is_folder && access(path, F_OK) != 0)
        snprintf(pair.why, sizeof pair.why, "is not in %.100s", option->reference);
    else if (status == STATUS_OK)
        status = compare_pair(&pair, run->command, job->input, path, error);
    if (status == STATUS_OK)
        add_pair(run, &pair);
    if (status == STATUS_OK && !run->several && run->differing > 0)
        fail(error, STATUS_DIFFERENT, "%s and %s differ%s%s", pair.sides[0].name, path,
             pair.why[0] != '\0'    ? ": "
             : option->min_psnr > 0 ? " by more than min-psnr allows"
                                    : "",
             pair.why);
    comparison_free(&pair);
    free(path);
    return status;
}

enum status compare_write(const struct command *command, FILE *out, void (*complain)(const struct error *),
                          struct error *error)
{
    struct list list;
    struct stat there;
    const char *const reference = command->compare.reference;
    const int missing = strcmp(reference, "-") != 0 && stat(reference, &there) != 0 ? errno : 0;
    const bool is_folder = stat(reference, &there) == 0 && S_ISDIR(there.st_mode);
    bool has_folder = false; /* among the inputs */
    for (size_t i = 0; i < command->input_count; i++)
        has_folder = has_folder || (stat(command->inputs[i], &there) == 0 && S_ISDIR(there.st_mode));
    enum status status = list_make(&list, command, error), single = STATUS_OK;
    struct compare_run run = {.command = command, .out = out, .several = list.several};
    if (status == STATUS_OK && missing != 0)
        status = fail(error, STATUS_FAILED, "%s: cannot open: %s", reference, strerror(missing));
    if (status == STATUS_OK && list.several && command->compare.diff)
        status = fail(error, STATUS_USAGE, "--compare: diff= takes one picture");
    if (status == STATUS_OK && command->begin)
        status = command->begin(command, &list, error);
    for (size_t i = 0; status == STATUS_OK && i < list.count; i++) {
        single = compare_job(&run, &list.jobs[i], is_folder, error);
        if (single == STATUS_OK)
            continue;
        if (list.several) /* of a single file, the message is the command's */
            complain(error);
        run.failed++;
    }
    if (status == STATUS_OK && is_folder && has_folder)
        status = add_unpaired(&run, &list, error);
    if (status == STATUS_OK && run.failed > 0)
        status = !run.several ? single
                              : fail(error, run.failed < list.count ? STATUS_PARTIAL : STATUS_FAILED,
                                     "%zu of %zu files failed", run.failed, list.count);
    else if (status == STATUS_OK && run.differing > 0)
        status = !run.several ? STATUS_DIFFERENT
                              : fail(error, STATUS_DIFFERENT, "%zu of %zu pictures differ", run.differing,
                                     run.printed);
    list_free(&list);
    return status;
}
