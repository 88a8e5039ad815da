/* --timing and --trace: what took how long. */
#ifndef CLIMG_BATCH_TIMES_H
#define CLIMG_BATCH_TIMES_H

#include "batch/crew.h"

/* Tells what the crew measured since `began`, after it has worked, where the settings ask for it. Returns
 * `status`, what became of the work: a file that cannot be written is a failure, but not one that hides files
 * that failed; then it is only complained of. */
enum status times_tell(struct crew *crew, const struct settings *settings, double began, enum status status,
                       void (*complain)(const struct error *), struct error *error);

#endif
