/* Parses the command line.
 *
 *     argv ─▶ options set their field, stages join the chain, other words are collected ─▶ assigned ─▶
 * checked
 *
 * Options may be anywhere; only the order of stages and files matters. The last word is the output, unless
 * --output or
 * --in-place says otherwise. Files are not opened, and only asked whether they exist where two readings of a
 * word are possible: `--denoise 10` is an error with advice unless a file is called 10. */
#include "cli/cli.h"

#include "image/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_SIZE = 64 }; /* longer names are cut off, which makes them unknown */

/* "--NAME[=VALUE]". If the name is known, stage or global is set. */
struct long_option {
    char name[NAME_SIZE];
    char what[NAME_SIZE + 2]; /* --NAME */
    const char *attached;     /* the value after '=', or NULL */
    const struct stage *stage;
    const struct option *global;
};

struct parser {
    int argc;
    const char *const *argv;
    int next; /* the argument to take next */
    bool options_ended;
    struct command *command;
    const char **positionals;               /* room for all of argv */
    size_t positional_count, before_stages; /* positional arguments before the first stage */
    bool has_stage;
    struct long_option optional; /* the last option if its optional value was left out; what[0] 0: none */
};

static struct long_option read_long(const char *name)
{
    struct long_option option = {0};
    size_t length = strcspn(name, "=");
    snprintf(option.name, sizeof option.name, "%.*s", (int)length, name);
    snprintf(option.what, sizeof option.what, "--%s", option.name);
    option.attached = name[length] == '=' ? name + length + 1 : NULL;
    option.stage = stage_find(option.name);
    option.global = global_find(option.name);
    return option;
}

static bool is_known_option(const char *argument)
{
    if (strncmp(argument, "--", 2) != 0)
        return false;
    struct long_option option = read_long(argument + 2);
    return option.stage != NULL || option.global != NULL;
}

static enum status lacks_value(const char *what, const char *value_name, struct error *error)
{
    return fail(error, STATUS_USAGE, "%s needs a value: %s %s", what, what, value_name);
}

/* Returns the next argument in *value, as the value of `what`. It may begin with '-', as kernels do; but if
 * it is another option's name, the value was forgotten. */
static enum status take_value(struct parser *parser, const char *what, const char *value_name,
                              const char **value, struct error *error)
{
    if (parser->next == parser->argc || is_known_option(parser->argv[parser->next]))
        return lacks_value(what, value_name, error);
    *value = parser->argv[parser->next++];
    return STATUS_OK;
}

static enum status add_stage(struct parser *parser, const struct long_option *option, struct error *error)
{
    const struct stage *stage = option->stage;
    const char *value = option->attached;
    const bool taken = value == NULL && options_need_value(stage->options);
    if (taken) {
        const char *value_name = option_value_name(options_primary(stage->options));
        enum status status = take_value(parser, option->what, value_name, &value, error);
        if (status != STATUS_OK)
            return status;
    }
    if (!parser->has_stage)
        parser->before_stages = parser->positional_count;
    parser->has_stage = true;
    if (value == NULL)
        parser->optional = *option;
    enum status status = chain_add(&parser->command->chain, stage, value, error);
    if (status == STATUS_USAGE && taken && format_by_path(value) != NULL) /* --rotate out.png */
        return lacks_value(option->what, option_value_name(options_primary(stage->options)), error);
    return status;
}

/* True for `--help blur` and `--help blurr`, unless a file has that name. */
static bool is_help_topic(const struct parser *parser, const struct option *option)
{
    const char *topic = parser->next < parser->argc ? parser->argv[parser->next] : "";
    return strcmp(option->name, "help") == 0 && topic[0] != '\0' && topic[0] != '-' &&
           (stage_find(topic) != NULL || global_find(topic) != NULL || access(topic, F_OK) != 0);
}

static enum status set_global(struct parser *parser, const struct option *option, const char *what,
                              const char *attached, struct error *error)
{
    const char *value = attached;
    if (value == NULL && is_help_topic(parser, option)) {
        value = parser->argv[parser->next++];
    } else if (value == NULL && option->optional) {
        value = option->implied;
    } else if (value == NULL && option->type != OPTION_FLAG) {
        enum status status = take_value(parser, what, option_value_name(option), &value, error);
        if (status != STATUS_OK)
            return status;
    }
    return option_parse(option, what, value, &parser->command->settings, error);
}

static enum status reject_long(const struct long_option *option, struct error *error)
{
    return fail(error, STATUS_USAGE, "unknown stage or option %s; %s", option->what,
                suggest("--", option->name).text);
}

static enum status parse_long(struct parser *parser, const char *argument, struct error *error)
{
    struct long_option option = read_long(argument + 2);
    if (option.stage != NULL)
        return add_stage(parser, &option, error);
    if (option.global == NULL)
        return reject_long(&option, error);
    if (option.global->optional && option.attached == NULL)
        parser->optional = option;
    return set_global(parser, option.global, option.what, option.attached, error);
}

/* True for `-denoise`, which does not select a device called "enoise", and for `-negate` of ImageMagick. */
static bool lacks_a_dash(const char *argument)
{
    struct long_option option = read_long(argument + 1);
    return option.stage != NULL || option.global != NULL || alias_answer(option.name) != NULL;
}

static enum status reject_short(const char *argument, struct error *error)
{
    const struct long_option option = read_long(argument + 1);
    if (option.stage != NULL || option.global != NULL)
        return fail(error, STATUS_USAGE, "unknown option %s; did you mean -%s?", argument, argument);
    return fail(error, STATUS_USAGE, "unknown option -%s; %s", option.name, suggest("--", option.name).text);
}

/* Fails for an unknown letter, or a word such as `-resise` that resembles a name. */
static enum status reject_letters(const char *argument, char letter, struct error *error)
{
    const struct long_option option = read_long(argument + 1);
    const struct hint hint = suggest("--", option.name);
    if (strlen(option.name) > 2 && strncmp(hint.text, "see", 3) != 0)
        return fail(error, STATUS_USAGE, "unknown option -%s; %s", option.name, hint.text);
    return fail(error, STATUS_USAGE, "unknown option -%c; see climg --help", letter);
}

/* Parses "-qv", "-mimage", "-m=image", "-m image", "-t=json": letters without a value may be followed by
 * others. An optional value must follow '=', as with long options, so -tv is -t -v. */
static enum status parse_letters(struct parser *parser, const char *argument, struct error *error)
{
    if (lacks_a_dash(argument))
        return reject_short(argument, error);
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        const struct option *option = global_find_letter(*letter);
        if (option == NULL)
            return reject_letters(argument, *letter, error);
        const char what[] = {'-', *letter, '\0'};
        const char *rest = letter + 1;
        bool needs_value = option->type != OPTION_FLAG && !option->optional;
        bool attached = rest[0] == '=' || (needs_value && rest[0] != '\0');
        const char *value = rest[0] == '=' ? rest + 1 : rest;
        enum status status = set_global(parser, option, what, attached ? value : NULL, error);
        if (status != STATUS_OK || attached)
            return status;
    }
    return STATUS_OK;
}

/* Fails for names without dashes, as in `climg in.png blur 2 out/`, if no file has that name. */
static enum status reject_word(const char *input, struct error *error)
{
    const struct stage *stage = stage_find(input);
    const struct option *value = stage == NULL ? NULL : options_primary(stage->options);
    if (stage != NULL && options_need_value(stage->options))
        return fail(error, STATUS_USAGE,
                    "%s: there is no such file; stages are options: climg INPUT --%s %s OUTPUT", input, input,
                    option_value_name(value));
    if (stage != NULL)
        return fail(error, STATUS_USAGE,
                    "%s: there is no such file; stages are options: climg INPUT --%s OUTPUT", input, input);
    return fail(error, STATUS_USAGE, "%s: there is no such file; %s", input, suggest("--", input).text);
}

/* True for names of stages and options, and for aliases that are hardly file names. */
static bool is_command(const char *word)
{
    const char *answer = alias_answer(word);
    return stage_find(word) != NULL || global_find(word) != NULL ||
           (answer != NULL &&
            (stage_find(answer) != NULL || strcmp(answer, "help") == 0 || strcmp(answer, "info") == 0));
}

static enum status check_names(const struct command *command, struct error *error)
{
    for (size_t i = 0; i < command->input_count; i++)
        if (is_command(command->inputs[i]) && access(command->inputs[i], F_OK) != 0)
            return reject_word(command->inputs[i], error);
    return STATUS_OK;
}

/* True if the text is a valid value of the option. */
static bool reads_as_value(const struct long_option *option, const char *text)
{
    struct error ignored;
    struct chain chain = {0};
    struct settings settings = {0};
    if (option->stage == NULL)
        return option_parse(option->global, option->what, text, &settings, &ignored) == STATUS_OK;
    bool reads = chain_add(&chain, option->stage, text, &ignored) == STATUS_OK;
    chain_free(&chain);
    return reads;
}

static bool ends_in_slash(const char *path)
{
    size_t length = strlen(path);
    return length > 0 && path[length - 1] == '/';
}

/* True if the word looks like a file or folder, existing or not. */
static bool looks_like_file(const char *word)
{
    return ends_in_slash(word) || format_by_path(word) != NULL || foreign_name_by_path(word) != NULL;
}

/* Collects a word. `--denoise 10` selects the strength, unless a file is called 10. But `--verify out.png`
 * names the file, although a device could be called so. */
static enum status take_positional(struct parser *parser, const struct long_option *before,
                                   const char *argument, struct error *error)
{
    if (argument[0] == '\0')
        return fail(error, STATUS_USAGE, "\"\" is not a file name; perhaps a shell variable is not set");
    if (before->what[0] != '\0' && !looks_like_file(argument) && access(argument, F_OK) != 0 &&
        reads_as_value(before, argument))
        return fail(error, STATUS_USAGE, "%s %s: write its value after =, as in %s=%s", before->what,
                    argument, before->what, argument);
    parser->positionals[parser->positional_count++] = argument;
    return STATUS_OK;
}

/* Returns the text after typographic dashes, which word processors and web pages make of hyphens; NULL if the
 * argument does not begin with one. */
static const char *skip_dashes(const char *argument)
{
    const char *name = argument;
    while (strncmp(name, "\u2013", 3) == 0 || strncmp(name, "\u2014", 3) == 0)
        name += 3;
    return name > argument ? name + strspn(name, "-") : NULL;
}

static enum status reject_dash(const char *argument, const char *name, struct error *error)
{
    return fail(error, STATUS_USAGE, "%s begins with a typographic dash, not with hyphens; %s", argument,
                suggest("--", read_long(name).name).text);
}

static enum status parse_argument(struct parser *parser, struct error *error)
{
    const struct long_option before = parser->optional;
    const char *argument = parser->argv[parser->next++];
    parser->optional.what[0] = '\0';
    const char *name = parser->options_ended ? NULL : skip_dashes(argument);
    if (name != NULL && access(argument, F_OK) != 0)
        return reject_dash(argument, name, error);
    if (parser->options_ended || argument[0] != '-' || argument[1] == '\0')
        return take_positional(parser, &before, argument, error);
    if (argument[1] != '-')
        return parse_letters(parser, argument, error);
    if (argument[2] != '\0')
        return parse_long(parser, argument, error);
    parser->options_ended = true;
    return STATUS_OK;
}

/* Assigns the collected words: none is stdin to stdout, one is that file to stdout, of more the last is the
 * output, unless an option names it. */
static void assign_positionals(const struct parser *parser, struct command *command)
{
    const struct settings *settings = &command->settings;
    size_t count = parser->positional_count, listed = settings->files_from != NULL;
    bool told = settings->info != INFO_ABSENT; /* everything is an input */
    bool last_is_output = count + listed > 1 && settings->output == NULL && !settings->in_place && !told;
    command->inputs = parser->positionals;
    command->input_count = listed || count > 1 ? count - last_is_output : 1;
    if (last_is_output)
        command->output = command->inputs[count - 1];
    else
        command->output = settings->in_place || told ? NULL
                          : settings->output != NULL ? settings->output
                                                     : "-";
    command->output_is_directory =
        command->output != NULL && (listed || command->input_count > 1 || ends_in_slash(command->output));
    command->output_may_be_input = last_is_output && parser->has_stage && count <= parser->before_stages;
    if (count == 0 && !listed)
        command->inputs[0] = "-";
}

/* True if the file may hold coefficients, judging by its name. */
static bool may_be_pyramid(const char *name)
{
    const struct format *format = format_by_path(name);
    return format == NULL || format_holds_coefficients(format);
}

/* Checks the chain for all that the inputs may be. */
static enum status check_chain(const struct command *command, struct error *error)
{
    struct chain resolved;
    enum status status = chain_resolve(&command->chain, KIND_IMAGE, true, &resolved, error);
    for (size_t i = 0; status == STATUS_USAGE && i < command->input_count; i++) {
        if (may_be_pyramid(command->inputs[i]))
            status = chain_resolve(&command->chain, KIND_PYRAMID, true, &resolved, error);
    }
    if (status == STATUS_OK)
        chain_free(&resolved);
    return status;
}

/* Returns the first input that does not exist; NULL if all exist. */
static const char *first_absent(const struct command *command)
{
    for (size_t i = 0; i < command->input_count; i++)
        if (strcmp(command->inputs[i], "-") != 0 && access(command->inputs[i], F_OK) != 0)
            return command->inputs[i];
    return NULL;
}

/* Fails if several inputs have an image's name as output folder. */
static enum status check_output_folder(const struct command *command, struct error *error)
{
    if (command->output == NULL || (command->input_count < 2 && !command->settings.files_from))
        return STATUS_OK;
    if (strcmp(command->output, "-") != 0 && format_by_path(command->output) == NULL)
        return STATUS_OK;
    if (command->settings.files_from)
        return fail(error, STATUS_USAGE, "%s: the files of --files-from need an output folder; name one",
                    strcmp(command->output, "-") == 0 ? "standard output" : command->output);
    if (strcmp(command->output, "-") != 0 && access(command->output, F_OK) == 0)
        return fail(error, STATUS_USAGE, "no output is named; give a folder at the end, such as out/");
    const char *absent = first_absent(command); /* a value that no option took, as in -q 90 */
    return fail(error, STATUS_USAGE, "%s: several inputs (%s, %s) need an output folder, such as out/%s%s",
                strcmp(command->output, "-") == 0 ? "standard output" : command->output, command->inputs[0],
                command->inputs[1], absent != NULL ? "; there is no file " : "",
                absent != NULL ? absent : "");
}

/* Checks the arguments together. */
static enum status resolve(const struct parser *parser, struct error *error)
{
    struct command *command = parser->command;
    if (settings_want_information(&command->settings))
        return STATUS_OK;
    assign_positionals(parser, command);
    if (command->settings.info != INFO_ABSENT && (parser->has_stage || command->settings.output != NULL))
        return fail(error, STATUS_USAGE, "--info shows files as they are; leave out stages and --output");
    if (command->settings.in_place && command->settings.output != NULL)
        return fail(error, STATUS_USAGE, "--in-place and --output cannot be used together; leave one out");
    if (command->settings.auto_orient && command->settings.stored_orientation)
        return fail(error, STATUS_USAGE,
                    "--auto-orient and --stored-orientation cannot be used together; leave one out");
    enum status status = settings_resolve(&command->settings, error);
    if (status == STATUS_OK)
        status = check_names(command, error);
    if (status == STATUS_OK)
        status = check_output_folder(command, error);
    return status == STATUS_OK ? check_chain(command, error) : status;
}

enum status command_parse(int argc, const char *const *argv, struct command *command, struct error *error)
{
    *command = (struct command){0};
    if (settings_init(&command->settings, error) != STATUS_OK)
        return STATUS_USAGE;
    const char **positionals = allocate_zeroed((size_t)argc + 1, sizeof *positionals, "the arguments", error);
    if (positionals == NULL)
        return STATUS_FAILED;
    command->inputs = positionals;
    struct parser parser = {
        .argc = argc, .argv = argv, .next = 1, .command = command, .positionals = positionals};
    enum status status = STATUS_OK;
    while (status == STATUS_OK && parser.next < argc && !settings_want_information(&command->settings))
        status = parse_argument(&parser, error);
    if (status == STATUS_OK)
        status = resolve(&parser, error);
    if (status != STATUS_OK)
        command_free(command);
    return status;
}

void command_free(struct command *command)
{
    chain_free(&command->chain);
    free(command->inputs);
    *command = (struct command){0};
}
