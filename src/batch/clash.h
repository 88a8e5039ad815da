/* Outputs that would destroy something. */
#ifndef CLIMG_BATCH_CLASH_H
#define CLIMG_BATCH_CLASH_H

#include "batch/job.h"

/* STATUS_USAGE where two jobs have one output, or where an output is the input of another job. A job
 * whose output is its own input is fine: it is read whole before it is replaced. Sorts and searches, so that
 * a million files are no matter. */
enum status clash_check(const struct job *jobs, size_t count, struct error *error);

/* STATUS_USAGE where --report or --trace is followed by an image's name: their own was forgotten. */
enum status clash_check_names(const struct settings *settings, struct error *error);

/* STATUS_USAGE where the file of --report or --trace is an input, an output, or that of the other one, by
 * whatever path or link. Devices are no files in this: both may be /dev/null. */
enum status clash_check_sides(const struct job *jobs, size_t count, const struct settings *settings,
                              struct error *error);

#endif
