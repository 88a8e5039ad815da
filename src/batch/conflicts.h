/* Checks that no output of a command destroys a file that the command reads or writes.
 *
 * Thread safety: the main thread calls it before there are workers. */
#ifndef CLIMG_BATCH_CONFLICTS_H
#define CLIMG_BATCH_CONFLICTS_H

#include "batch/command.h"
#include "batch/job.h"

/* Fails with STATUS_USAGE if an output would destroy a file:
 * - two jobs of different inputs have the same output, by any path or link, or in a folder that does not
 * distinguish upper and lower case;
 * - an output is an input, except its own with --in-place;
 * - a file of --report, --trace, --timing or a stage is also an input or an output, or two of these files are
 * the same;
 * - a stage or --files-from reads a file that would be written.
 * With `is_stack`, the jobs are inputs of a stack and only the output of the first job counts.
 * If an input was named several times, marks its second and later jobs as is_duplicate. */
enum status conflicts_check(struct job *jobs, size_t count, bool is_stack, const struct command *command,
                            struct error *error);

/* Fails with STATUS_USAGE if --report, --trace, --timing or a stage's file has the name of an image: then the
 * user probably forgot the option's value, and the image is the output. */
enum status conflicts_check_names(const struct command *command, struct error *error);

#endif
