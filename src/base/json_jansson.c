#include "base/json_read.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>

/* Where memory is short, jansson leaves characters out of texts and goes on. */
static _Thread_local bool starved;

static void *allocate_json(size_t size)
{
    void *memory = malloc(size);
    starved = starved || !memory;
    return memory;
}

static void begin_json(void)
{
    json_set_alloc_funcs(allocate_json, free);
}

static void watch_memory(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_json);
    starved = false;
}

/* The header's struct is jansson's. */
static json_t *own(const struct json *value)
{
    return (json_t *)value;
}

const char *json_library(void)
{
    return "jansson " JANSSON_VERSION;
}

enum status json_check(const char *what, struct error *error)
{
    (void)what;
    (void)error;
    return STATUS_OK;
}

enum status json_read(const char *text, struct json **value, struct error *error)
{
    watch_memory();
    *value = (struct json *)json_loads(text, 0, NULL);
    if (!starved)
        return STATUS_OK;
    json_free(*value);
    *value = NULL;
    return fail_memory(error, "out of memory for a description");
}

void json_free(struct json *value)
{
    json_decref(own(value));
}

struct json *json_member(const struct json *object, const char *key)
{
    return (struct json *)json_object_get(own(object), key);
}

struct json *json_item(const struct json *array, size_t at)
{
    return (struct json *)json_array_get(own(array), at);
}

size_t json_length(const struct json *value)
{
    return json_is_object(own(value)) ? json_object_size(own(value)) : json_array_size(own(value));
}

bool json_is_list(const struct json *value)
{
    return json_is_array(own(value));
}

bool json_get_truth(const struct json *value, bool *truth)
{
    if (!json_is_boolean(own(value)))
        return false;
    *truth = json_is_true(own(value));
    return true;
}

bool json_get_whole(const struct json *value, long long *number)
{
    if (!json_is_integer(own(value)))
        return false;
    *number = json_integer_value(own(value));
    return true;
}

bool json_get_number(const struct json *value, double *number)
{
    if (!json_is_number(own(value)))
        return false;
    *number = json_number_value(own(value));
    return true;
}

const char *json_get_text(const struct json *value)
{
    return json_string_value(own(value));
}

bool json_replace(struct json *object, const char *key, const char *text)
{
    watch_memory();
    if (text)
        json_object_set_new(own(object), key, json_loads(text, JSON_DECODE_ANY, NULL));
    else
        json_object_del(own(object), key);
    return !starved;
}

char *json_print(const struct json *value)
{
    watch_memory();
    char *text = json_dumps(own(value), 0);
    if (!starved)
        return text;
    free(text);
    return NULL;
}
