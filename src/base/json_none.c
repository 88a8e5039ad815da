/* No JSON is read: there is no value, and so nothing in one. */
#include "base/json_read.h"

const char *json_library(void)
{
    return "without jansson: no --warm, coefficient files are written but not read";
}

enum status json_check(const char *what, struct error *error)
{
    return fail(error, STATUS_FAILED, "this climg was built without jansson, which %s needs", what);
}

enum status json_read(const char *text, struct json **value, struct error *error)
{
    (void)text;
    (void)error;
    *value = NULL;
    return STATUS_OK;
}

void json_free(struct json *value)
{
    (void)value;
}

struct json *json_member(const struct json *object, const char *key)
{
    (void)object;
    (void)key;
    return NULL;
}

struct json *json_item(const struct json *array, size_t at)
{
    (void)array;
    (void)at;
    return NULL;
}

size_t json_length(const struct json *value)
{
    (void)value;
    return 0;
}

bool json_is_list(const struct json *value)
{
    (void)value;
    return false;
}

bool json_get_truth(const struct json *value, bool *truth)
{
    (void)value;
    (void)truth;
    return false;
}

bool json_get_whole(const struct json *value, long long *number)
{
    (void)value;
    (void)number;
    return false;
}

bool json_get_number(const struct json *value, double *number)
{
    (void)value;
    (void)number;
    return false;
}

const char *json_get_text(const struct json *value)
{
    (void)value;
    return NULL;
}

bool json_replace(struct json *object, const char *key, const char *text)
{
    (void)object;
    (void)key;
    (void)text;
    return true;
}

char *json_print(const struct json *value)
{
    (void)value;
    return NULL;
}
