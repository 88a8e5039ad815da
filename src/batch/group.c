/* Implements group.h: images are decoded one after the other, and each kernel is launched once for all.
 *
 * Launching kernels takes most of the device's time for a small image (tests/bench/groups.py). The first job
 * sets the shape and the conversion; later jobs join if theirs are the same. Images of a group are more
 * channels of the same planes, so a launch processes all of them. Memory is allocated before it is known how
 * many jobs will join. So the size is predicted: it doubles while groups are full, and falls to the size of
 * the last group if a job did not fit. A fixed size would waste pinned memory on folders in which no two
 * images have the same size. */
#include "batch/group.h"

#include "base/timing.h"
#include "batch/convert.h"

#include <stdlib.h>

/* True if the job's file is lossy and may be written without re-encoding (writer_transform), which needs no
 * group. */
static bool may_keep_coding(const struct job_group *g, const struct job *job)
{
    return g->only_moves && job_keeps_coding(job, g->worker);
}

/* Returns the size of a group that begins with this job, 1 if it is done alone, and records the job's shape
 * and conversion. The worker's device must be open. */
static int choose_size(struct job_group *g, const struct job *job)
{
    struct worker *worker = g->worker;
    struct error ignored;
    struct plan plan;
    g->input = job_shape(job);
    g->orientation = job->orientation;
    if (!job_is_one_image(job) || !group_accepts(&job->chain, &g->input, &worker->run) ||
        job_plan(job, worker, 1, &plan, &ignored) != STATUS_OK)
        return 1;
    g->only_moves = plan_only_moves(&plan);
    int most = may_keep_coding(g, job) ? 1 : group_max_images(&plan, &worker->run);
    g->output = *plan_output(&plan);
    g->input_conversion = job_input_conversion(job, worker);
    g->type = job_output_type(job, worker);
    plan_free(&plan);
    return most < g->expected ? most : g->expected;
}

/* Appends an item, moves *result to it and clears that. */
static void add_item(struct job_group *g, struct job *job, struct result *result)
{
    g->items[g->count++] = (struct group_item){.job = job, .result = *result, .image = -1};
    *result = (struct result){.group = 1};
}

bool job_group_begin(struct job_group *g, struct job *job, struct result *result, size_t max_jobs)
{
    struct worker *worker = g->worker;
    struct error ignored;
    const struct settings *settings = worker->context->settings;
    /* --verify computes each file alone. CLIMG_GROUP is a limit for tests. */
    const int forced = settings->verify.share > 0 ? 1 : settings->environment.group;
    const int limit = forced > 0 && forced < GROUP_IMAGES ? forced : GROUP_IMAGES;
    /* A stack merges its inputs one by one; a pipe may block; the worker's first file opens the device. */
    if (max_jobs < 2 || limit < 2 || job->merge_step || job->bytes == 0 || !worker->is_open)
        return false;
    struct times since = worker_times(worker);
    bool opened = convert_begin(worker, job, &ignored) == STATUS_OK && !job->skipped;
    g->max_count = opened ? choose_size(g, job) : 1;
    worker_add_elapsed(worker, &since, 1, &result->times);
    g->max_count = g->max_count < limit ? g->max_count : limit;
    g->max_count = (size_t)g->max_count < max_jobs ? g->max_count : (int)max_jobs;
    g->count = 0;
    if (g->max_count < 2)
        return false;
    add_item(g, job, result);
    return true;
}

/* True if the job's image has the shape, the conversion and the output type of the first, and has to be
 * encoded. */
static bool is_like_first(const struct job_group *g, const struct job *job)
{
    const struct shape input = job_shape(job);
    const struct conversion from = job_input_conversion(job, g->worker), *first = &g->input_conversion;
    return job_is_one_image(job) && !may_keep_coding(g, job) && job->orientation == g->orientation &&
           input.width == g->input.width && input.height == g->input.height &&
           input.space == g->input.space && input.reduced.factor == g->input.reduced.factor &&
           input.reduced.width == g->input.reduced.width && input.reduced.height == g->input.reduced.height &&
           from.type == first->type && from.channels == first->channels && from.alpha == first->alpha &&
           from.linear == first->linear && from.exponent == first->exponent && from.space == first->space &&
           from.low == first->low && from.high == first->high && job_output_type(job, g->worker) == g->type;
}

static void item_free(struct group_item *item)
{
    metadata_free(&item->page.out.metadata);
    free(item->page_name);
    item->page_name = NULL;
    item->image = -1;
}

/* Describes the item's output, decodes its image into the group and closes the input. After a failure closes
 * the job, which is then done alone. */
static void add_image(struct job_group *g, struct group_item *item)
{
    struct job *job = item->job;
    struct image_info *out = &item->page.out;
    struct timing *timing = &g->worker->timing;
    struct error ignored;
    bool more; /* false, as there is one page */
    const struct times since = worker_times(g->worker);

    /* Describe the output. Copy the page name, as the reader is closed before the output is written. */
    item->page.plan = &g->plan;
    enum status status = job_describe(job, g->worker, &item->page, &ignored);
    if (status == STATUS_OK && out->page_name) {
        item->page_name = copy_text(out->page_name, &ignored);
        status = item->page_name ? STATUS_OK : STATUS_FAILED;
        out->page_name = item->page_name;
    }

    /* Decode the image, and read the rest of the file, which may be damaged, too. */
    const double start = clock_seconds();
    if (status == STATUS_OK)
        status = reader_read(job->reader, group_input(&g->group, g->images), g->group.in.pitch,
                             (uint32_t)g->input.height, &ignored);
    if (status == STATUS_OK)
        status = reader_next_page(job->reader, &more, &ignored);
    timing_add(timing, PHASE_DECODE, "decode", -1, start);
    if (status == STATUS_OK)
        status = job_check_unchanged(job, &ignored);
    worker_add_elapsed(g->worker, &since, 1, &item->result.times);
    if (status == STATUS_OK) {
        result_note_trailing(job, g->worker, &item->result);
        status = job_check_in_place(job, g->worker, &ignored);
    }
    if (status == STATUS_OK) {
        item->image = g->images++;
        job_close_input(job);
    } else {
        item_free(item);
        job_close(job);
    }
}

/* Allocates the group and adds the image of the first job. Returns false if either fails. */
static bool open_group(struct job_group *g)
{
    struct error ignored;
    struct group_item *first = &g->items[0];
    if (job_plan(first->job, g->worker, g->max_count, &g->plan, &ignored) != STATUS_OK) {
        /* --memory-limit is too small for this group: expect half. Once that is 1, the worker forms no more
         * groups. That saves time, as jobs of a failed group are opened again. */
        g->expected = g->max_count / 2;
        return false;
    }
    if (group_open(&g->group, &g->worker->run, &g->plan, g->max_count, &ignored) == STATUS_OK)
        add_image(g, first);
    return g->images > 0;
}

bool job_group_add(struct job_group *g, struct job *job, struct result *result)
{
    struct error ignored;
    if (job->bytes == 0)
        return false; /* a pipe may block */
    struct times since = worker_times(g->worker);
    bool opened = convert_begin(g->worker, job, &ignored) == STATUS_OK && !job->skipped;
    worker_add_elapsed(g->worker, &since, 1, &result->times);
    if (opened && (!is_like_first(g, job) || (g->group.capacity == 0 && !open_group(g))))
        return false;
    add_item(g, job, result);
    if (opened)
        add_image(g, &g->items[g->count - 1]);
    return true;
}

static enum status write_image(const struct job_group *g, const struct group_item *item, struct error *error)
{
    struct job *job = item->job;
    const struct image_info *out = &item->page.out;
    double since = clock_seconds();
    enum status status = job_open_writer(job, g->worker, &g->output, out->type, 1, error);
    if (status == STATUS_OK)
        status = writer_begin_page(job->writer, out, error);
    if (status == STATUS_OK)
        status = writer_write(job->writer, group_output(&g->group, item->image), g->group.out.pitch,
                              out->height, error);
    if (status == STATUS_OK)
        status = writer_end_page(job->writer, error);
    timing_add(&g->worker->timing, PHASE_ENCODE, "encode", -1, since);
    return status == STATUS_OK ? convert_commit(g->worker, job, error) : status;
}

/* Runs the chain and records the results of all images, each with an equal share of the time. */
static enum status run_chain(struct job_group *g)
{
    const struct page *first = &g->items[0].page;
    struct times since = worker_times(g->worker);
    struct error ignored;
    for (size_t i = 0; i <= g->plan.chain->count; i++)
        g->plan.shapes[i].images = g->images;
    enum status status =
        group_run(&g->group, &g->plan, &first->input_conversion, &first->output_conversion, &ignored);
    for (int i = 0; i < g->count; i++) {
        struct group_item *item = &g->items[i];
        if (item->image < 0)
            continue;
        worker_add_elapsed(g->worker, &since, g->images, &item->result.times);
        result_note_page(item->job, g->worker, &item->page, &item->result);
        if (status == STATUS_OK) {
            result_note_noise(item->job, g->worker, item->image, &item->result);
            result_note_warnings(g->worker, item->image, &item->result);
        }
        item->result.clipping.beyond = g->group.clipping[item->image].beyond;
        item->result.clipping.not_numbers = g->group.clipping[item->image].not_numbers;
    }
    return status;
}

void job_group_finish(struct job_group *g, bool has_misfit)
{
    bool ran = g->images > 0 && run_chain(g) == STATUS_OK;
    for (int i = 0; i < g->count; i++) {
        struct group_item *item = &g->items[i];
        struct error ignored;
        struct times since = worker_times(g->worker);
        if (!ran || item->image < 0)
            continue;
        item->is_finished = write_image(g, item, &ignored) == STATUS_OK;
        worker_add_elapsed(g->worker, &since, 1, &item->result.times);
        item->result.group = g->images;
        if (item->is_finished)
            job_finish(item->job, g->worker, STATUS_OK, &item->result);
    }
    /* Predict the size of the next group. */
    if (g->images > 0 && has_misfit)
        g->expected = g->images > 2 ? g->images : 2;
    else if (g->images == g->expected && g->expected < GROUP_IMAGES)
        g->expected *= 2;
    /* Close the group, and jobs that failed in it. */
    for (int i = 0; i < g->count; i++) {
        struct group_item *item = &g->items[i];
        if (item->image >= 0 && !item->is_finished)
            job_close(item->job);
        item_free(item);
    }
    g->images = 0;
    group_close(&g->group);
    plan_free(&g->plan);
    run_trim(&g->worker->run);
}
