/* --timing: what took how long. */
#ifndef CLIMG_BATCH_REPORT_H
#define CLIMG_BATCH_REPORT_H

#include "batch/session.h"

#include <stdio.h>

/* What JSON calls a part: "decode". */
const char *report_part_key(enum phase phase);

/* A table for people: device time of every kernel by stage, then the wall-clock time of every part. */
void report_table(FILE *out, struct session *session);

/* The same as one JSON object on one line; times in seconds, bytes as they are. */
void report_json(FILE *out, struct session *session);

#endif
