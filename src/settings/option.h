/* Option tables: each option is described once. Parser, --help, manual page and completion read the tables.
 */
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
    OPTION_CHOICE,  /* int: the index of the word in `choices`; an empty first word is the state "not given",
                       which a user cannot write: "|png|tiff" */
    OPTION_TEXT,    /* const char *, pointing into argv or the table */
    OPTION_SIZE,    /* uint64_t: bytes or a count, with K M G T as powers of 1024 */
    OPTION_CUSTOM,  /* `parse` stores it */
};

/* Effect of a global option on the content of outputs. Outputs name such options, and --resume compares them.
 */
enum option_effect {
    EFFECT_NONE,
    EFFECT_OUTPUT,
    EFFECT_STAGES, /* if there are stages */
};

struct option {
    const char *name; /* without dashes; NULL in a stage's table: the PRIMARY value */
    char letter;      /* short form of a global option, 0 for none */
    enum option_type type;
    size_t offset;        /* offset of the field in the struct that the table fills */
    const char *fallback; /* the default, as a user would write it; NULL: the primary is required unless it is
                             `optional`, any other option leaves its field zero */
    double min, max;      /* INTEGER, REAL, SIZE; both 0: any finite number; max INFINITY: no upper end */
    const char *choices;  /* CHOICE: "bicubic|bilinear|nearest"; CUSTOM, TEXT: words for completion or NULL */
    const char *(*words)(void); /* CUSTOM: instead of `choices`, computed */
    const char *value;          /* its name in help: SIGMA; NULL for flags and choices */
    bool optional;              /* the value may be left out; it must follow '=' */
    const char *implied;        /* value of a global option with an `optional` value if it is left out */
    bool hidden;                /* left out of help, manual and completions */
    enum option_effect effect;  /* of a global option */
    const char *help;           /* one line, lower case, no full stop */
    const char *hint;           /* INTEGER: ends the message about a text that is no number; may be NULL */
    /* CUSTOM. The message says only what is wrong with the value: option_parse puts "--scale 3: " before it.
     */
    enum status (*parse)(const char *text, void *field, struct error *error);
    /* Prints the effective value for option_print; `fields` is the whole struct. For CUSTOM, and for a TEXT
     * whose value is more than its text (the name of a file). */
    void (*print)(FILE *file, const void *fields);
    /* For a stage's key that has no effect together with some values of the others: returns the reason
     * ("belongs to auto"), or NULL if it has an effect. A key without effect is an error. */
    const char *(*unused)(const void *fields);
};

/* Sets every field to its fallback. The tables are checked by a unit test, so this cannot fail. */
void options_set_defaults(const struct option *table, void *fields);

/* Parses one value into its field. The message names `what` (such as "--blur" or "--scale filter"), the
 * value, and what would be right. STATUS_USAGE on a bad value. `text` must live as long as the fields; it is
 * NULL for a FLAG. */
enum status option_parse(const struct option *option, const char *what, const char *text, void *fields,
                         struct error *error);

/* Parses a stage's `PRIMARY[,key=value]...` (NULL or "": all defaults, an error if the primary is required)
 * after setting the defaults. Comma-separated pieces without a known `key=` belong to the primary, so a
 * primary may hold commas. *keep receives one allocation that the fields
 * may point into; the caller frees it (NULL on failure). STATUS_USAGE on a bad value, a key given twice, one
 * that is `unused`, or an unknown key (the message lists the keys). `what` is "--scale". */
enum status options_parse_value(const struct option *table, const char *what, const char *text, void *fields,
                                char **keep, struct error *error);

/* Prints the effective value in canonical form: equal values give equal texts, and parsing the text gives the
 * same value. Texts are printed as given, white space as blanks. */
void option_print(FILE *file, const struct option *option, const void *fields);

/* Returns what option_print would print; the caller frees it. NULL if memory is out. */
char *option_value_text(const struct option *option, const void *fields);

/* Compares the values of an option in two structs. Returns false if memory is out. */
bool option_compare(const struct option *option, const void *fields, const void *others, bool *differs);

/* True if the values differ, or if memory is out. */
bool option_differs(const struct option *option, const void *fields, const void *others);

/* Prints the fewest digits that parse to the same number. */
void print_real(FILE *file, double value);

/* Prints a text on one line: white space becomes blanks. */
void print_text(FILE *file, const char *text);

/* Returns `choices` or `words`, or NULL. */
const char *option_words(const struct option *option);

/* Returns the name of the value in help: "SIGMA", "auto|buffer|image"; NULL for a flag. */
const char *option_value_name(const struct option *option);

/* Returns the row of that name, or NULL. */
const struct option *options_find(const struct option *table, struct word name);

/* Returns the row of the PRIMARY value, or NULL. */
const struct option *options_primary(const struct option *table);

/* True if a stage with this table requires a value; otherwise a value must follow '='. */
bool options_need_value(const struct option *table);

#endif
