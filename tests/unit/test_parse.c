/* Command lines: their meaning, their errors, and the soundness of the option tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "base/text.h"
#include "cli/cli.h"
#include "engine/run.h"
#include "image/format.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENT_LIMIT = 16 };

/* The arguments of a line, separated by '|' so that a value may hold blanks. */
struct line {
    char text[256];
    const char *argv[ARGUMENT_LIMIT + 1];
    int argc;
};

static void split(struct line *line, const char *text)
{
    *line = (struct line){.argv = {"climg"}, .argc = 1};
    text_append(line->text, sizeof line->text, "%s", text);
    char *rest = line->text[0] != '\0' ? line->text : NULL;
    for (char *piece = strsep(&rest, "|"); piece != NULL; piece = strsep(&rest, "|")) {
        assert_in_range(line->argc, 1, ARGUMENT_LIMIT - 1);
        line->argv[line->argc++] = piece;
    }
}

static void parse(struct line *line, struct command *command, const char *text)
{
    struct error error = {.text = ""};
    split(line, text);
    int status = command_parse(line->argc, line->argv, command, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(status, STATUS_OK);
}

static void refuse(const char *text, const char *message)
{
    struct line line;
    struct command command;
    struct error error = {.text = ""};
    split(&line, text);
    assert_int_equal(command_parse(line.argc, line.argv, &command, &error), STATUS_USAGE);
    assert_string_equal(error.text, message);
    assert_null(command.inputs);
    assert_null(command.chain.steps);
}

/* The settings alone; strings in them do not outlive the call unless they are defaults. */
static struct settings settings_of(const char *text)
{
    struct line line;
    struct command command;
    parse(&line, &command, text);
    struct settings settings = command.settings;
    command_free(&command);
    return settings;
}

static void assert_files(const char *text, const char *inputs, const char *output, bool directory)
{
    struct line line;
    struct command command;
    char actual[256] = "";
    parse(&line, &command, text);
    for (size_t i = 0; i < command.input_count; i++)
        text_append(actual, sizeof actual, "%s%s", i > 0 ? " " : "", command.inputs[i]);
    assert_string_equal(actual, inputs);
    assert_string_equal(command.output, output);
    assert_int_equal(command.output_is_directory, directory);
    command_free(&command);
}

static void assert_stages(const char *text, const char *names)
{
    struct line line;
    struct command command;
    char actual[256] = "";
    parse(&line, &command, text);
    for (size_t i = 0; i < command.chain.count; i++)
        text_append(actual, sizeof actual, "%s%s", i > 0 ? " " : "", command.chain.steps[i].stage->name);
    assert_string_equal(actual, names);
    command_free(&command);
}

static void defaults(void **state)
{
    (void)state;
    unsetenv("CLIMG_DEVICE");
    struct settings settings = settings_of("");
    assert_int_equal(settings.memory, MEMORY_OPTION_AUTO);
    assert_string_equal(settings.device, "auto");
    assert_int_equal(settings.timing.form, TIMING_ABSENT);
    assert_null(settings.format);
    assert_int_equal(settings.depth, DEPTH_OPTION_ABSENT);
    assert_int_equal(settings.compression, -1);
    assert_int_equal(settings.edge, EDGE_CLAMP);
    assert_int_equal(settings.pages.first, 0);
    assert_true(settings.max_pixels == 2147483648);
    assert_false(settings.linear || settings.strip || settings.quiet || settings.verbose ||
                 settings.list_devices);
    assert_false(settings_prints_text(&settings));
}

static void long_options(void **state)
{
    (void)state;
    struct settings settings =
        settings_of("a|--memory=buffer|--timing|--format|tiff|b|--depth=float|--edge|zero|"
                    "--linear|--strip|--page|3|--max-pixels=4M|--resume");
    assert_int_equal(settings.memory, MEMORY_OPTION_BUFFER);
    assert_int_equal(settings.timing.form, TIMING_TABLE);
    assert_string_equal(settings.format->name, "TIFF");
    assert_int_equal(settings.depth, DEPTH_OPTION_FLOAT);
    assert_int_equal(settings.edge, EDGE_ZERO);
    assert_true(settings.linear && settings.strip && settings.resume);
    assert_true(settings_of("").verify.share == 0 && settings_of("--verify").verify.share == 0.01);
    assert_true(settings_of("--verify=2.5%").verify.share == 0.025 &&
                !settings_of("--verify=100").verify.device);
    assert_string_equal(settings_of("--verify=pocl").verify.device, "pocl");
    assert_true(settings_of("--selftest").selftest && settings_of("--force").force);
    assert_int_equal(settings.pages.first, 3);
    assert_int_equal(settings.pages.last, 3);
    assert_true(settings.max_pixels == 4 << 20);
    assert_int_equal(settings_of("--timing=json").timing.form, TIMING_JSON);
    assert_int_equal(settings_of("--depth|8|--depth|16").depth, DEPTH_OPTION_16);
}

static void pages(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int first, last;
    } good[] = {{"--page|7", 7, 7},
                {"--page=2-4", 2, 4},
                {"--page|2-", 2, INT_MAX},
                {"--page|-4", 1, 4},
                {"--page|2147483647", INT_MAX, INT_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const struct page_range range = settings_of(good[i].text).pages;
        assert_int_equal(range.first, good[i].first);
        assert_int_equal(range.last, good[i].last);
    }
    static const char *const bad[] = {
        "0", "0-3", "-", "1-2-3", "a", "2-b", "+1", "--1", "2147483648", "1 - 2", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char line[64], message[128];
        snprintf(line, sizeof line, "--page=%s", bad[i]);
        snprintf(message, sizeof message,
                 "--page %s: not a page (1 is the first) or pages such as 2-4, 2- or -4", bad[i]);
        refuse(line, message);
    }
    refuse("--page=4-2", "--page 4-2: the last page comes before the first");
}

static void compression(void **state)
{
    (void)state;
    assert_int_equal(settings_of("--compression|none").compression, 0);
    assert_int_equal(settings_of("--compression|fast").compression, 1);
    assert_int_equal(settings_of("--compression|default").compression, -1);
    assert_int_equal(settings_of("--compression|best").compression, 9);
    assert_int_equal(settings_of("--compression=7").compression, 7);
    refuse("--compression|10", "--compression 10: not one of none, fast, default, best or 0 to 9");
    refuse("--compression=-1", "--compression -1: not one of none, fast, default, best or 0 to 9");
}

static void short_options(void **state)
{
    (void)state;
    assert_int_equal(settings_of("-m|image").memory, MEMORY_OPTION_IMAGE);
    assert_int_equal(settings_of("-mimage").memory, MEMORY_OPTION_IMAGE);
    assert_int_equal(settings_of("-m=image").memory, MEMORY_OPTION_IMAGE);
    struct settings settings = settings_of("-qtvf|png");
    assert_true(settings.quiet && !settings.verbose); /* -q ends -v */
    assert_true(settings_of("-tvf|png").verbose);
    assert_int_equal(settings.timing.form, TIMING_TABLE);
    assert_string_equal(settings.format->name, "PNG");
    assert_int_equal(settings_of("-t=json").timing.form, TIMING_JSON);
    refuse("-m", "-m needs a value: -m auto|buffer|image");
    refuse("-mfast", "-m fast: not one of auto, buffer, image");
    refuse("-q=1", "-q takes no value; --quality N sets the quality");
    refuse("-qz", "unknown option -z; climg --help=all lists stages and options");
    refuse("-1", "unknown option -1; climg --help=all lists stages and options");
    refuse("-blur|2", "unknown option -blur; did you mean --blur?");
}

static void device_from_the_environment(void **state)
{
    (void)state;
    setenv("CLIMG_DEVICE", "cpu", 1);
    assert_string_equal(settings_of("").device, "cpu");
    struct line line;
    struct command command;
    parse(&line, &command, "-d|gpu");
    assert_string_equal(command.settings.device, "gpu");
    command_free(&command);
    setenv("CLIMG_DEVICE", "", 1);
    assert_string_equal(settings_of("").device, "auto");
    unsetenv("CLIMG_DEVICE");
}

static void other_variables(void **state)
{
    struct environment environment;
    struct error error = {.text = ""};
    (void)state;
    setenv("CLIMG_SLICE", "64", 1);
    setenv("CLIMG_CLASS", "gpu", 1);
    setenv("CLIMG_GROUP", "", 1);
    setenv("CLIMG_POISON", "1", 1);
    assert_int_equal(environment_read(&environment, &error), STATUS_OK);
    assert_int_equal(environment.slice, 64);
    assert_int_equal(environment.device_class, CLASS_VARIABLE_GPU);
    assert_int_equal(environment.group, 0);
    assert_true(environment.poison);
    assert_false(environment.own_memory);
    setenv("CLIMG_SLICE", "0", 1);
    refuse("--invert", "CLIMG_SLICE 0: must be at least 1");
    unsetenv("CLIMG_SLICE");
    setenv("CLIMG_CLASS", "narrow", 1);
    refuse("--invert", "CLIMG_CLASS narrow: not one of cpu, gpu");
    unsetenv("CLIMG_CLASS");
    unsetenv("CLIMG_GROUP");
    unsetenv("CLIMG_POISON");
}

/* The tests run in the repository's root. */
static void variables_for_tests_are_documented(void **state)
{
    char text[1 << 16] = "", line[512];
    FILE *file = fopen("CONTRIBUTING.md", "r");
    (void)state;
    assert_non_null(file);
    assert_in_range(fread(text, 1, sizeof text - 1, file), 1, sizeof text - 2);
    fclose(file);
    for (const struct option *row = environment_variables; row->type != OPTION_END; row++) {
        snprintf(line, sizeof line, "\n| `%s` | %s |\n", row->name, row->help);
        bool listed = strstr(text, line) != NULL;
        if (listed != row->hidden)
            print_error("%s", line);
        assert_int_equal(listed, row->hidden);
    }
}

static void assert_printed(void (*print)(FILE *file, const struct settings *settings), const char *arguments,
                           const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    struct line line;
    struct command command;
    parse(&line, &command, arguments);
    FILE *file = open_memstream(&text, &size);
    print(file, &command.settings);
    fclose(file);
    command_free(&command);
    assert_string_equal(text, expected);
    free(text);
}

static void print_with_stages(FILE *file, const struct settings *settings)
{
    settings_print_effects(file, settings, true);
}

static void print_without_stages(FILE *file, const struct settings *settings)
{
    settings_print_effects(file, settings, false);
}

/* Options that change no pixel (--format, --compression, --memory, --jobs) are left out, as --resume compares
 * this text. */
static void options_that_change_outputs(void **state)
{
    static const char all[] = "--linear|--depth|16|-f|png|--compression|9|--page|2|-m|image|-j|3|--edge=wrap";
    (void)state;
    assert_printed(print_with_stages, "", " --edge clamp");
    assert_printed(print_without_stages, "", "");
    assert_printed(print_with_stages, all, " --edge wrap --linear --depth 16 --page 2");
    assert_printed(print_without_stages, all, " --depth 16 --page 2");
}

static void options_that_are_set(void **state)
{
    (void)state;
    assert_printed(settings_print, "--edge|clamp", "");
    assert_printed(settings_print, "-v|--compression|best|--max-pixels|1K|--report|a b",
                   "climg: not default: --compression 9 --report a b --max-pixels 1024\n");
    assert_printed(settings_print, "--timing=json:a\033[31mb", "climg: not default: --timing json:a?[31mb\n");
    setenv("CLIMG_GROUP", "3", 1);
    setenv("CLIMG_DEVICE", "cpu", 1);
    assert_printed(settings_print, "--shard|2/3",
                   "climg: not default: --device cpu --shard 2/3 CLIMG_DEVICE=cpu CLIMG_GROUP=3\n");
    unsetenv("CLIMG_GROUP");
    unsetenv("CLIMG_DEVICE");
}

static void positionals(void **state)
{
    (void)state;
    assert_files("", "-", "-", false);
    assert_files("a", "a", "-", false);
    assert_files("a|b", "a", "b", false);
    assert_files("-|-", "-", "-", false);
    assert_files("a|--blur|1|b|c", "a b", "c", true);
    assert_files("--|--blur|-q", "--blur", "-q", false);
    assert_files("a|b|c.png/", "a b", "c.png/", true);
    assert_files("a|b/", "a", "b/", true);
    assert_files("a|b|-o|c", "a b", "c", true);
    assert_files("-o|c|a", "a", "c", false);
    assert_files("--output=c/|a", "a", "c/", true);
    refuse("a|b|c.PNG",
           "c.PNG: several inputs (a, b) need an output folder, such as out/; there is no file a");
    refuse("a|b|-o|-",
           "standard output: several inputs (a, b) need an output folder, such as out/; there is no file a");
    refuse("a|--in-place|-o|c", "--in-place and --output cannot be used together; leave one out");
}

/* Checks output_after_input: the last file directly follows an input. */
static void assert_after_input(const char *text, bool expected)
{
    struct line line;
    struct command command;
    parse(&line, &command, text);
    assert_int_equal(command.output_after_input, expected);
    command_free(&command);
}

static void outputs_after_an_input(void **state)
{
    (void)state;
    assert_after_input("a|b|--invert", true);
    assert_after_input("a|b|c|--invert", true);
    assert_after_input("a|b/|--strip", true);
    assert_after_input("a|b|--invert|-o|c", false);
    assert_after_input("a|b|--invert|--in-place", false);
    assert_after_input("--invert|a|b", true);
    assert_after_input("--invert|a|b|c|-v", true);
    assert_after_input("-v|a|b", true);
    assert_after_input("a|--stack|mean|b|c", true);
    assert_after_input("a|b", false);
    assert_after_input("--|a|b", false);
    assert_after_input("a|--invert|b", false);
    assert_after_input("--invert|a|-v|b", false);
    assert_after_input("--invert|a|b|-o|c", false);
    assert_after_input("--invert|a|b|--in-place", false);
}

/* A word that would do as the value of the option before it, and is no file. */
static void values_without_equals(void **state)
{
    (void)state;
    refuse("a|--wavelet|4|c.png", "--wavelet 4: write its value after =, as in --wavelet=4");
    refuse("a|--denoise|10", "--denoise 10: write its value after =, as in --denoise=10");
    refuse("--timing|json|a|b", "--timing json: write its value after =, as in --timing=json");
    refuse("-n|json|a|b", "-n json: write its value after =, as in -n=json");
    refuse("-qn|json|a|b", "-n json: write its value after =, as in -n=json");
    assert_files("a|--denoise|b", "a", "b", false);
    refuse("--denoise|-q|10",
           "10: there is no such file; -q (--quiet) takes no value; --quality N sets the quality");
    refuse("a|--denoise|strong|b.png",
           "strong: there is no such file; --denoise strong: not a number from 0 to 255, nor auto");
    refuse("a|--invert|5|b.png", "5: there is no such file; --invert takes no value");
    refuse("a|--invert|yes|b.png", "yes: there is no such file; --invert takes no value");
    assert_files("-r|2024|b", "2024", "b", false);
    assert_files("--invert|a|b", "a", "b", false);
    assert_files("--denoise|-|b", "-", "b", false);
    assert_files("--denoise|/", "/", "-", false);
    refuse("a|--verify|5|b.png", "--verify 5: write its value after =, as in --verify=5");
    refuse("a|--verify|gpu", "--verify gpu: write its value after =, as in --verify=gpu");
    assert_files("a|--verify|b.png", "a", "b.png", false);
    assert_files("a|--blur|2|--verify|b.gif", "a", "b.gif", false);
    assert_files("a|--verify|b/", "a", "b/", true);
}

static void stages_in_order(void **state)
{
    (void)state;
    assert_stages("", "");
    assert_stages("in|--scale|4|--blur=1.5,truncate=3|out|--scale=1/2", "scale blur scale");
    assert_stages("--wavelet=3|-q|--inverse-wavelet", "wavelet inverse-wavelet");
    assert_stages("--wavelet|--scale|4", "wavelet scale");
    assert_stages("--wavelet=", "wavelet");
}

/* A word that has become a name is answered by the name itself, and an answer names what there is. */
static void aliases_lead_somewhere(void **state)
{
    (void)state;
    for (const struct alias *alias = aliases; alias->typed != NULL; alias++) {
        const char *cursor = alias->typed;
        struct word word;
        bool is_name = false;
        while (text_next_word(&cursor, '|', &word)) {
            char typed[64];
            snprintf(typed, sizeof typed, "%.*s", (int)word.length, word.start);
            is_name = is_name || stage_find(typed) != NULL || global_find(typed) != NULL;
        }
        bool leads = strchr(alias->answer, ' ') != NULL || stage_find(alias->answer) != NULL ||
                     global_find(alias->answer) != NULL;
        if (is_name || !leads)
            print_error("--%s is answered by %s\n", alias->typed, alias->answer);
        assert_true(leads && !is_name);
    }
    assert_string_equal(suggest("--", "negate").text, "did you mean --invert?");
    assert_string_equal(suggest("--help=", "blurr").text, "did you mean --help=blur?");
    assert_string_equal(suggest("--", "qqqqqqqq").text, "climg --help=all lists stages and options");
}

static void bad_stages(void **state)
{
    (void)state;
    refuse("--blurr|3", "unknown stage or option --blurr; did you mean --blur?");
    refuse("--inv=3", "unknown stage or option --inv; did you mean --inverse-wavelet?");
    refuse("--BLUR|3", "unknown stage or option --BLUR; did you mean --blur?");
    refuse("in|\u2013blur|3",
           "\u2013blur begins with a typographic dash, not with hyphens; did you mean --blur?");
    refuse("in|\u2014-blur=3",
           "\u2014-blur=3 begins with a typographic dash, not with hyphens; did you mean --blur?");
    refuse("--timin", "unknown stage or option --timin; did you mean --timing?");
    refuse("--qqqqqqqq", "unknown stage or option --qqqqqqqq; climg --help=all lists stages and options");
    refuse("--=3", "unknown stage or option --; climg --help=all lists stages and options");
    refuse("in|--blur", "--blur needs a value: --blur SIGMA");
    refuse("--blur|--scale|2", "--blur needs a value: --blur SIGMA");
    refuse("--memory", "--memory needs a value: --memory auto|buffer|image");
    refuse("--blur|-x", "--blur -x: not a number");
    refuse("--blur|--", "--blur needs a value: --blur SIGMA");
    refuse("--align|--mean|out.png", "--align needs a value: --align REFERENCE"); /* an unknown option */
    refuse("--wavelet=1.5", "--wavelet 1.5: not a whole number");
    refuse("--inverse-wavelet=1", "--inverse-wavelet takes no value");
    refuse("in.png|--inverse-wavelet|out.png",
           "--inverse-wavelet needs a wavelet transform: put --wavelet before it, or read the TIFF that "
           "--wavelet wrote; a PNG or JPEG is only a picture of it");
    refuse("--quiet=yes", "--quiet takes no value; --quality N sets the quality");
    assert_string_equal(settings_of("-f|tif").format->name, "TIFF");
    assert_string_equal(settings_of("-f|.TIF").format->name, "TIFF");
    assert_string_equal(settings_of("--format=PNG").format->name, "PNG");
    refuse("--format=gif",
           "--format gif: climg writes JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP and Y4M");
    refuse("--format=.",
           "--format .: climg writes JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP and Y4M");
    refuse("--page|0", "--page 0: not a page (1 is the first) or pages such as 2-4, 2- or -4");
}

static void overlong_names(void **state)
{
    (void)state;
    char name[200] = "--";
    memset(name + 2, 'b', sizeof name - 3);
    const char *argv[] = {"climg", name};
    struct command command;
    struct error error;
    assert_int_equal(command_parse(2, argv, &command, &error), STATUS_USAGE);
}

static void information_ends_parsing(void **state)
{
    (void)state;
    struct line line;
    struct command command;
    parse(&line, &command, "in|--inverse-wavelet|--help=blur|--bogus");
    assert_true(settings_prints_text(&command.settings));
    assert_string_equal(command.settings.help, "blur");
    command_free(&command);
    parse(&line, &command, "-h|--bogus");
    assert_string_equal(command.settings.help, "");
    command_free(&command);
    command_free(&command);
    assert_true(settings_of("--version").version);
    assert_int_equal(settings_of("--generate=man").generate, GENERATE_OPTION_MAN);
}

/* Returns what help_write writes, in memory that the caller frees. */
static char *information(const char *text)
{
    char *written = NULL;
    size_t size = 0;
    struct error error;
    struct settings settings = settings_of(text);
    FILE *file = open_memstream(&written, &size);
    assert_non_null(file);
    assert_int_equal(help_write(file, &settings, &error), STATUS_OK);
    fclose(file);
    return written;
}

static void assert_lines_fit(const char *text, size_t limit)
{
    struct word line;
    while (text_next_word(&text, '\n', &line))
        assert_in_range(line.length, 0, limit);
}

static void help_is_complete(void **state)
{
    (void)state;
    char *help = information("--help");
    assert_lines_fit(help, 80);
    assert_non_null(strstr(help, "--help=all"));
    free(help);
    help = information("--help=all");
    assert_lines_fit(help, 80);
    assert_null(strstr(help, "\nMore:\n")); /* each stage has its group */
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        assert_non_null(strstr(help, (*stage)->name));
    for (const struct option *option = global_options; option->type != OPTION_END; option++)
        assert_true(option->hidden || strstr(help, option->name) != NULL);
    assert_null(strstr(help, "--generate"));
    free(help);
}

static void help_of_stages(void **state)
{
    (void)state;
    for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
        char *written = NULL;
        size_t size = 0;
        struct error error;
        struct settings settings = {.help = (*stage)->name};
        FILE *file = open_memstream(&written, &size);
        assert_non_null(file);
        assert_int_equal(help_write(file, &settings, &error), STATUS_OK);
        fclose(file);
        assert_non_null(strstr(written, (*stage)->brief));
        free(written);
    }
    struct settings settings = {.help = "bluur"};
    struct error error;
    assert_int_equal(help_write(stdout, &settings, &error), STATUS_USAGE);
    assert_string_equal(error.text, "--help=bluur: unknown stage or option; did you mean --help=blur?");
}

static void generated_texts(void **state)
{
    (void)state;
    char *version = information("--version");
    assert_int_equal(strncmp(version, "climg " CLIMG_VERSION "\nlibpng 1.", 16), 0);
    free(version);
    char *manual = information("--generate=man");
    assert_non_null(strstr(manual, "\n.B \"\\-t, \\-\\-timing[=table|\\:json[:FILE]]\"\n"));
    free(manual);
}

static void assert_described(struct description description)
{
    assert_in_range(strlen(description.text), 1, DESCRIPTION_SIZE - 2); /* one more may have been cut off */
}

static void assert_table_sound(const struct option *table)
{
    for (const struct option *option = table; option->type != OPTION_END; option++) {
        assert_non_null(option->help);
        assert_described(describe_help(option));
        assert_true(option->type != OPTION_CHOICE || option->choices != NULL);
        assert_true((option->type == OPTION_CUSTOM) == (option->parse != NULL));
        assert_true((option->type == OPTION_CUSTOM) == (option->print != NULL));
        assert_true(option->type == OPTION_TEXT || option->print_content == NULL);
        assert_true((option->type == OPTION_FLAG) == (option_value_name(option) == NULL));
        assert_true(option->name != NULL || option == table);
        for (const struct option *other = table; other < option; other++)
            assert_true(other->name == NULL || strcmp(other->name, option->name) != 0);
    }
}

static void tables_are_sound(void **state)
{
    (void)state;
    assert_table_sound(global_options);
    for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
        assert_table_sound((*stage)->options);
        assert_described(describe_stage(*stage));
        assert_true((*stage)->brief != NULL && (*stage)->manual != NULL && (*stage)->examples != NULL);
        assert_null(global_find((*stage)->name));
        assert_ptr_equal(stage_find((*stage)->name), *stage);
        void *params = calloc(1, (*stage)->params_size + 1);
        options_set_defaults((*stage)->options, params);
        if ((*stage)->release != NULL)
            (*stage)->release(params);
        free(params);
    }
}

static void values_of_stages_are_checked(void **state)
{
    (void)state;
    refuse("a|--wavelet=2|--gain|1:x|b.png", "--gain 1:x: 'x' is not a number from -1e6 to 1e6");
    refuse("a|--wavelet=2|--gain|1:2000000|b.png",
           "--gain 1:2000000: '2000000' is not a number from -1e6 to 1e6");
    refuse("a|--wavelet=2|--gain|1:2,low:0,1:3|b.png", "--gain 1:2,low:0,1:3: level 1 is there twice");
    refuse("a|--wavelet=2|--gain|low:2,low:0|b.png", "--gain low:2,low:0: level low is there twice");
    refuse("a|--wavelet=2|--gain|1:0x2|b.png", "--gain 1:0x2: '0x2' is not a number from -1e6 to 1e6");
    refuse("a|--wavelet=2|--gain| 1:2|b.png",
           "--gain  1:2: ' 1:2': expected LEVEL:FACTOR, as in 1:1.5 or low:0, "
           "with levels from 1 to 16");
    refuse("a|--resize|0.25|b.png", "--resize 0.25: not a size; did you mean 25%?");
    refuse("a|--scale|65536|b.png", "--scale 65536: beyond 1/64 to 64; use --scale twice");
    refuse("a|--rotate|out.png", "--rotate needs a value: --rotate DEGREES|auto");
}

static void options_of_other_kinds_are_answered(void **state)
{
    (void)state;
    refuse("a|-blur|2|b.png", "unknown option -blur; did you mean --blur?");
    refuse("a|-resise|2|b.png", "unknown option -resise; did you mean --resize?");
    refuse("blur|a.png|b.png",
           "blur: there is no such file; stages are options: climg INPUT --blur SIGMA OUTPUT");
    refuse("invert|a.png|b.png",
           "invert: there is no such file; stages are options: climg INPUT --invert OUTPUT");
}

/* Each global option with each command: it is accepted, or refused by one sentence. The letters are the
 * commands that accept the option: convert, info, measure, check, compare, list-devices, selftest, warm. */
static void options_of_other_commands_are_refused(void **state)
{
    (void)state;
    static const struct {
        char letter;
        const char *text; /* arguments */
    } commands[] = {{'c', "a.png|b/"},
                    {'i', "--info|a.png"},
                    {'m', "--info|--measure|a.png"},
                    {'k', "--check|a.png"},
                    {'p', "--compare=r.png|a.png"},
                    {'l', "--list-devices"},
                    {'s', "--selftest"},
                    {'w', "--warm"}};
    static const struct {
        const char *text; /* the option with a value */
        const char *letters;
    } rows[] = {
        {"memory=image", "cmw"},
        {"device=cpu", "cmsw"},
        {"verify=2", "cw"},
        {"force", "cmlw"},
        {"timing", "c"},
        {"trace=t.json", "c"},
        {"edge=wrap", "cw"},
        {"linear", "c"},
        {"format=png", "c"},
        {"depth=8", "c"},
        {"range=auto", "c"},
        {"compression=fast", "cp"},
        {"quality=9", "c"},
        {"lossless", "c"},
        {"subsampling=auto", "c"},
        {"progressive", "c"},
        {"auto-orient", "c"},
        {"stored-orientation", "c"},
        {"strip", "c"},
        {"jobs=1", "cimkp"},
        {"page=1", "cimkp"},
        {"output=o/", "c"},
        {"files-from=list", "cimkp"},
        {"yes", "c"},
        {"in-place", "c"},
        {"recursive", "cimkp"},
        {"resume", "c"},
        {"shard=1/2", "cimkp"},
        {"report=r", "ck"},
        {"progress=auto", "ck"},
        {"dry-run", "c"},
        {"memory-limit=1G", "cm"},
        {"only=png", "cimkp"},
        {"no-confine", "cimkplsw"},
        {"max-pixels=1G", "cimkp"},
        {"quiet", "cimkplsw"},
        {"verbose", "cimkplsw"},
    };
    size_t options = 0;
    for (const struct option *row = global_options; row->type != OPTION_END; row++)
        options += !row->hidden && row->selects == 0;
    assert_int_equal(options, sizeof rows / sizeof rows[0] + 4); /* --null, --measure, --help, --version */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t j = 0; j < sizeof commands / sizeof commands[0]; j++) {
            char text[128] = "", message[128] = "";
            const bool is_accepted = strchr(rows[i].letters, commands[j].letter) != NULL;
            text_append(text, sizeof text, "%s|--%s", commands[j].text, rows[i].text);
            text_append(message, sizeof message, "--%.*s has no effect with %.*s; leave it out",
                        (int)strcspn(rows[i].text, "="), rows[i].text, (int)strcspn(commands[j].text, "|="),
                        commands[j].text);
            if (is_accepted)
                (void)settings_of(text);
            else
                refuse(text, message);
        }
    refuse("a.png|b.png|--measure", "--measure requires --info");
    refuse("a.png|--check|--measure", "--measure has no effect with --check; leave it out");
    refuse("a.png|--check|--info", "--info and --check cannot be used together; use one");
    refuse("a.png|--compare=b.png|--invert", "--compare reads files as they are; leave out stages");
    refuse("a.png|--warm", "--warm processes no files; leave out files and stages");
    assert_int_equal(settings_of("--info|--measure|a.png").mode, MODE_MEASURE);
    assert_int_equal(settings_of("-n|a.png|b/").mode, MODE_CONVERT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(long_options),
        cmocka_unit_test(pages),
        cmocka_unit_test(compression),
        cmocka_unit_test(short_options),
        cmocka_unit_test(device_from_the_environment),
        cmocka_unit_test(other_variables),
        cmocka_unit_test(variables_for_tests_are_documented),
        cmocka_unit_test(options_that_change_outputs),
        cmocka_unit_test(options_that_are_set),
        cmocka_unit_test(positionals),
        cmocka_unit_test(outputs_after_an_input),
        cmocka_unit_test(values_without_equals),
        cmocka_unit_test(stages_in_order),
        cmocka_unit_test(aliases_lead_somewhere),
        cmocka_unit_test(bad_stages),
        cmocka_unit_test(overlong_names),
        cmocka_unit_test(information_ends_parsing),
        cmocka_unit_test(help_is_complete),
        cmocka_unit_test(help_of_stages),
        cmocka_unit_test(generated_texts),
        cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(values_of_stages_are_checked),
        cmocka_unit_test(options_of_other_kinds_are_answered),
        cmocka_unit_test(options_of_other_commands_are_refused),
    };
    for (const struct option *row = environment_variables; row->type != OPTION_END; row++)
        unsetenv(row->name); /* what the user's shell has */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
