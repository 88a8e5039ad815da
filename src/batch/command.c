#include "batch/command.h"

#include <stdlib.h>

void command_free(struct command *command)
{
    chain_free(&command->chain);
    free(command->inputs);
    *command = (struct command){0};
}
