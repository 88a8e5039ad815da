#include "cli/wrap.h"

#include <string.h>

enum { LAST_COLUMN = 78, TERM_COLUMN = 2, MEANING_COLUMN = 28 };

/* Columns of a UTF-8 text without wide characters: its bytes less those that continue a character. */
static size_t width_of(const char *text, size_t size)
{
    size_t width = 0;
    for (size_t i = 0; i < size; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

static void write_spaces(FILE *file, size_t count)
{
    fprintf(file, "%*s", (int)count, "");
}

/* Moves past the blanks between two words, but not into the next paragraph. */
static const char *skip_blanks(const char *text)
{
    while ((*text == ' ' || *text == '\n') && strncmp(text, "\n\n", 2) != 0)
        text++;
    return text;
}

/* Writes a paragraph, the first word at `indent`, where the line already is; returns what follows it. */
static const char *wrap_paragraph(FILE *file, const char *text, size_t indent)
{
    size_t column = indent;
    for (text = skip_blanks(text); *text != '\0' && *text != '\n'; text = skip_blanks(text)) {
        size_t size = strcspn(text, " \n");
        size_t width = width_of(text, size);
        if (column > indent && column + 1 + width > LAST_COLUMN) {
            putc('\n', file);
            write_spaces(file, indent);
            column = indent;
        } else if (column > indent) {
            putc(' ', file);
            column++;
        }
        fwrite(text, 1, size, file);
        column += width;
        text += size;
    }
    putc('\n', file);
    return text + strspn(text, "\n");
}

void wrap_paragraphs(FILE *file, const char *text, size_t indent)
{
    while (*text != '\0') {
        write_spaces(file, indent);
        text = wrap_paragraph(file, text, indent);
        if (*text != '\0')
            putc('\n', file);
    }
}

void wrap_entry(FILE *file, const char *term, const char *meaning)
{
    size_t column = TERM_COLUMN + width_of(term, strlen(term));
    write_spaces(file, TERM_COLUMN);
    fputs(term, file);
    if (column + 2 > MEANING_COLUMN) {
        putc('\n', file);
        column = 0;
    }
    write_spaces(file, MEANING_COLUMN - column);
    wrap_paragraph(file, meaning, MEANING_COLUMN);
}
