/* What a command is to do, for the choice of its device, and what it took. */
#ifndef CLIMG_BATCH_FORECAST_H
#define CLIMG_BATCH_FORECAST_H

#include "batch/crew.h"
#include "device/expect.h"

struct forecast {
    struct workload work;
    double pixels; /* that it was made for */
};

/* Opens the first file. */
void forecast_make(struct forecast *forecast, const struct command *command, const struct list *list);

/* Remembers what the crew's devices took. Call it when all went well, before crew_sum. */
void forecast_learn(const struct forecast *forecast, struct crew *crew);

#endif
