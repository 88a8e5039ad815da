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

/* The outputs of all inputs, to be freed with free_outputs. Two inputs that would make one output would lose
 * a file: that is refused before any work. */
static enum status name_outputs(const struct command *command, char **outputs, struct error *error)
{
    for (size_t i = 0; i < command->input_count; i++) {
        if (strcmp(command->inputs[i], "-") == 0)
            return fail(error, STATUS_USAGE, "- (stdin) has no name for its output; use it alone");
        outputs[i] = output_path(command->output, command->inputs[i], command->globals.format, error);
        if (!outputs[i])
            return STATUS_FAILED;
        for (size_t k = 0; k < i; k++)
            if (strcmp(outputs[i], outputs[k]) == 0)
                return fail(error, STATUS_USAGE, "%s and %s would both become %s", command->inputs[k],
                            command->inputs[i], outputs[i]);
    }
    return STATUS_OK;
}

static void free_outputs(char **outputs, size_t count)
{
    for (size_t i = 0; outputs && i < count; i++)
        free(outputs[i]);
    free(outputs);
}

static enum status convert_all(struct session *session, const struct command *command, char *const *outputs,
                               void (*complain)(const struct error *), struct error *error)
{
    size_t failed = 0;
    for (size_t i = 0; i < command->input_count; i++) {
        if (session_convert(session, command->inputs[i], outputs[i], error) == STATUS_OK)
            continue;
        complain(error);
        failed++;
    }
    if (failed == 0)
        return STATUS_OK;
    return fail(error, failed < command->input_count ? STATUS_PARTIAL : STATUS_FAILED,
                "%zu of %zu files failed", failed, command->input_count);
}

static enum status run_several(struct session *session, const struct command *command,
                               void (*complain)(const struct error *), struct error *error)
{
    char **outputs = allocate_zeroed(command->input_count, sizeof *outputs, "file names", error);
    enum status status = outputs ? name_outputs(command, outputs, error) : STATUS_FAILED;
    if (status == STATUS_OK)
        status = make_directory(command->output, error);
    if (status == STATUS_OK)
        status = convert_all(session, command, outputs, complain, error);
    free_outputs(outputs, command->input_count);
    return status;
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
