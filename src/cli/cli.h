/* Text in, text out. */
#ifndef CLIMG_CLI_CLI_H
#define CLIMG_CLI_CLI_H

#include "base/error.h"
#include "batch/command.h"
#include "engine/stage.h"
#include "settings/settings.h"

#include <stddef.h>
#include <stdio.h>

/* Parses argv into a command. Touches neither files nor devices. Stops at --help, --version and the like and
 * ignores what follows: then settings_want_information(&command->settings) is true and there is no output. On
 * failure there is nothing to free. */
enum status command_parse(int argc, const char *const *argv, struct command *command, struct error *error);

/* Safe on a zeroed command, and twice. */
void command_free(struct command *command);

/* Writes the text of --help, --version, --complete or --generate (settings_want_information). */
enum status help_write(FILE *file, const struct settings *settings, struct error *error);

/* Writes the manual page, from the option tables, the stages' own manuals and manual.txt. */
void man_write(FILE *file);

/* The embedded file manual.txt. */
extern const char manual_text[];

/* Writes the completions of the argument `word`, which follows the argument `before` ("" or NULL: it is the
 * first): a line for each, with the whole argument, a tab and its meaning. No line: it may be a file name, or
 * anything. The scripts in completions/ call `climg --after=BEFORE --complete=WORD`. */
void completion_write(FILE *file, const char *before, const char *word);

/* Prints for --info what each input is, as text or as a line of JSON. Only the noise needs a device. If there
 * are several inputs, `complain` gets a message for each that cannot be read; the status is then that of a
 * batch. */
enum status info_write(const struct command *command, FILE *out, void (*complain)(const struct error *),
                       struct error *error);

/* Descriptions of stages and options, for --help and the manual page. */

/* Bytes of a description; a unit test checks that none is cut off. */
enum { DESCRIPTION_SIZE = 256 };

struct description {
    char text[DESCRIPTION_SIZE];
};

/* Returns "--scale FACTOR[,KEY=VALUE]...", "--wavelet[=LEVELS]" */
struct description describe_stage(const struct stage *stage);

/* Describes a global option: "-m, --memory auto|buffer|image" */
struct description describe_global(const struct option *option);

/* Describes a row of a stage's table: "SIGMA", "filter=bicubic|bilinear" */
struct description describe_parameter(const struct option *option);

/* Describes an environment variable: "CLIMG_DEVICE" */
struct description describe_variable(const struct option *option);

/* Returns the help of a row with its range and default: "levels (1 to 16, default 4)" */
struct description describe_help(const struct option *option);

/* Returns "image to pyramid" */
struct description describe_kinds(const struct stage *stage);

/* The examples of the overview and the manual page; a NULL command ends them. */
extern const struct example overview_examples[];

/* Writes paragraphs (separated by blank lines) in lines of at most 78 columns, each indented. Line breaks
 * inside a paragraph count as blanks. */
void wrap_paragraphs(FILE *file, const char *text, size_t indent);

/* Writes a term at column 2 and its meaning from column 28 on, on the next line after a long term. */
void wrap_entry(FILE *file, const char *term, const char *meaning);

/* Names that other programs give to a stage or option, and climg's name for it, or a sentence if climg has no
 * such stage. NULL ends them. */
struct alias {
    const char *typed, *answer;
};

extern const struct alias aliases[];

struct hint {
    char text[128];
};

/* Returns the hint for an unknown stage or option, "did you mean --blur?": the name in the table of aliases
 * or the nearest one, after `before`; if none is near, where the names are listed. */
struct hint suggest(const char *before, const char *unknown);

/* Returns the answer of the table of aliases; may be NULL. */
const char *alias_answer(const char *typed);

#endif
