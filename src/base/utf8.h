/* PNG's older text is Latin-1, everything in climg is UTF-8. */
#ifndef CLIMG_BASE_UTF8_H
#define CLIMG_BASE_UTF8_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

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
