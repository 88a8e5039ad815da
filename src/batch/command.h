/* A parsed command line: what is read and written, the chain and the settings. */
#ifndef CLIMG_BATCH_COMMAND_H
#define CLIMG_BATCH_COMMAND_H

#include "base/error.h"
#include "chain/chain.h"
#include "settings/settings.h"

#include <stdbool.h>
#include <stddef.h>

struct command {
    struct settings settings;
    struct chain chain; /* as written; checked against what the inputs may be */
    const char *
        *inputs; /* at least one, or none with --files-from; "-" is stdin; the strings belong to argv */
    size_t input_count;
    const char *output;       /* "-" is stdout; NULL: each input's place */
    bool output_is_directory; /* there are several inputs, or it ends in a slash: it must be a directory */
    bool output_may_be_input; /* it stands before the first stage, so an existing file of that name was meant
                                 as an input */
};

/* Runs the command. If one of several inputs fails, `complain` reports it and the others go on:
 * STATUS_PARTIAL if some were done, STATUS_FAILED if none was. The message is then the count. */
enum status batch_run(struct command *command, void (*complain)(const struct error *), struct error *error);

#endif
