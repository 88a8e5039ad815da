/* Parsing, printing and comparing of values by option tables.
 *
 * A stage's value PRIMARY[,key=value]... is split at its commas. Pieces without a key are joined to the
 * primary again, so that "--convolve 1,2,1" works. Each type has a parser. Its messages begin with the label
 * "--scale 3" and name the valid words or keys. */
#include "settings/option.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LIST_SIZE = 512 }; /* bytes, enough for the words or the keys of any table in a message */

/* Fails with "LABEL: problem". */
static enum status option_reject(const char *label, const char *problem, struct error *error)
{
    return fail(error, STATUS_USAGE, "%s: %s", label, problem);
}

/* Fails if the value is outside [min, max]. Rows without a range have 0 in both. */
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

enum status option_parse_number(const char *text, double *number, struct error *error)
{
    static const char *const units[] = {"px", "pixels", "deg", "degrees", "\xc2\xb0" /* a degree sign */};
    double value = 0, decimals = 0;

    /* Reject common mistakes with advice: a unit; ImageMagick's RADIUSxSIGMA; a decimal comma. */
    const char *rest = text;
    const bool has_number = text_parse_real(&rest, &value);
    for (size_t i = 0; has_number && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(rest, units[i]) == 0)
            return fail(error, STATUS_USAGE, "not a number alone; did you mean %.*s?", (int)(rest - text),
                        text);
    const char *const sigma = text + strspn(text, "0123456789.");
    if (sigma > text && sigma[0] == 'x' && text_to_real(sigma + 1, &value))
        return fail(error, STATUS_USAGE, "not a number alone; did you mean %s?", sigma + 1);
    if (has_number && rest[0] == ',' && isdigit((unsigned char)rest[1]) && text_to_real(rest + 1, &decimals))
        return fail(error, STATUS_USAGE, "not a number; decimals follow a dot");
    if (text_to_real(text, number))
        return STATUS_OK;
    /* 1e999; not "inf" */
    const bool is_too_large = isinf(strtod(text, NULL)) && isdigit((unsigned char)text[strlen(text) - 1]);
    return fail(error, STATUS_USAGE, is_too_large ? "too large" : "not a number");
}

static enum status parse_real(const struct option *option, const char *label, const char *text, void *field,
                              struct error *error)
{
    double value = 0;
    enum status status = option_parse_number(text, &value, error);
    if (status != STATUS_OK)
        error_prefix(error, label);
    else
        status = check_range(option, value, label, error);
    if (status == STATUS_OK)
        *(double *)field = value;
    return status;
}

static enum status parse_choice(const struct option *option, const char *label, const char *text, void *field,
                                struct error *error)
{
    char list[LIST_SIZE] = "";
    const char *cursor = option->choices;
    struct word word;
    for (int index = 0; text_next_word(&cursor, '|', &word); index++) {
        if (word.length == 0)
            continue;
        if (word_equals(word, text)) {
            *(int *)field = index;
            return STATUS_OK;
        }
        text_append(list, sizeof list, "%s%.*s", list[0] != '\0' ? ", " : "", (int)word.length, word.start);
    }
    return fail(error, STATUS_USAGE, "%s: not one of %s%s%s", label, list, option->hint ? "; " : "",
                option->hint ? option->hint : "");
}

/* Returns the power of two of a unit (K, KB and KiB are equal), or -1 if the suffix is no unit. */
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
    /* Split "64K" or "1e10" into digits, additional zeros and the unit. */
    uint64_t value = 0;
    long long exponent;
    size_t digits = strspn(text, "0123456789"), zeros = 0, end = digits;
    if ((text[end] | 0x20) == 'e' && isdigit((unsigned char)text[end + 1]) &&
        text_to_integer(text + end + 1, &exponent) && exponent < 20) {
        zeros = (size_t)exponent;
        end = strlen(text);
    }
    int shift = size_shift(text + end);
    if (digits == 0 || shift < 0)
        return option_reject(label, "not a size; write a whole number, perhaps with K, M, G or T after it",
                             error);

    /* Compute the value, and fail if it exceeds 64 bits. */
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

/* Parses a value by its type. `label` is the option and its value as the user wrote them. */
static enum status parse_typed(const struct option *option, const char *label, const char *text, void *field,
                               struct error *error)
{
    enum status status;
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return STATUS_OK;
    case OPTION_INTEGER:
        return parse_integer(option, label, text, field, error);
    case OPTION_REAL:
        return parse_real(option, label, text, field, error);
    case OPTION_YES_NO:
        *(bool *)field = strcmp(text, "yes") == 0;
        return *(bool *)field || strcmp(text, "no") == 0 ? STATUS_OK
                                                         : option_reject(label, "not yes or no", error);
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
        status = option->parse(text, field, error);
        if (status != STATUS_OK)
            error_prefix(error, label);
        return status;
    case OPTION_END:
        break;
    }
    assert(!"an option without a type");
    return STATUS_FAILED;
}

/* If the guess is a valid value of the option, appends it to the message and returns true. */
static bool accept_guess(const struct option *option, const char *guess, struct error *error)
{
    _Alignas(max_align_t) char field[4096] = {0}; /* larger than the field of any CUSTOM option */
    struct error ignored;
    if (guess[0] == '\0' || parse_typed(option, "", guess, field, &ignored) != STATUS_OK)
        return false;
    text_append(error->text, sizeof error->text, "; did you mean %s?", guess);
    return true;
}

/* Appends a guess to the message about a wrong value. Tries the text in lower case, without px and without
 * punctuation at its end; the text with an x, as in 800x, but not for optional values, as 0x could be the
 * device of --verify; its number without a unit; and a choice that begins like the text. */
static void append_guess(const struct option *option, const char *text, struct error *error)
{
    char simple[LIST_SIZE] = "", width[LIST_SIZE + 1];
    const char *choices = option->choices;
    struct word word;
    double value;
    if (strstr(error->text, "did you mean") != NULL || strlen(text) >= sizeof simple)
        return;
    /* 800PX -> 800, 1600X1600, -> 1600x1600 */
    for (size_t i = 0, length = 0; text[i] != '\0'; i++)
        if (strncasecmp(text + i, "px", 2) == 0)
            i++;
        else
            simple[length++] = (char)tolower((unsigned char)text[i]);
    for (size_t length = strlen(simple); length > 0 && strchr(",;. ", simple[length - 1]) != NULL; length--)
        simple[length - 1] = '\0';
    snprintf(width, sizeof width, "%sx", simple);
    if ((strcmp(simple, text) != 0 && accept_guess(option, simple, error)) ||
        (isdigit((unsigned char)text[0]) && !option->optional && accept_guess(option, width, error)))
        return;
    /* 16bit -> 16, 90% -> 90 */
    const char *rest = simple;
    const bool is_percentage =
        option->type == OPTION_INTEGER || option->max == 100; /* else 50% may mean 0.5 */
    if (text_parse_real(&rest, &value) &&
        (isalpha((unsigned char)rest[0]) || (rest[0] == '%' && is_percentage)) &&
        strpbrk(rest, "0123456789") == NULL) {
        simple[rest - simple] = '\0';
        accept_guess(option, simple, error);
        return;
    }
    /* bi -> bicubic, r -> R; but rec709 is not R, and r not rec709. */
    while (isalpha((unsigned char)text[0]) && choices != NULL && text_next_word(&choices, '|', &word))
        if ((word.length > 1) == (text[1] != '\0') &&
            strncasecmp(word.start, text, word.length < strlen(text) ? word.length : strlen(text)) == 0) {
            snprintf(simple, sizeof simple, "%.*s", (int)word.length, word.start);
            if (accept_guess(option, simple, error))
                return;
        }
}

/* Parses a value. Appends a guess to the message if it is wrong. */
static enum status parse_labelled(const struct option *option, const char *label, const char *text,
                                  void *fields, struct error *error)
{
    const enum status status = parse_typed(option, label, text, (char *)fields + option->offset, error);
    if (status == STATUS_USAGE && text != NULL && text[0] != '\0' && option->type != OPTION_TEXT &&
        option->type != OPTION_SIZE)
        append_guess(option, text, error);
    return status;
}

/* Returns the value for a message: "" in quotes if it is empty. */
static const char *quoted_if_empty(const char *text)
{
    return text[0] != '\0' ? text : "\"\"";
}

enum status option_parse(const struct option *option, const char *what, const char *text, void *fields,
                         struct error *error)
{
    char label[LIST_SIZE] = "";
    if (option->type == OPTION_FLAG && text != NULL)
        return fail(error, STATUS_USAGE, "%s takes no value%s%s", what, option->hint ? "; " : "",
                    option->hint ? option->hint : "");
    text_append(label, sizeof label, "%s", what);
    if (text != NULL)
        text_append(label, sizeof label, " %s", quoted_if_empty(text));
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
    const char *choices = option->choices;
    struct word word = {"", 0};
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
        for (int i = 0; i <= *(const int *)field; i++)
            text_next_word(&choices, '|', &word);
        fprintf(file, "%.*s", (int)word.length, word.start);
        break;
    case OPTION_TEXT:
        if (option->print_content != NULL)
            option->print_content(file, fields);
        else
            print_text(file, *(const char *const *)field != NULL ? *(const char *const *)field : "");
        break;
    case OPTION_SIZE:
        fprintf(file, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    case OPTION_CUSTOM:
        option->print(file, field);
        break;
    case OPTION_END:
        assert(!"an option that cannot be printed");
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

const char *option_words(const struct option *option)
{
    if (option->type == OPTION_YES_NO)
        return "yes|no";
    return option->words != NULL ? option->words() : option->choices;
}

const char *option_value_name(const struct option *option)
{
    const char *words = option_words(option);
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

bool option_needs_value(const struct option *option)
{
    return option->type != OPTION_FLAG && !option->optional;
}

bool options_need_value(const struct option *table)
{
    const struct option *primary = options_primary(table);
    return primary != NULL && !primary->optional;
}

/* State of parsing a stage's value. */
struct value_parser {
    const struct option *table;
    const char *what; /* "--scale", for messages */
    void *fields;
    char *primary; /* the pieces that belong to the primary, joined again */
    bool primary_given;
    uint64_t seen; /* one bit for each row whose key was given */
};

/* Parses "key=value"; `length` is the length of the key. */
static enum status parse_key(struct value_parser *parser, const char *piece, size_t length,
                             struct error *error)
{
    struct word key = {piece, length};
    const struct option *option = options_find(parser->table, key);
    const struct option *primary = options_primary(parser->table);
    if (option == NULL && primary != NULL && primary->value != NULL && strlen(primary->value) == length &&
        strncasecmp(primary->value, piece, length) == 0)
        return fail(error, STATUS_USAGE, "%s: %s is written without a key: %s%c%s", parser->what,
                    primary->value, parser->what, primary->optional ? '=' : ' ', piece + length + 1);
    if (option == NULL) {
        char list[LIST_SIZE] = "";
        for (option = parser->table; option->type != OPTION_END; option++)
            if (option->name != NULL && !option->hidden)
                text_append(list, sizeof list, "%s%s", list[0] != '\0' ? ", " : "", option->name);
        return fail(error, STATUS_USAGE, "%s: unknown key %.*s; the keys are %s", parser->what, (int)length,
                    piece, list);
    }
    assert(option - parser->table < 64);
    uint64_t bit = (uint64_t)1 << (option - parser->table);
    if (parser->seen & bit)
        return fail(error, STATUS_USAGE, "%s: %s is given twice", parser->what, option->name);
    parser->seen |= bit;

    char label[LIST_SIZE] = "";
    text_append(label, sizeof label, "%s %s", parser->what, piece);
    return parse_labelled(option, label, piece + length + 1, parser->fields, error);
}

/* Returns the key that has the choice, as shape= has disc; NULL if none has it. */
static const struct option *key_of_choice(const struct option *table, const char *choice)
{
    for (const struct option *option = table; option->type != OPTION_END; option++) {
        const char *choices = option->name != NULL ? option->choices : NULL;
        struct word word;
        while (choices != NULL && choice[0] != '\0' && text_next_word(&choices, '|', &word))
            if (word_equals(word, choice))
                return option;
    }
    return NULL;
}

/* Parses the value's piece between two commas: a key with its value, or a part of the primary. */
static enum status parse_piece(struct value_parser *parser, const char *piece, struct error *error)
{
    /* A key begins with a letter; "2=3" and "@a=b.txt" belong to the primary. So does "t=30.png" of a
     * table without keys. */
    const bool has_keys = options_primary(parser->table) == NULL || parser->table[1].type != OPTION_END;
    const size_t length = strspn(piece, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (has_keys && piece[0] >= 'a' && piece[0] <= 'z' && piece[length] == '=')
        return parse_key(parser, piece, length, error);
    const struct option *option = options_find(parser->table, (struct word){piece, strlen(piece)});
    if (option != NULL && (parser->primary_given || options_primary(parser->table) == NULL))
        return fail(error, STATUS_USAGE, "%s: %s wants a value: %s=%s", parser->what, piece, piece,
                    option->type == OPTION_YES_NO ? "yes" : option_value_name(option));
    option = parser->primary_given ? key_of_choice(parser->table, piece) : NULL;
    if (option != NULL)
        return fail(error, STATUS_USAGE, "%s: %s needs its key: %s=%s", parser->what, piece, option->name,
                    piece);
    if (options_primary(parser->table) == NULL)
        return fail(error, STATUS_USAGE, "%s: %s is not KEY=VALUE", parser->what, quoted_if_empty(piece));
    if (parser->primary_given)
        strcat(parser->primary, ","); /* it fits: `primary` has room for the whole value */
    strcat(parser->primary, piece);
    parser->primary_given = true;
    return STATUS_OK;
}

/* Parses the primary, or fails if it is required and missing. */
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

    /* Allocate twice the size of the value: a copy for strsep, and room for the primary. Fields may point
     * into both. */
    size_t size = strlen(text) + 1;
    char *copies = allocate_zeroed(2, size, what, error);
    if (copies == NULL)
        return STATUS_FAILED;
    char *rest = memcpy(copies, text, size);
    parser.primary = copies + size;

    /* Parse the keys and collect the pieces of the primary. Then parse the primary. */
    enum status status = STATUS_OK;
    while (status == STATUS_OK && rest != NULL)
        status = parse_piece(&parser, strsep(&rest, ","), error);
    if (status == STATUS_OK)
        status = parse_primary(&parser, error);

    /* Fail if a key has no effect together with the values of the others. */
    for (const struct option *option = table; status == STATUS_OK && option->type != OPTION_END; option++) {
        const bool given = parser.seen & (uint64_t)1 << (option - table);
        const char *why = given && option->unused != NULL ? option->unused(fields) : NULL;
        if (why != NULL)
            status = fail(error, STATUS_USAGE, "%s: %s= %s", what, option->name, why);
    }
    if (status == STATUS_OK)
        *keep = copies;
    else
        free(copies);
    return status;
}
