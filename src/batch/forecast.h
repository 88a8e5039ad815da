/* What a command is to do, for the choice of its device, and what it took. */
#ifndef CLIMG_BATCH_FORECAST_H
#define CLIMG_BATCH_FORECAST_H

#include "batch/crew.h"
#include "device/expect.h"

struct forecast {
    const struct command *command;
    const struct list *list;
    struct workload work; /* all zero before it was measured */
    double pixels;        /* that it was measured for */
};

/* As `measure` of device_start: `context` is a struct forecast. Opens the first file, the first time. */
const struct workload *forecast_measure(void *context);

/* Remembers what the crew's devices took. Call it when all went well, before crew_sum. */
void forecast_learn(struct forecast *forecast, struct crew *crew);

#endif
