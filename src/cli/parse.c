/* Parses the command line.
 *
 *     argv ─┬─ option ─────▶ a field of struct settings
 *           ├─ stage ──────▶ appended to the chain
 *           └─ other word ─▶ positional arguments ─▶ inputs and output
 *
 * Options may be anywhere; only the order of stages and files matters. Of several files the last is the
 * output, unless --output, --in-place or a command without outputs is given. No file is opened. The parser
 * only checks if a file exists, and only if a word can be read in two ways: `--denoise 10` is an error with
 * advice unless a file is called 10.
 *
 * Most of the code is advice. Each message names the word that is wrong and the text to write instead. */
#include "cli/cli.h"

#include "image/format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = 64 }; /* bytes; a longer name is cut off, which makes it unknown */

/* An argument "--NAME[=VALUE]". */
struct long_option {
    char name[NAME_SIZE];        /* without dashes */
    char what[NAME_SIZE + 2];    /* --NAME or -LETTER, for messages; "": there is no option in this struct */
    const char *attached;        /* value after '='; NULL without '=' */
    const struct stage *stage;   /* NULL if the name is no stage */
    const struct option *global; /* NULL if the name is no global option */
};

/* The state of command_parse. */
struct parser {
    /* Input. */
    int argc;
    const char *const *argv;
    int next;           /* index of the next argument */
    bool options_ended; /* after the argument "--" */

    /* Output. */
    struct command *command; /* `inputs` collects the positional arguments */
    size_t positional_count;
    size_t before_stages; /* number of positional arguments before the first stage */
    bool has_stage;

    /* The preceding stage or option, if it has no value, but may have one or is a flag; else `what` is "". */
    struct long_option unvalued_option;

    /* A positional argument that is not a file and follows an option without a value, and the reason why it
     * is not a value of the option. NULL: no such argument. */
    const char *stray;
    struct error stray_reason;
};

/* Splits NAME[=VALUE] and looks the name up. */
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

/* Fails: the value of `what` is missing. */
static enum status fail_no_value(const char *what, const char *value_name, struct error *error)
{
    return fail(error, STATUS_USAGE, "%s needs a value: %s %s", what, what, value_name);
}

/* Sets *value to the next argument, the value of `what`. The value may begin with '-', as weights of a kernel
 * do. Fails if there is no argument, or if it begins with "--", as an option does: then the value was
 * forgotten. */
static enum status take_value(struct parser *parser, const char *what, const char *value_name,
                              const char **value, struct error *error)
{
    if (parser->next == parser->argc)
        return fail_no_value(what, value_name, error);
    *value = parser->argv[parser->next++];
    return strncmp(*value, "--", 2) == 0 ? fail_no_value(what, value_name, error) : STATUS_OK;
}

/* Appends a stage to the chain, with its attached value or the next argument. */
static enum status add_stage(struct parser *parser, const struct long_option *option, struct error *error)
{
    const struct stage *stage = option->stage;
    const char *value = option->attached;
    const bool takes_next = value == NULL && options_need_value(stage->options);
    const char *next = parser->next < parser->argc ? parser->argv[parser->next] : "";
    if (value == NULL && (strcmp(next, "--help") == 0 || strcmp(next, "-h") == 0)) {
        parser->command->settings.help = stage->name; /* as in climg --blur --help */
        return STATUS_OK;
    }
    if (takes_next) {
        const char *value_name = option_value_name(options_primary(stage->options));
        enum status status = take_value(parser, option->what, value_name, &value, error);
        if (status != STATUS_OK)
            return status;
    }
    if (!parser->has_stage)
        parser->before_stages = parser->positional_count;
    parser->has_stage = true;
    if (value == NULL)
        parser->unvalued_option = *option;
    if (parser->command->chain.count == MAX_WRITTEN)
        return fail(error, STATUS_USAGE, "a chain has at most %d stages", MAX_WRITTEN);
    /* If the value is wrong and looks like a file, the value was forgotten: --rotate out.png. A key may be a
     * file, as in --stack focus,depth=map.png. */
    enum status status = chain_add(&parser->command->chain, stage, value, error);
    if (status == STATUS_USAGE && takes_next && value != NULL && strchr(value, '=') == NULL &&
        format_by_path(value) != NULL)
        return fail_no_value(option->what, option_value_name(options_primary(stage->options)), error);
    return status;
}

/* Sets a global option. Its value is `attached`, or the next argument if the option needs one. */
static enum status set_global(struct parser *parser, const struct option *option, const char *what,
                              const char *attached, struct error *error)
{
    const char *value = attached, *next = parser->next < parser->argc ? parser->argv[parser->next] : "";
    /* The argument after --help is its topic: a stage, an option, or any other word, such as blurr, that is
     * not the name of an existing file. */
    if (value == NULL && strcmp(option->name, "help") == 0 && next[0] != '\0' && next[0] != '-' &&
        (stage_find(next) != NULL || global_find(next) != NULL || access(next, F_OK) != 0)) {
        value = parser->argv[parser->next++];
    } else if (value == NULL && option->optional) {
        value = option->implied;
    } else if (value == NULL && option_needs_value(option)) {
        enum status status = take_value(parser, what, option_value_name(option), &value, error);
        if (status != STATUS_OK)
            return status;
    }
    /* The second list would replace the first one, whose files would not be done. */
    if (strcmp(option->name, "files-from") == 0 && parser->command->settings.files_from != NULL)
        return fail(error, STATUS_USAGE, "%s is given twice; join the lists: cat A B | climg %s - ...", what,
                    what);
    settings_note_given(&parser->command->settings, option);
    return option_parse(option, what, value, &parser->command->settings, error);
}

/* Returns the last stage that has the key, or NULL. */
static const struct stage *stage_of_key(const struct chain *chain, struct word key)
{
    for (size_t i = chain->count; i > 0; i--)
        if (options_find(chain->steps[i - 1].stage->options, key) != NULL)
            return chain->steps[i - 1].stage;
    return NULL;
}

/* Parses "--NAME" or "--NAME=VALUE". */
static enum status parse_long(struct parser *parser, const char *argument, struct error *error)
{
    struct long_option option = read_long(argument + 2);
    if (option.stage != NULL)
        return add_stage(parser, &option, error);
    const struct word key = {option.name, strlen(option.name)};
    const struct stage *owner = stage_of_key(&parser->command->chain, key);
    if (option.global == NULL && owner != NULL)
        return fail(error, STATUS_USAGE, "%s is no option; write %s= after the value of --%s, with %s",
                    option.what, option.name, owner->name,
                    options_need_value(owner->options) ? "a comma" : "= or a comma");
    if (option.global == NULL)
        return fail(error, STATUS_USAGE, "unknown stage or option %s; %s", option.what,
                    suggest("--", option.name).text);
    if (option.attached == NULL && !option_needs_value(option.global))
        parser->unvalued_option = option;
    return set_global(parser, option.global, option.what, option.attached, error);
}

/* Parses "-qv", "-mimage", "-m=image", "-m image", "-t=json": letters without a value may be followed by
 * others. An optional value must follow '=', as with long options, so -tv is -t -v. */
static enum status parse_letters(struct parser *parser, const char *argument, struct error *error)
{
    /* A long name with one dash is an error: -denoise does not select a device called "enoise". So is an
     * option of another program, as ImageMagick's -negate. */
    const struct long_option name = read_long(argument + 1);
    const struct hint hint = suggest("--", name.name);
    if (name.stage != NULL || name.global != NULL)
        return fail(error, STATUS_USAGE, "unknown option %s; did you mean -%s?", argument, argument);
    if (alias_answer(name.name) != NULL)
        return fail(error, STATUS_USAGE, "unknown option -%s; %s", name.name, hint.text);
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        const struct option *option = global_find_letter(*letter);
        /* A word such as -resise resembles a name; else the letter is wrong. */
        if (option == NULL && strlen(name.name) > 2 && hint.is_found)
            return fail(error, STATUS_USAGE, "unknown option -%s; %s", name.name, hint.text);
        if (option == NULL)
            return fail(error, STATUS_USAGE, "unknown option -%c; climg --help=all lists stages and options",
                        *letter);
        const char *rest = letter + 1;
        bool attached = rest[0] == '=' || (option_needs_value(option) && rest[0] != '\0');
        const char *value = rest[0] == '=' ? rest + 1 : rest;
        struct long_option letter_option = {.what = {'-', *letter, '\0'}, .global = option};
        enum status status = set_global(parser, option, letter_option.what, attached ? value : NULL, error);
        if (status != STATUS_OK || attached)
            return status;
        if (option->type == OPTION_FLAG)
            snprintf(letter_option.what, sizeof letter_option.what, "-%c (--%s)", *letter, option->name);
        if (!option_needs_value(option))
            parser->unvalued_option = letter_option;
    }
    return STATUS_OK;
}

/* True for the name of a stage or option. An alias counts only if its answer is a stage, help or info: other
 * aliases, such as "input", are likely names of files. */
static bool names_stage_or_option(const char *word)
{
    const char *answer = alias_answer(word);
    return stage_find(word) != NULL || global_find(word) != NULL ||
           (answer != NULL &&
            (stage_find(answer) != NULL || strcmp(answer, "help") == 0 || strcmp(answer, "info") == 0));
}

/* Fails if an input is a stage or option without dashes, as in `climg in.png blur 2 out/`, and no file has
 * that name. The message has the command to write. */
static enum status check_names(const struct command *command, struct error *error)
{
    for (size_t i = 0; i < command->input_count; i++) {
        const char *input = command->inputs[i];
        if (!names_stage_or_option(input) || access(input, F_OK) == 0)
            continue;
        const struct stage *stage = stage_find(input);
        if (stage == NULL)
            return fail(error, STATUS_USAGE, "%s: there is no such file; %s", input,
                        suggest("--", input).text);
        const bool needs_value = options_need_value(stage->options);
        return fail(error, STATUS_USAGE,
                    "%s: there is no such file; stages are options: climg INPUT --%s%s%s OUTPUT", input,
                    input, needs_value ? " " : "",
                    needs_value ? option_value_name(options_primary(stage->options)) : "");
    }
    return STATUS_OK;
}

/* True if the text is a valid value of the option. Otherwise *error has the reason. */
static bool reads_as_value(const struct long_option *option, const char *text, struct error *error)
{
    struct chain chain = {0}; /* both are discarded */
    struct settings settings = {0};
    if (option->stage == NULL)
        return option_parse(option->global, option->what, text, &settings, error) == STATUS_OK;
    bool reads = chain_add(&chain, option->stage, text, error) == STATUS_OK;
    chain_free(&chain);
    return reads;
}

/* Appends a positional argument. `option` is the option before it, if its optional value was left out. Fails
 * if the argument is a valid value of that option and no such file exists, as in `--denoise 10`. An argument
 * that looks like a file is never a value: in `--verify out.png`, out.png is the output, although a device
 * could have that name. */
static enum status take_positional(struct parser *parser, const struct long_option *option,
                                   const char *argument, struct error *error)
{
    if (argument[0] == '\0')
        return fail(error, STATUS_USAGE, "\"\" is not a file name; perhaps a shell variable is not set");
    const bool looks_like_file = path_ends_in_slash(argument) || format_by_path(argument) != NULL ||
                                 foreign_name_by_path(argument) != NULL;
    if (option->what[0] != '\0' && !looks_like_file && access(argument, F_OK) != 0) {
        struct error why = {.text = ""};
        if (reads_as_value(option, argument, &why))
            return fail(error, STATUS_USAGE, "%s %s: write its value after =, as in %s=%s", option->what,
                        argument, option->what, argument);
        /* Repeat a guess of KEY=VALUE: for `--denoise high`, the message has "did you mean quality=high?". */
        char value[NAME_SIZE] = "";
        if (sscanf(why.text, "%*[^;]; did you mean %63s", value) == 1 && strchr(value, '=') != NULL)
            return fail(error, STATUS_USAGE, "%s %s: there is no such file; did you mean %s=%s", option->what,
                        argument, option->what, value);
        /* After an option a name is rather a file than a value, but hardly a short number, as in -q 90, or
         * yes. 2024 may be a folder. */
        const bool takes_value = option->stage != NULL && options_primary(option->stage->options) != NULL;
        const bool is_value = isdigit((unsigned char)argument[0]) && strlen(argument) < 4;
        if (is_value || strcmp(argument, "yes") == 0 ||
            (takes_value && strcmp(argument, "-") != 0 && !names_stage_or_option(argument))) {
            parser->stray = argument;
            parser->stray_reason = why;
        }
    }
    parser->command->inputs[parser->positional_count++] = argument;
    return STATUS_OK;
}

/* Parses the next argument, by its first characters. */
static enum status parse_argument(struct parser *parser, struct error *error)
{
    const struct long_option unvalued_option = parser->unvalued_option;
    const char *argument = parser->argv[parser->next++];
    parser->unvalued_option.what[0] = '\0';
    /* "––blur": word processors and web pages make typographic dashes of hyphens. */
    const char *name = argument;
    while (strncmp(name, "\u2013", 3) == 0 || strncmp(name, "\u2014", 3) == 0)
        name += 3;
    if (!parser->options_ended && name > argument && access(argument, F_OK) != 0)
        return fail(error, STATUS_USAGE, "%s begins with a typographic dash, not with hyphens; %s", argument,
                    suggest("--", read_long(name + strspn(name, "-")).name).text);
    if (parser->options_ended || argument[0] != '-' || argument[1] == '\0')
        return take_positional(parser, &unvalued_option, argument, error);
    if (argument[1] != '-')
        return parse_letters(parser, argument, error);
    if (argument[2] != '\0')
        return parse_long(parser, argument, error);
    /* After "--" all arguments are files. */
    parser->options_ended = true;
    return STATUS_OK;
}

/* Assigns the positional arguments to inputs and output:
 *
 *     (none)          stdin to stdout
 *     FILE            FILE to stdout
 *     FILE... OUTPUT  each FILE to OUTPUT
 *
 * With --output, --in-place, --info, --check or --compare every argument is an input. Names in the list of
 * --files-from are inputs, too. */
static void assign_positionals(const struct parser *parser, struct command *command)
{
    const struct settings *settings = &command->settings;
    const size_t count = parser->positional_count;
    const bool has_list = settings->files_from != NULL, only_reads = (settings->mode & MODES_READING) != 0;
    const bool last_is_output =
        count + has_list > 1 && settings->output == NULL && !settings->in_place && !only_reads;
    command->input_count = has_list || count > 1 ? count - last_is_output : 1;
    if (last_is_output)
        command->output = command->inputs[count - 1];
    else
        command->output = settings->in_place || only_reads ? NULL
                          : settings->output != NULL       ? settings->output
                                                           : "-";
    command->output_is_directory = command->output != NULL && (has_list || command->input_count > 1 ||
                                                               path_ends_in_slash(command->output));
    /* Inputs are usually named first. The last name may be one of them if a stage follows it, or in a command
     * without stages an option. */
    command->output_may_be_input =
        last_is_output && (parser->has_stage ? count <= parser->before_stages
                                             : command->output != parser->argv[parser->argc - 1]);
    int at = 1;
    while (at < parser->argc && parser->argv[at] != command->output)
        at++;
    /* The word before the output ends with the name of the list: "--files-from list", "--files-from=list". */
    const char *end = parser->argv[at - 1] + strlen(parser->argv[at - 1]), *list = settings->files_from;
    command->output_after_input = last_is_output &&
                                  count + parser->options_ended + 1 < (size_t)parser->argc &&
                                  ((count > 1 && parser->argv[at - 1] == command->inputs[count - 2]) ||
                                   (has_list && end == list + strlen(list)));
    if (count == 0 && !has_list)
        command->inputs[0] = "-";
}

/* Fails if the chain can process no input: neither an image, nor, if a name allows that, a coefficient file.
 * A name allows that if its extension belongs to no format, or to one that holds coefficients. Names in the
 * list of --files-from, which is read later, allow it, too. */
static enum status check_chain(const struct command *command, struct error *error)
{
    struct chain resolved;
    enum status status = chain_resolve(&command->chain, KIND_IMAGE, true, &resolved, error);
    const bool has_list = command->settings.files_from != NULL;
    for (size_t i = 0; status == STATUS_USAGE && i < command->input_count + has_list; i++) {
        const struct format *format = i < command->input_count ? format_by_path(command->inputs[i]) : NULL;
        if (format == NULL || format_holds_coefficients(format))
            status = chain_resolve(&command->chain, KIND_PYRAMID, true, &resolved, error);
    }
    if (status == STATUS_OK)
        chain_free(&resolved);
    return status;
}

/* Fails if several inputs have one output that is no folder: stdout, or a name with an extension of images or
 * films. */
static enum status check_output_folder(const struct command *command, struct error *error)
{
    const bool is_merged = chain_find_merge(&command->chain, 0) < command->chain.count;
    if (command->output == NULL || is_merged || (command->input_count < 2 && !command->settings.files_from))
        return STATUS_OK;
    const bool is_foreign =
        foreign_name_by_path(command->output) != NULL && access(command->output, F_OK) != 0;
    if (strcmp(command->output, "-") != 0 && format_by_path(command->output) == NULL && !is_foreign)
        return STATUS_OK; /* files.c checks that it is a folder */
    if (command->settings.files_from)
        return fail(error, STATUS_USAGE, "%s: the files of --files-from need an output folder; name one",
                    strcmp(command->output, "-") == 0 ? "standard output" : command->output);
    /* Name the first input that does not exist: it may be a key. */
    const char *absent = NULL;
    for (size_t i = 0; i < command->input_count; i++) {
        const char *input = command->inputs[i];
        const struct word key = {input, strcspn(input, "=")};
        const struct stage *owner = input[key.length] == '=' ? stage_of_key(&command->chain, key) : NULL;
        if (strcmp(input, "-") == 0 || access(input, F_OK) == 0)
            continue;
        if (owner != NULL)
            return fail(error, STATUS_USAGE,
                        "%s: there is no such file; write it after the value of --%s, with %s", input,
                        owner->name,
                        options_need_value(owner->options) ? "a comma: VALUE,KEY=VALUE" : "= or a comma");
        absent = absent != NULL ? absent : input;
    }
    /* If all names exist, the last one is probably an input, too, expanded from *.png, unless stages are
     * between it and the others. */
    const bool may_be_input =
        command->chain.count == 0 || command->output_may_be_input || command->output_after_input;
    if (absent == NULL && command->settings.output == NULL && strcmp(command->output, "-") != 0 &&
        may_be_input && access(command->output, F_OK) == 0)
        return fail(error, STATUS_USAGE, "no output is named; give a folder at the end, such as out/");
    const struct format *format = format_by_path(command->output);
    const bool joins = absent == NULL && format != NULL && strcmp(format->name, "TIFF") == 0;
    return fail(error, STATUS_USAGE, "%s: several inputs (%s, %s) need an output folder, such as out/%s%s",
                strcmp(command->output, "-") == 0 ? "standard output" : command->output, command->inputs[0],
                command->inputs[1],
                absent != NULL ? "; there is no file "
                : joins        ? "; tiffcp joins TIFF files to one"
                               : "",
                absent != NULL ? absent : "");
}

/* Fails if the only name is probably the output, as in `cat in.png | climg --blur 2 out.png`: no such file
 * exists, its extension belongs to a format, and standard input is a pipe or a file. */
static enum status check_only_name(const struct command *command, struct error *error)
{
    struct stat info;
    const char *name = command->inputs[0];
    const bool is_only =
        command->input_count == 1 && command->output != NULL && strcmp(command->output, "-") == 0;
    if (!is_only || command->settings.output != NULL || format_by_path(name) == NULL ||
        access(name, F_OK) == 0 || fstat(STDIN_FILENO, &info) != 0 ||
        !(S_ISFIFO(info.st_mode) || S_ISREG(info.st_mode)))
        return STATUS_OK;
    return fail(error, STATUS_USAGE,
                "%s: no such file; a single name is the input. To read standard input: climg - ... %s", name,
                name);
}

/* Assigns the positional arguments and checks all arguments together. Does nothing for --help and similar
 * options. */
static enum status resolve(const struct parser *parser, struct error *error)
{
    struct command *command = parser->command;
    if (settings_prints_text(&command->settings))
        return STATUS_OK;
    enum status status = settings_resolve(&command->settings, error);
    if (status != STATUS_OK)
        return status;

    /* Fail if stages or files are given that the mode does not use. */
    const unsigned mode = command->settings.mode;
    if (parser->has_stage && (mode & MODES_READING) != 0)
        return fail(error, STATUS_USAGE, "--%s reads files as they are; leave out stages", mode_name(mode));
    if ((parser->has_stage || parser->positional_count > 0) && (mode & MODES_OF_FILES) == 0)
        return fail(error, STATUS_USAGE, "--%s processes no files; leave out files and stages",
                    mode_name(mode));
    assign_positionals(parser, command);
    if (command->settings.compare != NULL)
        status = options_parse_value(compare_options, "--compare", command->settings.compare,
                                     &command->compare, &command->compare_text, error);
    /* An input is a stray argument, as in `climg in.png --denoise strong out.png`. */
    for (size_t i = 0; status == STATUS_OK && parser->stray != NULL && i < command->input_count; i++)
        if (command->inputs[i] == parser->stray)
            status = fail(error, STATUS_USAGE, "%s: there is no such file; %s", parser->stray,
                          parser->stray_reason.text);
    /* Check names before folders: in `climg in.png blur 2 out/` the advice must be about blur, not about a
     * folder. */
    if (status == STATUS_OK)
        status = check_names(command, error);
    if (status == STATUS_OK)
        status = check_output_folder(command, error);
    if (status == STATUS_OK)
        status = check_only_name(command, error);
    return status == STATUS_OK ? check_chain(command, error) : status;
}

enum status command_parse(int argc, const char *const *argv, struct command *command, struct error *error)
{
    *command = (struct command){0};
    if (settings_init(&command->settings, error) != STATUS_OK)
        return STATUS_USAGE;
    /* Room for all arguments and the "-" of assign_positionals. */
    command->inputs = allocate_zeroed((size_t)argc + 1, sizeof *command->inputs, "the arguments", error);
    if (command->inputs == NULL)
        return STATUS_FAILED;
    struct parser parser = {.argc = argc, .argv = argv, .next = 1, .command = command};
    enum status status = STATUS_OK;
    /* Arguments after --help or --version are ignored. */
    while (status == STATUS_OK && parser.next < argc && !settings_prints_text(&command->settings))
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
    free(command->compare_text);
    *command = (struct command){0};
}
