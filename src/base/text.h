/* Parsing of text, and formatting of messages. */
#ifndef CLIMG_BASE_TEXT_H
#define CLIMG_BASE_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A part of a longer text, without NUL at its end. */
struct word {
    const char *start;
    size_t length;
};

/* Takes the next piece of `*cursor` and moves past the separator; false when nothing is left. As strsep does,
 * it finds an empty piece between two separators, after a last one and in "". Begin with *cursor at the text.
 */
bool text_next_word(const char **cursor, char separator, struct word *word);

bool word_equals(struct word word, const char *text);

/* Parse the whole text as a number. Plain decimal notation only, whatever the locale: no white space, no
 * hexadecimal, no nan or inf. Return false if it is not such a number, or not
 * finite as a double. An
 * integer beyond the range becomes LLONG_MAX or LLONG_MIN. */
bool text_to_integer(const char *text, long long *value);
bool text_to_real(const char *text, double *value);

/* Parses the number at *cursor and moves past it, for lists of numbers. */
bool text_take_real(const char **cursor, double *value);

/* Replace control characters by ?: a file name may contain any, and terminals obey them. */
void print_visible(FILE *out, const char *text);
void text_make_visible(char *text);

/* Returns the last part of a path. */
const char *name_base(const char *path);

/* Joins consecutive texts in `size` bytes, each ending in NUL, to one text with a line for each. */
void text_join(char *texts, size_t size);

/* Prints to an allocation, which the caller frees. Returns NULL on failure. */
char *text_print(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends to the text in a buffer of `size` bytes; text that does not fit is cut off. */
void text_append(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---------------------------------------------------------------- UTF-8
 *
 * PNG's older text is Latin-1, everything in climg is UTF-8. */

/* Decodes the first character. Returns its length in bytes, or 0 if it is not valid. */
size_t utf8_decode(const char *text, size_t size, unsigned long *character);

/* True if the bytes are valid UTF-8: shortest forms only, no surrogates, nothing above U+10FFFF. */
bool utf8_is_valid(const char *text, size_t size);

/* Both return an allocation that ends in NUL; NULL on failure. */
char *utf8_from_latin1(const char *text, size_t size, struct error *error);

/* Sets *latin1 to NULL if the text has other characters. Text that is not UTF-8 is assumed to be Latin-1. */
enum status latin1_from_utf8(const char *text, char **latin1, struct error *error);

#endif
