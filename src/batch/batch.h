/* A command's files, one after the other. */
#ifndef CLIMG_BATCH_BATCH_H
#define CLIMG_BATCH_BATCH_H

#include "batch/command.h"

/* Runs the command. Of several inputs one that fails is reported by `complain` and the others go on:
 * STATUS_PARTIAL if some were done, STATUS_FAILED if none was; the message is then the count. */
enum status batch_run(struct command *command, void (*complain)(const struct error *), struct error *error);

#endif
