/* Parsing of numbers and lists, texts for messages, and UTF-8.
 *
 * Nothing depends on the locale. Returned allocations belong to the caller, who frees them. Thread safety:
 * any thread may call. */
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

/* Reads the next word of a list and moves *cursor past the separator; returns false at the end. Set *cursor
 * to the list before the first call. As with strsep, a word is empty between two separators, after a
 * separator at the end, and in "". The list is not modified; words point into it. */
bool text_next_word(const char **cursor, char separator, struct word *word);

/* True if the word is the text, including case. */
bool word_equals(struct word word, const char *text);

/* Parse the whole text as a decimal number: no white space, no hexadecimal, no nan or inf. Return false if it
 * is not such a number. Numbers out of range: an integer becomes LLONG_MAX or LLONG_MIN, a real is refused.
 */
bool text_to_integer(const char *text, long long *value);
bool text_to_real(const char *text, double *value);

/* Parses the number at *cursor, as text_to_real does, and moves past it. On failure *cursor is unchanged. */
bool text_parse_real(const char **cursor, double *value);

/* Replace control characters by ?, since file names may contain them and terminals obey them. The first
 * function prints the result, the second changes the text. */
void print_visible(FILE *out, const char *text);
void text_make_visible(char *text);

/* Returns the last part of a path. */
const char *name_base(const char *path);

/* Returns the length of the folder above the first `length` bytes of a path, with its slash: 2 for "a/b" and
 * "a/b/". */
size_t path_above(const char *path, size_t length);

/* True if a path ends in a slash, as it names a folder. */
bool path_ends_in_slash(const char *path);

/* Returns FOLDER/NAME, to be freed; NULL on failure. */
char *path_join(const char *folder, const char *name, struct error *error);

/* Joins the NUL-terminated texts in `size` bytes to one text: every NUL becomes a newline, except those at
 * the end. */
void text_join(char *texts, size_t size);

/* Prints to an allocation, as asprintf does. Returns NULL on failure. */
char *text_print(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends to the text in a buffer of `size` bytes; text that does not fit is cut off. */
void text_append(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Appends an item to a list in a buffer of `size` bytes, whose items are joined by `separator`, unless the
 * list contains it. An empty item is ignored. */
void text_add_item(char *list, size_t size, const char *separator, const char *item);

/* ---------------------------------------------------------------- UTF-8
 *
 * Texts in climg are UTF-8; PNG's tEXt chunks are Latin-1. */

/* Decodes the first character of `size` bytes. Returns its length in bytes, 1 to 4, or 0 if it is invalid. */
size_t utf8_decode(const char *text, size_t size, unsigned long *character);

/* Returns the number of bytes, of the first `size`, that fit into `room` without cutting a character. */
size_t utf8_fit(const char *text, size_t size, size_t room);

/* True if the bytes are valid UTF-8: shortest forms only, no surrogates, nothing above U+10FFFF. */
bool utf8_is_valid(const char *text, size_t size);

/* Converts to an allocation that ends in NUL. Returns NULL on failure. */
char *utf8_from_latin1(const char *text, size_t size, struct error *error);

/* Converts to an allocation in *latin1; NULL, with STATUS_OK, if Latin-1 lacks a character of the text. Text
 * that is not valid UTF-8 is taken for Latin-1 and copied. */
enum status latin1_from_utf8(const char *text, char **latin1, struct error *error);

#endif
