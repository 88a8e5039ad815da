#include "batch/noise.h"

#include "chain/page.h"
#include "chain/rehearsal.h"

static enum status begin(struct noise_finder *finder, const struct command *command, struct error *error)
{
    if (finder->begun)
        return STATUS_OK;
    worker_init(&finder->worker, command, NULL, NULL, command->settings.device);
    finder->begun = true;
    return chain_add(&finder->chain, stage_find("denoise"), NULL, error);
}

/* The survey alone, of the samples as they are. */
static enum status survey(struct worker *worker, const struct chain *chain, struct reader *reader,
                          struct error *error)
{
    const struct image_info *info = reader_info(reader);
    const struct shape shape = {.kind = KIND_IMAGE,
                                .width = (int)info->width,
                                .height = (int)info->height,
                                .channels = info->channels,
                                .images = 1,
                                .alpha = info->alpha};
    struct plan plan;
    worker->run.reserved = reader_memory(reader);
    worker->run.foreseen = true; /* what follows the survey is not built */
    enum status status = plan_make(&plan, chain, &shape, info->type, info->type, &worker->run, error);
    if (status != STATUS_OK)
        return status;
    struct page page = rehearsal_page(&worker->run, &plan, &worker->timing, false, 0);
    page.from.premultiplied = info->premultiplied;
    page.reader = reader;
    status = survey_page(&page, 0, error);
    plan_free(&plan);
    return status;
}

enum status noise_find(struct noise_finder *finder, const struct command *command, const struct job *job,
                       struct reader *reader, struct result *result, struct error *error)
{
    enum status status = begin(finder, command, error);
    if (status == STATUS_OK)
        status = worker_open(&finder->worker, error);
    if (status == STATUS_OK)
        status = survey(&finder->worker, &finder->chain, reader, error);
    if (status == STATUS_OK)
        result_note_noise(job, &finder->worker, 0, result);
    return status;
}

void noise_finder_close(struct noise_finder *finder)
{
    chain_free(&finder->chain);
    if (finder->begun)
        worker_close(&finder->worker);
}
