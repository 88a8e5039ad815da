#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_next_word(const char **cursor, char separator, struct word *word)
{
    if (*cursor == NULL)
        return false;
    const char *end = strchr(*cursor, separator);
    word->start = *cursor;
    word->length = end != NULL ? (size_t)(end - *cursor) : strlen(*cursor);
    *cursor = end != NULL ? end + 1 : NULL;
    return true;
}

bool word_equals(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.start, text, word.length) == 0;
}

/* Not isdigit, which asks the locale. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_sign(const char *text)
{
    return *text == '+' || *text == '-' ? text + 1 : text;
}

static const char *skip_digits(const char *text)
{
    while (is_digit(*text))
        text++;
    return text;
}

/* The end of the decimal number that `text` begins with, NULL where there is none:
 * [sign] digits [. [digits]] [e [sign] digits], or without the digits before the point. */
static const char *real_end(const char *text)
{
    const char *start = skip_sign(text);
    const char *end = skip_digits(start);
    size_t digits = (size_t)(end - start);
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits += (size_t)(end - fraction);
    }
    if (digits == 0)
        return NULL;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = skip_sign(end + 1);
        if (is_digit(*exponent))
            end = skip_digits(exponent);
    }
    return end;
}

bool text_to_integer(const char *text, long long *value)
{
    const char *start = skip_sign(text);
    const char *end = skip_digits(start);
    if (end == start || *end != '\0')
        return false;
    *value = strtoll(text, NULL, 10);
    return true;
}

/* strtod would also take "nan", "0x1p4" and leading blanks, so the grammar is checked before it. It reads a
 * decimal point because the program never calls setlocale: its locale is "C". */
bool text_take_real(const char **cursor, double *value)
{
    const char *end = real_end(*cursor);
    char *parsed = NULL;
    if (end == NULL)
        return false;
    *value = strtod(*cursor, &parsed);
    if (parsed != end || !isfinite(*value))
        return false;
    *cursor = end;
    return true;
}

bool text_to_real(const char *text, double *value)
{
    return text_take_real(&text, value) && *text == '\0';
}

/* U+0080 to U+009F are control characters, too: C2 80 to C2 9F, where the second byte becomes a ?. */
static char visible(char before, char character)
{
    const unsigned char byte = (unsigned char)character;
    const bool control = byte < 0x20 || byte == 0x7f || (before == '\xc2' && byte >= 0x80 && byte <= 0x9f);
    return control ? '?' : character;
}

void print_visible(FILE *out, const char *text)
{
    for (char before = '\0'; *text; before = *text++)
        fputc(visible(before, *text), out);
}

void text_make_visible(char *text)
{
    for (char before = '\0'; *text; before = *text++)
        *text = visible(before, *text);
}

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

void text_join(char *texts, size_t size)
{
    while (size > 0 && texts[size - 1] == '\0')
        size--;
    for (size_t i = 0; i < size; i++)
        if (texts[i] == '\0')
            texts[i] = '\n';
}

void text_append(char *buffer, size_t size, const char *format, ...)
{
    size_t used = strlen(buffer);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer + used, size - used, format, arguments);
    va_end(arguments);
}
