/* Files that are written beside the outputs: reports of several kinds. "-" is stdout. */
#ifndef CLIMG_BASE_SIDE_H
#define CLIMG_BASE_SIDE_H

#include "base/error.h"

#include <stdio.h>

/* `what` completes "cannot write WHAT". NULL on failure. */
FILE *side_open(const char *path, const char *what, struct error *error);

/* Closes it, but for stdout, and says whether all was written. */
enum status side_close(FILE *file, const char *path, const char *what, struct error *error);

/* For messages. */
const char *side_name(const char *path);

#endif
