/* Taking text apart and putting messages together. */
#ifndef CLIMG_BASE_TEXT_H
#define CLIMG_BASE_TEXT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A piece of a longer text; not ended by NUL. */
struct word {
    const char *start;
    size_t length;
};

/* Takes the next piece of `*cursor` and moves past the separator; false when nothing is left. As strsep does,
 * it finds an empty piece between two separators, after a last one and in "". Begin with *cursor at the text.
 */
bool text_next_word(const char **cursor, char separator, struct word *word);

bool word_equals(struct word word, const char *text);

/* The whole text as a number. Plain decimal notation only, whatever the locale: no white space, no
 * hexadecimal, no nan or inf. False: not such a number, or a real one that is not finite as a double. An
 * integer beyond the range becomes LLONG_MAX or LLONG_MIN. */
bool text_to_integer(const char *text, long long *value);
bool text_to_real(const char *text, double *value);

/* The number that `*cursor` begins with; moves past it. For lists of numbers. */
bool text_take_real(const char **cursor, double *value);

/* Both show control characters as ?: a file's name may hold any, and terminals obey them. */
void print_visible(FILE *out, const char *text);
void text_make_visible(char *text);

/* The last part of a path. */
const char *name_base(const char *path);

/* Makes one text, a line for each, of several that lie one after the other in `size` bytes, each up to a NUL;
 * the last byte is one. */
void text_join(char *texts, size_t size);

/* printf to an allocation; NULL on failure. */
char *text_print(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* printf to the end of what a buffer of `size` bytes holds; what does not fit is cut off. */
void text_append(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---------------------------------------------------------------- UTF-8
 *
 * PNG's older text is Latin-1, everything in climg is UTF-8. */

/* The length in bytes of the character that the text begins with, and its number; 0: it begins with none. */
size_t utf8_decode(const char *text, size_t size, unsigned long *character);

/* Whether these bytes are UTF-8: shortest forms only, no surrogates, nothing above U+10FFFF. */
bool utf8_is_valid(const char *text, size_t size);

/* Both return an allocation that ends in NUL; NULL on failure. */
char *utf8_from_latin1(const char *text, size_t size, struct error *error);

/* *latin1 receives NULL where the text has other characters. What is not UTF-8 is taken as Latin-1 already.
 */
enum status latin1_from_utf8(const char *text, char **latin1, struct error *error);

#endif
