/* A parsed command line: inputs, output, chain and settings. cli/cli.h makes it; batch_run prepares its
 * chain. Thread safety: read-only once workers run. */
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
    struct chain chain;            /* as written; fits images or coefficient files */
    struct compare_option compare; /* --compare; reference NULL: not given */
    char *compare_text;            /* `compare` points into it; owned */

    /* The strings belong to argv; the array to the command. */
    const char **inputs; /* at least one, or none with --files-from; "-" is stdin */
    size_t input_count;

    const char *output;       /* "-" is stdout; NULL: each input's own path */
    bool output_is_directory; /* there are several inputs, or it ends in a slash */
    /* Callback that drops rights of the process. Called once, when the files are known, before anything is
     * decoded and before any thread is started. May be NULL. */
    enum status (*prepare_process)(const struct command *command, const struct job_list *list,
                                   struct error *error);

    bool output_may_be_input; /* it comes before the first stage: if the file exists, it may be an input */
};

/* Runs the command. If one of several inputs fails, `report_error` gets its message and the others are
 * processed. Then returns STATUS_PARTIAL if some were done and STATUS_FAILED if none was, with their number
 * as the message. Fails with STATUS_USAGE before anything is written. */
enum status batch_run(struct command *command, void (*report_error)(const struct error *),
                      struct error *error);

/* Runs --check: decodes all inputs and prints a line for each to `out`, in their order. `report_error` gets a
 * message for each that is damaged or cannot be read; then returns STATUS_PARTIAL, with their number as the
 * message. */
enum status check_run(const struct command *command, FILE *out, void (*report_error)(const struct error *),
                      struct error *error);

#endif
