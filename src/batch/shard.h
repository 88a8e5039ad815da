/* --shard: the part of a list that this process is to do, where several share it.
 *
 * A file belongs to shard 1 + floor(h * N / 2^64), h being the 64-bit FNV-1a hash of its name (item.name, its
 * bytes as they are) mixed by the last step of MurmurHash3. So every machine and every version comes to the
 * same parts without talking to the others, a file keeps its shard when others come or go, and each file is
 * in one shard. */
#ifndef CLIMG_BATCH_SHARD_H
#define CLIMG_BATCH_SHARD_H

#include "batch/list.h"

struct shard {
    int index, count; /* 1 to count; count 0: everything */
};

/* Reads "I/N", "auto" or "auto/N" (NULL: everything). `auto` finds I, and N where it is not given, in the
 * variables of a Slurm array, a Kubernetes Indexed Job or GNU parallel; where that says nothing clear, or
 * more than one of them is there, it is a usage error: a wrong part would leave files undone. */
enum status shard_parse(const char *text, struct shard *shard, struct error *error);

/* The shard that a name belongs to, 1 to count. */
int shard_of(const char *name, int count);

/* Drops the items of other shards. */
void shard_keep(const struct shard *shard, struct list *list);

#endif
