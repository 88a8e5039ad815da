/* Median of a window: the rank filter (filters/rank.h) with percent=50. It is a stage because "median" is the
 * word that people look for. Windows have odd numbers of samples, so the median is one of them. */
#include "filters/rank.h"

static const struct option options[] = {
    RANK_RADIUS,
    RANK_SHAPE,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/night.jpg --median 1 clean.jpg", "remove single wrong pixels, keep edges"},
    {"climg samples/scene.png --median 2 clean.png", "remove spots of up to 12 pixels"},
    {"climg samples/scene.png --median 5,shape=disc calm.png", "remove spots of up to 40 pixels"},
    {"climg samples/page.jpg --median 20 paper.jpg", "the paper without its text"},
    {NULL, NULL},
};

static enum status median_check(void *params, struct error *error)
{
    (void)error;
    ((struct rank *)params)->percent = 50;
    return STATUS_OK;
}

const struct stage stage_median = {
    .name = "median",
    .brief = "median of a window",
    .manual = "Replaces each value by the median of the window around it, channel by channel: noise in "
              "single pixels disappears, edges stay. RADIUS 2 is a window of 5x5. Equal to --rank "
              "RADIUS,percent=50, whose help explains NaN, alpha and the border.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct rank),
    .check = median_check,
    .rows = rank_rows,
    .caps = rank_caps,
    .adapt_to_chroma = rank_adapt_to_chroma,
    .run = rank_image,
};
