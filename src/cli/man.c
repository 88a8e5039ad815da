/* The manual page, in troff's man macros (man 7 man).
 *
 *     manual.txt: "= TITLE" ─▶ .SH     blank line ─▶ .PP     "@stages" ─▶ list from the tables
 *
 * The prose is in manual.txt. Lists come from the tables of stages, options and environment variables. `make
 * generate` writes docs/climg.1 by climg --generate=man; a test fails if that file is old. */
#include "cli/cli.h"

#include "base/text.h"
#include "image/format.h"
#include "settings/settings.h"

#include <string.h>

/* Writes a character of text. Escapes troff's markup, ASCII characters that troff would replace by
 * typographic ones ('-', quotes), and characters outside ASCII, which would need a preprocessor. Allows troff
 * to break a line after each bar of "a|b|c". */
static void write_character(FILE *file, unsigned long code)
{
    /* The escapes of groff_char(7). */
    static const struct {
        char character;
        const char *escape;
    } escapes[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'`', "\\(ga"},
                   {'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"},  {'|', "|\\:"}};
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        if (code == (unsigned char)escapes[i].character) {
            fputs(escapes[i].escape, file);
            return;
        }
    }
    if (code < 0x80)
        putc((int)code, file);
    else
        fprintf(file, "\\[u%04lX]", code);
}

/* Writes `size` bytes of valid UTF-8. A line that begins with a full stop would be a troff request, so \& is
 * written before it. A line that begins with an apostrophe is escaped by write_character. */
static void man_write_text(FILE *file, const char *text, size_t size)
{
    const char *end = text + size;
    bool line_begins = true;
    while (text < end) {
        if (line_begins && *text == '.')
            fputs("\\&", file);
        line_begins = *text == '\n';
        unsigned long code = 0;
        text += utf8_decode(text, (size_t)(end - text), &code);
        write_character(file, code);
    }
}

static void write_line(FILE *file, const char *text)
{
    man_write_text(file, text, strlen(text));
    putc('\n', file);
}

static void write_list(FILE *file, struct word name);

/* Writes paragraphs, which blank lines separate: a heading "= TITLE", a list "@NAME", or text. */
static void write_paragraphs(FILE *file, const char *text)
{
    while (*text != '\0') {
        const char *blank = strstr(text, "\n\n");
        size_t size = blank != NULL ? (size_t)(blank - text) : strlen(text);
        size -= text[size - 1] == '\n'; /* at the end of manual.txt */
        if (text[0] == '=') {
            fprintf(file, ".SH \"%.*s\"\n", (int)size - 2, text + 2);
        } else if (text[0] == '@') {
            write_list(file, (struct word){text, size});
        } else {
            fputs(".PP\n", file);
            man_write_text(file, text, size);
            putc('\n', file);
        }
        text += size + strspn(text + size, "\n");
    }
}

/* Writes a term in bold and its meaning, indented. Quotes around the term make it one argument of .B, whose
 * further arguments would be joined by single blanks; quotes in it are escaped. */
static void write_entry(FILE *file, const char *term, const char *meaning)
{
    fputs(".TP\n.B \"", file);
    man_write_text(file, term, strlen(term));
    fputs("\"\n", file);
    write_line(file, meaning);
}

/* Writes each command as a term, and its purpose as the meaning. */
static void write_examples(FILE *file, const struct example *examples)
{
    for (const struct example *example = examples; example->command != NULL; example++)
        write_entry(file, example->command, example->shows);
}

/* Writes the visible options of a table. `describe` returns an option's term, `help` its meaning. */
static void write_options(FILE *file, const struct option *table,
                          struct description (*describe)(const struct option *option),
                          struct description (*help)(const struct option *option))
{
    for (const struct option *option = table; option->type != OPTION_END; option++) {
        if (!option->hidden)
            write_entry(file, describe(option).text, help(option).text);
        if (option->keys != NULL) { /* indented */
            fputs(".RS\n", file);
            write_options(file, option->keys, describe_parameter, describe_help);
            fputs(".RE\n", file);
        }
    }
}

/* Writes the list that a line of manual.txt refers to, such as "@stages". */
static void write_list(FILE *file, struct word name)
{
    if (word_equals(name, "@formats")) {
        char known[400] = "";
        text_append(known, sizeof known,
                    "climg reads and writes %s. Inputs are recognised by their first bytes; --format or the "
                    "name of the output selects its format.",
                    format_names(NULL, "and").text);
        fputs(".PP\n", file);
        write_line(file, known);
    } else if (word_equals(name, "@stages")) {
        /* A subsection for each: synopsis, keys, manual, examples. */
        for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
            struct description synopsis = describe_stage(*stage);
            fputs(".SS \"", file);
            man_write_text(file, synopsis.text, strlen(synopsis.text));
            fputs("\"\n", file);
            write_line(file, (*stage)->brief);
            write_options(file, (*stage)->options, describe_parameter, describe_help);
            write_paragraphs(file, (*stage)->manual);
            write_examples(file, (*stage)->examples);
        }
    } else if (word_equals(name, "@options")) {
        write_options(file, global_options, describe_global, describe_global_help);
    } else if (word_equals(name, "@environment")) {
        write_options(file, environment_variables, describe_variable, describe_help);
    } else if (word_equals(name, "@examples")) {
        write_examples(file, overview_examples);
    } else if (word_equals(name, "@exit")) {
        for (int i = 0; exit_meanings[i] != NULL; i++) {
            const char number[] = {(char)('0' + i), '\0'};
            write_entry(file, number, exit_meanings[i]);
        }
    }
}

void man_write(FILE *file)
{
    fprintf(file,
            ".\\\" Made by climg --generate=man; changes belong in its source.\n"
            ".TH CLIMG 1 \"\" \"climg %s\" \"User Commands\"\n"
            ".nh\n.ad l\n", /* no hyphenation, no justification: readers can search for names */
            CLIMG_VERSION);
    fputs(".SH NAME\nclimg \\- clean, resize, filter and align pictures, on GPU or CPU\n", file);
    fputs(".SH SYNOPSIS\n.B climg\n[\\fIOPTION\\fR]... [\\fIINPUT\\fR]... [\\fISTAGE\\fR]... "
          "[\\fIOUTPUT\\fR]\n",
          file);
    write_paragraphs(file, manual_text);
    fputs(".SH SEE ALSO\nTutorial, gallery, recipes and other pages are in /usr/local/share/doc/climg, or in "
          "/usr/share/doc/climg.\n.PP\n.BR vips (1),\n.BR clinfo (1),\n.BR pngcheck "
          "(1),\n.BR tiffinfo (1)\n",
          file);
}
