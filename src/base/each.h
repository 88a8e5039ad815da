/* One piece of work after the other, or several at once. */
#ifndef CLIMG_BASE_EACH_H
#define CLIMG_BASE_EACH_H

#include "base/error.h"
#include "base/workers.h"

/* Does piece `index`, by itself: which thread does it, and when, must not matter to the result. */
typedef enum status piece_work(void *context, int index, struct error *error);

/* Does the pieces from 0 to before `count`, by the caller and the workers' threads, and returns once all are
 * done. A piece may do the same with pieces of its own. After a failure no more begin, and of several the one
 * of the lowest index is told. */
enum status workers_each(struct workers *workers, int count, piece_work *work, void *context,
                         struct error *error);

#endif
