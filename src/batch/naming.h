/* What files are called, what is in them, and what their outputs are called. */
#ifndef CLIMG_BATCH_NAMING_H
#define CLIMG_BATCH_NAMING_H

#include "base/error.h"

#include <stdbool.h>

enum file_kind {
    FILE_KIND_UNKNOWN, /* not looked into */
    FILE_KIND_NAMED,   /* .png, .tif or .tiff, in capitals or not */
    FILE_KIND_PNG,     /* by its first bytes, under another name */
    FILE_KIND_TIFF,
    FILE_KIND_OTHER,
};

/* The last part of a path. */
const char *name_base(const char *path);

/* Ends in .png, .tif or .tiff, in capitals or not. */
bool name_is_image(const char *name);

/* By its name, or else by its first bytes. A file that cannot be read is FILE_KIND_OTHER. */
enum file_kind file_kind(const char *path);

/* FOLDER/NAME, for free(); NULL on failure. */
char *name_join(const char *folder, const char *name, struct error *error);

/* FOLDER/NAME, the extension following --format (enum format_option). An image under a name that says
 * something else (photo.dat) is given its own kind's extension; a name without one is kept. NULL on failure.
 */
char *name_output(const char *folder, const char *name, int format, enum file_kind kind, struct error *error);

#endif
