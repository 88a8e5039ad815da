/* The completion script for bash, made from the option tables. */
#ifndef CLIMG_CLI_COMPLETION_H
#define CLIMG_CLI_COMPLETION_H

#include <stdio.h>

void completion_write(FILE *file);

#endif
