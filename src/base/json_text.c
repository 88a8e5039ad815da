#include "base/json_text.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *bytes)
{
    struct error ignored;
    if (utf8_is_valid(bytes, strlen(bytes)))
        return json_string(bytes);
    char *utf8 = utf8_from_latin1(bytes, strlen(bytes), &ignored);
    json_t *string = utf8 ? json_string(utf8) : NULL;
    free(utf8);
    return string;
}
