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

enum { NAME_LIMIT = 48 }; /* bytes of an unknown word; no name is longer */

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

/* If the distance of `name` from the unknown word is less than *distance, stores both in *nearest and
 * *distance. */
static void keep_nearest(const char *name, const char *unknown, const char **nearest, size_t *distance)
{
    /* An abbreviation such as --inv has the distance 1. */
    const size_t length = strlen(unknown);
    const bool is_abbreviation = length >= 2 && strncmp(name, unknown, length) == 0;
    const size_t wrong_letters = is_abbreviation ? 1 : edit_distance(name, unknown);
    if (wrong_letters < *distance) {
        *nearest = name;
        *distance = wrong_letters;
    }
}

/* The words of other programs that users type most. An answer with a blank is a sentence, else a name. */
const struct alias aliases[] = {
    /* files and programs */
    {"convert", "the output's name is enough, as in climg in.png out.jpg"},
    {"i|input", "inputs need no option, as in climg in.png --blur 2 out.png"},
    {"vf", "stages are options, as in climg in.png --scale 2 out.png"},
    {"overwrite", "yes"},
    {"threads", "jobs"},
    {"limit", "memory-limit"},
    {"bits|bit-depth", "depth"},
    {"jpeg|jpg|png|tiff|tif|webp|gif",
     "the output's name chooses the format; --format, --depth, --quality and --compression set more"},
    {"batch|folder|directory", "a folder is an input, and another one the output: climg in/ --blur 2 out/"},
    {"gpu|cpu", "device"},
    {"devices", "list-devices"},
    {"usage|man", "help"},
    {"identify|exif|metadata", "info"},
    {"strip-metadata|no-metadata|noexif|strip-all", "strip"},
    {"orientation", "auto-orient"},
    {"stats|statistics|noise|histogram|hist",
     "climg --info --measure shows figures of the pixels, --info=json --measure histograms, too"},
    {"diff|difference", "compare"},
    {"text|label|annotate|caption|draw|montage|animate|append|watermark|composite|overlay|blend|dither|"
     "modulate|mask|vignette|fft|count|"
     "saturation|hue|sepia|colors|colours|quantize|transparent|tile|split",
     "climg does not do that; ImageMagick does"},
    {"gps|strip-gps|remove-gps", "--strip drops all EXIF; to drop the place alone: exiftool -gps:all= FILE"},
    {"dpi|ppi|density|resolution", "climg keeps the resolution that a file names; exiftool changes it"},
    {"suffix|prefix|rename", "outputs have the names of their inputs; put them into another folder"},
    {"max-size|max-bytes|file-size|filesize|target-size",
     "climg does not aim at a number of bytes; --quality and --resize make files smaller"},
    {"flatten", "JPEG has no alpha: --format jpeg puts the picture on white"},
    /* size and place */
    {"thumbnail|thumb|size|width|height|lanczos", "resize"},
    {"fit", "write --resize 800x600,fit=cover (or inside, exact)"},
    {"filter", "write --resize 640x,filter=bicubic"},
    {"gravity", "write --crop WxH,gravity=north"},
    {"color|colour|bordercolor|fill", "write --border N,color=white, or --extend WxH,color=white"},
    {"fuzz", "write --trim=TOLERANCE"},
    {"upscale|enlarge|bin|half", "scale"},
    {"pad|canvas", "extend"},
    {"frame|shave", "border"},
    {"autocrop", "trim"},
    {"chop", "write --crop with the size that is left, as --crop 600x400"},
    {"mirror|flop", "flip"},
    {"turn", "rotate"},
    {"straighten", "deskew"},
    {"register|registration", "align"},
    /* filters */
    {"gaussian|gaussblur|gaussian-blur|sigma|smooth", "blur"},
    {"unsharp|unsharp-mask|usm", "sharpen"},
    {"sobel|edges|canny", "gradient"},
    {"nlmeans|bilateral|wavelet-denoise", "denoise"},
    {"strength", "write --denoise=SIGMA, or --sharpen AMOUNT"},
    {"max|dilate", "write --rank RADIUS,percent=100"},
    {"min|erode", "write --rank RADIUS,percent=0"},
    {"open", "write --rank RADIUS,percent=0 --rank RADIUS,percent=100"},
    {"close", "write --rank RADIUS,percent=100 --rank RADIUS,percent=0"},
    {"morphology", "rank"},
    {"rolling-ball|subtract-background|top-hat|tophat", "background"},
    /* values and colours */
    {"negate", "invert"},
    {"grayscale|greyscale|monochrome|channel", "gray"},
    {"bw|binarize|black-white", "write --gray --threshold otsu"},
    {"otsu|sauvola", "threshold"},
    {"lat|adaptive-threshold", "write --threshold sauvola"},
    {"gamma", "write --levels 0%,100%,gamma=G"},
    {"brightness|exposure", "write --levels 0%,100%,gamma=1.3, or gamma=0.8 for a darker picture"},
    {"contrast", "write --levels 10%,90%, or --levels auto, or --local-contrast"},
    {"brightness-contrast|level|curves", "levels"},
    {"normalize|autocontrast|auto-contrast|auto-level|auto-levels", "write --levels auto"},
    {"white-balance|wb|awb", "write --levels auto,channels=each"},
    {"equalize|equalise|clahe|shadows|highlights|dehaze", "local-contrast"},
    {"srgb|icc|colorspace|colourspace", "profile"},
    {"dark|subtract", "minus"},
    {"flat|divide", "over"},
    /* many into one */
    {"merge|average|mean|focus-stack", "stack"},
    {NULL, NULL},
};

const char *alias_answer(const char *typed)
{
    for (const struct alias *alias = aliases; alias->typed != NULL; alias++) {
        const char *cursor = alias->typed;
        struct word word;
        while (text_next_word(&cursor, '|', &word))
            if (word_equals(word, typed))
                return alias->answer;
    }
    return NULL;
}

struct hint suggest(const char *before, const char *unknown)
{
    struct hint hint = {.text = ""};
    /* Names have no capitals. A word longer than any name is cut off. */
    char lower[NAME_LIMIT + 1] = "";
    for (size_t i = 0; i < NAME_LIMIT && unknown[i] != '\0'; i++)
        lower[i] = (char)tolower((unsigned char)unknown[i]);
    const char *answer = alias_answer(lower);
    if (answer == NULL) {
        /* Find the nearest stage or option. A third of the letters, rounded, may be wrong; keep_nearest
         * requires a smaller distance. */
        size_t distance = (strlen(lower) + 1) / 3 + 1;
        for (const struct stage *const *stage = stages; *stage != NULL; stage++)
            keep_nearest((*stage)->name, lower, &answer, &distance);
        for (const struct option *option = global_options; option->type != OPTION_END; option++)
            if (!option->hidden)
                keep_nearest(option->name, lower, &answer, &distance);
    }
    hint.is_found = answer != NULL;
    if (answer == NULL)
        text_append(hint.text, sizeof hint.text, "climg --help=all lists stages and options");
    else if (strchr(answer, ' ') != NULL)
        text_append(hint.text, sizeof hint.text, "%s", answer);
    else
        text_append(hint.text, sizeof hint.text, "did you mean %s%s?", before, answer);
    return hint;
}
