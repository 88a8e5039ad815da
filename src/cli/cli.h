/* Text in, text out. */
#ifndef CLIMG_CLI_CLI_H
#define CLIMG_CLI_CLI_H

#include "base/error.h"
#include "batch/command.h"
#include "engine/stage.h"
#include "settings/settings.h"

#include <stddef.h>
#include <stdio.h>

/* From argv to a command. */

/* Touches neither files nor devices. Stops at --help, --version and the like and ignores what follows: then
 * settings_want_information(&command->settings) is true and there is no output. On failure there is nothing
 * to free. */
enum status command_parse(int argc, const char *const *argv, struct command *command, struct error *error);

/* Safe on a zeroed command, and twice. */
void command_free(struct command *command);

/* The commands that only print text: --help, --version, --complete, --generate. */

/* Writes what the settings ask for (settings_want_information); fails if that cannot be written. */
enum status help_tell(FILE *file, const struct settings *settings, struct error *error);

/* The manual page, made from the option tables and the stages' own manuals. */
void man_write(FILE *file);

/* What it says beside that: the file manual.txt, which is embedded. */
extern const char manual_text[];

/* Completion for shells, whose scripts in completions/ pass on `climg --after=BEFORE --complete=WORD` and
 * show the answers. Writes what the argument `word`, which follows `before` ("" or NULL: nothing), may
 * become: one line for each, the whole argument, a tab and what it means. No line: a file name, or anything.
 */
void completion_write(FILE *file, const char *before, const char *word);

/* --info: what files are and say, without a device, and with one the noise. */

/* Prints what each input is, as text or as a line of JSON. Of several inputs `complain` gets a message for
 * each that cannot be read; the status is then that of a batch. */
enum status info_tell(const struct command *command, FILE *out, void (*complain)(const struct error *),
                      struct error *error);

/* Text about stages and options, for --help and the manual page, and its lines for a terminal of 80 columns.
 */

/* Size of a description; a unit test checks that none is cut off. */
enum { DESCRIPTION_SIZE = 256 };

struct description {
    char text[DESCRIPTION_SIZE];
};

/* "--scale FACTOR[,KEY=VALUE]...", "--wavelet[=LEVELS]" */
struct description describe_stage(const struct stage *stage);

/* A global option: "-m, --memory auto|buffer|image" */
struct description describe_global(const struct option *option);

/* A row of a stage's table: "SIGMA", "filter=bicubic|bilinear" */
struct description describe_parameter(const struct option *option);

/* An environment variable: "CLIMG_DEVICE" */
struct description describe_variable(const struct option *option);

/* The help of a row with its range and default: "levels (1 to 16, default 4)" */
struct description describe_help(const struct option *option);

/* "image to pyramid" */
struct description describe_kinds(const struct stage *stage);

/* For the overview and the manual page; ends with a NULL command. */
extern const struct example overview_examples[];

/* Writes paragraphs (separated by blank lines) in lines of at most 78 columns, each indented. Line breaks
 * inside a paragraph count as blanks. */
void wrap_paragraphs(FILE *file, const char *text, size_t indent);

/* Writes a term at column 2 and what it means from column 28 on, on a line of its own after a long term. */
void wrap_entry(FILE *file, const char *term, const char *meaning);

/* "did you mean --blur?" */

/* What other programs call a stage or option, and climg's name for it, or a sentence if climg has none. Ends
 * with NULL. */
struct alias {
    const char *typed, *answer;
};

extern const struct alias aliases[];

struct hint {
    char text[128];
};

/* The hint for an unknown stage or option: the name that is meant (from the table, or the nearest), preceded
 * by `before`; otherwise where the names are listed. */
struct hint suggest(const char *before, const char *unknown);

/* The table's answer; NULL: none. */
const char *alias_answer(const char *typed);

#endif
