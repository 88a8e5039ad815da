/* Parsing of numbers and lists, replacement of control characters, UTF-8 and Latin-1.
 *
 * Numbers are checked against a grammar before strtod and strtoll convert them, since these also accept
 * "nan", "0x1p4" and leading blanks. strtod reads a decimal point because the program never calls setlocale:
 * its locale is "C". Bytes are classified by comparisons, as isdigit and isprint depend on the locale,
 * too. */
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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Return the text after an optional sign, or after any digits. */
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

bool text_to_integer(const char *text, long long *value)
{
    const char *start = skip_sign(text);
    const char *end = skip_digits(start);
    if (end == start || *end != '\0')
        return false;
    *value = strtoll(text, NULL, 10);
    return true;
}

bool text_parse_real(const char **cursor, double *value)
{
    /* Find the end: [sign] digits [. [digits]] [e [sign] digits]; the first digits are optional before
     * ".digits". */
    const char *start = skip_sign(*cursor);
    const char *end = skip_digits(start);
    size_t digits = (size_t)(end - start);
    if (*end == '.') {
        const char *fraction = end + 1;
        end = skip_digits(fraction);
        digits += (size_t)(end - fraction);
    }
    if (digits == 0)
        return false;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = skip_sign(end + 1);
        if (is_digit(*exponent))
            end = skip_digits(exponent);
    }

    /* Convert. strtod must agree about the end. */
    char *parsed = NULL;
    *value = strtod(*cursor, &parsed);
    if (parsed != end || !isfinite(*value))
        return false;
    *cursor = end;
    return true;
}

bool text_to_real(const char *text, double *value)
{
    return text_parse_real(&text, value) && *text == '\0';
}

/* Returns the number of continuation bytes expected after this byte of UTF-8. `left` is the number that was
 * expected before it. */
static int bytes_to_follow(unsigned char byte, int left)
{
    if (byte < 0x80 || byte >= 0xf8)
        return 0;
    if (byte < 0xc0)
        return left > 0 ? left - 1 : 0;
    return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
}

/* Returns the byte, or ? for a control character. U+0080 to U+009F are control characters, too: C2 80 to C2
 * 9F in UTF-8, and the single bytes 80 to 9F for terminals without UTF-8. `before` is the preceding byte, and
 * `left` the number of continuation bytes expected after that. */
static char visible(unsigned char before, int left, char character)
{
    const unsigned char byte = (unsigned char)character;
    const bool is_c1 = byte >= 0x80 && byte <= 0x9f && (left == 0 || before == 0xc2);
    return byte < 0x20 || byte == 0x7f || is_c1 ? '?' : character;
}

void print_visible(FILE *out, const char *text)
{
    int left = 0;
    for (unsigned char before = 0; *text; before = (unsigned char)*text++) {
        fputc(visible(before, left, *text), out);
        left = bytes_to_follow((unsigned char)*text, left);
    }
}

void text_make_visible(char *text)
{
    int left = 0;
    for (unsigned char before = 0; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        *text = visible(before, left, *text);
        left = bytes_to_follow(byte, left);
        before = byte;
    }
}

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

size_t path_above(const char *path, size_t length)
{
    while (length > 0 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length;
}

bool path_ends_in_slash(const char *path)
{
    const size_t length = strlen(path);
    return length > 0 && path[length - 1] == '/';
}

char *path_join(const char *folder, const char *name, struct error *error)
{
    return text_print(error, "%s%s%s", folder, path_ends_in_slash(folder) ? "" : "/", name);
}

void text_join(char *texts, size_t size)
{
    while (size > 0 && texts[size - 1] == '\0')
        size--;
    for (size_t i = 0; i < size; i++)
        if (texts[i] == '\0')
            texts[i] = '\n';
}

char *text_print(struct error *error, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, arguments) + 1;
    char *text = allocate_zeroed(1, size, "text", error);
    if (text)
        vsnprintf(text, size, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

void text_append(char *buffer, size_t size, const char *format, ...)
{
    size_t used = strlen(buffer);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer + used, size - used, format, arguments);
    va_end(arguments);
}

void text_add_item(char *list, size_t size, const char *separator, const char *item)
{
    const size_t gap = strlen(separator), length = strlen(item);
    if (length == 0)
        return;
    for (const char *found = list; (found = strstr(found, item)) != NULL; found++) {
        const bool begins_item =
            found == list || ((size_t)(found - list) >= gap && strncmp(found - gap, separator, gap) == 0);
        if (begins_item && (found[length] == '\0' || strncmp(found + length, separator, gap) == 0))
            return;
    }
    text_append(list, size, "%s%s", list[0] != '\0' ? separator : "", item);
}

/* ---------------------------------------------------------------- UTF-8 */

size_t utf8_decode(const char *begin, size_t size, unsigned long *character)
{
    /* The forms of 1 to 4 bytes by their first byte. */
    const unsigned char *text = (const unsigned char *)begin;
    static const struct {
        unsigned char mask, lead;
        unsigned long smallest; /* smaller characters must use a shorter form */
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    for (size_t length = 1; length <= 4 && length <= size; length++) {
        if ((text[0] & forms[length - 1].mask) != forms[length - 1].lead)
            continue;
        unsigned long code = text[0] & (unsigned char)~forms[length - 1].mask;
        for (size_t i = 1; i < length; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (text[i] & 0x3f);
        }
        const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
        if (code < forms[length - 1].smallest || is_surrogate || code > 0x10ffff)
            return 0;
        *character = code;
        return length;
    }
    return 0;
}

size_t utf8_fit(const char *text, size_t size, size_t room)
{
    if (size <= room)
        return size;
    while (room > 0 && (text[room] & 0xc0) == 0x80)
        room--;
    return room;
}

bool utf8_is_valid(const char *text, size_t size)
{
    unsigned long character;
    for (size_t i = 0, length; i < size; i += length) {
        length = utf8_decode(text + i, size - i, &character);
        if (length == 0)
            return false;
    }
    return true;
}

char *utf8_from_latin1(const char *text, size_t size, struct error *error)
{
    char *utf8 = allocate(2 * size + 1, "text", error);
    if (utf8 == NULL)
        return NULL;
    char *end = utf8;
    for (size_t i = 0; i < size; i++) {
        unsigned char character = (unsigned char)text[i];
        if (character >= 0x80) {
            *end++ = (char)(0xc0 | character >> 6);
            character = 0x80 | (character & 0x3f);
        }
        *end++ = (char)character;
    }
    *end = '\0';
    return utf8;
}

enum status latin1_from_utf8(const char *text, char **latin1, struct error *error)
{
    const size_t size = strlen(text);
    const bool is_latin1 = !utf8_is_valid(text, size);
    *latin1 = NULL;
    char *copy = allocate(size + 1, "text", error); /* Latin-1 is never longer than UTF-8 */
    if (copy == NULL)
        return STATUS_FAILED;
    char *end = copy;
    for (size_t i = 0, length; i < size; i += length) {
        unsigned long character = (unsigned char)text[i];
        length = is_latin1 ? 1 : utf8_decode(text + i, size - i, &character);
        if (character > 0xff) {
            free(copy);
            return STATUS_OK;
        }
        *end++ = (char)character;
    }
    *end = '\0';
    *latin1 = copy;
    return STATUS_OK;
}
