/* Hints for unknown names: "did you mean --blur?".
 *
 *     typed        hint
 *     --gaussian   --blur     alias: a name in other programs, from a short table
 *     --inv        --invert   beginning of a name
 *     --blurr      --blur     smallest edit distance, at most a third of the word's letters
 *     --xyz        climg --help=all lists stages and options */
#include "cli/cli.h"

#include "base/text.h"
#include "engine/stage.h"
#include "settings/settings.h"

#include <ctype.h>
#include <string.h>

enum { NAME_LIMIT = 48 }; /* bytes; no name is longer */

/* A search for the nearest name. */
struct search {
    const char *unknown; /* the word, in lower case */
    size_t length;       /* of the word, in bytes */
    const char *best;    /* nearest name so far; NULL if none is near */
    size_t best_distance;
};

/* Returns the Levenshtein distance of two texts: the number of letters to insert, delete or replace. Keeps
 * one row of the table of distances of all prefixes (R. Wagner, M. Fischer, J. ACM 21, 1974). `b` has at most
 * NAME_LIMIT bytes. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_LIMIT + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0]; /* entry (i, j) of the table; row[j + 1] becomes entry (i + 1, j + 1) */
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            const size_t inserted = row[j] + 1, deleted = diagonal + 1;
            row[j + 1] = replaced < inserted ? replaced : inserted;
            row[j + 1] = row[j + 1] < deleted ? row[j + 1] : deleted;
        }
    }
    return row[width];
}

/* Makes `name` the best if it is nearer to the word. */
static void consider(struct search *search, const char *name)
{
    if (strlen(name) > NAME_LIMIT)
        return;
    /* An abbreviation such as --inv counts as one wrong letter. */
    bool abbreviated = search->length >= 2 && strncmp(name, search->unknown, search->length) == 0;
    size_t distance = abbreviated ? 1 : edit_distance(search->unknown, name);
    if (distance < search->best_distance) {
        search->best = name;
        search->best_distance = distance;
    }
}

#define INPUTS "inputs need no option, as in climg in.png --blur 2 out.png"

/* Names in other programs that users type most. An answer with a blank is a sentence, else a name. */
const struct alias aliases[] = {
    {"i", INPUTS},
    {"input", INPUTS},
    {"vf", "stages are options, as in climg in.png --scale 2 out.png"},
    {"negate", "invert"},
    {"upscale", "scale"},
    {"thumbnail", "resize"},
    {"size", "resize"},
    {"fit", "write --resize 800x600,fit=cover (or inside, exact)"},
    {"lanczos", "resize"},
    {"gaussian", "blur"},
    {"gaussblur", "blur"},
    {"sigma", "blur"},
    {"unsharp", "sharpen"},
    {"unsharp-mask", "sharpen"},
    {"sobel", "gradient"},
    {"kernel", "convolve"},
    {"nlmeans", "denoise"},
    {"max", "rank"},
    {"rolling-ball", "background"},
    {"subtract-background", "background"},
    {"flatten", "JPEG has no alpha: --format jpeg puts the picture on white"},
    {"register", "align"},
    {"threads", "jobs"},
    {"overwrite", "yes"},
    {"gpu", "device"},
    {"devices", "list-devices"},
    {"identify", "info"},
    {"usage", "help"},
    {"man", "help"},
    {"pad", "extend"},
    {"mirror", "flip"},
    {"flop", "flip"},
    {"grayscale", "gray"},
    {"gamma", "levels"},
    {"brightness", "levels"},
    {"contrast", "levels"},
    {"level", "levels"},
    {"normalize", "levels"},
    {"autocontrast", "levels"},
    {"otsu", "threshold"},
    {"sauvola", "threshold"},
    {"niblack", "threshold"},
    {NULL, NULL},
};

/* Compares whole words only: similar names are a matter of the edit distance. */
const char *alias_answer(const char *unknown)
{
    for (const struct alias *alias = aliases; alias->typed != NULL; alias++) {
        if (strcmp(alias->typed, unknown) == 0)
            return alias->answer;
    }
    return NULL;
}

struct hint suggest(const char *before, const char *typed)
{
    struct hint hint = {.text = ""};
    /* Names have no capitals. A word longer than any name is cut off. */
    char unknown[NAME_LIMIT + 1] = "";
    for (size_t i = 0; i < NAME_LIMIT && typed[i] != '\0'; i++)
        unknown[i] = (char)tolower((unsigned char)typed[i]);
    const char *answer = alias_answer(unknown);
    if (answer == NULL) {
        /* The nearest stage or option, unless more than a third of the letters is wrong in all names. */
        const size_t length = strlen(unknown);
        struct search search = {.unknown = unknown, .length = length, .best_distance = (length + 1) / 3 + 1};
        for (const struct stage *const *stage = stages; *stage != NULL; stage++)
            consider(&search, (*stage)->name);
        for (const struct option *option = global_options; option->type != OPTION_END; option++)
            if (!option->hidden)
                consider(&search, option->name);
        answer = search.best;
    }
    /* A sentence, a name, or nothing. */
    hint.is_found = answer != NULL;
    if (answer == NULL)
        text_append(hint.text, sizeof hint.text, "climg --help=all lists stages and options");
    else if (strchr(answer, ' ') != NULL)
        text_append(hint.text, sizeof hint.text, "%s", answer);
    else
        text_append(hint.text, sizeof hint.text, "did you mean %s%s?", before, answer);
    return hint;
}
