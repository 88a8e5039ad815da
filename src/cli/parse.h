/* From argv to a command: the globals, the chain, what is read and what is written. */
#ifndef CLIMG_CLI_PARSE_H
#define CLIMG_CLI_PARSE_H

#include "base/error.h"
#include "chain/chain.h"
#include "settings/globals.h"

#include <stdbool.h>
#include <stddef.h>

struct command {
    struct globals globals;
    struct chain chain;  /* as written; it makes sense for what the inputs may be */
    const char **inputs; /* at least one; "-" is stdin; the strings belong to argv */
    size_t input_count;
    const char *output;       /* "-" is stdout */
    bool output_is_directory; /* more than two positionals were given, so it must be one */
};

/* Touches neither files nor devices. Stops at --help, --version and --generate, whatever follows them: then
 * globals_want_information(&command->globals) holds and there is no output. On failure nothing is left to
 * free. */
enum status command_parse(int argc, const char *const *argv, struct command *command, struct error *error);

/* Safe on a zeroed command, and twice. */
void command_free(struct command *command);

#endif
