#include "batch/convert.h"

#include "base/timing.h"

#include <stdlib.h>

/* The first group's size; it doubles as long as groups are full. Pinned memory is expensive, and in many
 * folders every image has another size. */
enum { FIRST_GROUP = 4 };

/* CLIMG_GROUP limits the number of images, for tests; 1: no groups. With --verify files go alone. */
static int choose_limit(const struct gathering *g)
{
    int forced = g->worker->settings->verify.share > 0 ? 1 : g->worker->settings->environment.group;
    return forced > 0 && forced < GROUP_IMAGES ? forced : GROUP_IMAGES;
}

void gathering_init(struct gathering *g, struct worker *worker)
{
    g->worker = worker;
    g->expected = FIRST_GROUP;
}

/* How many jobs like this one may form a group; the worker's device must be open. */
static int choose_room(struct gathering *g, const struct job *job)
{
    struct worker *worker = g->worker;
    struct error ignored;
    struct plan plan;
    g->input = job_shape(job);
    if (!job_is_one_image(job) || !group_takes(&job->chain, &g->input, &worker->run) ||
        job_plan(job, worker, 1, &plan, &ignored) != STATUS_OK)
        return 1;
    /* A file that is written without being coded again goes alone. */
    const bool moves = job_keeps_coding(job, worker) && (size_t)plan.moved == job->chain.count;
    int most = moves ? 1 : group_most(&plan, &worker->run);
    g->output = *plan_output(&plan);
    g->from = job_entry(job, worker);
    g->type = job_output_type(job, worker);
    plan_free(&plan);
    return most < g->expected ? most : g->expected;
}

static void append(struct gathering *g, struct job *job, struct result *result)
{
    g->members[g->count++] = (struct gathered){.job = job, .result = *result, .image = -1};
    *result = (struct result){.group = 1};
}

bool gathering_begin(struct gathering *g, struct job *job, struct result *result, size_t share)
{
    struct worker *worker = g->worker;
    struct error ignored;
    int limit = choose_limit(g);
    /* The first file on a device goes alone: the device is not open yet. */
    if (share < 2 || limit < 2 || !worker->open || job->bytes == 0)
        return false;
    struct times since = worker_times(worker);
    bool opened = convert_begin(worker, job, &ignored) == STATUS_OK && !job->skipped;
    g->room = opened ? choose_room(g, job) : 1;
    worker_charge(worker, &since, 1, &result->times);
    g->room = g->room < limit ? g->room : limit;
    g->room = (size_t)g->room < share ? g->room : (int)share;
    g->count = 0;
    if (g->room < 2)
        return false;
    append(g, job, result);
    return true;
}

bool gathering_has_room(const struct gathering *g)
{
    return g->count < g->room;
}

static bool is_like_first(const struct gathering *g, const struct job *job)
{
    const struct shape input = job_shape(job);
    const struct conversion from = job_entry(job, g->worker), *first = &g->from;
    return job_is_one_image(job) && input.width == g->input.width && input.height == g->input.height &&
           from.type == first->type && from.channels == first->channels && from.alpha == first->alpha &&
           from.linear == first->linear && from.exponent == first->exponent && from.low == first->low &&
           from.high == first->high && job_output_type(job, g->worker) == g->type;
}

static void forget(struct gathered *member)
{
    metadata_free(&member->page.out.metadata);
    free(member->page_name);
    member->page_name = NULL;
    member->image = -1;
}

static enum status read_rows(struct gathering *g, const struct job *job, struct error *error)
{
    bool more;
    double since = clock_seconds();
    enum status status = reader_read(job->reader, group_input(&g->group, g->images), g->group.in.pitch,
                                     (uint32_t)g->input.height, error);
    if (status == STATUS_OK)
        status = reader_next_page(job->reader, &more, error);
    timing_charge(&g->worker->timing, PART_DECODE, "decode", -1, since);
    return status;
}

static enum status describe(struct gathering *g, struct gathered *member, struct error *error)
{
    struct image_info *out = &member->page.out;
    member->page.plan = &g->plan;
    enum status status = job_describe(member->job, g->worker, &member->page, error);
    if (status != STATUS_OK)
        return status;
    member->page_name = out->page_name ? copy_text(out->page_name, error) : NULL;
    status = out->page_name && !member->page_name ? STATUS_FAILED : STATUS_OK;
    out->page_name = member->page_name;
    return status;
}

/* Decodes the member's image into the group. If that fails, the job is done alone. */
static void add_image(struct gathering *g, struct gathered *member)
{
    struct error ignored;
    struct times since = worker_times(g->worker);
    enum status status = describe(g, member, &ignored);
    if (status == STATUS_OK)
        status = read_rows(g, member->job, &ignored);
    if (status == STATUS_OK)
        status = job_check_unchanged(member->job, &ignored);
    worker_charge(g->worker, &since, 1, &member->result.times);
    if (status == STATUS_OK) {
        member->image = g->images++;
        job_close_input(member->job);
        return;
    }
    forget(member);
    job_close(member->job);
}

/* Opens the group and adds the first image. False: there is no group. */
static bool open_group(struct gathering *g)
{
    struct error ignored;
    struct gathered *first = &g->members[0];
    if (job_plan(first->job, g->worker, g->room, &g->plan, &ignored) != STATUS_OK) {
        g->expected = g->room / 2; /* --memory-limit is too small for so many */
        return false;
    }
    if (group_open(&g->group, &g->worker->run, &g->plan, g->room, &ignored) == STATUS_OK)
        add_image(g, first);
    return g->images > 0;
}

bool gathering_add(struct gathering *g, struct job *job, struct result *result)
{
    struct error ignored;
    if (job->bytes == 0)
        return false; /* it might block on a pipe */
    struct times since = worker_times(g->worker);
    bool opened = convert_begin(g->worker, job, &ignored) == STATUS_OK && !job->skipped;
    worker_charge(g->worker, &since, 1, &result->times);
    if (opened && (!is_like_first(g, job) || (g->group.room == 0 && !open_group(g))))
        return false;
    append(g, job, result);
    if (opened)
        add_image(g, &g->members[g->count - 1]);
    return true;
}

static enum status write_image(const struct gathering *g, const struct gathered *member, struct error *error)
{
    struct job *job = member->job;
    const struct image_info *out = &member->page.out;
    double since = clock_seconds();
    enum status status = job_open_writer(job, g->worker, &g->output, out->type, 1, error);
    if (status == STATUS_OK)
        status = writer_begin_page(job->writer, out, error);
    if (status == STATUS_OK)
        status = writer_write(job->writer, group_output(&g->group, member->image), g->group.out.pitch,
                              out->height, error);
    if (status == STATUS_OK)
        status = writer_end_page(job->writer, error);
    timing_charge(&g->worker->timing, PART_ENCODE, "encode", -1, since);
    return status == STATUS_OK ? convert_commit(g->worker, job, error) : status;
}

/* The device's time is shared equally among the images. */
static enum status run_chain(struct gathering *g)
{
    const struct page *first = &g->members[0].page;
    struct times since = worker_times(g->worker);
    struct error ignored;
    plan_set_images(&g->plan, g->images);
    enum status status = group_run(&g->group, &g->plan, &first->from, &first->to, &ignored);
    for (int i = 0; i < g->count; i++) {
        struct gathered *member = &g->members[i];
        if (member->image < 0)
            continue;
        worker_charge(g->worker, &since, g->images, &member->result.times);
        result_note_page(member->job, g->worker, &member->page, &member->result);
        if (status == STATUS_OK)
            result_note_noise(member->job, g->worker, member->image, &member->result);
        member->result.clipping.beyond = g->group.clipping[member->image].beyond;
        member->result.clipping.not_numbers = g->group.clipping[member->image].not_numbers;
    }
    return status;
}

static void write_member(struct gathering *g, struct gathered *member)
{
    struct error ignored;
    struct times since = worker_times(g->worker);
    member->settled = write_image(g, member, &ignored) == STATUS_OK;
    worker_charge(g->worker, &since, 1, &member->result.times);
    member->result.group = g->images;
    if (member->settled)
        job_settle(member->job, g->worker, STATUS_OK, &member->result);
}

static void close_group(struct gathering *g)
{
    for (int i = 0; i < g->count; i++) {
        struct gathered *member = &g->members[i];
        if (member->image >= 0 && !member->settled)
            job_close(member->job);
        forget(member);
    }
    g->images = 0;
    group_close(&g->group);
    plan_free(&g->plan);
    run_trim(&g->worker->run);
}

void gathering_finish(struct gathering *g, bool odd)
{
    bool ran = g->images > 0 && run_chain(g) == STATUS_OK;
    for (int i = 0; ran && i < g->count; i++)
        if (g->members[i].image >= 0)
            write_member(g, &g->members[i]);
    if (g->images > 0 && odd)
        g->expected = g->images > 2 ? g->images : 2;
    else if (g->images == g->expected && g->expected < GROUP_IMAGES)
        g->expected *= 2;
    close_group(g);
}
