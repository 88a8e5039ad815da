/* Writing JSON: values in the order in which they are put, without blanks. */
#ifndef CLIMG_BASE_JSON_H
#define CLIMG_BASE_JSON_H

#include <stdbool.h>
#include <stdio.h>

/* Begin with {.out = FILE}. Whether all was written, `out` knows. */
struct json_writer {
    FILE *out;
    bool more; /* a comma stands before the next value */
};

/* A text in quotes. JSON is UTF-8, names of files are bytes: what is no UTF-8 is taken for Latin-1. */
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
