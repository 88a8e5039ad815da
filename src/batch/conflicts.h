/* Checks that no output of a command destroys a file that the command reads or writes.
 *
 * Thread safety: called by the main thread before there are workers. */
#ifndef CLIMG_BATCH_CONFLICTS_H
#define CLIMG_BATCH_CONFLICTS_H

#include "batch/command.h"
#include "batch/job.h"

/* Fails with STATUS_USAGE if an output would destroy a file:
 * - two jobs of different inputs have the same output, by any path or link, or in a folder that does not
 * distinguish upper and lower case;
 * - an output is an input, except its own with --in-place;
 * - --report, --trace, --timing or a stage's file is also an input, an output, or another of them;
 * - a stage or --files-from reads an output.
 * If jobs are merged, the output of the first one is the only one.
 * Marks the second and later jobs of a file that was named several times (is_duplicate). */
enum status conflicts_check(struct job *jobs, size_t count, bool is_merged, const struct command *command,
                            struct error *error);

/* Fails with STATUS_USAGE if --report, --trace, --timing or a stage's file has an image's name: then the
 * option's value was forgotten. */
enum status conflicts_check_names(const struct command *command, struct error *error);

#endif
