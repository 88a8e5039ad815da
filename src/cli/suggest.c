/* "did you mean --blur?": the answer in a short table of aliases, or the name with the smallest edit distance
 * of which at most a third of the letters is wrong. */
#include "cli/cli.h"

#include "base/text.h"
#include "engine/stage.h"
#include "settings/settings.h"

#include <ctype.h>
#include <string.h>

enum { NAME_LIMIT = 48 }; /* no name is longer, and a longer word resembles none */

struct search {
    const char *unknown;
    size_t length;
    const char *best;
    size_t best_distance;
};

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Returns the Levenshtein distance: letters to insert, delete or replace. Keeps one row of the table. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[NAME_LIMIT + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, row[j] + 1, diagonal + 1);
        }
    }
    return row[width];
}

static void consider(struct search *search, const char *name)
{
    if (strlen(name) > NAME_LIMIT)
        return;
    /* --inv is an abbreviation. */
    bool abbreviated = search->length >= 2 && strncmp(name, search->unknown, search->length) == 0;
    size_t distance = abbreviated ? 1 : edit_distance(search->unknown, name);
    if (distance < search->best_distance) {
        search->best = name;
        search->best_distance = distance;
    }
}

/* Begins a search in which at most a third of the letters may be wrong. */
static struct search search_begin(const char *unknown)
{
    size_t length = strlen(unknown);
    return (struct search){.unknown = unknown, .length = length, .best_distance = (length + 1) / 3 + 1};
}

#define INPUTS "inputs need no option, as in climg in.png --blur 2 out.png"

/* The words of other programs that are typed most. */
const struct alias aliases[] = {
    {"i", INPUTS},
    {"input", INPUTS},
    {"vf", "stages are options, as in climg in.png --scale 2 out.png"},
    {"negate", "invert"},
    {"upscale", "scale"},
    {"thumbnail", "resize"},
    {"size", "resize"},
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
    {NULL, NULL},
};

static const char *nearest_name(const char *unknown)
{
    struct search search = search_begin(unknown);
    for (const struct stage *const *stage = stages; *stage != NULL; stage++)
        consider(&search, (*stage)->name);
    for (const struct option *option = global_options; option->type != OPTION_END; option++) {
        if (!option->hidden)
            consider(&search, option->name);
    }
    return search.best;
}

const char *alias_answer(const char *unknown)
{
    for (const struct alias *alias = aliases; alias->typed != NULL; alias++) {
        if (strcmp(alias->typed, unknown) == 0)
            return alias->answer;
    }
    return NULL;
}

/* Names have no capitals. A word longer than any name is cut off, and resembles none. */
struct hint suggest(const char *before, const char *typed)
{
    struct hint hint = {""};
    char unknown[NAME_LIMIT + 1] = "";
    for (size_t i = 0; i < NAME_LIMIT && typed[i] != '\0'; i++)
        unknown[i] = (char)tolower((unsigned char)typed[i]);
    const char *answer = alias_answer(unknown);
    if (answer == NULL)
        answer = nearest_name(unknown);
    if (answer == NULL)
        text_append(hint.text, sizeof hint.text, "see climg --help");
    else if (strchr(answer, ' ') != NULL)
        text_append(hint.text, sizeof hint.text, "%s", answer);
    else
        text_append(hint.text, sizeof hint.text, "did you mean %s%s?", before, answer);
    return hint;
}
