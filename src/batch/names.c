#include "batch/names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct names {
    FILE *file;
    int separator;
    size_t count; /* of lines so far */
    char name[PATH_MAX];
};

/* The next line as `name`; *more is false behind the last one. */
static enum status next(struct names *names, bool *more, struct error *error)
{
    size_t length = 0;
    int c = getc_unlocked(names->file);
    *more = c != EOF;
    names->count += *more;
    for (; c != EOF && c != names->separator; c = getc_unlocked(names->file)) {
        if (c == '\0')
            return fail(error, STATUS_FAILED, "line %zu has a NUL in it; --null reads such lists",
                        names->count);
        if (length == sizeof names->name - 1)
            return fail(error, STATUS_FAILED, "line %zu is longer than a file's name can be%s", names->count,
                        names->separator == '\0' ? "" : "; --null reads lists divided by NUL");
        names->name[length++] = (char)c;
    }
    names->name[length] = '\0';
    if (ferror(names->file))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    return names->count <= NAMES_MOST
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "more than %d names; divide the list", NAMES_MOST);
}

enum status names_read(const struct settings *settings,
                       enum status (*take)(void *context, const char *name, struct error *error),
                       void *context, struct error *error)
{
    bool standard = strcmp(settings->files_from, "-") == 0, more = true;
    struct names names = {.file = standard ? stdin : fopen(settings->files_from, "r"),
                          .separator = settings->null ? '\0' : '\n'};
    const char *name = standard ? "standard input" : settings->files_from;
    if (!names.file)
        return fail(error, STATUS_FAILED, "--files-from %s: cannot open: %s", name, strerror(errno));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && more) {
        status = next(&names, &more, error);
        if (status != STATUS_OK)
            error_prefix(error, name);
        else if (more && names.name[0] != '\0')
            status = take(context, names.name, error);
    }
    if (!standard)
        fclose(names.file);
    return status;
}
