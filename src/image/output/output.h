/* An output file that appears only when it is complete. */
#ifndef CLIMG_IMAGE_OUTPUT_OUTPUT_H
#define CLIMG_IMAGE_OUTPUT_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
    FILE *file;        /* what the format writes to */
    char *name;        /* for messages: the path, or "standard output" */
    char *target;      /* final path with links resolved; NULL for stdout, devices and pipes */
    char *temporary;   /* in the target's folder; NULL for the others */
    int copy_to;       /* descriptor that a spooled output is copied to on commit; -1: none */
    const char *spool; /* the folder of the spool */
    bool durable;      /* for the caller to set: sync to disk before the rename */
};

/* Opens a hidden temporary file in the folder of `path`, with the permissions of the file it will
 * replace, or 0666 less the umask. "-" and paths that are not regular files are opened directly; if `spool`
 * (a folder) is not NULL, a spool file takes the data first, for formats that seek. Fails if `path` is a
 * directory or its folder cannot be written. */
enum status output_open(struct output *output, const char *path, const char *spool, struct error *error);

/* Flushes, checks for write errors (a full disk), renames or copies. Closes the file in any case. */
enum status output_commit(struct output *output, struct error *error);

/* Closes and removes what was not committed; safe to call twice and after commit. */
void output_abandon(struct output *output);

/* Resolves links; the target need not exist. To be freed; NULL on failure. */
char *resolve_links(const char *path, struct error *error);

/* ---------------- temporary.c: temporary files, whose names a signal handler can find to remove them */

/* Creates and opens (for reading and writing) a hidden file in the folder of `target`, and locks it. *name
 * receives its name, which is valid until temporary_forget. Returns a descriptor, or -1 with errno set. */
int temporary_create(const char *target, mode_t mode, char **name);

/* Call one of these when the file was renamed, or to remove it. */
void temporary_forget(const char *name);
void temporary_remove(const char *name);

/* Removes all temporary files and prevents new ones, as the program ends. Safe in a signal handler. */
void outputs_abandon(void);

/* Removes temporary files of killed processes from a folder ("" is the current one), and none that another
 * process may still be writing. */
void outputs_clean(const char *folder);

/* The length of the folder's part of a path, with its slash; or 0. */
int folder_length(const char *path);

#endif
