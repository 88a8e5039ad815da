/* Parsing, printing and comparing of values by option tables.
 *
 * A stage's value PRIMARY[,key=value]... is cut at its commas; pieces without a known key are joined to the
 * primary again, so that "--convolve 1,2,1" works. Messages are "--scale 3: problem", with the words or keys
 * that would be right. */
#include "settings/option.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LIST_SIZE = 512 }; /* enough for the words or the keys of any table in a message */

/* Fails with "LABEL: problem". */
static enum status option_reject(const char *label, const char *problem, struct error *error)
{
    return fail(error, STATUS_USAGE, "%s: %s", label, problem);
}

static enum status check_range(const struct option *option, double value, const char *label,
                               struct error *error)
{
    if ((option->min == 0 && option->max == 0) || (value >= option->min && value <= option->max))
        return STATUS_OK;
    if (isinf(option->max))
        return fail(error, STATUS_USAGE, "%s: must be at least %.15g", label, option->min);
    return fail(error, STATUS_USAGE, "%s: must be from %.15g to %.15g", label, option->min, option->max);
}

static enum status parse_integer(const struct option *option, const char *label, const char *text,
                                 void *field, struct error *error)
{
    long long value = 0;
    if (!text_to_integer(text, &value))
        return fail(error, STATUS_USAGE, "%s: not a whole number%s%s", label, option->hint ? "; " : "",
                    option->hint ? option->hint : "");
    enum status status = check_range(option, (double)value, label, error);
    if (status == STATUS_OK && (value < INT_MIN || value > INT_MAX))
        status = option_reject(label, "too large", error);
    if (status == STATUS_OK)
        *(int *)field = (int)value;
    return status;
}

static bool is_unit(const char *text)
{
    static const char *const units[] = {"px", "pixels", "deg", "degrees", "\xc2\xb0" /* a degree sign */};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(text, units[i]) == 0)
            return true;
    return false;
}

static bool has_decimal_comma(const char *text)
{
    double whole = 0, decimals = 0;
    const char *comma = strchr(text, ',');
    return comma != NULL && text_take_real(&text, &whole) && text == comma &&
           isdigit((unsigned char)comma[1]) && text_to_real(comma + 1, &decimals);
}

static enum status parse_real(const struct option *option, const char *label, const char *text, void *field,
                              struct error *error)
{
    double value = 0;
    const char *rest = text;
    if (text_take_real(&rest, &value) && is_unit(rest))
        return fail(error, STATUS_USAGE, "%s: not a number alone; did you mean %.*s?", label,
                    (int)(rest - text), text);
    if (strncmp(text, "0x", 2) == 0 && text_to_real(text + 2, &value)) /* ImageMagick's RADIUSxSIGMA */
        return fail(error, STATUS_USAGE, "%s: not a number alone; did you mean %s?", label, text + 2);
    if (has_decimal_comma(text))
        return option_reject(label, "not a number; decimals follow a dot", error);
    if (!text_to_real(text, &value))
        return option_reject(label, "not a finite number", error);
    enum status status = check_range(option, value, label, error);
    if (status == STATUS_OK)
        *(double *)field = value;
    return status;
}

static enum status parse_yes_no(const char *label, const char *text, void *field, struct error *error)
{
    bool yes = strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "no") != 0)
        return option_reject(label, "not yes or no", error);
    *(bool *)field = yes;
    return STATUS_OK;
}

static enum status reject_choice(const struct option *option, const char *label, struct error *error)
{
    char list[LIST_SIZE] = "";
    const char *cursor = option->choices;
    struct word word;
    while (text_next_word(&cursor, '|', &word)) {
        if (word.length > 0)
            text_append(list, sizeof list, "%s%.*s", list[0] != '\0' ? ", " : "", (int)word.length,
                        word.start);
    }
    return fail(error, STATUS_USAGE, "%s: not one of %s", label, list);
}

static enum status parse_choice(const struct option *option, const char *label, const char *text, void *field,
                                struct error *error)
{
    const char *cursor = option->choices;
    struct word word;
    for (int index = 0; text_next_word(&cursor, '|', &word); index++) {
        if (word.length > 0 && word_equals(word, text)) {
            *(int *)field = index;
            return STATUS_OK;
        }
    }
    return reject_choice(option, label, error);
}

/* Returns the left shift of a unit (K, KB and KiB are equal), or -1 if there is no such unit. */
static int size_shift(const char *suffix)
{
    static const char letters[] = "KMGT";
    if (suffix[0] == '\0')
        return 0;
    const char *found = strchr(letters, suffix[0] & ~0x20); /* in upper case */
    const char *rest = suffix + 1;
    bool bytes = rest[0] == '\0' || strcasecmp(rest, "B") == 0 || strcasecmp(rest, "iB") == 0;
    if (!bytes || found == NULL || *found == '\0')
        return -1;
    return 10 * (int)(found - letters + 1);
}

static enum status parse_size(const struct option *option, const char *label, const char *text, void *field,
                              struct error *error)
{
    uint64_t value = 0;
    size_t digits = strspn(text, "0123456789"), zeros = 0, end = digits;
    if ((text[end] | 0x20) == 'e' && isdigit((unsigned char)text[end + 1]) && text[end + 2] == '\0') {
        zeros = (size_t)(text[end + 1] - '0'); /* 1e6 */
        end += 2;
    }
    int shift = size_shift(text + end);
    if (digits == 0 || shift < 0)
        return option_reject(label, "not a size; write a whole number, perhaps with K, M, G or T after it",
                             error);
    for (size_t i = 0; i < digits + zeros; i++) {
        unsigned digit = i < digits ? (unsigned)(text[i] - '0') : 0;
        if (value > (UINT64_MAX - digit) / 10)
            return option_reject(label, "too large", error);
        value = value * 10 + digit;
    }
    if (value > UINT64_MAX >> shift)
        return option_reject(label, "too large", error);
    value <<= shift;
    enum status status = check_range(option, (double)value, label, error);
    if (status == STATUS_OK)
        *(uint64_t *)field = value;
    return status;
}

static enum status parse_custom(const struct option *option, const char *label, const char *text, void *field,
                                struct error *error)
{
    enum status status = option->parse(text, field, error);
    if (status != STATUS_OK)
        error_prefix(error, label);
    return status;
}

/* `label` is the option and its value as the user wrote them. */
static enum status parse_labelled(const struct option *option, const char *label, const char *text,
                                  void *fields, struct error *error)
{
    void *field = (char *)fields + option->offset;
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return STATUS_OK;
    case OPTION_INTEGER:
        return parse_integer(option, label, text, field, error);
    case OPTION_REAL:
        return parse_real(option, label, text, field, error);
    case OPTION_YES_NO:
        return parse_yes_no(label, text, field, error);
    case OPTION_CHOICE:
        return parse_choice(option, label, text, field, error);
    case OPTION_TEXT:
        if (text[0] == '\0' && option->value != NULL && !option->hidden && !option->optional)
            return fail(error, STATUS_USAGE, "%s: needs %s", label, option->value);
        *(const char **)field = text;
        return STATUS_OK;
    case OPTION_SIZE:
        return parse_size(option, label, text, field, error);
    case OPTION_CUSTOM:
        return parse_custom(option, label, text, field, error);
    case OPTION_END:
        break;
    }
    assert(!"an option without a type");
    return STATUS_FAILED;
}

/* Shows an empty value as "". */
static const char *visible(const char *text)
{
    return text[0] != '\0' ? text : "\"\"";
}

enum status option_parse(const struct option *option, const char *what, const char *text, void *fields,
                         struct error *error)
{
    char label[LIST_SIZE] = "";
    if (option->type == OPTION_FLAG && text != NULL)
        return fail(error, STATUS_USAGE, "%s takes no value", what);
    text_append(label, sizeof label, "%s", what);
    if (text != NULL)
        text_append(label, sizeof label, " %s", visible(text));
    return parse_labelled(option, label, text, fields, error);
}

void options_set_defaults(const struct option *table, void *fields)
{
    for (const struct option *option = table; option->type != OPTION_END; option++) {
        struct error error = {.text = ""};
        if (option->fallback == NULL)
            continue;
        enum status status = option_parse(option, "default", option->fallback, fields, &error);
        assert(status == STATUS_OK);
        (void)status;
    }
}

static void print_choice(FILE *file, const char *choices, int index)
{
    struct word word = {"", 0};
    while (index-- >= 0 && text_next_word(&choices, '|', &word))
        ;
    fprintf(file, "%.*s", (int)word.length, word.start);
}

void print_real(FILE *file, double value)
{
    char text[32] = "";
    double read = 0;
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (text_to_real(text, &read) && read == value)
            break;
    }
    fputs(text, file);
}

void print_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++)
        fputc(strchr("\t\n\v\f\r", *text) != NULL ? ' ' : *text, file);
}

void option_print(FILE *file, const struct option *option, const void *fields)
{
    const void *field = (const char *)fields + option->offset;
    if (option->print != NULL) {
        option->print(file, fields);
        return;
    }
    switch (option->type) {
    case OPTION_INTEGER:
        fprintf(file, "%d", *(const int *)field);
        break;
    case OPTION_REAL:
        print_real(file, *(const double *)field);
        break;
    case OPTION_FLAG:
    case OPTION_YES_NO:
        fputs(*(const bool *)field ? "yes" : "no", file);
        break;
    case OPTION_CHOICE:
        print_choice(file, option->choices, *(const int *)field);
        break;
    case OPTION_TEXT:
        print_text(file, *(const char *const *)field != NULL ? *(const char *const *)field : "");
        break;
    case OPTION_SIZE:
        fprintf(file, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    case OPTION_CUSTOM:
    case OPTION_END:
        assert(!"an option that cannot be written");
        break;
    }
}

char *option_value_text(const struct option *option, const void *fields)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL)
        return NULL;
    option_print(file, option, fields);
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

/* Compares texts: equal values have equal texts. */
bool option_compare(const struct option *option, const void *fields, const void *others, bool *differs)
{
    char *a = option_value_text(option, fields), *b = option_value_text(option, others);
    const bool done = a != NULL && b != NULL;
    *differs = !done || strcmp(a, b) != 0;
    free(a);
    free(b);
    return done;
}

bool option_differs(const struct option *option, const void *fields, const void *others)
{
    bool differs;
    option_compare(option, fields, others, &differs);
    return differs;
}

const char *option_words(const struct option *option)
{
    return option->words != NULL ? option->words() : option->choices;
}

const char *option_value_name(const struct option *option)
{
    const char *words = option_words(option);
    if (option->value == NULL && option->type == OPTION_YES_NO)
        return "yes|no";
    if (option->value != NULL || words == NULL)
        return option->value;
    return words[0] == '|' ? words + 1 : words;
}

const struct option *options_find(const struct option *table, struct word name)
{
    for (const struct option *option = table; option->type != OPTION_END; option++) {
        if (option->name != NULL && word_equals(name, option->name))
            return option;
    }
    return NULL;
}

const struct option *options_primary(const struct option *table)
{
    return table->type != OPTION_END && table->name == NULL ? table : NULL;
}

bool options_need_value(const struct option *table)
{
    const struct option *primary = options_primary(table);
    return primary != NULL && !primary->optional;
}

/* State of parsing a stage's value. */
struct value_parser {
    const struct option *table;
    const char *what;
    void *fields;
    char *pieces;  /* a copy of the value, chopped at its commas */
    char *primary; /* the pieces that belong to the primary, joined again */
    bool primary_given;
    uint64_t seen; /* one bit for each row whose key was given */
};

/* Returns the length of the key in "key=value", or 0 if the piece is something else: a number, or "@a=b.txt".
 */
static size_t key_length(const char *piece)
{
    size_t length = strspn(piece, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    bool starts_with_letter = piece[0] >= 'a' && piece[0] <= 'z';
    return starts_with_letter && piece[length] == '=' ? length : 0;
}

static enum status reject_key(const struct value_parser *parser, struct word key, struct error *error)
{
    char list[LIST_SIZE] = "";
    for (const struct option *option = parser->table; option->type != OPTION_END; option++) {
        if (option->name != NULL && !option->hidden)
            text_append(list, sizeof list, "%s%s", list[0] != '\0' ? ", " : "", option->name);
    }
    if (list[0] == '\0')
        return fail(error, STATUS_USAGE, "%s: unknown key %.*s; it has no keys", parser->what,
                    (int)key.length, key.start);
    return fail(error, STATUS_USAGE, "%s: unknown key %.*s; the keys are %s", parser->what, (int)key.length,
                key.start, list);
}

static enum status parse_key(struct value_parser *parser, const char *piece, size_t length,
                             struct error *error)
{
    struct word key = {piece, length};
    const struct option *option = options_find(parser->table, key);
    if (option == NULL)
        return reject_key(parser, key, error);
    assert(option - parser->table < 64);
    uint64_t bit = (uint64_t)1 << (option - parser->table);
    if (parser->seen & bit)
        return fail(error, STATUS_USAGE, "%s: %s is given twice", parser->what, option->name);
    parser->seen |= bit;

    char label[LIST_SIZE] = "";
    text_append(label, sizeof label, "%s %s", parser->what, piece);
    return parse_labelled(option, label, piece + length + 1, parser->fields, error);
}

static enum status parse_piece(struct value_parser *parser, const char *piece, struct error *error)
{
    size_t length = key_length(piece);
    if (length > 0)
        return parse_key(parser, piece, length, error);
    const struct option *option = options_find(parser->table, (struct word){piece, strlen(piece)});
    if (option != NULL && (parser->primary_given || options_primary(parser->table) == NULL))
        return fail(error, STATUS_USAGE, "%s: %s wants a value: %s=%s", parser->what, piece, piece,
                    option->type == OPTION_YES_NO ? "yes" : option_value_name(option));
    if (options_primary(parser->table) == NULL)
        return fail(error, STATUS_USAGE, "%s: %s is not KEY=VALUE", parser->what, visible(piece));
    if (parser->primary_given)
        strcat(parser->primary, ","); /* it fits: `primary` has room for the whole value */
    strcat(parser->primary, piece);
    parser->primary_given = true;
    return STATUS_OK;
}

static enum status parse_pieces(struct value_parser *parser, struct error *error)
{
    char *rest = parser->pieces;
    for (char *piece = strsep(&rest, ","); piece != NULL; piece = strsep(&rest, ",")) {
        enum status status = parse_piece(parser, piece, error);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status parse_primary(const struct value_parser *parser, struct error *error)
{
    const struct option *primary = options_primary(parser->table);
    if (parser->primary_given)
        return option_parse(primary, parser->what, parser->primary, parser->fields, error);
    if (primary != NULL && primary->fallback == NULL && !primary->optional)
        return fail(error, STATUS_USAGE, "%s needs a value: %s %s", parser->what, parser->what,
                    option_value_name(primary));
    return STATUS_OK;
}

static enum status refuse_unused(const struct value_parser *parser, struct error *error)
{
    for (const struct option *option = parser->table; option->type != OPTION_END; option++) {
        const bool given = parser->seen & (uint64_t)1 << (option - parser->table);
        const char *why = given && option->unused != NULL ? option->unused(parser->fields) : NULL;
        if (why != NULL)
            return fail(error, STATUS_USAGE, "%s: %s= %s", parser->what, option->name, why);
    }
    return STATUS_OK;
}

enum status options_parse_value(const struct option *table, const char *what, const char *text, void *fields,
                                char **keep, struct error *error)
{
    struct value_parser parser = {.table = table, .what = what, .fields = fields};
    *keep = NULL;
    options_set_defaults(table, fields);
    if (text == NULL || text[0] == '\0')
        return parse_primary(&parser, error);
    if (table->type == OPTION_END)
        return fail(error, STATUS_USAGE, "%s takes no value", what);

    size_t size = strlen(text) + 1;
    char *copies = allocate_zeroed(2, size, what, error);
    if (copies == NULL)
        return STATUS_FAILED;
    parser.pieces = memcpy(copies, text, size);
    parser.primary = copies + size;
    enum status status = parse_pieces(&parser, error);
    if (status == STATUS_OK)
        status = parse_primary(&parser, error);
    if (status == STATUS_OK)
        status = refuse_unused(&parser, error);
    if (status == STATUS_OK)
        *keep = copies;
    else
        free(copies);
    return status;
}
