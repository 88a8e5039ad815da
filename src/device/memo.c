#include "device/memo.h"

#include "base/cache.h"
#include "device/source.h"

#include <stdint.h>

static const uint64_t HASH_START = 0xcbf29ce484222325u;

/* FNV-1a, 64 bit. */
static uint64_t add_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

void memo_header(const struct device *device, const char *about, char line[MEMO_LINE_SIZE])
{
    snprintf(line, MEMO_LINE_SIZE, "climg %s, %s, %s, %s, %s, kernels %s\n", about, device->platform_name,
             device->name, device->version, device->driver, kernels_sum);
}

char *memo_path(const struct device *device, const char *about, struct error *error)
{
    char name[64], line[MEMO_LINE_SIZE];
    const struct environment *environment = device->environment;
    memo_header(device, about, line);
    snprintf(name, sizeof name, "%.*s-%016llx", 32, about, (unsigned long long)add_hash(HASH_START, line));
    return cache_path(environment->cache, environment->home, name, error);
}
