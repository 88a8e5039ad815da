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
    /* At least one, or none with --files-from; "-" is stdin. The strings belong to argv. */
    const char **inputs;
    size_t input_count;
    const char *output;       /* "-" is stdout; NULL: each input's own path */
    bool output_is_directory; /* there are several inputs, or it ends in a slash */
    bool output_may_be_input; /* it comes before the first stage: an existing file is perhaps an input */
};

/* Runs the command. If one of several inputs fails, `complain` reports it and the others go on:
 * STATUS_PARTIAL if some were done, STATUS_FAILED if none was. The message is then the count. */
enum status batch_run(struct command *command, void (*complain)(const struct error *), struct error *error);

#endif
