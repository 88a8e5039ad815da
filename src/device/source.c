/* Finds embedded kernel files and writes a program's text with its includes replaced. */
#include "device/source.h"

#include <stdbool.h>
#include <string.h>

static const char INCLUDE[] = "#include \"", ONCE[] = "#pragma once\n";

/* Returns the embedded file of that name, or NULL. */
static const struct kernel_source *source_find(const char *name, size_t length)
{
    for (const struct kernel_source *source = kernel_sources; source->name; source++)
        if (strlen(source->name) == length && memcmp(source->name, name, length) == 0)
            return source;
    return NULL;
}

/* True if a header with #pragma once was written before; otherwise notes that it is now. */
static bool was_included(const struct kernel_source *source, struct included *included)
{
    if (!strstr(source->text, ONCE))
        return false;
    for (int i = 0; i < included->count; i++)
        if (included->names[i] == source->name)
            return true;
    if (included->count < MAX_INCLUDED)
        included->names[included->count++] = source->name;
    return false;
}

static enum status source_write_text(FILE *stream, const struct kernel_source *source,
                                     struct included *included, int depth, struct error *error);

/* Writes an included file. `name` points past the opening quote of the #include line. */
static enum status write_include(FILE *stream, const char *name, struct included *included, int depth,
                                 struct error *error)
{
    size_t length = strcspn(name, "\"\n");
    const struct kernel_source *source = source_find(name, length);
    if (!source || depth == MAX_INCLUDED)
        return fail(error, STATUS_FAILED, "kernels/%.*s is missing in this build", (int)length, name);
    return was_included(source, included) ? STATUS_OK
                                          : source_write_text(stream, source, included, depth, error);
}

/* Writes a file's text and, recursively, the files that it includes. */
static enum status source_write_text(FILE *stream, const struct kernel_source *source,
                                     struct included *included, int depth, struct error *error)
{
    enum status status = STATUS_OK;
    int line = 1;
    fprintf(stream, "#line 1 \"%s\"\n", source->name);
    for (const char *at = source->text; status == STATUS_OK && *at; line++) {
        size_t length = strcspn(at, "\n");
        length += at[length] == '\n';
        if (strncmp(at, INCLUDE, sizeof INCLUDE - 1) == 0) {
            status = write_include(stream, at + sizeof INCLUDE - 1, included, depth + 1, error);
            fprintf(stream, "#line %d \"%s\"\n", line + 1, source->name);
        } else if (strncmp(at, ONCE, sizeof ONCE - 1) == 0) {
            fputc('\n', stream);
        } else {
            fwrite(at, 1, length, stream);
        }
        at += length;
    }
    return status;
}

enum status source_write(FILE *stream, const char *name, struct included *included, struct error *error)
{
    const struct kernel_source *source = source_find(name, strlen(name));
    if (!source)
        return fail(error, STATUS_FAILED, "kernels/%s is missing in this build", name);
    return source_write_text(stream, source, included, 0, error);
}
