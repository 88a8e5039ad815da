/* Inverse-compositional image alignment (S. Baker and I. Matthews, Lucas-Kanade 20 Years On, IJCV 56, 2004):
 * where the reference R is to be moved by a small d so that R(x + d(x)) = gain I(W x) + offset, and then W by
 * the inverse of that, the slopes are those of the reference and stay as they are. Each pixel counts less the
 * more it differs (Cauchy's weights), so that what is in one picture only does not matter. */
#include "filters/refine.h"

#include "base/exact.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNKNOWNS = 8, SAMPLED_RESIDUALS = 1024, LANES = 8 };

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

/* The values a as gain b + offset. */
static void fit_gain(struct match *match, const struct moments *sums)
{
    const struct moments means = moments_means(*sums);
    match->gain = means.bb > 0 ? means.ab / means.bb : 1;
    match->offset = means.a - match->gain * means.b;
}

/* Which value would be number `rank` if they were sorted: C. Hoare's selection (Algorithm 65, CACM 4, 1961).
 */
static float find_ranked(float *values, int count, int rank)
{
    int low = 0, high = count - 1;
    while (low < high) {
        const float pivot = values[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i > j)
                break;
            float kept = values[i];
            values[i++] = values[j];
            values[j--] = kept;
        }
        if (rank > j && rank < i)
            break;
        low = rank >= i ? i : low;
        high = rank <= j ? j : high;
    }
    return values[rank];
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
    return MEDIAN_TO_SIGMA * (double)find_ranked(residuals, count, count / 2);
}

/* Neighbouring pixels of a row that are treated at once, and what moves the reference's values there: one
 * number for each unknown. */
struct lanes {
    float weight[LANES], value[LANES], unknown[MOST_UNKNOWNS][LANES];
};

static int find_motions(enum model model, const float *x, float y, const float *across, const float *down,
                        float unknown[][LANES])
{
    for (int i = 0; i < LANES; i++) {
        unknown[0][i] = across[i];
        unknown[1][i] = down[i];
    }
    for (int i = 0; i < LANES && (model == MODEL_RIGID || model == MODEL_SIMILARITY); i++)
        unknown[2][i] = down[i] * x[i] - across[i] * y;
    for (int i = 0; i < LANES && model == MODEL_SIMILARITY; i++)
        unknown[3][i] = across[i] * x[i] + down[i] * y;
    for (int i = 0; i < LANES && model == MODEL_AFFINE; i++) {
        unknown[2][i] = across[i] * x[i];
        unknown[3][i] = across[i] * y;
        unknown[4][i] = down[i] * x[i];
        unknown[5][i] = down[i] * y;
    }
    static const int counts[] = {
        [MODEL_SHIFT] = 2, [MODEL_RIGID] = 3, [MODEL_SIMILARITY] = 4, [MODEL_AFFINE] = 6};
    return counts[model];
}

/* Sums in floats are exact enough for a row, and quicker. */
struct sums {
    float matrix[MOST_UNKNOWNS][MOST_UNKNOWNS][LANES], right[MOST_UNKNOWNS][LANES], weight[LANES];
};

static void add_lanes(const struct lanes *restrict lanes, int unknowns, struct sums *restrict sums)
{
    for (int i = 0; i < LANES; i++)
        sums->weight[i] += lanes->weight[i];
    for (int a = 0; a < unknowns; a++) {
        float weighted[LANES];
        for (int i = 0; i < LANES; i++) {
            weighted[i] = lanes->weight[i] * lanes->unknown[a][i];
            sums->right[a][i] -= weighted[i] * lanes->value[i];
        }
        for (int b = 0; b <= a; b++)
            for (int i = 0; i < LANES; i++)
                sums->matrix[a][b][i] += weighted[i] * lanes->unknown[b][i];
    }
}

static double add_up(const float *lanes)
{
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += (double)lanes[i];
    return sum;
}

static void add_sums(struct equations *equations, const struct sums *sums)
{
    equations->weight += add_up(sums->weight);
    for (int a = 0; a < equations->unknowns; a++) {
        equations->right[a] += add_up(sums->right[a]);
        for (int b = 0; b <= a; b++)
            equations->matrix[a][b] = equations->matrix[b][a] += add_up(sums->matrix[a][b]);
    }
}

/* What a block of rows adds to what is asked of all. */
struct block {
    struct moments moments;
    struct equations equations;
};

/* A match on its way to a better one, on one level. */
struct refining {
    struct workers *workers;
    struct match *match;
    enum model model;
    const struct level *reference;
    const struct grey *picture;
    struct frame frame;
    struct grey sampled; /* the picture at the reference's places */
    double sigma;        /* of what is left */
    bool summing;        /* moments are asked for */
    struct block *blocks;
};

/* Pixels x to before x + LANES of a row; those that are none count nothing. Those are read all the same: they
 * are of the next row. */
static int find_lanes(const struct refining *refining, int x, int y, struct lanes *lanes)
{
    const struct level *reference = refining->reference;
    const struct grey *grey = &reference->grey;
    const struct frame *frame = &refining->frame;
    const size_t at = (size_t)y * (size_t)grey->width + (size_t)x;
    const float *values = grey->values + at, *sampled = refining->sampled.values + at,
                *weights = grey->weights + at, *covered = refining->sampled.weights + at;
    const float gain = (float)refining->match->gain, offset = (float)refining->match->offset;
    const float narrow = (float)(1 / (CAUCHY * refining->sigma + 1e-6)), step = (float)(1 / frame->unit);
    const float centre = (float)frame->x, place_y = (float)((y - frame->y) / frame->unit);
    const int left = grey->width - 1 - x;
    float places[LANES];
    for (int i = 0; i < LANES; i++) {
        float beyond = (gain * sampled[i] + offset - values[i]) * narrow;
        lanes->weight[i] = (i < left ? weights[i] * covered[i] : 0) / (1 + beyond * beyond);
        lanes->value[i] = values[i];
        places[i] = ((float)(x + i) - centre) * step;
    }
    int unknowns = find_motions(refining->model, places, place_y, reference->across + at,
                                reference->down + at, lanes->unknown);
    for (int i = 0; i < LANES; i++) {
        lanes->unknown[unknowns][i] = -sampled[i];
        lanes->unknown[unknowns + 1][i] = -1;
    }
    return unknowns + 2;
}

/* The normal equations of R + slope d = gain I + offset, of which d, gain and offset are unknown, for a block
 * of rows. */
static enum status find_equations(void *context, int index, struct error *error)
{
    const struct refining *refining = context;
    struct equations *equations = &refining->blocks[index].equations;
    const struct grey *grey = &refining->reference->grey;
    const struct rows rows = grey_block(grey, index);
    (void)error;
    *equations = (struct equations){.unknowns = 0};
    for (int y = rows.begin > 1 ? rows.begin : 1; y < rows.end && y < grey->height - 1; y++) {
        struct sums sums = {.weight = {0}};
        for (int x = 1; x < grey->width - 1; x += LANES) {
            struct lanes lanes;
            equations->unknowns = find_lanes(refining, x, y, &lanes);
            add_lanes(&lanes, equations->unknowns, &sums);
        }
        add_sums(equations, &sums);
    }
    return STATUS_OK;
}

/* Adds up what find_equations found for all blocks, in their order. */
static struct equations all_equations(const struct refining *refining)
{
    struct equations sum = refining->blocks[0].equations;
    for (int i = 1; i < grey_blocks(&refining->reference->grey); i++) {
        const struct equations *more = &refining->blocks[i].equations;
        sum.weight += more->weight;
        for (int a = 0; a < sum.unknowns; a++) {
            sum.right[a] += more->right[a];
            for (int b = 0; b < sum.unknowns; b++)
                sum.matrix[a][b] += more->matrix[a][b];
        }
    }
    return sum;
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
    *moved = exact_hypot(d[0], d[1]) + sqrt(xx * xx + xy * xy + yx * yx + yy * yy);
    struct affine motion = {1 + xx / frame->unit, xy / frame->unit,     0,
                            yx / frame->unit,     1 + yy / frame->unit, 0};
    double length = model == MODEL_RIGID ? exact_hypot(motion.xx, motion.yx) : 1;
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
static bool take_step(struct refining *refining, double *moved)
{
    struct match *match = refining->match;
    const struct level *reference = refining->reference;
    const struct grey *grey = &reference->grey;
    struct error none; /* blocks do not fail */
    refining->sigma = spread(match, grey, &refining->sampled);
    if (refining->sigma < 0)
        return false;
    workers_each(refining->workers, grey_blocks(grey), find_equations, refining, &none);
    struct equations equations = all_equations(refining);
    match->uncertainty = find_uncertainty(&equations, refining->model, refining->sigma);
    if (!solve(&equations))
        return false;
    struct affine motion = find_motion(refining->model, &refining->frame, equations.right, moved);
    if (!(*moved < grey->width + grey->height))
        return false;
    struct affine back = invert(&motion), here = level_from_whole(reference, match->affine);
    match->affine = level_to_whole(reference, affine_through(&back, &here));
    match->gain = equations.right[equations.unknowns - 2];
    match->offset = equations.right[equations.unknowns - 1];
    return true;
}

static enum status sample_block(void *context, int index, struct error *error)
{
    struct refining *refining = context;
    const struct grey *reference = &refining->reference->grey;
    const struct affine affine = level_from_whole(refining->reference, refining->match->affine);
    const struct rows rows = grey_block(reference, index);
    struct moments *moments = &refining->blocks[index].moments;
    (void)error;
    sample_rows(refining->picture, &affine, rows, &refining->sampled);
    *moments = (struct moments){.all = 0};
    if (refining->summing)
        moments_add_rows(reference, &refining->sampled, rows, moments);
    return STATUS_OK;
}

/* Brings the picture to where the match has it now. What both have in common is known if it is asked for. */
static struct moments sample(struct refining *refining, bool summing)
{
    struct moments sums = {.all = 0};
    struct error none; /* blocks do not fail */
    const int blocks = grey_blocks(&refining->sampled);
    refining->summing = summing;
    workers_each(refining->workers, blocks, sample_block, refining, &none);
    for (int i = 0; i < blocks; i++)
        moments_add(&sums, &refining->blocks[i].moments);
    return sums;
}

/* A picture that covers little of the reference is likelier to agree by chance. */
static void judge(struct match *match, const struct moments *sums)
{
    double covered;
    match->correlation = moments_correlation(sums, &covered);
    match->score = match->correlation > 0 ? match->correlation * sqrt(sqrt(covered)) : -1;
}

static void refine(struct refining *refining, int steps, double enough)
{
    double moved = INFINITY;
    refining->match->score = -1;
    for (int i = 0;; i++) {
        const bool last = i == steps || moved < enough;
        const struct moments sums = sample(refining, i == 0 || last);
        refining->match->settled = moved < enough;
        if (last)
            judge(refining->match, &sums);
        if (i == 0)
            fit_gain(refining->match, &sums);
        if (last || !take_step(refining, &moved))
            return;
    }
}

enum status match_refine(struct workers *workers, struct match *match, enum model model,
                         const struct level *reference, const struct level *picture, int steps, double enough,
                         struct error *error)
{
    const int width = reference->grey.width, height = reference->grey.height;
    struct refining refining = {
        .workers = workers,
        .match = match,
        .model = model,
        .reference = reference,
        .picture = &picture->grey,
        .frame = {(width - 1) / 2.0, (height - 1) / 2.0, exact_hypot(width, height) / 2},
    };
    if (grey_make(&refining.sampled, width, height, error) != STATUS_OK)
        return STATUS_FAILED;
    refining.blocks = allocate((size_t)grey_blocks(&refining.sampled) * sizeof *refining.blocks,
                               "sums of brightness", error);
    enum status status = refining.blocks ? STATUS_OK : STATUS_FAILED;
    if (status == STATUS_OK)
        refine(&refining, steps, enough);
    free(refining.blocks);
    grey_free(&refining.sampled);
    return status;
}
