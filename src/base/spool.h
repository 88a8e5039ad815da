/* A file without a name, for bytes that must be sought in but come from or go to a pipe. */
#ifndef CLIMG_BASE_SPOOL_H
#define CLIMG_BASE_SPOOL_H

#include "base/error.h"

#include <stdio.h>

/* An empty file in the folder that vanishes when it is closed; NULL on failure. */
FILE *spool_open(const char *folder, struct error *error);

/* A spool holding `head` and whatever `source` still gives, positioned at its start; NULL on failure. A
 * message about the spool names its folder, one about the source does not name the source. */
FILE *spool_fill(const char *folder, FILE *source, const void *head, size_t head_size, struct error *error);

/* Copies all of `spool`, which was opened in `folder`, to a descriptor. The message does not name the
 * descriptor. */
enum status spool_drain(const char *folder, FILE *spool, int descriptor, struct error *error);

#endif
