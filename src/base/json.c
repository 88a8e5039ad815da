/* Writes JSON in the order of the calls, without a tree in memory, so that --info of a large folder and a
 * long --trace need little memory. jansson, which parses coefficient files, would build the whole tree. */
#include "base/json.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

/* Prints a text in quotes, with escapes. JSON is UTF-8, but file names are any bytes: text that is not valid
 * UTF-8 is taken for Latin-1, so that each byte becomes one character. */
static void put_quoted(FILE *out, const char *text)
{
    const size_t size = strlen(text);
    const bool latin1 = !utf8_is_valid(text, size);
    fputc('"', out);
    for (size_t i = 0, length; i < size; i += length) {
        unsigned long character = (unsigned char)text[i];
        length = latin1 ? 1 : utf8_decode(text + i, size - i, &character);

        /* JSON requires escapes below U+0020. Terminals also obey U+007F to U+009F. */
        const bool control = character < 0x20 || (character >= 0x7f && character <= 0x9f);
        if (character == '"' || character == '\\')
            fprintf(out, "\\%c", (char)character);
        else if (character == '\n')
            fputs("\\n", out);
        else if (control || (character >= 0x80 && latin1))
            fprintf(out, "\\u%04lx", character);
        else
            fwrite(text + i, 1, length, out);
    }
    fputc('"', out);
}

/* Prints the comma and the key before a value. */
static void put_key(struct json_writer *writer, const char *key)
{
    if (writer->needs_comma)
        fputc(',', writer->out);
    writer->needs_comma = true;
    if (!key)
        return;
    put_quoted(writer->out, key);
    fputc(':', writer->out);
}

void json_begin(struct json_writer *writer, const char *key, char bracket)
{
    put_key(writer, key);
    fputc(bracket, writer->out);
    writer->needs_comma = false;
}

void json_end(struct json_writer *writer, char bracket)
{
    fputc(bracket, writer->out);
    writer->needs_comma = true;
}

void json_put_null(struct json_writer *writer, const char *key)
{
    put_key(writer, key);
    fputs("null", writer->out);
}

bool json_begin_optional(struct json_writer *writer, const char *key, char bracket, bool is_present)
{
    if (is_present)
        json_begin(writer, key, bracket);
    else
        json_put_null(writer, key);
    return is_present;
}

void json_put_boolean(struct json_writer *writer, const char *key, bool value)
{
    put_key(writer, key);
    fputs(value ? "true" : "false", writer->out);
}

void json_put_integer(struct json_writer *writer, const char *key, long long value)
{
    put_key(writer, key);
    fprintf(writer->out, "%lld", value);
}

void json_put_positive(struct json_writer *writer, const char *key, long long value)
{
    if (value > 0)
        json_put_integer(writer, key, value);
    else
        json_put_null(writer, key);
}

void json_put_number(struct json_writer *writer, const char *key, double value, int digits)
{
    char text[40];
    put_key(writer, key);
    snprintf(text, sizeof text, "%.*g", digits, value);
    /* Append ".0" to whole numbers: parsers of many languages return 2.0 as a real and 2 as an integer. */
    const bool looks_whole = text[strspn(text, "-0123456789")] == '\0';
    if (isfinite(value))
        fprintf(writer->out, "%s%s", text, looks_whole ? ".0" : "");
    else
        fputs("null", writer->out);
}

void json_put_string(struct json_writer *writer, const char *key, const char *text)
{
    put_key(writer, key);
    if (text)
        put_quoted(writer->out, text);
    else
        fputs("null", writer->out);
}
