#include "base/side.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

const char *side_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

static enum status cannot_write(const char *path, const char *what, struct error *error)
{
    return fail(error, STATUS_FAILED, "%s: cannot write %s: %s", side_name(path), what, strerror(errno));
}

FILE *side_open(const char *path, const char *what, struct error *error)
{
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (file == NULL)
        cannot_write(path, what, error);
    return file;
}

enum status side_close(FILE *file, const char *path, const char *what, struct error *error)
{
    bool failed = ferror(file) != 0;
    if ((file == stdout ? fflush(file) : fclose(file)) != 0 || failed)
        return cannot_write(path, what, error);
    return STATUS_OK;
}
