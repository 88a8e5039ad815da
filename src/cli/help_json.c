/* --help=json: the content of --help=all, --help=STAGE and the manual page as one JSON object, for programs
 * that write commands, such as docs/workflows/mcp.
 *
 * Everything comes from the tables of stages, options and variables and from manual.txt.
 * docs/help.schema.json describes the object. Every option has the same keys; one that does not apply is
 * null, so a reader need not test if it is present. */
#include "cli/cli.h"

#include "base/json.h"
#include "image/format.h"

#include <math.h>

enum { DIGITS = 15 }; /* significant digits of limits, as in --help */

/* Writes one row of a table. `synopsis` shows how a user writes it; `needs_value`: the value is required;
 * `modes`: the commands in which it has an effect. */
static void put_option(struct json_writer *out, const char *key, const struct option *option,
                       struct description synopsis, bool needs_value, unsigned modes)
{
    static const char *const types[] = {
        [OPTION_FLAG] = "flag",     [OPTION_INTEGER] = "integer", [OPTION_REAL] = "number",
        [OPTION_YES_NO] = "choice", [OPTION_CHOICE] = "choice",   [OPTION_TEXT] = "text",
        [OPTION_SIZE] = "size",     [OPTION_CUSTOM] = "text"};
    static const char *const effects[] = {
        [EFFECT_NONE] = NULL, [EFFECT_OUTPUT] = "output", [EFFECT_STAGES] = "stages"};
    /* In the order of the MODE_ bits (settings/option.h). */
    static const char *const mode_names[] = {"convert", "info",         "measure",  "check",
                                             "compare", "list-devices", "selftest", "warm"};
    const bool has_range = option->min != 0 || option->max != 0;
    const char letter[] = {option->letter, '\0'};
    json_begin(out, key, '{');
    json_put_string(out, "name", option->name);
    json_put_string(out, "letter", option->letter != 0 ? letter : NULL);
    json_put_string(out, "synopsis", synopsis.text);
    json_put_string(out, "type", types[option->type]);
    json_put_string(out, "value", option_value_name(option));
    json_put_boolean(out, "needs_value", needs_value);
    json_put_number(out, "minimum", has_range ? option->min : (double)NAN, DIGITS);
    json_put_number(out, "maximum", has_range ? option->max : (double)NAN, DIGITS);
    const char *words = option_words(option); /* such as "auto|gpu|cpu" */
    struct word word;
    if (json_begin_optional(out, "words", '[', words != NULL)) {
        while (text_next_word(&words, '|', &word)) {
            char text[64];
            snprintf(text, sizeof text, "%.*s", (int)word.length, word.start);
            if (text[0] != '\0') /* a user cannot write an empty word */
                json_put_string(out, NULL, text);
        }
        json_end(out, ']');
    }
    json_put_string(out, "default", option->fallback);
    json_put_string(out, "implied", option->implied);
    json_put_string(out, "changes", effects[option->effect]);
    json_begin(out, "modes", '[');
    for (unsigned i = 0; i < sizeof mode_names / sizeof mode_names[0]; i++)
        if ((modes >> i & 1) != 0)
            json_put_string(out, NULL, mode_names[i]);
    json_end(out, ']');
    json_put_boolean(out, "writes", option->writes);
    json_put_string(out, "help", option->help);
    json_begin(out, "keys", '[');
    for (const struct option *row = option->keys; row != NULL && row->type != OPTION_END; row++)
        put_option(out, NULL, row, describe_parameter(row), true, modes);
    json_end(out, ']');
    json_end(out, '}');
}

static void put_examples(struct json_writer *out, const struct example *examples)
{
    json_begin(out, "examples", '[');
    for (const struct example *example = examples; example->command != NULL; example++) {
        json_begin(out, NULL, '{');
        json_put_string(out, "command", example->command);
        json_put_string(out, "shows", example->shows);
        json_end(out, '}');
    }
    json_end(out, ']');
}

static void put_stage(struct json_writer *out, const struct stage *stage)
{
    const struct option *primary = options_primary(stage->options);
    json_begin(out, NULL, '{');
    json_put_string(out, "name", stage->name);
    json_put_string(out, "synopsis", describe_stage(stage).text);
    json_put_string(out, "group", stage_group(stage));
    json_put_string(out, "brief", stage->brief);
    json_put_string(out, "in", stage->in == KIND_PYRAMID ? "pyramid" : "image");
    json_put_string(out, "out", stage->out == KIND_PYRAMID ? "pyramid" : "image");
    if (primary != NULL)
        put_option(out, "primary", primary, describe_parameter(primary), options_need_value(stage->options),
                   MODE_CONVERT);
    else
        json_put_null(out, "primary");
    json_begin(out, "keys", '[');
    for (const struct option *option = stage->options; option->type != OPTION_END; option++)
        if (option != primary && !option->hidden)
            put_option(out, NULL, option, describe_parameter(option), true, MODE_CONVERT);
    json_end(out, ']');
    json_put_string(out, "manual", stage->manual);
    put_examples(out, stage->examples);
    json_end(out, '}');
}

static void put_table(struct json_writer *out, const char *key, const struct option *table,
                      struct description (*describe)(const struct option *option))
{
    json_begin(out, key, '[');
    for (const struct option *option = table; option->type != OPTION_END; option++)
        if (!option->hidden)
            put_option(out, NULL, option, describe(option), option_needs_value(option), option_modes(option));
    json_end(out, ']');
}

/* Writes what a file of a format holds. */
static void put_capacity(struct json_writer *out, const struct capacity *holds)
{
    json_begin(out, "samples", '[');
    if (holds->bits)
        json_put_string(out, NULL, "1 bit");
    for (int i = 0; i <= SAMPLE_INT32; i++)
        if ((holds->types >> i & 1) != 0)
            json_put_string(out, NULL, sample_name((enum sample_type)i));
    json_end(out, ']');
    json_begin(out, "channels", '[');
    for (int i = 1; i <= 4; i++)
        if ((holds->channels >> i & 1) != 0 && !(holds->opaque && i % 2 == 0))
            json_put_integer(out, NULL, i);
    json_end(out, ']');
    json_put_boolean(out, "pages", holds->pages);
    json_put_boolean(out, "video", holds->video);
}

void help_write_json(FILE *file)
{
    struct json_writer out = {.out = file};
    json_begin(&out, NULL, '{');
    json_put_string(&out, "program", "climg");
    json_put_string(&out, "version", CLIMG_VERSION);
    json_put_string(&out, "usage", help_usage);
    json_begin(&out, "exit_status", '[');
    for (const char *const *meaning = exit_meanings; *meaning != NULL; meaning++)
        json_put_string(&out, NULL, *meaning);
    json_end(&out, ']');
    json_begin(&out, "formats", '[');
    for (const struct format *const *format = formats; *format != NULL; format++) {
        json_begin(&out, NULL, '{');
        json_put_string(&out, "name", (*format)->name);
        json_begin(&out, "extensions", '[');
        for (const char *const *extension = (*format)->extensions; *extension != NULL; extension++)
            json_put_string(&out, NULL, *extension);
        json_end(&out, ']');
        put_capacity(&out, &(*format)->holds);
        json_end(&out, '}');
    }
    json_end(&out, ']');
    json_begin(&out, "stages", '[');
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        put_stage(&out, *stage);
    json_end(&out, ']');
    put_table(&out, "options", global_options, describe_global);
    put_table(&out, "environment", environment_variables, describe_variable);
    put_examples(&out, overview_examples);
    json_put_string(&out, "manual", manual_text);
    json_end(&out, '}');
    putc('\n', file);
}
