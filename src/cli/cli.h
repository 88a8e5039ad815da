/* The command line: parsing, help, manual page, completion and --info. Text in, text out.
 *
 * Everything about stages and options comes from their tables (engine/stage.h, settings/option.h), so a new
 * one needs no change here. Functions that write to a FILE leave its errors to the caller (ferror).
 * Thread safety: all of it runs in the main thread. */
#ifndef CLIMG_CLI_CLI_H
#define CLIMG_CLI_CLI_H

#include "base/error.h"
#include "batch/command.h"
#include "engine/stage.h"
#include "image/image.h"
#include "settings/settings.h"

#include <stddef.h>
#include <stdio.h>

/* Parses argv into a command, whose strings point into argv. Opens no file and no device. Stops at --help,
 * --version and the like and ignores further arguments: then settings_prints_text(&command->settings) is
 * true and there is no output. Fails with STATUS_USAGE, or STATUS_FAILED if out of memory; on failure nothing
 * needs to be freed. After success call command_free. */
enum status command_parse(int argc, const char *const *argv, struct command *command, struct error *error);

/* Frees what the command owns. May be called twice, and on a zeroed command. */
void command_free(struct command *command);

/* Writes the text of --help, --version, --complete or --generate (settings_prints_text), and flushes it.
 * Fails for an unknown topic of --help, or if the file cannot be written. */
enum status help_write(FILE *file, const struct settings *settings, struct error *error);

/* Writes --help=json: stages, options, variables, formats and the manual as one JSON object
 * (docs/help.schema.json). */
void help_write_json(FILE *file);

/* The line of --help after "Usage: ". */
extern const char help_usage[];

/* Returns the title of the group that --help=all lists the stage in. */
const char *stage_group(const struct stage *stage);

/* Writes the manual page, from the option tables, the stages' own manuals and manual.txt. */
void man_write(FILE *file);

/* The embedded file manual.txt, the prose of the manual page. Blank lines separate paragraphs; "= TITLE" is a
 * heading, and "@NAME" is replaced by a list from the tables. */
extern const char manual_text[];

/* Writes the completions of the argument `word`: for each a line with the whole argument, a tab and its
 * meaning. `before` is the argument before it, "" or NULL for the first one. Without a line, the shell
 * completes file names. The scripts in completions/ call `climg --after=BEFORE --complete=WORD`. */
void completion_write(FILE *file, const char *before, const char *word);

/* Prints the header of each input for --info, as text or as a line of JSON. Only --measure needs a device.
 * If there are several inputs, calls `report_error` for each that cannot be read. Returns STATUS_PARTIAL if
 * some can be read and some not, STATUS_FAILED if none can. */
enum status info_write(const struct command *command, FILE *out, void (*report_error)(const struct error *),
                       struct error *error);

/* Compares each input with the reference of --compare and prints the figures, as text, table or lines of
 * JSON. Fails like info_write if inputs cannot be read; otherwise returns STATUS_DIFFERENT if a pair does not
 * pass. */
enum status compare_write(const struct command *command, FILE *out,
                          void (*report_error)(const struct error *), struct error *error);

/* Describes the channels for people: "RGB with alpha". */
const char *channel_layout_name(const struct image_info *info);

/* Returns the name of channel `channel`, counted from 0; for video, of one of the three planes. */
const char *channel_name(const struct image_info *info, int channel);

/* ---------------------------------------------------------------- texts from the tables */

/* Bytes of a description, with the final 0. A unit test checks that none is cut off. */
enum { DESCRIPTION_SIZE = 320 };

/* A text about a stage or option, for --help and the manual page. */
struct description {
    char text[DESCRIPTION_SIZE];
};

/* Describes a stage: "--scale FACTOR[,KEY=VALUE]...", "--wavelet[=LEVELS]" */
struct description describe_stage(const struct stage *stage);

/* Describes a global option: "-m, --memory auto|buffer|image" */
struct description describe_global(const struct option *option);

/* Describes a row of a stage's table: "SIGMA", "filter=bicubic|bilinear" */
struct description describe_parameter(const struct option *option);

/* Describes an environment variable: "CLIMG_DEVICE" */
struct description describe_variable(const struct option *option);

/* Returns the help of a row with its range and default: "levels (1 to 16, default 4)" */
struct description describe_help(const struct option *option);

/* Returns describe_help of a global option, followed by the other commands on which it has an effect: "...;
 * also with --info, --check". */
struct description describe_global_help(const struct option *option);

/* The examples of the overview and the manual page; a NULL command ends them. */
extern const struct example overview_examples[];

/* exit_meanings[n]: the meaning of exit status n, for manual page and --help=json. Ends with NULL. */
extern const char *const exit_meanings[];

/* Writes paragraphs (separated by blank lines) in lines of at most 78 columns, each indented. Line breaks
 * inside a paragraph count as blanks. */
void wrap_paragraphs(FILE *file, const char *text, size_t indent);

/* Writes a term at column 2 and its meaning from column 28 on; columns count from 0. After a long term the
 * meaning begins on the next line. */
void wrap_entry(FILE *file, const char *term, const char *meaning);

/* ---------------------------------------------------------------- hints for unknown names */

/* Names that other programs have for a stage or option. */
struct alias {
    const char *typed;  /* the names, separated by | */
    const char *answer; /* climg's name for it, or a sentence if climg has no such stage */
};

/* Ends with NULL names. A unit test checks that each answer exists. */
extern const struct alias aliases[];

/* Advice at the end of a message; a text that does not fit is cut off. */
struct hint {
    char text[128];
    bool is_found; /* a name is near, or the table of aliases has an answer */
};

/* Returns the hint for an unknown stage or option: the answer in the table of aliases, or the nearest name,
 * as in "did you mean --blur?". `before` is printed before a name: "--". If no name is near, the hint is to
 * read --help=all. */
struct hint suggest(const char *before, const char *unknown);

/* Returns the answer in the table of aliases, or NULL. The whole name must be equal. */
const char *alias_answer(const char *typed);

#endif
