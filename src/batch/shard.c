#include "batch/shard.h"

#include "base/hash.h"

#include <string.h>

/* The shard that a name belongs to, 1 to count. */
static int shard_of(const char *name, int count)
{
    uint64_t hash = hash_bytes(HASH_START, name, strlen(name));
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    hash ^= hash >> 33;
    /* The upper half of a 64 by 32 bit product: count is below 2^32. */
    uint64_t low = (hash & UINT32_MAX) * (uint64_t)count, high = (hash >> 32) * (uint64_t)count;
    return 1 + (int)((high + (low >> 32)) >> 32);
}

void shard_keep(const struct shard *shard, struct list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (shard->count == 0 || shard_of(list->jobs[i].name, shard->count) == shard->index)
            list->jobs[kept++] = list->jobs[i];
        else
            job_free(&list->jobs[i]);
    }
    list->count = kept;
}
