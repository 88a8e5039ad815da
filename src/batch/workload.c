/* Guesses the work of a command before any device is known. The first file's header gives the shape of a page
 * and the number of pages. Further files are taken to have the same shape, and to be as many more as their
 * bytes are: opening each would take longer than a wrong choice costs. An input that cannot be opened twice,
 * such as a pipe, counts as one photograph of 12 megapixels, or as FILM of them if the output is video: 24
 * seconds of 1080p. --resume may find some files done, which is not considered. */
#include "batch/workload.h"

#include "image/format.h"
#include "image/reader.h"

#include <math.h>

enum { FILM = 100 };

/* Pages of one shape. */
struct pages {
    struct shape shape;
    int sample_size; /* bytes */
    double count;
};

/* Returns the number of files if all were as large as the first one. */
static double count_files(const struct list *list)
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

/* Reads the first file's header. */
static struct pages inspect(const struct list *list, const struct settings *settings)
{
    struct pages pages = {{.kind = KIND_IMAGE, .width = 4000, .height = 3000, .channels = 3, .images = 1},
                          1,
                          count_files(list)};
    const struct reader_options options = {.page = settings->pages.first,
                                           .last_page = settings->pages.last,
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
    /* Formats without a number of pages are uncompressed. */
    pages.count *= wanted > 0
                       ? wanted
                       : fmax((double)list->jobs[0].bytes / (samples(&pages.shape) * pages.sample_size), 1);
    reader_close(reader);
    return pages;
}

struct workload workload_of_chain(const struct chain *chain, const struct shape *shape, int sample_size,
                                  double images)
{
    struct workload work = {0};
    struct shape in = *shape;
    for (size_t i = 0; i < chain->count; i++) {
        const struct step *step = &chain->steps[i];
        struct error ignored = {.text = ""};
        struct shape out = in;
        const double cost = step_caps(step).relative_cost;
        if (step->stage->in != in.kind ||
            (step->stage->shape && step->stage->shape(step->params, &in, &out, &ignored) != STATUS_OK))
            out = in; /* of a coefficient file, or the job will fail */
        work.stage_samples += (cost > 0 ? cost : 1) * images * fmax(samples(&in), samples(&out));
        in = out;
    }
    work.file_samples = images * (samples(shape) + samples(&in));
    work.file_bytes = work.file_samples * sample_size;
    return work;
}

struct workload workload_of_command(const struct command *command, const struct list *list)
{
    if (list->count == 0)
        return (struct workload){0};
    const struct pages pages = inspect(list, &command->settings);
    return workload_of_chain(&command->chain, &pages.shape, pages.sample_size, pages.count);
}
