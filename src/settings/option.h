/* Option tables: each option is described once. Parser, --help, manual page and completion read the tables.
 *
 * A table is an array of struct option that ends with a row of type OPTION_END (a zeroed row). It describes
 * the fields of one struct: struct settings for global options, struct environment for variables, and for
 * each stage its parameters. Tables are constant; fields belong to the caller. Thread safety: any thread may
 * call; only one thread may parse into a struct at a time. */
#ifndef CLIMG_SETTINGS_OPTION_H
#define CLIMG_SETTINGS_OPTION_H

#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum option_type {
    OPTION_END = 0, /* the row that ends a table */
    OPTION_FLAG,    /* bool; takes no value */
    OPTION_INTEGER, /* int */
    OPTION_REAL,    /* double */
    OPTION_YES_NO,  /* bool, written yes or no */
    OPTION_CHOICE,  /* int: the index of the word in `choices`; an empty first word, as in "|png|tiff",
                       means "not given"; users cannot write it */
    OPTION_TEXT,    /* const char *, which points into argv, the environment or the table */
    OPTION_SIZE,    /* uint64_t: bytes or a count, with K M G T as powers of 1024 */
    OPTION_CUSTOM,  /* `parse` stores it */
};

/* Effect of a global option on the content of outputs. Options with an effect are stored in the outputs'
 * metadata, and --resume compares them. */
enum option_effect {
    EFFECT_NONE,
    EFFECT_OUTPUT,
    EFFECT_STAGES, /* only if there are stages */
};

/* A command's mode. Each is a bit, as an option may have an effect in several. */
enum command_mode {
    MODE_CONVERT = 1 << 0, /* process files; also with --dry-run */
    MODE_INFO = 1 << 1,
    MODE_MEASURE = 1 << 2, /* --info --measure */
    MODE_CHECK = 1 << 3,
    MODE_COMPARE = 1 << 4,
    MODE_LIST_DEVICES = 1 << 5,
    MODE_SELFTEST = 1 << 6,
    MODE_WARM = 1 << 7,
    MODE_COMPLETE = 1 << 8,
    MODES_READING = MODE_INFO | MODE_MEASURE | MODE_CHECK | MODE_COMPARE, /* read files and write none */
    MODES_OF_FILES = MODE_CONVERT | MODES_READING,
    MODES_OF_STAGES = MODE_CONVERT | MODE_MEASURE | MODE_WARM, /* run stages on one device */
    MODES_OF_DEVICES = MODES_OF_STAGES | MODE_LIST_DEVICES | MODE_SELFTEST,
    MODES_ALL = MODES_OF_FILES | MODES_OF_DEVICES,
};

/* A row of a table: one option, one key of a stage, or one variable. */
struct option {
    const char *name; /* without dashes; NULL in a stage's table: the PRIMARY value */
    char letter;      /* short form of a global option; 0: none */

    /* The value. */
    enum option_type type;
    size_t offset; /* offset of the field in the struct that the table fills */

    /* The default, as a user would write it. NULL: the field remains zero; a primary without `optional` is
     * then required. */
    const char *fallback;

    double min, max;     /* INTEGER, REAL, SIZE; both 0: any finite number; max INFINITY: no upper limit */
    const char *choices; /* CHOICE: "bicubic|bilinear|nearest"; CUSTOM, TEXT: words for completion or NULL */
    const char *(*words)(void); /* CUSTOM: returns the words, instead of `choices`; may be NULL */
    bool optional;              /* the value may be left out; if present, it must follow '=' */
    const char *implied;        /* value of a global option whose `optional` value is left out */
    enum option_effect effect;  /* global options only */
    unsigned selects; /* global options: the mode that it selects. --info selects one of two; 0: none */
    unsigned modes;   /* global options: the modes in which the option has an effect; 0: MODE_CONVERT alone */

    /* Global options of type TEXT with a value PRIMARY[,KEY=VALUE]...: the table of this value, for
     * options_parse_value. May be NULL. */
    const struct option *keys;

    /* Texts for help, manual and completions. */
    const char *value; /* name of the value: SIGMA; NULL for flags and choices */
    const char *help;  /* one line, lower case, no full stop */
    bool hidden;       /* left out of help, manual and completions */
    bool writes;       /* the value is the path of a file that is written */

    const char *hint; /* INTEGER, CHOICE, FLAG: ends the message about a wrong value; may be NULL */

    /* CUSTOM: parses the value. Its message describes only the problem: option_parse prefixes it with
     * "--scale 3: ". */
    enum status (*parse)(const char *text, void *field, struct error *error);

    /* CUSTOM: prints the effective value, for option_print. */
    void (*print)(FILE *file, const void *field);

    /* TEXT that names a file whose content is the value: prints it, for option_print. `fields` is the whole
     * struct. May be NULL. */
    void (*print_content)(FILE *file, const void *fields);

    /* Keys of a stage: returns why the key has no effect together with the other values ("belongs to auto"),
     * or NULL if it has one. A key that is given without effect is an error. May be NULL. */
    const char *(*unused)(const void *fields);
};

/* Parses a finite number, for options of type CUSTOM. Returns STATUS_USAGE otherwise; the message has advice
 * for common mistakes, such as a unit. */
enum status option_parse_number(const char *text, double *number, struct error *error);

/* Sets every field that has a default. Cannot fail, as a unit test parses the defaults of all tables. */
void options_set_defaults(const struct option *table, void *fields);

/* Parses one value into its field. A message contains `what` (such as "--blur" or "--scale filter"), the
 * value, and the valid words or range. Returns STATUS_USAGE for an invalid value. `text` must live as long as
 * the fields; it is NULL for a FLAG. */
enum status option_parse(const struct option *option, const char *what, const char *text, void *fields,
                         struct error *error);

/* Sets the defaults, then parses a stage's `PRIMARY[,key=value]...`. NULL or "" means all defaults. Pieces
 * between commas that do not begin with "key=" are joined to the primary, so a primary may contain commas.
 * `what` is "--scale". *keep receives an allocation that the fields may point into, or NULL; the caller frees
 * it after the last use of the fields. Returns STATUS_USAGE for a missing primary, an invalid value, an
 * unknown key, a key that is given twice, and a key without effect. */
enum status options_parse_value(const struct option *table, const char *what, const char *text, void *fields,
                                char **keep, struct error *error);

/* Prints the effective value in canonical form: equal values have equal texts. Parsing the text returns the
 * same value, with two exceptions: the white space of a TEXT is printed as blanks, and `print_content` may
 * print the content of a file instead of its name. */
void option_print(FILE *file, const struct option *option, const void *fields);

/* Returns the text that option_print prints; the caller frees it. NULL if out of memory. */
char *option_value_text(const struct option *option, const void *fields);

/* Prints a number with the fewest digits, at least 6 significant ones, that parse to the same number. */
void print_real(FILE *file, double value);

/* Prints a text on one line: white space becomes blanks. */
void print_text(FILE *file, const char *text);

/* Returns the words of a value, separated by |: `choices`, or the result of `words`. NULL if it has none. */
const char *option_words(const struct option *option);

/* Returns the name of the value in help: "SIGMA", "yes|no", "auto|buffer|image"; NULL for a flag. */
const char *option_value_name(const struct option *option);

/* Returns the row of that name, or NULL. */
const struct option *options_find(const struct option *table, struct word name);

/* True if the option requires a value: after '=', or else as the next argument. */
bool option_needs_value(const struct option *option);

/* Returns the row of the PRIMARY value, or NULL. */
const struct option *options_primary(const struct option *table);

/* True if a stage with this table requires a value: after '=', or else as the next argument. A value that is
 * not required must follow '='. */
bool options_need_value(const struct option *table);

#endif
