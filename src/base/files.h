/* Files that are neither inputs nor outputs: caches, temporary files, and files such as reports. */
#ifndef CLIMG_BASE_FILES_H
#define CLIMG_BASE_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes all bytes, in one write if the system accepts them. Returns false with errno set on failure. */
bool write_whole(int descriptor, const void *data, size_t size);

/* Cache files under $XDG_CACHE_HOME/climg, or ~/.cache/climg if that is not set or relative. */

/* Returns the path of a cache file, or NULL if there is no home directory. The caller frees it. `base` and
 * `home` are the values of XDG_CACHE_HOME and HOME; may be NULL. */
char *cache_path(const char *base, const char *home, const char *name, struct error *error);

/* Creates the directories above a file. Failures show when the file is opened. */
void make_folders_above(char *path);

/* Writes a whole file, and the directories above it, by renaming: another process sees all of it or nothing.
 */
enum status cache_write(const char *path, const void *data, size_t size, struct error *error);

/* Reads a whole file and appends a 0 byte. Returns NULL if it cannot be read. The caller frees the result. */
void *cache_read(const char *path, size_t *size);

/* A temporary file without a name, for formats that seek when the input or output is a pipe. */

/* Creates an empty file in the folder, which vanishes when it is closed. NULL on failure. */
FILE *spool_open(const char *folder, struct error *error);

/* Creates a spool that contains `head` and the rest of `source`, positioned at its start. NULL on failure. A
 * message about the spool names its folder; a message about the source does not name it. */
FILE *spool_fill(const char *folder, FILE *source, const void *head, size_t head_size, struct error *error);

/* Copies the whole spool, which was opened in `folder`, to a descriptor. A message about the descriptor does
 * not name it. */
enum status spool_drain(const char *folder, FILE *spool, int descriptor, struct error *error);

/* Files that climg writes besides the outputs, such as reports. "-" is stdout. */

/* Fails if side_open would, without touching the file. `what` completes "cannot write WHAT". */
enum status side_check(const char *path, const char *what, struct error *error);

/* Truncates the file. NULL on failure. */
FILE *side_open(const char *path, const char *what, struct error *error);

/* Closes the file, or flushes stdout. Fails if not everything was written. */
enum status side_close(FILE *file, const char *path, const char *what, struct error *error);

/* Returns the name for messages: the path, or "standard output". */
const char *side_name(const char *path);

#endif
