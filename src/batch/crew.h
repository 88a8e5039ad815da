/* Several files of a list at once: each worker takes the next one when it is free. */
#ifndef CLIMG_BATCH_CREW_H
#define CLIMG_BATCH_CREW_H

#include "batch/results.h"

/* Does every item of the list. The calling thread is one of the workers and uses `session`, the others have
 * sessions that share its device; with --device all there is a leader for every device, and a device that
 * fails is left out while others are there: what it could not do is done again elsewhere. What all sessions
 * measured ends up in `session`. */
enum status crew_work(struct session *session, const struct list *list, struct results *results,
                      struct error *error);

#endif
