/* Fills in the result of a job while it runs: sizes, warnings, and findings of stages.
 *
 * With --verbose each finding is printed at once. Warnings are collected, so that pages share them, and
 * printed when the job has succeeded. */
#include "batch/result.h"

#include "base/text.h"
#include "batch/stack.h"
#include "chain/slice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void job_print(const struct job *job, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    int length = snprintf(line, sizeof line, "climg: %.1000s: ", job_input_name(job));
    va_start(arguments, format);
    vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    text_make_visible(line);
    fprintf(stderr, "%s\n", line); /* in one call, as other workers print, too */
}

/* For --verbose: prints sizes, sample types and device, and how samples and metadata will change. */
static void print_page(const struct job *job, const struct worker *worker, const struct page *page)
{
    const struct shape *decoded = &page->plan->shapes[0], in = shape_full(decoded);
    const struct image_info *out = &page->out; /* `palette` and `bits` are the input's */
    char group[48] = "";
    if (in.images > 1)
        snprintf(group, sizeof group, ", a group of %d images", in.images);
    job_print(job,
              "%s of %dx%d, %d channel%s%s, %s; to %s, %s of %ux%u, %d channel%s, %s; on %s, %s memory, "
              "%d rows at once%s",
              in.kind == KIND_PYRAMID ? "pyramid" : "image", in.width, in.height, in.channels,
              in.channels == 1 ? "" : "s", in.alpha ? " with alpha" : "",
              sample_name(page->input_conversion.type), job->format->name,
              plan_output(page->plan)->kind == KIND_PYRAMID ? "pyramid" : "image", out->width, out->height,
              out->channels, out->channels == 1 ? "" : "s",
              job_is_bilevel(job, worker) ? "1 bit" : sample_name(out->type), worker->device.name,
              worker->run.memory == MEMORY_IMAGE ? "image" : "buffer", page->plan->slice_rows, group);
    if (out->palette || out->bits > 0)
        job_print(job, "%d-bit %s become %s samples", out->bits > 0 ? out->bits : 8,
                  out->palette ? "palette indices" : "samples", sample_name(page->input_conversion.type));
    if (page->input_conversion.has_range)
        job_print(job, "values from %s become 0 to full scale%s",
                  conversion_range(&page->input_conversion).text,
                  page->output_conversion.has_range ? " for the stages, and are restored in the output" : "");
    if (decoded->reduced.factor > 0)
        job_print(job, "is decoded at 1/%d, as it becomes much smaller; full=yes decodes all pixels",
                  decoded->reduced.factor);
    if (job->orientation > 0)
        job_print(job, "is turned first, as its orientation is %d%s", job->orientation,
                  worker->context->settings->auto_orient ? ""
                                                         : "; --stored-orientation takes it as it is stored");
    if (out->metadata.left_out[0] != '\0')
        job_print(job, "metadata left out: %s", out->metadata.left_out);
}

void result_warn(struct result *result, const char *text)
{
    text_add_item(result->warnings, sizeof result->warnings, "\n", text);
}

/* Warns of pixel data that the output's format cannot hold. */
static void warn_of_format(const struct job *job, const struct worker *worker, const struct page *page,
                           struct result *result)
{
    char text[160];
    const enum sample_type in = job->samples, out = page->out.type;
    /* Integers of 32 bits often count or number objects: scaled to 16 bits, small ones are black. */
    const bool is_wide = sample_size(in) == sizeof(uint32_t) && !sample_is_float(in) &&
                         !worker->context->settings->range.given && !chain_caps(&job->chain).new_values;
    if (page->out.alpha && job->format->holds.opaque) { /* the format has no alpha */
        snprintf(text, sizeof text, "its alpha is lost, as %s has none: the picture is put on white",
                 job->format->name);
        result_warn(result, text);
    }
    if (worker->context->settings->depth == DEPTH_OPTION_ABSENT && (out == SAMPLE_UINT8 || is_wide) &&
        !job_is_bilevel(job, worker) && sample_size(in) > sample_size(out)) {
        snprintf(text, sizeof text, "%s samples become %s, as %s holds no more%s", sample_name(in),
                 sample_name(out), job->format->name,
                 is_wide ? "; --range MIN,MAX or --range auto maps values to full scale" : "");
        result_warn(result, text);
        snprintf(result->depth_warning, sizeof result->depth_warning, "%s", text);
    }
}

/* Warns of stages with sample values that make the picture black or white: `--threshold 0.5` for 8-bit
 * samples, where the user probably means 50%, or values for another number of bits, 65535 for 8 or 128
 * for 16. `full_scale` is the sample value of white. `bits` is the number of bits of the file's samples if
 * they were scaled to more, else 0. */
static void warn_of_values(const struct job *job, double full_scale, int bits, struct result *result)
{
    const double narrow = bits > 0 ? ldexp(1, bits) - 1 : UINT8_MAX; /* white of fewer bits */
    for (size_t i = 0; i < job->chain.count && full_scale > 1; i++) {
        char text[128];
        const struct step *step = &job->chain.steps[i];
        const struct stage_caps caps = step_caps(step);
        const double least = full_scale > narrow ? narrow : 1;
        const bool is_above = caps.largest_value > 2 * full_scale || caps.smallest_value > full_scale;
        /* Values of a sum of pictures are above full scale, too. */
        if (caps.largest_value <= 0 || (caps.largest_value > least && (!is_above || job->is_stack_result)))
            continue;
        snprintf(text, sizeof text,
                 "--%s takes sample values from 0 to %.15g; did you mean percent, as in 50%%?",
                 step->stage->name, full_scale);
        result_warn(result, text);
    }
}

void result_note_page(const struct job *job, const struct worker *worker, const struct page *page,
                      struct result *result)
{
    const struct plan *plan = page->plan;
    const struct shape in = shape_full(&plan->shapes[0]);
    const struct range *range = &worker->context->settings->range;
    const int bits = page->out.palette ? 0 : page->out.bits;   /* of the input */
    if (!strstr(result->warnings, page->out.metadata.warning)) /* pages often have the same */
        result_warn(result, page->out.metadata.warning);
    warn_of_format(job, worker, page, result);
    warn_of_values(job, in.full, bits, result);
    if (bits > 1 && range->given && !range->automatic && range->high < ldexp(1, bits)) {
        char text[128];
        snprintf(text, sizeof text,
                 "--range takes sample values from 0 to %.15g, to which %d-bit samples are scaled",
                 sample_full_scale(page->input_conversion.type), bits);
        result_warn(result, text);
    }
    if (range->given && !page->input_conversion.has_range && !job->merge_step)
        result_warn(result, "--range changes nothing where floats stay floats; --depth 8 or --depth 16 makes "
                            "integers of them");
    if (worker->context->settings->verbose && result->frames <= 1)
        print_page(job, worker, page);

    /* Lower slices would need less memory, unless slices are mostly halo. */
    result->slice = plan->sliceable && 2 * plan->overlap_rows <= plan->input_rows ? plan->slice_rows : 0;

    /* Add to the sums over pages. 32-bit samples are converted to floats in between, unless they are integers
     * that are only moved. */
    result->pixels += (uint64_t)in.width * (uint64_t)in.height;
    result->output_type = page->out.type;
    result->conversion_clips |= transfer_clips(job->samples, page->out.type, false);
    result->as_floats |= sample_size(page->out.type) == sizeof(float) &&
                         (sample_is_float(page->input_conversion.type) ||
                          !slice_only_moves_samples(plan, &page->input_conversion, &page->output_conversion));
    if (page->output_conversion.counts_clipping)
        result->clipping.samples +=
            (uint64_t)page->out.width * page->out.height * (uint64_t)(page->out.channels - page->out.alpha);

    /* Record the sizes of the first page. */
    if (result->width > 0)
        return;
    result->width = in.width;
    result->height = in.height;
    result->channels = in.channels;
    result->output_width = (int)page->out.width;
    result->output_height = (int)page->out.height;
    result->output_channels = page->out.channels;
}

void result_note_copy(const struct job *job, const struct worker *worker, struct result *result)
{
    const struct image_info *info = reader_info(job->reader);
    if (worker->context->settings->verbose)
        job_print(job, "%s of %ux%u is copied as it is: nothing changes it", job->format->name, info->width,
                  info->height);
    result->output_type = info->type;
    result->pixels = (uint64_t)info->width * info->height;
    result->width = result->output_width = (int)info->width;
    result->height = result->output_height = (int)info->height;
    result->channels = result->output_channels = info->channels;
}

void result_note_trailing(const struct job *job, const struct worker *worker, struct result *result)
{
    const struct settings *settings = worker->context->settings;
    const struct metadata *trailing = reader_trailing_warnings(job->reader);
    result_warn(result, trailing->warning);
    if (settings->verbose && !settings->strip && trailing->left_out[0] != '\0')
        job_print(job, "left out, as it comes after the pixels: %s", trailing->left_out);
}

void noise_text(const struct noise_summary *noise, const char *after_colon, const char *between,
                char text[NOISE_TEXT_SIZE])
{
    static const char *const colours[][3] = {{"brightness", "red - blue", "green - magenta"},
                                             {"red", "green", "blue"}};
    /* White noise has 3/4 of its variance on level 1, 3/16 on level 2, and so on. So the sum with these
     * weights is the variance of a sample. Opponent colours have the mean variance of red, green and blue,
     * because their matrix is orthonormal. */
    double variance = 0, share = 0.75, shares = 0;
    for (int level = 0; level < noise->levels; level++, share /= 4) {
        for (int i = 0; i < noise->count; i++)
            variance += share * pow((double)noise->sigma[i][level], 2) / noise->count;
        shares += share;
    }
    text[0] = '\0';
    text_append(text, NOISE_TEXT_SIZE, "about %.2g of 255 on average%sby size of detail (",
                sqrt(variance / shares), between);
    for (int level = 0; level < noise->levels; level++)
        text_append(text, NOISE_TEXT_SIZE, "%s%d", level > 0 ? ", " : "", 2 << level);
    text_append(text, NOISE_TEXT_SIZE, " pixels), each as the sigma of equally strong white noise:%s",
                after_colon);
    for (int i = 0; i < noise->count; i++) {
        const char *name = noise->count == 3   ? colours[noise->is_separate][i]
                           : noise->count == 1 ? "gray"
                                               : "channel";
        text_append(text, NOISE_TEXT_SIZE, "%s%s", i > 0 ? between : "", name);
        for (int level = 0; level < noise->levels; level++)
            text_append(text, NOISE_TEXT_SIZE, " %.2f", (double)noise->sigma[i][level]);
    }
}

void result_note_warnings(const struct worker *worker, int image, struct result *result)
{
    char text[128];
    const uint64_t count = worker->run.results.nonfinite[image];
    snprintf(text, sizeof text, "%llu %s NaN or infinite, and %s left out", (unsigned long long)count,
             count == 1 ? "value is" : "values are", count == 1 ? "was" : "were");
    if (count > 0)
        result_warn(result, text);
    if (worker->run.results.warned_images >> image & 1)
        result_warn(result, worker->run.results.warning);
}

void result_note_noise(const struct job *job, const struct worker *worker, int image, struct result *result)
{
    const struct noise_estimates *estimate = &worker->run.results.noise;
    const struct shape *shape = &estimate->shape;
    if (estimate->levels == 0 || image >= shape->images)
        return;
    const struct image_noise *noise = &estimate->images[image];
    struct noise_summary summary = {.count = shape->channels - shape->alpha,
                                    .levels = estimate->levels,
                                    .is_separate = noise->is_separate};
    for (int i = 0; i < summary.count; i++)
        for (int level = 0; level < summary.levels; level++)
            summary.sigma[i][level] = 255 * noise->sigma[level][i];
    if (worker->context->settings->verbose && result->frames <= 1) {
        char text[NOISE_TEXT_SIZE];
        noise_text(&summary, " ", "; ", text);
        job_print(job, "noise: %s", text);
    }
    if (result->noise.count == 0) /* of the first page */
        result->noise = summary;
}

void result_note_found(const struct job *job, const struct worker *worker, struct result *result)
{
    const bool is_verbose = worker->context->settings->verbose;
    const struct alignment *alignment = &worker->run.results.alignment;
    const struct affine *map = &alignment->affine;
    char text[sizeof result->found] = "";
    if (alignment->found && is_verbose)
        job_print(job, "aligned by \"%.9g %.9g %.9g %.9g %.9g %.9g\", confidence %.3f", map->xx, map->xy,
                  map->x, map->yx, map->yy, map->y, alignment->confidence);
    if (!result->alignment.found)
        result->alignment = *alignment;
    text_add_item(text, sizeof text, "; ", job->measured);
    text_add_item(text, sizeof text, "; ", worker->run.results.text);
    if (text[0] != '\0' && is_verbose)
        job_print(job, "found: %s", text);
    if (result->found[0] == '\0')
        strcpy(result->found, text);
}

/* Percent of the samples: up to here clipping by stages, and by --range, causes no warning. */
enum { CLIPPING_TOLERATED = 1, CLIPPING_BY_RANGE = 90 };

/* Warns of clipped values. Without --verbose it is silent if few samples are affected, as in most pictures,
 * unless the type of the output clips. */
static void warn_of_clipping(const struct worker *worker, struct result *result)
{
    const struct clipping *clipping = &result->clipping;
    const struct settings *settings = worker->context->settings;
    const double percent = 100.0 * (double)clipping->beyond / (double)clipping->samples;
    const bool has_range = settings->range.given, is_by_type = result->conversion_clips && !has_range;
    const bool is_warned = is_by_type || percent > (has_range ? CLIPPING_BY_RANGE : CLIPPING_TOLERATED);
    char text[256] = "";
    if (clipping->beyond > 0 && is_warned && !is_by_type && !settings->verbose)
        text_append(text, sizeof text, "%.3g%% of the samples were clipped to black or white by %s", percent,
                    has_range ? "--range" : "the stages");
    else if (clipping->beyond > 0 && (settings->verbose || is_warned))
        text_append(
            text, sizeof text, "%llu of %llu values (%.3g%%) are outside the range of %s samples and %s%s",
            (unsigned long long)clipping->beyond, (unsigned long long)clipping->samples, percent,
            sample_name(result->output_type),
            result->output_type == SAMPLE_HALF ? "became infinite" : "were clipped",
            !is_warned || has_range ? ""
            : is_by_type
                ? "; --range MIN,MAX or --range auto maps values to full scale, --depth float keeps them"
                : "; a TIFF with --depth float keeps them");
    result_warn(result, text);
    if (clipping->not_numbers == 0)
        return;
    snprintf(text, sizeof text, "NaN became 0 in %llu values", (unsigned long long)clipping->not_numbers);
    result_warn(result, text);
}

void job_finish(struct job *job, const struct worker *worker, enum status status, struct result *result)
{
    if (job_is_stack_input(job))
        stack_free_picture(job); /* keeps the memory for another input; job_close would free it */
    job_close(job);
    if (job_is_stack_input(job))
        stack_pass_turn(job); /* the next input can be merged */
    result->status = status;
    result->skipped = job->skipped;
    result->bytes_in = job->bytes;
    result->device = worker->is_open ? worker->device.name : NULL;
    if (status != STATUS_OK)
        error_prefix_once(&result->error, job_input_name(job));
    else if (!job->skipped) {
        /* The bytes that went to stdout are unknown, as a file there may have other data, too. */
        struct stat info;
        if (!job_is_stack_input(job) && strcmp(job->output, "-") != 0 && stat(job->output, &info) == 0 &&
            S_ISREG(info.st_mode))
            result->bytes_out = (uint64_t)info.st_size;
        warn_of_clipping(worker, result);
        /* An output of 8 or 16 bits loses nothing by 32-bit floats. */
        if (job->rounded && result->as_floats)
            result_warn(result, "has samples with more digits than 32-bit floats hold; they were rounded");
    }
}
