#include "batch/tidy.h"

#include "image/output/output.h"

#include <stdlib.h>
#include <string.h>

struct folder {
    const char *path; /* of a file in it */
    int length;
};

static int by_folder(const void *a, const void *b)
{
    const struct folder *first = a, *second = b;
    if (first->length != second->length)
        return first->length < second->length ? -1 : 1;
    return memcmp(first->path, second->path, (size_t)first->length);
}

static enum status tidy(const struct folder *folder, struct error *error)
{
    char *path = copy_text(folder->path, error);
    if (!path)
        return STATUS_FAILED;
    path[folder->length] = '\0';
    outputs_clean(path);
    free(path);
    return STATUS_OK;
}

enum status tidy_folders(const struct list *list, struct error *error)
{
    struct folder *folders = allocate(list->count * sizeof *folders, "folder names", error);
    enum status status = folders ? STATUS_OK : STATUS_FAILED;
    for (size_t i = 0; folders && i < list->count; i++)
        folders[i] = (struct folder){list->jobs[i].output, folder_length(list->jobs[i].output)};
    if (folders)
        qsort(folders, list->count, sizeof *folders, by_folder);
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++)
        if (i == 0 || by_folder(&folders[i - 1], &folders[i]) != 0)
            status = tidy(&folders[i], error);
    free(folders);
    return status;
}
