/* What climg remembers between runs: files under $XDG_CACHE_HOME/climg, or ~/.cache/climg where that is not
 * set or relative. */
#ifndef CLIMG_BASE_CACHE_H
#define CLIMG_BASE_CACHE_H

#include "base/error.h"

#include <stddef.h>

/* The path of a file of the cache, to be freed; NULL where there is no home to keep it in. `base` and `home`
 * are what XDG_CACHE_HOME and HOME say, or NULL. */
char *cache_path(const char *base, const char *home, const char *name, struct error *error);

/* Writes a whole file, with the folders above it, by renaming: another process sees all of it or nothing. */
enum status cache_write(const char *path, const void *data, size_t size, struct error *error);

/* The whole file, to be freed, with a 0 byte after it; NULL if it cannot be read. */
void *cache_read(const char *path, size_t *size);

#endif
