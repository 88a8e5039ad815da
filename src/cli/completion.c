#include "cli/completion.h"

#include "base/text.h"
#include "engine/stage.h"
#include "settings/settings.h"

#include <string.h>

/* The script has two parts: functions that say what the tables say, and below them the code that uses them.
 *
 *   _climg_words NAME       the words that the value of an option or a PRIMARY can be
 *   _climg_words NAME,KEY   those that a key's value can be
 *   _climg_keys NAME        the keys of a stage
 *   _climg_needs_value ARG  the long name of an option that takes the next argument as its value
 */

static void write_words(FILE *file, const struct option *option)
{
    const char *cursor = option_words(option);
    struct word word;
    if (option->type == OPTION_YES_NO)
        cursor = "yes|no";
    while (text_next_word(&cursor, '|', &word)) {
        if (word.length > 0)
            fprintf(file, " %.*s", (int)word.length, word.start);
    }
}

static bool has_words(const struct option *option)
{
    return !option->hidden && (option_words(option) != NULL || option->type == OPTION_YES_NO);
}

static void write_stage_words(FILE *file, const struct stage *stage)
{
    for (const struct option *option = stage->options; option->type != OPTION_END; option++) {
        if (!has_words(option))
            continue;
        if (option->name != NULL)
            fprintf(file, "    %s,%s) echo", stage->name, option->name);
        else
            fprintf(file, "    %s) echo", stage->name);
        write_words(file, option);
        fputs(" ;;\n", file);
    }
}

static void write_stage_names(FILE *file, const char *prefix)
{
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        fprintf(file, " %s%s", prefix, (*stage)->name);
}

static void write_words_function(FILE *file)
{
    fputs("_climg_words()\n{\n    case $1 in\n", file);
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        write_stage_words(file, *stage);
    for (const struct option *option = global_options; option->type != OPTION_END; option++) {
        if (!has_words(option))
            continue;
        fprintf(file, "    %s) echo", option->name);
        write_words(file, option);
        fputs(" ;;\n", file);
    }
    fputs("    help) echo", file);
    write_stage_names(file, "");
    fputs(" ;;\n    esac\n}\n\n", file);
}

static void write_keys_function(FILE *file)
{
    fputs("_climg_keys()\n{\n    case $1 in\n", file);
    for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
        fprintf(file, "    %s) echo", (*stage)->name);
        for (const struct option *option = (*stage)->options; option->type != OPTION_END; option++) {
            if (option->name != NULL && !option->hidden)
                fprintf(file, " %s", option->name);
        }
        fputs(" ;;\n", file);
    }
    fputs("    esac\n}\n\n", file);
}

static void write_needs_value_function(FILE *file)
{
    fputs("_climg_needs_value()\n{\n    case $1 in\n", file);
    for (const struct stage *const *stage = stages; *stage != NULL; stage++) {
        if (options_need_value((*stage)->options))
            fprintf(file, "    --%s) echo %s ;;\n", (*stage)->name, (*stage)->name);
    }
    for (const struct option *option = global_options; option->type != OPTION_END; option++) {
        if (option->hidden || option->optional || option->type == OPTION_FLAG)
            continue;
        if (option->letter != 0)
            fprintf(file, "    -%c | --%s) echo %s ;;\n", option->letter, option->name, option->name);
        else
            fprintf(file, "    --%s) echo %s ;;\n", option->name, option->name);
    }
    fputs("    esac\n}\n\n", file);
}

static void write_options_function(FILE *file)
{
    fputs("_climg_options()\n{\n    echo", file);
    write_stage_names(file, "--");
    for (const struct option *option = global_options; option->type != OPTION_END; option++) {
        if (!option->hidden)
            fprintf(file, " --%s", option->name);
    }
    fputs("\n}\n\n", file);
}

/* In lines, because compilers need not take so long a literal. */
static const char *const program[] = {
    /* clang-format off */
    "# Candidates for PRIMARY[,KEY=VALUE]... of the stage or option $1, of which $2 is typed; $3 goes before",
    "# each of them.",
    "_climg_value()",
    "{",
    "    local name=$1 last=${2##*,} key",
    "    local done=${2%\"$last\"} before=$3",
    "    case $last in",
    "    @*) compgen -f -P \"$before$done@\" -- \"${last#@}\" ;;",
    "    *=*)",
    "        key=${last%%=*}",
    "        compgen -P \"$before$done$key=\" -W \"$(_climg_words \"$name,$key\")\" -- \"${last#*=}\"",
    "        ;;",
    "    *)",
    "        [[ $done ]] || compgen -P \"$before\" -W \"$(_climg_words \"$name\")\" -- \"$last\"",
    "        # A PRIMARY that is needed comes before the keys.",
    "        [[ ! $done && $(_climg_needs_value \"--$name\") ]] && return",
    "        for key in $(_climg_keys \"$name\"); do",
    "            [[ ,$done == *\",$key=\"* ]] || compgen -P \"$before$done\" -W \"$key=\" -- \"$last\"",
    "        done",
    "        ;;",
    "    esac",
    "}",
    "",
    "_climg_files()",
    "{",
    "    local pattern",
    "    for pattern in $(_climg_words format); do",
    "        compgen -f -X \"!*.$pattern\" -- \"$1\"",
    "        compgen -f -X \"!*.${pattern^^}\" -- \"$1\"",
    "    done",
    "    compgen -d -- \"$1\"",
    "}",
    "",
    "# Candidates for the argument $2, which stands after $1.",
    "_climg_candidates()",
    "{",
    "    local name",
    "    name=$(_climg_needs_value \"$1\")",
    "    if [[ $name ]]; then",
    "        _climg_value \"$name\" \"$2\" ''",
    "    elif [[ $2 == --*=* ]]; then",
    "        name=${2%%=*}",
    "        _climg_value \"${name#--}\" \"${2#*=}\" \"$name=\"",
    "    elif [[ $2 == -* ]]; then",
    "        compgen -W \"$(_climg_options)\" -- \"$2\"",
    "    fi",
    "}",
    "",
    "_climg()",
    "{",
    "    local at=$COMP_CWORD piece=${COMP_WORDS[COMP_CWORD]} argument head IFS=$' \\t\\n'",
    "    # Bash breaks arguments at = : and @, and completes the last piece. Here it is whole again;",
    "    # no argument of climg begins with = or :, but one may with @.",
    "    argument=$piece",
    "    [[ $piece == [=:@] ]] && piece=",
    "    while ((at > 1)) && [[ ${COMP_WORDS[at]} == [=:]* || ${COMP_WORDS[at - 1]} == *[=:@] ]]; do",
    "        at=$((at - 1))",
    "        argument=${COMP_WORDS[at]}$argument",
    "    done",
    "    head=${argument%\"$piece\"}",
    "    mapfile -t COMPREPLY < <(_climg_candidates \"${COMP_WORDS[at - 1]}\" \"$argument\")",
    "    if ((${#COMPREPLY[@]} == 0)) && [[ $argument != -* ]]; then",
    "        mapfile -t COMPREPLY < <(_climg_files \"$argument\")",
    "        compopt -o filenames 2>/dev/null",
    "    fi",
    "    COMPREPLY=(\"${COMPREPLY[@]#\"$head\"}\")",
    "    [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null",
    "}",
    "",
    "complete -F _climg climg",
    /* clang-format on */
};

void completion_write(FILE *file)
{
    fputs("# Completion of climg for bash. Made by climg --generate=completion; changes belong in its "
          "source.\n\n",
          file);
    write_words_function(file);
    write_keys_function(file);
    write_needs_value_function(file);
    write_options_function(file);
    for (size_t i = 0; i < sizeof program / sizeof program[0]; i++)
        fprintf(file, "%s\n", program[i]);
}
