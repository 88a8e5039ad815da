#include "batch/result.h"

#include "base/text.h"
#include "chain/moving.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void job_tell(const struct job *job, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    int length = snprintf(line, sizeof line, "climg: %.1000s: ", job_input_name(job));
    va_start(arguments, format);
    vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    text_make_visible(line);
    fprintf(stderr, "%s\n", line); /* at once: other workers speak too */
}

/* Whether it matters to the chain which way a picture is held. */
static bool has_sides(const struct job *job, const struct plan *plan)
{
    const struct affine from = plan_places(plan);
    return chain_redraws(&job->chain) || !affine_is_upright(&from) || from.xx != from.yy || from.x != 0 ||
           from.y != 0;
}

static void tell(const struct job *job, const struct worker *worker, const struct page *page)
{
    const struct shape *in = &page->plan->shapes[0];
    const struct image_info *out = &page->out; /* of the input where nothing changes it */
    char group[48] = "";
    if (in->images > 1)
        snprintf(group, sizeof group, ", a group of %d images", in->images);
    job_tell(job,
             "%s of %dx%d, %d channels%s, %s; to %s, %s of %ux%u, %d channels, %s; on %s, %s memory, "
             "%d rows at once%s",
             in->kind == KIND_PYRAMID ? "pyramid" : "image", in->width, in->height, in->channels,
             in->alpha ? " with alpha" : "", sample_name(page->from.type), job->format->name,
             plan_output(page->plan)->kind == KIND_PYRAMID ? "pyramid" : "image", out->width, out->height,
             out->channels, sample_name(out->type), worker->device.name,
             worker->run.memory == MEMORY_IMAGE ? "image" : "buffer", page->plan->slice, group);
    if (out->palette || out->bits > 0)
        job_tell(job, "%d-bit %s are %s samples from here on", out->bits > 0 ? out->bits : 8,
                 out->palette ? "numbers of a palette's colours" : "samples", sample_name(page->from.type));
    if (page->from.ranged)
        job_tell(job, "values from %s become 0 to full scale", conversion_range(&page->from).text);
    if (out->metadata.orientation > 1 && has_sides(job, page->plan))
        job_tell(job,
                 "is shown turned (orientation %d), and goes through the chain as it is stored; "
                 "--auto-orient turns it first",
                 out->metadata.orientation);
    if (out->metadata.left_out[0] != '\0')
        job_tell(job, "left out: %s", out->metadata.left_out);
}

/* Of several pages that give the same reason it is told once. */
void result_warn(struct result *result, const char *text)
{
    if (text[0] != '\0' && strstr(result->warnings, text) == NULL)
        text_append(result->warnings, sizeof result->warnings, "%s%s",
                    result->warnings[0] != '\0' ? "\n" : "", text);
}

void result_note_page(const struct job *job, const struct worker *worker, const struct page *page,
                      struct result *result)
{
    const struct shape *in = &page->plan->shapes[0];
    result_warn(result, page->out.metadata.warning);
    if (worker->settings->verbose && !worker->settings->quiet)
        tell(job, worker, page);
    const struct plan *plan = page->plan;
    result->slice = plan->sliceable && 2 * plan->overlap_rows <= plan->input_rows ? plan->slice : 0;
    result->pixels += (uint64_t)in->width * (uint64_t)in->height;
    result->output_type = page->out.type;
    result->as_floats =
        result->as_floats || sample_is_float(page->from.type) || !moving_is_all(plan, &page->from, &page->to);
    if (page->to.counted)
        result->clipping.samples +=
            (uint64_t)page->out.width * page->out.height * (uint64_t)page->out.channels;
    if (result->width > 0)
        return;
    result->width = in->width;
    result->height = in->height;
    result->channels = in->channels;
    result->output_width = (int)page->out.width;
    result->output_height = (int)page->out.height;
    result->output_channels = page->out.channels;
}

static void tell_noise(const struct job *job, const struct worker *worker, const float *sigma, int count)
{
    char text[96] = "";
    for (int i = 0; i < count; i++)
        text_append(text, sizeof text, "%s%.2f", i > 0 ? ", " : "", 255 * (double)sigma[i]);
    if (worker->settings->verbose && !worker->settings->quiet)
        job_tell(job, "estimated noise: %s of 255%s", text,
                 count == 3 ? " (brightness and two colour differences)" : "");
}

void result_note_noise(const struct job *job, const struct worker *worker, int image, struct result *result)
{
    const struct estimate *noise = &worker->run.noise;
    const struct shape *shape = &noise->shape;
    int count = shape->channels - shape->alpha, first = image * shape->channels;
    if (noise->planes == 0 || first + shape->channels > noise->planes)
        return;
    tell_noise(job, worker, noise->sigma + first, count);
    for (int i = 0; i < count && result->noise_count == 0; i++)
        result->noise[i] = 255 * noise->sigma[first + i];
    result->noise_count = count;
}

void result_note_alignment(const struct job *job, const struct worker *worker, struct result *result)
{
    const struct alignment *found = &worker->run.alignment;
    const struct affine *map = &found->affine;
    if (!found->found)
        return;
    if (worker->settings->verbose && !worker->settings->quiet)
        job_tell(job, "aligned by \"%.9g %.9g %.9g %.9g %.9g %.9g\", confidence %.3f", map->xx, map->xy,
                 map->x, map->yx, map->yy, map->y, found->confidence);
    if (!result->alignment.found)
        result->alignment = *found;
}

/* 0 where it went to no file: what else a file behind stdout may hold is not known. */
static uint64_t output_size(const struct job *job)
{
    struct stat there;
    bool file = strcmp(job->output, "-") != 0 && job_stat_output(job, &there) && S_ISREG(there.st_mode);
    return file ? (uint64_t)there.st_size : 0;
}

/* Floats that the user has mapped are clipped because that was asked for, and what stages add to integers
 * is in their nature: these are told with --verbose. */
static void warn_of_clipping(const struct job *job, const struct worker *worker, struct result *result)
{
    const struct clipping *clipping = &result->clipping;
    const struct settings *settings = worker->settings;
    bool floats = transfer_clips(job->samples, result->output_type);
    double percent = 100.0 * (double)clipping->beyond / (double)clipping->samples;
    char text[256] = "";
    if (clipping->beyond > 0 && (settings->verbose || (floats && !settings->range.given)))
        text_append(
            text, sizeof text, "%llu of %llu values (%.3g%%) are beyond what %s samples hold, and clipped%s",
            (unsigned long long)clipping->beyond, (unsigned long long)clipping->samples, percent,
            sample_name(result->output_type),
            floats && !settings->range.given
                ? "; --range MIN,MAX or --range auto maps values to full scale, --depth float keeps them"
                : "");
    result_warn(result, text);
    if (clipping->not_numbers == 0)
        return;
    snprintf(text, sizeof text, "%llu of its values, which are no numbers (NaN), became 0",
             (unsigned long long)clipping->not_numbers);
    result_warn(result, text);
}

/* Integers of 8 or 16 bits have less than what floats lose. */
static void warn_of_rounding(const struct job *job, struct result *result)
{
    if (job->rounded && result->as_floats && sample_size(result->output_type) == sizeof(float))
        result_warn(
            result,
            "has samples with more digits than the 32-bit floats that climg works with; they are rounded");
}

void job_settle(struct job *job, const struct worker *worker, enum status status, struct result *result)
{
    job_close(job);
    result->status = status;
    result->skipped = job->skipped;
    result->bytes_in = job->bytes;
    result->device = worker->open ? worker->device.name : NULL;
    if (status != STATUS_OK)
        error_name(&result->error, job_input_name(job));
    else if (!job->skipped) {
        result->bytes_out = output_size(job);
        warn_of_clipping(job, worker, result);
        warn_of_rounding(job, result);
    }
}
