/* The filters of the dual-tree transform: the identities that make it reconstruct; sizes;
 * which rows slices need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* cmocka's macro hides the function of base/error.h */

#include "wavelet/dtcwt.h"
#include "wavelet/shrink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PRODUCT = 2 * MAX_BIORT_TAPS - 1 };

#define EXACT 1e-12 /* rounding */

/* The taps of antonini are published with about 14 digits. */
#define BIORT_DIGITS 2e-14

/* The q-shift sets with more taps were published with a lowpass sum that misses sqrt 2 by up to 3.7e-11; the
 * highpass sum, whose square is twice sqrt 2 times that, is then up to 1.1e-5. */
#define QSHIFT_SUM          5e-11
#define QSHIFT_HIGHPASS_SUM 1.2e-5

static void assert_near(double actual, double expected, double tolerance, const char *name, const char *what)
{
    bool near = fabs(actual - expected) <= tolerance;
    if (!near)
        print_error("%s: %s is %.17g, expected %.17g\n", name, what, actual, expected);
    assert_true(near);
}

static double sum(const double *values, int count)
{
    double total = 0;
    for (int k = 0; k < count; k++)
        total += values[k];
    return total;
}

/* Sum of h[k] h[k + shift]. */
static double correlation(const double *h, int taps, int shift)
{
    double total = 0;
    for (int k = 0; k + shift < taps; k++)
        total += h[k] * h[k + shift];
    return total;
}

static void assert_symmetric(const double *h, int taps, const char *name)
{
    assert_int_equal(taps % 2, 1);
    for (int k = 0; k < taps; k++)
        assert_near(h[k], h[taps - 1 - k], BIORT_DIGITS, name, "a tap's mirror image");
}

/* Adds the convolution of a and b, both of odd length, to `product` around its middle. */
static void add_convolution(const double *a, int a_taps, const double *b, int b_taps,
                            double product[MAX_PRODUCT])
{
    int start = (MAX_PRODUCT - (a_taps + b_taps - 1)) / 2;
    for (int i = 0; i < a_taps; i++)
        for (int j = 0; j < b_taps; j++)
            product[start + i + j] += a[i] * b[j];
}

static void biort_sums(void **state)
{
    (void)state;
    for (const struct biort *b = biorts; b->name; b++) {
        double h1[MAX_BIORT_TAPS], g1[MAX_BIORT_TAPS];
        biort_highpass(b->g0, b->g0_taps, h1);
        biort_highpass(b->h0, b->h0_taps, g1);
        assert_near(sum(b->h0, b->h0_taps), 1, EXACT, b->name, "the sum of h0");
        assert_near(sum(b->g0, b->g0_taps), 1, EXACT, b->name, "the sum of g0");
        assert_near(sum(h1, b->g0_taps), 0, EXACT, b->name, "the sum of h1");
        assert_near(sum(g1, b->h0_taps), 0, EXACT, b->name, "the sum of g1");
    }
}

static void biort_symmetry(void **state)
{
    (void)state;
    for (const struct biort *b = biorts; b->name; b++) {
        assert_in_range(b->h0_taps, 3, MAX_BIORT_TAPS);
        assert_in_range(b->g0_taps, 3, MAX_BIORT_TAPS);
        assert_symmetric(b->h0, b->h0_taps, b->name);
        assert_symmetric(b->g0, b->g0_taps, b->name);
    }
}

/* Level 1 drops no samples: h0 * g0 + h1 * g1 is 1 in the middle and 0 elsewhere. */
static void biort_reconstruction(void **state)
{
    (void)state;
    for (const struct biort *b = biorts; b->name; b++) {
        double h1[MAX_BIORT_TAPS], g1[MAX_BIORT_TAPS], product[MAX_PRODUCT] = {0};
        biort_highpass(b->g0, b->g0_taps, h1);
        biort_highpass(b->h0, b->h0_taps, g1);
        add_convolution(b->h0, b->h0_taps, b->g0, b->g0_taps, product);
        add_convolution(h1, b->g0_taps, g1, b->h0_taps, product);
        for (int k = 0; k < MAX_PRODUCT; k++)
            assert_near(product[k], k == MAX_PRODUCT / 2, EXACT, b->name, "h0 * g0 + h1 * g1");
    }
}

/* Unit energy and no correlation at even distances: each tree is orthonormal, so time reversal inverts it. */
static void qshift_orthonormality(void **state)
{
    (void)state;
    for (const struct qshift *q = qshifts; q->name; q++) {
        assert_in_range(q->taps, 2, MAX_QSHIFT_TAPS);
        assert_int_equal(q->taps % 2, 0);
        for (int shift = 0; shift < q->taps; shift += 2)
            assert_near(correlation(q->h0a, q->taps, shift), shift == 0, EXACT, q->name, "a correlation");
    }
}

static void qshift_sums(void **state)
{
    (void)state;
    for (const struct qshift *q = qshifts; q->name; q++) {
        double h0b[MAX_QSHIFT_TAPS], h1a[MAX_QSHIFT_TAPS], h1b[MAX_QSHIFT_TAPS];
        qshift_filters(q, h0b, h1a, h1b);
        assert_near(sum(q->h0a, q->taps), sqrt(2), QSHIFT_SUM, q->name, "the sum of h0a");
        assert_near(sum(h1a, q->taps), 0, QSHIFT_HIGHPASS_SUM, q->name, "the sum of h1a");
        assert_near(sum(h1b, q->taps), 0, QSHIFT_HIGHPASS_SUM, q->name, "the sum of h1b");
    }
}

static void qshift_trees(void **state)
{
    (void)state;
    for (const struct qshift *q = qshifts; q->name; q++) {
        double h0b[MAX_QSHIFT_TAPS], h1a[MAX_QSHIFT_TAPS], h1b[MAX_QSHIFT_TAPS];
        int m = q->taps;
        qshift_filters(q, h0b, h1a, h1b);
        for (int k = 0; k < m; k++) {
            assert_near(h0b[k], q->h0a[m - 1 - k], 0, q->name, "a tap of h0b");
            assert_near(h1a[k], (k % 2 ? -1 : 1) * q->h0a[m - 1 - k], 0, q->name, "a tap of h1a");
            assert_near(h1b[k], h1a[m - 1 - k], 0, q->name, "a tap of h1b");
        }
        for (int shift = 0; shift < m; shift += 2) { /* high- and lowpass of a tree share nothing */
            double before = 0, after = 0;
            for (int k = 0; k + shift < m; k++) {
                before += q->h0a[k] * h1a[k + shift];
                after += q->h0a[k + shift] * h1a[k];
            }
            assert_near(before, 0, EXACT, q->name, "h0a . h1a");
            assert_near(after, 0, EXACT, q->name, "h0a . h1a");
        }
    }
}

/* The trees are a pair because h0a's delay at a quarter of the sampling rate, where all the sets are
 * measured, is a quarter of a sample short of its middle (-0.19 to -0.252), so that the trees are half a
 * sample apart. */
static void qshift_delay(void **state)
{
    (void)state;
    const double frequency = acos(-1) / 2;
    for (const struct qshift *q = qshifts; q->name; q++) {
        double real = 0, imaginary = 0;
        for (int k = 0; k < q->taps; k++) {
            double angle = frequency * (k - 0.5 * (q->taps - 1));
            real += q->h0a[k] * cos(angle);
            imaginary -= q->h0a[k] * sin(angle);
        }
        assert_near(-atan2(imaginary, real) / frequency, -0.25, 0.07, q->name, "the delay of h0a");
    }
}

static void append(char *names, const char *name)
{
    if (*names)
        strcat(names, "|");
    strcat(names, name);
}

/* The choices of the option tables are indices into the lists. */
static void names_are_the_choices(void **state)
{
    (void)state;
    char names[256] = "";
    for (const struct biort *b = biorts; b->name; b++) {
        append(names, b->name);
        for (const struct biort *other = biorts; other != b; other++)
            assert_string_not_equal(b->name, other->name);
    }
    assert_string_equal(names, BIORT_CHOICES);
    names[0] = '\0';
    for (const struct qshift *q = qshifts; q->name; q++) {
        append(names, q->name);
        for (const struct qshift *other = qshifts; other != q; other++)
            assert_string_not_equal(q->name, other->name);
    }
    assert_string_equal(names, QSHIFT_CHOICES);
}

static void sizes(void **state)
{
    (void)state;
    static const struct {
        int n, lowpass[6];
    } cases[] = {
        {1, {2, 2, 2, 2, 2, 2}},        {2, {2, 2, 2, 2, 2, 2}},        {3, {4, 2, 2, 2, 2, 2}},
        {6, {6, 4, 2, 2, 2, 2}},        {17, {18, 10, 6, 4, 2, 2}},     {99, {100, 50, 26, 14, 8, 4}},
        {100, {100, 50, 26, 14, 8, 4}}, {101, {102, 52, 26, 14, 8, 4}}, {512, {512, 256, 128, 64, 32, 16}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int level = 1; level <= 6; level++)
            assert_int_equal(dtcwt_lowpass_size(cases[i].n, level), cases[i].lowpass[level - 1]);
}

/* Six levels for any size; above that, down to a lowpass of two samples; never more than the array holds. */
static void most_levels(void **state)
{
    (void)state;
    static const int cases[][3] = {{1, 1, 6},
                                   {100, 3, 7},
                                   {64, 64, 6},
                                   {65, 1, 7},
                                   {1, 512, 9},
                                   {512, 512, 9},
                                   {513, 512, 10},
                                   {1024, 7, 10},
                                   {4096, 1, 12},
                                   {1 << 20, 1, 16},
                                   {5, 1 << 24, MAX_LEVELS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(dtcwt_max_levels(cases[i][0], cases[i][1]), cases[i][2]);
}

/* Half-sample symmetric, to any distance. */
static int mirrored(int i, int n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
}

/* Positions [from, to) of an axis of n samples, padded by `pad` at both ends and at the end to `length`,
 * correspond to samples in `held`. */
static void assert_held(int from, int to, int n, int pad, int length, struct interval held)
{
    for (int i = from; i < to; i++) {
        int sample = mirrored(i, length) - pad;
        sample = sample < 0 ? 0 : sample >= n ? n - 1 : sample;
        assert_in_range(sample, held.begin, held.end - 1);
    }
}

static int longest_radius(const struct biort *bank)
{
    return (bank->h0_taps > bank->g0_taps ? bank->h0_taps : bank->g0_taps) / 2;
}

/* Rows that the kernels read along columns (dtcwt_forward_cpu.cl, dtcwt_inverse_cpu.cl), row by row. */
static void assert_inverse_reads(const struct shape *shape, struct interval out,
                                 const struct dtcwt_rows *rows)
{
    int radius = longest_radius(&biorts[shape->biort]);
    struct bank bank;
    bank_inverse(shape, 2, &bank);
    int half = bank.taps / 2;
    for (int level = 1; level <= shape->levels; level++) {
        int size = dtcwt_lowpass_size(shape->height, level);
        int crop = level > 1 && !shape->pad_at_end
                       ? (2 * size - dtcwt_lowpass_size(shape->height, level - 1)) / 2
                       : 0;
        for (int y = out.begin + crop; y < out.end + crop; y++) {
            int from = level > 1 ? 2 * (y / 4) - half : y - radius;
            int to = level > 1 ? 2 * (y / 4) + half + 2 : y + radius + 1;
            assert_held(from, to, size, 0, size, rows->lowpass[level]);
            assert_held(from, to, size, 0, size,
                        (struct interval){2 * rows->subbands[level].begin, 2 * rows->subbands[level].end});
        }
        out = rows->lowpass[level];
    }
}

static void assert_forward_reads(const struct shape *shape, const struct dtcwt_rows *rows)
{
    int radius = longest_radius(&biorts[shape->biort]);
    struct bank bank;
    bank_forward(shape, 2, &bank);
    int taps = bank.taps;
    for (int level = 1; level <= shape->levels; level++) {
        int n = level > 1 ? dtcwt_lowpass_size(shape->height, level - 1) : shape->height;
        int padded = level > 1 && n % 4 != 0, length = level > 1 ? n + 2 * padded : n + n % 2;
        int pad = shape->pad_at_end ? 0 : padded;
        struct interval held = level > 1 ? rows->lowpass[level - 1] : rows->image;
        for (int y = rows->lowpass[level].begin; y < rows->lowpass[level].end; y++)
            assert_held(level > 1 ? 4 * (y / 2) + 2 - taps : y - radius,
                        level > 1 ? 4 * (y / 2) + 2 + taps : y + radius + 1, n, pad, length, held);
        assert_true(2 * rows->subbands[level].begin >= rows->lowpass[level].begin);
        assert_true(2 * rows->subbands[level].end <= rows->lowpass[level].end);
        assert_true(2 * rows->subbands[level].end <= dtcwt_lowpass_size(shape->height, level));
    }
}

/* Asserts that `held` contains the neighbours and parents of the subbands in `wanted`. */
static void assert_shrink_reads(const struct shape *shape, const struct dtcwt_rows *wanted,
                                const struct dtcwt_rows *held)
{
    for (int level = 1; level <= shape->levels; level++) {
        int size = dtcwt_lowpass_size(shape->height, level) / 2;
        struct interval rows = wanted->subbands[level];
        assert_held(rows.begin - 2, rows.end + 2, size, 0, size, held->subbands[level]);
        for (int y = rows.begin; level < shape->levels && y < rows.end; y++)
            assert_in_range(y / 2, held->subbands[level + 1].begin, held->subbands[level + 1].end - 1);
    }
}

static struct interval stage_rows(const char *name, const void *params, const struct shape *in,
                                  struct interval out)
{
    return interval_clip(stage_find(name)->rows(params, in, out), in->height);
}

/* Random heights, slices, levels and filters. */
static void rows_of_subbands(void **state)
{
    (void)state;
    const double sigma = 10;
    unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    for (int i = 0; i < 4000; i++) {
        struct shape shape = {.kind = KIND_PYRAMID, .height = 1 + rand() % 700, .levels = 1 + rand() % 6};
        shape.biort = rand() % 4;
        shape.qshift = rand() % 5;
        shape.pad_at_end = rand() % 2;
        int begin = rand() % shape.height;
        struct interval out = {begin, begin + 1 + rand() % (shape.height - begin)};
        struct dtcwt_rows inverse, all, wider;
        dtcwt_inverse_rows(&shape, out, &inverse);
        assert_inverse_reads(&shape, out, &inverse);
        all = inverse;
        dtcwt_forward_rows(&shape, &all);
        assert_forward_reads(&shape, &all);
        all = inverse;
        shrink_add_halo(&shape, &all);
        assert_shrink_reads(&shape, &inverse, &all);
        dtcwt_forward_rows(&shape, &all);
        assert_forward_reads(&shape, &all);
        dtcwt_inverse_rows(&shape, stage_rows("shrink", &sigma, &shape, out), &wider);
        assert_shrink_reads(&shape, &inverse, &wider);
    }
}

/* Bands are read in their order: neither end goes back. And all of an image needs all of every level. */
static void rows_go_forward(void **state)
{
    (void)state;
    for (int height = 1; height < 300; height++) {
        struct shape shape = {.kind = KIND_PYRAMID, .height = height, .levels = 1 + height % 5, .qshift = 4};
        struct interval last = {0, 0};
        struct dtcwt_rows rows;
        for (int begin = 0; begin < height; begin += 7) {
            dtcwt_inverse_rows(&shape, (struct interval){begin, begin + 7 < height ? begin + 7 : height},
                               &rows);
            dtcwt_forward_rows(&shape, &rows);
            assert_true(rows.image.begin >= last.begin && rows.image.end >= last.end);
            last = rows.image;
        }
        dtcwt_inverse_rows(&shape, rows_full(height), &rows);
        for (int level = 1; level <= shape.levels; level++) {
            assert_int_equal(rows.subbands[level].begin, 0);
            assert_int_equal(rows.subbands[level].end, dtcwt_lowpass_size(height, level) / 2);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(biort_sums),
        cmocka_unit_test(biort_symmetry),
        cmocka_unit_test(biort_reconstruction),
        cmocka_unit_test(qshift_orthonormality),
        cmocka_unit_test(qshift_sums),
        cmocka_unit_test(qshift_trees),
        cmocka_unit_test(qshift_delay),
        cmocka_unit_test(names_are_the_choices),
        cmocka_unit_test(sizes),
        cmocka_unit_test(most_levels),
        cmocka_unit_test(rows_of_subbands),
        cmocka_unit_test(rows_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
