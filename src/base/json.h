/* A JSON writer: values in the order of calls, without blanks. */
#ifndef CLIMG_BASE_JSON_H
#define CLIMG_BASE_JSON_H

#include <stdbool.h>
#include <stdio.h>

/* Initialise with {.out = FILE}. Errors are recorded in `out` (ferror). */
struct json_writer {
    FILE *out;
    bool more; /* the next value needs a comma */
};

/* Prints a text in quotes. JSON is UTF-8 and file names are bytes: text that is not valid UTF-8 is read as
 * Latin-1. */
void json_print_text(FILE *out, const char *text);

/* `key` is NULL for a value in an array. `bracket` is { or [, in json_end } or ]. */
void json_begin(struct json_writer *writer, const char *key, char bracket);
void json_end(struct json_writer *writer, char bracket);

void json_put_null(struct json_writer *writer, const char *key);
void json_put_truth(struct json_writer *writer, const char *key, bool value);
void json_put_whole(struct json_writer *writer, const char *key, long long value);
void json_put_number(struct json_writer *writer, const char *key, double value,
                     int digits);                                                  /* not finite: null */
void json_put_text(struct json_writer *writer, const char *key, const char *text); /* NULL: null */

#endif
