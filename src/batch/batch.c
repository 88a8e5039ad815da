#include "batch/batch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* DIRECTORY/NAME, the extension following --format. */
static char *output_path(const char *directory, const char *input, int format, struct error *error)
{
    const char *base = base_name(input), *dot = strrchr(base, '.');
    const char *extension = format == FORMAT_OPTION_PNG ? ".png" : format == FORMAT_OPTION_TIFF ? ".tif" : "";
    int stem = *extension && dot && dot > base ? (int)(dot - base) : (int)strlen(base);
    size_t size = strlen(directory) + strlen(base) + sizeof ".png" + 2;
    char *path = allocate(size, "a file name", error);
    bool slash = directory[strlen(directory) - 1] == '/';
    if (path)
        snprintf(path, size, "%s%s%.*s%s", directory, slash ? "" : "/", stem, base, extension);
    return path;
}

static enum status make_directory(const char *path, struct error *error)
{
    struct stat info;
    if (mkdir(path, 0777) == 0)
        return STATUS_OK;
    if (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return STATUS_OK;
    return fail(error, STATUS_FAILED,
                "%s: %s; the last argument must be a directory when there are several inputs", path,
                errno == EEXIST ? "is not a directory" : strerror(errno));
}

/* Before any work: two inputs that would make one output lose a file. */
static enum status check_names(const struct command *command, struct error *error)
{
    for (size_t i = 0; i < command->input_count; i++) {
        if (strcmp(command->inputs[i], "-") == 0)
            return fail(error, STATUS_USAGE, "- (stdin) has no name for its output; use it alone");
        for (size_t k = 0; k < i; k++)
            if (strcmp(base_name(command->inputs[i]), base_name(command->inputs[k])) == 0)
                return fail(error, STATUS_USAGE, "%s and %s would both become %s/%s", command->inputs[k],
                            command->inputs[i], command->output, base_name(command->inputs[i]));
    }
    return STATUS_OK;
}

static enum status run_several(struct session *session, const struct command *command,
                               void (*complain)(const struct error *), struct error *error)
{
    size_t failed = 0;
    enum status status = check_names(command, error);
    if (status != STATUS_OK || (status = make_directory(command->output, error)) != STATUS_OK)
        return status;
    for (size_t i = 0; i < command->input_count; i++) {
        char *output = output_path(command->output, command->inputs[i], command->globals.format, error);
        if (!output || session_convert(session, command->inputs[i], output, error) != STATUS_OK) {
            complain(error);
            failed++;
        }
        free(output);
    }
    if (failed == 0)
        return STATUS_OK;
    return fail(error, failed < command->input_count ? STATUS_PARTIAL : STATUS_FAILED,
                "%zu of %zu files failed", failed, command->input_count);
}

enum status batch_run(struct session *session, const struct command *command,
                      void (*complain)(const struct error *), struct error *error)
{
    if (strcmp(command->output, "-") == 0 && isatty(STDOUT_FILENO))
        return fail(error, STATUS_USAGE,
                    "standard output is a terminal and pixels would go there; name an output file "
                    "or redirect it");
    if (strcmp(command->inputs[0], "-") == 0 && isatty(STDIN_FILENO))
        return fail(error, STATUS_USAGE,
                    "standard input is a terminal; name an input file or pipe one in "
                    "(climg --help tells how)");
    if (command->output_is_directory)
        return run_several(session, command, complain, error);
    return session_convert(session, command->inputs[0], command->output, error);
}
