/* Files that are neither inputs nor outputs.
 *
 *     cache_   files under $XDG_CACHE_HOME/climg, or ~/.cache/climg if that is not set or relative
 *     spool_   temporary files without a name, for formats that seek when the input or output is a pipe
 *     aux_     files that climg writes in addition to the outputs, such as reports and traces; "-" is stdout
 *
 * Returned FILEs and allocations belong to the caller. Thread safety: any thread may call; a FILE belongs to
 * one thread. */
#ifndef CLIMG_BASE_FILES_H
#define CLIMG_BASE_FILES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes all bytes, in one write() if the system accepts as many, and retries after EINTR. Returns false with
 * errno set on failure. */
bool write_whole(int descriptor, const void *data, size_t size);

/* Reads a whole file and appends a 0 byte, which *size does not count. Returns NULL if it cannot be read, is
 * not a regular file, or if out of memory. The caller frees the result. */
void *file_read_whole(const char *path, size_t *size);

/* Returns the path of a cache file. Returns NULL if neither directory is an absolute path, or if out of
 * memory. The caller frees it. `base` and `home` are the values of XDG_CACHE_HOME and HOME; both may be NULL.
 */
char *cache_path(const char *base, const char *home, const char *name, struct error *error);

/* True if the path is an existing folder. False for "-", which is stdin or stdout. */
bool is_folder(const char *path);

/* Creates the folders above a path as far as possible. Ignores errors: they show when the caller uses the
 * path. `path` is modified while the function runs. */
void try_folders_above(char *path);

/* Creates the missing folders of `path`: each part of it that ends at a slash, except parts shorter than
 * `from` bytes. Another process may create the same folders at the same time. If *created_length is 0, it
 * receives the length of the path of the first folder that was created, also if a later folder fails. `path`
 * is modified while the function runs. */
enum status create_folders(char *path, size_t from, size_t *created_length, struct error *error);

/* Writes a file, and creates the directories above it. An existing file is replaced atomically (rename):
 * another process sees the old file or the new one. */
enum status cache_write(const char *path, const void *data, size_t size, struct error *error);

/* Creates an empty temporary file without a name, on the folder's disk. It vanishes when it is closed.
 * Returns NULL on failure; the error's scope is SCOPE_ALL. */
FILE *spool_open(const char *folder, struct error *error);

/* Creates a spool of the `head_size` bytes at `head` and the rest of `source`, and rewinds it. Returns NULL
 * on failure. If the spool fails, the message names its folder; if the source fails, the caller adds its
 * name. */
FILE *spool_fill(const char *folder, FILE *source, const void *head, size_t head_size, struct error *error);

/* Creates a spool with the content of a seekable file, whose position is unchanged; positioned at its start.
 * Returns NULL on failure, with messages as spool_fill. */
FILE *spool_copy(const char *folder, int descriptor, struct error *error);

/* Copies the whole spool, which was opened in `folder`, to a descriptor. Messages about the descriptor do not
 * name its file. */
enum status spool_drain(const char *folder, FILE *spool, int descriptor, struct error *error);

/* Checks a path before work starts: fails if aux_open would fail, but neither creates nor truncates the
 * file. `what` is the file's purpose, such as "the trace", for "cannot write WHAT". */
enum status aux_check(const char *path, const char *what, struct error *error);

/* Opens the file for writing and truncates it, unless it is a named descriptor; returns stdout or stderr for
 * their names, NULL on failure. */
FILE *aux_open(const char *path, const char *what, struct error *error);

/* Closes the file, or flushes stdout or stderr. Fails if any write since aux_open failed. */
enum status aux_close(FILE *file, const char *path, const char *what, struct error *error);

/* Flushes stdout, or the file that replaces it in a test. Fails if any write to it failed so far. */
enum status text_flush(FILE *out, struct error *error);

/* Returns 1 for "-" and "/dev/stdout", 2 for "/dev/stderr", N for "/dev/fd/N", and -1 for other paths. Write
 * to this descriptor: if it is redirected to a file, opening the name would truncate that file, and a rename
 * would replace it. */
int named_descriptor(const char *path);

/* Returns the name for messages: the path, or "standard output". */
const char *aux_name(const char *path);

#endif
