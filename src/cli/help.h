/* --help and --version. */
#ifndef CLIMG_CLI_HELP_H
#define CLIMG_CLI_HELP_H

#include "base/error.h"

#include <stdio.h>

/* Usage, examples, stages, options: what fits two screens. */
void help_write_overview(FILE *file);

/* All about one stage; an unknown name is a usage error. */
enum status help_write_stage(FILE *file, const char *name, struct error *error);

/* The version of climg and of the libraries it runs with. */
void help_write_version(FILE *file);

#endif
