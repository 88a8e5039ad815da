/* Completes a command line.
 *
 *     argument         candidates
 *     --sc             names of stages and options that begin with "sc"
 *     --memory=b       words of an option's value
 *     -m=b             the same for an option's letter
 *     -m b             words of an option's value, an argument of its own
 *     --scale=2,fil    keys of a stage: "filter="
 *     ├ kept ───┤└ last
 *     --help=bl        names of stages
 *
 * The argument is split into the text that is kept and the text to complete. Candidates come from the option
 * tables. Without one, the shell completes file names. */
#include "cli/cli.h"

#include "base/text.h"
#include "engine/stage.h"
#include "settings/settings.h"

#include <string.h>

/* The argument that is being typed. */
struct typed {
    FILE *file;
    const char *word; /* the whole argument */
    struct word kept; /* the part that stays */
    const char *last; /* the part to complete */
};

/* If the candidate, followed by `after`, begins with the text to complete, prints a line: the kept part, the
 * candidate, `after`, a tab and the meaning. */
static void offer(const struct typed *typed, struct word candidate, const char *after, const char *meaning)
{
    const size_t length = strlen(typed->last);
    const size_t compared = length < candidate.length ? length : candidate.length;
    if (strncmp(typed->last, candidate.start, compared) != 0 ||
        strncmp(typed->last + compared, after, length - compared) != 0)
        return;
    fprintf(typed->file, "%.*s%.*s%s\t%s\n", (int)typed->kept.length, typed->kept.start,
            (int)candidate.length, candidate.start, after, meaning);
}

/* Offers a candidate that is a string. */
static void offer_text(const struct typed *typed, const char *candidate, const char *after,
                       const char *meaning)
{
    offer(typed, (struct word){candidate, strlen(candidate)}, after, meaning);
}

/* Offers the words that are values of an option: "auto", "yes". */
static void offer_words(const struct typed *typed, const struct option *option)
{
    const char *cursor = option_words(option);
    struct word word;
    while (cursor != NULL && text_next_word(&cursor, '|', &word)) {
        if (word.length > 0)
            offer(typed, word, "", "");
    }
}

/* True if the key is already in the value, which begins at `value`: "key=" at its start or after a comma,
 * before the part to complete. */
static bool is_given(const struct typed *typed, const char *value, const char *key)
{
    const size_t length = strlen(key);
    for (const char *part = value; part < typed->last; part = strchr(part, ',') + 1)
        if (strncmp(part, key, length) == 0 && part[length] == '=')
            return true;
    return false;
}

/* Completes PRIMARY[,KEY=VALUE]..., which begins at `value`. */
static void offer_keys(struct typed *typed, const struct option *table, const char *value)
{
    /* The last part, after a comma, is a key or the value of a key; without a comma it may be PRIMARY. */
    const char *comma = strrchr(value, ','), *last = comma != NULL ? comma + 1 : value;
    const char *equals = strchr(last, '=');
    const struct option *primary = options_primary(table);
    typed->last = equals != NULL ? equals + 1 : last;
    typed->kept = (struct word){typed->word, (size_t)(typed->last - typed->word)};
    if (equals != NULL) { /* the value of a key */
        const struct option *key = options_find(table, (struct word){last, (size_t)(equals - last)});
        if (key != NULL)
            offer_words(typed, key);
        return;
    }
    if (last == value && primary != NULL) /* PRIMARY is first */
        offer_words(typed, primary);
    if (last == value && options_need_value(table)) /* keys come only after a required PRIMARY */
        return;
    for (const struct option *key = table; key->type != OPTION_END; key++)
        if (key->name != NULL && !key->hidden && !is_given(typed, value, key->name))
            offer_text(typed, key->name, "=", key->help);
}

/* Returns the global option of that name; NULL if it is hidden or unknown. */
static const struct option *find_global_option(struct word name)
{
    const struct option *option = options_find(global_options, name);
    return option != NULL && !option->hidden ? option : NULL;
}

static void offer_stages(const struct typed *typed)
{
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        offer_text(typed, (*stage)->name, "", (*stage)->brief);
}

/* Completes the value of a stage or option, which begins at `value`. */
static void offer_value(struct typed *typed, struct word name, const char *value)
{
    const struct stage *stage = stage_find_word(name);
    const struct option *option = find_global_option(name);
    typed->last = value;
    typed->kept = (struct word){typed->word, (size_t)(value - typed->word)};
    if (stage != NULL)
        offer_keys(typed, stage->options, value);
    else if (option != NULL && option->keys != NULL)
        offer_keys(typed, option->keys, value);
    else if (option != NULL) {
        /* In a list of words, as of --only, complete the last one. */
        const char *comma = option->words != NULL && option->value != NULL ? strrchr(value, ',') : NULL;
        typed->last = comma != NULL ? comma + 1 : value;
        typed->kept.length = (size_t)(typed->last - typed->word);
        offer_words(typed, option);
    }
    if (option != NULL && strcmp(option->name, "help") == 0)
        offer_stages(typed);
}

/* Returns the name of the stage or option in `argument` if its value is the next argument; otherwise a word
 * whose start is NULL. Of letters such as -qm, the first one that needs a value takes the rest of the
 * argument. */
static struct word option_awaiting_value(const char *argument)
{
    const struct word none = {NULL, 0};
    const struct option *option = NULL;
    if (argument == NULL || argument[0] != '-')
        return none;
    if (argument[1] != '-') {
        const char *letter = argument + 1;
        while ((option = global_find_letter(*letter)) != NULL && !option_needs_value(option))
            letter++;
        if (option != NULL && letter[1] != '\0')
            return none;
    } else {
        struct word name = {argument + 2, strlen(argument + 2)};
        const struct stage *stage = stage_find_word(name);
        if (stage != NULL)
            return options_need_value(stage->options) ? name : none;
        option = find_global_option(name);
    }
    return option != NULL && option_needs_value(option) ? (struct word){option->name, strlen(option->name)}
                                                        : none;
}

void completion_write(FILE *file, const char *before, const char *word)
{
    struct typed typed = {.file = file, .word = word};
    struct word name = option_awaiting_value(before);
    const char *equals = strchr(word, '=');
    const struct option *lettered = equals == word + 2 ? global_find_letter(word[1]) : NULL;
    if (name.start != NULL) { /* the value of the option before it */
        offer_value(&typed, name, word);
    } else if (lettered != NULL && word[0] == '-') { /* -m=b */
        offer_value(&typed, (struct word){lettered->name, strlen(lettered->name)}, equals + 1);
    } else if (strncmp(word, "--", 2) == 0 && equals != NULL) { /* the value after '=' */
        offer_value(&typed, (struct word){word + 2, (size_t)(equals - word - 2)}, equals + 1);
    } else if (word[0] == '-') { /* the name of a stage or option; a single dash becomes two */
        typed.kept = (struct word){"--", 2};
        typed.last = word[1] == '-' ? word + 2 : word + 1;
        offer_stages(&typed);
        for (const struct option *option = global_options; option->type != OPTION_END; option++)
            if (!option->hidden)
                offer_text(&typed, option->name, "", option->help);
    }
}
