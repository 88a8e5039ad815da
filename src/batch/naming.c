#include "batch/naming.h"

#include "image/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool name_is_image(const char *path, const struct format **foreign)
{
    unsigned char head[SIGNATURE_SIZE];
    *foreign = NULL;
    if (format_by_path(path))
        return true;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, head, sizeof head);
    if (file >= 0)
        close(file);
    if (size > 0)
        *foreign = format_by_signature(head, (size_t)size);
    return *foreign;
}

char *name_join(const char *folder, const char *name, struct error *error)
{
    size_t length = strlen(folder), size = length + strlen(name) + 2;
    char *path = allocate(size, "a file name", error);
    if (path)
        snprintf(path, size, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    return path;
}

char *name_output(const char *folder, const char *name, const struct format *asked,
                  const struct format *foreign, struct error *error)
{
    const char *base = name_base(name), *dot = strrchr(base, '.');
    bool dotted = dot && dot > base;
    const struct format *format = asked ? asked : dotted ? foreign : NULL;
    const char *ending = format ? format->extensions[0] : "";
    size_t stem = format && dotted ? (size_t)(dot - name) : strlen(name), size = stem + strlen(ending) + 2;
    char *changed = allocate(size, "a file name", error);
    if (!changed)
        return NULL;
    snprintf(changed, size, "%.*s%s%s", (int)stem, name, format ? "." : "", ending);
    char *path = name_join(folder, changed, error);
    free(changed);
    return path;
}
