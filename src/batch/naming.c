#include "batch/naming.h"

#include "image/signature.h"
#include "settings/settings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool name_is_image(const char *name)
{
    static const char *const endings[] = {".png", ".tif", ".tiff"};
    const char *base = name_base(name), *dot = strrchr(base, '.');
    for (size_t i = 0; dot && dot > base && i < sizeof endings / sizeof endings[0]; i++)
        if (strcasecmp(dot, endings[i]) == 0)
            return true;
    return false;
}

enum file_kind file_kind(const char *path)
{
    unsigned char head[SIGNATURE_MAX];
    if (name_is_image(path))
        return FILE_KIND_NAMED;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, head, sizeof head);
    if (file >= 0)
        close(file);
    if (size > 0 && signature_is_png(head, (size_t)size))
        return FILE_KIND_PNG;
    return size > 0 && signature_is_tiff(head, (size_t)size) ? FILE_KIND_TIFF : FILE_KIND_OTHER;
}

char *name_join(const char *folder, const char *name, struct error *error)
{
    size_t length = strlen(folder), size = length + strlen(name) + 2;
    char *path = allocate(size, "a file name", error);
    if (path)
        snprintf(path, size, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    return path;
}

/* What replaces the part of a name from its last dot on; "": nothing does. */
static const char *extension(int format, enum file_kind kind, bool dotted)
{
    if (format != FORMAT_OPTION_ABSENT)
        return format == FORMAT_OPTION_PNG ? ".png" : ".tif";
    if (dotted && (kind == FILE_KIND_PNG || kind == FILE_KIND_TIFF))
        return kind == FILE_KIND_PNG ? ".png" : ".tif";
    return "";
}

char *name_output(const char *folder, const char *name, int format, enum file_kind kind, struct error *error)
{
    const char *base = name_base(name), *dot = strrchr(base, '.');
    bool dotted = dot && dot > base;
    const char *ending = extension(format, kind, dotted);
    size_t stem = *ending && dotted ? (size_t)(dot - name) : strlen(name), size = stem + sizeof ".png";
    char *changed = allocate(size, "a file name", error);
    if (!changed)
        return NULL;
    snprintf(changed, size, "%.*s%s", (int)stem, name, ending);
    char *path = name_join(folder, changed, error);
    free(changed);
    return path;
}
