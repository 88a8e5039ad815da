/* The noise of pictures that are only looked at: --info --noise. */
#ifndef CLIMG_BATCH_NOISE_H
#define CLIMG_BATCH_NOISE_H

#include "batch/job.h"

/* Zeroed, it has no device yet, which the first picture opens. */
struct noise_finder {
    struct worker worker;
    struct chain chain;
    bool begun;
};

/* Reads the page to its end; the noise goes into `result`. */
enum status noise_find(struct noise_finder *finder, const struct command *command, const struct job *job,
                       struct reader *reader, struct result *result, struct error *error);

void noise_finder_close(struct noise_finder *finder);

#endif
