#include "batch/clash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is sorted; the list keeps its order. */
struct entry {
    const struct item *item;
};

static int by_output(const void *a, const void *b)
{
    const struct item *first = ((const struct entry *)a)->item, *second = ((const struct entry *)b)->item;
    int order = strcmp(first->output, second->output);
    return order != 0 ? order : strcmp(first->input, second->input);
}

static int by_file(const void *a, const void *b)
{
    const struct item *first = ((const struct entry *)a)->item, *second = ((const struct entry *)b)->item;
    if (first->device != second->device)
        return first->device < second->device ? -1 : 1;
    return first->inode < second->inode ? -1 : first->inode > second->inode;
}

static enum status check_outputs(struct entry *entries, size_t count, struct error *error)
{
    qsort(entries, count, sizeof *entries, by_output);
    for (size_t i = 1; i < count; i++) {
        const struct item *first = entries[i - 1].item, *second = entries[i].item;
        if (strcmp(first->output, second->output) == 0)
            return fail(error, STATUS_USAGE, "%s and %s would both become %s", first->input, second->input,
                        first->output);
    }
    return STATUS_OK;
}

/* Files are compared by what they are, not by name: there are links, and many ways to write a path. */
static enum status check_inputs(struct entry *entries, size_t count, struct error *error)
{
    qsort(entries, count, sizeof *entries, by_file);
    for (size_t i = 0; i < count; i++) {
        const struct item *item = entries[i].item;
        struct stat there;
        if (stat(item->output, &there) != 0)
            continue;
        const struct item output = {.device = there.st_dev, .inode = there.st_ino};
        const struct entry key = {&output};
        const struct entry *input = bsearch(&key, entries, count, sizeof *entries, by_file);
        if (input && by_file(input, &entries[i]) != 0)
            return fail(error, STATUS_USAGE, "%s would become %s, which is an input, too", item->input,
                        item->output);
    }
    return STATUS_OK;
}

enum status clash_check(const struct list *list, struct error *error)
{
    struct entry *entries = allocate(list->count * sizeof *entries, "file names", error);
    if (!entries)
        return STATUS_FAILED;
    for (size_t i = 0; i < list->count; i++)
        entries[i].item = &list->items[i];
    enum status status = check_outputs(entries, list->count, error);
    if (status == STATUS_OK)
        status = check_inputs(entries, list->count, error);
    free(entries);
    return status;
}
