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

/* Must not move while it is open. */
struct output {
    FILE *file;      /* the format writes to it; NULL: closed */
    char *name;      /* for messages: the path or "standard output"; of a spool also its folder. Owned */
    size_t name_end; /* of a spool: output_commit shortens `name` to this length before it copies the spool */
    char *target;    /* final path with links resolved, owned; NULL for stdout, devices and pipes */
    char *temporary; /* name in temporary.c's table; NULL for stdout, devices and pipes */
    int copy_to;     /* descriptor to which output_commit copies a spool, owned; -1: no spool */
    const char *spool_folder; /* folder of a spool, not owned; NULL: the format does not seek */
    bool durable;             /* set by the caller: sync to disk before the rename */
    char buffer[64 << 10];    /* the file's: libjpeg writes 4 KiB at a time */
};

/* Opens an empty output. A temporary file gets owner, permissions and extended attributes of the file that it
 * will replace, as far as allowed; a new file gets 0666 less the umask. If the format seeks, `spool_folder`
 * is the folder in which data for stdout, devices and pipes are collected in a temporary file; otherwise
 * NULL. Fails if `path` is a directory, or its folder cannot be written; then nothing is left, and
 * output_abandon need not be called. */
enum status output_open(struct output *output, const char *path, const char *spool_folder,
                        struct error *error);

/* Fails like output_open if the file is write-protected, or its folder is missing or cannot be written, but
 * creates nothing. So a wrong path is reported before the work starts. */
enum status output_check(const char *path, struct error *error);

/* Flushes, checks for write errors (a full disk), then renames or copies. Closes the file in any case. The
 * caller calls output_abandon afterwards. */
enum status output_commit(struct output *output, struct error *error);

/* Closes the output, removes it unless it was committed, and frees the members. May be called twice. */
void output_abandon(struct output *output);

/* Returns the path after following up to 40 symbolic links; the file need not exist. The caller frees it.
 * NULL if out of memory. */
char *resolve_links(const char *path, struct error *error);

/* ---------------- temporary.c: temporary files, which a signal handler can remove */

/* Returns the number of bytes of a file's name that the name of its temporary file repeats: at most 200,
 * without cutting a UTF-8 character. */
int temporary_stem_length(const char *name, size_t length);

/* Creates a hidden file in the folder of `target`, opens it with `access` (O_WRONLY or O_RDWR), and locks it.
 * *name is valid until temporary_forget or temporary_remove. Returns a descriptor, or -1 with errno set. */
int temporary_create(const char *target, int access, mode_t mode, char **name);

/* Unregisters and unlocks a file that was renamed. */
void temporary_forget(const char *name);

/* Removes and unregisters the file. */
void temporary_remove(const char *name);

/* Removes all temporary files of this process, and lets temporary_create fail from now on. Safe in a signal
 * handler. */
void temporary_remove_all(void);

/* True after temporary_remove_all. */
bool temporary_is_disabled(void);

/* Removes temporary files that killed processes left in a folder ("": the current one), but none that may
 * still be in use. */
void temporary_clean(const char *folder);

/* Returns the length of the folder in a path, with its slash; 0 for a bare name. */
int folder_length(const char *path);

#endif
