#include "filters/shrink.h"

#include <math.h>

struct shrink {
    double sigma; /* 8-bit counts; NAN: estimate */
};

static void print_sigma(FILE *file, const void *params)
{
    shrink_print_sigma(file, ((const struct shrink *)params)->sigma);
}

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct shrink, sigma),
     .fallback = "auto",
     .value = "SIGMA",
     .optional = true,
     .help = "standard deviation of the noise in 8-bit counts (1/255 of full scale), 0 to 255; "
             "auto estimates it",
     .parse = shrink_parse_sigma,
     .print = print_sigma},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/gradient16.png --wavelet=6 --shrink --inverse-wavelet clean.png",
     "remove noise of a strength that is found out"},
    {"climg samples/scene.png --wavelet=5 --shrink=6 --gain 1:1.3 --inverse-wavelet crisp.png",
     "remove noise, then strengthen the finest detail that is left"},
    {NULL, NULL},
};

static bool sees_all(const void *params)
{
    return isnan(((const struct shrink *)params)->sigma);
}

/* Four samples of the coarsest level more on either side: three are neighbours, one is lost where the image's
 * rows are divided. Finer levels get more than they need. */
static struct rows rows(const void *params, const struct shape *in, struct rows out)
{
    int more = 4 << in->levels;
    if (sees_all(params))
        return rows_whole(in->height);
    return rows_clip((struct rows){out.begin - more, out.end + more}, in->height);
}

static enum status run_shrink(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    return shrink_pyramid(run, ((const struct shrink *)params)->sigma / 255, in, out, error);
}

const struct stage stage_shrink = {
    .name = "shrink",
    .brief = "denoise a pyramid by bivariate shrinkage",
    .manual = "Shrinks each complex coefficient by what its own magnitude, that of its parent on the next "
              "coarser level and "
              "the strength of its 7x7 neighbours say about signal and noise (Sendur and Selesnick, 2002). "
              "Colour is "
              "treated as brightness and two colour differences, each with its own noise where that is "
              "estimated: from the "
              "median magnitude of the finest diagonal subbands. Alpha and the lowpass stay as they are. Six "
              "levels are "
              "usual; --denoise does it all in one step.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct shrink),
    .in = KIND_PYRAMID,
    .out = KIND_PYRAMID,
    .rows = rows,
    .sees_all = sees_all,
    .groups = true,
    .run = run_shrink,
};
