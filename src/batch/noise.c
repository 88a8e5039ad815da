#include "batch/noise.h"

#include "base/text.h"

static void tell(const struct worker *worker, const struct job *job, const float *sigma, int count)
{
    char text[96] = "";
    for (int i = 0; i < count; i++)
        text_append(text, sizeof text, "%s%.2f", i > 0 ? ", " : "", 255 * (double)sigma[i]);
    if (worker->settings->verbose && !worker->settings->quiet)
        fprintf(stderr, "climg: %s: estimated noise: %s of 255%s\n", job_input_name(job), text,
                count == 3 ? " (brightness and two colour differences)" : "");
}

void noise_note(const struct worker *worker, const struct job *job, int image, struct result *result)
{
    const struct estimate *noise = &worker->run.noise;
    const struct shape *shape = &noise->shape;
    int count = shape->channels - shape->alpha, first = image * shape->channels;
    if (noise->planes == 0 || first + shape->channels > noise->planes)
        return;
    tell(worker, job, noise->sigma + first, count);
    for (int i = 0; i < count && result->noise_count == 0; i++)
        result->noise[i] = 255 * noise->sigma[first + i];
    result->noise_count = count;
}
