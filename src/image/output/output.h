/* An output file that appears only when it is complete.
 *
 *     output_open ─▶ write to output.file ─▶ output_commit: the file has its name ─▶ output_abandon
 *                                        └─▶ output_abandon: nothing is left
 *
 *     path                      written to
 *     a file, or a new one      a hidden temporary file in the same folder, which is renamed
 *     "-", a device, a pipe     itself; or a spool, which is copied at the end, if the format seeks
 *
 * Each struct output belongs to one thread at a time. temporary.c has the names of all threads' files. */
#ifndef CLIMG_IMAGE_OUTPUT_OUTPUT_H
#define CLIMG_IMAGE_OUTPUT_OUTPUT_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct output {
    FILE *file;        /* the format writes to it; NULL: closed */
    char *name;        /* for messages: the path, or "standard output"; owned */
    char *target;      /* final path with links resolved, owned; NULL for stdout, devices and pipes */
    char *temporary;   /* name of the temporary file; NULL for stdout, devices and pipes. Of temporary.c */
    int copy_to;       /* descriptor to which a spool is copied by the commit, owned; -1: there is no spool */
    const char *spool; /* folder of the spool, the caller's; NULL: the format does not seek */
    bool durable;      /* set by the caller: sync to disk before the rename */
};

/* Opens an output, empty and at its start. A temporary file gets the permissions of the file that it will
 * replace, or 0666 less the umask. If `spool` (a folder) is not NULL, the format seeks: streams, devices and
 * pipes get a spool there. Fails if `path` is a directory or its folder cannot be written; then nothing is
 * left, and nothing needs to be abandoned. */
enum status output_open(struct output *output, const char *path, const char *spool, struct error *error);

/* Fails if output_open would fail because of the folder of a file: it is missing or cannot be written.
 * Creates nothing, so that a wrong path is reported before the work starts. */
enum status output_check(const char *path, struct error *error);

/* Flushes, checks for write errors (a full disk), then renames or copies. Closes the file in any case. The
 * caller calls output_abandon afterwards. */
enum status output_commit(struct output *output, struct error *error);

/* Closes the output, removes it unless it was committed, and frees the members. May be called twice. */
void output_abandon(struct output *output);

/* Returns the file that a path leads to through symbolic links; it need not exist. The caller frees the path.
 * NULL on failure. */
char *resolve_links(const char *path, struct error *error);

/* ---------------- temporary.c: temporary files, whose names a signal handler can find to remove them */

/* Returns how many bytes of a name of `length` bytes its temporary file's name contains: at most 200, and
 * whole characters of UTF-8. */
int temporary_kept_length(const char *name, size_t length);

/* Creates a hidden file in the folder of `target`, opens it with O_WRONLY or O_RDWR (`access`), and locks it.
 * *name receives its name, which is valid until temporary_forget. Returns a descriptor, or -1 with errno set.
 */
int temporary_create(const char *target, int access, mode_t mode, char **name);

/* Ends the file's registration after it was renamed. */
void temporary_forget(const char *name);

/* Removes the file and ends its registration. */
void temporary_remove(const char *name);

/* Removes all temporary files and prevents new ones, as the program ends. Safe in a signal handler. */
void outputs_abandon(void);

/* True after outputs_abandon. */
bool outputs_are_abandoned(void);

/* Removes temporary files of killed processes from a folder ("": the current one), but none that another
 * process may still be writing. */
void outputs_clean(const char *folder);

/* Returns the length of the folder's part of a path, with its slash; 0 for a bare name. */
int folder_length(const char *path);

#endif
