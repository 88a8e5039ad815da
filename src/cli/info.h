/* --info: what files are and say, without a device. */
#ifndef CLIMG_CLI_INFO_H
#define CLIMG_CLI_INFO_H

#include "batch/command.h"

#include <stdio.h>

/* Tells of each input, as text or a line of JSON. What cannot be read is said by `complain`; then the status
 * is as a batch's. */
enum status info_tell(const struct command *command, FILE *out, void (*complain)(const struct error *),
                      struct error *error);

#endif
