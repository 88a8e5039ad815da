/* --timing: what took how long. */
#ifndef CLIMG_BATCH_TIMES_H
#define CLIMG_BATCH_TIMES_H

#include "batch/worker.h"

#include <stdio.h>

/* What JSON calls a part: "decode". */
const char *times_part_key(enum part part);

/* Whether there is anything to be told of it: verifying is not usual. */
bool times_has_part(enum part part, double seconds);

/* A table for people: device time of every kernel by stage, then how long every part was busy, and the wall
 * clock: parts overlap. */
void times_table(FILE *out, struct worker *worker);

/* The same as one JSON object on one line; times in seconds, bytes as they are. */
void times_json(FILE *out, struct worker *worker);

#endif
