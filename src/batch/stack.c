/* Implements stack.h: keeps each picture in memory until all pictures before it are merged. Tried and given
 * up: adding rows when they are decoded. This needs no memory for a picture, but a damaged file would have
 * added some of its rows. */
#include "batch/stack.h"

#include "base/text.h"
#include "base/threads.h"
#include "image/colour/colour.h"
#include "image/memory_io.h"
#include "image/output/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Maximum bytes of the pictures of several workers. A single worker may exceed it. */
static const double PICTURES_BUDGET = 256e6;

/* An ample share of --memory-limit for a worker: bytes, and the number of times that its picture fits in
 * addition. A wavelet transform of the whole picture and its inverse take 11 times the picture. */
static const double AMPLE_SHARE = 64e6, AMPLE_COPIES = 16;

static const struct merge *merge_functions(const struct stack *stack)
{
    return stack->step->stage->merge(stack->step->params);
}

/* Collects the paths in the order of the command line, which jobs of separate outputs do not have. Indices of
 * inputs that were named twice are missing. */
static enum status series_make(struct input_series *series, const struct job_list *list, struct error *error)
{
    size_t slots = 0;
    for (size_t i = 0; i < list->count; i++)
        slots = list->jobs[i].index >= slots ? list->jobs[i].index + 1 : slots;
    // NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers
    const char **paths = allocate_zeroed(slots, sizeof *paths, "the inputs", error);
    if (!paths)
        return STATUS_FAILED;
    for (size_t i = 0; i < list->count; i++)
        paths[list->jobs[i].index] = list->jobs[i].input;
    *series = (struct input_series){.paths = paths};
    for (size_t i = 0; i < slots; i++)
        if (paths[i])
            paths[series->count++] = paths[i];
    return STATUS_OK;
}

/* Maximum number of files in which pictures stay. Below the usual limit of 1024 descriptors; more files have
 * so few rows in a piece that the merge gains little. */
enum { FILES_MAX = 256 };

enum status stack_make(struct stack *stack, const struct command *command, struct job_list *list,
                       struct error *error)
{
    const struct chain *chain = &command->chain;
    const size_t at = chain_find_merge(chain, 0);
    *stack = (struct stack){.settings = &command->settings, .before = *chain};
    if (series_make(&stack->series, list, error) != STATUS_OK)
        return STATUS_FAILED;
    if (at == chain->count)
        return STATUS_OK;
    stack->step = &chain->steps[at];
    stack->series.is_merged = true;
    stack->series.has_pages = step_caps(stack->step).merges_pages;
    pthread_mutex_init(&stack->lock, NULL);
    pthread_cond_init(&stack->turn_changed, NULL);
    stack->before.count = at;
    stack->after = (struct chain){.steps = chain->steps + at + 1, .count = chain->count - at - 1};
    stack->jobs = list->jobs;
    /* Pictures may stay in their files if a quarter of the process's file descriptors is enough for them. */
    struct rlimit limit;
    stack->leaves_files_open = list->count <= FILES_MAX && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                               list->count <= limit.rlim_cur / 4;
    stack->has_ended = allocate_zeroed(list->count, sizeof *stack->has_ended, "a stack", error);
    if (!stack->has_ended)
        return STATUS_FAILED;
    for (size_t i = 0; i < list->count; i++) {
        list->jobs[i].merge_step = stack->step;
        list->jobs[i].stack = stack;
        list->jobs[i].index = i;
    }
    const struct job *first = &list->jobs[0];
    stack->result = (struct job){.name = first->name,
                                 .input = first->output, /* the name in messages: there is no input file */
                                 .output = first->output,
                                 .merge_step = stack->step,
                                 .stack = stack,
                                 .is_stack_result = true,
                                 .is_single = true};
    /* Fail for options that contradict a stack, for a second merge, and if the output cannot be created. */
    const struct settings *settings = &command->settings;
    const char *name = stack->step->stage->name;
    const char *other = settings->in_place                                   ? "--in-place"
                        : settings->resume                                   ? "--resume"
                        : settings->part.count > 0                           ? "--shard"
                        : settings->range.given && settings->range.automatic ? "--range auto"
                                                                             : NULL;
    if (other)
        return fail(error, STATUS_USAGE, "--%s makes one picture of all inputs; leave %s out", name, other);
    if (chain_find_merge(&stack->after, 0) < stack->after.count)
        return fail(error, STATUS_USAGE, "--%s merges all pictures into one; it can be done once", name);
    if (settings->dry_run || strcmp(list->output, "-") == 0)
        return STATUS_OK;
    return output_check(list->output, error);
}

enum status stack_prepare(struct stack *stack, const struct command *command, const struct job_list *list,
                          struct error *error)
{
    const struct settings *settings = &command->settings;
    stack->before.prepare_seconds = command->chain.prepare_seconds;
    if (!stack->step)
        return chain_prepare_series(&stack->before, settings, &stack->series, error);

    /* The number of workers whose pictures fit PICTURES_BUDGET, by the size of the first input; 1 if it is a
     * pipe or cannot be opened. With --memory-limit each worker has an ample share of it, since an input that
     * runs out of memory cannot be deferred. */
    struct reader_options options = settings_reader_options(settings);
    options.page = 1;
    options.last_page = 0;
    options.jobs = 1;
    struct reader *reader;
    struct error ignored = {.text = ""};
    stack->max_workers = 1;
    if (list->jobs[0].bytes > 0 &&
        reader_open(list->jobs[0].input, &options, &reader, &ignored) == STATUS_OK) {
        const struct image_info *info = reader_info(reader);
        /* job_keeps_samples is the same rule for one input. */
        const bool keeps_samples =
            stack->before.count == 0 && !settings->linear && !settings->range.given && !info->premultiplied;
        const double bytes = (double)info->width * info->height * info->channels *
                             (double)(keeps_samples ? sample_size(info->type) : sizeof(float));
        const double limit = (double)settings->memory_limit;
        double workers = fmin(THREADS_MAX, PICTURES_BUDGET / bytes);
        if (limit > 0)
            workers = fmin(workers, limit / (AMPLE_SHARE + AMPLE_COPIES * bytes));
        stack->max_workers = (int)fmax(1, workers);
        reader_close(reader);
    }
    enum status status = chain_prepare_series(&stack->after, settings, NULL, error);
    return status == STATUS_OK && !settings->dry_run
               ? chain_prepare_series(&stack->before, settings, &stack->series, error)
               : status;
}

void stack_free(struct stack *stack)
{
    if (stack->merge)
        merge_functions(stack)->free(stack->merge);
    free_pages(stack->spare, stack->spare_size);
    metadata_free(&stack->first_info.metadata);
    if (stack->step) {
        for (size_t i = 0; i < stack->series.count; i++)
            job_close_input(&stack->jobs[i]);
        pthread_mutex_destroy(&stack->lock);
        pthread_cond_destroy(&stack->turn_changed);
    }
    free(stack->has_ended);
    free((void *)stack->series.paths);
    *stack = (struct stack){.step = NULL};
}

void stack_pass_turn(struct job *job)
{
    struct stack *stack = job->stack;
    pthread_mutex_lock(&stack->lock);
    stack->has_ended[job->index] = true;
    while (stack->turn < stack->series.count && stack->has_ended[stack->turn])
        stack->turn++;
    pthread_cond_broadcast(&stack->turn_changed);
    pthread_mutex_unlock(&stack->lock);
}

/* ---------------------------------------------------------------- memory_sink: an input's pictures */

bool stack_can_leave_in_file(const struct job *job)
{
    const struct image_info *info = reader_info(job->reader);
    return job->stack->leaves_files_open && merge_functions(job->stack)->add_reader && !info->alpha &&
           (info->type == SAMPLE_UINT8 || info->type == SAMPLE_UINT16) &&
           reader_pages_to_read(job->reader) == 1 && reader_is_complete(job->reader);
}

void stack_free_picture(struct job *job)
{
    struct stack *stack = job->stack;
    struct stack_picture *picture = &job->picture;
    if (picture->samples) {
        /* Keep the memory for the next picture: page faults cost as much as decoding a PNG. */
        pthread_mutex_lock(&stack->lock);
        unsigned char *old = stack->spare;
        const size_t old_size = stack->spare_size;
        stack->spare = picture->samples;
        stack->spare_size = picture->size;
        pthread_mutex_unlock(&stack->lock);
        free_pages(old, old_size);
    }
    metadata_free(&picture->info.metadata);
    *picture = (struct stack_picture){.samples = NULL};
}

static enum status begin_picture(void *context, const struct image_info *info, struct error *error)
{
    struct job *job = context;
    struct stack *stack = job->stack;
    struct stack_picture *picture = &job->picture;
    struct run *run = picture->run;
    const bool stays_in_file = picture->stays_in_file;
    stack_free_picture(job);
    *picture = (struct stack_picture){
        .info = *info, .stays_in_file = stays_in_file, .size = row_size(info) * info->height, .run = run};
    picture->info.page_name = NULL; /* these strings belong to the reader, which is closed earlier */
    picture->info.video = (struct video){.header = NULL};
    if (stays_in_file)
        return metadata_copy(&picture->info.metadata, &info->metadata, error);
    pthread_mutex_lock(&stack->lock);
    if (stack->spare_size == picture->size) {
        picture->samples = stack->spare;
        stack->spare = NULL;
        stack->spare_size = 0;
    }
    pthread_mutex_unlock(&stack->lock);
    if (!picture->samples)
        picture->samples = allocate_pages(picture->size);
    enum status status = metadata_copy(&picture->info.metadata, &info->metadata, error);
    return picture->samples ? status : fail_memory(error, "out of memory for a picture of the stack");
}

static enum status write_picture(void *context, const void *rows, size_t pitch, uint32_t count,
                                 struct error *error)
{
    struct stack_picture *picture = &((struct job *)context)->picture;
    const size_t size = row_size(&picture->info);
    (void)error;
    for (uint32_t y = 0; y < count; y++)
        memcpy(picture->samples + size * picture->next_row++, (const unsigned char *)rows + y * pitch, size);
    return STATUS_OK;
}

/* True if both pictures have the same colour space, or if the description of one cannot be used. */
static bool has_same_colours(const struct image_info *a, const struct image_info *b)
{
    const struct colour_space *space_a, *space_b;
    struct error ignored;
    const enum status a_status =
                          colour_space_of_file(&a->metadata, a->channels - a->alpha, &space_a, &ignored),
                      b_status =
                          colour_space_of_file(&b->metadata, b->channels - b->alpha, &space_b, &ignored);
    const bool are_equal = a_status != STATUS_OK || b_status != STATUS_OK || space_a == space_b ||
                           (colour_space_is_usual(space_a) && colour_space_is_usual(space_b));
    colour_space_release(space_a);
    colour_space_release(space_b);
    return are_equal;
}

/* Fails if the picture differs from the first one in size, channels, sample type or colours. `file_type` is
 * the type of its file's samples. The scope is SCOPE_STACK, as the other inputs probably differ as well. */
static enum status check_picture(const struct stack *stack, const struct image_info *info,
                                 enum sample_type file_type, struct error *error)
{
    const struct image_info *first = &stack->first_info;
    if (info->width != first->width || info->height != first->height)
        fail(error, STATUS_FAILED,
             "is %ux%u, and the first picture of the stack %ux%u; --align FILE, --resize or --crop before "
             "--%s makes them alike",
             info->width, info->height, first->width, first->height, stack->step->stage->name);
    else if (info->channels != first->channels || info->alpha != first->alpha)
        fail(error, STATUS_FAILED,
             "has %d channel%s%s, and the first picture of the stack %d%s; make them alike first",
             info->channels, info->channels == 1 ? "" : "s", info->alpha ? " with alpha" : "",
             first->channels, first->alpha ? " with alpha" : "");
    else if (info->type != first->type && file_type == stack->result.samples)
        /* One has the samples of its file, the other was converted to floats (job_keeps_samples). */
        fail(error, STATUS_FAILED,
             "is unlike the first picture of the stack: the colours of one are multiplied by its alpha; "
             "convert the inputs first, so that all are alike");
    else if (info->type != first->type)
        fail(error, STATUS_FAILED,
             "has %s samples, and the first picture of the stack %s; convert it first (--depth)",
             sample_name(info->type), sample_name(first->type));
    else if (!has_same_colours(info, first))
        fail(error, STATUS_FAILED,
             "has another colour space than the first picture of the stack; --profile srgb before --%s makes "
             "them alike",
             stack->step->stage->name);
    else
        return STATUS_OK;
    error->scope = SCOPE_STACK;
    return STATUS_FAILED;
}

/* Adds the picture to the merge. The first picture begins the merge. */
static enum status end_picture(void *context, struct error *error)
{
    struct job *job = context;
    struct stack *stack = job->stack;
    struct stack_picture *picture = &job->picture;
    const struct merge *merge = merge_functions(stack);
    enum status status = STATUS_OK;

    /* Wait until all inputs before this one have ended. There is no deadlock: workers take jobs in order, so
     * all earlier jobs have ended or belong to another worker. */
    pthread_mutex_lock(&stack->lock);
    while (stack->turn < job->index)
        pthread_cond_wait(&stack->turn_changed, &stack->lock);
    pthread_mutex_unlock(&stack->lock);

    /* Begin the merge with the first picture, and add each. */
    if (!stack->merge) {
        const struct merge_input input = {.info = &picture->info,
                                          .samples = job->samples,
                                          .folder = stack->settings->environment.spool_folder,
                                          .jobs = settings_threads(stack->settings)};
        stack->first_info = picture->info;
        stack->first_info.metadata.warning[0] = '\0';                 /* printed for the input */
        picture->info.metadata = (struct metadata){.orientation = 0}; /* now the stack's */
        stack->result.format = reader_format(job->reader);
        stack->result.samples = job->samples;
        stack->result.low = job->low;
        stack->result.high = job->high;
        status = merge->begin(stack->step->params, &input, &stack->merge, error);
        if (status != STATUS_OK) {
            /* A worker that already waits for its turn must not add to half a merge. */
            if (error->scope == SCOPE_FILE)
                error->scope = SCOPE_STACK;
            if (stack->merge)
                merge->free(stack->merge);
            stack->merge = NULL;
            metadata_free(&stack->first_info.metadata);
        }
    } else {
        status = check_picture(stack, &picture->info, job->samples, error);
    }
    if (status == STATUS_OK && picture->stays_in_file) {
        status = merge->add_reader(stack->merge, job->reader, error);
        job->keeps_reader = status == STATUS_OK;
    } else if (status == STATUS_OK) {
        status = merge->add(stack->merge, picture->run, picture->samples, error);
    }
    stack->pictures += status == STATUS_OK;
    job->merged_pages += status == STATUS_OK;
    return status;
}

enum status stack_open_writer(struct job *job, struct error *error)
{
    const struct memory_sink sink = {job, begin_picture, write_picture, end_picture};
    return memory_writer(job_input_name(job), &sink, &job->writer, error);
}

/* ---------------------------------------------------------------- memory_source: rows of the result */

static enum status read_merged(void *context, void *rows, size_t pitch, uint32_t count, struct error *error)
{
    const struct job *job = context;
    const struct stack *stack = job->stack;
    const size_t size = row_size(reader_info(job->reader));
    enum status status = STATUS_OK;
    if (pitch == size)
        return merge_functions(stack)->read(stack->merge, rows, (int)count, error);
    for (uint32_t y = 0; status == STATUS_OK && y < count; y++)
        status = merge_functions(stack)->read(stack->merge,
                                              (float *)(void *)((unsigned char *)rows + y * pitch), 1, error);
    return status;
}

enum status stack_open_reader(struct job *job, struct worker *worker, struct error *error)
{
    struct stack *stack = job->stack;
    struct merge_result result;
    const struct memory_source source = {.context = job, .read = read_merged};
    if (stack->pictures == 0)
        return fail(error, STATUS_FAILED, "no input is left for --%s", stack->step->stage->name);
    free_pages(stack->spare, stack->spare_size);
    stack->spare = NULL;
    stack->spare_size = 0;
    enum status status = chain_end_series(&stack->before, &stack->series, error);
    if (status == STATUS_OK)
        status = merge_functions(stack)->finish(stack->merge, &worker->run, &result, error);
    if (status != STATUS_OK)
        return status;
    struct image_info info = stack->first_info;
    const struct change change = {.in_width = info.width,
                                  .in_height = info.height,
                                  .out_width = (uint32_t)result.width,
                                  .out_height = (uint32_t)result.height,
                                  .from = {.xx = 1, .yy = 1, .x = result.left, .y = result.top},
                                  .in_pages = 1,
                                  .out_pages = 1,
                                  .in_channels = info.channels,
                                  .out_channels = result.channels,
                                  .in_type = job->samples,
                                  .out_type = job->samples,
                                  .processed = true};
    info.width = (uint32_t)result.width;
    info.height = (uint32_t)result.height;
    info.channels = result.channels;
    info.alpha = result.alpha;
    info.premultiplied = false;
    info.type = SAMPLE_FLOAT;
    info.reduction = 0;
    status = metadata_update(&stack->first_info.metadata, &change, error);
    if (status == STATUS_OK)
        status = memory_reader(job->output, &info, &source, &job->reader, error);
    return status == STATUS_OK ? memory_reader_describe(job->reader, &stack->first_info.metadata, error)
                               : status;
}

enum status stack_check_unchanged(const struct stack *stack, struct error *error)
{
    for (size_t i = 0; i < stack->series.count; i++)
        if (stack->jobs[i].keeps_reader && job_check_unchanged(&stack->jobs[i], error) != STATUS_OK) {
            error_prefix_once(error, job_input_name(&stack->jobs[i]));
            return STATUS_FAILED;
        }
    return STATUS_OK;
}

void stack_describe(const struct stack *stack, size_t left_out, char *text, size_t size)
{
    text_append(text, size, "%zu picture%s merged", stack->pictures, stack->pictures == 1 ? "" : "s");
    if (left_out > 0)
        text_append(text, size, ", %zu of %zu files left out", left_out, stack->series.count);
    if (merge_functions(stack)->describe)
        merge_functions(stack)->describe(stack->merge, text, size);
}
