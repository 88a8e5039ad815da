/* Which files are in which part of --shard.
 *
 * A file belongs to shard 1 + floor(h * N / 2^64), h being the 64-bit FNV-1a hash of its name (job.name, its
 * bytes as they are) mixed by the last step of MurmurHash3. So every machine and every version comes to the
 * same parts without talking to the others, a file keeps its shard when others come or go, and each file is
 * in one shard. */
#ifndef CLIMG_BATCH_SHARD_H
#define CLIMG_BATCH_SHARD_H

#include "batch/list.h"

/* Drops the jobs of other shards. */
void shard_keep(const struct shard *shard, struct list *list);

#endif
