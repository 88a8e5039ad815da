/* What a command is to do, for the choice of its device, and what it took. */
#ifndef CLIMG_BATCH_FORECAST_H
#define CLIMG_BATCH_FORECAST_H

#include "batch/crew.h"
#include "device/expect.h"

/* A command and its list of jobs. */
struct forecast {
    const struct command *command;
    const struct list *list;
};

/* As `measure` of device_start: `context` is a struct forecast. It opens the first file. */
void forecast_measure(void *context, struct workload *work);

/* Remembers what the crew's devices took. Call it when all went well, before crew_sum. */
void forecast_learn(const struct forecast *forecast, struct crew *crew);

#endif
