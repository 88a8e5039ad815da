/* What killed runs left behind. */
#ifndef CLIMG_BATCH_TIDY_H
#define CLIMG_BATCH_TIDY_H

#include "batch/list.h"

/* Removes temporary files of dead processes (temporary_clean) from every folder that the list's outputs go
 * to. */
enum status tidy_folders(const struct list *list, struct error *error);

#endif
