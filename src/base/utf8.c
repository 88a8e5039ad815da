#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

size_t utf8_decode(const char *begin, size_t size, unsigned long *character)
{
    const unsigned char *text = (const unsigned char *)begin;
    static const struct {
        unsigned char mask, lead;
        unsigned long smallest; /* what a shorter form could hold is not allowed in this one */
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
        bool surrogate = code >= 0xd800 && code <= 0xdfff;
        if (code < forms[length - 1].smallest || surrogate || code > 0x10ffff)
            return 0;
        *character = code;
        return length;
    }
    return 0;
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

/* Writes at most as many bytes as it reads. False: there is a character that Latin-1 has not. */
static bool convert_to_latin1(const char *utf8, size_t size, char *latin1)
{
    unsigned long character;
    for (size_t i = 0, length; i < size; i += length) {
        length = utf8_decode(utf8 + i, size - i, &character);
        if (character > 0xff)
            return false;
        *latin1++ = (char)character;
    }
    *latin1 = '\0';
    return true;
}

enum status latin1_from_utf8(const char *text, char **latin1, struct error *error)
{
    size_t size = strlen(text);
    *latin1 = NULL;
    char *copy = allocate(size + 1, "text", error);
    if (copy == NULL)
        return STATUS_FAILED;
    if (!utf8_is_valid(text, size))
        memcpy(copy, text, size + 1);
    else if (!convert_to_latin1(text, size, copy)) {
        free(copy);
        copy = NULL;
    }
    *latin1 = copy;
    return STATUS_OK;
}
