/* An output file that nobody sees until it is whole. */
#ifndef CLIMG_IMAGE_OUTPUT_OUTPUT_H
#define CLIMG_IMAGE_OUTPUT_OUTPUT_H

#include "base/error.h"
#include "image/output/temporary.h" /* folders are tidied by others, too */

#include <stdbool.h>
#include <stdio.h>

struct output {
    FILE *file;        /* what the format writes to */
    char *name;        /* for messages: the path, or "standard output" */
    char *target;      /* final path with links resolved; NULL for stdout, devices and pipes */
    char *temporary;   /* beside the target; NULL for the others */
    int copy_to;       /* descriptor that a spooled output is copied to on commit; -1: none */
    const char *spool; /* the folder of the spool */
    bool durable;      /* for the caller to set: on the disk before it gets its final name */
};

/* Opens a temporary file beside `path` (same folder, hidden name, mode of the file it will replace or 0666
 * less the umask), or for "-" and anything that is not a regular file the thing itself, or a spool file in
 * the folder `spool` where that is not NULL: it asks for a file that can be sought in. Says so when `path` is
 * a directory or its folder cannot be written. */
enum status output_open(struct output *output, const char *path, const char *spool, struct error *error);

/* Flushes, checks for write errors (a full disk), renames or copies. The file is closed either way. */
enum status output_commit(struct output *output, struct error *error);

/* Closes and removes what was not committed; safe to call twice and after commit. */
void output_abandon(struct output *output);

/* The path that links lead to, which need not exist. To be freed; NULL on failure. */
char *resolve_links(const char *path, struct error *error);

#endif
