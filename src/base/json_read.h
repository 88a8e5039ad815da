/* Reading JSON: json_jansson.c by jansson, or, with `make JANSSON=no`, json_none.c, which says that it
 * cannot. */
#ifndef CLIMG_BASE_JSON_READ_H
#define CLIMG_BASE_JSON_READ_H

#include "base/error.h"

/* A value of any type. NULL is a value that is not there: every function takes it, and finds nothing. */
struct json;

/* For --version: "jansson 2.14". */
const char *json_library(void);

/* STATUS_FAILED where nothing can be read: "this climg was built without jansson, which WHAT needs". */
enum status json_check(const char *what, struct error *error);

/* *value is NULL where the text is no JSON, or nothing can be read. STATUS_FAILED: memory was short. */
enum status json_read(const char *text, struct json **value, struct error *error);
void json_free(struct json *value);

struct json *json_member(const struct json *object, const char *key);
struct json *json_item(const struct json *array, size_t at);
size_t json_length(const struct json *value); /* of an array or object; else 0 */

bool json_is_list(const struct json *value); /* an array */

/* False, and nothing is changed: it is something else. */
bool json_get_truth(const struct json *value, bool *truth);
bool json_get_whole(const struct json *value, long long *number);
bool json_get_number(const struct json *value, double *number);
const char *json_get_text(const struct json *value); /* NULL: it is something else */

/* The member becomes what the text says, JSON; NULL: it goes. False: memory was short. */
bool json_replace(struct json *object, const char *key, const char *text);

/* As text, to be freed; NULL: memory was short. */
char *json_print(const struct json *value);

#endif
