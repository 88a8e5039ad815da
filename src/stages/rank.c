#include "filters/rank.h"

static const struct option options[] = {
    RANK_RADIUS,
    {.name = "percent",
     .type = OPTION_REAL,
     .offset = offsetof(struct rank, percent),
     .fallback = "50",
     .min = 0,
     .max = 100,
     .value = "P",
     .help = "0: the smallest value of the window, 50: the median, 100: the largest"},
    RANK_SHAPE,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --rank 2,percent=100 light.png", "light spots grow, thin dark lines go"},
    {"climg samples/scene.png --rank 3,percent=20,shape=disc dark.png",
     "darker, and less moved by single pixels than the minimum"},
    {NULL, NULL},
};

const struct stage stage_rank = {
    .name = "rank",
    .brief = "minimum, maximum and what is between",
    .manual = "Sorts the values of the window around each pixel, channel by channel, and takes the one at P "
              "percent: of n values the one with n * P / 100 (rounded down) values before it, or the last "
              "one. That is the rule of scipy.ndimage.percentile_filter. The result is always one of the "
              "values, bit for bit. NaN is sorted last. Pixels beyond the border follow --edge.\n\n"
              "Alpha is left as it is. Colour is ranked after it was multiplied by alpha, so that "
              "transparent pixels count as black.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct rank),
    .in = KIND_IMAGE,
    .out = KIND_IMAGE,
    .rows = rank_rows,
    .traits = rank_traits,
    .coarsen = rank_coarsen,
    .run = rank_image,
};
