#include "cli/suggest.h"

#include "base/text.h"
#include "engine/stage.h"
#include "settings/settings.h"

#include <ctype.h>
#include <string.h>

enum { NAME_LIMIT = 48 }; /* no name is longer; what is, resembles none */

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

/* Levenshtein's: how many letters to insert, delete or replace. One row of the table at a time. */
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
    /* Whoever writes --inv hopes for abbreviations. */
    bool abbreviated = search->length >= 2 && strncmp(name, search->unknown, search->length) == 0;
    size_t distance = abbreviated ? 1 : edit_distance(search->unknown, name);
    if (distance < search->best_distance) {
        search->best = name;
        search->best_distance = distance;
    }
}

/* A third of the letters may be wrong: more, and the suggestion would be a riddle. */
static struct search search_begin(const char *unknown)
{
    size_t length = strlen(unknown);
    return (struct search){.unknown = unknown, .length = length, .best_distance = (length + 1) / 3 + 1};
}

#define INPUTS "inputs stand alone, as in climg in.png --blur 2 out.png"
#define GRAY   "climg keeps colours and channels; ImageMagick changes them: convert IN -colorspace Gray OUT"
#define LIST   "climg --help lists the stages"
#define ONE    "climg works on one picture at a time; ImageMagick joins them: convert A B -composite OUT"
#define TONES  "climg changes tones by --range and --invert alone; ImageMagick: convert IN -gamma 1.5 OUT"

const struct alias aliases[] = {
    {"negate", "invert"},
    {"negative", "invert"},
    {"lanczos", "resize"},
    {"upscale", "scale"},
    {"downscale", "scale"},
    {"thumbnail", "resize"},
    {"zoom", "resize"},
    {"gaussian", "blur"},
    {"gaussian-blur", "blur"},
    {"gaussblur", "blur"},
    {"sigma", "blur"},
    {"unsharp", "sharpen"},
    {"unsharp-mask", "sharpen"},
    {"smooth", "blur"},
    {"sobel", "gradient"},
    {"canny", "gradient"},
    {"edges", "gradient"},
    {"edge-detect", "gradient"},
    {"kernel", "convolve"},
    {"conv", "convolve"},
    {"filter", "convolve"},
    {"emboss", "convolve"},
    {"laplacian", "convolve"},
    {"dtcwt", "wavelet"},
    {"dwt", "wavelet"},
    {"idtcwt", "inverse-wavelet"},
    {"idwt", "inverse-wavelet"},
    {"noise", "denoise"},
    {"despeckle", "denoise"},
    {"bilateral", "denoise"},
    {"nlmeans", "denoise"},
    {"hqdn3d", "denoise"},
    {"threads", "jobs"},
    {"cpus", "jobs"},
    {"parallel", "jobs"},
    {"usage", "help"},
    {"overwrite", "yes"},
    {"inplace", "in-place"},
    {"out", "output"},
    {"outdir", "output"},
    {"output-dir", "output"},
    {"quality", "compression"},
    {"bits", "depth"},
    {"border", "edge"},
    {"padding", "edge"},
    {"gpu", "device"},
    {"cpu", "device"},
    {"no-gpu", "device"},
    {"opencl", "device"},
    {"benchmark", "timing"},
    {"time", "timing"},
    {"continue", "resume"},
    {"silent", "quiet"},
    {"log", "report"},
    {"type", "format"},
    {"width", "resize"},
    {"height", "resize"},
    {"size", "resize"},
    {"enlarge", "scale"},
    {"geometry", "resize"},
    {"turn", "rotate"},
    {"register", "align"},
    {"registration", "align"},
    {"max", "rank"},
    {"min", "rank"},
    {"percentile", "rank"},
    {"dilate", "rank"},
    {"erode", "rank"},
    {"devices", "list-devices"},
    {"normalize", "range"},
    {"autolevel", "range"},
    {"auto-level", "range"},
    {"level", "range"},
    {"contrast-stretch", "range"},
    {"affine", "warp"},
    {"identify", "info"},
    {"man", "help"},
    {"manual", "help"},
    {"i", INPUTS},
    {"in", INPUTS},
    {"input", INPUTS},
    {"infile", INPUTS},
    {"vf", "stages are options, as in climg in.png --scale 2 out.png"},
    {"filter_complex", "stages are options, as in climg in.png --scale 2 out.png"},
    {"list", LIST},
    {"list-stages", LIST},
    {"list-filters", LIST},
    {"stages", LIST},
    {"filters", LIST},
    {"compose", ONE},
    {"composite", ONE},
    {"append", ONE},
    {"overlay", ONE},
    {"montage", ONE},
    {"stitch", ONE},
    {"alpha", GRAY},
    {"equalize", TONES},
    {"grayscale", GRAY},
    {"greyscale", GRAY},
    {"grey", GRAY},
    {"gray", GRAY},
    {"monochrome", GRAY},
    {"colorspace", GRAY},
    {"brightness", TONES},
    {"contrast", TONES},
    {"gamma", TONES},
    {"modulate", TONES},
    {"saturation", TONES},
    {"threshold", "climg keeps shades; ImageMagick makes two of them: convert IN -threshold 50% OUT"},
    {"fft", "climg has no Fourier transform; --wavelet takes pictures apart by size and direction"},
    {"crop", "climg cuts to proportions only: --resize 160x90,fit=cover"},
    {"flip", "climg mirrors by --warp: \"1 0 0 0 -1 LAST\", LAST being the last row's number"},
    {"flop", "climg mirrors by --warp: \"-1 0 LAST 0 1 0\", LAST being the last column's number"},
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

/* No name has capitals, so they are a slip. What is longer than any name is compared by its beginning, which
 * resembles none. */
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
