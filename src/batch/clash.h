/* Outputs that would destroy something. */
#ifndef CLIMG_BATCH_CLASH_H
#define CLIMG_BATCH_CLASH_H

#include "batch/job.h"

/* STATUS_USAGE where two jobs have one output, by whatever path or link, or where an output is an input: that
 * of another job, or without `in_place` the job's own, which is read whole before it is replaced. Sorts and
 * searches, so that a million files are no matter. */
enum status clash_check(const struct job *jobs, size_t count, bool in_place, struct error *error);

/* STATUS_USAGE where --report, --timing or --trace is followed by an image's name: their own was forgotten.
 */
enum status clash_check_names(const struct settings *settings, struct error *error);

/* STATUS_USAGE where the file of --report, --timing or --trace is an input, an output, or that of another of
 * them, or where one of all these is a file that a stage or --files-from reads, by whatever path or link.
 * Devices are no files in this: all may be /dev/null; but standard output is one's alone. */
enum status clash_check_sides(const struct job *jobs, size_t count, const struct command *command,
                              struct error *error);

#endif
