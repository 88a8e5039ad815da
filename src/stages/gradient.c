/* Magnitude of the gradient of the smoothed picture, channel by channel:
 *
 *     dst = sqrt((src * g'(x) g(y))^2 + (src * g(x) g'(y))^2)
 *
 * where g is the Gaussian of --blur and g' its derivative. Both come from one evaluation of
 * filters/gaussian.h; the square root is the last operation of the second product, not a pass of its own.
 *
 * A step from 0 to 1 gives g(0) = 1 / (sqrt(2 pi) SIGMA) = 0.4 / SIGMA at its middle if SIGMA is 2 or more.
 * A smaller SIGMA has too few samples of g': 1 gives 0.36. Results are not stretched to full scale, as their
 * largest value is known only after the whole picture. They are no brightnesses (caps.new_values). */
#include "filters/gaussian.h"

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct gaussian, sigma),
     .fallback = "1",
     .min = 0.2,
     .max = 1000,
     .value = "SIGMA",
     .optional = true,
     .help = "standard deviation of the Gaussian in pixels"},
    GAUSSIAN_TRUNCATE,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --gradient edges.png", "edges"},
    {"climg samples/scene.png --gradient=3 --depth 16 edges.png", "only the large edges, in 16 bit"},
    {NULL, NULL},
};

static struct stage_caps gradient_caps(const void *params)
{
    struct stage_caps caps = product_caps(params);
    caps.new_values = caps.amplifies = true;
    return caps;
}

const struct stage stage_gradient = {
    .name = "gradient",
    .brief = "magnitude of the gradient",
    .manual =
        "Computes the magnitude of the gradient of the picture smoothed by a Gaussian: the picture is "
        "filtered with the derivatives of a Gaussian along x and along y, and the two are combined, channel "
        "by channel. A step of full scale gives about 0.4 / SIGMA at its middle. Alpha is unchanged.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct gaussian),
    .check = gaussian_make,
    .release = gaussian_free,
    .rows = gaussian_rows,
    .caps = gradient_caps,
    .run = gaussian_gradient,
};
