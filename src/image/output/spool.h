/* A file without a name, for bytes that must be sought in but come from or go to a pipe. */
#ifndef CLIMG_IMAGE_OUTPUT_SPOOL_H
#define CLIMG_IMAGE_OUTPUT_SPOOL_H

#include "base/error.h"

#include <stdio.h>

/* An empty file in $TMPDIR or /tmp that vanishes when it is closed; NULL on failure. */
FILE *spool_open(struct error *error);

/* Where spool_open puts its files. */
const char *spool_folder(void);

/* A spool holding `head` and whatever `source` still gives, positioned at its start; NULL on failure. A
 * message about the spool names its folder, one about the source does not name the source. */
FILE *spool_fill(FILE *source, const void *head, size_t head_size, struct error *error);

/* Copies all of `spool` to a descriptor. The message does not name either. */
enum status spool_drain(FILE *spool, int descriptor, struct error *error);

#endif
