/* climg --warm: what every stage needs is built now, and lies in the driver's cache from then on. */
#ifndef CLIMG_TUNING_WARM_H
#define CLIMG_TUNING_WARM_H

#include "settings/settings.h"

#include <stdio.h>

/* Runs every example of every stage's manual on pictures like the samples, each in a process of its own, as
 * many at once as --jobs or the processors say: drivers let threads of one process wait for each other. No
 * device is opened here, as what a driver leaves behind in a process is handed down. Tells on `out` what was
 * built and how long it took. The examples are the list of what is usual: a new stage is warm by itself.
 * STATUS_FAILED where some of them failed. */
enum status warm(const struct settings *settings, FILE *out, struct error *error);

/* When the process is about to die in the middle of it: ends the examples, leaves no files behind. */
void warm_abandon(void);

#endif
