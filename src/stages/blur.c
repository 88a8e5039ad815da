/* Gaussian blur, along x and along y:
 *
 *     dst(x, y) = sum of g(i) g(j) src(x + i, y + j)
 *     g(i)      = exp(-i^2 / (2 SIGMA^2)), normalised to the sum 1
 *
 * The work is in filters/gaussian.h, which also serves --sharpen, --gradient and --background: a product on
 * the full grid below 6 pixels, a coarser grid above, so the time hardly grows with SIGMA.
 *
 * Colour is premultiplied by alpha, so transparent pixels do not bleed into others. NaN and infinite samples
 * are ordinary numbers here and spread to all outputs of their window; --denoise treats them as missing. */
#include "filters/gaussian.h"

static const struct option options[] = {
    {.type = OPTION_REAL,
     .offset = offsetof(struct gaussian, sigma),
     .min = 0.05, /* a neighbour's weight, exp(-200), is 0 as a float */
     .max = 1000,
     .value = "SIGMA",
     .help = "standard deviation in pixels"},
    GAUSSIAN_TRUNCATE,
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/scene.png --blur 2 blurred.png", "soften a picture"},
    {"climg samples/soft-alpha.png --blur 4,truncate=3 soft.png",
     "a shorter, faster filter; nothing bleeds out of transparent pixels"},
    {NULL, NULL},
};

static enum status run_blur(struct run *run, const void *params, const struct value *in, struct value *out,
                            struct error *error)
{
    return gaussian_blur(run, params, &epilogue_copy, in, out, error);
}

const struct stage stage_blur = {
    .name = "blur",
    .brief = "Gaussian blur",
    .manual = "Smooths with a sampled, normalised Gaussian along x and along y. The result differs from a "
              "full, untruncated Gaussian's by at most 1e-5 of full scale. From SIGMA 6 on it runs on a "
              "coarser grid, where the time grows far less than SIGMA. With truncate=N the Gaussian is cut "
              "off at the radius floor(N * SIGMA + 0.5) and applied on the full grid, as "
              "scipy.ndimage.gaussian_filter does, where N is 4. Pixels beyond the border follow --edge.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct gaussian),
    .check = gaussian_make,
    .release = gaussian_free,
    .rows = gaussian_rows,
    .caps = product_caps,
    .adapt_to_chroma = gaussian_adapt_to_chroma,
    .run = run_blur,
};
