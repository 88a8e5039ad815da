/* Noise that stages estimated: what -v and --report say of it. */
#ifndef CLIMG_BATCH_NOISE_H
#define CLIMG_BATCH_NOISE_H

#include "batch/job.h"

/* After a page, or for the image of that number after a group, while the job's input is as it was. */
void noise_note(const struct worker *worker, const struct job *job, int image, struct result *result);

#endif
