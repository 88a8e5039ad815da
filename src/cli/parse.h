/* From argv to a command. */
#ifndef CLIMG_CLI_PARSE_H
#define CLIMG_CLI_PARSE_H

#include "base/error.h"
#include "batch/command.h"

/* Touches neither files nor devices. Stops at --help, --version and the like, whatever follows them: then
 * settings_want_information(&command->settings) holds and there is no output. On failure nothing is left to
 * free. */
enum status command_parse(int argc, const char *const *argv, struct command *command, struct error *error);

/* Safe on a zeroed command, and twice. */
void command_free(struct command *command);

#endif
