/* --files-from: a list of names. */
#ifndef CLIMG_BATCH_NAMES_H
#define CLIMG_BATCH_NAMES_H

#include "settings/settings.h"

enum { NAMES_MOST = 4000000 }; /* a list may be endless */

/* Hands each name of the list to `take`, which ends it by failing. Empty lines are none. */
enum status names_read(const struct settings *settings,
                       enum status (*take)(void *context, const char *name, struct error *error),
                       void *context, struct error *error);

#endif
