/* Inverse-compositional image alignment (S. Baker and I. Matthews, Lucas-Kanade 20 Years On, IJCV 56, 2004):
 * where the reference R is to be moved by a small d so that R(x + d(x)) = gain I(W x) + offset, and then W by
 * the inverse of that, the slopes are those of the reference and stay as they are. Each pixel counts less the
 * more it differs (Cauchy's weights), so that what is in one picture only does not matter. */
#include "filters/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNKNOWNS = 8, SAMPLED_RESIDUALS = 1024 };

/* In robust standard deviations. Narrower weights (2.385 is usual) leave out the edges of a picture that is
 * flat between them: steps become so short that they end half a pixel off. */
static const double CAUCHY = 6, MEDIAN_TO_SIGMA = 1.4826;

/* Half the diagonal is the unit of places, about the centre, so that all unknowns are pixels in the corners.
 */
struct frame {
    double x, y, unit;
};

struct equations {
    double matrix[MOST_UNKNOWNS][MOST_UNKNOWNS], right[MOST_UNKNOWNS], weight;
    int unknowns;
};

/* Keys' interpolation with a = -0.5. */
static void cubic_weights(float t, float *weights)
{
    weights[0] = ((-0.5F * t + 1) * t - 0.5F) * t;
    weights[1] = (1.5F * t - 2.5F) * t * t + 1;
    weights[2] = ((-1.5F * t + 2) * t + 0.5F) * t;
    weights[3] = (0.5F * t - 0.5F) * t * t;
}

void sample_grey(const struct grey *picture, const struct affine *affine, struct grey *sampled)
{
    size_t pitch = (size_t)picture->width, i = 0;
    for (int y = 0; y < sampled->height; y++)
        for (int x = 0; x < sampled->width; x++, i++) {
            double at_x = affine->xx * x + affine->xy * y + affine->x;
            double at_y = affine->yx * x + affine->yy * y + affine->y;
            sampled->values[i] = sampled->weights[i] = 0;
            if (!(at_x >= 1 && at_y >= 1 && at_x < picture->width - 2 && at_y < picture->height - 2))
                continue;
            size_t column = (size_t)at_x, row = (size_t)at_y;
            float across[4], down[4], value = 0;
            const float *from = picture->values + (row - 1) * pitch + column - 1;
            cubic_weights((float)(at_x - (double)column), across);
            cubic_weights((float)(at_y - (double)row), down);
            for (int k = 0; k < 4; k++, from += pitch)
                value += down[k] * (across[0] * from[0] + across[1] * from[1] + across[2] * from[2] +
                                    across[3] * from[3]);
            sampled->values[i] = value;
            sampled->weights[i] = picture->weights[(size_t)(at_y + 0.5) * pitch + (size_t)(at_x + 0.5)];
        }
}

struct moments {
    double weight, a, b, aa, bb, ab;
};

static struct moments find_moments(const struct grey *a, const struct grey *b, double *all)
{
    struct moments sums = {0};
    size_t count = (size_t)a->width * (size_t)a->height;
    *all = 0;
    for (size_t i = 0; i < count; i++) {
        double weight = (double)a->weights[i] * (double)b->weights[i];
        double first = (double)a->values[i], second = (double)b->values[i];
        *all += (double)a->weights[i];
        sums.weight += weight;
        sums.a += weight * first;
        sums.b += weight * second;
        sums.aa += weight * first * first;
        sums.bb += weight * second * second;
        sums.ab += weight * first * second;
    }
    sums.a /= sums.weight;
    sums.b /= sums.weight;
    sums.aa = sums.aa / sums.weight - sums.a * sums.a;
    sums.bb = sums.bb / sums.weight - sums.b * sums.b;
    sums.ab = sums.ab / sums.weight - sums.a * sums.b;
    return sums;
}

double correlate(const struct grey *a, const struct grey *b, double *covered)
{
    double all;
    struct moments moments = find_moments(a, b, &all);
    *covered = all > 0 ? moments.weight / all : 0;
    return moments.ab / sqrt(moments.aa * moments.bb);
}

/* The values a as gain b + offset. */
static void fit_gain(struct match *match, const struct grey *a, const struct grey *b)
{
    double all;
    struct moments moments = find_moments(a, b, &all);
    match->gain = moments.bb > 0 ? moments.ab / moments.bb : 1;
    match->offset = moments.a - match->gain * moments.b;
}

static int compare_floats(const void *a, const void *b)
{
    float first = *(const float *)a, second = *(const float *)b;
    return first < second ? -1 : first > second;
}

/* A robust standard deviation of what is left, from some of the pixels; negative where there are too few. */
static double spread(const struct match *match, const struct grey *reference, const struct grey *sampled)
{
    static const int few = 16;
    float residuals[SAMPLED_RESIDUALS];
    size_t total = (size_t)reference->width * (size_t)reference->height,
           stride = total / SAMPLED_RESIDUALS + 1;
    int count = 0;
    for (size_t i = stride / 2; i < total; i += stride)
        if (reference->weights[i] * sampled->weights[i] > 0)
            residuals[count++] =
                fabsf((float)match->gain * sampled->values[i] + (float)match->offset - reference->values[i]);
    if (count < few)
        return -1;
    qsort(residuals, (size_t)count, sizeof *residuals, compare_floats);
    return MEDIAN_TO_SIGMA * (double)residuals[count / 2];
}

/* What moves the reference's value at place (x, y) of the frame, one number for each unknown. */
static int find_row(enum model model, float x, float y, float across, float down, float *row)
{
    row[0] = across;
    row[1] = down;
    switch (model) {
    case MODEL_SHIFT:
        return 2;
    case MODEL_RIGID:
        row[2] = down * x - across * y;
        return 3;
    case MODEL_SIMILARITY:
        row[2] = down * x - across * y;
        row[3] = across * x + down * y;
        return 4;
    case MODEL_AFFINE:
    default:
        row[2] = across * x;
        row[3] = across * y;
        row[4] = down * x;
        row[5] = down * y;
        return 6;
    }
}

/* One row of the picture: sums in floats are exact enough for that, and quicker. */
struct sums {
    float matrix[MOST_UNKNOWNS][MOST_UNKNOWNS], right[MOST_UNKNOWNS], weight;
};

static void add_sums(struct equations *equations, const struct sums *sums)
{
    equations->weight += (double)sums->weight;
    for (int i = 0; i < equations->unknowns; i++) {
        equations->right[i] += (double)sums->right[i];
        for (int j = 0; j <= i; j++)
            equations->matrix[i][j] = equations->matrix[j][i] += (double)sums->matrix[i][j];
    }
}

/* The normal equations of R + slope d = gain I + offset, of which d, gain and offset are unknown. */
static void find_equations(const struct match *match, enum model model, const struct level *reference,
                           const struct grey *sampled, const struct frame *frame, double sigma,
                           struct equations *equations)
{
    const struct grey *grey = &reference->grey;
    const float gain = (float)match->gain, offset = (float)match->offset;
    const float narrow = (float)(1 / (CAUCHY * sigma + 1e-6)), step = (float)(1 / frame->unit);
    *equations = (struct equations){.unknowns = 0};
    for (int y = 1; y < grey->height - 1; y++) {
        struct sums sums = {.weight = 0};
        float row[MOST_UNKNOWNS], place_y = (float)((y - frame->y) / frame->unit);
        size_t i = (size_t)y * (size_t)grey->width + 1;
        for (int x = 1; x < grey->width - 1; x++, i++) {
            float weight = grey->weights[i] * sampled->weights[i],
                  place_x = ((float)x - (float)frame->x) * step;
            if (weight <= 0)
                continue;
            float beyond = (gain * sampled->values[i] + offset - grey->values[i]) * narrow;
            int unknowns = find_row(model, place_x, place_y, reference->across[i], reference->down[i], row);
            row[unknowns++] = -sampled->values[i];
            row[unknowns++] = -1;
            weight /= 1 + beyond * beyond;
            equations->unknowns = unknowns;
            sums.weight += weight;
            for (int a = 0; a < unknowns; a++) {
                float weighted = weight * row[a];
                sums.right[a] -= weighted * grey->values[i];
                for (int b = 0; b <= a; b++)
                    sums.matrix[a][b] += weighted * row[b];
            }
        }
        add_sums(equations, &sums);
    }
}

static void exchange(struct equations *equations, int a, int b)
{
    for (int i = 0; i < equations->unknowns; i++) {
        double kept = equations->matrix[a][i];
        equations->matrix[a][i] = equations->matrix[b][i];
        equations->matrix[b][i] = kept;
    }
    double kept = equations->right[a];
    equations->right[a] = equations->right[b];
    equations->right[b] = kept;
}

/* Gauss' elimination; false where the picture does not tell all unknowns. */
static bool solve(struct equations *equations)
{
    int n = equations->unknowns;
    double(*m)[MOST_UNKNOWNS] = equations->matrix, *right = equations->right;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            best = fabs(m[i][k]) > fabs(m[best][k]) ? i : best;
        if (!(fabs(m[best][k]) > 1e-12 * equations->weight))
            return false;
        exchange(equations, k, best);
        for (int i = k + 1; i < n; i++) {
            double share = m[i][k] / m[k][k];
            for (int j = k; j < n; j++)
                m[i][j] -= share * m[k][j];
            right[i] -= share * right[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            right[i] -= m[i][j] * right[j];
        right[i] /= m[i][i];
    }
    return n > 0;
}

static struct affine invert(const struct affine *a)
{
    double determinant = a->xx * a->yy - a->xy * a->yx;
    struct affine inverse = {a->yy / determinant,  -a->xy / determinant, 0,
                             -a->yx / determinant, a->xx / determinant,  0};
    inverse.x = -(inverse.xx * a->x + inverse.xy * a->y);
    inverse.y = -(inverse.yx * a->x + inverse.yy * a->y);
    return inverse;
}

/* The unknowns d as a map of the level's places, and how far it moves a corner at most. */
static struct affine find_motion(enum model model, const struct frame *frame, const double *d, double *moved)
{
    double xx = 0, xy = 0, yx = 0, yy = 0;
    if (model == MODEL_AFFINE) {
        xx = d[2];
        xy = d[3];
        yx = d[4];
        yy = d[5];
    } else if (model != MODEL_SHIFT) {
        xy = -d[2];
        yx = d[2];
    }
    if (model == MODEL_SIMILARITY)
        xx = yy = d[3];
    *moved = hypot(d[0], d[1]) + sqrt(xx * xx + xy * xy + yx * yx + yy * yy);
    struct affine motion = {1 + xx / frame->unit, xy / frame->unit,     0,
                            yx / frame->unit,     1 + yy / frame->unit, 0};
    double length = model == MODEL_RIGID ? hypot(motion.xx, motion.yx) : 1;
    motion.xx /= length;
    motion.xy /= length;
    motion.yx /= length;
    motion.yy /= length;
    motion.x = d[0] + frame->x - motion.xx * frame->x - motion.xy * frame->y;
    motion.y = d[1] + frame->y - motion.yx * frame->x - motion.yy * frame->y;
    return motion;
}

/* What is left unexplained on the finest level is taken for noise of both pictures, smoothed as that level
 * is: neighbours share it, so that so many pixels say as much as one would by itself; and this part of its
 * variance is in the reference's slopes. Measured on pairs whose map is known. */
static const double SHARED = 9, IN_SLOPES = 0.1;

/* How far off the corners may be: a standard deviation. The slopes of noise say nothing and are taken out
 * of the matrix, where find_row multiplies them by places, whose mean squares `turned` is. */
static double find_uncertainty(const struct equations *equations, enum model model, double sigma)
{
    const double turned = model == MODEL_AFFINE ? 1 / 6.0 : 1 / 3.0;
    double noise = IN_SLOPES * sigma * sigma * equations->weight, variance = 0;
    int motions = equations->unknowns - 2;
    struct equations slopes = *equations;
    for (int k = 0; k < motions; k++)
        slopes.matrix[k][k] -= noise * (k < 2 ? 1 : turned);
    for (int k = 0; k < motions; k++) {
        struct equations unit = slopes;
        memset(unit.right, 0, sizeof unit.right);
        unit.right[k] = 1;
        if (!solve(&unit) || !(unit.right[k] > 0))
            return INFINITY;
        variance += unit.right[k];
    }
    return sigma * sqrt(SHARED * variance);
}

/* False where there is no step to take. *moved is in pixels of the level. */
static bool take_step(struct match *match, enum model model, const struct level *reference,
                      const struct grey *sampled, double *moved)
{
    const struct grey *grey = &reference->grey;
    const struct frame frame = {(grey->width - 1) / 2.0, (grey->height - 1) / 2.0,
                                hypot(grey->width, grey->height) / 2};
    struct equations equations;
    double sigma = spread(match, grey, sampled);
    if (sigma < 0)
        return false;
    find_equations(match, model, reference, sampled, &frame, sigma, &equations);
    match->uncertainty = find_uncertainty(&equations, model, sigma);
    if (!solve(&equations))
        return false;
    struct affine motion = find_motion(model, &frame, equations.right, moved);
    if (!(*moved < grey->width + grey->height))
        return false;
    struct affine back = invert(&motion), here = level_from_whole(reference, match->affine);
    match->affine = level_to_whole(reference, affine_through(&back, &here));
    match->gain = equations.right[equations.unknowns - 2];
    match->offset = equations.right[equations.unknowns - 1];
    return true;
}

/* A picture that covers little of the reference is likelier to agree by chance. */
static void judge(struct match *match, const struct grey *reference, const struct grey *sampled)
{
    double covered;
    match->correlation = correlate(reference, sampled, &covered);
    match->score = match->correlation > 0 ? match->correlation * sqrt(sqrt(covered)) : -1;
}

enum status match_refine(struct match *match, enum model model, const struct level *reference,
                         const struct level *picture, int steps, double enough, struct error *error)
{
    struct grey sampled;
    double moved = INFINITY;
    bool steady = true;
    if (grey_make(&sampled, reference->grey.width, reference->grey.height, error) != STATUS_OK)
        return STATUS_FAILED;
    for (int i = 0; i <= steps && steady; i++) {
        const struct affine affine = level_from_whole(reference, match->affine);
        sample_grey(&picture->grey, &affine, &sampled);
        if (i == 0)
            fit_gain(match, &reference->grey, &sampled);
        if (i == steps || moved < enough)
            break;
        steady = take_step(match, model, reference, &sampled, &moved);
    }
    match->score = -1;
    if (steady)
        judge(match, &reference->grey, &sampled);
    grey_free(&sampled);
    return STATUS_OK;
}
