/* A command line, understood: what is read and written, the chain and the settings. */
#ifndef CLIMG_BATCH_COMMAND_H
#define CLIMG_BATCH_COMMAND_H

#include "chain/chain.h"
#include "settings/settings.h"

#include <stdbool.h>
#include <stddef.h>

struct command {
    struct settings settings;
    struct chain chain;  /* as written; it makes sense for what the inputs may be */
    const char **inputs; /* at least one, or --files-from; "-" is stdin; the strings belong to argv */
    size_t input_count;
    const char *output;       /* "-" is stdout; NULL: each input's place */
    bool output_is_directory; /* there are several inputs, or it ends in a slash: it must be one */
    bool output_may_be_input; /* it stands before the first stage: if it exists, it was meant as an input */
};

#endif
