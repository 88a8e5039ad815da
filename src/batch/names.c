/* Reads the list of --files-from: each name ends in a newline, or with --null in a NUL. Without --null
 * removes the CRs and the byte order mark of Windows editors, and fails for UTF-16 and NULs. Fails for names
 * longer than a path. */
#include "batch/names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NAMES = 4000000 }; /* a limit for endless lists, such as a device */

struct names {
    FILE *file;
    int separator;       /* newline, or NUL with --null */
    size_t count;        /* number of names read so far, with empty ones */
    char name[PATH_MAX]; /* the current name */
};

/* Removes the CR at the end of a line, and the byte order mark of UTF-8 at the start of the list, which
 * Windows editors write. Does nothing if a file of this name exists. */
static void drop_windows_marks(struct names *names, size_t length)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (access(names->name, F_OK) == 0)
        return;
    if (length > 0 && names->name[length - 1] == '\r')
        names->name[length - 1] = '\0';
    if (names->count == 1 && strncmp(names->name, mark, strlen(mark)) == 0)
        memmove(names->name, names->name + strlen(mark), strlen(names->name + strlen(mark)) + 1);
}

/* Reads the next line into names->name. Sets *more to false at the end of the list. Fails for lines that are
 * no names. */
static enum status next_name(struct names *names, bool *more, struct error *error)
{
    size_t length = 0;
    int c = getc_unlocked(names->file);
    *more = c != EOF;
    names->count += *more;
    for (; c != EOF && c != names->separator; c = getc_unlocked(names->file)) {
        if (c == '\0') {
            const bool is_utf16 = length >= 2 && (memcmp(names->name, "\xff\xfe", 2) == 0 ||
                                                  memcmp(names->name, "\xfe\xff", 2) == 0);
            return fail(error, STATUS_FAILED, "line %zu contains a NUL; %s", names->count,
                        is_utf16 ? "the list is UTF-16: save it as UTF-8" : "--null reads such lists");
        }
        if (length == sizeof names->name - 1)
            return fail(error, STATUS_FAILED, "line %zu is longer than any file name%s", names->count,
                        names->separator == '\0' ? "" : "; --null reads lists separated by NUL");
        names->name[length++] = (char)c;
    }
    names->name[length] = '\0';
    if (ferror(names->file))
        return fail(error, STATUS_FAILED, "cannot read: %s", strerror(errno));
    if (names->separator != '\0')
        drop_windows_marks(names, length);
    return names->count <= MAX_NAMES
               ? STATUS_OK
               : fail(error, STATUS_FAILED, "more than %d names; split the list", MAX_NAMES);
}

enum status names_each(const struct settings *settings,
                       enum status (*visit)(void *context, const char *name, struct error *error),
                       void *context, struct error *error)
{
    bool standard = strcmp(settings->files_from, "-") == 0, more = true;
    struct names names = {.file = standard ? stdin : fopen(settings->files_from, "r"),
                          .separator = settings->ends_in_nul ? '\0' : '\n'};
    char prefix[PATH_MAX]; /* of messages */
    snprintf(prefix, sizeof prefix, "--files-from %s", settings->files_from);
    if (!names.file) {
        fail(error, STATUS_FAILED, "cannot open: %s", strerror(errno));
        error_prefix(error, prefix);
        return STATUS_FAILED;
    }
    enum status status = STATUS_OK;
    while (status == STATUS_OK && more) {
        status = next_name(&names, &more, error);
        if (status != STATUS_OK)
            error_prefix(error, prefix);
        else if (more && names.name[0] != '\0')
            status = visit(context, names.name, error);
    }
    if (!standard)
        fclose(names.file);
    return status;
}
