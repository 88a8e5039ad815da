#include "filters/dtcwt.h"

#include <string.h>

enum { MAX_WEIGHTS = 8 * (MAX_QSHIFT_TAPS + 2) };
enum { PIECE_SIZE = 16 << 20, MIN_PIECE = 64 }; /* bytes, rows */

const struct tunable tunable_forward_columns = {
    .kernel = "forward_columns", .grouped = {1, {16, 8}}, .grouped_images = {1, {2, 64}}};
const struct tunable tunable_forward_rows = {
    .kernel = "forward_rows", .grouped = {1, {64, 2}}, .grouped_images = {1, {2, 64}}};
const struct tunable tunable_inverse_columns = {
    .kernel = "inverse_columns", .grouped = {2, {32, 4}}, .grouped_images = {2, {2, 64}}};
const struct tunable tunable_inverse_rows = {
    .kernel = "inverse_rows", .grouped = {1, {64, 2}}, .grouped_images = {1, {2, 64}}};

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
    while (levels < MAX_LEVELS && (dtcwt_lowpass_size(larger, levels) > 2 || levels < 6))
        levels++;
    return levels;
}

void biort_highpass(const double *lowpass, int taps, double *highpass)
{
    for (int k = 0; k < taps; k++)
        highpass[k] = (k + taps / 2) % 2 ? -lowpass[k] : lowpass[k];
}

void qshift_filters(const struct qshift *bank, double *h0b, double *h1a, double *h1b)
{
    int m = bank->taps;
    for (int k = 0; k < m; k++)
        h0b[k] = bank->h0a[m - 1 - k];
    for (int k = 0; k < m; k++)
        h1a[k] = k % 2 ? -h0b[k] : h0b[k];
    for (int k = 0; k < m; k++)
        h1b[k] = h1a[m - 1 - k];
}

/* What the kernels of one level and direction are built with. */
struct bank {
    struct defines defines;
    float weights[MAX_WEIGHTS];
    size_t count;
};

static void list_weights(struct bank *bank)
{
    define_floats(&bank->defines, "WEIGHTS_LIST", bank->weights, bank->count);
}

static bool in_phase(const double *a, const double *b, int taps)
{
    double sum = 0;
    for (int k = 0; k < taps; k++)
        sum += a[k] * b[k];
    return sum > 0;
}

/* Low- and highpass of level 1 brought to one odd length around the same centre. */
static void odd_bank(const double *low, int low_taps, const double *high, int high_taps, struct bank *bank)
{
    int taps = low_taps > high_taps ? low_taps : high_taps;
    *bank = (struct bank){.count = 2 * (size_t)taps};
    for (int k = 0; k < low_taps; k++)
        bank->weights[(taps - low_taps) / 2 + k] = (float)low[low_taps - 1 - k];
    for (int k = 0; k < high_taps; k++)
        bank->weights[taps + (taps - high_taps) / 2 + k] = (float)high[high_taps - 1 - k];
    define(&bank->defines, "TAPS", taps);
    list_weights(bank);
}

static void forward_bank_1(const struct biort *biort, struct bank *bank)
{
    double h1[MAX_BIORT_TAPS];
    biort_highpass(biort->g0, biort->g0_taps, h1);
    odd_bank(biort->h0, biort->h0_taps, h1, biort->g0_taps, bank);
}

static void inverse_bank_1(const struct biort *biort, struct bank *bank)
{
    double g1[MAX_BIORT_TAPS];
    biort_highpass(biort->h0, biort->h0_taps, g1);
    odd_bank(biort->g0, biort->g0_taps, g1, biort->h0_taps, bank);
}

/* The operator D with (h0b, h0a) and (h1b, h1a), reversed into reading order, trees side by side. */
static void forward_bank(const struct qshift *qshift, struct bank *bank)
{
    double h0b[MAX_QSHIFT_TAPS], h1a[MAX_QSHIFT_TAPS], h1b[MAX_QSHIFT_TAPS];
    int m = qshift->taps;
    qshift_filters(qshift, h0b, h1a, h1b);
    *bank = (struct bank){.count = 4 * (size_t)m};
    for (int k = 0; k < m; k++) {
        float *low = &bank->weights[2 * k], *high = &bank->weights[2 * (m + k)];
        low[0] = (float)h0b[m - 1 - k];
        low[1] = (float)qshift->h0a[m - 1 - k];
        high[0] = (float)h1b[m - 1 - k];
        high[1] = (float)h1a[m - 1 - k];
    }
    define(&bank->defines, "QSHIFT", 1);
    define(&bank->defines, "TAPS", m);
    if (!in_phase(h0b, qshift->h0a, m))
        define(&bank->defines, "SWAP_LOW", 1);
    if (!in_phase(h1b, h1a, m))
        define(&bank->defines, "SWAP_HIGH", 1);
    list_weights(bank);
}

/* The operator U for one filter pair: Y[4n + j] = sum over k < M of f[2k + p] X[2n + M + c - 2k]. Outputs j
 * and j + 2 come from one tree; where M is even their windows differ by one step, so both get M + 1 weights,
 * one of them zero, over the same window. Reversed into reading order from X[2n + start]. */
static int upsampling_weights(const double *f, int m, int c, float *weights, int *start)
{
    int half = m / 2, taps = half + (half % 2 == 0);
    float *first = weights, *second = weights + taps;
    for (int k = 0; k < 2 * taps; k++)
        weights[k] = 0;
    for (int k = 0; k < half; k++) {
        bool even = half % 2 == 0;
        first[taps - 1 - (k + even)] = (float)f[2 * k + even];
        second[taps - 1 - k] = (float)f[2 * k + !even];
    }
    *start = half + c + (half % 2 == 0) - 2 * (taps - 1);
    return taps;
}

static void inverse_bank(const struct qshift *qshift, struct bank *bank)
{
    double h0b[MAX_QSHIFT_TAPS], h1a[MAX_QSHIFT_TAPS], h1b[MAX_QSHIFT_TAPS];
    qshift_filters(qshift, h0b, h1a, h1b);
    /* Synthesis (g0b, g0a), (g1b, g1a) are analysis (h0a, h0b), (h1a, h1b). */
    const double *trees[2][2] = {{qshift->h0a, h0b}, {h1a, h1b}};
    static const char *const names[2][2] = {{"START00", "START01"}, {"START10", "START11"}};
    int taps = 0;
    *bank = (struct bank){.count = 0};
    define(&bank->defines, "QSHIFT", 1);
    for (int filter = 0; filter < 2; filter++) {
        bool phase = in_phase(trees[filter][0], trees[filter][1], qshift->taps);
        for (int tree = 0; tree < 2; tree++) {
            int c = phase == (tree == 0) ? -1 : 0, start;
            taps =
                upsampling_weights(trees[filter][tree], qshift->taps, c, bank->weights + bank->count, &start);
            bank->count += 2 * (size_t)taps;
            define(&bank->defines, names[filter][tree], start);
        }
    }
    define(&bank->defines, "TAPS", taps);
    list_weights(bank);
}

/* Pixels that the launch divides among items of PAIRS pairs each: see kernels/planes_pairs.h. */
static int pair_items(const struct run *run, enum grain grain, int pairs)
{
    return launch_lanes(run->device, run->memory, grain) > 1 ? 2 * pairs : pairs;
}

/* How an axis of n samples is padded before level `level`: an odd one at its end, and from level 2 on one
 * that 4 does not divide at both ends. */
static void padding(int n, int level, cl_int *pad, cl_int *length)
{
    *pad = level > 1 && n % 4 != 0;
    *length = level > 1 ? n + 2 * *pad : n + n % 2;
}

/* What is between columns and rows is as large as two images. On CPU devices it is kept so small that the
 * second pass finds it in the caches. */
static int piece_rows(const struct run *run, const struct planes *lowpass, int width)
{
    double row = 2.0 * sizeof(cl_float) * width * lowpass->channels;
    int rows = (int)(PIECE_SIZE / row) / 2 * 2;
    bool small = run->device->class == DEVICE_WIDE && run->memory == MEMORY_BUFFER;
    return !small ? lowpass->rows : rows < MIN_PIECE ? MIN_PIECE : rows;
}

static enum status forward_piece(struct run *run, const struct bank *bank, int level, struct rows rows,
                                 const struct planes *src, const struct planes *lowpass,
                                 const struct planes *subbands, struct error *error)
{
    struct planes half;
    cl_int pad, length;
    if (run_scratch(run, src->width, lowpass->height, rows, 2, src->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_tuned(run, "dtcwt_forward", &tunable_forward_columns, src);
    work.defines = bank->defines;
    work.height = half.rows / 2;
    work.depth = planes_layer_depth(src);
    padding(src->height, level, &pad, &length);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(src), ARG_PLANES(&half), ARG(pad), ARG(length)) !=
        STATUS_OK)
        return STATUS_FAILED;
    work = run_tuned(run, "dtcwt_forward", &tunable_forward_rows, src);
    work.defines = bank->defines;
    work.height = half.rows / 2;
    work.depth = planes_layer_depth(src);
    work.grain = GRAIN_WINDOW;
    work.width = pair_items(run, work.grain, subbands->width);
    padding(src->width, level, &pad, &length);
    enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(lowpass),
                                ARG_PLANES(subbands), ARG(pad), ARG(length));
    run_scratch_done(run, &half);
    return status;
}

static enum status forward_level(struct run *run, const struct bank *bank, int level,
                                 const struct planes *src, const struct planes *lowpass,
                                 const struct planes *subbands, struct error *error)
{
    int end = lowpass->first_row + lowpass->rows, step = piece_rows(run, lowpass, src->width);
    enum status status = STATUS_OK;
    for (int begin = lowpass->first_row; status == STATUS_OK && begin < end; begin += step) {
        struct rows rows = {begin, begin + step < end ? begin + step : end};
        status = forward_piece(run, bank, level, rows, src, lowpass, subbands, error);
    }
    return status;
}

enum status dtcwt_forward(struct run *run, const struct value *in, const struct dtcwt_rows *rows,
                          struct value *out, struct error *error)
{
    const struct shape *shape = &out->shape;
    struct planes src = in->planes[0];
    for (int level = 1; level <= shape->levels; level++) {
        int width = dtcwt_lowpass_size(shape->width, level),
            height = dtcwt_lowpass_size(shape->height, level);
        struct planes lowpass, *subbands = &out->planes[level];
        struct bank bank;
        if (run_scratch(run, width, height, rows->lowpass[level], 1, shape_planes(shape), &lowpass, error) !=
                STATUS_OK ||
            run_planes(run, width / 2, height / 2, rows->subbands[level], SUBBAND_LAYERS, shape_planes(shape),
                       subbands, error) != STATUS_OK)
            return STATUS_FAILED;
        if (level == 1)
            forward_bank_1(&biorts[shape->biort], &bank);
        else
            forward_bank(&qshifts[shape->qshift], &bank);
        if (forward_level(run, &bank, level, &src, &lowpass, subbands, error) != STATUS_OK)
            return STATUS_FAILED;
        if (level > 1)
            run_scratch_done(run, &src);
        src = lowpass;
    }
    out->planes[0] = src;
    run_scratch_keep(run, &src);
    return STATUS_OK;
}

/* Pairs of rows that a work-item of a level's columns computes. Level 1 has the most to do, and its rows of
 * coefficients serve several. */
static int row_pairs(const struct run *run, int level)
{
    return level == 1 ? device_form(run->device, run->memory, &tunable_inverse_columns).outputs : 1;
}

static struct defines inverse_defines(const struct run *run, const struct bank *bank, int level, bool crop)
{
    struct defines defines = bank->defines;
    if (crop)
        define(&defines, "CROP_X", 1);
    define(&defines, "OUTPUTS", row_pairs(run, level));
    return defines;
}

/* Of levels above the second those are in the bundle that are cropped as it is. */
void dtcwt_bundle(const struct run *run, const struct shape *shape, struct dtcwt_texts *texts,
                  struct bundle *bundle)
{
    struct bank bank;
    forward_bank_1(&biorts[shape->biort], &bank);
    texts->defines[0] = bank.defines;
    forward_bank(&qshifts[shape->qshift], &bank);
    texts->defines[1] = bank.defines;
    inverse_bank_1(&biorts[shape->biort], &bank);
    texts->defines[2] = inverse_defines(run, &bank, 1, shape->levels > 1 && dtcwt_crop(shape->width, 2) > 0);
    inverse_bank(&qshifts[shape->qshift], &bank);
    texts->defines[3] = inverse_defines(run, &bank, 2, shape->levels > 2 && dtcwt_crop(shape->width, 3) > 0);
    for (int i = 0; i < DTCWT_UNITS; i++)
        bundle->units[bundle->count++] =
            (struct unit){i < 2 ? "dtcwt_forward" : "dtcwt_inverse", texts->defines[i].text};
}

/* `lowpass` may be larger than this level by a sample a side; `dst` is the next finer lowpass, or the image.
 */
static enum status inverse_level(struct run *run, const struct bank *bank, int level,
                                 const struct planes *lowpass, const struct planes *subbands,
                                 const struct planes *dst, struct error *error)
{
    int width = 2 * subbands->width, height = 2 * subbands->height;
    int tall = level > 1 ? 2 * height : height;
    struct rows rows =
        rows_aligned((struct rows){dst->first_row, dst->first_row + dst->rows}, level > 1 ? 4 : 2);
    cl_int crop_y = (lowpass->height - height) / 2;
    struct planes half;
    int pairs = row_pairs(run, level);
    if (run_scratch(run, width, tall, rows, 2, dst->channels, &half, error) != STATUS_OK)
        return STATUS_FAILED;
    struct work work = run_tuned(run, "dtcwt_inverse", &tunable_inverse_columns, dst);
    work.defines = inverse_defines(run, bank, level, lowpass->width > width);
    work.width = pair_items(run, GRAIN_VECTOR, subbands->width);
    work.height = (half.rows / (level > 1 ? 4 : 2) + pairs - 1) / pairs;
    work.depth = planes_layer_depth(dst);
    if (LAUNCH(run->device, &work, error, ARG_PLANES(lowpass), ARG_PLANES(subbands), ARG_PLANES(&half),
               ARG(crop_y)) != STATUS_OK)
        return STATUS_FAILED;
    struct defines defines = work.defines;
    work = run_tuned(run, "dtcwt_inverse", &tunable_inverse_rows, dst);
    work.defines = defines;
    work.depth = planes_layer_depth(dst);
    work.grain = GRAIN_WINDOW;
    work.width = pair_items(run, work.grain,
                            subbands->width); /* four target columns each; at level 1 two, maybe one */
    work.height = dst->rows;
    enum status status = LAUNCH(run->device, &work, error, ARG_PLANES(&half), ARG_PLANES(dst));
    run_scratch_done(run, &half);
    return status;
}

/* What level `level` gives the next finer one, where it lies before it is cropped. */
static struct rows uncropped_rows(const struct shape *shape, int level, const struct dtcwt_rows *rows)
{
    int crop = dtcwt_crop(shape->height, level);
    const struct rows *finer = &rows->lowpass[level - 1];
    return (struct rows){finer->begin + crop, finer->end + crop};
}

enum status dtcwt_inverse(struct run *run, const struct value *in, struct value *out, struct error *error)
{
    const struct shape *shape = &in->shape;
    struct planes lowpass = in->planes[0];
    struct dtcwt_rows rows;
    dtcwt_inverse_rows(shape, out->rows, &rows);
    if (run_output(run, out, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int level = shape->levels; level >= 1; level--) {
        const struct planes *subbands = &in->planes[level];
        struct planes finer = out->planes[0];
        struct bank bank;
        int width = 4 * subbands->width, height = 4 * subbands->height;
        if (level > 1 && run_scratch(run, width, height, uncropped_rows(shape, level, &rows), 1,
                                     shape_planes(shape), &finer, error) != STATUS_OK)
            return STATUS_FAILED;
        if (level == 1)
            inverse_bank_1(&biorts[shape->biort], &bank);
        else
            inverse_bank(&qshifts[shape->qshift], &bank);
        if (inverse_level(run, &bank, level, &lowpass, subbands, &finer, error) != STATUS_OK)
            return STATUS_FAILED;
        if (level < shape->levels)
            run_scratch_done(run, &lowpass);
        lowpass = finer;
    }
    return STATUS_OK;
}
