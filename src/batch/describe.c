#include "batch/describe.h"

#include "base/clock.h"
#include "batch/provenance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Floats that came from floats get the file's own values back. */
static struct conversion leave(const struct job *job, const struct worker *worker,
                               const struct conversion *from, const struct image_info *out)
{
    struct conversion to = *from;
    to.type = out->type;
    to.ranged = from->ranged && sample_is_float(from->type) && sample_is_float(to.type);
    to.counted = transfer_clips(job_input_type(job), to.type) ||
                 (worker->settings->verbose && !sample_is_float(to.type) && to.type != SAMPLE_COMPLEX);
    to.channels = out->channels;
    to.alpha = out->alpha;
    if (job->pyramid) {
        to.multiply = true;
        to.linear = job->pyramid->linear;
        to.exponent = job->pyramid->exponent;
    }
    return to;
}

/* How numbers of the input follow from those of the output, where a chain leaves values alone. */
static void find_values(const struct page *page, struct change *change)
{
    const struct conversion *from = &page->from, *to = &page->to;
    const double out = sample_full_scale(change->out_type);
    const int bits = page->out.palette ? 0 : page->out.bits; /* the input's, of which the reader makes more */
    const double in = bits > 0 ? ldexp(1, bits) - 1 : sample_full_scale(change->in_type);
    change->ranged = from->ranged && !to->ranged;
    change->unit = change->ranged ? in * (from->high - from->low) / out : in / out;
    change->zero = change->ranged ? in * from->low : 0;
    if (page->out.inverted) { /* as the input was */
        change->unit = -change->unit;
        change->zero = in - change->zero;
    }
}

/* What is between the input's metadata and the output's. A coefficient file has that of the image it was made
 * of. */
static struct change change_of(const struct job *job, const struct page *page)
{
    const struct image_info *in = reader_info(job->reader), *out = &page->out;
    const struct shape shape = job_shape(job);
    struct change change = {.in_width = (uint32_t)shape.width,
                            .in_height = (uint32_t)shape.height,
                            .out_width = out->width,
                            .out_height = out->height,
                            .from = plan_places(page->plan),
                            .in_pages = job->pyramid ? 1 : reader_page_count(job->reader),
                            .out_pages = job->pyramid ? 1 : reader_pages_wanted(job->reader),
                            .in_channels = in->channels,
                            .out_channels = out->channels,
                            .in_type = job_input_type(job),
                            .out_type = out->type,
                            .worked = job->chain.count > 0,
                            .revalued = chain_revalues(&job->chain),
                            .expanded = out->palette,
                            .redrawn = chain_redraws(&job->chain)};
    find_values(page, &change);
    return change;
}

/* With it the samples can be turned back into what they were. */
static enum status note_range(const struct page *page, struct metadata *metadata, struct error *error)
{
    const struct range_text range = conversion_range(&page->from);
    if (!page->from.ranged || page->to.ranged)
        return STATUS_OK;
    return metadata_set_text(metadata, "Range", range.text, strlen(range.text), error);
}

static enum status describe_metadata(const struct job *job, const struct worker *worker, struct page *page,
                                     struct error *error)
{
    const struct metadata *in = &reader_info(job->reader)->metadata;
    const struct metadata colour = {
        .srgb = in->srgb, .rendering_intent = in->rendering_intent, .gamma = in->gamma};
    const struct shape *shape = plan_output(page->plan);
    struct metadata *metadata = &page->out.metadata;
    bool strip = worker->settings->strip;
    enum status status = metadata_copy(metadata, strip ? &colour : in, error);
    memcpy(metadata->warning, in->warning, sizeof in->warning);
    if (status == STATUS_OK && job->pyramid && !strip)
        status = coefficients_restore_description(metadata, error);
    const struct change change = change_of(job, page);
    if (status == STATUS_OK && shape->kind == KIND_IMAGE)
        status = metadata_follow(metadata, &change, error);
    if (status == STATUS_OK && !strip)
        status = note_range(page, metadata, error);
    format_leave_out(job->format, &page->out);
    if (status == STATUS_OK && worker->provenance)
        status = provenance_put(worker->provenance, metadata, error);
    if (status == STATUS_OK && shape->kind == KIND_PYRAMID) {
        const struct conversion *from = &page->from;
        struct coefficients made = {*shape, job_input_type(job), from->linear, from->exponent};
        made.linear = job->pyramid ? job->pyramid->linear : made.linear;
        made.exponent = job->pyramid ? job->pyramid->exponent : made.exponent;
        status = coefficients_describe(&made, metadata, error);
    }
    if (status != STATUS_OK)
        metadata_free(metadata);
    return status;
}

enum status job_describe(const struct job *job, const struct worker *worker, struct page *page,
                         struct error *error)
{
    const struct image_info *in = reader_info(job->reader);
    const struct shape *shape = plan_output(page->plan);
    struct image_info *out = &page->out;
    page->from = job_entry(job, worker);
    page->from.rounded = plan_is_deep(page->plan);
    page->from.opponent_in = page->plan->opponent_in;
    page->from.opponent_out = page->plan->opponent_out;
    *out = *in;
    out->width = (uint32_t)shape->width;
    out->height = (uint32_t)shape->height;
    out->channels = shape->channels;
    out->alpha = shape->alpha;
    out->premultiplied = false;
    out->type = job_output_type(job, worker);
    out->page_name = worker->settings->strip || job->pyramid ? NULL : in->page_name;
    page->to = leave(job, worker, &page->from, out);
    return describe_metadata(job, worker, page, error);
}

/* What the input says behind its pixels follows the chain, too. */
static enum status amend(const struct job *job, const struct worker *worker, const struct page *page,
                         struct metadata *late, struct error *error)
{
    struct image_info behind = page->out;
    const struct change change = change_of(job, page);
    if (page->out.metadata.exif.data) { /* a PNG has one eXIf */
        free(late->exif.data);
        late->exif = (struct blob){NULL, 0};
        late->orientation = 0;
    }
    enum status status = metadata_follow(late, &change, error);
    behind.metadata = *late;
    format_leave_out(job->format, &behind);
    *late = behind.metadata;
    if (worker->settings->verbose && !worker->settings->quiet && late->left_out[0] != '\0')
        job_tell(job, "left out, of what stands behind its pixels: %s", late->left_out);
    return status == STATUS_OK ? writer_amend(page->writer, late, error) : status;
}

enum status job_end_page(const struct job *job, struct worker *worker, const struct page *page,
                         struct result *result)
{
    const struct metadata *said = reader_late(job->reader);
    struct metadata late;
    enum status status = STATUS_OK;
    double since = clock_seconds();
    if (said)
        result_warn(result, said->warning);
    if (said && !worker->settings->strip) {
        status = metadata_copy(&late, said, &result->error);
        if (status == STATUS_OK) {
            status = amend(job, worker, page, &late, &result->error);
            metadata_free(&late);
        }
    }
    if (status == STATUS_OK)
        status = writer_end_page(page->writer, &result->error);
    timing_charge(page->timing, PART_ENCODE, "end", -1, since);
    return status;
}
