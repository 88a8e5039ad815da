/* The commands that only tell something: --help, --version, --generate. */
#ifndef CLIMG_CLI_INFORM_H
#define CLIMG_CLI_INFORM_H

#include "settings/globals.h"

#include <stdio.h>

/* Writes what the globals ask for (globals_want_information), checking that it was written. */
enum status inform(FILE *file, const struct globals *globals, struct error *error);

#endif
