/* Outputs that would destroy something. */
#ifndef CLIMG_BATCH_CLASH_H
#define CLIMG_BATCH_CLASH_H

#include "batch/list.h"

/* STATUS_USAGE where two items have one output, or where an output is the input of another item. An item
 * whose output is its own input is fine: it is read whole before it is replaced. Sorts and searches, so that
 * a million files are no matter. */
enum status clash_check(const struct list *list, struct error *error);

#endif
