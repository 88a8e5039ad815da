/* A parsed command line: inputs, output, chain and settings. command_parse (cli/cli.h) fills it in; batch_run
 * prepares the stages of its chain. Thread safety: read-only once workers run. */
#ifndef CLIMG_BATCH_COMMAND_H
#define CLIMG_BATCH_COMMAND_H

#include "base/error.h"
#include "chain/chain.h"
#include "settings/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct job_list;

struct command {
    struct settings settings;
    struct chain chain;            /* the stages as written; chain_resolve adapts them to an input */
    struct compare_option compare; /* parsed value of --compare; without it `reference` is NULL */
    char *compare_text;            /* `compare` points into it; owned */

    /* The strings belong to argv; the array to the command. */
    const char **inputs; /* at least one, or none with --files-from; "-" is stdin */
    size_t input_count;

    const char *output;       /* "-" is stdout; NULL: each input's own path (--in-place), or a command
                               * without outputs (--info, --check, --compare) */
    bool output_is_directory; /* as there are several inputs or --files-from, or `output` ends in a slash */
    /* True if the last name may be an input, for example of a shell pattern. */
    bool output_may_be_input; /* a stage or option follows the names: a.jpg b.jpg --blur 2 */
    bool output_after_input;  /* the name follows an input or --files-from, in a command with
                               * options: --blur 2 *.jpg */

    /* Confines the process to the command's files and starts the thread that waits for signals. Called once,
     * when the files are known, before pixels are decoded and before there are other threads. May be NULL. */
    enum status (*prepare_process)(const struct command *command, const struct job_list *list,
                                   struct error *error);
};

/* Runs the command. If one of several inputs fails, calls `report_error` and processes the others; then
 * returns STATUS_PARTIAL, or STATUS_FAILED if all that were tried failed, with the number of failures as the
 * message. Fails with STATUS_USAGE, before anything is written, if the command cannot work. */
enum status batch_run(struct command *command, void (*report_error)(const struct error *),
                      struct error *error);

/* Runs --check: decodes all inputs and prints a line for each to `out`, in their order. Returns
 * STATUS_PARTIAL if at least one input is damaged or cannot be read. `error` is then the message about a
 * single input. With several inputs `report_error` gets the messages, and `error` the number of failures. */
enum status check_run(const struct command *command, FILE *out, void (*report_error)(const struct error *),
                      struct error *error);

#endif
