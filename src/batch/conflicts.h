/* Checks that no output of a command destroys a file that the command reads or writes.
 *
 * Thread safety: the main thread calls it before there are workers. */
#ifndef CLIMG_BATCH_CONFLICTS_H
#define CLIMG_BATCH_CONFLICTS_H

#include "batch/command.h"
#include "batch/job.h"

/* An auxiliary output: --report, --trace, --timing, or a file that a stage writes. */
struct aux_output {
    const char *option;  /* text before the path on a command line */
    const char *noun;    /* for messages */
    const char *example; /* a usual file name, for messages */
    const char *path;    /* "-" is stdout; NULL: not given */
};

/* Indices of auxiliary outputs. Stages write MATRIX_OUTPUT, a text file, and MAP_OUTPUT, an image. */
enum { REPORT_OUTPUT, TRACE_OUTPUT, TIMING_OUTPUT, MATRIX_OUTPUT, MAP_OUTPUT, AUX_OUTPUTS };

/* Lists the auxiliary outputs of the command. Of several stages that write a file of one kind, lists the
 * first one; conflicts_check then fails. */
void list_aux_outputs(const struct command *command, struct aux_output aux[AUX_OUTPUTS]);

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

/* Fails with STATUS_USAGE if the file of --report, --trace, --timing or a stage is named like an image. In
 * "--report out.png" out.png is probably the output, and the name of the report is missing. */
enum status conflicts_check_names(const struct command *command, struct error *error);

#endif
