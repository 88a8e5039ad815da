/* The commands that only tell something: --help, --version, --complete, --generate. */
#ifndef CLIMG_CLI_HELP_H
#define CLIMG_CLI_HELP_H

#include "settings/settings.h"

#include <stdio.h>

/* Writes what the settings ask for (settings_want_information), checking that it was written. */
enum status help_tell(FILE *file, const struct settings *settings, struct error *error);

#endif
