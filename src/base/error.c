#include "base/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SHOWN = 512 }; /* bytes: the end of a path, and what is wrong has room behind it */

enum status fail(struct error *error, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    // cppcheck-suppress ctuuninitvar ; the text is written, not read
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->named = error->memory = false;
    error->reach = REACH_FILE;
    return status;
}

enum status fail_memory(struct error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    error->named = false;
    error->memory = true;
    error->reach = REACH_FILE;
    return STATUS_FAILED;
}

enum status fail_writing(struct error *error, int code)
{
    fail(error, STATUS_FAILED, "cannot write: %s", strerror(code));
    if (code == ENOSPC || code == EDQUOT || code == EROFS)
        error->reach = REACH_DISK;
    return STATUS_FAILED;
}

void error_prefix(struct error *error, const char *name)
{
    const size_t length = strlen(name), size = sizeof error->text;
    const bool cut = length > NAME_SHOWN;
    char text[sizeof error->text];
    memcpy(text, error->text, size);
    error->text[0] = '\0';
    text_append(error->text, size, "%s%s: ", cut ? "..." : "", cut ? name + length - NAME_SHOWN : name);
    text_append(error->text, size, "%s", text);
    error->named = true;
}

void error_name(struct error *error, const char *name)
{
    if (!error->named)
        error_prefix(error, name);
}

void *allocate(size_t size, const char *what, struct error *error)
{
    /* malloc(0) may return NULL, which callers could not tell from failure. */
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        fail_memory(error, "out of memory for %s", what);
    return memory;
}

void *allocate_zeroed(size_t count, size_t size, const char *what, struct error *error)
{
    bool fits = size == 0 || count <= SIZE_MAX / size;
    void *memory = fits ? calloc(count > 0 ? count : 1, size > 0 ? size : 1) : NULL;
    if (memory == NULL)
        fail_memory(error, "out of memory for %s", what);
    return memory;
}

char *copy_text(const char *text, struct error *error)
{
    size_t size = strlen(text) + 1;
    char *copy = allocate(size, "text", error);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}
