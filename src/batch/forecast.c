#include "batch/forecast.h"

#include "chain/plan.h"
#include "image/format.h"
#include "image/reader.h"

#include <math.h>

/* The first file's page, and how many like it there are. Of one file its header says all. Of many the others
 * are taken to be as the first one, and larger as their files are: a look into each would take longer than a
 * wrong choice. What cannot be looked into, such as a pipe, is a photograph of 12 megapixels, or what becomes
 * video as much as FILM of them: 24 seconds of 1080p. --resume may find some of them done. */
enum { FILM = 100 };

struct pages {
    struct shape shape;
    int sample_size; /* bytes */
    double count;
};

static double count_alike(const struct list *list)
{
    double bytes = 0;
    for (size_t i = 0; i < list->count; i++)
        bytes += (double)list->jobs[i].bytes;
    return list->jobs[0].bytes > 0 ? fmax(bytes / (double)list->jobs[0].bytes, 1) : (double)list->count;
}

static double samples(const struct shape *shape)
{
    return (double)shape->width * shape->height * shape->channels;
}

static struct pages look(const struct list *list, const struct settings *settings)
{
    struct pages pages = {{.kind = KIND_IMAGE, .width = 4000, .height = 3000, .channels = 3, .images = 1},
                          1,
                          count_alike(list)};
    const struct reader_options options = {.page = settings->pages.first,
                                           .last_page = settings->pages.last,
                                           .upright = settings->auto_orient,
                                           .max_pixels = settings->max_pixels,
                                           .jobs = 1,
                                           .spool = settings->environment.spool};
    struct error ignored = {.text = ""};
    struct reader *reader = NULL;
    const struct format *to = settings->format ? settings->format : format_by_path(list->jobs[0].output);
    if (list->jobs[0].bytes == 0 && to && to->holds.video)
        pages.count = FILM;
    if (list->jobs[0].bytes == 0 ||
        reader_open(list->jobs[0].input, &options, &reader, &ignored) != STATUS_OK)
        return pages;
    const struct image_info *info = reader_info(reader);
    pages.shape = image_shape(info);
    pages.sample_size = (int)sample_size(info->type);
    const int wanted = reader_pages_wanted(reader);
    /* Formats that do not say how many there are have their samples as they are. */
    pages.count *= wanted > 0
                       ? wanted
                       : fmax((double)list->jobs[0].bytes / (samples(&pages.shape) * pages.sample_size), 1);
    reader_close(reader);
    return pages;
}

const struct workload *forecast_measure(void *context)
{
    struct forecast *forecast = context;
    const struct chain *chain = &forecast->command->chain;
    struct workload *work = &forecast->work;
    if (forecast->list->count == 0 || work->count > 0)
        return work;
    const struct pages pages = look(forecast->list, &forecast->command->settings);
    struct shape in = pages.shape;
    forecast->pixels = pages.count * in.width * in.height;
    for (size_t i = 0; i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        struct error ignored = {.text = ""};
        struct shape out = in;
        const double effort = step_traits(step).effort;
        if (step->stage->in != in.kind ||
            (step->stage->shape && step->stage->shape(step->params, &in, &out, &ignored) != STATUS_OK))
            out = in; /* of a coefficient file, or the job will fail */
        workload_add(work, step->stage->name,
                     (effort > 0 ? effort : 1) * pages.count * fmax(samples(&in), samples(&out)));
        in = out;
    }
    const double ends = pages.count * (samples(&pages.shape) + samples(&in));
    workload_add(work, WORK_ENDS, ends);
    workload_add(work, WORK_COPIES, ends * pages.sample_size);
    return work;
}

/* Stages are timed where one worker had the device to itself: the kernels of several wait for each other.
 * What was done is as much as the pixels that came in, which may be more or fewer than was thought. */
static struct workload what_was_done(struct forecast *forecast, const struct crew *crew)
{
    struct workload done = {.count = 0};
    const struct workload *work = forecast_measure(forecast);
    const double share = (double)crew->results->progress.pixels / fmax(forecast->pixels, 1);
    for (int i = 0; crew->count == 1 && i < work->count; i++)
        workload_add(&done, work->parts[i].name, share * work->parts[i].amount);
    return done;
}

void forecast_learn(struct forecast *forecast, struct crew *crew)
{
    for (int i = 0; i < crew->devices; i++) {
        const struct worker *worker = crew_leader(crew, i);
        if (!worker->open || !worker->device.several)
            continue;
        const struct workload done = what_was_done(forecast, crew);
        expect_learn(&worker->device, &done, &worker->profile);
    }
}
