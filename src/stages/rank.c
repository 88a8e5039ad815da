/* Rank filter. Of the n samples of a window in ascending order, counted from 0, the result is number
 * min(floor(n * percent / 100), n - 1): the rule of scipy.ndimage.percentile_filter. 0 is an erosion, 100 a
 * dilation.
 *
 * The work is in filters/rank.h, which chooses a kernel by device, samples and radius. All give the same
 * bits, because the result is always one of the samples. The stage reads and writes rasters of 8 and 16 bit
 * directly, works plane by plane, and needs `radius` rows above and below. */
#include "filters/rank.h"

static const struct option options[] = {
    RANK_RADIUS,
    {.name = "percent",
     .type = OPTION_REAL,
     .offset = offsetof(struct rank, percent),
     .fallback = "50",
     .max = 100,
     .value = "P",
     .help = "0: the smallest value of the window, 50: the median, 100: the largest"},
    RANK_SHAPE,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --rank 2,percent=100 light.png",
     "dilate: light spots grow, thin dark lines vanish"},
    {"climg samples/scene.png --rank 3,percent=20,shape=disc dark.png",
     "darker, and less sensitive to single pixels than the minimum"},
    {NULL, NULL},
};

const struct stage stage_rank = {
    .name = "rank",
    .brief = "minimum, maximum or any percentile of a window",
    .manual = "Replaces each value by the P-th percentile of the window around it, channel by channel: of n "
              "sorted values the one with n * P / 100 (rounded down) values before it, as in "
              "scipy.ndimage.percentile_filter. The result is always one of the values, bit for bit. NaN is "
              "sorted last. Pixels beyond the border follow --edge.\n\n"
              "Alpha is unchanged. Colour is ranked after it was multiplied by alpha, so that transparent "
              "pixels count as black.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct rank),
    .rows = rank_rows,
    .caps = rank_caps,
    .adapt_to_chroma = rank_adapt_to_chroma,
    .run = rank_image,
};
