/* Compares the samples of two files.
 *
 *     two readers ─▶ blocks of rows ─▶ rows of one channel ─▶ struct difference
 *                                               └─▶ diff=FILE
 *
 * Samples are compared as the files store them, as fractions of full scale: 8-bit and 16-bit files may be
 * compared with each other; profiles and orientation are ignored. It runs on the host: decoding takes most of
 * the time, and each row is used only once. */
#include "cli/comparison.h"

#include "base/text.h"
#include "cli/cli.h"
#include "image/writer.h"

#include <math.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 20 }; /* bytes to read at once, rounded up to whole rows */

/* Sets pair->why and returns true if two pages cannot be compared. */
static bool note_mismatch(struct comparison *pair, const struct image_info *a, const struct image_info *b)
{
    char *why = pair->why;
    if (a->width != b->width || a->height != b->height)
        snprintf(why, sizeof pair->why, "the sizes differ: %u x %u and %u x %u", a->width, a->height,
                 b->width, b->height);
    else if (a->channels != b->channels || a->alpha != b->alpha || a->video.parts != b->video.parts)
        snprintf(why, sizeof pair->why, "the channels differ: %s and %s", channel_layout_name(a),
                 channel_layout_name(b));
    else if (a->premultiplied != b->premultiplied)
        snprintf(why, sizeof pair->why, "the colours of one are multiplied by its alpha");
    return why[0] != '\0';
}

/* Begins a page of diff=FILE, without alpha, and opens the file before the first page. Its sample type is the
 * input's, or the nearest one that the format has. Differences of signed samples reach twice full scale, so
 * they become unsigned samples of that size. */
static enum status begin_diff(struct comparison *pair, const struct command *command,
                              const struct image_info *page, struct error *error)
{
    const struct compare_option *option = &command->compare;
    const struct format *format = format_by_path(option->diff);
    const struct writer_options options = {.format = format,
                                           .compression = command->settings.compression,
                                           .jobs = command->settings.jobs,
                                           .spool_folder = command->settings.environment.spool_folder};
    static const enum sample_type unsigned_types[] = {
        [SAMPLE_INT8] = SAMPLE_UINT8, [SAMPLE_INT16] = SAMPLE_UINT16, [SAMPLE_INT32] = SAMPLE_UINT32};
    const enum sample_type type = sample_is_signed(page->type) ? unsigned_types[page->type] : page->type;
    const struct image_info info = {.width = page->width,
                                    .height = page->height,
                                    .channels = page->channels - page->alpha,
                                    .type = format_sample_type(format, type)};
    pair->diff_type = info.type;
    pair->diff_scale = sample_full_scale(page->type) / sample_full_scale(type);
    if (page->video.parts > 1)
        return fail(error, STATUS_USAGE, "--compare: diff= shows pictures, not video");
    if (pair->diff == NULL && writer_open(option->diff, &options, &pair->diff, error) != STATUS_OK)
        return STATUS_FAILED;
    return writer_begin_page(pair->diff, &info, error);
}

/* Compares the rows in `values` of both sides, and replaces the input's values by the differences. */
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
            a->values[x * step + c] = difference->magnitudes[x];
    }
}

/* Compares the rows of a page and writes the differences to diff=FILE. Both readers must be at the start of
 * the page. */
static enum status compare_rows(struct comparison *pair, struct error *error)
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
            if (pair->diff) { /* write the differences; overwrites the reference's values */
                const size_t colours = (size_t)(pages[0]->channels - pages[0]->alpha),
                             step = (size_t)pages[0]->channels;
                void *to = pair->sides[1].values;
                for (size_t x = 0; x < pages[0]->width; x++)
                    for (size_t c = 0; c < colours; c++)
                        sample_set(pair->diff_type, to, x * colours + c,
                                   pair->diff_scale * pair->sides[0].values[x * step + c]);
                status = writer_write(pair->diff, to,
                                      colours * pages[0]->width * sample_size(pair->diff_type), 1, error);
            }
        }
    }
    return status;
}

/* Compares the current pages of both readers, and writes a page of diff=FILE. `number` counts the pages of
 * the file from 0. */
static enum status compare_page(struct comparison *pair, const struct command *command, uint32_t number,
                                struct error *error)
{
    const struct compare_option *option = &command->compare;
    const struct image_info *page = reader_info(pair->sides[0].reader);
    const int first = page->video.part; /* index of the page's first channel; a video's Cb and Cr follow Y */
    enum status status = option->diff ? begin_diff(pair, command, page, error) : STATUS_OK;
    if (first + page->channels > pair->channel_count) {
        pair->channel_count = first + page->channels;
        pair->widest = *page;
    }
    for (int i = 0; i < page->channels && status == STATUS_OK; i++) {
        pair->channels[first + i].peak =
            option->peak > 0 ? option->peak / sample_full_scale(pair->sides[0].info.type) : 1;
        status = difference_begin(&pair->channels[first + i], page->width, number, error);
    }
    if (status == STATUS_OK)
        status = compare_rows(pair, error);
    for (int i = 0; i < COMPARISON_CHANNELS; i++)
        difference_end(&pair->channels[i]);
    return status == STATUS_OK && pair->diff ? writer_end_page(pair->diff, error) : status;
}

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

enum status comparison_run(struct comparison *pair, const struct command *command, const char *path,
                           const char *reference, struct error *error)
{
    bool more[2] = {true, true};
    const int first = command->settings.pages.first > 0 ? command->settings.pages.first - 1 : 0;
    enum status status = open_side(&pair->sides[0], path, &command->settings, error);
    if (status == STATUS_OK)
        status = open_side(&pair->sides[1], reference, &command->settings, error);
    for (uint32_t page = 0; status == STATUS_OK && more[0] && more[1]; page++) {
        const struct image_info *info = reader_info(pair->sides[0].reader);
        const uint32_t parts = info->video.parts > 1 ? (uint32_t)info->video.parts : 1;
        const uint32_t number = (uint32_t)first + page / parts;
        if (note_mismatch(pair, info, reader_info(pair->sides[1].reader))) {
            if (number > 0)
                text_append(pair->why, sizeof pair->why, " on page %u", number + 1);
            break;
        }
        status = compare_page(pair, command, number, error);
        for (int i = 0; status == STATUS_OK && i < 2; i++)
            status = reader_next_page(pair->sides[i].reader, &more[i], error);
    }
    if (more[0] != more[1])
        snprintf(pair->why, sizeof pair->why, "the %s has more pages", more[0] ? "input" : "reference");
    if (status == STATUS_OK && pair->diff && pair->why[0] == '\0')
        status = writer_commit(pair->diff, error);
    return status;
}

void comparison_free(struct comparison *pair)
{
    writer_close(pair->diff);
    for (int i = 0; i < 2; i++) {
        reader_close(pair->sides[i].reader);
        free(pair->sides[i].values);
    }
}

struct figures comparison_figures(const struct comparison *pair, const struct compare_option *option)
{
    struct figures figures = {.is_equal = pair->why[0] == '\0', .psnr = INFINITY};
    uint64_t unmatched = 0;
    for (int i = 0; i < pair->channel_count; i++) {
        const struct difference *channel = &pair->channels[i];
        figures.is_equal = figures.is_equal && difference_is_none(channel);
        figures.psnr = fmin(figures.psnr, difference_psnr(channel));
        figures.ssim += difference_ssim(channel) / pair->channel_count;
        if (channel->largest > pair->channels[figures.worst_channel].largest)
            figures.worst_channel = i;
        unmatched += channel->unmatched;
    }
    figures.passes = figures.is_equal || (pair->why[0] == '\0' && unmatched == 0 && option->min_psnr > 0 &&
                                          figures.psnr >= option->min_psnr);
    return figures;
}
