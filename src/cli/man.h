/* The manual page, made from the option tables and the stages' own manuals. */
#ifndef CLIMG_CLI_MAN_H
#define CLIMG_CLI_MAN_H

#include <stdio.h>

void man_write(FILE *file);

#endif
