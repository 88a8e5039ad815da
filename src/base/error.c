#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status fail(struct error *error, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

void error_prefix(struct error *error, const char *name)
{
    struct error whole;
    int length = snprintf(whole.text, sizeof whole.text, "%s: ", name);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used >= sizeof whole.text)
        used = sizeof whole.text - 1;

    size_t room = sizeof whole.text - used - 1;
    size_t size = strnlen(error->text, room);
    memcpy(whole.text + used, error->text, size);
    whole.text[used + size] = '\0';
    *error = whole;
}

void *allocate(size_t size, const char *what, struct error *error)
{
    /* malloc(0) may return NULL, which callers could not tell from failure. */
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        fail(error, STATUS_FAILED, "out of memory for %s", what);
    return memory;
}

void *allocate_zeroed(size_t count, size_t size, const char *what, struct error *error)
{
    bool fits = size == 0 || count <= SIZE_MAX / size;
    void *memory = fits ? calloc(count > 0 ? count : 1, size > 0 ? size : 1) : NULL;
    if (memory == NULL)
        fail(error, STATUS_FAILED, "out of memory for %s", what);
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
