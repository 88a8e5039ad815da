/* Denoises a pyramid by bivariate shrinkage: options and rows; the work is in wavelet/shrink.h. L. Sendur and
 * I. Selesnick, "Bivariate shrinkage functions for wavelet-based denoising exploiting interscale dependency",
 * IEEE Transactions on Signal Processing 50 (2002).
 *
 *     z' = z * max(R - T, 0) / R,   R = sqrt(|z|^2 + |parent|^2),   T = sqrt(5) n^2 / s
 *
 * for a coefficient z. n is the standard deviation of the noise, s of the signal, both in one part (real or
 * imaginary) of z; s is estimated from the 5x5 neighbours (kernels/shrink.h).
 *
 * --denoise does the same without a pyramid in between, which takes less memory. This stage is for chains
 * that also change the pyramid, and for pyramids in files. An estimate of the noise needs all rows; with
 * SIGMA the pyramid is processed in slices. */
#include "wavelet/shrink.h"

#include <math.h>

struct shrink {
    double sigma; /* of the noise, in 8-bit counts; NAN: estimate it */
};

static const struct option options[] = {
    {.type = OPTION_CUSTOM,
     .offset = offsetof(struct shrink, sigma),
     .fallback = "auto",
     .value = "SIGMA",
     .optional = true,
     .help =
         "standard deviation of the noise in 8-bit counts (1/255 of full scale), 0 to 255; auto estimates it",
     .parse = shrink_parse_sigma,
     .print = shrink_print_sigma},
    {.type = OPTION_END},
};

static const struct example examples[] = {
    {"climg samples/gradient16.png --wavelet=6 --shrink --inverse-wavelet clean.png",
     "remove noise of unknown strength"},
    {"climg samples/scene.png --wavelet=5 --shrink=6 --gain 1:1.3 --inverse-wavelet crisp.png",
     "remove noise, then strengthen the finest detail that is left"},
    {NULL, NULL},
};

/* True if the noise is estimated, which takes the whole pyramid. */
static bool estimates_noise(const void *params)
{
    return isnan(((const struct shrink *)params)->sigma);
}

/* Returns the rows with a halo of four subband rows of the coarsest level: two for the 5x5 neighbours, two
 * for rounding. Finer levels need less. If the noise is estimated, returns all rows. */
static struct interval shrink_source_rows(const void *params, const struct shape *in, struct interval out)
{
    const int halo = 4 << in->levels;
    if (estimates_noise(params))
        return rows_full(in->height);
    /* Coefficients have no border rule, not even --edge. So rows outside are not needed. */
    return interval_clip(interval_widen(out, halo), in->height);
}

static enum status run_shrink(struct run *run, const void *params, const struct value *in, struct value *out,
                              struct error *error)
{
    return shrink_pyramid(run, ((const struct shrink *)params)->sigma / 255, in, out, error);
}

static struct stage_caps shrink_caps(const void *params)
{
    return (struct stage_caps){.needs_all_rows = estimates_noise(params), .groups = true};
}

const struct stage stage_shrink = {
    .name = "shrink",
    .brief = "denoise a pyramid by bivariate shrinkage",
    .manual =
        "Shrinks each complex coefficient depending on its own magnitude, its parent's on the next "
        "coarser level, and the energy of its 5x5 neighbours (bivariate shrinkage, Sendur and "
        "Selesnick, 2002). Colour is treated as brightness and two colour differences, or as red, green "
        "and blue if their estimated noise differs by more than a factor of 4. Without SIGMA "
        "the noise is estimated for each of them and each level, as the noise of cameras and JPEG is "
        "weaker at the finest levels than at coarser ones. The estimate is a linear model of the lower "
        "quantile and the median of the energies of 7x7 neighbours, at some 4,000 positions of a subband; "
        "the model was fitted to simulated and real cameras. -v and --report give the estimate. Alpha "
        "and the lowpass are unchanged. Six levels are usual; --denoise does everything in one step.",
    .examples = examples,
    .options = options,
    .params_size = sizeof(struct shrink),
    .in = KIND_PYRAMID,
    .out = KIND_PYRAMID,
    .rows = shrink_source_rows,
    .caps = shrink_caps,
    .run = run_shrink,
};
