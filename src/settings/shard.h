/* --shard: the part of a command's files that this process does. */
#ifndef CLIMG_SETTINGS_SHARD_H
#define CLIMG_SETTINGS_SHARD_H

#include "base/error.h"

#include <stdbool.h>

enum { SHARD_COUNT_MAX = 1000000 };

struct shard {
    int index, count; /* 1 to count; count 0: everything */
};

/* Reads "I/N", "auto" or "auto/N" (NULL: everything). `auto` takes I, and N where it is not given, from the
 * variables of a Slurm array or a task of srun. Where these say nothing clear it is a usage error: a wrong
 * part would leave files undone. */
enum status shard_parse(const char *text, struct shard *shard, struct error *error);

/* Whether the file of that name is in the part.
 *
 * It belongs to shard 1 + floor(h * N / 2^64), h being the 64-bit FNV-1a hash of its name (job.name, its
 * bytes as they are) mixed by the last step of MurmurHash3. So every machine and every version comes to the
 * same parts without talking to the others, a file keeps its shard when others come or go, and each file is
 * in one shard. */
bool shard_has(const struct shard *shard, const char *name);

#endif
