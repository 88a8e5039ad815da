/* The list of --files-from. */
#ifndef CLIMG_BATCH_NAMES_H
#define CLIMG_BATCH_NAMES_H

#include "base/error.h"
#include "settings/settings.h"

/* Calls `visit` for each name of the list (settings->files_from; "-" is stdin), except empty lines, until it
 * fails. Returns the last status of `visit`, or STATUS_FAILED for a list that cannot be read, is too long, or
 * has lines that are no names. */
enum status names_each(const struct settings *settings,
                       enum status (*visit)(void *context, const char *name, struct error *error),
                       void *context, struct error *error);

#endif
