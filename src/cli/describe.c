/* Texts made from the option tables, for --help and the manual page: synopses of stages and options, their
 * help with range and default, and paragraphs for a terminal of 80 columns.
 *
 * Descriptions are returned by value, with room for the longest text in the tables, as a unit test checks. So
 * nothing is allocated and nothing can fail. */
#include "cli/cli.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

const struct example overview_examples[] = {
    {"climg in.png --wavelet --mosaic=gain=4 out.png",
     "the wavelet transform as a picture, details amplified"},
    {"climg scan.tif --blur 1.5 --scale 1/2 small.png", "smooth, halve, change the format"},
    {"curl ... | climg --blur 1.5 | other-tool", "stdin to stdout"},
    {"climg a.png b.tif c.png --scale 1/2 thumbs/", "several files into a folder"},
    {"climg -r photos/ --denoise -f png clean/", "every image of a folder and of those below it"},
    {NULL, NULL},
};

const char *const exit_meanings[] = {"done",
                                     "failed",
                                     "wrong usage; nothing was written",
                                     "some of several files failed; the others are done",
                                     "--compare: pictures differ, or by more than min-psnr allows",
                                     NULL};

/* Appends a text. */
static void describe_append(struct description *description, const char *text)
{
    text_append(description->text, sizeof description->text, "%s", text);
}

struct description describe_stage(const struct stage *stage)
{
    struct description description = {"--"};
    const struct option *primary = options_primary(stage->options);
    const bool needs_value = options_need_value(stage->options);
    /* The primary value is the table's first row, if there is one; the others are keys. */
    const bool has_keys = stage->options[primary != NULL].type != OPTION_END;
    describe_append(&description, stage->name);
    /* A value that may be left out must follow '='. */
    if (stage->options->type != OPTION_END)
        text_append(description.text, sizeof description.text, "%s%s%s%s",
                    needs_value ? " " : "[=", primary != NULL ? option_value_name(primary) : "",
                    !has_keys         ? ""
                    : primary != NULL ? "[,KEY=VALUE]..."
                                      : "KEY=VALUE[,...]",
                    needs_value ? "" : "]");
    return description;
}

struct description describe_global(const struct option *option)
{
    struct description description = {""};
    const char *value = option_value_name(option);
    if (option->letter != 0)
        text_append(description.text, sizeof description.text, "-%c, ", option->letter);
    text_append(description.text, sizeof description.text, "--%s", option->name);
    if (value != NULL)
        text_append(description.text, sizeof description.text, option->optional ? "[=%s]" : " %s", value);
    return description;
}

struct description describe_parameter(const struct option *option)
{
    struct description description = {""};
    if (option->name != NULL) {
        describe_append(&description, option->name);
        describe_append(&description, "=");
    }
    describe_append(&description, option_value_name(option));
    return description;
}

struct description describe_variable(const struct option *option)
{
    struct description description = {""};
    describe_append(&description, option->name);
    return description;
}

/* Opens the parentheses at the end of a help text, or continues in them after a comma. */
static void begin_remark(struct description *description, bool *is_open)
{
    describe_append(description, *is_open ? ", " : " (");
    *is_open = true;
}

struct description describe_help(const struct option *option)
{
    struct description description = {""};
    bool is_open = false;
    describe_append(&description, option->help);
    /* The words of a choice, if the synopsis has a name (VIEW) instead of them. */
    if (option->type == OPTION_CHOICE && option->value != NULL) {
        begin_remark(&description, &is_open);
        describe_append(&description, option->choices[0] == '|' ? option->choices + 1 : option->choices);
    }
    /* The range. Without limits, both are 0. */
    if (option->min != 0 || option->max != 0) {
        begin_remark(&description, &is_open);
        text_append(description.text, sizeof description.text,
                    isinf(option->max) ? "at least %.15g" : "%.15g to %.15g", option->min, option->max);
    }
    /* The default, unless that is the word "default". */
    if (option->fallback != NULL && strcmp(option->fallback, "default") != 0) {
        begin_remark(&description, &is_open);
        describe_append(&description, "default ");
        describe_append(&description, option->fallback);
    }
    describe_append(&description, is_open ? ")" : "");
    return description;
}

struct description describe_global_help(const struct option *option)
{
    struct description description = describe_help(option);
    const unsigned modes = option_modes(option);
    const char *before = "; also with";
    for (const struct option *row = global_options; row->type != OPTION_END; row++) {
        if ((modes & MODE_CONVERT) == 0 || (modes & row->selects) == 0)
            continue;
        text_append(description.text, sizeof description.text, "%s --%s%s", before, row->name,
                    (modes & row->selects) == MODE_MEASURE ? " --measure" : "");
        before = ",";
    }
    return description;
}

/* ---------------------------------------------------------------- paragraphs */

/* Maximum width of a line, and the columns, counted from 0, of a term and of its meaning in a list. */
enum { LINE_WIDTH = 78, TERM_COLUMN = 2, MEANING_COLUMN = 28 };

/* Returns the columns of a UTF-8 text without wide characters: the bytes that begin a character. */
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

/* Skips the blanks between two words, but does not enter the next paragraph. */
static const char *skip_blanks(const char *text)
{
    while ((*text == ' ' || *text == '\n') && strncmp(text, "\n\n", 2) != 0)
        text++;
    return text;
}

/* Writes a paragraph, whose first word starts at column `indent`, where the cursor is. Returns the text after
 * the paragraph and its blank lines. */
static const char *wrap_paragraph(FILE *file, const char *text, size_t indent)
{
    size_t column = indent;
    for (text = skip_blanks(text); *text != '\0' && *text != '\n'; text = skip_blanks(text)) {
        size_t size = strcspn(text, " \n");
        size_t width = width_of(text, size);
        if (column > indent && column + 1 + width > LINE_WIDTH) {
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
    if (column + 2 > MEANING_COLUMN) { /* less than two blanks would be left */
        putc('\n', file);
        column = 0;
    }
    write_spaces(file, MEANING_COLUMN - column);
    wrap_paragraph(file, meaning, MEANING_COLUMN);
}
