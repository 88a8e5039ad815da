/* The filters of the dual-tree transform, the weights that kernels read, and the arithmetic of rows.
 *
 * Sources of the filters:
 *
 *     near_sym_a         closed form by N. Kingsbury, "Complex wavelets for shift invariant analysis and
 *                        filtering of signals", ACHA 10 (2001)
 *     legall             5/3 pair of D. Le Gall and A. Tabatabai, ICASSP 1988
 *     antonini           9/7 pair of M. Antonini, M. Barlaud, P. Mathieu, I. Daubechies, IEEE TIP 1 (1992)
 *     near_sym_b, q-shift sets   Kingsbury's, as python3-dtcwt 0.12 prints them
 *
 * The package's _bp pair is left out, as it does not reconstruct perfectly (32 dB). */
#include "wavelet/dtcwt_design.h"

#include <stddef.h>

const struct biort biorts[] = {
    {"near_sym_a",
     5,
     {-0.05, 0.25, 0.6, 0.25, -0.05},
     7,
     {-0.010714285714285713, -0.05357142857142857, 0.26071428571428573, 0.6071428571428571,
      0.26071428571428573, -0.05357142857142857, -0.010714285714285713}},
    {"near_sym_b",
     13,
     {-0.0017578125, 0.0, 0.022265625, -0.046875, -0.0482421875, 0.296875, 0.55546875, 0.296875,
      -0.0482421875, -0.046875, 0.022265625, 0.0, -0.0017578125},
     19,
     {7.062639508928571e-05, 0.0, -0.0013419015066964285, -0.0018833705357142855, 0.007156808035714285,
      0.023856026785714284, -0.05564313616071428, -0.05168805803571428, 0.29975760323660716,
      0.5594308035714286, 0.29975760323660716, -0.05168805803571428, -0.05564313616071428,
      0.023856026785714284, 0.007156808035714285, -0.0018833705357142855, -0.0013419015066964285, 0.0,
      7.062639508928571e-05}},
    {"legall", 5, {-0.125, 0.25, 0.75, 0.25, -0.125}, 3, {0.25, 0.5, 0.25}},
    {"antonini",
     9,
     {0.026748757410810106, -0.01686411844287467, -0.07822326652899052, 0.2668641184428729,
      0.6029490182363593, 0.2668641184428769, -0.0782232665289884, -0.016864118442875293,
      0.026748757410809648},
     7,
     {-0.04563588155712514, -0.02877176311424934, 0.295635881557128, 0.5575435262285023, 0.29563588155712334,
      -0.02877176311425308, -0.04563588155712608}},
    {NULL, 0, {0}, 0, {0}},
};

const struct qshift qshifts[] = {
    {"qshift_a",
     10,
     {0.051130405283831656, -0.013975370246888838, -0.10983605166597087, 0.26383956105893763,
      0.7666284677930372, 0.5636557101270515, 0.0008736226952170968, -0.1002312195074762,
      -0.0016896812725281543, -0.006181881892116438}},
    {"qshift_06",
     10,
     {0.03516383657149474, 0.0, -0.08832942445107285, 0.23389032060723564, 0.7602723690661257,
      0.5875182977235605, 0.0, -0.11430183714424873, 0.0, 0.0}},
    {"qshift_b",
     14,
     {0.003253142763653182, -0.00388321199915849, 0.03466034684485349, -0.03887280126882779,
      -0.11720388769911527, 0.27529538466888204, 0.7561456438925225, 0.5688104207121227, 0.011866092033797,
      -0.1067118046866654, 0.023825384794920298, 0.01702522388155399, -0.005439475937274115,
      -0.004556895628475491}},
    {"qshift_c",
     16,
     {-0.0047616119384559135, -0.00044602278926228516, -7.144197327965012e-05, 0.034914612306842195,
      -0.03727389579989796, -0.11591145742744076, 0.2763686431330317, 0.7563937651990367, 0.567134484100133,
      0.01463740596447335, -0.11255888425752203, 0.02228926326692271, 0.018498682724156248,
      -0.0072026778782583465, -0.0002276522058977718, 0.002430349945148675}},
    {"qshift_d",
     18,
     {-0.002284127440270531, 0.0012098941630734423, -0.011834794515430786, 0.0012834569993443994,
      0.044365221606616996, -0.05327610880304726, -0.1133058863621428, 0.2809028632221865, 0.7528160380878561,
      0.5658080673964587, 0.024550152433666563, -0.12018854471079482, 0.018156493945546453,
      0.03152637712208465, -0.006628794612430063, -0.0025761743066007948, 0.0012775586538069982,
      0.002411869456666278}},
    {NULL, 0, {0}},
};

/* Returns the length of a set's filters in kernels, which need taps / 2 to be odd. If it is even, a zero is
 * added at both ends. Sums do not change, but the samples under the zeros are read. */
static int kernel_taps(const struct qshift *bank)
{
    return bank->taps + (bank->taps / 2 % 2 == 0 ? 2 : 0);
}

void biort_highpass(const double *lowpass, int taps, double *highpass)
{
    for (int k = 0; k < taps; k++)
        highpass[k] = (k + taps / 2) % 2 ? -lowpass[k] : lowpass[k];
}

void qshift_filters(const struct qshift *qshift, double *h0b, double *h1a, double *h1b)
{
    int m = qshift->taps;
    for (int k = 0; k < m; k++)
        h0b[k] = qshift->h0a[m - 1 - k];
    for (int k = 0; k < m; k++)
        h1a[k] = k % 2 ? -h0b[k] : h0b[k];
    for (int k = 0; k < m; k++)
        h1b[k] = h1a[m - 1 - k];
}

/* ---------------------------------------------------------------- weights of the kernels */

/* Fills a bank of level 1. The shorter filter gets zeros at both ends, so that both have the same odd length
 * and centre. */
static void bank_level_1(const double *low, int low_taps, const double *high, int high_taps,
                         struct bank *bank)
{
    int taps = low_taps > high_taps ? low_taps : high_taps;
    *bank = (struct bank){.taps = taps, .count = 2 * (size_t)taps};
    for (int k = 0; k < low_taps; k++)
        bank->weights[(taps - low_taps) / 2 + k] = (float)low[low_taps - 1 - k];
    for (int k = 0; k < high_taps; k++)
        bank->weights[taps + (taps - high_taps) / 2 + k] = (float)high[high_taps - 1 - k];
}

/* The filters that the operators D and U of the kernels call a and b (kernels/dtcwt_forward_cpu.cl,
 * dtcwt_inverse_cpu.cl), of kernel_taps weights: a is of tree b, and b of tree a.
 *
 * D and U put a first if the sum of ha hb is positive, else b. In every set sum h0a h0b > 0, hence
 * sum h1a h1b < 0. So the order is a, b for the lowpass and b, a for the highpass, and kernels need no
 * parameter for it. */
struct trees {
    int taps;
    double filter[2][2][MAX_QSHIFT_TAPS]; /* [lowpass, highpass][a, b] */
};

/* Computes the filters of both trees for the forward or the inverse transform. */
static void make_trees(const struct qshift *qshift, bool inverse, struct trees *trees)
{
    double h0b[MAX_QSHIFT_TAPS], h1a[MAX_QSHIFT_TAPS], h1b[MAX_QSHIFT_TAPS];
    int m = qshift->taps, taps = kernel_taps(qshift), zeros = (taps - m) / 2;
    qshift_filters(qshift, h0b, h1a, h1b);
    /* D has (h0b, h0a), (h1b, h1a); U has (g0b, g0a), (g1b, g1a), which are (h0a, h0b), (h1a, h1b). */
    const double *forward[2][2] = {{h0b, qshift->h0a}, {h1b, h1a}};
    *trees = (struct trees){.taps = taps};
    for (int filter = 0; filter < 2; filter++)
        for (int tree = 0; tree < 2; tree++)
            for (int k = 0; k < m; k++)
                trees->filter[filter][tree][zeros + k] = forward[filter][inverse ? !tree : tree][k];
}

/* Interleaves the weights of the trees, as D reads alternate samples for them. */
void bank_forward(const struct shape *shape, int level, struct bank *bank)
{
    const struct biort *biort = &biorts[shape->biort];
    struct trees trees;
    if (level == 1) {
        double h1[MAX_BIORT_TAPS];
        biort_highpass(biort->g0, biort->g0_taps, h1);
        bank_level_1(biort->h0, biort->h0_taps, h1, biort->g0_taps, bank);
        return;
    }
    make_trees(&qshifts[shape->qshift], false, &trees);
    *bank = (struct bank){.qshift = true, .taps = trees.taps};
    for (int filter = 0; filter < 2; filter++)
        for (int k = trees.taps - 1; k >= 0; k--)
            for (int tree = 0; tree < 2; tree++)
                bank->weights[bank->count++] = (float)trees.filter[filter][tree][k];
}

/* Orders the weights as U needs them: its outputs 4n and 4n + 2 are of filter a, with even and odd weights,
 * and 4n + 1 and 4n + 3 are of filter b. */
void bank_inverse(const struct shape *shape, int level, struct bank *bank)
{
    const struct biort *biort = &biorts[shape->biort];
    struct trees trees;
    if (level == 1) {
        double g1[MAX_BIORT_TAPS];
        biort_highpass(biort->h0, biort->h0_taps, g1);
        bank_level_1(biort->g0, biort->g0_taps, g1, biort->h0_taps, bank);
        return;
    }
    make_trees(&qshifts[shape->qshift], true, &trees);
    *bank = (struct bank){.qshift = true, .taps = trees.taps};
    for (int filter = 0; filter < 2; filter++)
        for (int k = trees.taps - 2; k >= 0; k -= 2)
            for (int output = 0; output < 4; output++)
                bank->weights[bank->count++] = (float)trees.filter[filter][output % 2][k + output / 2];
}

/* ---------------------------------------------------------------- sizes and rows
 *
 * The input rows of each step for rows of its result. Rows count from the top of the whole image, also in
 * slices, so slices give the same bits. Samples beyond the border are mirrored. Their sources are within the
 * filter's radius of the border, so it is enough to clip ranges of rows. */

int dtcwt_lowpass_size(int n, int level)
{
    int size = n + n % 2;
    for (int l = 2; l <= level; l++)
        size = 2 * ((size + 3) / 4);
    return size;
}

int dtcwt_max_levels(int width, int height)
{
    int larger = width > height ? width : height, levels = 1;
    while (levels < MAX_LEVELS &&
           (dtcwt_lowpass_size(larger, levels) > 2 || levels < 6)) /* 6: --denoise's default */
        levels++;
    return levels;
}

void dtcwt_padding(int n, int level, bool pad_at_end, int *pad, int *length)
{
    *pad = level > 1 && n % 4 != 0 && !pad_at_end;
    *length = level > 1 ? (n + 3) / 4 * 4 : n + n % 2;
}

struct interval dtcwt_part_rows(struct interval part, int image, int height)
{
    return (struct interval){(int)((long long)part.begin * height / image),
                             (int)((long long)part.end * height / image)};
}

/* Returns the radius of the level-1 filters, which are padded to one length. */
static int biort_radius(const struct shape *shape)
{
    const struct biort *bank = &biorts[shape->biort];
    return (bank->h0_taps > bank->g0_taps ? bank->h0_taps : bank->g0_taps) / 2;
}

int dtcwt_crop(const struct shape *shape, int level)
{
    const int n = shape->height;
    return shape->pad_at_end ? 0 : dtcwt_lowpass_size(n, level) - dtcwt_lowpass_size(n, level - 1) / 2;
}

/* Returns the lowpass rows of a level for rows `output` of its inverse. Level 1 computes pairs of rows from
 * the rows within a radius. Later levels (U) compute rows 4i ... 4i + 3 from rows 2i - M ... 2i + M + 1,
 * where M is half of the kernels' taps. */
static struct interval level_rows(const struct shape *shape, int level, struct interval output)
{
    int radius = biort_radius(shape), half = kernel_taps(&qshifts[shape->qshift]) / 2;
    struct interval first = interval_align(output, 2), four = interval_align(output, 4),
                    wanted = level == 1 ? interval_widen(first, radius)
                                        : (struct interval){four.begin / 2 - half, four.end / 2 + half};
    return interval_align(interval_clip(wanted, dtcwt_lowpass_size(shape->height, level)), 2);
}

/* Returns the subband rows of lowpass rows, which begin and end at even numbers. */
static struct interval halved(struct interval rows)
{
    return (struct interval){rows.begin / 2, rows.end / 2};
}

struct interval dtcwt_subband_rows(const struct shape *shape, int level, struct interval output)
{
    return halved(level_rows(shape, level, output));
}

void dtcwt_inverse_rows(const struct shape *shape, struct interval image, struct dtcwt_rows *rows)
{
    /* From fine to coarse: the lowpass of a level is the output of the next one, before cropping. */
    struct interval output = image;
    for (int level = 1; level <= shape->levels; level++) {
        rows->lowpass[level] = level_rows(shape, level, output);
        rows->subbands[level] = halved(rows->lowpass[level]);
        int crop = level < shape->levels ? dtcwt_crop(shape, level + 1) : 0;
        output = (struct interval){rows->lowpass[level].begin + crop, rows->lowpass[level].end + crop};
    }
}

/* Proceeds from coarse to fine. Level 1 reads the rows within a radius. Later levels (D) compute rows 2n and
 * 2n + 1 from rows 4n + 2 - m ... 4n + 1 + m of the padded axis, where m is the kernels' taps. */
void dtcwt_forward_rows(const struct shape *shape, struct dtcwt_rows *rows)
{
    int radius = biort_radius(shape), taps = kernel_taps(&qshifts[shape->qshift]);
    struct interval wanted = rows->lowpass[shape->levels];
    for (int level = shape->levels; level >= 1; level--) {
        struct interval subbands = {2 * rows->subbands[level].begin, 2 * rows->subbands[level].end};
        struct interval all = interval_align(interval_union(wanted, subbands), 2);
        rows->lowpass[level] = all;
        if (level == 1) {
            rows->image = interval_clip(interval_widen(all, radius), shape->height);
            return;
        }
        int pad = dtcwt_crop(shape, level);
        wanted = (struct interval){2 * all.begin + 2 - taps - pad, 2 * all.end - 2 + taps - pad};
        wanted = interval_clip(wanted, dtcwt_lowpass_size(shape->height, level - 1));
    }
}
