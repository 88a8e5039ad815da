/* What files are called, what is in them, and what their outputs are called. */
#ifndef CLIMG_BATCH_NAMING_H
#define CLIMG_BATCH_NAMING_H

#include "base/error.h"

#include <stdbool.h>

struct format;

/* The last part of a path. */
const char *name_base(const char *path);

/* By its name, or else by its first bytes: then *foreign receives what it is, else NULL. False for a file
 * that cannot be read. */
bool name_is_image(const char *path, const struct format **foreign);

/* FOLDER/NAME, for free(); NULL on failure. */
char *name_join(const char *folder, const char *name, struct error *error);

/* FOLDER/NAME, with the extension of `asked`, which is NULL without --format. An image under a name that says
 * something else (photo.dat) is given its own format's extension; a name without one is kept. NULL on
 * failure.
 */
char *name_output(const char *folder, const char *name, const struct format *asked,
                  const struct format *foreign, struct error *error);

#endif
