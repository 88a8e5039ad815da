/* Writes the text of an OpenCL program from the embedded kernel files, with its includes replaced. The
 * driver's compiler cannot read the files, as they are not installed. */
#include "device/source.h"

#include <stdbool.h>
#include <string.h>

static const char INCLUDE[] = "#include \"", ONCE[] = "#pragma once\n";

/* Writes the text of the file whose name is the `length` bytes at `name`, and of the files that it includes.
 * `depth` is the number of files around it. */
static enum status write_file(FILE *stream, const char *name, size_t length, struct included *included,
                              int depth, struct error *error)
{
    const struct kernel_source *source = kernel_sources;
    while (source->name && (strlen(source->name) != length || memcmp(source->name, name, length) != 0))
        source++;
    if (!source->name || depth == MAX_INCLUDED)
        return fail(error, STATUS_FAILED, "kernels/%.*s is missing in this build", (int)length, name);

    /* Write a header with #pragma once only the first time. */
    if (strstr(source->text, ONCE)) {
        for (int i = 0; i < included->count; i++)
            if (included->names[i] == source->name)
                return STATUS_OK;
        if (included->count < MAX_INCLUDED)
            included->names[included->count++] = source->name;
    }

    /* Copy the lines. */
    enum status status = STATUS_OK;
    int line = 1;
    fprintf(stream, "#line 1 \"%s\"\n", source->name);
    for (const char *at = source->text; status == STATUS_OK && *at; line++) {
        size_t size = strcspn(at, "\n");
        size += at[size] == '\n';
        if (strncmp(at, INCLUDE, sizeof INCLUDE - 1) == 0) {
            const char *header = at + sizeof INCLUDE - 1;
            status = write_file(stream, header, strcspn(header, "\"\n"), included, depth + 1, error);
            fprintf(stream, "#line %d \"%s\"\n", line + 1, source->name);
        } else if (strncmp(at, ONCE, sizeof ONCE - 1) == 0) {
            fputc('\n', stream);
        } else {
            fwrite(at, 1, size, stream);
        }
        at += size;
    }
    return status;
}

enum status source_write(FILE *stream, const char *name, struct included *included, struct error *error)
{
    return write_file(stream, name, strlen(name), included, 0, error);
}
