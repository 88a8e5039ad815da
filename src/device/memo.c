#include "device/memo.h"

#include "base/cache.h"
#include "base/hash.h"
#include "device/source.h"

#include <string.h>

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
    snprintf(name, sizeof name, "%.*s-%016llx", 32, about,
             (unsigned long long)hash_bytes(HASH_START, line, strlen(line)));
    return cache_path(environment->cache, environment->home, name, error);
}
