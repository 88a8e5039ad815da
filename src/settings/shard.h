/* --shard: which part of a command's files this process is to do, where several share them. */
#ifndef CLIMG_SETTINGS_SHARD_H
#define CLIMG_SETTINGS_SHARD_H

#include "base/error.h"

enum { SHARD_COUNT_MAX = 1000000 };

struct shard {
    int index, count; /* 1 to count; count 0: everything */
};

/* Reads "I/N", "auto" or "auto/N" (NULL: everything). `auto` asks the environment: it finds I, and N where it
 * is not given, in the variables of a Slurm array or a task of srun, a Kubernetes Indexed Job or GNU
 * parallel; `known_count` is N where neither says it (0: not known). Where the variables say nothing clear,
 * or more than one of the three is there, it is a usage error: a wrong part would leave files undone. */
enum status shard_parse(const char *text, int known_count, struct shard *shard, struct error *error);

#endif
