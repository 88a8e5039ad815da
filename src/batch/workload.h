/* The work of a command, for the choice of its device (device/cost.h). */
#ifndef CLIMG_BATCH_WORKLOAD_H
#define CLIMG_BATCH_WORKLOAD_H

#include "batch/files.h"
#include "chain/chain.h"
#include "device/cost.h"

/* Returns the work of a chain on this many images of one shape. */
struct workload workload_of_chain(const struct chain *chain, const struct shape *shape, int sample_size,
                                  double images);

/* Returns the work of a command; opens its first file. */
struct workload workload_of_command(const struct command *command, const struct list *list);

#endif
