/* From the published filters to the weights that kernels take. */
#include "filters/dtcwt_level.h"

/* Low- and highpass of level 1 brought to one odd length around the same centre. */
static void odd_bank(const double *low, int low_taps, const double *high, int high_taps, struct bank *bank)
{
    int taps = low_taps > high_taps ? low_taps : high_taps;
    *bank = (struct bank){.taps = taps, .count = 2 * (size_t)taps};
    for (int k = 0; k < low_taps; k++)
        bank->weights[(taps - low_taps) / 2 + k] = (float)low[low_taps - 1 - k];
    for (int k = 0; k < high_taps; k++)
        bank->weights[taps + (taps - high_taps) / 2 + k] = (float)high[high_taps - 1 - k];
}

/* The trees of one direction, [filter][tree], with qshift_kernel_taps weights: a zero added at both ends
 * moves neither D nor U. In every set sum h0a h0b > 0 and so sum h1a h1b < 0: the lowpass gives (takes) tree
 * a first, the highpass tree b, and the kernels need not be told. */
struct trees {
    int taps;
    double filter[2][2][MAX_QSHIFT_TAPS];
};

static void make_trees(const struct qshift *qshift, bool inverse, struct trees *trees)
{
    double h0b[MAX_QSHIFT_TAPS], h1a[MAX_QSHIFT_TAPS], h1b[MAX_QSHIFT_TAPS];
    int m = qshift->taps, taps = qshift_kernel_taps(qshift), zeros = (taps - m) / 2;
    qshift_filters(qshift, h0b, h1a, h1b);
    /* D takes (h0b, h0a), (h1b, h1a); U takes (g0b, g0a), (g1b, g1a), which are (h0a, h0b), (h1a, h1b). */
    const double *forward[2][2] = {{h0b, qshift->h0a}, {h1b, h1a}};
    *trees = (struct trees){.taps = taps};
    for (int filter = 0; filter < 2; filter++)
        for (int tree = 0; tree < 2; tree++)
            for (int k = 0; k < m; k++)
                trees->filter[filter][tree][zeros + k] = forward[filter][inverse ? !tree : tree][k];
}

void bank_forward(const struct shape *shape, int level, struct bank *bank)
{
    const struct biort *biort = &biorts[shape->biort];
    struct trees trees;
    if (level == 1) {
        double h1[MAX_BIORT_TAPS];
        biort_highpass(biort->g0, biort->g0_taps, h1);
        odd_bank(biort->h0, biort->h0_taps, h1, biort->g0_taps, bank);
        return;
    }
    make_trees(&qshifts[shape->qshift], false, &trees);
    *bank = (struct bank){.qshift = true, .taps = trees.taps};
    for (int filter = 0; filter < 2; filter++)
        for (int k = trees.taps - 1; k >= 0; k--)
            for (int tree = 0; tree < 2; tree++)
                bank->weights[bank->count++] = (float)trees.filter[filter][tree][k];
}

/* U: outputs 4n and 4n + 2 come from tree a with its even and its odd weights, 4n + 1 and 4n + 3 from tree b.
 */
void bank_inverse(const struct shape *shape, int level, struct bank *bank)
{
    const struct biort *biort = &biorts[shape->biort];
    struct trees trees;
    if (level == 1) {
        double g1[MAX_BIORT_TAPS];
        biort_highpass(biort->h0, biort->h0_taps, g1);
        odd_bank(biort->g0, biort->g0_taps, g1, biort->h0_taps, bank);
        return;
    }
    make_trees(&qshifts[shape->qshift], true, &trees);
    *bank = (struct bank){.qshift = true, .taps = trees.taps};
    for (int filter = 0; filter < 2; filter++)
        for (int k = trees.taps - 2; k >= 0; k -= 2)
            for (int output = 0; output < 4; output++)
                bank->weights[bank->count++] = (float)trees.filter[filter][output % 2][k + output / 2];
}
