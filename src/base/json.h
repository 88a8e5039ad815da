/* A JSON writer: prints values in the order of calls, without blanks. The caller must balance json_begin and
 * json_end, and pass keys inside objects only; nothing is checked.
 *
 * Thread safety: a writer and its FILE belong to one thread. */
#ifndef CLIMG_BASE_JSON_H
#define CLIMG_BASE_JSON_H

#include <stdbool.h>
#include <stdio.h>

/* Initialise with {.out = FILE}; nothing needs to be freed. The caller checks ferror(out) at the end. */
struct json_writer {
    FILE *out;
    bool needs_comma; /* before the next value */
};

/* In all functions below, `key` is the name of an object's member, and NULL for a value of an array or the
 * outermost value. */

/* Opens and closes an object or an array. `bracket` is '{' or '[', in json_end '}' or ']'. */
void json_begin(struct json_writer *writer, const char *key, char bracket);
void json_end(struct json_writer *writer, char bracket);

/* Writes null if `is_present` is false; otherwise calls json_begin. Returns `is_present`. */
bool json_begin_optional(struct json_writer *writer, const char *key, char bracket, bool is_present);

/* Print one value. */
void json_put_null(struct json_writer *writer, const char *key);
void json_put_boolean(struct json_writer *writer, const char *key, bool value);
void json_put_integer(struct json_writer *writer, const char *key, long long value);

/* Prints an integer; null if it is not positive: unknown. */
void json_put_positive(struct json_writer *writer, const char *key, long long value);

/* Prints a real with this number of significant digits; null if it is not finite. */
void json_put_number(struct json_writer *writer, const char *key, double value, int digits);

/* Prints a text in quotes; null if `text` is NULL. Text that is not valid UTF-8 is taken for Latin-1. */
void json_put_string(struct json_writer *writer, const char *key, const char *text);

#endif
